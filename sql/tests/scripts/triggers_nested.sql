-- Triggers that fire triggers: recursion, depth, rows changed under the statement, deferred constraint triggers.

create table t (id int primary key, n int);
create function down() returns trigger language plpgsql as $$
begin
  raise notice 'depth % for %', pg_trigger_depth(), new.n;
  if new.n > 0 then
    insert into t values (new.id + 1, new.n - 1);
  end if;
  return null;
end $$;
create trigger down after insert on t for each row execute function down();
insert into t values (1, 3);
select * from t order by id;
select pg_trigger_depth();
delete from t;

-- Two tables whose triggers call each other.
create table a (id int primary key, x int);
create table b (id int primary key, x int);
create function to_b() returns trigger language plpgsql as $$
begin
  if pg_trigger_depth() < 4 then update b set x = new.x + 1 where id = new.id; end if;
  return new;
end $$;
create function to_a() returns trigger language plpgsql as $$
begin
  if pg_trigger_depth() < 4 then update a set x = new.x + 1 where id = new.id; end if;
  return new;
end $$;
create trigger to_b after update on a for each row execute function to_b();
create trigger to_a after update on b for each row execute function to_a();
insert into a values (1, 0), (2, 0);
insert into b values (1, 0), (2, 0);
update a set x = 10;
select * from a order by id;
select * from b order by id;

-- A row that its own trigger changes.
create table self (id int primary key, n int);
create function same_row() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    update self set n = -1 where id = old.id;
    return old;
  end if;
  update self set n = 100 where id = new.id and n < 100;
  return new;
end $$;
insert into self values (1, 1), (2, 2);
create trigger same before update or delete on self for each row when (pg_trigger_depth() = 0) execute function same_row();
update self set n = 5 where id = 1;
delete from self where id = 1;
select * from self order by id;
begin;
update self set n = 5 where id = 1;
rollback;
begin;
delete from self where id = 1;
rollback;
drop trigger same on self;
create trigger same after update on self for each row when (pg_trigger_depth() = 0) execute function same_row();
update self set n = 5 where id = 1;
select * from self order by id;

-- Constraint triggers.
create table entries (txn int, amount int);
create function balanced() returns trigger language plpgsql as $$
begin
  if (select sum(amount) from entries where txn = new.txn) <> 0 then
    raise exception 'transaction % does not balance', new.txn using errcode = 'integrity_constraint_violation';
  end if;
  return null;
end $$;
create constraint trigger balanced after insert or update on entries deferrable initially deferred for each row execute function balanced();
begin;
insert into entries values (1, 5);
commit;
insert into entries values (1, 5), (1, -5);
begin;
insert into entries values (2, 7);
insert into entries values (2, -7);
commit;
begin;
insert into entries values (3, 7);
set constraints balanced immediate;
rollback;
begin;
set constraints all immediate;
insert into entries values (3, 7);
rollback;
begin;
insert into entries values (4, 7);
commit;
select * from entries order by txn, amount;
alter table entries drop constraint balanced;

-- Bodies with handlers, dynamic statements, and cursors.
create table audit (op text, id int, at_depth int);
create function careful() returns trigger language plpgsql as $$
declare c cursor for select id from t; n int;
begin
  begin
    insert into t values (new.id, 0);
  exception when unique_violation then
    raise notice 'exists %', new.id;
  end;
  execute 'insert into audit values ($1, $2, pg_trigger_depth())' using tg_op, new.id;
  open c; fetch c into n; close c;
  return new;
end $$;
drop trigger down on t;
create table s (id int);
create trigger careful before insert on s for each row execute function careful();
insert into s values (1), (2), (1);
select * from audit;
select * from t order by id;
drop table s, audit, entries, self, a, b, t;

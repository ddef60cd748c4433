-- Triggers for statements, with the rows that the statement has changed as tables.

create table t (id int primary key, v int);
create table sums (what text, rows bigint, total bigint);
create function summed() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into sums select tg_op, count(*), sum(v) from new_rows;
  elsif tg_op = 'DELETE' then
    insert into sums select tg_op, count(*), sum(v) from old_rows;
  else
    insert into sums select tg_op, count(*), sum(n.v - o.v) from old_rows o join new_rows n using (id);
  end if;
  return null;
end $$;
create trigger ins after insert on t referencing new table as new_rows for each statement execute function summed();
create trigger upd after update on t referencing old table as old_rows new table as new_rows for each statement execute function summed();
create trigger del after delete on t referencing old table as old_rows for each statement execute function summed();
insert into t select g, g * 10 from generate_series(1, 5) g;
insert into t select g, g from generate_series(1, 0) g;
update t set v = v + 1 where id > 2;
update t set v = 0 where false;
delete from t where id = 1;
insert into t values (2, 5), (9, 9) on conflict (id) do update set v = excluded.v;
select * from sums;
delete from sums;

-- They can be read several times, and in loops.
create function twice() returns trigger language plpgsql as $$
declare r record; total int := 0;
begin
  for r in select * from n order by id loop
    total := total + r.v;
  end loop;
  raise notice 'total % of %, pairs %, largest %', total, (select count(*) from n), (select count(*) from n a, n b), (select max(v) from n);
  if exists (select 1 from n where v < 0) then
    raise exception 'negative' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger zz after insert on t referencing new table n for each statement execute function twice();
insert into t values (20, 1), (21, 2), (22, 3);
insert into t values (23, 1), (24, -2);
select count(*) from t;
create trigger row_too after insert on t referencing new table as n for each row execute function twice();
insert into t values (30, 1), (31, 2);
drop trigger row_too on t;
drop trigger zz on t;

-- Before and after the statement, whatever it changes.
create function tell() returns trigger language plpgsql as $$
begin
  raise notice '% % % %', tg_when, tg_level, tg_op, (select count(*) from t);
  return null;
end $$;
create trigger before_all before insert or update or delete on t execute function tell();
create trigger after_all after insert or update or delete on t execute function tell();
insert into t values (40, 1);
insert into t values (40, 2) on conflict (id) do update set v = 2;
update t set v = 3 where id = 40;
update t set v = 3 where id = 41;
delete from t where id = 40;
with gone as (delete from t where id > 29) select 1 where false;
create trigger of_v before update of v on t execute function tell();
update t set v = v where false;
update t set id = id where false;
create trigger sometimes before delete on t for each statement when (1 > 2) execute function tell();
delete from t where false;

-- Errors undo the statement.
create function refuse() returns trigger language plpgsql as $$
begin
  raise exception 'no % on %', tg_op, tg_relname using hint = 'Ask first.';
end $$;
create trigger zrefuse after delete on t execute function refuse();
delete from t;
select count(*) from t;
begin;
delete from t;
rollback;
do $$ begin delete from t; exception when raise_exception then raise notice 'caught %', sqlerrm; end $$;

-- Cascades.
create table parent (id int primary key);
create table child (id int primary key, p int references parent on delete cascade on update cascade);
create function cascade_told() returns trigger language plpgsql as $$
begin
  raise notice '% % % %', tg_relname, tg_when, tg_level, tg_op;
  return coalesce(new, old);
end $$;
create trigger c1 before update or delete on child for each row execute function cascade_told();
create trigger c2 after update or delete on child for each row execute function cascade_told();
create trigger p1 after update or delete on parent for each row execute function cascade_told();
insert into parent values (1), (2);
insert into child values (1, 1), (2, 1), (3, 2);
update parent set id = 10 where id = 1;
delete from parent where id = 10;
select * from child;
drop table child, parent, t, sums;

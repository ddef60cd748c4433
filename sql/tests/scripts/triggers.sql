-- Triggers for rows: before and after, what they change, in which order, and what they see.

create table t (id int primary key, name text, n int default 7, at text generated always as (name || '!') stored);
create table log (seq serial primary key, what text, old_row text, new_row text);

create function stamp() returns trigger language plpgsql as $$
begin
  new.name := upper(new.name);
  return new;
end $$;
create trigger b_stamp before insert or update on t for each row execute function stamp();
insert into t values (1, 'one');
insert into t (id, name) values (2, 'two'), (3, null);
select * from t order by id;
update t set name = 'uno' where id = 1;
update t set n = n + 1 where id = 3 returning *;
select * from t order by id;

create function note() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into log (what, new_row) values (tg_name || ' ' || tg_when || ' ' || tg_level || ' ' || tg_op, new.id || ':' || coalesce(new.name, '-') || ':' || coalesce(new.at, '-'));
  elsif tg_op = 'UPDATE' then
    insert into log (what, old_row, new_row) values (tg_op, old.id || ':' || old.n, new.id || ':' || new.n);
  else
    insert into log (what, old_row) values (tg_op, old.id || ':' || old.name);
  end if;
  return null;
end $$;
create trigger a_note after insert or update or delete on t for each row execute function note();
insert into t values (4, 'four', 4), (5, 'five', 5);
update t set n = n * 10 where id >= 4;
delete from t where id = 4;
select what, old_row, new_row from log order by seq;
truncate log;

-- A trigger that returns NULL makes the statement skip the row.
create function only_even() returns trigger language plpgsql as $$
begin
  if new.n % 2 = 1 then
    raise notice 'skipped % of %', new.id, tg_table_name;
    return null;
  end if;
  return new;
end $$;
create trigger c_even before insert or update on t for each row execute procedure only_even();
insert into t values (10, 'ten', 10), (11, 'eleven', 11), (12, 'twelve', 12);
update t set n = n + 1 where id = 10 returning id;
select id, n from t order by id;
select what, old_row, new_row from log order by seq;
drop trigger c_even on t;
drop trigger c_even on t;
drop trigger if exists c_even on t;
drop trigger if exists c_even on nowhere;
drop trigger c_even on nowhere;

-- DELETE: NEW is null there.
create function keep() returns trigger language plpgsql as $$
begin
  if old.id = 10 then return null; end if;
  return old;
end $$;
create trigger keep before delete on t for each row execute function keep();
delete from t where id in (10, 12) returning id;
create function wrong() returns trigger language plpgsql as $$
begin
  return new;
end $$;
create trigger zwrong before delete on t for each row execute function wrong();
delete from t where id = 5;
select id from t order by id;
drop trigger zwrong on t;
drop trigger keep on t;

-- Other rows to return, and what does not fit.
create function back() returns trigger language plpgsql as $$
begin
  return old;
end $$;
create trigger d_back before update on t for each row execute function back();
update t set name = 'changed', n = 0 where id = 1 returning id, name, n;
drop trigger d_back on t;
create function other() returns trigger language plpgsql as $$
declare r t%rowtype; o record;
begin
  select * into r from t where id = 1;
  r.id := new.id; r.n := 77; r.name := 'copy';
  return r;
end $$;
create trigger d_other before insert on t for each row execute function other();
insert into t values (20, 'twenty', 20) returning id, name, n, at;
drop trigger d_other on t;
create function both_rows() returns trigger language plpgsql as $$
begin
  raise notice '% % %', tg_op, tg_nargs, tg_argv[0];
  return coalesce(new, old);
end $$;
create trigger d_both before insert or update or delete on t for each row execute function both_rows('x', 2, "Q");
insert into t values (21, 'a', 1);
update t set n = 2 where id = 21;
delete from t where id = 21;
drop trigger d_both on t;
create function by_case() returns trigger language plpgsql as $$
begin
  case tg_op
    when 'INSERT' then raise notice 'new %', new.id;
    when 'DELETE' then raise notice 'old %', old.id;
    else raise notice 'both %', old.n <> new.n;
  end case;
  return case when tg_op = 'DELETE' then old else new end;
end $$;
create trigger d_case before insert or update or delete on t for each row execute function by_case();
insert into t values (22, 'a', 1);
update t set n = 2 where id = 22;
delete from t where id = 22;
drop trigger d_case on t;
create function no_return() returns trigger language plpgsql as $$
begin
  raise notice 'no return';
end $$;
create trigger d_none before insert on t for each row execute function no_return();
insert into t values (23, 'a', 1);
drop trigger d_none on t;
create function scalar_return() returns trigger language plpgsql as $$
begin
  return 5;
end $$;
create trigger d_scalar before insert on t for each row execute function scalar_return();
insert into t values (23, 'a', 1);
drop trigger d_scalar on t;

-- Missing fields, and constants.
create function no_field() returns trigger language plpgsql as $$
begin
  new.nothing := 1;
  return new;
end $$;
create trigger d_field before insert on t for each row execute function no_field();
insert into t values (23, 'a', 1);
drop trigger d_field on t;
create function all_names() returns trigger language plpgsql as $$
begin
  raise notice '% % % % % % % %', tg_name, tg_when, tg_level, tg_op, tg_relname, tg_table_name, tg_table_schema, tg_nargs;
  raise notice '% %', tg_relid = 't'::regclass, tg_argv;
  return new;
end $$;
create trigger d_names before insert on t for each row execute function all_names();
insert into t values (23, 'a', 1);
drop trigger d_names on t;

-- WHEN, and UPDATE OF.
create trigger w_when after update on t for each row when (old.n is distinct from new.n) execute function note();
create trigger w_of after update of name, n on t for each row execute function note();
drop trigger a_note on t;
truncate log;
update t set n = n where id = 1;
update t set n = n + 1 where id = 1;
update t set id = 100 where id = 1;
select what, old_row, new_row from log order by seq;
drop trigger w_when on t;
drop trigger w_of on t;
create trigger w_before before insert on t for each row
when (new.n > 100) execute function both_rows('when');
insert into t values (24, 'a', 100), (25, 'b', 101);
drop trigger w_before on t;

-- Conflicts: both kinds of triggers run, and excluded is what the first one has made.
create trigger b_both before insert or update on t for each row execute function both_rows('u');
insert into t values (24, 'again', 5) on conflict (id) do update set name = excluded.name || ' ' || t.name, n = excluded.n;
select * from t where id = 24;
insert into t values (24, 'again', 5) on conflict do nothing;
insert into t values (24, 'again', 5) on conflict (id) do update set n = 6 where false;
drop trigger b_both on t;
drop trigger b_stamp on t;

-- The order is that of the names.
create function say() returns trigger language plpgsql as $$
begin
  raise notice '% % %', tg_name, tg_when, tg_op;
  return coalesce(new, old);
end $$;
create trigger z before insert on t for each row execute function say();
create trigger "A" before insert on t for each row execute function say();
create trigger a before insert on t for each row execute function say();
create trigger m before insert on t for each statement execute function say();
create trigger y after insert on t for each row execute function say();
create trigger n after insert on t execute function say();
insert into t values (30, 'x', 1), (31, 'y', 2);
insert into t select 32, 'x', 1 where false;
insert into t select id + 100, name, n from t where id > 29;
alter table t disable trigger z;
alter table t enable always trigger y;
alter table t disable trigger nope;
insert into t values (33, 'z', 1);
alter table t disable trigger all;
insert into t values (34, 'z', 1);
alter table t enable trigger user;
alter trigger z on t rename to b;
alter trigger z on t rename to c;
alter trigger b on t rename to a;
insert into t values (35, 'z', 1);
drop function say();
drop function say() cascade;
insert into t values (36, 'z', 1);
drop table t, log;

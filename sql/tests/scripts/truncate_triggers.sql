-- Triggers of TRUNCATE.
create table t (id int primary key, v text);
create table child (id int primary key, t_id int references t (id));
create table log (n serial, what text);
create function note() returns trigger language plpgsql as $$
declare c bigint;
begin
  execute format('select count(*) from %I', tg_table_name) into c;
  insert into log (what) values (format('%s %s %s %s %s %s', tg_name, tg_when, tg_level, tg_op, tg_table_name, c));
  return null;
end $$;
create trigger b_before before truncate on t for each statement execute function note('x');
create trigger a_before before truncate on t execute function note();
create trigger after_t after truncate on t for each statement execute function note();
create trigger after_child after truncate or delete on child for each statement execute function note();
insert into t values (1, 'a'), (2, 'b');
insert into child values (1, 1);
truncate t, child;
select what from log order by n;
truncate log restart identity;
insert into t values (1, 'a');
insert into child values (1, 1);
truncate t cascade;
select n, what from log order by n;
truncate log restart identity;
select tgname, tgtype, pg_get_triggerdef(oid) from pg_trigger where not tgisinternal order by tgname;
alter table t disable trigger a_before;
truncate t, child;
select what from log order by n;
truncate log restart identity;
alter table t enable trigger a_before;
alter table t disable trigger user;
truncate t, child;
select what from log order by n;
truncate log restart identity;
alter table t enable trigger all;
delete from child;
select what from log order by n;
truncate log;
begin;
insert into t values (5, 'x');
truncate t, child;
select count(*) from t;
select count(*) from log;
rollback;
select count(*) from log;
create function refuse() returns trigger language plpgsql as $$
begin
  raise exception 'no truncation of %', tg_table_name;
end $$;
create trigger refused before truncate on child execute function refuse();
insert into t values (9, 'z');
truncate t, child;
select * from t;
truncate t cascade;
truncate t;
drop trigger refused on child;
create function tell() returns trigger language plpgsql as $$
begin
  raise notice '% %', tg_when, tg_op;
  return null;
end $$;
create trigger told_before before truncate on log execute function tell();
create trigger told_after after truncate on log execute function tell();
truncate log;
create trigger when_true before truncate on log when (true) execute function tell();
create trigger when_false before truncate on log when (1 = 2) execute function tell();
truncate log;
create trigger rows before truncate on t for each row execute function note();
create trigger tables after truncate on t referencing old table as o execute function note();
create view v as select * from t;
create trigger on_view before truncate on v execute function note();
create trigger with_when before truncate on t
when (old.id = 1) execute function note();
create trigger of_columns before truncate of id on t execute function note();
create constraint trigger ct after truncate on t for each row execute function note();
select event_manipulation, trigger_name from information_schema.triggers order by 2, 1;
create procedure emptied() language plpgsql as $$
begin
  truncate log;
  truncate t cascade;
end $$;
call emptied();
select what from log order by n;
create function fills() returns trigger language plpgsql as $$
begin
  insert into child values (77, null);
  return null;
end $$;
create trigger fills after truncate on child execute function fills();
truncate child;
select * from child;
drop table child, t, log cascade;

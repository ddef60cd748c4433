-- What CREATE TRIGGER refuses, and what depends on triggers.

create table t (a int, b int, g int generated always as (a + 1) stored);
create view v as select a, b from t;
create function f() returns trigger language plpgsql as $$ begin return new; end $$;
create function g() returns int language sql as 'select 1';
create trigger x before insert on nowhere for each row execute function f();
create trigger x before insert on t for each row execute function missing();
create trigger x before insert on t for each row execute function g();
create trigger x instead of insert on t for each row execute function f();
create trigger x before insert on v for each row execute function f();
create trigger x instead of insert on v execute function f();
create trigger x instead of insert on v for each row when (true) execute function f();
create trigger x instead of update of a on v for each row execute function f();
create trigger x after truncate on v execute function f();
create trigger x before truncate on t for each row execute function f();
create trigger x before insert or insert on t for each row execute function f();
create trigger x before insert or on t for each row execute function f();
create trigger x before insert of a on t for each row execute function f();
create trigger x before update of z on t for each row execute function f();
create trigger x before update of a, a on t for each row execute function f();
create trigger x before insert on t for each row
when (old.a > 1) execute function f();
create trigger x before delete on t for each row
when (new.a > 1) execute function f();
create trigger x before update on t for each statement
when (new.a > 1) execute function f();
create trigger x before update on t for each row
when (new.g > 1) execute function f();
create trigger x before update on t for each row
when (new.z > 1) execute function f();
create trigger x before update on t for each row
when (new.a) execute function f();
create trigger x before update on t for each row
when (new.a > (select 1)) execute function f();
create trigger x before update on t for each row
when (sum(new.a) > 1) execute function f();
create trigger x before insert on t referencing new table as n execute function f();
create trigger x after insert on t referencing new row as n for each row execute function f();
create trigger x after insert on t referencing old table as n execute function f();
create trigger x after delete on t referencing new table as n execute function f();
create trigger x after insert or update on t referencing new table as n execute function f();
create trigger x after update of a on t referencing new table as n execute function f();
create trigger x after update on t referencing new table as n old table as n execute function f();
create trigger x after update on t referencing new table as n new table as m execute function f();
create constraint trigger x before insert on t for each row execute function f();
create constraint trigger x after insert on t
for each statement execute function f();
create constraint trigger x after insert on t
not deferrable initially deferred for each row execute function f();
create trigger x after insert on t deferrable for each row execute function f();
create trigger x before insert on t for each row execute function f();
create trigger x before insert on t for each row execute function f();
create or replace trigger x after insert on t for each row execute function f();
create or replace constraint trigger x after insert on t for each row execute function f();
create constraint trigger c after insert on t for each row execute function f();
create or replace trigger c after insert on t for each row execute function f();
select f();
select * from f();
create function h(i int) returns trigger language plpgsql as $$ begin return new; end $$;
create function h() returns trigger language sql as 'select 1';
create function h() returns trigger language plpgsql as $$
begin retrun new; end $$;

-- What depends on them.
create trigger w after update of b on t for each row
when (new.a > 0) execute function f();
drop function f();
alter table t drop column b;
drop view v;
alter table t rename column a to aa;
select tgname, pg_get_triggerdef(oid) from pg_trigger where tgrelid = 't'::regclass order by tgname;
select tgname, pg_get_triggerdef(oid, true) from pg_trigger where tgrelid = 't'::regclass order by tgname;
alter table t rename to u;
select tgname, tgtype, tgenabled, tgnargs, tgattr, tgdeferrable, tgisinternal from pg_trigger where tgrelid = 'u'::regclass order by tgname;
alter table u drop column b cascade;
select tgname from pg_trigger where tgrelid = 'u'::regclass order by tgname;
comment on trigger x on u is 'about x';
comment on trigger nope on u is 'about x';
select obj_description(oid, 'pg_trigger') from pg_trigger where tgname = 'x';
alter trigger x on u rename to y;
select obj_description(oid, 'pg_trigger') from pg_trigger where tgname = 'y';
select trigger_name, event_manipulation, event_object_table, action_order, action_condition, action_statement, action_orientation, action_timing from information_schema.triggers order by 1, 2;
drop trigger y on u;
select count(*) from pg_trigger where tgrelid = 'u'::regclass;
drop function f() cascade;
select count(*) from pg_trigger where tgrelid = 'u'::regclass;
drop table u;

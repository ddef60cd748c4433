-- A table that is made under another name and takes the place of one that is dropped or renamed away, in one transaction that commits.
-- Afterwards everything that goes by the table itself, and not by its name, finds it.

create table t (id int primary key, v text);
insert into t values (1, 'old');
begin;
create table t_new (id int primary key, v text);
insert into t_new values (2, 'new');
drop table t;
alter table t_new rename to t;
commit;
select * from t;
alter table t add column w int default 5;
create index t_v on t (v);
insert into t values (3, 'newer', 6);
select * from t order by id;
create table t_v (a int);
begin;
create table t_next (id int);
alter table t rename to t_old;
alter table t_next rename to t;
commit;
select * from t;
select v from t_old order by id;
truncate t_old;
drop table t_old;
alter table t add primary key (id);
drop table t;
select * from t;

-- Moved into another schema, whose table of that name is dropped.
create schema other;
create table other.t (a int);
begin;
create table t (b text);
insert into t values ('moved');
drop table other.t;
alter table t set schema other;
commit;
select * from other.t;
alter table other.t add column c int;
drop schema other;
drop table other.t;
drop schema other;

-- The place of a sequence.
create sequence s;
begin;
create table s_new (a int);
drop sequence s;
alter table s_new rename to s;
commit;
alter table s add column b int;
select * from s;
drop table s;

-- A type that functions of one name have, changed more than once.
create type mood as enum ('ok');
create function f(m mood) returns text language sql as 'select ''one''::text';
begin;
create function f(m mood, i int) returns text language sql as 'select ''two''::text';
alter type mood rename value 'ok' to 'fine';
alter type mood rename value 'fine' to 'ok';
select f('ok'::mood), f('ok'::mood, 1);
alter type mood rename to feeling;
select f('ok'::feeling), f('ok'::feeling, 1);
commit;
select f('ok'::feeling), f('ok'::feeling, 1);

-- Sequences after a caught error that has taken back their change.
create sequence numbers start 100;
create table drawn (n bigint);
do $$
begin
  begin
    execute 'alter sequence numbers restart with 1';
    raise exception 'x';
  exception when others then null;
  end;
  perform setval('numbers', 500);
  insert into drawn values (nextval('numbers'));
end $$;
select * from drawn;
select nextval('numbers');
do $$
begin
  begin
    execute 'create sequence taken_back';
    raise exception 'x';
  exception when others then null;
  end;
  begin
    perform nextval('taken_' || 'back');
  exception when undefined_table then raise notice 'it is gone';
  end;
end $$;
do $$
begin
  begin
    execute 'drop sequence numbers';
    raise exception 'x';
  exception when others then null;
  end;
  insert into drawn values (nextval('numbers'));
end $$;
select * from drawn order by n;

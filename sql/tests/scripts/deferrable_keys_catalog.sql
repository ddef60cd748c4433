-- UNIQUE and PRIMARY KEY that can be deferred in DDL, and how the catalog shows them.
create table t (
  id int primary key deferrable,
  a int unique deferrable initially deferred,
  b int constraint b_once unique initially deferred,
  c int unique not deferrable,
  d int unique not deferrable initially immediate,
  e int,
  unique (a, e) deferrable initially immediate,
  constraint ce unique nulls not distinct (c, e) deferrable initially deferred
);
select conname, contype, condeferrable, condeferred, pg_get_constraintdef(oid)
  from pg_constraint where conrelid = 't'::regclass order by conname;
select c.relname, i.indisunique, i.indisprimary, i.indimmediate, i.indnullsnotdistinct, pg_get_indexdef(i.indexrelid)
  from pg_index i join pg_class c on c.oid = i.indexrelid where i.indrelid = 't'::regclass order by 1;
select constraint_name, constraint_type, is_deferrable, initially_deferred
  from information_schema.table_constraints where table_name = 't' and constraint_type <> 'CHECK' order by 1;
select constraint_name, column_name, ordinal_position from information_schema.key_column_usage
  where table_name = 't' order by 1, 3;
select attname, attnotnull from pg_attribute where attrelid = 't'::regclass and attnum > 0 order by attnum;
select conname, conindid::regclass from pg_constraint where conrelid = 't'::regclass order by 1;
select relhastriggers, relhasindex from pg_class where oid = 't'::regclass;
insert into t (id) values (null);

-- What is refused.
create table x (id int unique not deferrable initially deferred);
create table x (id int primary key not deferrable initially deferred);
create table x (id int primary key deferrable, n int primary key);
create table x (id int primary key deferrable, unique (nothing) deferrable);
create table x (id int, primary key (nothing) deferrable);
create table x (id int, primary key (id, id) deferrable);
create table x (id int,
  unique (id) initially deferred not deferrable);
create table x (id int references x
  not deferrable initially deferred);
alter table t add unique (b)
  not deferrable initially deferred;
alter table t add primary key (a);
alter table t add primary key (a) deferrable;
alter table t alter id drop not null;
alter table t alter constraint t_pkey not deferrable;
alter table t alter constraint b_once deferrable initially immediate;
alter table t alter constraint t_c_key deferrable;
drop index t_pkey;
drop index b_once;

-- Constraints that say the same are one; those that do not are two.
create table same (id int primary key, a int unique deferrable, unique (a) deferrable, unique (a), unique (id) deferrable);
select conname, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'same'::regclass order by 1;

-- ALTER TABLE.
create table l (a int, b int, c text);
insert into l values (1, 1, 'x'), (2, 2, 'y'), (2, null, 'z');
alter table l add primary key (a) deferrable;
update l set a = 3 where c = 'z';
alter table l add primary key (a, b) deferrable;
update l set b = 3 where c = 'z';
alter table l add primary key (a) deferrable initially deferred, add constraint b_key unique (b) deferrable;
select conname, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'l'::regclass order by 1;
select attname, attnotnull from pg_attribute where attrelid = 'l'::regclass and attnum > 0 order by attnum;
begin;
update l set a = 1;
commit;
update l set b = b + 1;
select * from l order by a;
alter table l add column d int default 7;
alter table l alter a type bigint;
update l set b = b + 1;
select * from l order by a;
begin;
insert into l values (3, 9, 'w');
commit;
alter table l rename constraint b_key to bb;
alter table l rename a to aa;
select conname, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'l'::regclass order by 1;
begin;
set constraints bb deferred;
insert into l values (9, 4, 'w');
set constraints bb immediate;
rollback;
alter table l drop constraint l_pkey;
select attname, attnotnull from pg_attribute where attrelid = 'l'::regclass and attnum > 0 order by attnum;
insert into l values (1, 20, 'same');
alter table l add primary key (aa) deferrable;
delete from l where c = 'same';
alter table l add constraint l_pk primary key (aa) deferrable;
alter table l drop constraint l_pk;
alter table l add primary key (aa);
alter table l drop column b;
select conname, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'l'::regclass order by 1;
alter table l drop constraint l_pkey;
alter table l add constraint k primary key (aa) deferrable;
alter table l drop column aa;
select conname from pg_constraint where conrelid = 'l'::regclass;
create table added (id int);
alter table added add column k int primary key deferrable initially deferred, add column v int unique deferrable;
select conname, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'added'::regclass order by 1;

-- USING INDEX.
create table w (a int, b int);
insert into w values (1, 1), (2, 2);
create unique index w_a on w (a);
create unique index w_b on w (b);
alter table w add constraint w_unique unique using index w_a deferrable initially deferred;
alter table w add primary key using index w_b deferrable;
select conname, contype, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'w'::regclass order by 1;
select attname, attnotnull from pg_attribute where attrelid = 'w'::regclass and attnum > 0 order by attnum;
update w set b = b + 1;
begin;
update w set a = 1;
commit;
alter table w add primary key using index w_b;
insert into w values (null, null);

-- LIKE.
create table like_t (like t including indexes);
select conname, contype, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'like_t'::regclass order by 1;
create table like_none (like t);
select count(*) from pg_constraint where conrelid = 'like_none'::regclass;

-- Comments, renames, schemas, temporary tables.
comment on constraint t_pkey on t is 'later';
comment on index b_once is 'an index';
select obj_description(oid, 'pg_constraint') from pg_constraint where conrelid = 't'::regclass and contype = 'p';
create table like_c (like t including all);
select obj_description('like_c_b_key'::regclass, 'pg_class');
alter index t_pkey rename to t_key;
select conname from pg_constraint where conrelid = 't'::regclass and contype = 'p';
create schema other;
alter table t set schema other;
begin;
set constraints other.t_key deferred;
set constraints t_key deferred;
rollback;
set search_path = public, other;
begin;
set constraints t_key deferred;
rollback;
create table checked (id int constraint positive check (id > 0) constraint t_key primary key deferrable);
begin;
set constraints t_key deferred;
insert into checked values (1), (1);
insert into t (id) values (1), (1);
rollback;
begin;
set constraints positive deferred;
rollback;
reset search_path;
drop schema other cascade;
create temp table own (id int primary key deferrable initially deferred);
begin;
insert into own values (1), (1);
commit;
insert into own values (1), (2);
update own set id = 3 - id;
truncate own;
insert into own values (1);
select * from own;
drop table own;

-- While checks wait.
create table waiting (id int unique deferrable initially deferred, n int);
create table parent (id int primary key);
create table child (id int primary key, p int references parent deferrable initially deferred);
insert into parent values (1);
begin;
insert into waiting values (1, 1), (1, 2);
savepoint one;
alter table waiting rename n to m;
alter table waiting rename to later;
rollback to one;
alter table waiting add column x int;
rollback to one;
alter table waiting alter n set default 7;
rollback to one;
alter table waiting drop constraint waiting_id_key;
rollback to one;
create index on waiting (n);
rollback to one;
truncate waiting;
rollback to one;
drop table waiting;
rollback to one;
alter table parent add column x int;
insert into child values (1, 2);
savepoint two;
alter table child drop constraint child_pkey;
rollback to two;
set constraints child_p_fkey immediate;
rollback to two;
insert into parent (id) values (2);
set constraints child_p_fkey immediate;
alter table child drop constraint child_pkey;
delete from waiting where n = 2;
set constraints all immediate;
alter table waiting add column x int;
set constraints all deferred;
delete from parent where id = 2;
savepoint three;
alter table parent drop column x;
rollback to three;
delete from child;
commit;
select * from waiting;

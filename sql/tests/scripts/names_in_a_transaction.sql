-- Names of objects in every state that one transaction can bring them to: made, dropped, made again, renamed onto each other, taken
-- back to a savepoint, each kind of object, and what look-ups find in between.

create table t (id int primary key, v text);
insert into t values (1, 'old');
create sequence s;
create view w as select v from t;
create type mood as enum ('sad', 'ok');
create function f(i int) returns int language sql as 'select i + 1';

-- Dropped and made again, with other columns, in one transaction; then taken back.
begin;
drop view w;
drop table t;
select * from t;
rollback;
begin;
drop view w;
drop table t;
create table t (other int);
insert into t values (7);
select * from t;
drop table t;
create table t (third text);
insert into t values ('third');
select * from t;
rollback;
select * from t;
select * from w;

-- Two tables exchange their names.
create table u (id int primary key, v text);
insert into u values (2, 'of u');
begin;
alter table t rename to t_once;
alter table u rename to t;
alter table t_once rename to u;
select v from t;
select v from u;
select v from w;
select v from t_once;
rollback;
select v from t;
begin;
alter table t rename to t_once;
alter table u rename to t;
alter table t_once rename to u;
commit;
select v from t;
select v from u;
select v from w;
alter table t rename to t_once;
alter table u rename to t;
alter table t_once rename to u;

-- A name that is given up is free at once, for every kind of relation.
begin;
drop view w;
create sequence w;
select nextval('w');
drop sequence w;
create table w (a int);
select * from w;
drop table w;
create index w on t (v);
create table w (a int);
rollback;
begin;
create index w2 on t (v);
alter index w2 rename to w3;
create table w2 (a int);
create table w3 (a int);
rollback;
select * from w2;

-- Savepoints.
begin;
create table inner_one (a int);
savepoint one;
insert into inner_one values (1);
drop table inner_one;
savepoint two;
create table inner_one (b text);
insert into inner_one values ('second');
select * from inner_one;
rollback to two;
select * from inner_one;
rollback to one;
select * from inner_one;
savepoint three;
alter table inner_one add column c int default 5;
insert into inner_one values (2, 6);
select * from inner_one order by a;
rollback to three;
insert into inner_one values (3);
select * from inner_one order by a;
alter table inner_one rename to inner_two;
savepoint four;
alter table inner_two rename to inner_one;
alter table inner_one rename a to z;
select z from inner_one order by z;
rollback to four;
select a from inner_two order by a;
select a from inner_one;
rollback to one;
commit;
select * from inner_one;
begin;
savepoint one;
drop table inner_one;
create table inner_one (again int);
release one;
insert into inner_one values (4);
commit;
select * from inner_one;
drop table inner_one;

-- Rows written before and after a change that is taken back.
begin;
insert into t values (3, 'before');
savepoint one;
alter table t add column extra int default 1;
insert into t values (4, 'after', 2);
update t set extra = 9 where id = 3;
select * from t order by id;
truncate t cascade;
insert into t values (5, 'empty', 3);
select * from t order by id;
rollback to one;
select * from t order by id;
delete from t where id = 3;
commit;
select * from t order by id;

-- Sequences: made, altered, dropped and renamed in one transaction.
begin;
create sequence of_mine start 10;
select nextval('of_mine');
alter sequence of_mine rename to of_yours;
select nextval('of_yours');
savepoint one;
alter sequence of_yours restart with 100;
select nextval('of_yours');
rollback to one;
select nextval('of_yours');
select nextval('of_mine');
rollback;
begin;
alter sequence s rename to s_once;
create sequence s start 50;
select nextval('s'), nextval('s_once');
drop sequence s_once;
alter sequence s rename to s_once;
select nextval('s_once');
savepoint one;
select nextval('s');
rollback to one;
rollback;
select nextval('s');

-- Functions: replaced, overloaded, dropped, renamed.
begin;
create or replace function f(i int) returns int language sql as 'select i + 10';
select f(1);
create function f(i text) returns text language sql as 'select i || ''!''';
select f(1), f('a'::text);
savepoint one;
drop function f(int);
select f('a'::text);
alter function f(text) rename to g;
select g('a');
create function f(i int) returns int language sql as 'select i + 100';
select f(1);
rollback to one;
select f(1), f('a'::text);
rollback;
select f(1);
begin;
alter function f(int) rename to g;
create function f(i int) returns int language sql as 'select i * 2';
select f(5), g(5);
drop function g(int);
alter function f(int) rename to g;
select g(5);
rollback;
select f(5);

-- Types.
begin;
alter type mood rename to feeling;
create type mood as enum ('red', 'blue');
select 'red'::mood, 'sad'::feeling;
drop type feeling;
select 'sad'::feeling;
rollback;
begin;
alter type mood rename value 'sad' to 'blue';
create table of_mood (m mood);
insert into of_mood values ('blue');
select * from of_mood;
drop table of_mood;
drop type mood;
create type mood as enum ('new');
select 'new'::mood;
rollback;
select 'sad'::mood;

-- Schemas: an object moves along when its schema is renamed, and a name is free when its schema is gone.
begin;
create schema a;
create table a.inside (i int);
alter schema a rename to b;
select * from b.inside;
create schema a;
create table a.inside (j text);
insert into a.inside values ('of a');
select * from a.inside;
alter table a.inside set schema public;
select * from inside;
drop schema a;
savepoint one;
select * from a.inside;
rollback to one;
drop schema b cascade;
commit;
select * from inside;
drop table inside;

-- Comments and rights go with their objects, within the transaction too.
begin;
comment on table t is 'the first';
select obj_description('t'::regclass);
savepoint one;
comment on table t is null;
select obj_description('t'::regclass);
rollback to one;
select obj_description('t'::regclass);
alter table t rename to t_once;
select obj_description('t_once'::regclass);
create table t (x int);
select obj_description('t'::regclass);
rollback;
select obj_description('t'::regclass);

-- A view that is replaced, and what it uses.
begin;
create or replace view w as select v, id from t;
select * from w;
savepoint one;
drop view w;
create view w as select 1 as one;
select * from w;
rollback to one;
select * from w;
drop table t;
rollback;
select * from w;

-- A foreign key on a table that is dropped and made again.
begin;
create table parent (id int primary key);
create table child (id int references parent);
savepoint one;
insert into child values (1);
rollback to one;
drop table parent;
rollback to one;
alter table child drop constraint child_id_fkey;
drop table parent;
create table parent (id int primary key);
alter table child add foreign key (id) references parent;
insert into parent values (1);
insert into child values (1);
savepoint two;
insert into child values (2);
rollback to two;
commit;
select * from child;
drop table child, parent;

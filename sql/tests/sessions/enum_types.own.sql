-- Types that one session drops or changes while another uses them. PostgreSQL locks no type for that.

-- A session that creates a table with a type makes a DROP TYPE wait.
z: create type mood as enum ('sad', 'ok');
a: begin;
a: create table t (id int primary key, m mood);
b: drop type mood;
a: commit;
-- The other way about: there is no such type any more.
z: drop table t;
a: begin;
a: drop type mood;
b: create table t (id int primary key, m mood);
a: commit;
-- And when it is taken back, there is.
z: create type mood as enum ('sad', 'ok');
a: begin;
a: drop type mood;
b: create table t (id int primary key, m mood);
a: rollback;
z: insert into t values (1, 'ok');

-- CASCADE waits for who writes rows with such a column, and takes the column then.
a: begin;
a: insert into t values (2, 'sad');
b: drop type mood cascade;
a: commit;
z: select * from t order by id;

-- A statement that was prepared with the type, a snapshot that has seen the column.
z: create type mood as enum ('sad', 'ok');
z: alter table t add column m mood default 'ok';
a: prepare p as select count(*) from t where m = 'ok';
a: execute p;
c: begin isolation level repeatable read;
c: select count(*) from t;
b: drop type mood cascade;
a: execute p;
c: select * from t order by id;
c: rollback;
c: select * from t order by id;

-- A label that gets another name: who inserts the old one waits.
z: create type mood as enum ('sad', 'ok');
z: alter table t add column m mood default 'ok';
a: begin;
a: alter type mood rename value 'ok' to 'fine';
b: insert into t values (3, 'ok');
a: commit;
b: insert into t values (3, 'fine');
b: insert into t (id) values (4);

-- A type that goes to another schema under an open transaction that uses it.
z: create schema s;
a: begin;
a: insert into t values (5, 'sad');
b: alter type mood set schema s;
a: commit;
z: insert into t values (6, 'sad');
z: select pg_typeof(m) from t where id = 6;
z: select 'ok'::mood;
z: drop schema s cascade;
z: select * from t order by id;

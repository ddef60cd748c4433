-- What other sessions see of names while a transaction changes them: nothing, until it commits, and then all of it.

z: create table t (id int primary key, v text);
z: insert into t values (1, 'old');
z: create table u (id int primary key, v text);
z: insert into u values (2, 'of u');

-- A new table, and one made in place of another.
a: begin;
a: create table mine (i int);
a: insert into mine values (1);
b: select * from mine;
a: drop table mine;
a: create table mine (j text);
a: commit;
b: select * from mine;

-- A table that is dropped is there for others until then: they wait for the one that drops it.
a: begin;
a: drop table mine;
b: select * from mine;
a: rollback;
z: insert into mine values ('x');
a: begin;
a: drop table mine;
b: select * from mine;
a: commit;

-- Renamed onto each other.
a: begin;
a: alter table t rename to t_once;
a: alter table u rename to t;
a: alter table t_once rename to u;
b: select v from t;
a: commit;
b: select v from u;

-- A sequence that another transaction makes and alters.
a: begin;
a: create sequence s;
a: select nextval('s');
b: select nextval('s');
a: commit;
b: select last_value from s;

-- A function that another transaction replaces, and one that it drops.
z: create function f() returns int language sql as 'select 1';
a: begin;
a: create or replace function f() returns int language sql as 'select 2';
a: select f();
b: select f();
a: commit;
b: select f();
a: begin;
a: drop function f();
b: select f();
a: commit;
b: select f();

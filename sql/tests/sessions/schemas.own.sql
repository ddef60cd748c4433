-- Schemas, where Hyades does not do as PostgreSQL: there functions do not keep a schema from being dropped, and are left without one.

z: create schema s;
a: begin;
a: drop schema s;
b: create function s.f() returns int language sql as 'select 1';
a: commit;
z: create schema s;
a: begin;
a: create function s.f() returns int language sql as 'select 1';
b: drop schema s;
a: commit;
z: select s.f();

-- A session that renames a schema makes others wait that create something in it, by either name.
a: begin;
a: alter schema s rename to t;
b: create table s.one (a int);
c: create schema t;
a: rollback;
z: select count(*) from s.one;

-- Schemas: the row "schema" of the table at the head of engine/src/txn/writes.rs. CREATE in a schema makes a DROP of the
-- schema wait, and the other way round, so that no object is left in a schema that is gone.

-- DROP waits for a session that creates a table, and then finds the table.
z: create schema s;
a: begin;
a: create table s.t (a int);
b: drop schema s;
a: commit;
z: select count(*) from s.t;

-- The same with CASCADE, which takes the table along.
z: drop table s.t;
a: begin;
a: create table s.u (a int);
b: drop schema s cascade;
a: commit;
z: select count(*) from pg_class where relname = 'u';

-- CREATE TABLE waits for DROP, and then finds no schema.
z: create schema s;
a: begin;
a: drop schema s;
b: create table s.t (a int);
a: commit;
z: create schema s;

-- He may go on when it is taken back.
a: begin;
a: drop schema s;
b: create table s.t (a int);
a: rollback;
z: select count(*) from s.t;

-- Sequences, and what is moved, as tables.
z: drop table s.t;
a: begin;
a: create sequence s.q;
b: drop schema s;
a: rollback;
z: create schema s;
z: create table moving (a int);
a: begin;
a: alter table moving set schema s;
b: drop schema s;
a: commit;
z: select count(*) from s.moving;

-- A table that moves away is not dropped.
a: begin;
a: alter table s.moving set schema public;
b: drop schema s cascade;
a: commit;
z: select count(*) from moving;

-- One that is dropped by others neither.
z: create schema s;
z: create table s.t (a int);
a: begin;
a: drop table s.t;
b: drop schema s;
a: commit;

-- Sessions that create objects in one schema do not wait for each other.
z: create schema s;
a: begin;
a: create table s.one (a int);
b: create table s.two (a int);
a: commit;
b: drop table s.one;
a: drop table s.two;
z: drop schema s;

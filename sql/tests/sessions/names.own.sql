-- Names and definitions: the rows "name" and "definition stripe" of the table at the head of engine/src/txn/writes.rs, where
-- Hyades differs from PostgreSQL. What both do alike is in schema_changes.sql. (The row "catalog stripe" needs a log: calls
-- that are logged as commands keep schema changes away, see sim/tests/commands.rs.)

-- Name, Write: two that create a table of one name. The second one waits; PostgreSQL then says 23505, of its catalog.
a: begin;
a: create table t (id int primary key, v int);
b: create table t (id int primary key, v int);
a: commit;

-- The same where the first one gives up.
a: begin;
a: create table other (id int primary key);
b: create table other (id int primary key);
a: rollback;

-- Names that differ do not meet.
a: begin;
a: create table one (id int primary key);
b: create table two (id int primary key);
a: commit;

-- Name, Write: two that create one function. PostgreSQL says 23505 here too.
a: begin;
a: create function f() returns int language plpgsql as $$ begin return 1; end $$;
b: create function f() returns int language plpgsql as $$ begin return 2; end $$;
a: commit;
z: select f();

-- A call does not wait for a function that is about to be replaced: it runs the committed function.
a: begin;
a: create or replace function f() returns int language plpgsql as $$ begin return 3; end $$;
b: select f();
a: commit;
b: select f();

-- Definition stripe, Read, beside Write: a new foreign key waits for sessions that read the referenced table at a
-- snapshot. In PostgreSQL it does not.
z: insert into t values (1, 10);
a: begin;
a: select v from t where id = 1;
b: create table child (id int primary key, t int references t);
a: select v from t where id = 1;
a: commit;

-- A read-only serializable transaction reads at a snapshot, too: it locks no row, but the definition.
a: begin isolation level serializable read only;
a: select v from t where id = 1;
b: update t set v = 11 where id = 1;
b: truncate t, child;
a: select v from t where id = 1;
a: commit;

-- A session that has read only another table is not waited for.
a: begin;
a: select count(*) from two;
b: truncate t, child;
a: commit;
z: drop table child, t, two, other;

-- Names of keys, written and made up.
a: begin;
a: create table aa (id int constraint same primary key);
b: create table bb (id int constraint same primary key);
a: commit;
b: create table bb (id int);
a: begin;
a: alter table bb add constraint same_too primary key (id);
a: commit;
b: create table cc (id int constraint same_too primary key);
a: begin;
a: create table d_pkey (id int);
b: create table d (id int primary key);
a: commit;
b: create table d (id int primary key);
z: select conname from pg_constraint where conrelid in ('aa'::regclass, 'bb'::regclass, 'd'::regclass) order by 1;
z: drop table aa, bb, d_pkey, d;

-- What serializable blocks see of each other, and when they fail, under each concurrency control: by locks
-- (the answers in controls.own.expected), and by a look at the end (controls.own.occ.expected and
-- controls.own.mvcc.expected).
z: drop table if exists t, u, parent, child;
z: create table t (id int primary key, v int);
z: create table u (id int primary key, v int);
z: create index u_v on u (v);
z: insert into t select g, 10 * g from generate_series(1, 5) g;
z: insert into u select g, 10 * g from generate_series(1, 5) g;
a: set default_transaction_isolation = 'serializable';
b: set default_transaction_isolation = 'serializable';

-- A writer that has not committed comes later.
b: begin;
b: update t set v = 11 where id = 1;
a: begin;
a: select v from u where id = 1;
a: update u set v = 21 where id = 2;
a: commit;
b: commit;

-- One that has committed came earlier, unless it has changed nothing that was read.
a: begin;
a: select v from u where id = 1;
b: update t set v = 12 where id = 1;
a: update u set v = 22 where id = 2;
a: commit;
a: begin;
a: select v from t where id = 3;
b: update t set v = 32 where id = 3;
a: update u set v = 23 where id = 2;
a: commit;
a: rollback;

-- A writer that is rolled back leaves the row as it was.
a: begin;
a: select v from t where id = 4;
b: begin;
b: update t set v = 42 where id = 4;
b: rollback;
a: update u set v = 24 where id = 2;
a: commit;
b: rollback;

-- Own writes: read, written and read again, in a range, by an index, taken back in part.
a: begin;
a: select id, v from u where v between 10 and 40 order by v;
a: insert into u values (6, 35);
a: update u set v = 36 where id = 3;
a: delete from u where id = 4;
a: select id, v from u where v between 10 and 40 order by v;
a: savepoint s;
a: update u set v = 15 where id = 1;
a: insert into u values (7, 16);
a: rollback to s;
a: select id, v from u where v between 10 and 40 order by v;
a: select id from u order by id desc limit 3;
a: commit;

-- A key that was absent, is there, and is absent again.
a: begin;
a: select v from t where id = 9;
b: insert into t values (9, 90);
b: delete from t where id = 9;
a: update u set v = 25 where id = 2;
a: commit;
a: rollback;
b: delete from t where id = 9;
-- The same in a range, by an index.
a: begin;
a: select id from u where v = 80;
b: insert into u values (8, 80);
b: delete from u where id = 8;
a: update t set v = 31 where id = 3;
a: commit;
a: rollback;
b: delete from u where id = 8;
-- Into the range and out of it, by an update.
a: begin;
a: select id from u where v between 80 and 90;
b: update u set v = 85 where id = 5;
b: update u set v = 50 where id = 5;
a: update t set v = 31 where id = 3;
a: commit;
a: rollback;
b: update u set v = 50 where id = 5;
-- Something else in the table changes nothing.
a: begin;
a: select id from u where v between 80 and 90;
b: update u set v = 51 where id = 5;
b: insert into u values (10, 100);
a: update t set v = 31 where id = 3;
a: commit;

-- What is locked is not looked at again: the row is the newest.
a: begin;
a: select v from t where id = 3 for update;
a: update t set v = v + 1 where id = 3;
a: commit;

-- A row that was read and has changed is not written.
a: begin;
a: select v from t where id = 5;
b: update t set v = v + 1 where id = 5;
a: update t set v = v + 1 where id = 5;
a: commit;
a: rollback;
-- Write skew.
a: begin;
b: begin;
a: select sum(v) from t where id in (1, 2);
b: select sum(v) from t where id in (1, 2);
a: update t set v = 0 where id = 1;
b: update t set v = 0 where id = 2;
a: commit;
b: commit;
a: rollback;
b: rollback;

-- FOR UPDATE with NOWAIT and SKIP LOCKED take the locks that they always take.
b: begin;
b: update t set v = 0 where id = 1;
a: begin;
a: select v from t where id = 1 for update nowait;
a: rollback;
a: begin;
a: select id from t order by id for update skip locked;
a: commit;
b: rollback;

-- Foreign keys: the parent's key is locked.
z: create table parent (id int primary key, v int);
z: create table child (id int primary key, parent int references parent);
z: insert into parent values (1, 1), (2, 2);
a: begin;
a: insert into child values (1, 1);
b: begin;
b: update parent set v = 5 where id = 1;
b: commit;
b: begin;
b: delete from parent where id = 1;
a: commit;
b: rollback;

-- Unique values, and ON CONFLICT.
a: begin;
a: insert into t values (20, 1) on conflict (id) do update set v = t.v + 1 returning v;
b: begin;
b: insert into t values (20, 2) on conflict (id) do update set v = t.v + 1 returning v;
a: commit;
b: commit;
b: rollback;

-- A handler catches an error; what was read before it is looked at all the same.
a: begin;
a: do $$ declare n int; begin select v into n from u where id = 1; perform 1 / 0; exception when division_by_zero then update t set v = 100 where id = 4; end $$;
a: commit;

-- TRUNCATE of a table that was read.
a: begin;
a: select count(*) from child;
a: truncate child;
a: select count(*) from child;
a: insert into child values (2, 2);
a: select count(*) from child;
a: commit;

-- DDL beside what was read.
a: begin;
a: select id from child;
a: alter table child add column note text;
a: select * from child;
a: commit;

-- A read-only transaction fails under none of them.
a: begin read only;
a: select sum(v) from t;
z: update t set v = v + 1 where id = 2;
a: select sum(v) from t;
a: commit;

-- A transaction that meets rows of different times fails with that, not with what it has computed of them.
a: begin;
a: select v from t where id = 1;
b: update t set v = 1000 where id in (1, 2);
a: do $$ begin if (select v from t where id = 1) <> (select v from t where id = 2) then raise 'the books do not match'; end if; end $$;
a: do $$ declare x int; y int; begin select v into x from t where id = 1; select v into y from t where id = 4; perform x / (y - y); end $$;
a: rollback;

-- A cursor.
a: begin;
a: declare c cursor for select id from u order by id;
a: fetch 2 from c;
a: update t set v = 1 where id = 2;
a: fetch 1 from c;
a: commit;

-- A bound that is NULL: nothing is read.
a: begin;
a: select x.k, (select id from u where u.v = x.k order by id limit 1) from (values (null::int), (51)) x(k);
a: select id from u where v > (select max(v) from u where id = 77);
a: update t set v = 3 where id = 3;
a: commit;

-- A scan that stops at a row of its own has looked at what comes before it.
z: create table q (id int primary key);
z: create table r (id int primary key);
a: begin;
a: insert into q values (10);
a: select id from q order by id limit 1;
b: begin;
b: select count(*) from r;
b: insert into q values (5);
b: commit;
a: insert into r values (10);
a: commit;
a: rollback;
b: rollback;
z: delete from q;
a: begin;
a: insert into q values (10);
a: select max(id) from q;
b: insert into q values (20);
a: insert into r values (11);
a: commit;
a: rollback;
z: delete from q;
a: begin;
a: insert into q values (10);
a: select id from q order by id limit 1;
b: insert into q values (20);
a: insert into r values (12);
a: commit;
a: rollback;

-- A key that another one has inserted since, met by a handler.
z: delete from q;
a: begin;
a: select count(*) from r;
b: insert into q values (1);
a: do $$ begin begin insert into q values (1) on conflict do nothing; exception when others then insert into r values (100); end; end $$;
a: commit;
a: rollback;
z: select id from r where id = 100;

-- Definitions and rows without versions come back with a savepoint.
a: begin;
a: select count(*) from u;
a: savepoint s;
a: truncate u;
a: select count(*) from u;
a: rollback to s;
a: select count(*) from u;
a: savepoint s;
a: create index u_id_v on u (id, v);
a: select id from u where id = 1 and v = 10;
a: rollback to s;
a: savepoint s;
a: alter table u add column note text default 'none';
a: select note from u where id = 1;
a: rollback to s;
a: update t set v = 4 where id = 4;
a: commit;

-- Who has read under a lock, too, has not read one snapshot.
a: begin;
a: select v from t where id = 1;
b: begin;
b: insert into q values (50);
b: update t set v = v + 1 where id = 1;
b: commit;
a: select 1 from q where id = 50 for key share;
a: commit;
a: rollback;
b: rollback;
-- A statement that changes the catalog while it runs: the row that it has chosen is locked all the same.
z: create function makes(n int) returns boolean language plpgsql as $$ begin execute 'create temp table if not exists made (n int)'; return true; end $$;
a: begin;
a: update t set v = v + 1 where id = 3 and makes(v);
b: begin;
b: update t set v = v + 1 where id = 3 and makes(v);
a: commit;
b: commit;
b: rollback;
a: begin;
a: update q set id = id + 1000 where makes(id) and id > 1;
b: select id from q where id = 50 for update nowait;
a: rollback;

-- An error that only rows of different times can lead to.
z: create table old_parent (id int primary key);
z: create table old_child (id int primary key, parent int references old_parent);
z: insert into old_parent values (1);
a: begin;
a: select id from old_parent;
b: delete from old_parent where id = 1;
a: insert into old_child values (1, 1);
a: commit;
a: rollback;
z: drop table old_child, old_parent;

-- DDL of another session, which waits for a transaction that has written and then reads.
a: begin;
a: insert into q values (60);
z: alter table q add column note int;
a: select count(*) from q;
a: commit;
z: drop table q, r;
z: drop function makes;

-- Temporary tables need no look.
a: create temp table mine (id int primary key);
a: begin;
a: insert into mine values (1);
a: select count(*) from mine;
a: insert into mine values (2);
a: commit;
z: drop table t, u, child, parent;

-- What serializable transactions keep, repeat and look at again, under each concurrency control. Under two-phase
-- locking, who changes what another transaction has read waits for it.
z: drop table if exists t, u, d, child, parent, h;
z: create table t (id int primary key, v int);
z: create table u (id int primary key, v int);
z: insert into t select g, 10 * g from generate_series(1, 20) g;
z: insert into u select g, 10 * g from generate_series(1, 20) g;
z: create sequence s;
a: set default_transaction_isolation = 'serializable';

-- A call is repeated three times unseen, and the fourth attempt locks what it reads. It draws the same numbers.
z: create procedure copies() language plpgsql as $$ declare n int; begin select v into n from t where id = 1; perform pg_advisory_xact_lock(5); perform nextval('s'); update u set v = n where id = 1; end $$;
b: select pg_advisory_lock(5)::text;
a: call copies();
c: select pg_advisory_lock(5)::text;
d: update t set v = 11 where id = 1;
b: select pg_advisory_unlock(5);
b: select pg_advisory_lock(5)::text;
d: update t set v = 12 where id = 1;
c: select pg_advisory_unlock(5);
c: select pg_advisory_lock(5)::text;
d: update t set v = 13 where id = 1;
b: select pg_advisory_unlock(5);
d: update t set v = 14 where id = 1;
c: select pg_advisory_unlock(5);
z: select v from u where id = 1;
z: select v from t where id = 1;
z: select nextval('s');
b: select pg_advisory_unlock_all()::text;
c: select pg_advisory_unlock_all()::text;

-- A lock of the session is taken once, however often the call is repeated.
z: create procedure keeps() language plpgsql as $$ declare n int; begin select v into n from t where id = 2; perform pg_advisory_lock(6); perform pg_advisory_xact_lock(5); update u set v = n where id = 2; end $$;
b: select pg_advisory_lock(5)::text;
a: call keeps();
d: update t set v = 21 where id = 2;
b: select pg_advisory_unlock(5);
a: select pg_advisory_unlock(6);
b: select pg_try_advisory_lock(6);
b: select pg_advisory_unlock_all()::text;
a: select pg_advisory_unlock_all()::text;

-- One that is released by the first attempt alone stays held.
z: create procedure maybe() language plpgsql as $$ declare n int; begin select v into n from t where id = 16; if n = 160 then perform pg_advisory_unlock(6); end if; perform pg_advisory_xact_lock(5); update u set v = n where id = 16; end $$;
a: select pg_advisory_lock(6)::text;
b: select pg_advisory_lock(5)::text;
a: call maybe();
d: update t set v = 161 where id = 16;
b: select pg_advisory_unlock(5);
b: select pg_try_advisory_lock(6);
a: select pg_advisory_unlock_all()::text;
b: select pg_advisory_unlock_all()::text;

-- The first part of a procedure is repeated, with its COMMIT.
z: create procedure two_parts() language plpgsql as $$ declare n int; begin select v into n from t where id = 15; perform pg_advisory_xact_lock(5); update u set v = n where id = 15; commit; update u set v = v + 1000 where id = 15; end $$;
b: select pg_advisory_lock(5)::text;
a: call two_parts();
d: update t set v = 0 where id = 15;
b: select pg_advisory_unlock(5);
z: select v from u where id = 15;

-- A handler catches an error that comes of rows of different times, and writes elsewhere.
a: begin;
a: select v from t where id = 3;
b: update t set v = 31 where id = 3;
a: do $$ declare x int; begin begin select 1 / (v - 31) into x from t where id = 3; exception when division_by_zero then update u set v = 99 where id = 3; end; end $$;
a: commit;
a: rollback;
z: select v from u where id = 3;

-- A loop that would not end.
a: begin;
a: select v from t where id = 4;
b: update t set v = 41 where id = 4;
a: do $$ declare x int; begin loop select v into x from t where id = 4; exit when x = 40; end loop; end $$;
a: rollback;

-- The books: an error that rests on rows of different times is not shown.
a: begin;
a: create temp table if not exists before (v int);
a: commit;
a: begin;
a: insert into before select v from t where id = 5;
b: update t set v = 1000 where id in (5, 6);
a: do $$ begin if (select v from before) + 10 <> (select v from t where id = 6) then raise 'the books do not match'; end if; end $$;
a: rollback;

-- A join of which one row is locked, and newer than the snapshot.
b: begin;
b: update u set v = 71 where id = 7;
a: begin;
a: select t.v, u.v from t join u on u.id = t.v / 10 where t.id = 7 and u.v < 1000 for update of u;
b: commit;
a: rollback;
b: begin;
b: update u set v = 72 where id = 7;
a: begin;
a: select t.v, u.v from t join u on u.id = t.v / 10 where t.id = 7 for update of u;
b: commit;
a: commit;
a: rollback;

-- ROLLBACK TO takes neither reads nor locks of writes back.
a: begin;
a: savepoint s;
a: select v from t where id = 8;
a: update t set v = 0 where id = 9;
a: rollback to s;
b: update t set v = 81 where id = 8;
c: select v from t where id = 9 for update nowait;
a: update u set v = 80 where id = 8;
a: commit;
a: rollback;

-- A deferred check comes before the look, and its error is looked at.
z: create table d (id int primary key, k int unique deferrable initially deferred);
z: insert into d values (1, 1);
a: begin;
a: insert into d values (2, 1);
a: commit;
a: begin;
a: select v from t where id = 10;
b: update t set v = 101 where id = 10;
a: insert into d values (2, 1);
a: commit;
a: rollback;

-- Children that might come; a table that another session empties.
z: create table parent (id int primary key);
z: create table child (id int primary key, parent int references parent);
z: insert into parent values (1), (2);
a: begin;
a: delete from parent where id = 2;
b: insert into child values (9, 2);
a: commit;
a: begin;
a: select count(*) from child;
z: truncate child;
a: commit;

-- A hash index is one range.
z: create table h (id int primary key, v int) with (primary_index = hash);
z: insert into h values (1, 1), (2, 2);
a: begin;
a: select sum(v) from h;
b: insert into h values (9, 9);
a: update u set v = 0 where id = 11;
a: commit;
a: rollback;
a: begin;
a: select count(*) from h;
a: insert into h select g, 0 from generate_series(20, 400) g;
a: select count(*) from h;
a: commit;

-- A cursor has the rows of its declaration, and they are looked at in the end.
a: begin;
a: declare cur cursor for select id, v from t where id between 12 and 14 order by id;
a: fetch 1 from cur;
b: update t set v = 0 where id = 13;
a: fetch 2 from cur;
a: update u set v = 0 where id = 12;
a: commit;
a: rollback;

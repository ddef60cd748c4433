-- Advisory locks: who waits for whom, and what ends the waiting.
a: select pg_advisory_lock(1)::text;
b: select pg_try_advisory_lock(1), pg_try_advisory_lock_shared(1);
b: select pg_advisory_lock(1)::text;
a: select pg_advisory_unlock(1);
a: select pg_try_advisory_lock(1);
b: select pg_advisory_unlock(1);

-- Shared ones go together.
a: begin;
b: begin;
a: select pg_advisory_xact_lock_shared(2)::text;
b: select pg_advisory_xact_lock_shared(2)::text;
c: select pg_try_advisory_lock(2);
c: select pg_advisory_lock(2)::text;
a: commit;
b: commit;
c: select pg_advisory_unlock(2);

-- Not the same: one number and two.
a: select pg_advisory_lock(0, 3)::text;
b: select pg_try_advisory_lock(3);
b: select pg_advisory_unlock(3);
a: select pg_advisory_unlock(0, 3);

-- A circle.
a: begin;
b: begin;
a: select pg_advisory_xact_lock(4)::text;
b: select pg_advisory_xact_lock(5)::text;
b: select pg_advisory_xact_lock(4)::text;
a: select pg_advisory_xact_lock(5)::text;
a: rollback;
b: rollback;

-- In a function, and given up with the savepoint.
a: create function takes(k bigint) returns bigint language plpgsql as $$ begin perform pg_advisory_xact_lock(k); return k; end $$;
a: begin;
a: savepoint s;
a: select takes(6);
b: begin;
b: select takes(6), takes(7);
a: rollback to s;
a: select pg_try_advisory_xact_lock(7);
b: commit;
a: select pg_try_advisory_xact_lock(7);
a: commit;
a: drop function takes;

-- lock_timeout
a: select pg_advisory_lock(8)::text;
b: begin;
b: select pg_advisory_xact_lock_shared(8)::text;
a: select pg_advisory_unlock_all()::text;
b: commit;

-- Who waits for whom.
m: create table t (id int primary key, v int);
m: insert into t values (1, 0), (2, 0);
m: create view blocked as select w.application_name as waits, b.application_name as for_whom from pg_stat_activity w cross join lateral unnest(pg_blocking_pids(w.pid)) as p (pid) join pg_stat_activity b on b.pid = p.pid order by 1, 2;
a: set application_name = 'a';
b: set application_name = 'b';
c: set application_name = 'c';
m: select * from blocked;
-- A row.
a: begin;
a: update t set v = 1 where id = 1;
b: update t set v = 2 where id = 1;
m: select * from blocked;
m: select count(*) from pg_stat_activity where cardinality(pg_blocking_pids(pid)) > 0 and wait_event_type = 'Lock';
a: commit;
m: select * from blocked;
-- A table and a reader.
b: begin;
b: select count(*) from t;
c: begin;
c: lock table t in access exclusive mode;
m: select * from blocked;
b: commit;
m: select * from blocked;
c: commit;
-- An advisory lock.
a: select pg_advisory_lock(1)::text;
b: begin;
b: select pg_advisory_xact_lock(1)::text;
c: select pg_advisory_lock(1)::text;
m: select * from blocked;
a: select pg_advisory_unlock(1);
m: select * from blocked;
b: rollback;
m: select * from blocked;
c: select pg_advisory_unlock(1);
-- Itself, and none.
a: select pg_blocking_pids(pg_backend_pid()), pg_blocking_pids(0), pg_blocking_pids(null);

-- Rows that are gone, moved or new by the time they are to be changed, under both levels that read at snapshots.
z: drop table if exists t;
z: create table t (k int primary key, v int, w int);

-- A point that others have deleted.
z: insert into t values (1, 1, 0), (2, 2, 0), (3, 3, 0);
a: begin isolation level repeatable read;
a: select v from t where k = 1;
b: delete from t where k = 1;
a: update t set v = v + 1 where k = 1;
a: rollback;
z: truncate t;
z: insert into t values (1, 1, 0), (2, 2, 0), (3, 3, 0);
a: begin isolation level repeatable read;
a: select v from t where k = 1;
b: update t set v = 11 where k = 1;
b: insert into t values (9, 9, 9);
a: select * from t where k = 9 for share;
a: update t set v = 0 where k = 9;
a: delete from t where k = 9;
a: select * from t where k = 1 for share;
a: rollback;

-- Keys that are not there are not locked.
a: begin;
a: update t set v = 1 where k = 7;
b: update t set v = 1 where k = 7;
b: insert into t values (7, 7, 7);
a: update t set v = 2 where k = 7;
a: rollback;

-- An insert need not wait to find its key taken.
a: begin;
a: select * from t where k = 2 for update;
b: begin;
b: insert into t values (2, 0, 0);
b: rollback;
b: begin;
b: insert into t values (2, 0, 0) on conflict do nothing;
a: update t set v = 22 where k = 2;
a: commit;
b: commit;

-- A row in the place of another.
a: begin;
a: delete from t where k = 3;
a: insert into t values (3, 33, 5);
b: begin;
b: update t set w = w + 1 where k = 3 returning *;
a: commit;
b: update t set w = w + 1 where k = 3 returning *;
b: rollback;

-- ROLLBACK TO gives locks up.
a: begin;
a: savepoint s;
a: update t set v = 12 where k = 1;
b: update t set v = v + 100 where k = 1;
a: rollback to s;
a: commit;
z: select * from t order by k;

-- A default is for the transactions to come.
a: begin;
a: set default_transaction_isolation = 'repeatable read';
a: select current_setting('transaction_isolation');
a: update t set v = 1 where k = 2;
a: set default_transaction_read_only = on;
a: update t set v = 2 where k = 2;
a: rollback;

-- A key is taken by a row that a rollback has put back.
z: truncate t;
z: insert into t values (1, 1, 0), (2, 2, 0);
a: begin;
a: update t set v = v + 1 where k = 1;
a: rollback;
a: begin;
a: insert into t values (1, 11, 0) on conflict do nothing;
b: select 1 from t where k = 1 for update nowait;
a: rollback;
a: begin;
a: savepoint s;
a: delete from t where k = 2;
a: rollback to s;
b: begin;
b: insert into t values (2, 0, 0);
b: rollback;
a: rollback;

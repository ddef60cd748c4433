-- The rows of the table at the head of engine/src/txn/writes.rs under SERIALIZABLE: rows that are there and rows that are
-- not, gaps between them, the end, and the table in their place. For modes of whole tables see lock_modes.own.sql, strengths of
-- rows, which are the same under every level, in strengths.sql and strengths_of_statements.sql.
z: create table t (id int primary key, v int);
z: insert into t values (10, 1), (20, 2), (30, 3);
a: set default_transaction_isolation = 'serializable';
b: set default_transaction_isolation = 'serializable';

-- Row, Read: a plain read of a key. Other sessions can read the key, and their writes wait.
a: begin;
a: select v from t where id = 10;
b: select v from t where id = 10 for share nowait;
b: select v from t where id = 10 for no key update nowait;
b: update t set v = 0 where id = 20;
b: update t set v = 0 where id = 10;
a: commit;

-- Row, NoKeyWrite: an update. A reader waits for it, a check of a parent would not.
a: begin;
a: update t set v = 5 where id = 10;
b: begin;
b: select 1 from t where id = 10 for key share;
b: select v from t where id = 10;
a: rollback;
b: rollback;

-- Row, Write: a delete. A reader waits, and finds what is left.
a: begin;
a: delete from t where id = 10;
b: begin;
b: select v from t where id = 10;
a: rollback;
b: rollback;

-- Row, Write: an update of the key takes both keys, the one that goes and the one that comes.
a: begin;
a: update t set id = 15 where id = 10;
b: begin;
b: select v from t where id = 20;
b: select v from t where id = 15;
a: rollback;
b: rollback;

-- Absent row, Read: a key that is not there. It may be read by others, and its neighbours written; who inserts it waits.
a: begin;
a: select v from t where id = 15;
b: insert into t values (16, 0);
b: begin;
b: select v from t where id = 15;
b: commit;
b: insert into t values (15, 0);
a: select v from t where id = 15;
a: commit;
z: delete from t where id in (15, 16);

-- Absent row, NoKeyWrite: an update that finds no row. No other session may insert the row, or look for it.
a: begin;
a: update t set v = 0 where id = 15;
b: begin;
b: select v from t where id = 15;
a: commit;
b: rollback;

-- Gap, Read, beside IntentWrite: a phantom. The range was read, so nothing may appear in it.
a: begin;
a: select * from t where id between 10 and 20;
b: insert into t values (12, 0);
a: select * from t where id between 10 and 20;
a: commit;
z: delete from t where id = 12;

-- The gap before the first key beyond the range belongs to it, up to that key ...
a: begin;
a: select * from t where id between 10 and 20;
b: insert into t values (28, 0);
a: commit;
z: delete from t where id = 28;

-- ... the key itself and what comes behind it do not, and neither does what lies before the gap below the first key.
z: insert into t values (5, 0);
a: begin;
a: select * from t where id between 10 and 20;
b: update t set v = 4 where id = 30;
b: insert into t values (35, 0);
b: insert into t values (4, 0);
a: commit;
z: delete from t where id in (4, 5, 35);

-- The same from above: a scan backwards.
a: begin;
a: select * from t where id between 15 and 25 order by id desc;
b: insert into t values (26, 0);
a: commit;
z: delete from t where id = 26;

-- A range without a row in it is a gap, too.
a: begin;
a: select count(*) from t where id between 12 and 18;
b: insert into t values (15, 0);
a: select count(*) from t where id between 12 and 18;
a: commit;
z: delete from t where id = 15;

-- Gap, IntentWrite, beside Read: who reads a range waits for inserts that are not committed.
a: begin;
a: insert into t values (12, 0);
b: begin;
b: select * from t where id between 10 and 20;
a: rollback;
b: rollback;

-- Gap, IntentWrite, beside IntentWrite: two that insert into one gap do not wait.
a: begin;
a: insert into t values (12, 0);
b: begin;
b: insert into t values (14, 0);
b: rollback;
a: rollback;

-- Gap, Read, beside Read: two read one range; then neither may insert into it, and one of them is the victim.
a: begin;
a: select count(*) from t where id between 11 and 19;
b: begin;
b: select count(*) from t where id between 11 and 19;
a: insert into t values (12, 0);
b: insert into t values (14, 0);
b: rollback;
a: rollback;

-- A session that has read a range may insert into it. Both parts of the divided gap stay closed to others.
a: begin;
a: select count(*) from t where id between 11 and 19;
a: insert into t values (15, 0);
b: insert into t values (13, 0);
a: rollback;
a: begin;
a: select count(*) from t where id between 11 and 19;
a: insert into t values (15, 0);
b: insert into t values (17, 0);
a: rollback;
z: delete from t where id in (13, 17);

-- Gap (table, end): no other session inserts a key after the end of a range that was read to the end, or into the gap before its first key.
a: begin;
a: select * from t where id > 25;
b: insert into t values (25, 0);
a: commit;
a: begin;
a: select * from t where id > 25;
b: insert into t values (40, 0);
a: commit;
z: delete from t where id in (25, 40);

-- Two that append do not wait for each other.
a: begin;
a: insert into t values (40, 0);
b: insert into t values (50, 0);
a: commit;
z: delete from t where id in (40, 50);

-- A deleted row still separates its gaps: the range waits for the one who has deleted it.
a: begin;
a: delete from t where id = 20;
b: begin;
b: select * from t where id between 15 and 25;
a: rollback;
b: rollback;

-- The whole table in place of rows and gaps: no key is too far away.
a: begin;
a: select count(*) from t;
b: insert into t values (1000, 0);
a: select count(*) from t;
a: commit;
z: delete from t where id = 1000;

-- A condition that is not about the key reads the whole table.
a: begin;
a: select * from t where v = 77;
b: insert into t values (1000, 0);
a: commit;
z: delete from t where id = 1000;

-- Readers at snapshots lock no gap and wait for none, and READ COMMITTED reads at snapshots. But a serializable reader waits for what
-- such a session inserts, and the other way round.
c: begin;
c: select * from t where id between 10 and 20;
b: insert into t values (12, 0);
c: select * from t where id between 10 and 20;
c: rollback;
z: delete from t where id = 12;
c: begin;
c: insert into t values (12, 0);
b: begin;
b: select * from t where id between 10 and 20;
c: rollback;
b: rollback;
a: begin;
a: select * from t where id between 10 and 20;
c: insert into t values (12, 0);
a: commit;
z: drop table t;

-- LOCK TABLE as PostgreSQL has it; where Hyades takes a stronger lock is shown by lock_table.own.sql.
z: create table t (id int primary key, v int);
z: create table other (id int primary key);
z: create view shown as select id from t;
z: create sequence numbers;
z: insert into t values (1, 10), (2, 20);

-- What cannot be locked, and where.
a: lock table t;
a: begin;
a: lock table nothing in share mode;
a: rollback;
a: begin;
a: lock table numbers;
a: rollback;
a: begin;
a: lock table t in shared mode;
a: rollback;
a: begin;
a: lock t, other in row share mode nowait;
a: lock only t in access share mode;
a: commit;

-- ACCESS SHARE conflicts only with ACCESS EXCLUSIVE.
a: begin transaction isolation level repeatable read read only;
a: lock table t in access share mode;
b: begin;
b: update t set v = 11 where id = 1;
b: lock table t in exclusive mode nowait;
b: lock table t in access exclusive mode nowait;
b: rollback;
b: truncate t;
a: select * from t order by id;
a: commit;
a: insert into t values (1, 10), (2, 20);

-- Readers of the whole go together, and keep writers out.
a: begin;
a: lock table t in share mode;
b: begin;
b: lock table t in share mode nowait;
b: commit;
b: select * from t order by id;
b: update t set v = 12 where id = 1;
a: select * from t order by id;
a: commit;

-- Writers of rows go together, and keep readers of the whole out.
a: begin;
a: lock table t in row exclusive mode;
b: begin;
b: lock table t in row exclusive mode nowait;
b: update t set v = 13 where id = 1;
b: commit;
b: begin;
b: lock table t in share mode nowait;
b: rollback;
a: commit;

-- SHARE ROW EXCLUSIVE: one session at a time, and readers at snapshots beside it.
a: begin;
a: lock table t in share row exclusive mode;
b: select * from t order by id;
b: begin;
b: lock table t in share row exclusive mode nowait;
b: rollback;
a: commit;
a: begin;
a: lock table t in exclusive mode;
b: select * from t order by id;
b: insert into t values (3, 30);
a: commit;

-- ACCESS EXCLUSIVE, the default: no other session uses the table.
a: begin;
a: lock table t;
b: select count(*) from t;
a: insert into t values (4, 40);
a: commit;

-- A view is locked with what it reads.
a: begin;
a: lock table shown in access exclusive mode;
b: begin;
b: lock table t in access share mode nowait;
b: rollback;
a: rollback;

-- After a wait the name is looked up again.
a: begin;
a: drop table other;
b: begin;
b: lock table other in access share mode;
a: commit;
b: rollback;

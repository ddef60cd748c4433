-- Constraints that can be deferred, where others wait than in PostgreSQL: values are locked when a row gets them.
0: drop table if exists t;
0: create table t (id int primary key deferrable, a int unique deferrable initially deferred, b int);
0: insert into t values (1, 10, 0), (2, 20, 0);

-- The second session waits when it writes, not when it commits.
a: begin;
a: insert into t values (3, 30, 0);
b: begin;
b: insert into t values (4, 30, 0);
a: commit;
b: commit;
a: begin;
a: insert into t values (5, 50, 0);
b: begin;
b: insert into t values (6, 50, 0);
a: rollback;
b: commit;
0: select * from t order by id;

-- So two who take each other's values are in a circle at once.
a: begin;
b: begin;
a: insert into t values (7, 70, 0);
b: insert into t values (8, 80, 0);
a: insert into t values (9, 80, 0);
b: insert into t values (10, 70, 0);
a: commit;
b: commit;
0: select * from t order by id;

-- A serializable search by such an index keeps other sessions from taking the value. Other values are free.
a: begin isolation level serializable;
a: select id from t where a = 90;
b: insert into t values (11, 91, 0);
b: insert into t values (12, 90, 0);
a: select id from t where a = 90;
a: commit;
0: select * from t order by id;

-- A serializable one sees its own duplicates.
a: begin isolation level serializable;
a: insert into t values (20, 10, 1), (21, 10, 2);
a: select id from t where a = 10 order by id;
b: select id from t where a = 10 order by id;
a: update t set a = id * 10 where id >= 20;
a: commit;
0: select * from t order by id;

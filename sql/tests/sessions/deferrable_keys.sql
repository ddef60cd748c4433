-- Two who give one value to rows of a constraint that can be deferred: one of them at most commits.
0: drop table if exists t;
0: create table t (id int primary key deferrable, a int unique deferrable initially deferred, b int);
0: insert into t values (1, 10, 0), (2, 20, 0);

-- At the end of the statement the second session waits for the first, which commits, or rolls back.
a: begin;
a: insert into t values (3, 30, 0);
b: insert into t values (3, 31, 0);
a: commit;
a: begin;
a: insert into t values (4, 40, 0);
b: insert into t values (4, 41, 0);
a: rollback;
b: select * from t order by id;

-- A value that is given up, and given back.
a: begin;
a: delete from t where id = 1;
b: insert into t values (1, 11, 0);
a: rollback;
a: begin;
a: delete from t where id = 1;
b: insert into t values (1, 11, 0);
a: commit;
b: select * from t order by id;
a: begin;
a: update t set id = 5 where id = 2;
b: update t set id = 2 where id = 1;
a: rollback;
a: begin;
a: update t set id = 5 where id = 2;
b: update t set id = 2 where id = 1;
a: commit;
b: select * from t order by id;

-- A value that another has taken away, wanted at the end of the transaction: the commit waits.
a: begin;
a: delete from t where id = 3;
b: begin;
b: insert into t values (6, 30, 0);
b: commit;
a: rollback;
b: select count(*) from t where id = 6;
a: begin;
a: update t set a = 33 where id = 3;
b: begin;
b: insert into t values (6, 30, 0);
b: commit;
a: commit;
b: select * from t order by id;

-- The same at SET CONSTRAINTS.
a: begin;
a: delete from t where id = 6;
b: begin;
b: insert into t values (7, 30, 0);
b: set constraints t_a_key immediate;
a: commit;
b: commit;
b: select * from t order by id;

0: delete from t;
0: insert into t values (1, 10, 0), (2, 20, 0);

-- At a snapshot that does not see the other row.
a: begin isolation level repeatable read;
a: select count(*) from t;
b: insert into t values (3, 30, 0);
a: insert into t values (4, 30, 0);
a: select id, a from t order by id;
a: commit;
a: begin isolation level repeatable read;
a: select count(*) from t;
b: delete from t where id = 3;
a: insert into t values (3, 30, 0);
a: select id, a from t where a = 30;
a: commit;
b: select * from t order by id;

-- Others see neither duplicates nor what is rolled back.
a: begin;
a: insert into t values (5, 10, 0);
b: select * from t where a = 10;
a: update t set a = 50 where id = 5;
a: commit;
b: select * from t order by id;

-- Back at a savepoint the value is free.
a: begin;
a: savepoint one;
a: insert into t values (6, 60, 0);
a: rollback to one;
b: insert into t values (6, 60, 0);
a: insert into t values (6, 61, 0);
a: rollback;

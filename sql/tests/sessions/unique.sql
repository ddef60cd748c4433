-- Writers of one value of a unique index wait for each other, and for sessions that remove the value.
0: drop table if exists t;
0: create table t (id int primary key, a int unique, b int);
0: insert into t values (1, 10, 0), (2, 20, 0);

-- Both want a new value; the first commits, or does not.
a: begin;
a: insert into t values (3, 30, 0);
b: insert into t values (4, 30, 0);
a: commit;
a: begin;
a: insert into t values (5, 50, 0);
b: insert into t values (6, 50, 0);
a: rollback;
a: begin;
a: insert into t values (7, 70, 0);
b: insert into t values (8, 70, 0) on conflict (a) do nothing;
a: commit;
a: begin;
a: insert into t values (9, 90, 0);
b: insert into t values (10, 90, 0) on conflict (a) do update set b = t.b + 1 returning id, b;
a: commit;
b: select * from t order by id;

-- A value that is given up.
a: begin;
a: delete from t where a = 10;
b: insert into t values (11, 10, 0);
a: rollback;
a: begin;
a: update t set a = 11 where a = 10;
b: insert into t values (11, 10, 0);
a: commit;
a: begin;
a: update t set a = 12 where a = 11;
a: update t set a = 11 where a = 12;
b: update t set a = 11 where id = 2;
a: commit;

-- Back at a savepoint the value is free.
a: begin;
a: savepoint one;
a: insert into t values (13, 130, 0);
a: rollback to one;
b: insert into t values (14, 130, 0);
a: insert into t values (13, 130, 0);
a: rollback;

-- At a snapshot that does not see the other row.
a: begin isolation level repeatable read;
a: select count(*) from t;
b: insert into t values (15, 150, 0);
a: insert into t values (16, 150, 0) on conflict (a) do nothing;
a: rollback;
a: begin isolation level repeatable read;
a: select count(*) from t;
b: insert into t values (17, 170, 0);
a: insert into t values (18, 170, 0);
a: rollback;

-- In a circle.
a: begin;
b: begin;
a: insert into t values (21, 210, 0);
b: insert into t values (22, 220, 0);
a: insert into t values (23, 220, 0);
b: rollback;
a: commit;
b: select id, a from t where a >= 130 order by id;

-- Rows that are found by an index and have changed meanwhile.
0: create index t_b on t (b);
0: update t set b = id;
a: begin;
a: update t set b = 100 where id = 2;
b: update t set a = a + 1 where b = 2 returning id;
a: commit;
a: begin;
a: update t set b = 2 where id = 2;
b: update t set a = a + 1 where b = 100 returning id;
a: rollback;
a: begin;
a: update t set b = 101 where id = 2;
b: update t set a = a + 1 where b >= 100 returning id, b;
a: commit;
b: select id, b from t where b > 50 order by b;
0: drop table t;

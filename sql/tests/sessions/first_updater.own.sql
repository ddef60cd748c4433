-- As first_updater.sql, where the answers differ from PostgreSQL's: a cursor locks its rows when it is declared, and a foreign key
-- accepts a parent that has come since the snapshot.
0: drop table if exists t;
0: create table t (id int primary key, u int unique, v int);
0: create table child (id int primary key, parent int references t (u));
0: insert into t values (1, 10, 0), (2, 20, 0);

-- WHERE CURRENT OF.
a: begin isolation level repeatable read;
a: select count(*) from t;
b: update t set v = v + 1 where id = 2;
a: savepoint s;
a: declare c cursor for select * from t where id = 2;
a: fetch 1 from c;
a: update t set v = 9 where current of c;
a: rollback to s;
a: declare c cursor for select * from t where id = 2;
a: fetch 1 from c;
a: delete from t where current of c;
a: rollback to s;
a: declare c cursor for select * from t where id = 2 for update;
a: rollback;

-- The parent.
a: begin isolation level repeatable read;
a: select count(*) from child;
b: insert into t values (9, 90, 0);
a: insert into child values (9, 90);
a: rollback;

-- An INSERT that only meets a row which the snapshot does not see changes none.
a: begin isolation level repeatable read;
a: select count(*) from t;
b: insert into t values (5, 50, 0);
a: insert into t values (6, 50, 0);
a: rollback;
0: drop table child;
0: drop table t;

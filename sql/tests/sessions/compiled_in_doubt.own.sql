-- A deadlock of a session that compiles fails its transaction, for texts that recur, too. PostgreSQL may choose
-- the other session.
0: create table t (id int primary key, v int);
0: create table u (id int primary key);
0: create table n (i int);
b: select v from t where id = 1;
b: select v from t where id = 2;
b: select v from t where id = 3;
a: begin;
a: alter table t add column w int;
b: begin;
b: insert into n values (1);
b: alter table u add column w int;
a: select id from u;
b: select v from t where id = 4;
b: insert into n values (2);
b: commit;
a: commit;
0: select * from n;
0: select * from u;
0: drop table t, u, n;

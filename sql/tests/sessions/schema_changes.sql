-- Sessions that change the definition of a table or empty it, beside its readers and writers: they lock the whole table FOR UPDATE, and
-- its definition. For locks of single rows see strengths_of_statements.sql.
0: drop table if exists child;
0: drop table if exists t;
0: create table t (id int primary key, v int);
0: insert into t values (1, 10), (2, 20);

-- TRUNCATE waits for a reader, although the reader has a snapshot and locks no row.
a: begin;
a: select v from t where id = 1;
b: truncate t;
a: select v from t where id = 2;
a: commit;
0: insert into t values (1, 10), (2, 20);

-- The same for a reader of one snapshot.
a: begin isolation level repeatable read;
a: select count(*) from t;
b: truncate t;
a: select count(*) from t;
a: commit;
a: select count(*) from t;
0: insert into t values (1, 10), (2, 20);

-- TRUNCATE waits for a writer.
a: begin;
a: update t set v = 11 where id = 1;
b: truncate t;
a: rollback;
0: insert into t values (1, 10), (2, 20);

-- A reader waits for TRUNCATE, and sees what it leaves.
a: begin;
a: truncate t;
b: select count(*) from t;
a: rollback;
a: begin;
a: truncate t;
b: select count(*) from t;
a: commit;
0: insert into t values (1, 10), (2, 20);

-- So does a writer.
a: begin;
a: truncate t;
b: update t set v = 12 where id = 1;
a: rollback;
a: begin;
a: truncate t;
b: insert into t values (1, 13);
a: commit;
0: insert into t values (2, 20);

-- Of two that do it the second one waits.
a: begin;
a: truncate t;
b: truncate t;
a: commit;
0: insert into t values (1, 10), (2, 20);

-- DROP TABLE waits for a reader; who comes later finds no table.
a: begin;
a: select v from t where id = 1;
b: begin;
b: drop table t;
a: commit;
c: select v from t where id = 1;
b: commit;
0: create table t (id int primary key, v int);
0: insert into t values (1, 10), (2, 20);

-- DROP TABLE that is taken back.
a: begin;
a: drop table t;
b: select v from t where id = 1;
c: update t set v = 11 where id = 1;
a: rollback;

-- A name stays taken until the table is gone for good.
a: begin;
a: drop table t;
b: create table t (id int primary key, v int);
a: rollback;

-- A foreign key is added: writers of the child and of the parent wait, both before and after.
0: create table child (id int primary key, t int);
0: insert into child values (1, 1);
a: begin;
a: insert into child values (2, 9);
b: alter table child add foreign key (t) references t;
a: commit;
0: delete from child where id = 2;
a: begin;
a: alter table child add foreign key (t) references t;
b: insert into child values (3, 9);
c: delete from t where id = 1;
a: commit;

-- Other sessions do not see a created table until it is committed.
a: begin;
a: create table fresh (id int primary key);
b: select * from fresh;
a: insert into fresh values (1);
a: commit;
b: select * from fresh;
0: drop table fresh;
0: drop table child;
0: drop table t;

-- Unique values and ranges of secondary indexes, where different sessions wait than in PostgreSQL.
0: drop table if exists t;
0: create table t (id int primary key, a int unique, b int);
0: create index t_b on t (b);
0: insert into t values (1, 10, 10), (2, 20, 20), (3, 30, 30);

-- An update of another column does not make sessions wait that want the same value.
a: begin;
a: update t set b = 11 where a = 10;
b: insert into t values (12, 10, 0);
b: insert into t values (12, 10, 0) on conflict (a) do nothing;
a: rollback;

-- Value, Read: a serializable search by a unique index, for what is there and for what is not. Neighbours go on.
a: set default_transaction_isolation = 'serializable';
b: set default_transaction_isolation = 'serializable';
a: begin;
a: select id from t where a = 10;
a: select id from t where a = 15;
b: insert into t values (16, 16, 16);
b: delete from t where id = 16;
b: insert into t values (15, 15, 15);
a: select id from t where a = 15;
a: commit;
b: delete from t where id = 15;

-- Gap, Read: a serializable search by an index that is not unique.
a: begin;
a: select id from t where b between 15 and 25;
b: insert into t values (50, 50, 50);
b: update t set b = 24 where id = 50;
a: select id from t where b between 15 and 25;
a: commit;
b: delete from t where id = 50;
a: begin;
a: select id from t where b > 25 order by b desc;
b: insert into t values (60, 60, 60);
a: select id from t where b > 25 order by b desc;
a: commit;
b: delete from t where id = 60;

-- Row, by an entry: another session changes what was read, or is changing what is about to be read.
a: begin;
a: select id from t where b = 20;
b: update t set b = 99 where id = 2;
a: commit;
a: begin;
a: update t set b = 20 where id = 2;
b: select id from t where b = 20;
a: rollback;
a: begin;
a: insert into t values (70, 70, 70);
b: select id from t where b = 70;
a: commit;

-- A table without a primary key.
0: create table h (a int, b text);
0: create index h_a on h (a);
a: begin;
a: insert into h values (1, 'new');
b: select b from h where a = 1;
a: rollback;
a: begin;
a: select b from h where a = 1;
b: insert into h values (1, 'new');
a: select b from h where a = 1;
a: commit;
b: select b from h where a = 1 for update skip locked;
0: drop table h;
0: drop table t;

-- CREATE INDEX beside writers where Hyades does not do as PostgreSQL: engine/src/txn/writes/index_build.rs.
z: create table t (id int primary key, a int, b int);
z: insert into t select i, i * 10, i from generate_series(1, 10) i;

-- Outside of a block CREATE INDEX lets readers and writers go on, whether or not it says CONCURRENTLY.
a: begin;
a: update t set a = 15 where id = 1;
b: create index t_a on t (a);
c: update t set a = 25 where id = 2;
a: commit;
z: select id from t where a in (10, 15, 20, 25) order by id;

-- Inside of one it does.
a: begin;
a: create index t_b on t (b);
c: update t set a = 26 where id = 2;
a: rollback;

-- A unique one that cannot be leaves nothing.
z: insert into t values (11, 110, 10);
b: create unique index concurrently t_b on t (b);
z: select relname from pg_class where relname = 't_b';
z: insert into t values (12, 120, 10);

-- Whether a value is there twice depends on a transaction that has not ended. It gets no error.
z: delete from t where id in (11, 12);
a: begin;
a: insert into t values (11, 110, 10);
b: create unique index concurrently t_b on t (b);
a: rollback;
a: begin;
a: insert into t values (11, 110, 10);
a: rollback;

-- Other changes of the table wait for the builder, and who wants something else of it waits for them.
z: drop index t_b;
a: begin;
a: update t set a = 17 where id = 1;
b: create index concurrently t_b on t (b);
c: create index t_c on t (b, a);
d: alter table t add column e int;
a: commit;
z: select indexname from pg_indexes where tablename = 't' order by indexname;

-- A circle is seen at once.
a: begin;
a: update t set a = 18 where id = 1;
b: create index concurrently t_d on t (e);
a: truncate t;
a: rollback;
z: select indexname from pg_indexes where tablename = 't' order by indexname;

-- Two of one name.
a: begin;
a: update t set a = 18 where id = 1;
b: create index concurrently t_f on t (e);
c: create table t_f (a int);
a: commit;

-- DROP INDEX CONCURRENTLY of one that another follows.
a: begin;
a: select id from t where b = 3;
b: drop index concurrently t_a;
c: select id from t where b = 4;
c: update t set b = 44 where b = 4;
a: select id from t where b = 44;
a: commit;
c: select id from t where b = 44;

-- CONCURRENTLY in a routine. (PostgreSQL says the same; its answers have a context, which these scripts do not show.)
a: do $$ begin execute 'create index concurrently t_g on t (a)'; end $$;
a: do $$ begin execute 'drop index concurrently t_b'; end $$;
a: do $$ begin execute 'reindex index concurrently t_b'; end $$;
z: drop table t;

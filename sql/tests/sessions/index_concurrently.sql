-- CREATE, DROP and REINDEX INDEX CONCURRENTLY beside writers: engine/src/txn/writes/index_build.rs.
z: create table built (id int primary key, a int, b int);
z: insert into built select i, i * 10, i from generate_series(1, 10) i;

-- The builder waits for transactions that have used the table before. No other session waits for the builder.
a: begin;
a: update built set a = 15 where id = 1;
b: create index concurrently built_a on built (a);
c: insert into built values (11, 110, 11);
c: update built set a = 25 where id = 2;
c: delete from built where id = 3;
c: insert into built values (2, 0, 0) on conflict (id) do update set a = 26;
c: insert into built values (4, 0, 0) on conflict do nothing;
d: begin;
d: update built set a = 55 where id = 5;
d: savepoint one;
d: update built set a = 56, id = 50 where id = 5;
d: rollback to one;
d: insert into built values (12, 120, 12);
d: commit;
d: begin;
d: update built set a = 65 where id = 6;
d: delete from built where a > 90;
d: rollback;
a: update built set a = 75 where id = 7;
a: commit;
z: set enable_seqscan = off;
z: select id, a from built where a > 0 order by a;
z: select id from built where a in (10, 15, 20, 25, 26, 30, 55, 56, 65, 70, 75) order by id;

-- The builder also waits for a snapshot that has read the table, and the snapshot still sees the same rows.
a: begin isolation level repeatable read;
a: select count(*) from built;
b: create index concurrently built_b on built (b);
c: update built set b = 100 where id = 1;
a: select id from built where b = 1;
a: commit;
z: select id from built where b in (1, 100);

-- A unique index. No writer gets an error before the builder looks for duplicates.
z: drop index built_b;
a: begin;
a: insert into built values (20, 200, 20);
b: create unique index concurrently built_b on built (b);
c: insert into built values (21, 210, 21);
d: insert into built values (22, 220, 21);
d: delete from built where id = 22;
a: commit;
c: insert into built values (23, 230, 21);
c: update built set b = 20 where id = 21;
c: insert into built values (24, 240, 20) on conflict (b) do update set a = 241;
z: select * from built where b in (20, 21) order by id;

-- DROP INDEX CONCURRENTLY waits for sessions that use the index. No session waits for the drop.
a: begin;
a: select id from built where a = 15;
b: drop index concurrently built_a;
c: update built set a = 16 where id = 1;
d: insert into built values (30, 300, 30);
a: commit;
z: select id from built where a = 16;

-- They are transactions of their own.
a: begin;
a: create index concurrently built_a on built (a);
a: rollback;
a: begin;
a: drop index concurrently built_b;
a: rollback;
a: begin;
a: reindex index concurrently built_b;
a: rollback;
a: begin;
a: reindex (concurrently) table built;
a: rollback;
a: begin;
a: reindex (concurrently off) table built;
a: rollback;
a: reindex index concurrently built_b;
a: reindex table concurrently built;
a: create index concurrently if not exists built_b on built (a);
a: drop index concurrently if exists nothing;
z: drop table built;

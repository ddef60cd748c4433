-- REFRESH MATERIALIZED VIEW beside other sessions.
z: create table t (id int primary key, v int);
z: insert into t values (1, 10), (2, 20);
z: create materialized view m as select id, v from t with no data;
z: refresh materialized view m;
z: create unique index on m (id);

-- Beside readers: they see the old rows until it commits.
a: begin;
a: select * from m order by id;
b: update t set v = 11 where id = 1;
b: begin;
b: refresh materialized view concurrently m;
a: select * from m order by id;
a: commit;
a: select * from m order by id;
b: select * from m order by id;
b: commit;
a: select * from m order by id;

-- A snapshot keeps what it has seen.
a: begin transaction isolation level repeatable read;
a: select * from m order by id;
b: update t set v = 12 where id = 1;
b: refresh materialized view concurrently m;
b: select * from m order by id;
a: select * from m order by id;
a: commit;
a: select * from m order by id;

-- Two of them go one after the other.
a: begin;
a: refresh materialized view concurrently m;
b: refresh materialized view concurrently m;
a: commit;

-- Without CONCURRENTLY it waits for readers, and they for it.
a: begin;
a: select count(*) from m;
b: refresh materialized view m;
a: commit;
a: begin;
a: insert into t values (3, 30);
a: refresh materialized view m;
b: select * from m order by id;
a: rollback;
a: begin;
a: insert into t values (3, 30);
a: refresh materialized view m;
b: select * from m order by id;
a: commit;

-- Rows that others have not committed are not read.
a: begin;
a: insert into t values (4, 40);
b: refresh materialized view m;
b: select count(*) from m;
b: refresh materialized view concurrently m;
b: select count(*) from m;
a: commit;
b: refresh materialized view m with no data;
a: select count(*) from m;
a: refresh materialized view m;
a: select count(*) from m;
b: select count(*) from m;

-- A reader waits for the first rows.
a: create materialized view late as select id from t with no data;
b: prepare q as select count(*) from late;
b: execute q;
a: begin;
a: refresh materialized view late;
b: execute q;
a: commit;
b: execute q;
a: refresh materialized view late with no data;
b: execute q;
z: drop materialized view late, m;
z: drop table t;

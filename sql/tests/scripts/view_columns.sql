-- A view means the same after tables under it have got, lost or renamed columns.
create table t2 (a int, b int, c int);
create table t3 (ax bigint, b smallint, c numeric);
create table t4 (ay int, b int, q int);
insert into t2 values (1, 2, 3);
insert into t3 values (4, 2, 3);
insert into t4 values (5, 2, 6);
create view v1 as select * from t2 natural join t3;
create view v1a as select * from (t2 natural join t3) j;
create view v2 as select * from t2 join t3 using (b, c) join t4 using (b);
create view v2a as select * from (t2 join t3 using (b, c) join t4 using (b)) j;
create view v3 as select * from t2 join t3 using (b, c) full join t4 using (b);
create view all_texts as
    select relname, pg_get_viewdef(oid, true) as pretty from pg_class where relname in ('v1', 'v1a', 'v2', 'v2a', 'v3');
select * from all_texts order by 1;
alter table t2 add column d int default 7;
alter table t2 add column e int;
select * from all_texts order by 1;
alter table t3 rename c to d;
select * from all_texts order by 1;
alter table t3 add column c int default 8;
alter table t3 add column e int default 9;
select * from all_texts order by 1;
alter table t2 drop column d;
select * from all_texts order by 1;
select * from v1;
select * from v1a;
select * from v2;
select * from v2a;
select * from v3;

create table t5 (a int, b int);
create table t6 (c int, d int);
insert into t5 values (1, 2);
insert into t6 values (3, 4);
create view w1 as select * from (t5 cross join t6) j(aa, bb, cc, dd);
alter table t5 add column c int default 99;
select pg_get_viewdef('w1', true);
alter table t5 add column cc int default 98;
select pg_get_viewdef('w1', true);
select pg_get_viewdef('w1');
alter table t5 drop column c;
select pg_get_viewdef('w1', true);
select * from w1;
-- a column that a join shows is used
alter table t5 drop column b;
alter table t6 rename d to dx;
select pg_get_viewdef('w1', true);
select * from w1;

-- columns that a list of names counts
create table l (a int, b int, c int);
insert into l values (1, 2, 3);
create view l1 as select x, z from l q(x, y, z);
create view l2 as select z from (l cross join t6) q(x, y, z);
alter table l drop column b;
select pg_get_viewdef('l1', true), pg_get_viewdef('l2', true);
select * from l1, l2;
alter table l add column d int, add column x int default 5;
select pg_get_viewdef('l1', true), pg_get_viewdef('l2', true);
alter table l rename c to cc;
select pg_get_viewdef('l1', true), pg_get_viewdef('l2', true);
select * from l1, l2;
alter table l drop column cc;

-- a new column of the name that a join merges
create table t11 (x int, y int);
create table t12 (x int, z int);
create table t13 (z int, q int);
insert into t11 values (1, 2);
insert into t12 values (1, 3);
insert into t13 values (3, 4);
create view w6 as select x, y, z, q from (t11 join t12 using (x)) join t13 using (z);
select pg_get_viewdef('w6', true);
alter table t11 add column z int default 3;
select pg_get_viewdef('w6', true);
select pg_get_viewdef('w6');
alter table t11 add column w int;
select pg_get_viewdef('w6', true);
alter table t11 rename z to zz;
select pg_get_viewdef('w6', true);
alter table t12 rename x to xx;
select pg_get_viewdef('w6', true);
select * from w6;
alter table t12 drop column xx;
alter table t13 drop column z;
-- the names of tables, and of columns of the result
alter table t12 rename to twelve;
select pg_get_viewdef('w6', true);
select * from w6;

-- a column that existed when the view was made
create table t9 (x int, xx int, y int);
create table t10 (x int, z int);
create view w5 as select x, y, z from t9 join t10 using (x);
alter table t9 drop column xx;
select pg_get_viewdef('w5', true);

-- views of views
create view below as select 1 as a, 2 as b;
create view above as select p, r from (below cross join (select 3 as c) s) j(p, q, r);
create or replace view below as select 1 as a, 2 as b, 10 as c, 11 as p;
select pg_get_viewdef('above', true);
select * from above;

-- subqueries, WITH and materialized views
create table s1 (a int, b int);
create table s2 (b int, c int);
insert into s1 values (1, 2);
insert into s2 values (2, 3);
create materialized view m as
    with own as (select j.c, j.a from (s1 join s2 using (b)) j)
    select own.c, (select max(k.u) from s2 k(t, u)) from own;
alter table s1 add column c int default 100;
alter table s2 add column u int default 101;
select pg_get_viewdef('m', true);
refresh materialized view m;
select * from m;

-- EXPLAIN of materialized views and around them.
create table t (a int primary key, b text);
create materialized view m as select a, b from t with no data;
create unique index on m (a);
explain (costs off) select * from m;
explain (costs off) select * from m where a = 1;
explain refresh materialized view m;
explain analyze refresh materialized view m;
select * from m;
explain create materialized view n as select count(*) from t;
explain (costs off, summary off) create materialized view n as select a from t where a > 1;
select * from n;
alter view m rename column a to b;
create view v as select * from m;
alter view v rename column a to b;
alter table v rename column a to b;
drop table t cascade;

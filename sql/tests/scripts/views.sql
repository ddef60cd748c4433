-- Views: made, read, replaced, dropped.
create table t (id int primary key, a int, b text);
insert into t values (1, 10, 'x'), (2, 20, 'y'), (3, null, null);
create table u (id int primary key, t_id int, c numeric(8,2));
insert into u values (1, 1, 1.5), (2, 1, 2.5), (3, 2, 7);
create view v as select * from t;
select * from v order by id;
select b from v where id = 2;
create view v2 (x, y) as select a + 1, b from v where a > 5;
select * from v2 order by x;
select y, x from v2 as w where w.x = 21;
create view joined as
  select t.id, b, sum(c) as total, count(*)
  from t join u on u.t_id = t.id group by t.id, b;
select * from joined order by id;
select max(total) from joined;
select * from t left join v2 on v2.x = t.a + 1 order by id;
select * from t left join
  (v2 join u on true) on v2.x = t.a + 1 order by t.id, u.id;
-- an expression is NULL in a row that is missing
create view w as select id, 'fix' as c, coalesce(a, 0) as n from t;
select t.id, w.* from t left join w on w.id = t.id + 1 order by 1;
select * from w where n = 0;
-- in subqueries, WITH, unions
select id from t where a in (select a from v where b = 'x');
with q as (select * from v2) select * from q order by 1;
select id from v union select x from v2 order by 1;
select (select count(*) from v where v.id <= t.id) from t
  order by id;
-- kinds of queries
create view agg as select count(*) as n, max(a) from t;
select * from agg;
create view vals as values (1, 'one'), (2, 'two');
select * from vals;
create view setop as
  select id from t union all select id from u order by 1 limit 4;
select * from setop;
create view dist as select distinct on (t_id) t_id, c from u
  order by t_id, c desc;
select * from dist;
create view cte as with q as (select id from t where id > 1)
  select * from q;
select * from cte order by 1;
create recursive view nums (n) as
  values (1) union all select n + 1 from nums where n < 4;
select * from nums;
create view nofrom as select 1 as one, 'a' as letter;
select * from nofrom;
select * from nofrom, vals where one = column1;
create view ser as select g, g * 2 as d
  from generate_series(1, 3) as g;
select * from ser where d > 2;
-- prepared statements see what a view is now
prepare p as select * from v2 order by 1;
execute p;
create or replace view v2 (x, y) as
  select a + 100, b from v where a > 5;
execute p;
create or replace view v2 (x, y, z) as
  select a + 100, b, id from v where a > 5;
execute p;
select * from v2 order by 1;
create or replace view v2 (x) as select a from t;
create or replace view v2 (x, y) as select b, b from t;
create or replace view v2 (q, y, z) as
  select a, b, id from t;
create or replace view t as select 1 as a;
deallocate p;
-- routines
create function f() returns bigint language plpgsql as $$
begin
  return (select count(*) from v2);
end $$;
select f();
insert into t values (4, 40, 'z');
select f();
create or replace view v2 (x, y, z) as
  select a + 100, b, id from v where a > 30;
select f();
create function g(i int) returns int language sql as
  'select i * 2';
create view callsg as select id, g(id) from t;
select * from callsg order by id;
drop function g(int);
drop function g(int) cascade;
select * from callsg;
-- errors
create view v as select 1;
create view bad as select nothing from t;
create view bad as select 1 as a, 2 as a;
create view bad (a, b, c) as select 1, 2;
create view bad as select * from nowhere;
create view bad as select $1;
create view bad as delete from t;
select nothing from v;
select v.nothing from v;
select a from v group by b;
drop table v;
drop view t;
drop view nowhere;
drop view if exists nowhere;
drop view if exists nowhere, nofrom;
truncate v;
create index on v (a);
-- what depends on what
drop table t;
drop view v;
drop view v cascade;
select * from v2;
drop table u, t;
drop table u, t cascade;
select * from joined;
select * from agg;
-- transactions
create table t (id int primary key, a int);
begin;
create view v as select * from t;
insert into t values (1, 1);
select * from v;
rollback;
select * from v;
begin;
create view v as select * from t;
savepoint s;
drop view v;
select count(*) from pg_class where relname = 'v';
rollback to s;
select * from v;
commit;
insert into t values (1, 1);
select * from v;
drop view v;
drop table t;
-- temporary ones
create temp table tt (a int);
insert into tt values (1);
create view public.tv as select * from tt;
create view tv as select * from tt;
select * from tv;
create table pt (a int);
create temp view pv as select a from pt;
select count(*) from pv;
drop table pt;
discard temp;
drop table pt;

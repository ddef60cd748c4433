-- Window functions in views, as PostgreSQL shows them.
create table pay (dept text, name varchar(10), salary integer, since date, "Odd" numeric);
insert into pay values ('dev', 'ann', 5200, '2007-08-01', 1), ('dev', 'bob', 4200, '2008-01-01', 2), ('hr', 'fay', 3900, '2006-12-23', 3);
create view v1 as select name, row_number() over (partition by dept order by salary desc) as n, rank() over (order by salary),
  sum(salary) over () total, count(*) over (partition by dept) from pay;
select pg_get_viewdef('v1'::regclass);
select pg_get_viewdef('v1'::regclass, true);
select * from v1 order by name;
create view v2 as select name, sum(salary) over w, avg(salary) over (w order by since), max(name) over "W 2", ntile(4) over w2
  from pay window w as (partition by dept), "W 2" as (w order by salary nulls first, since desc), w2 as (order by name);
select pg_get_viewdef('v2'::regclass);
select * from v2 order by name;
create view v3 as select sum(salary) over (order by since rows 2 preceding) a, sum(salary) over (order by since rows between 1 preceding and 1 following) b,
  sum(salary) over (order by since range between '1 year' preceding and interval '1 mon' following exclude ties) c,
  sum(salary) over (order by salary range between 100 preceding and unbounded following exclude current row) d,
  sum(salary) over (order by since groups between 1 + 1 preceding and current row exclude group) e,
  sum(salary) over (order by since rows unbounded preceding exclude no others) f,
  sum(salary) over (order by since range unbounded preceding) g,
  sum(salary) over (order by "Odd" range between 1 preceding and 1.5 following) h,
  sum(salary) over (rows between unbounded preceding and unbounded following) i,
  sum(salary) over (order by salary range '5' preceding) j from pay;
select pg_get_viewdef('v3'::regclass);
select * from v3 order by a;
create view v4 as select lag(name) over w, lag(name, 2) over w b, lag(salary, 1, 0.5) over w c, lead(name, 1, 'x') over w d, lead(since, 1, '2000-01-01') over w e,
  first_value("Odd") over w f, nth_value(name, 2) over w g, last_value(dept) over w h, ntile(2::smallint) over w i, percent_rank() over w j, cume_dist() over w k
  from pay window w as (order by name, salary + 1, upper(dept));
select pg_get_viewdef('v4'::regclass);
select pg_get_viewdef('v4'::regclass, true);
select * from v4 order by b nulls first;
create view v5 as select dept, sum(salary) s, rank() over (order by sum(salary) desc), sum(sum(salary)) over () t,
  count(*) filter (where dept > 'e') over (partition by dept > 'e'), string_agg(dept, ',') over (order by dept),
  rank(5) within group (order by salary) as r, dense_rank('x', 4.5) within group (order by name desc, salary) as d
  from pay group by dept having count(*) > 0 window unused as (order by dept) order by rank() over (order by sum(salary) desc) limit 5;
select pg_get_viewdef('v5'::regclass);
select * from v5;
create view v6 as select * from (select name, row_number() over (order by salary) as n from pay) x where n < 3
  union all select name, rank() over (partition by dept order by name) from pay order by 2, 1;
select pg_get_viewdef('v6'::regclass);
select * from v6;
create view v7 as select salary, count(*) over (partition by 'x', dept order by 1, since) - 1 as c, salary - lag(salary) over (order by since) as diff,
  case when rank() over (order by since) = 1 then 'first' else 'later' end as place from pay;
select pg_get_viewdef('v7'::regclass);
select pg_get_viewdef('v7'::regclass, true);
select * from v7 order by 1;
create view v8 as select name, sum(salary) over (partition by dept order by since) from pay window w as (partition by dept order by since);
select pg_get_viewdef('v8'::regclass);
create view v9 as select i, min(i) over (order by i range between '1 day' preceding and '10 days' following) as least
  from generate_series('2024-01-01'::timestamp, '2024-01-03', '12 hours') i;
select pg_get_viewdef('v9'::regclass);
select * from v9 order by 1;
insert into v1 (name) values ('x');
update v8 set name = 'x';
select name, n from v1 where n = 1 order by 1;
drop view v1, v2, v3, v4, v5, v6, v7, v8, v9;
drop table pay;

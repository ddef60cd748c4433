-- The rows that window functions look at.
create table n (g integer, k integer, v integer);
insert into n values (1, 1, 10), (1, 2, 20), (1, 2, 21), (1, 4, 40), (1, 5, 50), (1, null, 60), (2, 1, 70), (2, 1, 71), (2, 9, null);

-- ROWS.
select v, array_agg(v) over (partition by g order by k, v rows between 1 preceding and 1 following) from n order by g, k, v;
select v, array_agg(v) over (partition by g order by k, v rows 2 preceding) from n order by g, k, v;
select v, array_agg(v) over (partition by g order by k, v rows between current row and unbounded following) from n order by g, k, v;
select v, array_agg(v) over (partition by g order by k, v rows between 2 following and 3 following) from n order by g, k, v;
select v, array_agg(v) over (partition by g order by k, v rows between 3 preceding and 2 preceding) from n order by g, k, v;
select v, array_agg(v) over (partition by g order by k, v rows between unbounded preceding and 1 preceding) from n order by g, k, v;
select v, array_agg(v) over (partition by g order by k, v rows between 1 following and unbounded following) from n order by g, k, v;
select v, sum(v) over (order by g, k, v rows between 1 preceding and 1 following), count(v) over (order by g, k, v rows between 1 preceding and 1 following),
  avg(v) over (order by g, k, v rows between 2 preceding and 1 preceding), min(v) over (order by g, k, v rows between 1 preceding and 1 following),
  max(v) over (order by g, k, v rows between 2 preceding and current row), sum(v::numeric) over (order by g, k, v rows 1 preceding),
  sum(v::float8) over (order by g, k, v rows 1 preceding), string_agg(v::text, '+') over (order by g, k, v rows 1 preceding)
  from n order by g, k, v;
select v, sum(v) over (order by v rows between 1 + 1 preceding and (select 1) following) from n order by v;
select v, sum(v) over (order by v rows 9223372036854775807 preceding), sum(v) over (order by v rows between 9223372036854775807 following and unbounded following) from n order by v;

-- RANGE.
select v, array_agg(v) over (partition by g order by k) from n order by g, k, v;
select k, v, array_agg(v) over (partition by g order by k range between 1 preceding and 1 following) from n order by g, k, v;
select k, v, array_agg(v) over (partition by g order by k desc range between 1 preceding and 1 following) from n order by g, k desc, v;
select k, v, array_agg(v) over (partition by g order by k nulls first range between 2 preceding and 1 preceding) from n order by g, k nulls first, v;
select k, v, array_agg(v) over (partition by g order by k desc nulls last range between 1 following and 3 following) from n order by g, k desc nulls last, v;
select k, v, array_agg(v) over (partition by g order by k range between current row and 2 following) from n order by g, k, v;
select k, v, sum(v) over (order by k range between unbounded preceding and 1 preceding) from n order by k, v;
select k, v, array_agg(v) over (order by k range between 3 following and unbounded following) from n order by k, v;
select k, v, count(*) over (order by k range between unbounded preceding and unbounded following), count(*) over (order by k range between current row and current row) from n order by k, v;
select k, v, first_value(v) over (order by k range between 1 preceding and 1 following), last_value(v) over (order by k, v range between current row and current row), nth_value(v, 2) over (order by k range between 1 preceding and 1 following) from n where g = 1 order by k, v;
select v, sum(v) over (order by k range between 1::smallint preceding and 10::bigint following) from n order by k, v;
select x, sum(x) over (order by x range between 1 preceding and 1 following) from (values (1::smallint), (2::smallint), (32767::smallint)) t(x) order by x;
select x, count(*) over (order by x range between 10 preceding and 10 following) from (values (9223372036854775807), (9223372036854775800), (-9223372036854775808)) t(x) order by x;
select x, count(*) over (order by x range between 1.5 preceding and 1.5 following) from (values (1.0), (2.5), (2.51), ('nan'), ('infinity'), ('-infinity')) t(x) order by x;
select x, count(*) over (order by x range between 'infinity' preceding and 'infinity' following) from (values (1.0), (2.5), ('nan'), ('infinity'), ('-infinity')) t(x) order by x;
select x, count(*) over (order by x range between 1.5 preceding and 0.5 following) from (values (1.0::float8), (2.5), (2.51), ('nan'), ('infinity'), ('-infinity')) t(x) order by x;
select x, count(*) over (order by x desc range between 1 preceding and 1 following) from (values (1.0::real), (2.5), (2.51), ('nan'), ('infinity')) t(x) order by x;
select x, count(*) over (order by x range between 'inf' preceding and 'inf' following) from (values (1.0::float8), ('infinity'), ('-infinity'), ('nan')) t(x) order by x;
select x, count(*) over (order by x range between '1 day' preceding and '1 month' following) from (values ('2024-01-31'::date), ('2024-02-01'), ('2024-02-29'), ('2024-03-01'), ('2025-01-01')) t(x) order by x;
select x, count(*) over (order by x desc range between '1 day 2 hours' preceding and '10 days' following) from (values ('2024-01-31 10:00'::timestamp), ('2024-02-01 12:00'), ('2024-02-01 12:01'), ('infinity')) t(x) order by x;
set time zone 'Europe/Berlin';
select x::text, count(*) over (order by x range between '1 day' preceding and current row) from (values ('2024-03-30 12:00+01'::timestamptz), ('2024-03-31 12:00+02'), ('2024-03-31 12:01+02'), ('2024-04-01 12:01+02')) t(x) order by x;
reset time zone;
select x, count(*) over (order by x range between '1 hour' preceding and '1 hour' following) from (values ('01:00'::time), ('01:30'), ('23:30'), ('00:10')) t(x) order by x;
select x, count(*) over (order by x range between '1 day' preceding and '1 month' following) from (values ('1 day'::interval), ('2 days'), ('1 month'), ('3 months')) t(x) order by x;

-- GROUPS.
select k, v, array_agg(v) over (partition by g order by k groups between 1 preceding and 1 following) from n order by g, k, v;
select k, v, array_agg(v) over (partition by g order by k groups 1 preceding) from n order by g, k, v;
select k, v, array_agg(v) over (partition by g order by k desc groups between 2 preceding and 1 preceding) from n order by g, k desc, v;
select k, v, array_agg(v) over (partition by g order by k groups between 1 following and 2 following) from n order by g, k, v;
select k, v, array_agg(v) over (partition by g order by k groups between current row and unbounded following) from n order by g, k, v;
select k, v, array_agg(v) over (order by k groups between unbounded preceding and 2 preceding), last_value(v) over (order by k, v groups between 1 preceding and 1 following) from n order by k, v;
select k, v, count(*) over (order by k groups between 9223372036854775807 preceding and 9223372036854775807 following) from n order by k, v;

-- EXCLUDE.
select k, v, array_agg(v) over (partition by g order by k rows between unbounded preceding and unbounded following exclude current row) from n order by g, k, v;
select k, v, array_agg(v) over (partition by g order by k range between unbounded preceding and unbounded following exclude group) from n order by g, k, v;
select k, v, array_agg(v) over (partition by g order by k groups between 1 preceding and 1 following exclude ties) from n order by g, k, v;
select k, v, sum(v) over (order by k rows between 1 preceding and 1 following exclude ties), sum(v) over (order by k rows between 1 preceding and 1 following exclude no others) from (select * from n order by k, v) m where g = 1 order by k, v;
select k, v, first_value(v) over w, last_value(v) over w, nth_value(v, 2) over w, count(*) over w from n
  window w as (partition by g order by k, v rows between 1 preceding and 1 following exclude current row) order by g, k, v;
select k, v, first_value(k) over w, last_value(k) over w, nth_value(k, 3) over w, count(*) over w from n
  window w as (order by k groups between 1 preceding and 1 following exclude group) order by k, v;
select v, sum(v) over (rows between unbounded preceding and unbounded following exclude current row) from n order by v;
select v, sum(v) over (order by v range unbounded preceding exclude ties) from n order by v;

-- Named windows.
select v, sum(v) over w, count(*) over (w rows 1 preceding), count(*) over (w) from n window w as (partition by g order by v) order by v;
select v, sum(v) over "W", count(*) over w from n window "W" as (order by v), W as (order by v desc) order by v;
select v, sum(v) over b from n window a as (partition by g), b as (a order by v rows between current row and 1 following) order by v;
select v, rank() over rows from n window rows as (order by v) order by v;
select rows, sum(rows) over (order by rows rows 1 preceding) from (select v as rows from n) m order by 1;
select v, sum(v) over (partition by g order by v range between unbounded preceding and current row) as over from n order by v;

-- Frames that mean nothing.
select sum(v) over (order by v rows between unbounded following and 1 following) from n;
select sum(v) over (order by v rows
  between 1 preceding and unbounded preceding) from n;
select sum(v) over (order by v rows
  between current row and 1 preceding) from n;
select sum(v) over (order by v rows
  between 1 following and 1 preceding) from n;
select sum(v) over (order by v rows
  between 1 following and current row) from n;
select sum(v) over (order by v rows unbounded following) from n;
select sum(v) over (order by v rows 1 following) from n;
select sum(v) over (order by v rows -1 preceding) from n;
select sum(v) over (order by v rows between 1 preceding and -1 following) from n;
select sum(v) over (order by v groups -1 preceding) from n;
select sum(v) over (order by v rows null preceding) from n;
select sum(v) over (order by v range between 1 preceding and null following) from n;
select sum(v) over (order by v range -1 preceding) from n;
select sum(v) over (order by v::float8 range 'nan' preceding) from n;
select sum(v) over (order by v::numeric range -0.5 preceding) from n;
select count(*) over (order by x range between '-1 day' preceding and '1 day' following) from (values ('2024-01-31'::date)) t(x);
select sum(v) over (order by v rows v preceding) from n;
select sum(v) over (order by v rows count(*) preceding) from n;
select sum(v) over (order by v range count(*) preceding) from n;
select sum(v) over (order by v rows rank() over () preceding) from n;
select sum(v) over (order by v rows 1.5 preceding) from n order by v;
select sum(v) over (order by v rows 'x' preceding) from n;
select sum(v) over (order by v rows '2' preceding) from n order by 1;
select sum(v) over (order by v rows true preceding) from n;
select sum(v) over (range 1 preceding) from n;
select sum(v) over (order by g, v range 1 preceding) from n;
select sum(v) over (order by v::text range 1 preceding) from n;
select sum(v) over (order by v range 1.5 preceding) from n;
select sum(v) over (order by v range '1 day'::interval preceding) from n;
select count(*) over (order by x range 1 preceding) from (values ('2024-01-31'::date)) t(x);
select sum(v) over (groups 1 preceding) from n;
select sum(v) over (order by v rows between 1 preceding
  and 1 following exclude) from n;
select sum(v) over (order by v rows between 1 preceding
  and 1 following exclude rows) from n;
select sum(v) over (order by v rows
  between 1 preceding and 1) from n;
select sum(v) over (order by v rows
  between 1 preceding) from n;
select sum(v) over (order by v rows) from n;
select sum(v) over (order by v exclude ties) from n;
select count(*) over (order by x range '1 day' preceding) from (values ('infinity'::timestamp), ('294276-12-31')) t(x);
drop table n;

-- Partitions that exceed the memory.
set work_mem = '64kB';
create table many as select x, x % 3 as g, x * 7919 % 1000 as k, repeat('x', x % 50) as t from generate_series(1, 6000) x;
select sum(a), sum(b), sum(c), sum(d), sum(e), sum(f), sum(h), max(l)
  from (select row_number() over (order by k, x) * x as a, rank() over (partition by g order by k) * x as b,
    sum(x) over (partition by g order by k, x rows between 10 preceding and 5 following) as c,
    sum(x) over (partition by g order by k range between 3 preceding and 2 following exclude ties) as d,
    lag(x, 1000, 0) over (partition by g order by k, x) as e, first_value(x) over (order by k desc, x groups between 20 preceding and 3 preceding) as f,
    ntile(7) over (order by x) * x as h, max(t) over (order by g, k, x) as l from many) w;
select g, count(*), min(s), max(s) from (select g, sum(length(t)) over (partition by g) as s from many) w group by g order by g;
select x, s from (select x, sum(x) over (order by k, x rows between unbounded preceding and current row) as s from many) w order by s limit 3;
reset work_mem;
drop table many;

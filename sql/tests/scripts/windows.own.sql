-- What is not supported, and plans.
create table t (a integer primary key, b text, c integer);
select rank() over (order by generate_series(1, 2)) from t;
explain select rank() over (partition by b order by c desc) from t;
explain select row_number() over () from t order by a;
explain select sum(c) over (partition by b), rank() over (partition by b order by a), count(*) over w, avg(c) over (w rows 1 preceding)
  from t window w as (order by c nulls first, a) order by rank() over (partition by b order by a) limit 3;
explain select b, sum(count(*)) over (order by b) from t group by b order by 2;
explain select distinct rank() over (order by c) from t;
explain select generate_series(1, 2), rank() over (order by c) from t;
create index on t ((rank() over ()));
create index on t (a) where rank() over () > 1;
insert into t select x, x % 3, x % 7 from generate_series(1, 50) x;
explain (analyze, timing off, summary off) select rank() over (partition by b order by c desc) from t;
drop table t;
select rank(a) within group (order by b) from (values (1, 2)) t(a, b) group by rollup (a);

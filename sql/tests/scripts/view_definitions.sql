-- What is kept of a view, as the catalog shows it.
create table t (id int primary key, a int, b varchar(10),
  c text, n numeric(8,2), d date, ts timestamptz, f float8,
  k char(3), big bigint);
create table u (id int, a int, "Odd Name" int);
create view v01 as select * from t;
create view v02 as select a, b as bb, a + 1, -a as neg, c || 'x' as cx
  from t x where a > 1 and b = 'q' or not c is null;
create view v03 as select 1 as one, 'txt' as s, null as nul,
  -5 as minus, 1.5 as num, true as yes, 5000000000 as big,
  date '2020-01-02' as d, interval '1 day' as i;
create view v04 as select t.id, u.a, u."Odd Name" from t
  join u on t.id = u.id left join u u2 on u2.a = u.a
  where t.a between 1 and 5;
create view v05 as select count(*), sum(a) as total, max(b),
  count(distinct a) filter (where a > 0) as d from t
  group by id, a + 1 having count(*) > 1
  order by 1 desc, 2 limit 3 offset 1;
create view v06 as select case when a > 1 then 'x' else c end,
  case a when 1 then 2 end as other from t;
create view v07 as select id from t where a in (1, 2, 3)
  and b in ('x', 'y') and id not in (select id from u)
  and exists (select 1 from u where u.id = t.id);
create view v08 as select (select max(a) from u) as m,
  array[1, 2] as arr, a = any (array[1, 2]) as anyof from t;
create view v09 as select lower(b), coalesce(a, 0), nullif(a, 1),
  greatest(a, 2), round(n, 1), substr(c, 1, 2), left(c, 2),
  extract(year from d), current_date, now() from t;
create view v10 as select a::text, b::varchar(5), n::int,
  '5'::int as five, cast(a as numeric(5,1)) as ca, 1::bigint,
  2.5::numeric(5,2) as two, k::text as kt from t;
create view v11 as select id from t union all
  select a from u union select 5 order by 1;
create view v12 as with q as (select a from u where a > 1),
  r(z) as (select 1) select q.a, z from q, r;
create view v13 as select x.id, y.n from
  (select id from t where a = 1) x,
  (values (1, 'a'), (2, 'b')) y (n, s) where x.id = y.n;
create view v14 as select * from u natural join t;
create view v15 as select id, t.a, "Odd Name" from t full join u
  using (id);
create view v16 as values (1, 'a'), (2, null);
create view v17 as select g, o from unnest(array['a', 'b'])
  with ordinality as s (g, o), generate_series(1, 3) as n;
create view v18 as select distinct a, b from t order by b;
create view v19 as select b like 'x%' as l, c ilike 'y',
  c ~ '^a', d > '2020-01-01' as cmp, ts at time zone 'UTC' as z,
  f * 2 as ff, a * n as an, big + a as ba, k = 'abc' as kk from t;
create view v20 as select a is null as x, a is distinct from 1
  as y, (a = 1) is true as z, not (a = 1 and id = 2) as w from t;
create view v21 as select trim(c), trim(leading 'x' from c),
  position('a' in c), overlay(c placing 'x' from 1), upper(b) from t;
create view v22 as select relname from pg_class where oid = 1;
create view v23 as select t.* from t cross join u u1
  where t.id = u1.id for update of t;
create view v24 as select string_agg(c, ',' order by c desc) from t;
create view v25 as select a + id * 2 - (id - a) as q,
  (a + id) * 2 as r, a % 2 = 0 as s from t;
create view v26 as select id from t t1 where exists
  (select 1 from t where t.a = t1.a and t.id in
    (select id from t where a = t1.id));
select viewname, definition from pg_views
  where schemaname = 'public' order by 1;
select relname, pg_get_viewdef(oid, true) from pg_class
  where relkind = 'v' and relname like 'v__' order by 1;
select pg_get_viewdef('v02'::regclass, true);
select pg_get_viewdef('v20'::regclass, true);
select pg_get_viewdef('v26'::regclass, true);
select relname, relkind, relhasrules, relnatts from pg_class
  where relname in ('v01', 'v05', 't') order by 1;
select table_name, table_type, is_insertable_into
  from information_schema.tables where table_schema = 'public'
  and table_name <> 'v22' order by 1;
select table_name, column_name, data_type, is_updatable
  from information_schema.columns where table_name in
  ('v01', 'v02', 'v03') order by 1, ordinal_position;
select table_name, view_definition, check_option, is_updatable,
  is_insertable_into from information_schema.views
  where table_name in ('v01', 'v02', 'v05') order by 1;
select table_name, column_name
  from information_schema.view_column_usage
  where view_name = 'v07' order by 1, 2;
-- the path of the reader decides what is shown
set search_path = pg_catalog;
select pg_get_viewdef('public.v04'::regclass);
reset search_path;

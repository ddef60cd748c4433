-- Of string types the first is the type of all.
select pg_typeof(coalesce('a'::char(4), 'b'::text)), pg_typeof(case when true then 'a'::char(4) else 'b'::text end),
    pg_typeof(array['a'::char(4), 'b'::text]), pg_typeof(greatest('a'::varchar, 'b'::char(3), 'c'::text)),
    pg_typeof(coalesce('a'::text, 'b'::char(4)));
select pg_typeof(x), x, length(x) from (select 'a'::char(3) union all select 'b  '::text union all select 'c'::varchar(9)) as u(x);
select pg_typeof(x), x from (values ('a'::varchar(2)), ('b'::text)) as v(x);
select 'a'::char(4) = 'a '::text, 'a'::char(4) in ('a '::text), 'a'::char(4) in ('B'::text, 'a '::text), 'a'::char(4) in ('B', 'a '),
    'a '::text in ('a'::char(4), 'b'::char(4)), 'a'::char(4) not in ('B'::text, 'a '::text), 'a'::char(4) in ('B'::varchar, 'a '::varchar),
    'a '::varchar in ('a'::char(4), 'b'::char(4)), 'a '::varchar in ('a'::text, 'a '::text);
select 'a'::char(4) = any(array['B'::text, 'a '::text]), 'a '::text = any(array['a'::char(4)]), 'a '::varchar = 'a'::char(4);
select count(*) from (select 'a '::text as x union select 'a'::char(3)) as u;
select coalesce('ab'::char(4), 'b'::text) || '.', coalesce(null::char(4), 'b '::text) || '.', coalesce(null::text, 'ab'::char(4)) || '.';
create table strings (c char(3), v varchar(5), t text);
insert into strings values ('a', 'a', 'a'), ('b', 'b ', 'b ');
select c in (v, t), v in (c, t), t in (c, v), c in (t, 'b'), greatest(c, t) || '|', least(t, c) || '|' from strings order by c;
select coalesce(c, t) as x from strings group by 1 having coalesce(c, t) <> 'a' order by x;
select 1 in (1::bigint, 2.5), pg_typeof(coalesce(1, 2.5::real)), pg_typeof(coalesce(date '2026-01-01', now())), pg_typeof(coalesce(1::smallint, 2));
-- Trailing blanks of character do not tell rows apart.
select count(*) from (select distinct x from (values ('a'::bpchar), ('a '::bpchar), ('b'::bpchar)) as v(x)) as d;
select count(*) from (select x from (values ('a'::bpchar), ('a '::bpchar), (null)) as v(x) group by x) as g;
select count(distinct x), count(*) from (values ('a'::bpchar), ('a '::bpchar), ('b'::bpchar)) as v(x);
select count(*) from (select 'a'::char(3) as x union select 'a '::text) as u;
select count(*) from (select 'a '::bpchar as x intersect select 'a'::bpchar) as u;
select count(*) from (select 'a '::bpchar as x except select 'a'::bpchar) as u;
select count(*) from (select distinct on (x) x, n from (values ('a'::bpchar, 1), ('a '::bpchar, 2)) as v(x, n)) as d;
select n from (select distinct on (x) x, n from (values ('a'::bpchar, 2), ('a '::bpchar, 1)) as v(x, n) order by x, n) as d;
select n, count(*), grouping(x) from (values ('a'::bpchar, 1), ('a '::bpchar, 1)) as v(x, n) group by rollup (n, x) order by 1, 2, 3;
select distinct c, v from strings order by c, v;
select c, count(*) from strings group by c order by c;
drop table strings;

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
drop table strings;

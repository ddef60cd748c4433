-- WITH RECURSIVE.
create table tree (id int primary key, parent int, name text);
insert into tree values (1, null, 'root'), (2, 1, 'a'), (3, 1, 'b'), (4, 2, 'aa'), (5, 4, 'aaa'), (6, 3, 'ba'), (7, 7, 'loop');
create table edges (a int, b int);
insert into edges values (1, 2), (2, 3), (3, 1), (3, 4), (4, 5), (9, null);
with recursive t(n) as (values (1) union all select n + 1 from t where n < 10) select sum(n), count(*) from t;
with recursive t(n) as (select 1 union all select n + 1 from t) select n from t limit 5;
with recursive t as (select 1 as n union all select n + 1 from t) select n from t where n > 3 limit 2;
with recursive down as (
  select id, name, 1 as depth, name as path from tree where parent is null
  union all
  select c.id, c.name, d.depth + 1, d.path || '/' || c.name from tree c join down d on c.parent = d.id
) select * from down order by path;
with recursive up(id, parent) as (select id, parent from tree where id = 5 union select t.id, t.parent from tree t, up where t.id = up.parent) select * from up order by id;
with recursive reach(x) as (select 1 union select b from edges join reach on a = x) select x from reach order by x;
with recursive reach(x, y) as (select a, b from edges union select r.x, e.b from reach r join edges e on e.a = r.y) select count(*), count(y), sum(x) from reach;
with recursive nulls(x) as (select null::int union select case when x is null then 1 end from nulls) select x from nulls order by x nulls first;
with recursive t(n) as (select 1 union all select n * 2 from t where n < 100), s(m) as (select max(n) from t) select * from s;
with recursive t(n) as (select 1 union all select n + 1 from t where n < 3) select a.n, b.n from t a, t b order by 1, 2;
with recursive t(n) as (select 1 union all select n + 1 from t where n < 3) select a.n, b.n from t a left join t b on b.n = a.n + 1 order by 1, 2;
with recursive t(n) as (select 1 union all select s.m from (select n + 1 as m from t where n < 5) s) select n from t;
with recursive t(n) as (select 1 union all (select n + 1 from t where n < 4 order by n limit 1)) select n from t;
with recursive t(n) as (select 0 union all select n + 1 from t where n < (select max(id) from tree)) select count(*) from t;
select id, (with recursive u(p, n) as (select t.parent, 0 union all select tree.parent, n + 1 from u join tree on tree.id = p where n < 9) select max(n) from u) as depth from tree t order by id;
with recursive fib(a, b) as (values (0::numeric, 1::numeric) union all select b, a + b from fib where b < 1000) select array_agg(a order by a) from fib;
with recursive plain as (select 1 as x union select 2) select * from plain order by x;
with recursive one as (select 5 as x), two(y) as (select x from one union all select y - 1 from two where y > 3) select * from two;
create table kept (n int);
insert into kept with recursive t(n) as (select 1 union all select n + 1 from t where n < 4) select n from t;
select sum(n) from kept;
create function fact(k int) returns bigint language plpgsql as $$
begin
  return (with recursive f(n, r) as (select 1, 1::bigint union all select n + 1, r * (n + 1) from f where n < k) select max(r) from f);
end $$;
select fact(5), fact(1), fact(10);
-- What is refused
with recursive t(n) as (select n from t union select 1) select 1;
with recursive t(n) as (select n + 1 from t) select * from t;
with recursive t(n) as (select 1 except select n from t) select * from t;
with recursive t as (select 1 n union select n + 0.5 from t) select 1;
with recursive t as (
select 1 n union select a.n from t a, t)
select 1;
with recursive t as (select 1 n union select n, n from t) select 1;
with recursive t as (
select 1 n union select n from t order by 1)
select 1;
with recursive t as (
select 1 n union select n from t limit 3)
select 1;
with recursive t(n, m) as (select 1 union all select n + 1 from t) select 1;
-- clauses outside, references that may be missing
WITH RECURSIVE x(n) AS (
  SELECT 0 UNION SELECT 1 ORDER BY abs((SELECT n FROM x)))
SELECT * FROM x;
WITH RECURSIVE x(n) AS (
  SELECT 1 UNION ALL SELECT n+1 FROM x FOR UPDATE)
SELECT * FROM x;
WITH RECURSIVE x(n) AS (
  SELECT 1 UNION ALL SELECT x.n+1
  FROM (VALUES (1)) y(a) LEFT JOIN x ON x.n = y.a)
SELECT * FROM x;
WITH RECURSIVE x(n) AS (
  SELECT 1 UNION ALL SELECT x.n+1
  FROM x RIGHT JOIN (VALUES (1)) y(a) ON x.n = y.a)
SELECT * FROM x;
WITH RECURSIVE x(n) AS (
  SELECT 1 UNION ALL SELECT x.n+1
  FROM x FULL JOIN (VALUES (1)) y(a) ON x.n = y.a)
SELECT * FROM x;
WITH RECURSIVE x(n) AS (
  SELECT 1 UNION ALL SELECT x.n+1
  FROM x LEFT JOIN (VALUES (1)) y(a) ON x.n = y.a
  WHERE x.n < 3)
SELECT * FROM x;
WITH RECURSIVE foo(i) AS (
  SELECT i::numeric(3,0) FROM (VALUES(1),(2)) t(i)
  UNION ALL
  SELECT (i+1)::numeric(10,0) FROM foo WHERE i < 10)
SELECT * FROM foo;
WITH RECURSIVE x(n) AS (
  SELECT 'a'::varchar(3) UNION ALL
  SELECT n::varchar(3) FROM x)
SELECT * FROM x LIMIT 2;

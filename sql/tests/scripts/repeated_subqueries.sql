-- Subqueries that run for every row around them, with and without rows that are kept.
create table so (a int primary key, b int, c text, d numeric, e char(4));
create table si (a int primary key, b bigint, c text, d int, e text, f float8);
insert into so values (1, 1, 'x', 1.0, 'ab'), (2, 2, 'y', 2.00, 'cd'), (3, null, 'z', 3, 'ef'), (4, 4, null, null, null), (5, 1, 'x', 5, 'ab'), (6, 9, 'w', 6, 'zz');
insert into si values (1, 1, 'x', 1, 'ab', 0), (2, 1, 'y', 0, 'ab', 1), (3, 2, 'y', 2, 'cd  ', 2), (4, null, 'z', 3, 'ef', null), (5, 4, null, null, null, 4), (6, 2, 'x', 6, 'cd', '-0'), (7, 9, 'v', 0, 'q', 'NaN');
select a from so where exists (select 1 from si where si.b = so.b) order by a;
select a from so where not exists (select 1 from si where si.b = so.b) order by a;
select a from so where exists (select 1 from si where si.b = so.b and si.c = so.c) order by a;
select a from so where not exists (select 1 from si where si.b = so.b and si.c = so.c) order by a;
select a from so where exists (select 1 from si where si.b = so.b and si.a > so.a) order by a;
select a from so where exists (select 1 from si where si.b = so.b and si.d > 0 and si.c like 'x%') order by a;
select a from so where exists (select 1 from si where so.b = si.b and so.a > 4) order by a;
select a from so where exists (select 1 from si where si.d = so.d) order by a;
select a from so where exists (select 1 from si where si.e = so.e) order by a;
select a from so where exists (select 1 from si where si.e = so.e::text) order by a;
select a from so where exists (select 1 from si where si.f = so.a - 1) order by a;
select a from so where a in (select si.d from si where si.b = so.b) order by a;
select a from so where a not in (select si.d from si where si.b = so.b) order by a;
select a from so where (a, c) in (select si.d, si.c from si where si.b = so.b) order by a;
select a from so where (a, c) not in (select si.d, si.c from si where si.b = so.b) order by a;
select a, b = any (select si.d from si where si.c = so.c) as any, b <= all (select si.d from si where si.c = so.c) as all from so order by a;
select a, (select count(*) from si where si.b = so.b), (select max(si.c) from si where si.b = so.b), array(select si.a from si where si.c = so.c order by 1) from so order by a;
select a, (select si.a from si where si.b = so.b and si.c = so.c) as v from so order by a;
select a, (select si.a from si where si.b = so.b) as v from so where a > 3 order by a;
select a, (select si.a from si where si.b = so.b) as v from so order by a;
select a from so where exists (select 1 from si where si.b = so.b) or c = 'w' order by a;
select a from so where not (exists (select 1 from si where si.b = so.b) and c = 'x') order by a;
select a from so where exists (select 1 from si where si.b = so.b and exists (select 1 from si s2 where s2.c = si.c and s2.d = so.b)) order by a;
select a from so where exists (select 1 from si where si.b = so.b and not exists (select 1 from so s2 where s2.c = si.c)) order by a;
select a from so where exists (select 1 from si join so s2 on s2.c = si.c where si.b = so.b and s2.a <> so.a) order by a;
select a from so where exists (select 1 from si left join so s2 on s2.b = si.d and s2.c = so.c where si.b = so.b and s2.a is null) order by a;
select a from so where exists (select 1 from si full join so s2 on s2.a = si.a where si.b = so.b) order by a;
select a from so where exists (select 1 from (select b, count(*) as n from si group by b) g where g.b = so.b and g.n > 1) order by a;
select a from so where exists (select 1 from (select * from si where si.b = so.b) g where g.d > 0) order by a;
with g as (select b, c from si where d is not null) select a from so where exists (select 1 from g where g.b = so.b and g.c = so.c) order by a;
select a from so where exists (select 1 from si where si.b = so.b union all select 1 from si where si.d = so.a and si.c = 'z') order by a;
select a from so where exists (select 1 from si where si.b = so.b group by si.c having count(*) > 0 and max(si.d) > 1) order by a;
select a from so where exists (select 1 from si where si.b = so.b order by si.a offset 1) order by a;
select a, x.n from so, lateral (select count(*) as n from si where si.b = so.b) x order by a;
select a, x.c from so left join lateral (select c from si where si.b = so.b order by c desc limit 1) x on true order by a;
select a, (select string_agg(s2.c, ',' order by s2.c) from si s2 where s2.b = (select max(si.b) from si where si.c = so.c)) from so order by a;
select count(*) from so group by exists (select 1 from si where si.b = so.b) order by 1;
select a from so order by (select count(*) from si where si.b = so.b) desc, a;
select a from so s1 where exists (select 1 from generate_series(1, 3) g where g = s1.b) order by a;
-- Nothing fails for rows that are not looked at.
select a from so where exists (select 1 from si where si.b = so.b and 10 / si.d > 0) order by a;
select a from so where a <> 1 and exists (select 1 from si where si.b = so.b and si.a > 2 and 10 / si.d > 0) order by a;
select a from so where a in (2, 4) and exists (select 1 from si where si.b = so.b and (10 / si.d > 0 or true)) order by a;
select a from so where a = 1 and exists (select 1 from si where si.d = 10 / (so.a - 1)) order by a;
-- An index leads to the rows too.
create index si_b on si (b);
select a from so where exists (select 1 from si where si.b = so.b) order by a;
select a from so where not exists (select 1 from si where si.b = so.b and si.c = so.c) order by a;
drop index si_b;
-- Changes see what was there before them.
begin;
update so set c = 'changed' where exists (select 1 from si where si.b = so.b and si.d > 1);
update so set b = (select count(*) from so s2 where s2.c = so.c);
select * from so order by a;
delete from so where exists (select 1 from so s2 where s2.c = so.c and s2.a < so.a);
select a from so order by a;
rollback;
begin;
insert into so select a + 10, b from si where not exists (select 1 from so where so.b = si.b);
insert into so select g, 50 from generate_series(50, 54) g where not exists (select 1 from so where so.b = 50 and so.c is not distinct from (g - g)::text);
insert into so select g, g / 2 + 100 from generate_series(60, 65) g where not exists (select 1 from so where so.b = g / 2 + 100);
select a, b from so where a > 6 order by a;
delete from si where not exists (select 1 from so where so.b = si.b) returning a, b;
rollback;
begin;
delete from si using so where so.b = si.b and exists (select 1 from so s2 where s2.c = si.c and s2.a <> so.a);
select a from si order by a;
rollback;
with gone as (delete from si where exists (select 1 from so where so.c = si.c) returning a, b) select a from so where exists (select 1 from gone where gone.b = so.b) order by a;
select a from si order by a;
-- Each run of a routine, and each statement in it, computes its subqueries again.
create function counted(x int) returns bigint language plpgsql as $$
declare n bigint;
begin
  select count(*) into n from so where so.a <= x and exists (select 1 from si where si.b = so.b);
  return n;
end $$;
select counted(3), counted(9);
insert into si values (20, 1, 'x', 1, 'ab');
select counted(3), counted(9);
do $$
declare n bigint; total text := ''; r record;
begin
  for k in 1..3 loop
    insert into si values (30 + k, 9, 'w', k, null);
    select count(*) into n from so where (select count(*) from si where si.b = so.b) = k;
    total := total || n || ' ';
  end loop;
  for r in select a from so where not exists (select 1 from si where si.b = so.b) order by a loop
    insert into si select 40 + so.a, so.b from so where so.a = r.a;
    total := total || r.a || ' ';
  end loop;
  raise notice '%', total;
end $$;
select a, b from si order by a;
-- Prepared, with values.
prepare p (int) as select a from so where exists (select 1 from si where si.b = so.b and si.d >= $1) order by a;
execute p (1);
execute p (3);
deallocate p;
create view sv as select * from so where exists (select 1 from si where si.b = so.b);
select a from sv where not exists (select 1 from sv v2 where v2.c = sv.c and v2.a > sv.a) order by a;
drop view sv;
drop function counted(int);
drop table so, si;

-- LIMIT, OFFSET, FETCH FIRST and locking clauses at the end of a query, in every order.
create table job (id int primary key, kind text, weight int);
insert into job values (1, 'a', 5), (2, 'b', 3), (3, 'a', 3), (4, 'c', 1), (5, 'b', 3), (6, null, null);

-- A locking clause before the limit, and after it.
select id from job order by id for update limit 2;
select id from job order by id for update of job limit 2 offset 1;
select id from job order by id for no key update nowait offset 4;
select id from job order by id for share skip locked offset 1 limit 2;
select id from job order by id for key share fetch first 2 rows only;
select id from job order by id for update for share of job limit 1;
select id from job order by id limit 2 for update;
select * from (select id from job order by id for update limit 2) q;
select id from job where id in (select id from job where weight = 3 order by id for update limit 1);
update job set weight = 3 where id in (select id from job where weight = 3 order by id for update skip locked limit 1) returning id;
insert into job select id + 10, kind, weight from job order by id for update limit 1 on conflict do nothing returning id;
with q as (select id from job order by id for update limit 2) select id from q order by id desc;
delete from job where id > 10;

select id from job for update of nothing limit 1;
select count(*) from job for update limit 1;
select id from job for update order by id;

-- FETCH FIRST: counts, words, and its place.
select id from job order by id fetch first row only;
select id from job order by id fetch next 2 rows only;
select id from job order by id fetch first 1 + 1 rows only;
select id from job order by id fetch first (1 + 1) row only;
select id from job order by id fetch first -1 rows only;
select id from job order by id fetch first +1 rows only;
select id from job order by id offset 1 fetch first 2 rows only;
select id from job order by id fetch first 2 rows only offset 1 rows;
select id from job order by id offset 4 rows fetch first (select 1) rows only;
select id from job order by id fetch first null rows only;
select id from job order by id fetch first 2 rows;
select id from job order by id fetch 2 rows only;
select id from job order by id fetch first 2 only;
select id from job order by id fetch first 2 percent rows only;
select id from job order by id limit 1 fetch first 2 rows only;
select id from job order by id fetch first 2 rows only limit 1;
select id from job fetch first id rows only;

-- WITH TIES.
select id, weight from (select * from job order by weight fetch first 2 rows with ties) q order by weight, id;
select id, weight from job order by weight, id fetch first 2 rows with ties;
select id, weight from job order by weight desc fetch first row with ties;
select id, weight from (select * from job order by weight desc nulls last fetch first 2 rows with ties) q order by weight, id;
select weight from job order by weight offset 1 fetch first 1 row with ties;
select weight from job order by weight fetch next 1 row with ties offset 2 rows;
select weight from job order by weight fetch first 0 rows with ties;
select weight from job order by weight fetch first 100 rows with ties;
select weight from job order by weight offset 100 fetch first 2 rows with ties;
select weight from job order by weight fetch first -1 rows with ties;
select weight from job order by weight fetch first null rows with ties;
select weight from job order by weight fetch first (select null::int) rows with ties;
select distinct weight from job order by weight fetch first 2 rows with ties;
select distinct on (kind) kind, weight from job order by kind, weight fetch first 2 rows with ties;
select kind, count(*) from job group by kind order by count(*) desc fetch first row with ties;
select weight, rank() over (order by weight) from job order by 2 fetch first 2 rows with ties;
select weight from job union all select 3 order by weight fetch first 2 rows with ties;
select (select array_agg(weight) from (select weight from job order by weight fetch first 2 rows with ties) q);
select weight from job where id in (select id from job order by weight fetch first 2 rows with ties) order by id;
select id from job order by id fetch first 2 rows with ties;
select weight from job order by weight fetch first 2 rows with ties for update;
select weight from job order by weight for update fetch first 2 rows with ties;
select weight from job fetch first 2 rows with ties;
select weight from job order by weight fetch first 2 rows with ties for update skip locked;
select weight from job order by weight for update skip locked fetch first 2 rows with ties;
select weight from job order by weight fetch first 2 rows with;
select weight from job order by weight limit 2 with ties;
prepare ties (int) as select weight from job order by weight fetch first $1 rows with ties;
execute ties(2);
execute ties(1);
execute ties(null);
insert into job select 100 + n, 'many', n / 700 from generate_series(1, 3000) n;
select count(*), min(weight), max(weight) from (select weight from job where kind = 'many' order by weight fetch first 10 rows with ties) q;
select count(*), min(weight), max(weight) from (select weight from job where kind = 'many' order by weight desc offset 1 fetch first 400 rows with ties) q;

-- In a view.
create view lightest as select id from job order by weight fetch first 2 rows with ties;
select pg_get_viewdef('lightest');
select * from lightest order by id;
create view first_only as select id from job order by id fetch first 2 rows only;
select pg_get_viewdef('first_only');
insert into lightest values (7);

-- What other databases write.
select id from job limit 5, 10;
select id from job order by id limit 1, 2 for update;
select * from (select id from job limit 5, 10) q;
select top 5 id from job;
select top (5) id from job;
select id from job limit 5 percent;

-- In routines.
create function lightest_of(n int) returns setof int language plpgsql as $$
declare r record;
begin
  for r in select id from job where id < 10 order by weight, id for share limit n loop
    return next r.id;
  end loop;
  for r in select weight from job where id < 10 order by weight fetch first n rows with ties loop
    return next r.weight;
  end loop;
  return query select id from job where id < 10 order by id using > fetch first n rows only;
end $$;
select lightest_of(2);
create function first_of() returns int language sql as $$ select id from job order by weight, id for update limit 1 $$;
select first_of();

-- Window functions: which values they compute. Frames are in window_frames.sql.
create table pay (dept text, name text primary key, salary integer, since date, bonus numeric(6,2), share real);
insert into pay values
  ('dev', 'ann', 5200, '2007-08-01', 1.50, 0.5), ('dev', 'bob', 4200, '2008-01-01', null, 1.5),
  ('dev', 'cid', 4500, '2008-01-01', 2.25, null), ('dev', 'dan', 6000, '2006-10-01', 0, 2.5),
  ('dev', 'eve', 5200, '2007-08-15', 1.50, 3.5), ('hr', 'fay', 3900, '2006-12-23', 10, 4.5),
  ('hr', 'gil', 3500, '2007-12-10', -3, 5.5), ('sales', 'hal', 5000, '2006-10-01', null, null),
  ('sales', 'ida', 4800, '2007-08-01', 7.75, 7.5), ('sales', 'jon', 4800, '2007-08-08', 8, 8.5),
  (null, 'kim', null, null, null, null), (null, 'lee', 100, '2010-01-01', 1, 1);

-- The rank family.
select dept, name, salary, row_number() over (partition by dept order by salary, name) as number,
  rank() over (partition by dept order by salary), dense_rank() over (partition by dept order by salary),
  percent_rank() over (partition by dept order by salary), cume_dist() over (partition by dept order by salary)
  from pay order by dept, salary, name;
select name, rank() over (order by salary desc nulls last), dense_rank() over (order by salary desc nulls last)
  from pay order by 2, 1;
select name, rank() over (order by salary nulls first, dept desc) from pay order by 2, 1;
select name, row_number() over (), rank() over (), dense_rank() over (), percent_rank() over (), cume_dist() over ()
  from pay where dept = 'hr' order by name;
select name, ntile(3) over (order by name), ntile(5) over (order by name), ntile(100) over (order by name),
  ntile(1) over (partition by dept order by name), ntile(null) over (order by name) from pay order by name;
select ntile(3::smallint) over (order by name) from pay order by name limit 2;

-- Rows before and after.
select name, lag(salary) over w, lag(salary, 2) over w, lag(salary, 0) over w, lag(salary, -1) over w,
  lead(salary) over w, lead(salary, 2, -1) over w, lag(salary, 1, 0.5) over w, lag(name, 1, 'none') over w,
  lag(salary, null) over w
  from pay window w as (partition by dept order by name) order by dept, name;
select name, lag(name, salary / 2000) over (order by name), lead(name, salary / 2000, upper(name)) over (order by name)
  from pay order by name;
select name, lag(since, 1, '1999-01-01') over (order by name), lag(bonus, 1, 0) over (order by name),
  lead(share, 1, 0.25) over (order by name), lag(array[salary, 1]) over (order by name) from pay order by name;

-- Values of the frame.
select name, first_value(name) over w, last_value(name) over w, nth_value(name, 2) over w,
  nth_value(salary, 1) over w, nth_value(name, null) over w
  from pay window w as (partition by dept order by salary) order by dept, salary, name;
select name, nth_value(name, length(dept)) over (partition by dept order by name rows between unbounded preceding and unbounded following)
  from pay order by dept, name;

-- Aggregates.
select name, sum(salary) over (partition by dept), avg(salary) over (partition by dept), count(*) over (partition by dept),
  count(bonus) over (partition by dept), min(name) over (partition by dept), max(since) over (partition by dept),
  sum(bonus) over (partition by dept), avg(bonus) over (partition by dept)
  from pay order by dept, name;
select name, sum(salary) over (order by dept, name), sum(bonus) over (order by dept, name),
  sum(share) over (order by dept, name), avg(share) over (order by dept, name), array_agg(name) over (order by dept, name),
  string_agg(name, ',') over (partition by dept order by name), max(name) over (order by dept, name)
  from pay order by dept, name;
select name, bool_and(salary > 4000) over w, bool_or(salary > 5000) over w, every(bonus > 0) over w,
  bit_and(salary) over w, bit_or(salary) over w, variance(salary) over w, stddev_pop(share) over w, corr(salary, share) over w
  from pay window w as (partition by dept order by name) order by dept, name;
select dept, json_agg(name) over (partition by dept order by name), jsonb_agg(salary) over (partition by dept order by name)
  from pay where dept = 'dev' order by name;
select name, count(*) filter (where salary > 4500) over (partition by dept),
  sum(salary) filter (where name > 'c') over (order by name), sum(1 / (salary - 100)) filter (where salary <> 100) over ()
  from pay order by name;
select count(*) over (), sum(1) over (), name from pay where false;
select sum(interval '1 hour') over (order by name), avg(interval '1 hour') over (order by name) from pay where dept = 'hr';

-- Over groups.
select dept, sum(salary), rank() over (order by sum(salary) desc nulls last), sum(sum(salary)) over (order by dept),
  count(*) over (), sum(salary) * 100 / sum(sum(salary)) over () as share from pay group by dept order by dept;
select dept, count(*), lag(count(*)) over (order by dept) from pay group by dept having count(*) > 2 order by dept;
select count(*) over (), sum(count(*)) over () from pay;
select extract(year from since) as year, dept, sum(salary), sum(sum(salary)) over (partition by extract(year from since))
  from pay group by extract(year from since), dept order by 1, 2;
select dept, grouping(dept), sum(salary), rank() over (partition by grouping(dept) order by sum(salary))
  from pay group by rollup (dept) order by 2, 1;
select name, dept, rank() over (order by salary desc) from pay group by name order by 3, 1 limit 4;
select salary / 1000, count(*), array_agg(count(*)) over (order by salary / 1000) from pay group by salary / 1000 order by 1;
select sum(count(*)) filter (where dept = 'hr') over (), dept from pay group by dept order by dept;

-- Expressions around them, and the other clauses.
select name, salary - avg(salary) over (partition by dept) as above,
  case when row_number() over (partition by dept order by salary desc) = 1 then 'first' else dept end
  from pay where salary is not null order by name;
select name from pay order by rank() over (order by salary desc nulls last), name limit 3;
select name, rank() over (order by salary desc nulls last) as place from pay order by place desc, name limit 2;
select distinct rank() over (order by dept) from pay order by 1;
select distinct on (dept) dept, name, rank() over (partition by dept order by salary desc) from pay
  order by dept, rank() over (partition by dept order by salary desc), name;
select distinct dept, count(*) over (partition by dept) from pay order by 1;
select row_number() over (order by name) from pay limit 2 offset 3;
select * from (select name, dept, row_number() over (partition by dept order by salary desc) as n from pay) x
  where n = 1 order by name;
with ranked as (select name, rank() over (order by salary) as r from pay) select * from ranked where r <= 2 order by r, name;
select name, (select count(*) over () from pay q where q.dept = p.dept limit 1) from pay p order by name;
select name, (select sum(p.salary + q.salary) over (order by q.name) from pay q where q.dept = p.dept order by 1 limit 1)
  from pay p where dept = 'hr' order by name;
select name, exists (select rank() over () from pay q where q.dept = p.dept) from pay p where dept is null or dept = 'hr' order by name;
select p.name, q.name, row_number() over (partition by p.name order by q.name) from pay p join pay q on q.dept = p.dept and q.name > p.name
  where p.dept = 'dev' order by 1, 2;
select p.name, q.name, count(q.name) over (partition by p.dept) from pay p left join pay q on q.dept = p.dept and q.salary > p.salary
  where p.dept in ('hr', 'sales') order by 1, 2;
select row_number() over (order by name), generate_series(1, 2) from pay where dept = 'hr' order by 1, 2;
select generate_series(1, row_number() over (order by name)) as n, name from pay where dept = 'sales' order by name, n;
select x, sum(x) over (order by x) from generate_series(1, 4) x order by x;
select x, sum(x) over () from (values (1), (2), (3)) v(x) order by x;
select rank() over (order by dept) as r, rank() over (partition by dept order by name) as s, sum(salary) over (order by dept, name) as t
  from pay order by name;
select sum(salary) over w1, count(*) over w2, avg(salary) over (w1 order by name)
  from pay window w1 as (partition by dept), w2 as (w1 order by name desc) order by dept, name;
select name, sum(salary) over (partition by dept order by salary), sum(salary) over (partition by dept order by salary desc)
  from pay where dept = 'dev' order by name;
select count(*) over (partition by salary % 2, dept), max(name) over (order by salary % 2 nulls first, dept) from pay order by name;
select first_value(salary) over (partition by dept order by name) + last_value(salary) over (partition by dept order by name) from pay order by name;

-- char(n) compares without its blanks.
create table padded (c char(4), n integer);
insert into padded values ('a', 1), ('a  ', 2), ('b', 3);
select c, n, rank() over (order by c), count(*) over (partition by c) from padded order by n;

-- Changes.
create table copied (name text, place bigint);
insert into copied select name, rank() over (order by name) from pay where dept = 'dev';
update copied set place = n from (select name, row_number() over (order by name desc) as n from pay) x where x.name = copied.name;
select * from copied order by place;
delete from copied where name in (select name from (select name, row_number() over (order by name) n from copied) x where n > 2);
select * from copied order by name;
create table numbered as select name, row_number() over (order by name) as n from pay;
select count(*), max(n) from numbered;

-- Hypothetical rows.
select rank(4500) within group (order by salary), dense_rank(4500) within group (order by salary),
  percent_rank(4500) within group (order by salary), cume_dist(4500) within group (order by salary) from pay;
select rank(4500) within group (order by salary desc nulls last), dense_rank(5000) within group (order by salary desc nulls last) from pay;
select dept, rank(5200, 'c') within group (order by salary, name), dense_rank(5200, 'c') within group (order by salary desc, name) from pay
  group by dept order by dept;
select rank(1) within group (order by salary), dense_rank(1) within group (order by salary),
  percent_rank(1) within group (order by salary), cume_dist(1) within group (order by salary) from pay where false;
select rank(4800.5) within group (order by salary), rank(null) within group (order by salary), rank('hal') within group (order by name) from pay;
select rank(4500) within group (order by salary) filter (where dept = 'dev'), cume_dist(5200) within group (order by salary) from pay;
select dept, rank(4500) within group (order by salary), rank() over (order by rank(4500) within group (order by salary), dept)
  from pay group by dept order by dept;

-- In routines, prepared statements and cursors.
create function ranks(lowest integer) returns table (who text, place bigint) language sql as
  $$ select name, rank() over (order by salary desc) from pay where salary >= lowest order by 2, 1 $$;
select * from ranks(5000);
do $$
declare r record;
begin
  for r in select name, row_number() over (order by name) as n from pay where dept = 'hr' loop
    raise notice '% %', r.n, r.name;
  end loop;
end $$;
prepare sums(integer) as select name, sum(salary) over (order by name rows $1 preceding) from pay where dept = 'dev' order by name;
execute sums(0);
execute sums(1);
execute sums(null);
execute sums(-1);
begin;
declare c scroll cursor for select name, row_number() over (order by name) from pay order by name;
fetch 2 from c;
fetch last from c;
fetch prior from c;
rollback;
drop table copied, numbered, padded;
drop function ranks(integer);
drop table pay;

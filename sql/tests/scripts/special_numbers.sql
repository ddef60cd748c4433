-- Texts, both ways.
select 'NaN'::numeric, ' nan '::numeric, 'Infinity'::numeric, '-INF'::numeric, '+infinity'::numeric, 'inf'::numeric;
select '-nan'::numeric;
select 'infinit'::numeric;
select 'inf 1'::numeric;
-- Operators.
create table s (n numeric);
insert into s values ('0'), ('1'), ('-1'), ('4.2'), ('Infinity'), ('-Infinity'), ('NaN');
select a.n, b.n, a.n + b.n as sum, a.n - b.n as difference, a.n * b.n as product from s a, s b order by 1, 2;
select a.n, b.n, a.n / b.n as quotient, a.n % b.n as rest, div(a.n, b.n) from s a, s b where b.n <> 0 order by 1, 2;
select 'inf'::numeric / 0;
select '-inf'::numeric % 0;
select 'nan'::numeric / 0;
select div('inf'::numeric, 0);
select a.n, b.n, a.n < b.n as lt, a.n = b.n as eq, a.n > b.n as gt from s a, s b order by 1, 2;
select n, -n, abs(n), sign(n), ceil(n), floor(n), round(n), round(n, 1), trunc(n), trunc(n, 1) from s order by n desc;
select n, scale(n), min_scale(n), trim_scale(n) from s order by n;
-- Functions.
select sqrt('inf'::numeric), sqrt('nan'::numeric), exp('inf'::numeric), exp('-inf'::numeric), exp('nan'::numeric);
select sqrt('-inf'::numeric);
select ln('inf'::numeric), ln('nan'::numeric), log('inf'::numeric), log('nan'::numeric, 2), log(2, 'inf');
select log('inf'::numeric, 2.0), log('inf'::numeric, 'inf');
select ln('-inf'::numeric);
select log('-inf'::numeric);
select log(0, 'inf'::numeric);
select log('-inf'::numeric, 'inf');
select n, n ^ 'inf'::numeric, n ^ 'nan'::numeric from s where n <> '-4.2' order by n;
select n, 'inf'::numeric ^ n, 'nan'::numeric ^ n from s order by n;
select '-inf'::numeric ^ 2, '-inf'::numeric ^ 3, '-inf'::numeric ^ -2, '-inf'::numeric ^ -3, '-inf'::numeric ^ 0;
select '-inf'::numeric ^ 4.5;
select 0::numeric ^ '-inf';
select (-2)::numeric ^ 'inf', (-0.5)::numeric ^ '-inf', 0.5 ^ 'inf'::numeric, 0.5 ^ '-inf'::numeric;
select gcd('inf'::numeric, 2), lcm('nan'::numeric, 2), factorial(3);
select width_bucket('inf'::numeric, 1, 10, 4), width_bucket('-inf'::numeric, 1, 10, 4), width_bucket('inf'::numeric, 10, 1, 4);
select width_bucket('nan'::numeric, 1, 10, 4);
select width_bucket(1, 'inf'::numeric, 10, 4);
select width_bucket(1, 'nan'::numeric, 10, 0);
select width_bucket(5::numeric, 2, 2, 4);
-- Casts.
select n as number, n::float8, n::float4, n::text, n::varchar(3) from s order by 1;
select 'nan'::numeric::int;
select 'inf'::numeric::int;
select '-inf'::numeric::bigint;
select 'inf'::numeric::smallint;
select 'nan'::float8::numeric, 'inf'::float8::numeric, '-inf'::float4::numeric, 'nan'::float4::numeric;
select 'inf'::numeric = 'inf'::float8, 'nan'::numeric = 'nan'::float8, 'inf'::numeric > 1e308::float8;
-- A column with a precision takes NaN and no infinity.
create table p (k int primary key, n numeric(5, 2));
insert into p values (1, 'nan');
insert into p values (2, 'inf');
insert into p values (3, '-inf'::numeric);
insert into p values (3, 'inf'::float8);
select 'inf'::numeric(10, 3);
select 'nan'::numeric(10, 3);
update p set n = n + 1;
select * from p;
drop table p;
-- Aggregates.
select sum(n), avg(n), min(n), max(n), count(distinct n) from s;
select sum(n), avg(n) from s where n > 0 and n <> 'nan';
select sum(n), avg(n) from s where n < 0;
select sum(n), avg(n) from s where n <> 'nan';
select array_agg(n order by n) from s;
-- Keys and indexes.
create table k (n numeric primary key, note text);
insert into k select n, 'is ' || n from s;
insert into k values ('NaN', 'again');
insert into k values ('Infinity', 'again') on conflict (n) do update set note = excluded.note returning *;
select * from k where n = 'nan';
select * from k where n > 1 order by n;
select * from k where n < 0 order by n;
select * from k where n >= '-inf' and n < 'inf' order by n desc;
select * from k where n in ('nan', '-inf', 7) order by n;
delete from k where n = '-inf' returning n;
create index on s (n desc);
select n from s order by n desc limit 3;
select n, count(*) from (select n from s union all select n from s) d group by n order by n;
select * from s a join s b using (n) order by n;
begin;
update k set note = 'gone' where n = 'nan';
rollback;
select note from k where n = 'nan';
prepare find (numeric) as select note from k where n = $1;
execute find ('nan');
execute find ('inf');
execute find ('-inf');
deallocate find;
create function twice(n numeric) returns numeric language plpgsql as $$
begin
  return n * 2;
end $$;
select twice('inf'), twice('nan'), twice('-inf'), twice(null);
create procedure keep(n numeric) language plpgsql as $$
begin
  insert into s values (n);
end $$;
call keep('nan');
call keep('-inf');
select n, count(*) from s group by n order by n;
select extract(epoch from 'infinity'::timestamp), extract(year from '-infinity'::date), extract(day from 'infinity'::date), date_part('year', 'infinity'::timestamptz);
select to_char('infinity'::timestamp, 'YYYY') is null, 'nan'::numeric between 1 and 'nan', greatest(1, 'nan'::numeric), least(1, '-inf'::numeric);
drop procedure keep;
drop function twice;
drop table k;
drop table s;

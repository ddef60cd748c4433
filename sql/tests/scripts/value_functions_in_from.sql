-- functions that give one value, in FROM
select * from upper('x');
select * from current_schema();
select * from upper('x') u;
select u, upper(u) from lower('X') as u;
select n.a from length('abc') as n(a);
select * from current_database() as d(x) where x = 'no';
select t.i, u from (values (1), (2)) t(i), abs(-t.i) u;
select t.i, u.u from (values (1), (-2)) t(i)
left join lateral abs(t.i) u on u > 1 order by 1;
select count(*) from now(), version();
select coalesce.coalesce from generate_series(1, 2) g,
concat('a', g) coalesce order by 1;
select * from current_setting('no.such', true);
select * from nosuch(1);
select * from upper(1, 2);
select * from sum(1);
select * from upper('x') as u(a, b);
select sum(x) from generate_series(1, 3) g,
lateral power(g, 2) x;
select * from json_build_object('a', 1);
create view v as select u from upper('x') u;
select * from v;
create function f(t text) returns setof text language plpgsql
as $$ begin
  return query select x from lower(t) x;
end $$;
select * from f('ABC');

-- Functions that give sets, in the select list
create table t (id int primary key, list text, n int);
insert into t values (1, 'a,b', 2), (2, null, 3), (3, 'x', 0), (4, '', 1), (5, 'd,e,f', null);
select id, unnest(string_to_array(list, ',')) from t order by id;
select id, string_to_table(list, ',') as part from t;
select id, generate_series(1, n) from t;
select id, generate_series(1, n) as g, unnest(string_to_array(list, ',')) as u from t order by id;
select generate_series(1, 3), generate_series(1, 2), 'x';
select generate_series(1, 3) + 10 as a, -generate_series(1, 2) as b;
select unnest(array[1, 2, 3]), unnest(array['a', 'b']);
select unnest(array[1, 2, 3]) * 2 as twice;
select *, unnest(array[10, 20]) from t where id < 3 order by id, 4;
select t.*, generate_series(1, 2) as g from t where id = 1;
select distinct generate_series(1, n) as g from t order by g;
select generate_series(1, 5) as g order by g desc limit 2;
select id, generate_series(1, n) from t order by generate_series(1, n) desc, id;
select id, generate_series(1, n) as g from t order by g, id limit 3 offset 1;
select generate_series(1, 3) limit 1;
select generate_series(1, 0);
select 1, generate_series(1, 0);
select generate_series(1, 2) where false;
select count(*) from (select id, generate_series(1, n) from t) x;
select id, sum(g) from (select id, generate_series(1, n) as g from t) x group by id order by id;
select array(select generate_series(1, 3)), (select max(g) from (select generate_series(1, 4) as g) s);
select id, (select string_agg(p, '-') from (select string_to_table(list, ',') as p) s) from t order by id;
insert into t select g, 'n' || g, g from (select generate_series(11, 13) as g) x;
insert into t (id, list) select generate_series(21, 22), 'more';
select id, list, n from t where id > 10 order by id;
create table made as select generate_series(1, 3) as a, 'k' as b;
select * from made;
with s as (select generate_series(1, 2) as g) select g, generate_series(g, 2) from s;
select generate_series(1, 2) union all select generate_series(2, 3) order by 1;
select timestamp '2024-01-01' as t0, generate_series(timestamp '2024-01-01', timestamp '2024-01-03', interval '1 day');
create function pairs(n int) returns setof int language sql as 'select g * 2 from generate_series(1, n) g';
select pairs(3);
select id, pairs(n) from t where id < 6 order by id;
select pairs(2), pairs(3), generate_series(1, 1);
create function evens(n int) returns setof int language plpgsql as $$
begin
  for i in 1 .. n loop
    return next i * 2;
  end loop;
end $$;
select evens(2), 'e';
select e from (select evens(3) as e) x where e > 2;
-- Where they must not stand
select id from t where unnest(array[1]) = id;
select count(generate_series(1, 2)) from t;
select case when id > 1 then generate_series(1, 2) else 0 end from t;
update made set a = generate_series(1, 2);
delete from made returning generate_series(1, 2);
select unnest(1);
select unnest(null::int[]), 1;
select unnest(array[]::int[]), generate_series(1, 2);
-- Prepared, in transactions, in routines
prepare p (int) as select id, generate_series(1, $1) from t where id < 3 order by 1, 2;
execute p (2);
execute p (null);
deallocate p;
begin;
insert into made select generate_series(100, 102), 'tx';
savepoint s;
insert into made select generate_series(1, 2) / 0, 'tx';
rollback to s;
select count(*) from made;
rollback;
select count(*) from made;
create function total() returns int language plpgsql as $$
declare
  r record;
  s int := 0;
begin
  for r in select id, generate_series(1, n) as g from t where id < 4 loop
    s := s + r.id * 10 + r.g;
  end loop;
  return s;
end $$;
select total();
drop function total;
drop function evens;
drop function pairs;
drop table made;
drop table t;

create table t (id int primary key, n int[],
  m text[], v varchar(3)[], c char(4)[], d numeric(5,2)[],
  b bytea[], z timestamptz[], u uuid[], f float8[][]);
insert into t values
  (1, '{1,2,3}', '{a,"b c",NULL,"",null}', '{ab,abc}',
   '{a,bb}', '{1.005,2}', '{"\\x00ff"}',
   '{2024-01-01 00:00+00}', null, '{{1.5,2},{3,4}}'),
  (2, '{}', array[]::text[], null, null, null, null, null,
   '{6fa459ea-ee8a-3ca4-894e-db77e160355e}', null),
  (3, '[0:2]={7,8,9}', '{{x,y},{z,w}}', '{}', '{}', '{}',
   '{}', '{}', '{}', '{}');
set timezone = 'UTC';
select * from t order by id;
select id, n[1], n[2:3], n[:2], n[2:], m[1][2], m[2:][1:1],
  f[1][2], f[2:2] from t order by id;
select id, array_dims(n), array_ndims(m), array_lower(n, 1),
  array_upper(n, 1), array_length(m, 2), cardinality(m)
  from t order by id;
insert into t (id, v) values (4, '{abcd}');
insert into t (id, v) values (4, array['abcd   ']::text[]);
insert into t (id, d) values (4, '{12345}');
insert into t (id, n) values (4, '{1,{2}}');
insert into t (id, n) values (4, '{{1,2},{3}}');
insert into t (id, n) values (4, '[1:2]={1}');
insert into t (id, n) values (4, '{1,x}');
insert into t (id, n) values (4, '{1,2');
insert into t (id, n) values (4, '[2:1]={}');
insert into t (id, n) values (4, '{{{{{{{1}}}}}}}');
insert into t (id, n) values (4, '{a}'::text[]);
-- parts
update t set n[2] = 20 where id = 1;
update t set n[5] = 50, n[6] = n[1] where id = 1 returning n;
update t set n[-1] = 0 where id = 1 returning n;
update t set n[1:2] = '{100,200}' where id = 1 returning n;
update t set n[1:2] = '{1}' where id = 1;
update t set n[null] = 1 where id = 1;
update t set n['x'] = 1 where id = 1;
update t set n[1] = 'x' where id = 1;
update t set n[1] = null where id = 1 returning n;
update t set n[1][1] = 3 where id = 1;
update t set m[2][1] = 'Z' where id = 3 returning m;
update t set m[3][1] = 'Z' where id = 3;
update t set m[1:1][1:2] = '{p,q}' where id = 3 returning m;
update t set n[3] = 1 where id = 2 returning n;
update t set v[1] = 'abc', v[2] = 'x' where id = 2 returning v;
update t set v[1] = 'abcd' where id = 2;
update t set d[2:3] = '{1.239,4}' where id = 2 returning d;
update t set id[1] = 1 where id = 2;
update t set n = '{1}', n[1] = 2 where id = 2;
update t set n[1] = default where id = 2;
insert into t (id, n) values (2, '{5}') on conflict (id)
  do update set n[1] = excluded.n[1] returning n;
-- comparison, order, keys
select id, n from t order by n, id;
select n = '{5}', n < '{6}', n <> '{{5}}' from t where id = 2;
select array[1,2] < array[1,3], array[1] < array[1,null],
  array[1,null] = array[1,null], '{}'::int[] < '{null}',
  '[0:0]={1}'::int[] = '{1}'::int[],
  '{{1,2}}'::int[] > '{1,2}'::int[];
create table k (a int[] primary key, b text[] unique);
insert into k values ('{1,2}', '{x}'), ('{1}', '{y}'),
  ('{}', null), ('{1,2,null}', '{y,z}'), ('[0:1]={1,2}', null);
insert into k values ('{1,2}', null);
insert into k values ('{3}', '{y}');
select * from k order by a;
select * from k order by a desc;
select * from k where a = '{1,2}';
select * from k where a > '{1}' and a <= '{1,2,null}'
  order by a;
select * from k where b = any (array['{x}','{y}']::text[]);
create index on t (m);
select id from t where m = '{{p,q},{Z,w}}';
select max(a), min(a), count(distinct a) from k;
select distinct n from t order by n;
-- operators and functions
select array[1,2] || 3, 0 || array[1,2], array[1] || array[2,3],
  array[[1,2]] || array[3,4], array[1,2] || array[[3,4]],
  array[1] || null::int, null || array[1], '{}'::int[] || 1,
  array[1,2] || '{3}';
select array[1,2] || array[[1],[2]];
select array[1,2] || 'x';
select array[1,2,3] @> array[2], array[2] <@ array[1,2],
  array[1] && array[2], array[1,null] @> array[null]::int[],
  array[1] @> '{}', array[[1,2],[3,4]] @> array[4];
select id from t where n @> '{2}' order by id;
select '{1}'::int[] @> '{a}'::text[];
select array_append(array[1,2], 3), array_append(null, 1),
  array_prepend(1, null), array_prepend(1.5, array[2]),
  array_append('[0:1]={1,2}'::int[], 3),
  array_prepend(0, '[0:1]={1,2}'::int[]);
select array_append(array[[1]], 2);
select array_cat(array[1], '{2}'), array_cat(null, array[1]);
select array_remove(array[1,2,1,null], 1),
  array_remove(array[1,null], null), array_remove('{}', 1),
  array_replace(array[1,2,1], 1, 9),
  array_replace(array[[1,null]], null, 0);
select array_remove(array[[1]], 1);
select array_position(array['a','b','a'], 'a', 2),
  array_position(array[1,null], null),
  array_positions(array[1,2,1], 1), array_position('{}', 1);
select array_position(array[[1]], 1);
select array_position(array[1], 1, null);
select array_fill(7, array[3]), array_fill(7, array[2,2]),
  array_fill(null::text, array[2], array[5]),
  array_fill(1, '{}');
select array_fill(1, null);
select array_fill(1, array[1,null]);
select array_fill(1, array[1], array[1,2]);
select array_to_string(array[1,null,3], ','),
  array_to_string(array[1,null,3], ',', '*'),
  array_to_string(array[[1,2],[3,4]], '-');
select string_to_array('a,b,,c', ','), string_to_array('abc', null),
  string_to_array('', ','), string_to_array('a', ''),
  string_to_array('a,b', ',', 'b'), string_to_array(null, ',');
select trim_array(array[1,2,3], 1), trim_array('[0:2]={1,2,3}'::int[], 2);
select trim_array(array[1], 2);
select array[[1,2],[3,4]], array[array[1],array[2]],
  array[[]]::int[], array['a', null], array[1,'2']::text[];
select array[[1,2],[3]];
select (array[1,2,3])[2], (array[[1,2],[3,4]])[2][1],
  (array[1,2,3])[2:3], (array[1,2,3])[null], ('{1,2}'::int[])[5];
select array[1,2]::text[], '{1,2}'::int[]::text,
  array[1.7]::int[], '{1,2}'::varchar(1)[],
  array['abc']::varchar(2)[], array[1]::bigint[];
select * from unnest(array[[1,2],[3,4]], array['a']) as x (a, b);
select unnest('[5:6]={1,2}'::int[]);
select generate_subscripts('[5:6]={1,2}'::int[], 1);
select id, x from t, unnest(n) with ordinality as u (x, o)
  where o <= 2 order by id, o;
select 2 = any (n), 20 > all (n) from t where id = 2;
select array_agg(n order by id) from t where id = 1;
select array_agg(x) from (values (array[1,2]), (array[3,4])) v (x);
select array_agg(x) from (values (array[1,2]), (array[3])) v (x);
select array_agg(x) from (values (array[1]), (null)) v (x);
select array_agg(x) from (values ('{}'::int[])) v (x);
-- transactions, prepared statements, routines
begin;
update t set n[1] = 77 where id = 3;
savepoint s;
update t set n = null;
rollback to s;
select n from t where id = 3;
rollback;
select n from t where id = 3;
prepare p (int[], int) as
  update t set n = $1, n[$2] = 4 where id = 3;
prepare p (int[], int) as
  update t set n = $1 || $2 where id = 3 returning n, n[1:$2];
execute p ('{1,2}', 1);
create function second(a int[]) returns int as $$
begin
  a[0] := 5;
  update t set n[2] = a[0] where id = 3;
  return (select n[2] from t where id = 3);
end $$ language plpgsql;
select second('{1,2}');
select n from t where id = 3;
create table d (a int[] default '{1,2}', b int[] default array[3],
  c text[] not null default '{}');
insert into d default values;
select * from d;
create table e as select array[a, b] as x, c from d;
select * from e;
copy t (id, n, m, b) to stdout;
select attname, format_type(atttypid, atttypmod)
  from pg_attribute where attrelid = 't'::regclass and attnum > 0
  order by attnum;
drop function second;
drop table t, k, d, e;
create table of_names (id int primary key, n name[], unique (n));
insert into of_names values (1, '{a,"b c"}'), (2, array['x'::name, null]), (3, null);
select id, n, n[1] as first, pg_typeof(n), pg_typeof(n[1]) from of_names order by n;
update of_names set n[2] = 'two' where id = 1 returning n;
insert into of_names values (4, '{a,two}');
select id from of_names where n = '{a,two}';
drop table of_names;

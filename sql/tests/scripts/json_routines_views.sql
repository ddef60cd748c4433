create table d (id int primary key, j json default '{"x": 1}', b jsonb not null default '[]',
  check (jsonb_typeof(b) = 'array' or b ? 'k'));
insert into d (id) values (1);
insert into d values (2, null, '{"k": 1}');
insert into d values (3, null, '{"n": 1}');
select pg_get_constraintdef(oid) from pg_constraint where conname = 'd_b_check';
select column_name, data_type, column_default from information_schema.columns where table_name = 'd' order by 1;
select t.typname, t.oid, t.typarray, t.typcategory from pg_type t where t.typname in ('json', 'jsonb') order by 1;
create function f(a jsonb, b json, out c jsonb, out n int) language plpgsql as $$
declare x jsonb := '{"s": 0}'; k text; v jsonb;
begin
  for k, v in select key, value from jsonb_each(a) loop
    x := x || jsonb_build_object(k, v);
    x := jsonb_set(x, '{s}', to_jsonb((x ->> 's')::int + 1));
  end loop;
  if x ? 'stop' then x := x - 'stop'; end if;
  c := x || jsonb_build_object('b', b);
  n := (x -> 's')::int;
end $$;
select * from f('{"a": 1, "stop": null}', '[1, 2]');
select * from f(null, null);
select c -> 'b' from f('{}', '{"z":  1}');
create function g(x jsonb) returns setof text language sql as $$ select key from jsonb_each_text(x) order by key $$;
select * from g('{"b": 1, "a": 2}');
create procedure p(i int, x jsonb, y json[]) language plpgsql as $$
begin
  insert into d values (i, y[1], x);
  update d set b = b || x where id = i;
end $$;
call p(10, '[1, {"a": "b"}]', array['{"q":  1}', 'null']::json[]);
call p(11, '1', null);
call p(12, 'x', null);
select * from d order by id;
create function h(x jsonb) returns text language plpgsql as $$
begin
  return x::int::text;
exception when invalid_parameter_value then return 'no number';
  when invalid_text_representation then return 'no json';
end $$;
select h('5'), h('"5"'), h('[]');
create function r(t text) returns jsonb language plpgsql as $$
begin return t::jsonb;
exception when others then return to_jsonb(sqlstate || ' ' || sqlerrm); end $$;
select r('{"a":1}'), r('{a'), r('"\u0000"');
do $$ declare a jsonb[] := '{}'; begin
  for i in 1..3 loop a := a || to_jsonb(i); end loop;
  raise notice '% %', a, to_jsonb(a);
end $$;
create view v1 as select id, j -> 'x' as x, j ->> 'x' as t, b #> '{0,a}' as p, b #>> array['0'] as q from d;
select pg_get_viewdef('v1'::regclass);
create view v2 as select id from d where b @> '[1]' and b ? 'k' or b ?| array['a', 'b'] or '{"a": 1}' <@ b;
select pg_get_viewdef('v2'::regclass);
create view v3 as select b || '{"a": 1}' as c, b - 'a' as e, b - 1 as f, b #- '{a}' as g, (j -> 'x')::text as h,
  b -> 0 -> 'a' as i, b = '[]' as k from d;
select pg_get_viewdef('v3'::regclass);
create view v4 as select json_build_object('id', id, 'b', b) as o, to_jsonb(id) as i,
  jsonb_set(b, '{a}', '1') as s, jsonb_array_length(b) as l from d where id = 10;
select pg_get_viewdef('v4'::regclass);
create view v5 as select json_agg(id order by id) as ids, jsonb_object_agg(id, b) as o from d;
select pg_get_viewdef('v5'::regclass);
create view v6 as select id, e.value from d, jsonb_array_elements(b) e where jsonb_typeof(b) = 'array';
create view v7 as select '{"a": [1]}'::jsonb as a, json '{"b":  1}' as b, id::text::jsonb as c from d;
select pg_get_viewdef('v7'::regclass);
select * from v1 order by id;
select * from v2 order by id;
select * from v4;
select ids from v5;
select * from v6 order by 1, 2;
drop view v1, v2, v3, v4, v5, v6, v7;
copy (select id, j, b from d order by id) to stdout;
copy (select id, j, b from d order by id) to stdout (format csv);
alter table d add column k jsonb generated always as (b -> 0) stored;
select id, k from d order by id;
alter table d alter column j type jsonb using j::jsonb;

select id, j, b from d order by id;
create table w as select jsonb_build_object('a', id) as o, to_json(id) as j from d;
select pg_typeof(o), pg_typeof(j), o, j from w order by o;
drop table w;
drop table d;
drop function f(jsonb, json);
drop function g(jsonb);
drop procedure p(int, jsonb, json[]);
drop function h(jsonb);
drop function r(text);

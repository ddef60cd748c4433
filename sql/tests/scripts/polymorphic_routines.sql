create function same(anyelement, anyelement) returns boolean language sql as 'select $1 = $2';
select same(1, 2), same('a'::text, 'a'), same(now(), now()), same(array[1], array[1]);
select same(1, 'a'::text);
select same('a', 'b');
select same(1, '2');
select same(null, 3);
create function pair(a anyelement, b anyelement) returns anyarray language sql as 'select array[a, b]';
select pair(1, 2), pair('x'::text, 'y'), pg_typeof(pair('a'::varchar, 'b'));
select pg_typeof(pair(1.5, 2));
select pair(1, 2.5);
select pair(array[1], array[2]);
create function first_of(anyarray) returns anyelement language plpgsql as $$
declare e $1%type; begin return $1[1]; end $$;
create or replace function first_of(anyarray) returns anyelement language plpgsql as $$
begin return $1[1]; end $$;
select first_of(array[7, 8]), first_of(array['x', 'y']), first_of('{1,2}'::numeric[]);
select first_of('{1,2}');
select first_of(3);
create function f(x int) returns anyelement language sql as 'select 1';
create function f(x int) returns anyarray language plpgsql as 'begin return null; end';
create function f(x anyelement) returns anycompatible language sql as 'select x';
create function f(x int, out y anyelement) language sql as 'select 1';
create function f(x int) returns table (y anyarray) language sql as 'select array[1]';
create function ident(x anyelement, out y anyelement, out z anyarray) language plpgsql as
$$ begin y := x; z := array[x, x]; end $$;
select * from ident(5);
select * from ident('k'::text);
create function repeated(x anyelement, n int) returns setof anyelement language plpgsql as
$$ begin for i in 1..n loop return next x; end loop; end $$;
select * from repeated('a'::text, 3);
select repeated(1.5, 2);
create function rows_of(anyarray) returns table (n int, v anyelement) language sql as
$$ select g, $1[g] from generate_subscripts($1, 1) g $$;
select * from rows_of(array['p', 'q']);
select n, v + 1 from rows_of(array[10, 20]);
create function nonarray(anynonarray) returns text language sql as $$ select $1::text || '!' $$;
select nonarray(5), nonarray('x'::text);
select nonarray(array[1]);
create type mood as enum ('sad', 'ok', 'happy');
create function next_label(e anyenum) returns anyenum language plpgsql as
$$ begin return (enum_range(e, null))[2]; end $$;
select next_label('sad'::mood);
select next_label(1);
create function larger(anycompatible, anycompatible) returns anycompatible language sql as
'select case when $1 > $2 then $1 else $2 end';
select larger(1, 2.5), pg_typeof(larger(1, 2)), pg_typeof(larger(1, 2::bigint)), larger('a', 'b');
select larger(1, 'x'::text);
create function app(anycompatiblearray, anycompatible) returns anycompatiblearray language sql as
'select array_append($1, $2)';
select app(array[1, 2], 3.5), pg_typeof(app(array[1], 2::bigint)), app('{1,2}', 3);
select app(3, 4);
-- defaults
create function greet(anyelement = 'World'::text) returns text language sql as $$ select 'Hello, ' || $1::text $$;
select greet(), greet(20.7), greet('City'::text);
create function greet2(x anyelement, y anyelement default 5) returns anyelement language sql as 'select y';
select greet2(1), greet2(2, 3);
select greet2('a'::text);
-- recursion, each with the types of its own
create function depth(x anyelement, n int) returns text language plpgsql as
$$ begin
  if n = 0 then return pg_typeof(x)::text; end if;
  return depth(array[n], n - 1) || ' ' || pg_typeof(x);
end $$;
select depth('a'::text, 1);
create function countdown(x anyelement, n int) returns anyelement language plpgsql as
$$ begin if n = 0 then return x; end if; return countdown(x, n - 1); end $$;
select countdown('end'::text, 3), countdown(9, 2);
-- overloads: one of these very types comes first
create function kind(anyelement) returns text language sql as $$ select 'any' $$;
create function kind(int) returns text language sql as $$ select 'int' $$;
create function kind(anyarray) returns text language sql as $$ select 'array' $$;
select kind(1), kind(1.5), kind('x'::text);
-- errors of one set of types
create function plus_one(x anyelement) returns anyelement language plpgsql as $$ begin return x + 1; end $$;
select plus_one(1), plus_one(1.5), plus_one(date '2020-01-01');
select plus_one(true);
-- procedures
create table seen (what text);
create procedure note(x anyelement) language plpgsql as
$$ begin insert into seen values (pg_typeof(x) || ' ' || x::text); end $$;
call note(1);
call note('a'::text);
call note(null);
create procedure swap(inout a anyelement, inout b anyelement) language plpgsql as
$$ declare t a%type := a; begin a := b; b := t; end $$;
call swap(1, 2);
call swap('x'::text, 'y');
do $$ declare p int := 1; q int := 2; begin call swap(p, q); raise notice '% %', p, q; call note(q); end $$;
select * from seen order by what;
-- in views, defaults and constraints
create view shown as select first_of(array[1, 2]) as a, pair('x'::text, 'y') as b;
select * from shown;
select pg_get_viewdef('shown'::regclass);
drop function first_of(anyarray);
drop function pair(anyelement, anyelement);
drop view shown;
create table checked (n int check (same(n, n)));
insert into checked values (1);
drop function same(anyelement, anyelement);
drop table checked;
drop function same(anyelement, anyelement);
-- VARIADIC
create function total(variadic numbers int[]) returns bigint language sql as 'select sum(n) from unnest(numbers) n';
select total(1), total(1, 2, 3), total(variadic array[4, 5]), total(variadic '{}');
select total();
select total('a');


create function least_of(variadic anyarray) returns anyelement language sql as 'select min(e) from unnest($1) e';
select least_of(3, 1, 2), least_of('b'::text, 'a'), least_of(variadic array[2.5, 1.5]);
select least_of(1, 'a'::text);
select least_of(1, 2.5);
create function joined(sep text, variadic items anyarray) returns text language plpgsql as
$$ begin return array_to_string(items, sep); end $$;
select joined(',', 1, 2), joined('-', 'a'::text, 'b'), joined('-', variadic array[true]);
create function least_c(variadic anycompatiblearray) returns anycompatible language sql as
'select min(e) from unnest($1) e';
select least_c(1, 2.5), pg_typeof(least_c(1, 2::bigint)), least_c('b', 'a');
create function opt(a int, variadic r text[] default '{none}') returns text language sql as
$$ select a || array_to_string(r, '/') $$;
select opt(1), opt(2, 'x'), opt(3, 'x', 'y');
create function bad(variadic int) returns int language sql as 'select 1';
create function bad(variadic int[], int) returns int language sql as 'select 1';
create procedure bad(variadic a int[], out b int) language sql as 'select 1';
create procedure many(variadic a text[]) language plpgsql as $$ begin raise notice '%', a; end $$;
call many('a', 'b');
call many(variadic array['c']);
create view totals as select total(1, 2) as t, joined(':', variadic array['x', 'y']) as j, least_of(1, 2) as l;
select * from totals;
select pg_get_viewdef('totals'::regclass);
-- the catalog
select proname, provariadic::regtype, proargmodes, pg_get_function_arguments(oid), pg_get_function_result(oid)
from pg_proc where proname in ('total', 'joined', 'least_c', 'ident', 'app', 'next_label', 'greet', 'rows_of')
order by proname;
select pg_get_functiondef('joined'::regproc);
-- numbers and names in SQL are those of the inputs
create function split(a text, out head text, n int, out tail text) language sql as
'select left($1, $2), substr(a, n + 1)';
select * from split('abcdef', 2);
create function same_name(a int, out a int) language sql as 'select a + 1';
select same_name(4);
create function twice(a int, a int) returns int language sql as 'select 1';
create function twice(out a int, inout a int) language sql as 'select 1';
-- the result under the name $0
create function sum_of(a anyelement, b anyelement) returns anyelement language plpgsql as $$
declare result alias for $0;
begin
  result := a + b;
  return result;
end $$;
select sum_of(1, 2), sum_of(1.25, 2);

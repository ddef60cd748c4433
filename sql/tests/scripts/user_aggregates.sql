create table t (g int, n int, s text);
insert into t values (1, 1, 'a'), (1, 2, 'b'), (1, null, null), (2, 5, 'c'), (2, 5, 'c'), (2, 3, null), (3, null, 'z');
-- a built-in transition function that is strict, with and without a first state
create aggregate newsum (sfunc1 = int4pl, basetype = int4, stype1 = int4, initcond1 = '0');
create aggregate plainsum(int) (sfunc = int4pl, stype = int);
select newsum(n), plainsum(n) from t;
select g, newsum(n), plainsum(n) from t group by g order by g;
select newsum(n), plainsum(n) from t where false;
-- a function of one's own, not strict
create function note_step(state text, n int) returns text language plpgsql as
$$ begin return coalesce(state, '') || '[' || coalesce(n::text, '-') || ']'; end $$;
create aggregate steps(int) (sfunc = note_step, stype = text);
select steps(n order by n) from t;
select g, steps(n order by n desc nulls last) from t group by g order by g;
select steps(distinct n) from t;
select steps(distinct n order by n desc) from t;
select steps(n order by g, n) filter (where n > 2) from t;
-- final functions, the state of an array
create aggregate newavg (sfunc = int4_avg_accum, basetype = int4, stype = _int8, finalfunc = int8_avg, initcond1 = '{0,0}');
select newavg(n) from t;
create function finish(state text) returns text language sql as $$ select '<' || state || '>' $$;
create aggregate finished(int) (sfunc = note_step, stype = text, initcond = 'x', finalfunc = finish);
select finished(n order by n) from t;
select g, finished(n order by n) from t where n > 3 group by g;
-- no arguments
create aggregate newcnt(*) (sfunc = int8inc, stype = int8, initcond = '0', parallel = safe);
create aggregate oldcnt (sfunc = int8inc, basetype = 'ANY', stype = int8, initcond = '0');
select newcnt(*), oldcnt(*) from t;
select g, newcnt(*) from t group by g having newcnt(*) > 1 order by newcnt(*) desc, g;
select newcnt(n) from t;
-- several arguments, strict or not
create function pick(state text, n int, s text) returns text language sql strict as $$ select state || n || s $$;
create function pick_all(state text, n int, s text) returns text language sql as
$$ select state || coalesce(n::text, '-') || coalesce(s, '-') $$;
create aggregate pairs(int, text) (sfunc = pick, stype = text, initcond = ':');
create aggregate all_pairs(int, text) (sfunc = pick_all, stype = text, initcond = ':');
select pairs(n, s order by g, n), all_pairs(n, s order by g, n) from t;
select pairs(distinct n, s), all_pairs(distinct n, s) from t;
select all_pairs(distinct n, s order by s desc, n) from t;
select all_pairs(distinct n, s order by g) from t;
-- as window functions
select g, n, newsum(n) over (partition by g order by n), steps(n) over (order by g, n rows between 1 preceding and current row),
  newcnt(*) over () from t order by g, n;
select n, newsum(n) filter (where n > 1) over w from t window w as (order by n nulls first) order by n nulls first;
select steps(distinct n) over () from t;
-- arguments and results in expressions, subqueries and outer queries
select newsum(n * 2) + 1, (select newsum(t.n) from (values (1)) v) from t;
select g, (select newsum(o.n) from t o where o.g = t.g) from t group by g order by g;
select newsum(newsum(n)) from t;
select 1 from t where newsum(n) > 1;
select n, newsum(n) from t;
select * from newsum(1);
select newsum(n) within group (order by n) from t;
-- FINALFUNC_EXTRA
create function with_type(state text, n int) returns text language sql as $$ select state || pg_typeof(n) || coalesce(n, 0) $$;
create aggregate extra(int) (sfunc = note_step, stype = text, finalfunc = with_type, finalfunc_extra);
select extra(n order by n) from t;
-- polymorphic ones
create function first_of(anyelement, anyelement) returns anyelement language sql strict as 'select $1';
create aggregate first_value_of(anyelement) (sfunc = first_of, stype = anyelement);
select first_value_of(n order by n desc nulls last), first_value_of(s order by s), pg_typeof(first_value_of(n::numeric)) from t;
create aggregate collected(anyelement) (sfunc = array_append, stype = anyarray, initcond = '{}');
create aggregate collected(anycompatible) (sfunc = array_append, stype = anycompatiblearray, initcond = '{}');
select collected(n order by n), collected(s order by s), collected(1.5) from t where n > 2;
select collected(n) over (order by g, n rows 1 preceding) from t order by g, n;
create function least_accum(anyelement, variadic anyarray) returns anyelement language sql as
'select least($1, min($2[i])) from generate_subscripts($2, 1) g(i)';
create aggregate least_agg(variadic items anyarray) (stype = anyelement, sfunc = least_accum);
select least_agg(n, g) from t;
select least_agg(variadic array[n, 7]) from t;
-- transition functions that write, and that fail
create table seen (x int primary key);
create function write_step(state int, n int) returns int language plpgsql as
$$ begin insert into seen values (n); return state + n; end $$;
create aggregate writing(int) (sfunc = write_step, stype = int, initcond = '0');
select writing(n) from (values (10), (20)) v(n);
select writing(n) from (values (30), (20)) v(n);
select * from seen order by x;
create procedure store_sum() language plpgsql as $$ declare s int; begin
  select writing(n) into s from (values (40), (50)) v(n); insert into seen values (s); end $$;
call store_sum();
select * from seen order by x;
-- definitions
create aggregate bad(int) (sfunc = int4pl);
create aggregate bad(int) (stype = int);
create aggregate bad(sfunc = int4pl, stype = int);
create aggregate bad(int) (sfunc = nothing_there, stype = int);
create aggregate bad(text) (sfunc = note_step, stype = text);
create aggregate bad(int) (sfunc = note_step, stype = int);
create aggregate bad(int) (sfunc = pick, stype = text);
create function to_number_of(state text, n int) returns int language sql as 'select 1';
create aggregate bad(int) (sfunc = to_number_of, stype = text);
create aggregate bad(int) (sfunc = int4pl, stype = int, initcond = 'x');
create aggregate bad(int) (sfunc = int4pl, stype = anyelement);
create function strict_step(state text, n int) returns text language sql strict as $$ select state $$;
create aggregate bad(int) (sfunc = strict_step, stype = text);
create aggregate bad(int, int) (sfunc = sum3, stype = int, sortop = <);
create aggregate newsum(int) (sfunc = int4pl, stype = int);
create or replace aggregate newsum(int) (sfunc = int4pl, stype = int, initcond = '100');
select newsum(n) from t;
create or replace function newsum(int) returns int language sql as 'select 1';
create aggregate note_step(text, int) (sfunc = pick, stype = text, initcond = '');
create or replace aggregate note_step(text, int) (sfunc = pick, stype = text, initcond = '');
-- names, comments, schemas, rights
comment on aggregate newcnt(*) is 'counts';
comment on aggregate nothing(*) is 'counts';
select obj_description('newcnt()'::regprocedure);
create schema other;
alter aggregate newcnt(*) set schema other;
select other.newcnt(*), other.newcnt(*) over () from t limit 1;
alter function note_step(text, int) set schema other;
select steps(n order by n) from t;
-- the catalog
select aggfnoid::regproc, aggkind, aggtransfn, aggfinalfn, aggfinalextra, aggtranstype::regtype, agginitval from pg_aggregate
where aggfnoid >= 16384 order by aggfnoid::regproc::text;
select proname, prokind, prosrc, pg_get_function_arguments(oid), pg_get_function_result(oid) from pg_proc where prokind = 'a' and oid >= 16384 order by proname;
-- dependencies
drop function finish(text);
drop function newsum(int);
drop aggregate pick(text, int, text);
drop aggregate nothing(int);
create view sums as select g, newsum(n) as s, steps(distinct n order by n) filter (where n > 1) as l from t group by g;
select * from sums order by g;
select pg_get_viewdef('sums'::regclass);
drop aggregate newsum(int);
drop aggregate newsum(int) cascade;
drop function finish(text) cascade;
select finished(1);
drop aggregate plainsum(int), other.newcnt(*);
select newcnt(*) from t;

-- Functions, operators and casts that exist from the start.
select 'array_in'::regproc, 'array_in'::regproc::oid, 'pg_catalog.array_in'::regproc;
select 'abs(integer)'::regprocedure, 'abs(int8)'::regprocedure::oid, 'pg_catalog.abs(numeric)'::regprocedure;
select 'nextval'::regproc, 'nextval(regclass)'::regprocedure::oid;
select 1397::regproc, 1397::regprocedure, 0::regproc, 99999999::regproc;
select typname, typinput, typoutput from pg_type where typinput = 'array_in'::regproc and typname in ('_int4', '_text') order by 1;
select p.proname, t.typname from pg_type t join pg_proc p on p.oid = t.typsend where t.typname in ('int4', 'text', 'bool') order by 2;
select proname, pg_get_function_arguments(oid), pg_get_function_result(oid), provolatile, proisstrict, proretset, prokind
from pg_proc where proname in ('initcap', 'string_agg', 'count', 'concat', 'json_each', 'percentile_cont', 'coalesce', 'now', 'regexp_matches')
    and pronamespace = 'pg_catalog'::regnamespace and oid <> 1322
order by oid;
select proname, proargnames, proargmodes, proallargtypes from pg_proc where proname = 'json_each';
select pg_function_is_visible('upper(text)'::regprocedure);
select castsource::regtype, casttarget::regtype, castfunc::regproc, castcontext, castmethod
from pg_cast where castsource = 'integer'::regtype and casttarget in ('bigint'::regtype, 'text'::regtype, 'boolean'::regtype, 'oid'::regtype) order by casttarget;
select oprname, oprleft::regtype, oprright::regtype, oprresult::regtype, oprcode
from pg_operator where oprname in ('+', '~~', '->>') and oprleft in ('integer'::regtype, 'text'::regtype, 'jsonb'::regtype) order by oid;
select o.oprname, n.oprname as negator from pg_operator o join pg_operator n on n.oid = o.oprnegate
where o.oprleft = 'integer'::regtype and o.oprright = 'integer'::regtype order by o.oprname collate "C";
select aggfnoid, aggkind, aggtransfn, aggfinalfn, aggtranstype::regtype, agginitval from pg_aggregate
where aggfnoid in (2116, 2147, 2803, 3974) order by aggfnoid;
-- A routine of a user hides none of them.
create function upper(x int) returns int language plpgsql as 'begin return x; end';
select 'upper(text)'::regprocedure, 'public.upper'::regproc, 'upper(int)'::regprocedure;
drop function upper(int);
-- One with the same inputs is hidden.
create function upper(x text) returns text language plpgsql as 'begin return x; end';
select oid::regprocedure, pg_function_is_visible(oid), oid::regprocedure::text::regprocedure = oid from pg_proc where proname = 'upper' and prolang <> 12;
drop function public.upper(text);
select 'substring(text, int, int)'::regprocedure;
select has_function_privilege('now()', 'execute'), has_function_privilege('abs(integer)'::regprocedure, 'execute');
-- What refers to an object finds it, and no number stands for two.
select count(*) from pg_proc p where not exists (select from pg_type t where t.oid = p.prorettype);
select count(*) from (select unnest(proargtypes) as one from pg_proc) a where not exists (select from pg_type t where t.oid = one);
select oid from pg_class intersect select oid from pg_proc;
select 'pg_get_keywords'::regproc, to_regclass('pg_get_keywords');
select * from pg_get_keywords() where word in ('abort', 'select', 'between', 'left', 'year');
select catcode, catdesc, barelabel, baredesc, count(*) from pg_catalog.pg_get_keywords() k group by 1, 2, 3, 4 order by 1, 3;
select string_agg(word, ',') from pg_get_keywords() where catcode = 'T';
-- A name in quotes is a name.
select * from "unnest"(array[1, 2]), pg_catalog."generate_series"(1, 2) g order by 1, 2;

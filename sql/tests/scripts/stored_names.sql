-- Stored expressions name types, routines, relations and sequences. They are shown as the reader's search_path
-- demands, with the names that the objects have now.
create schema app;
create schema other;
create type st as enum ('a', 'b', 'c.d');
create type app.kind as enum ('x', 'y');
create type "Odd Type" as enum ('o');
set search_path = public, app;
create sequence app.numbers;
create function app.twice(n integer) returns integer language plpgsql immutable as $$ begin return 2 * n; end $$;
create table et (
    id integer primary key default nextval('app.numbers'),
    s st not null default 'a' check (s <> 'b'),
    k kind default 'x'::kind,
    o "Odd Type" default 'o',
    many st[] default '{a,b}'::st[],
    own _st default array['a'::st],
    t text default 'st.a',
    n integer default twice(4),
    m integer default (1 + nextval('app.numbers')),
    is_first boolean generated always as (s = 'a' or k in ('x', 'y')) stored,
    g text generated always as (case s when 'a' then 'st' else t end) stored,
    constraint both_known check (s in ('a', 'c.d') and k::kind <> 'y' or o is null),
    constraint by_call check (twice(id) < 1000 and s::text <> 'st')
);
create index et_s on et (s) where s = 'a';
create index et_kind on et ((k = 'x'::kind), (case when s = 'b' then 1 else 0 end)) where k <> 'y' and s in ('a', 'c.d');
create view ev as select s, k, 'a'::st as first, twice(id) as double from et where s >= 'a' and k = 'x';
create view evv as select first, count(*) as n from ev where s = 'c.d'::st group by first;
create function about(s st default 'a'::st, k kind default 'x', many st[] default '{}', out o "Odd Type")
    language plpgsql as $$ begin o = 'o'; end $$;
create function listed(k kind) returns table (s st, k2 kind) language plpgsql as $$ begin end $$;
insert into et (s) values ('a');
set search_path = '';
select conname, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'public.et'::regclass order by conname;
select attname, pg_get_expr(adbin, adrelid) from pg_attrdef join pg_attribute on adrelid = attrelid and adnum = attnum where adrelid = 'public.et'::regclass order by attnum;
select pg_get_indexdef(indexrelid) from pg_index where indrelid = 'public.et'::regclass order by 1;
select pg_get_indexdef(indexrelid, 1, true) from pg_index where indrelid = 'public.et'::regclass order by 1;
select pg_get_expr(indpred, indrelid) from pg_index where indrelid = 'public.et'::regclass order by 1;
select pg_get_viewdef('public.ev'::regclass);
select pg_get_viewdef('public.evv'::regclass, true);
select pg_get_functiondef('public.about'::regproc);
select pg_get_function_result('public.listed'::regproc), pg_get_function_identity_arguments('public.listed'::regproc);
select n, pg_get_function_arg_default('public.about'::regproc, n) from generate_series(1, 4) n;
select attname, format_type(atttypid, atttypmod), atttypid::regtype from pg_attribute where attrelid = 'public.et'::regclass and attnum > 0 order by attnum;
select column_name, column_default, generation_expression from information_schema.columns where table_schema = 'public' and table_name = 'et' order by ordinal_position;
select check_clause from information_schema.check_constraints where constraint_name in ('both_known', 'by_call', 'et_s_check') order by constraint_name;
select view_definition from information_schema.views where table_name = 'ev';
select parameter_name, parameter_default from information_schema.parameters where specific_schema = 'public' order by specific_name, ordinal_position;
select pg_typeof(s), pg_typeof(many), pg_typeof(k) from public.et;
select 'public.et'::regclass, 'public.st'::regtype, 'app.twice'::regproc, 'public.about'::regproc;
set search_path = app;
select conname, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'public.et'::regclass order by conname;
select pg_get_indexdef(indexrelid) from pg_index where indrelid = 'public.et'::regclass order by 1;
select pg_get_viewdef('public.ev'::regclass);
select pg_typeof(s), pg_typeof(k) from public.et;
set search_path = public;
create type app.st as enum ('z');
set search_path = app, public;
select conname, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'public.et'::regclass order by conname;
select pg_get_viewdef('public.evv'::regclass);
set search_path = other;
insert into public.et (s, k) values ('b', 'x');
insert into public.et (s, k) values ('c.d', 'y');
insert into public.et (id, s) values (600, 'a');
insert into public.et (s) values ('c.d') returning s::text, k::text, n, is_first, g;
update public.et set k = 'y' where s = 'a';
-- Other names, other schemas.
drop type app.st;
alter type public.st rename to "New st";
alter type public."New st" set schema other;
alter type app.kind rename to sort;
alter function app.twice(integer) set schema other;
alter sequence app.numbers set schema other;
alter sequence other.numbers rename to "Numbers";
alter type public."Odd Type" set schema app;
alter schema app rename to moved;
set search_path = '';
select conname, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'public.et'::regclass order by conname;
select attname, pg_get_expr(adbin, adrelid) from pg_attrdef join pg_attribute on adrelid = attrelid and adnum = attnum where adrelid = 'public.et'::regclass order by attnum;
select pg_get_indexdef(indexrelid) from pg_index where indrelid = 'public.et'::regclass order by 1;
select pg_get_viewdef('public.ev'::regclass);
select pg_get_viewdef('public.evv'::regclass);
select pg_get_function_arguments('public.about'::regproc);
select pg_get_function_result('public.listed'::regproc);
select column_name, column_default, generation_expression from information_schema.columns where table_schema = 'public' and table_name = 'et' order by ordinal_position;
insert into public.et (s) values ('c.d') returning s::text, k::text, n, is_first, g;
insert into public.et (s) values ('b');
select * from public.ev order by double;
select public.about();
set search_path = moved, other, public;
select conname, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'public.et'::regclass order by conname;
select pg_get_indexdef(indexrelid) from pg_index where indrelid = 'public.et'::regclass order by 1;
select pg_get_viewdef('ev');
-- A schema with the name of a type, and one with the name of a table in a query.
create schema et;
create table et.s (a integer);
set search_path = et, public, other;
create view same as select et.s, s.a from et.s s, public.et;
select pg_get_viewdef('same');

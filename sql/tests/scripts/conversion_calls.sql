-- a type that is called with one argument is a conversion
set time zone 'UTC';
select date(timestamptz '2026-11-26 05:06:07+00'), date('2020-01-01'), date(timestamp '2021-02-03 04:05:06');
select text(1), int4('1'), float8(1), bool('t'), int8(1.5), int2(7), float4('1.25');
select timestamptz('2020-01-01'), bytea('a'), oid(1), uuid('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11');
select jsonb('{"a": 1}'), json('[]'), regclass('pg_class'), pg_catalog.date('2020-01-01');
create table happened (id int primary key, at timestamp);
insert into happened values (1, '2026-11-25 10:00'), (2, '2026-11-25 11:00'), (3, '2026-11-26 00:00');
select date(at), count(*) from happened group by date(at) order by 1;
create view days as select id, date(at) as day from happened;
select * from days where day = date('2026-11-25') order by id;
create index happened_day on happened (date(at));
select id from happened where date(at) = '2026-11-26';
create type mood as enum ('sad', 'happy');
select mood('happy');
-- functions of the user come first
create function mood(int) returns text language sql as $$ select 'number ' || $1 $$;
select mood(1), mood('sad');
-- what cannot be converted, and what is no type
select date('x');
select date(true);
select date();
select date(1, 2);
select nothing('a');
select mood('angry');
-- CURRENT OF is no function
select * from happened where current of c;
-- a routine of the same name does not change what indexes, generated columns and views mean
create table computed (id int primary key, at timestamp, day date generated always as (date(at)) stored);
create index computed_day on computed (date(at));
create function date(timestamp) returns int language sql as $$ select 1 $$;
insert into computed values (1, '2026-11-26 10:00');
select id, day, date(at) from computed where date(at) = '2026-11-26';
-- views keep what is meant, not how it was called
create schema s;
create type s.temper as enum ('cold', 'hot');
set search_path = s, public;
create view public.tempers as select temper('hot') as t, date('2020-01-01') as d, date(at) as day, int8(id) as i, text(id) as n from public.computed;
set search_path = public;
create function date(text) returns text language sql as $$ select $1 $$;
select * from tempers;
select pg_get_viewdef('tempers'::regclass);
alter type s.temper rename to mood2;
select * from tempers;
-- of a schema
select s.mood2('cold'), public.mood('sad'), pg_catalog.int4('7');
select s.nothing('cold');
-- of a user's function that does not fit, although PostgreSQL has one of this name
create function area(a int, b int) returns int language sql as $$ select a * b $$;
select area(2, 3);

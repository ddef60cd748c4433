-- Casts of users: by text, by a function, and without one.
create type mood as enum ('sad', 'ok', 'happy');
create table people (id int primary key, feels mood, word varchar(10));

-- Before there is a cast, enums convert by text: explicitly, and to strings in assignments.
insert into people values (1, 'ok'::varchar, 'x');
insert into people values (1, 'ok'::varchar::mood, 'ok'::mood);
create function said(varchar) returns text language sql as $$ select 'said ' || $1 $$;
select said('sad'::mood);

-- As Hibernate creates them.
create cast (varchar as mood) with inout as implicit;
create cast (mood as varchar) with inout as implicit;
insert into people values (2, 'sad'::varchar, 'happy'::mood);
insert into people select 3, word, feels from people where id = 2;
select * from people order by id;
update people set feels = word where id = 1;
update people set feels = 'unknown'::varchar where id = 1;
select said('sad'::mood), said(feels) from people where id = 1;
select 'sad'::mood::varchar(2), 'happy'::varchar::mood, 'ok'::text::mood;
-- No operator takes a varchar, and those of enums want two of one type.
select count(*) from people where feels = 'ok'::varchar;
select count(*) from people where feels = 'ok';
prepare by_word(varchar) as insert into people values (4, $1, $1) returning *;
execute by_word('ok');
execute by_word('nonsense');

-- What exists, and what cannot.
create cast (varchar as mood) with inout;
create cast (int as bigint) with inout;
create cast (mood as mood) with inout;
create cast (mood as nothing) with inout;
create cast (record as mood) with inout;
create cast (mood as anyelement) with inout;
create cast (mood as text) without function;
create cast (mood as int) without function;
create cast (int as bigint) without function;
create cast (int[] as text) without function;
drop cast (int as bigint);
drop cast (mood as int);
drop cast if exists (mood as mood);
drop cast if exists (mood as nothing);
drop cast (nothing as mood);

-- By a function.
create function rank_of(mood) returns int language sql immutable as
    $$ select case $1::text when 'sad' then -1 when 'ok' then 0 else 1 end $$;
create function of_rank(int) returns mood language plpgsql as $$
begin
    return case when $1 < 0 then 'sad' when $1 = 0 then 'ok' else 'happy' end;
end $$;
select feels::int from people;
create cast (mood as int) with function rank_of(mood) as assignment;
create cast (int as mood) with function of_rank(int) as implicit;
select 'sad'::mood::int, 7::mood, null::mood::int, null::int::mood, cast(-3 as mood);
create table ranks (rank int, feels mood);
insert into ranks select feels, rank_of(feels) from people;
select * from ranks order by rank;
select 'happy'::mood + 1;
drop cast (mood as int);
create cast (mood as int) with function rank_of as implicit;
select 'happy'::mood + 1, 'sad'::mood - 'happy'::mood, 'ok'::mood = 0, abs('sad'::mood);
select coalesce(null::mood, 'ok'), array['ok'::mood, 'sad'];
create function half(numeric) returns numeric language sql as $$ select $1 / 2 $$;
select half('sad'::mood);
create function twice(int) returns int language sql as $$ select $1 * 2 $$;
select twice('sad'::mood), twice(feels) from people where id = 1;

-- A function that is told the modifier of the type, and whether the cast is written.
create type point2 as (x int, y int);
create function show(point2, int, boolean) returns varchar language sql as
    $$ select '(' || $1.x || '|' || $1.y || ' ' || $2 || ' ' || $3 || ')' $$;
create cast (point2 as varchar) with function show(point2, int, boolean) as assignment;
select (1, 2)::point2::varchar, (1, 2)::point2::varchar(30);
create table shown (short varchar(20), long varchar);
insert into shown values ((3, 4)::point2, (5, 6)::point2);
select * from shown;

-- Functions that fit no cast.
create function unasked() returns mood language sql as $$ select 'ok'::mood $$;
create function many(mood, int, boolean, int) returns int language sql as $$ select 1 $$;
create function second(mood, text) returns bigint language sql as $$ select 1::bigint $$;
create function third(mood, int, int) returns bigint language sql as $$ select 1::bigint $$;
create function wide(mood) returns bigint language sql as $$ select 1::bigint $$;
create function several(mood) returns setof bigint language sql as $$ select 1::bigint $$;
create procedure done(mood) language sql as $$ select 1 $$;
create cast (mood as bigint) with function unasked();
create cast (mood as bigint) with function many(mood, int, boolean, int);
create cast (mood as bigint) with function rank_of(mood);
create cast (text as bigint) with function wide(mood);
create cast (mood as bigint) with function second(mood, text);
create cast (mood as bigint) with function third(mood, int, int);
create cast (mood as bigint) with function several(mood);
create cast (mood as bigint) with function nowhere(mood);
create cast (mood as bigint) with function done(mood);
create cast (mood as bigint) with function wide(mood);
select 'ok'::mood::bigint;
-- Functions of PostgreSQL itself.
create cast (text as int) with function length(text) as assignment;
select 'four'::text::int, 'four'::varchar::int;
insert into ranks (rank) values ('abc'::text) returning rank;
drop cast (text as int);

-- In conditions, in assignments of PL/pgSQL, in arguments and results.
create function is_good(mood) returns boolean language sql as $$ select $1::text = 'happy' $$;
create cast (mood as boolean) with function is_good(mood) as assignment;
select id from people where feels order by id;
select case when feels then 'good' else 'bad' end, not feels from people where id < 3 order by id;
create function assigned(word varchar) returns varchar language plpgsql as $$
declare
    feels mood := word;
    rank int;
begin
    rank := feels;
    feels := rank + 1;
    if feels then
        return 'good ' || feels;
    end if;
    return feels;
end $$;
select assigned('ok'), assigned('sad');
create function as_mood(word varchar) returns mood language sql as $$ select word $$;
select as_mood('ok');

-- What is stored with a cast goes on, and ends with it.
create view moods as select id, word::mood as feels, twice(feels) as rank from people;
select * from moods order by id;
select pg_get_viewdef('moods'::regclass);
create table defaults (id int, feels mood default 1, rank int default 'happy'::mood);
insert into defaults values (1);
select * from defaults;

-- In the catalog.
select castsource::regtype, casttarget::regtype, castfunc::regprocedure, castcontext, castmethod
    from pg_cast where castsource = 'mood'::regtype or casttarget = 'mood'::regtype or castsource = 'point2'::regtype
    order by 1, 2;
comment on cast (varchar as mood) is 'words are moods';
comment on cast (varchar as bytea) is 'none';
select obj_description(oid, 'pg_cast') from pg_cast where casttarget = 'mood'::regtype order by 1;
select count(*) from pg_proc where proname = '';
select classid::regclass, refclassid::regclass, count(*) from pg_depend
    where classid = 'pg_cast'::regclass and objid >= 16384 group by 1, 2 order by 1, 2;

-- Others may not.
create role user_casts_other;
grant usage on schema public to user_casts_other;
set role user_casts_other;
create cast (mood as date) with inout;
drop cast (varchar as mood);
comment on cast (varchar as mood) is 'mine';
create type own as enum ('a');
create cast (varchar as json) without function;
reset role;
grant create on schema public to user_casts_other;
set role user_casts_other;
create type own as enum ('a', 'b');
create cast (own as mood) with inout as implicit;
create cast (own as varchar) without function;
drop cast (own as mood);
create cast (varchar as own) with inout as implicit;
select 'a'::varchar::own;
reset role;
drop type own cascade;
revoke all on schema public from user_casts_other;
drop role user_casts_other;

-- Dependencies.
drop table defaults;
drop function of_rank(int);
begin;
drop function of_rank(int) cascade;
select 1::mood;
rollback;
select 1::mood;
create schema other;
alter function rank_of(mood) set schema other;
select 'happy'::mood::int;
alter type mood rename to feeling;
select 'happy'::feeling::int;
alter type feeling add value 'glad';
select 'glad'::varchar::feeling;
drop view moods;
begin;
drop cast (varchar as feeling);
insert into people values (9, 'ok'::varchar);
rollback;
insert into people values (9, 'ok'::varchar);
drop schema other;
drop schema other cascade;
select feels::int from people;
drop type feeling;
drop type feeling cascade;
select count(*) from pg_cast where oid >= 16384;

-- Text as JSON, as applications convert their parameters.
create cast (varchar as json) without function as implicit;
create cast (text as jsonb) with inout as assignment;
create table documents (plain json, binary_form jsonb);
insert into documents values ('{"a": 1}'::varchar, '{"b":2}'::text);
select * from documents;
drop cast (varchar as json);
drop cast (text as jsonb);
insert into documents values ('{"a": 1}'::varchar, '{"b":2}'::text);

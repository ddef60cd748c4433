-- What depends on domains and what domains depend on, and variables of domains.

create domain pos as int check (value > 0);
create table checked (x int check (x::pos > 2), y int);
insert into checked values (5), (-5);
drop domain pos;
drop domain pos cascade;
insert into checked values (-5);

-- Texts of domains.
create domain a6 as int check (value > 0);
create domain a7 as int check ((value::a6) > 1);
drop domain a6;
select 2::a7, 3::a7;
drop domain a6 cascade;
select 0::a7;
create type mood as enum ('happy', 'sad');
create domain dm as text check (value <> 'happy'::mood::text);
drop type mood;
drop type mood cascade;
select 'happy'::dm;
create sequence s;
create domain ds as int default nextval('s');
create table ts (x ds, y int);
drop sequence s;
insert into ts (y) values (2);
drop sequence s cascade;
select * from ts;
create function f(i int) returns boolean language sql immutable as 'select i > 0';
create domain df as int constraint calls_f check (f(value)) check (value < 100);
drop function f(int);
drop function f(int) cascade;
select (-1)::df;
select 100::df;

-- A function of the domain's name.
create function even(i int) returns boolean language sql immutable as 'select i % 2 = 0';
create domain even as int check (even(value));
select 2::even;
select 3::even;
create domain fl as boolean;
create function fl(b boolean) returns boolean language sql immutable as 'select not b';
alter domain fl add check (fl(value));
select false::fl;
select true::fl;

-- Names and parameters in conditions.
create domain d3 as int check (d3.value > 0);
create domain d3 as int check (value > $1);
create domain d3 as int default $1;
create domain d3 as int;
alter domain d3 set default 1 is not null;
alter domain d3 set default 1 + 1;
comment on domain d3 is 'x';
create table base (i int);
drop domain base;

-- A schema that is renamed.
create schema k1;
create type k1.m as enum ('a', 'b');
create domain k1.z as k1.m default 'a';
create domain k1.b as k1.m check (value = 'b');
alter schema k1 rename to k3;
create table kz (x k3.z, y k3.b, i int);
insert into kz (y, i) values ('b', 1);
select * from kz;
alter type k3.m add value 'c';
insert into kz values ('c', 'b', 2);
select domain_name, udt_schema, udt_name from information_schema.domains where domain_schema = 'k3' order by 1;
drop schema k3 cascade;
select * from kz;
create schema q;
create function q.f(i int) returns boolean language sql immutable as 'select i > 0';
create domain q.dd as int check (q.f(value));
drop schema q cascade;

-- PL/pgSQL: a variable that is refused a value has its old one.
create domain a1 as int check (value > 0);
create domain nn as int not null;
create domain arr as int[] check (value[1] > 0);
create table r (x a1, y int);
do $$
declare
  p a1 := 9;
  n int not null := 1;
  a arr := '{1,2}';
  c cursor for select -7;
  m nn := 3;
begin
  begin select -1 into p; exception when others then raise notice '%', sqlerrm; end;
  raise notice 'p %', p;
  begin open c; fetch c into p; exception when others then raise notice '%', sqlerrm; end;
  raise notice 'p %', p;
  begin a[1] := -4; exception when others then raise notice '%', sqlerrm; end;
  raise notice 'a %', a;
  begin for p in select g from generate_series(3, 2) g loop null; end loop;
    raise notice 'no rows: %', p; exception when others then raise notice '%', sqlerrm; end;
  p := 9;
  begin for p in select g from generate_series(1, -1, -1) g loop raise notice 'in %', p; end loop;
    exception when others then raise notice '%', sqlerrm; end;
  raise notice 'p %', p;
  begin for p in execute 'select -1' loop raise notice 'in %', p; end loop;
    exception when others then raise notice '%', sqlerrm; end;
  raise notice 'p %', p;
  begin foreach p in array array[1, -1] loop raise notice 'in %', p; end loop;
    exception when others then raise notice '%', sqlerrm; end;
  raise notice 'p %', p;
  begin perform 1 where false; get diagnostics p = row_count; exception when others then raise notice '%', sqlerrm; end;
  raise notice 'p %', p;
  begin select null into n; exception when others then raise notice '%', sqlerrm; end;
  raise notice 'n %', n;
  begin n := null; exception when others then raise notice '%', sqlerrm; end;
  raise notice 'n %', n;
  begin select 1 into m where false; exception when others then raise notice '%', sqlerrm; end;
  raise notice 'm %', m;
  begin execute 'select -3' into p; exception when others then raise notice '%', sqlerrm; end;
  raise notice 'p %', p;
end
$$;

-- The catalog.
select typname, pg_type_is_visible(oid), pg_type_is_visible(typarray) from pg_type where typname in ('a1', 'arr') order by 1;
select constraint_name, check_clause from information_schema.check_constraints where constraint_name in ('a1_check', 'arr_check') order by 1;

-- Domains: values of a type that satisfy some constraints.

create domain posint as integer check (value > 0);
create domain email as text constraint has_at check (value like '%@%') not null;
create domain code varchar(4) default 'none';
create domain short_code as code check (length(value) < 3) constraint no_digits check (value !~ '[0-9]');

create table orders (id int primary key, amount posint, mail email, c code, s short_code default 'ab');
insert into orders values (1, 5, 'a@b');
insert into orders values (2, 0, 'a@b');
insert into orders values (3, 1, 'none');
insert into orders (id, amount) values (4, 1);
insert into orders values (5, null, 'x@y', 'abcdef', 'a');
insert into orders values (5, null, 'x@y', 'abcd', 'abc');
insert into orders values (5, null, 'x@y', 'abcd', 'a1');
insert into orders values (5, null, 'x@y', default, default), (6, 7, 'y@x', null, null);
select * from orders order by id;
update orders set amount = -amount where id = 1;
update orders set amount = amount + 1, mail = mail || '.org' where id = 1;
update orders set s = 'q';
select * from orders order by id;
insert into orders select id + 10, amount - 6, mail from orders where id < 6;
insert into orders select id + 10, amount, mail from orders where id < 6;
insert into orders values (1, 8, 'z@z') on conflict (id) do update set amount = excluded.amount - 100;
insert into orders values (1, 8, 'z@z') on conflict (id) do update set amount = excluded.amount returning amount;
insert into orders values (1, -8, 'z@z') on conflict do nothing;

-- Conversions.
select 5::posint, '7'::posint, cast(9.4 as posint);
select 0::posint;
select (-1)::posint;
select null::posint, null::email;
select 'x'::posint;
select amount::email from orders where id = 1;
select 'abcdef'::code, 'a1'::short_code;
select 'ab'::short_code || 'c';
select 1 + 5::posint, pg_typeof(1 + 5::posint);
select case when false then 0::posint else 1 end;

-- What is refused.
create domain posint as int;
create domain d as nothing;
create domain d as int check (x > 0);
create domain d as int check (value);
create domain d as int check (value > (select 1));
create domain d as int default 'x';
create domain d as int check (value > 1) default 1 default 2;
create domain d as int unique;
create domain d as int primary key;
create domain d as int not null null;
create domain d as int constraint c check (value > 0) constraint c check (value > 1);
create domain d as posint(3);
create table posint (i int);
drop type nothing;
drop domain nothing;
drop domain if exists nothing;
create type mood as enum ('sad', 'happy');
drop domain mood;
alter domain mood set default 'sad';
alter type posint add value 'x';
alter domain nothing drop not null;

-- A domain over an enum, which gets another label.
create domain good_mood as mood check (value = 'happy');
create table moods (m good_mood);
insert into moods values ('happy'), ('sad');
insert into moods values ('happy');
alter type mood rename value 'happy' to 'glad';
insert into moods values ('glad');
select * from moods;
alter type mood add value 'ok';
insert into moods values ('ok');
insert into moods values ('better');
drop type mood;

-- Altering.
alter domain code set default 'some';
insert into orders (id, mail) values (30, 'a@a');
alter domain code drop default;
insert into orders (id, mail) values (31, 'a@a');
select id, c, s from orders where id >= 30 order by id;
alter domain email drop not null;
insert into orders (id) values (32);
alter domain email drop constraint nothing;
alter domain email drop constraint if exists nothing;
alter domain email rename constraint has_at to has_an_at;
insert into orders (id, mail) values (33, 'a');
alter domain email drop constraint has_an_at;
insert into orders (id, mail) values (33, 'a');
alter domain email add constraint no_x check (value !~ 'x') not valid;
insert into orders (id, mail) values (34, 'x');
select count(*) from orders where mail ~ 'x';
update orders set amount = 3 where id = 5;
alter domain email rename to address;
insert into orders (id, mail) values (34, 'x');
create schema other;
alter domain address set schema other;
insert into orders (id, mail) values (34, 'x');
select 'x'::other.address;
select 'x'::address;

-- Tables.
alter table orders add column extra posint default 3;
alter table orders add column bad posint default -3;
alter table orders alter column extra type int;
insert into orders (id, extra) values (50, -1);
alter table orders alter column extra type posint;
update orders set extra = 1 where id = 50;
alter table orders alter column extra type posint;
update orders set extra = -1 where id = 50;
create table made_of (like orders);
insert into made_of (id, amount) values (1, 0);
create table filled as select id, amount from orders where id = 1;
insert into filled values (2, 2);
create table generated (i int, p posint generated always as (i - 1) stored);
insert into generated values (5);
insert into generated values (1);
create table parent (i posint primary key, n int);
create table child (i posint references parent on update cascade, n int);
insert into parent values (1);
insert into child values (1);
update parent set i = 2;
select * from child;

-- PL/pgSQL.
do $$
declare
  p posint := 5;
  q posint;
begin
  p := p + 1;
  raise notice 'p %', p;
  select 9 into q;
  raise notice 'q %', q;
  begin
    p := p - 100;
  exception when check_violation then
    raise notice 'p is % still: %', p, sqlerrm;
  end;
  begin
    select -1 into q;
  exception when others then
    raise notice '%: %', sqlstate, sqlerrm;
  end;
end
$$;
do $$ declare p posint := 0; begin end $$;
do $$ declare a orders.amount%type := 0; begin end $$;

-- Views and functions.
create view shown as select id, id::posint as a, 5::posint as five, 'a'::code as c from orders where id = 1;
select * from shown;
select pg_get_viewdef('shown'::regclass);
create function is_even(i int) returns boolean language sql immutable as 'select i % 2 = 0';
create domain even as int check (is_even(value));
create table evens (e even, n int);
insert into evens values (2);
insert into evens values (3);
alter domain even rename to evened;
insert into evens values (3);

-- The catalog.
select typname, typtype, typnotnull, typbasetype::regtype, typtypmod, typdefault, typlen, typcategory
  from pg_type where typname in ('posint', 'code', 'short_code', 'good_mood', 'address') order by 1;
select conname, contype, contypid::regtype, conrelid, convalidated, pg_get_constraintdef(oid)
  from pg_constraint where contypid >= 16384 order by 1;
select attname, atttypid::regtype, format_type(atttypid, atttypmod), atttypmod from pg_attribute
  where attrelid = 'orders'::regclass and attnum > 0 order by attnum;
select domain_schema, domain_name, data_type, character_maximum_length, domain_default, udt_name
  from information_schema.domains where domain_schema <> 'information_schema' order by 1, 2;
select domain_name, constraint_name from information_schema.domain_constraints
  where domain_schema <> 'information_schema' order by 1, 2;
select column_name, data_type, domain_schema, domain_name, udt_name from information_schema.columns
  where table_name = 'orders' order by ordinal_position;
select domain_name, table_name, column_name from information_schema.column_domain_usage
  where table_name in ('orders', 'moods', 'evens') order by 1, 2, 3;
comment on domain posint is 'more than nothing';
select obj_description('posint'::regtype, 'pg_type');
select 'posint'::regtype, 'other.address'::regtype;

-- Dropping.
drop view shown;
drop table filled;
drop domain posint;
drop domain code;
drop type evened cascade;
drop domain posint cascade;
select column_name from information_schema.columns where table_name = 'orders' order by ordinal_position;

-- Savepoints.
begin;
create domain tiny as int check (value < 10);
create table tinies (t tiny);
insert into tinies values (5);
savepoint s;
alter domain tiny drop constraint tiny_check;
insert into tinies values (50);
rollback to s;
insert into tinies values (50);
rollback;
select 5::tiny;

-- what rows get
create table g (a int primary key,
  b int generated always as (a * 2) stored, c text);
insert into g values (1), (2, default, 'two');
insert into g (a, c) values (3, 'three') returning *;
insert into g values (4, 5);
insert into g values (4, default), (5, 6);
insert into g (a, b) select 7, 8;
insert into g overriding user value values (9, 9);
insert into g select 6;
select * from g order by a;
update g set a = 10 where a = 1 returning *;
update g set b = default where a = 2 returning *;
update g set b = 3 where a = 2;
update g set (a, c) = (20, 'zwanzig') where a = 2
returning *;
update g set c = 'x' where b = 40 returning *;
insert into g values (20) on conflict (a)
do update set a = excluded.a + 1 returning *;
insert into g values (2000000000);
select * from g where b = 42;
select sum(b) from g;
delete from g where b > 40 returning *;
table g order by a;
-- catalog
select attname, attgenerated, atthasdef from pg_attribute
where attrelid = 'g'::regclass and attnum > 0;
select pg_get_expr(adbin, adrelid) from pg_attrdef
where adrelid = 'g'::regclass;
select column_name, column_default, is_generated,
  generation_expression
from information_schema.columns where table_name = 'g'
order by ordinal_position;
-- with other constraints
create table h (a int, b int generated always as (a + 1)
  stored not null check (b < 10) unique);
insert into h values (1), (2);
insert into h values (1);
insert into h values (null);
insert into h values (9);
update h set a = 2 where a = 1;
update h set a = 12 where a = 1;
create index on h (b);
select a from h where b = 3;
table h order by a;
-- refused
create table e (a int, b int generated always as (b * 2)
  stored);
create table e (a int,
  b int generated always as (a * 2) stored,
  c int generated always as (b * 3) stored);
create table e (a int,
  b int generated always as (d * 2) stored);
create table e (a int,
  b float8 generated always as (random()) stored);
create table e (a int,
  b timestamptz generated always as (now()) stored);
create table e (a text,
  b date generated always as (a::date) stored);
create table e (a timestamptz,
  b text generated always as (a::text) stored);
create table e (a int, b int default 5
  generated always as (a * 2) stored);
create table e (a int,
  b int generated always as (avg(a)) stored);
create table e (a int, b int
  generated always as ((select a)) stored);
create table e (a int, b int
  generated always as (generate_series(1, a)) stored);
create table e (a int,
  b boolean generated always as (a * 2) stored);
-- text, arrays, nulls
create table n (first text, last text, full_name text
  generated always as (first || ' ' || last) stored,
  tags text[], one text
  generated always as (tags[1]) stored);
insert into n values ('Ada', 'Lovelace'), ('Bob', null);
update n set tags = '{a,b}' where first = 'Ada';
update n set first = upper(first) where last is null
returning *;
-- ALTER TABLE
create table t (a int primary key);
insert into t values (1), (2);
alter table t add column b int
  generated always as (a * 10) stored;
table t;
alter table t add column d int
  generated always as (b) stored;
alter table t add column d int not null
  generated always as (nullif(a, 1)) stored;
alter table t rename a to key;
insert into t values (3) returning *;
alter table t alter b set default 3;
alter table t alter b drop default;
alter table t alter key type bigint;
alter table t alter b type bigint using b + 1;
alter table t alter b type bigint;
insert into t values (4) returning *;
alter table t add check (b < 50);
insert into t values (5) returning *;
alter table t add c int;
alter table t drop column key;
alter table t drop column key cascade;
insert into t default values;
table t;
-- foreign keys
create table p (a int primary key);
create table f (x int,
  y int generated always as (x * 2) stored references p);
insert into p values (2), (4);
insert into f values (1);
insert into f values (3);
update f set x = 2;
update f set x = 3;
delete from p where a = 4;
create table f2 (x int references p on update cascade,
  y int generated always as (x * 2) stored);
insert into f2 values (2);
update p set a = 7 where a = 2;
table f2;
-- views and functions
create view v as select a, b from g;
insert into v values (50) returning *;
insert into v values (51, 3);
update v set a = 60 where a = 50;
select * from v where b = 120;
create function add_g(key int) returns int as $$
declare found int;
begin
  insert into g (a) values (key) returning b into found;
  update g set a = a + 1 where a = key
  returning b into found;
  return found;
end $$ language plpgsql;
select add_g(70);
select * from g where a = 71;

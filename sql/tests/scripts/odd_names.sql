-- Types of arrays by their own names, and constraints that are no arbiters.
select cast(null as _text), array[1, 2]::_int4, '{t,f}'::_bool, pg_typeof('{a}'::pg_catalog._varchar), pg_typeof(null::_timestamptz);
create table arrays (a _int8, b _numeric, c "_text", d _uuid);
insert into arrays values ('{1,2}', '{1.5}', '{x}', null) returning *;
select null::_integer;
select null::__int4;
select null::_nothing;
create table parent (id int primary key);
create table child (id int unique, parent int constraint to_parent references parent, x int constraint positive check (x > 0));
insert into parent values (1);
insert into child values (1, 1, 1) on conflict on constraint to_parent do nothing;
insert into child values (1, 1, 1) on conflict on constraint positive do nothing;
insert into child values (1, 1, 1) on conflict on constraint nothing do nothing;
insert into child values (1, 1, 1) on conflict on constraint child_id_key do nothing;
insert into child values (1, 1, 1) on conflict on constraint child_id_key do update set x = 2 returning *;
drop table arrays, child, parent;

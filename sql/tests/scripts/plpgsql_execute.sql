-- EXECUTE: statements that are known only when they run.
create table ex (a int primary key, b text);
create procedure ex_fill(n int) language plpgsql as $$
begin
  for i in 1..n loop
    execute 'insert into ex values ($1, $2)' using i, 'row ' || i;
  end loop;
end $$;
call ex_fill(5);
select * from ex order by a;
create function ex_count(name text) returns bigint language plpgsql as $$
declare c bigint;
begin
  execute 'select count(*) from ' || quote_ident(name) into c;
  return c;
end $$;
select ex_count('ex');
select ex_count('nosuch');
select ex_count('x y');
create function ex_get(k int) returns text language plpgsql as $$
declare x text; y int := 7; n bigint;
begin
  execute 'select b, a from ex where a = $1' into x, y using k;
  get diagnostics n = row_count;
  return concat_ws('|', coalesce(x, 'null'), coalesce(y, -1), n, found);
end $$;
select ex_get(2), ex_get(99);
create function ex_strict(k int) returns text language plpgsql as $$
declare x text;
begin
  execute 'select b from ex where a >= $1' into strict x using k;
  return x;
end $$;
select ex_strict(5);
select ex_strict(6);
select ex_strict(1);
create function ex_row() returns text language plpgsql as $$
declare r ex%rowtype;
begin
  execute 'select * from ex order by a desc' into r;
  return r.a || ' ' || r.b;
end $$;
select ex_row();
create function ex_loop(cond text) returns text language plpgsql as $$
declare x int; y text; s text := '';
begin
  for x, y in execute 'select a, b from ex where ' || cond || ' order by a' loop
    s := s || x || ':' || y || ' ';
    exit when x = 4;
  end loop;
  return s || found;
end $$;
select ex_loop('a > 1'), ex_loop('a > 100');
select ex_loop('a > )');
create function ex_set(k int) returns setof ex language plpgsql as $$
begin
  return query execute 'select * from ex where a > $1 order by a' using k;
  return query execute 'select a * 10, b from ex where a = 1';
end $$;
select * from ex_set(3);
create function ex_wrong() returns setof int language plpgsql as $$
begin
  return query execute 'select b from ex';
end $$;
select * from ex_wrong();
create procedure ex_change(inout n bigint) language plpgsql as $$
declare x text;
begin
  execute 'update ex set b = b || $1 where a > $2' using '!', 3;
  get diagnostics n = row_count;
  execute 'delete from ex where a = 1 returning b' into x;
  raise notice '% %', n, x;
  execute 'select 1/(a - a) from ex where a < 0';
  execute 'select a from ex';
end $$;
call ex_change(0);
select * from ex order by a;
create procedure ex_error() language plpgsql as $$
begin
  execute 'insert into ex values (2, $1)' using 'again';
exception when unique_violation then
  raise notice 'caught %', sqlerrm;
end $$;
call ex_error();
create procedure ex_bad(t text) language plpgsql as $$
begin
  execute t;
end $$;
call ex_bad(null);
call ex_bad('select 1/0');
call ex_bad('selec 1');
call ex_bad('commit');
call ex_bad('savepoint s');
call ex_bad('select $1');
call ex_bad('select t');
call ex_bad('insert into ex values (2, null)');
create function ex_into() returns int language plpgsql as $$
declare x int;
begin
  execute 'update ex set b = b' into x;
  return x;
end $$;
select ex_into();
create function ex_types() returns text language plpgsql as $$
declare a numeric(10, 2); b text; c date; d int;
begin
  execute 'select ''1.236'', 17, ''2024-02-03'', 3.6' into a, b, c, d;
  return a || ' ' || b || ' ' || c || ' ' || d;
end $$;
select ex_types();
create function ex_cast() returns int language plpgsql as $$
declare d int;
begin
  execute 'select ''x''' into d;
  return d;
end $$;
select ex_cast();
do $$ declare s text; begin execute 'select max(b) from ex' into s; raise notice '%', s; end $$;
select a, ex_get(a) from ex order by a;
begin isolation level repeatable read;
select ex_count('ex');
call ex_fill(1);
select ex_count('ex');
rollback;
create function ex_nested(depth int) returns int language plpgsql as $$
declare r int;
begin
  if depth = 0 then return 0; end if;
  execute 'select ex_nested($1)' into r using depth - 1;
  return r + 1;
end $$;
select ex_nested(4);
drop function ex_nested, ex_cast, ex_types, ex_into, ex_wrong, ex_set, ex_loop, ex_row, ex_strict, ex_get, ex_count;
drop procedure ex_bad, ex_error, ex_change, ex_fill;
drop table ex;

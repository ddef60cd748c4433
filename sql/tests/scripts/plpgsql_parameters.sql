-- Parameters, defaults, overloads, calls, DROP and REPLACE.
create procedure one_out(a int, out b int) language plpgsql as $$ begin b := a * 2; end $$;
call one_out(4, null);
call one_out(4);

create procedure inout_two(inout a int, inout b text) language plpgsql as $$
begin
    a := a + 1;
    b := b || a;
end
$$;
call inout_two(1, 'x');
call inout_two(null, null);

create procedure no_results(a int) language plpgsql as $$ begin perform a; end $$;
call no_results(1);

create procedure with_defaults(a int, b int default 10, c text default 'c' || 'd') language plpgsql as $$
begin
    raise notice 'a=% b=% c=%', a, b, c;
end
$$;
call with_defaults(1);
call with_defaults(1, 2);
call with_defaults(1, 2, 'three');
call with_defaults(1, c => 'named');
call with_defaults(c => 'named', a => 5);
call with_defaults(b := 3, a := 4);
call with_defaults();
call with_defaults(1, 2, 'x', 4);
call with_defaults(1, d => 4);
call with_defaults(1, a => 4);
call with_defaults(c => 'x', 1);

create function default_function(a int, b int default 2) returns int language plpgsql as $$ begin return a * 10 + b; end $$;
select default_function(1), default_function(1, 5), default_function(b => 7, a => 3), default_function(4, b => 9);
select default_function(b => 1);

create procedure default_then_none(a int default 1, b int) language plpgsql as $$ begin null; end $$;

create function overloaded(a int) returns text language plpgsql as $$ begin return 'int'; end $$;
create function overloaded(a text) returns text language plpgsql as $$ begin return 'text'; end $$;
create function overloaded(a numeric) returns text language plpgsql as $$ begin return 'numeric'; end $$;
create function overloaded(a int, b int) returns text language plpgsql as $$ begin return 'two'; end $$;
select overloaded(1), overloaded('x'), overloaded(1.5), overloaded(1, 2), overloaded('x'::varchar);
select overloaded(1::smallint);
select overloaded(true);
select overloaded(1, 'x'::text);

call nothing_there(1);
call nothing_there(1, 'x', null, 1.5);
call no_results('x'::text);
call no_results();
call no_results(1, 2);
call default_function(1);
select no_results(1);
select nothing_there(1);
call one_out('x');

create procedure widening(a bigint, b numeric, c double precision) language plpgsql as $$
begin
    raise notice '% % %', a, b, c;
end
$$;
call widening(1, 2, 3);
call widening('4', '5.5', '6');
call widening(1.5, 2, 3);

create procedure nested_out(inout total int, n int) language plpgsql as $$
declare
    x int;
begin
    for i in 1..n loop
        call one_out(i, x);
        total := total + x;
    end loop;
end
$$;
call nested_out(0, 4);

create procedure recursive_procedure(n int, inout s text) language plpgsql as $$
begin
    if n > 0 then
        s := s || n;
        call recursive_procedure(n - 1, s);
    end if;
end
$$;
call recursive_procedure(5, '>');

create function two_out(a int, out b int, out c text) language plpgsql as $$
begin
    b := a + 1;
    c := 'c' || a;
end
$$;
select * from two_out(3);
select b, c from two_out(4);

create function single_out(a int, out b int) language plpgsql as $$ begin b := a + 1; end $$;
select single_out(3);
select * from single_out(3);

create function inout_function(inout a int) language plpgsql as $$ begin a := a * 3; return; end $$;
select inout_function(5);

create function replaced(a int) returns text language plpgsql as $$ begin return 'old'; end $$;
select replaced(1);
create function replaced(a int) returns text language plpgsql as $$ begin return 'again'; end $$;
create or replace function replaced(a int) returns text language plpgsql as $$ begin return 'new ' || a; end $$;
select replaced(1);
create or replace function replaced(a int) returns int language plpgsql as $$ begin return 1; end $$;
create or replace function replaced(b int) returns text language plpgsql as $$ begin return 'renamed ' || b; end $$;
create or replace procedure replaced(a int) language plpgsql as $$ begin null; end $$;
drop function replaced(text);
drop function replaced(int);
select replaced(1);
drop function replaced(int);
drop procedure replaced;
drop function overloaded;
drop function overloaded(int, int);
drop function overloaded(int);
select overloaded(1);
drop procedure overloaded(text);
drop function no_results(int);
drop procedure no_results(int), with_defaults;
call no_results(1);
drop routine widening;

create function helper(a int) returns text language plpgsql as $$ begin return 'one'; end $$;
create or replace function helper(a int) returns text language plpgsql as $$ begin return 'two'; end $$;
drop function helper(int);

create table p (id int primary key, v text);

create procedure uses_table(n int) language plpgsql as $$
begin
    insert into p values (n, 'v' || n);
end
$$;
call uses_table(1);
drop table p;
call uses_table(2);
create table p (id int primary key, v text, w int default 7);
call uses_table(3);
select * from p;

create function same_name_twice(a int, a int) returns int language plpgsql as $$ begin return 1; end $$;
create function returns_missing(a int) returns nothing language plpgsql as $$ begin return 1; end $$;

begin;
create procedure short_lived() language plpgsql as $$ begin raise notice 'here'; end $$;
call short_lived();
rollback;
call short_lived();

begin;
call nested_out(5, 3);
call nested_out(6, 3);
commit;

create procedure arrays(a int[], b text[], inout c bigint) language plpgsql as $$
begin
    c := c + a[1] + coalesce(array_length(b, 1), 0);
end
$$;
call arrays('{5,6}', array['x', 'y'], 100);
call arrays(array[1], '{}', 1);
call arrays('{a}', '{}', 1);

create function unbounded(n int) returns int language plpgsql as $$ begin return unbounded(n + 1); end $$;
create procedure type_casts(a smallint, b varchar(3), c char(2), d boolean, e date, f timestamp, g uuid) language plpgsql as $$
begin
    raise notice '% % % % % % %', a, b, c, d, e, f, g;
end
$$;
call type_casts('1', 'abcdef', 'xyz', 'yes', '2024-01-31', '2024-01-31 10:00', '00000000-0000-0000-0000-000000000001');
call type_casts(1::smallint, 'a', 'b', true, '2024-13-31', '2024-01-31 10:00', '00000000-0000-0000-0000-000000000001');

-- Arrays that begin with another subscript than 1.
create function f(i int) returns int[] language plpgsql as $$ declare y int[]; begin y[i] := 5; return y; end $$;
select f(1);
select f(2);
select f(0);
select f(-1);
select f(null);
select f(2000000000);
create function g(i int, inout y int[]) language plpgsql as $$ begin y[i] := 5; end $$;
select g(1, '{}');
select g(2, '{}');
select g(1, null);
select g(3, null);
select g(4, '{1,2}');
select g(0, '{1,2}');
create function h() returns text[] language plpgsql as $$ declare x text[] := '{}'; begin x[1] := 'a'; x[3] := 'c'; return x; end $$;
select h();
create function k() returns text[] language plpgsql as $$ declare x text[]; begin x[3] := 'c'; x[1] := 'a'; return x; end $$;
select k();

-- What expressions, variables and assignments in a body give.
create function add_ints(a int, b int) returns int language plpgsql as $$ begin return a + b; end $$;
select add_ints(1, 2);
select add_ints(2147483647, 1);
select add_ints(null, 1);

create function divide(a int, b int) returns int language plpgsql as $$
begin
    return a / b;
end
$$;
select divide(7, 2), divide(-7, 2);
select divide(1, 0);

create function modulo_of(a bigint, b bigint) returns bigint language plpgsql as $$
declare
    r bigint;
begin
    r := a % b;
    return r;
end
$$;
select modulo_of(7, 3), modulo_of(-7, 3);
select modulo_of(7, 0);

create function narrow(a bigint) returns smallint language plpgsql as $$
declare
    s smallint;
begin
    s := a;
    return s;
end
$$;
select narrow(12), narrow(-32768);
select narrow(40000);

create function text_to_int(t text) returns int language plpgsql as $$
declare
    i int;
begin
    i := t;
    return i + 1;
end
$$;
select text_to_int('41'), text_to_int(' 7 ');
select text_to_int('x');
select text_to_int('');

create function int_to_text(i int) returns text language plpgsql as $$
declare
    t text := i;
begin
    return t || '!';
end
$$;
select int_to_text(-5), int_to_text(null);

create function rounding(n numeric) returns int language plpgsql as $$
declare
    i int := n;
begin
    return i;
end
$$;
select rounding(2.5), rounding(-2.5), rounding(3.49);
select rounding(1e12);

create function float_to_int(n double precision) returns int language plpgsql as $$
begin
    return n;
end
$$;
select float_to_int(2.5), float_to_int(3.5), float_to_int(-0.4);
select float_to_int(1e20);

create function scale_of(n numeric) returns numeric language plpgsql as $$
declare
    money numeric(8,2);
begin
    money := n;
    return money;
end
$$;
select scale_of(1.005), scale_of(99.999), scale_of(-0.001);
select scale_of(1234567.891);

create function short_text(t text) returns text language plpgsql as $$
declare
    v varchar(5);
begin
    v := t;
    return '[' || v || ']';
end
$$;
select short_text('abc'), short_text('abcde   ');
select short_text('abcdefg');

create function blank_padded(t text) returns text language plpgsql as $$
declare
    c char(5) := t;
begin
    return '[' || c || ']' || length(c);
end
$$;
select blank_padded('ab'), blank_padded('');
select blank_padded('abcdef');

create function char_compare(t text) returns boolean language plpgsql as $$
declare
    c char(5) := t;
begin
    return c = 'ab';
end
$$;
select char_compare('ab'), char_compare('ab  '), char_compare('abc');

create function shadow(x int) returns text language plpgsql as $$
<<outside>>
declare
    x int := 10;
    answer text;
begin
    declare
        x int := 100;
    begin
        answer := x || ' ' || outside.x || ' ' || shadow.x;
    end;
    return answer || ' ' || x;
end
$$;
select shadow(1);

create function defaults_depend(a int) returns int language plpgsql as $$
declare
    b int := a * 2;
    c int default b + 1;
    d constant int := c;
begin
    return d;
end
$$;
select defaults_depend(4);

create function inner_block_again(n int) returns text language plpgsql as $$
declare
    answer text := '';
begin
    for i in 1..n loop
        declare
            local int;
            started int := i * 10;
        begin
            answer := answer || coalesce(local, -1) || ',' || started || ';';
            local := i;
        end;
    end loop;
    return answer;
end
$$;
select inner_block_again(3);

create function not_null_variable(a int) returns int language plpgsql as $$
declare
    b int not null := 1;
begin
    b := a;
    return b;
end
$$;
select not_null_variable(5);
select not_null_variable(null);

create function not_null_default(a int) returns int language plpgsql as $$
declare
    b int not null := a;
begin
    return b;
end
$$;
select not_null_default(5);
select not_null_default(null);

create function logic(a boolean, b boolean) returns text language plpgsql as $$
begin
    return coalesce((a and b)::text, 'null') || ' ' || coalesce((a or b)::text, 'null') || ' ' || coalesce((not a)::text, 'null');
end
$$;
select logic(true, null), logic(false, null), logic(null, null), logic(true, false);

create function if_null(a boolean) returns text language plpgsql as $$
begin
    if a then
        return 'true';
    elsif not a then
        return 'false';
    else
        return 'null';
    end if;
end
$$;
select if_null(true), if_null(false), if_null(null);

create function short_circuit(a int) returns boolean language plpgsql as $$
begin
    return a = 0 or 10 / a > 2;
end
$$;
select short_circuit(0), short_circuit(3), short_circuit(5);

create function case_expression(a int) returns text language plpgsql as $$
begin
    return case when a < 0 then 'negative' when a = 0 then 'zero' else 'positive' end || case a when 1 then '!' else '' end;
end
$$;
select case_expression(-1), case_expression(0), case_expression(1), case_expression(null);

create function strings(a text, b text) returns text language plpgsql as $$
begin
    return upper(a) || '-' || substr(b, 2, 3) || '-' || length(a || b) || '-' || replace(a, 'l', 'L') || '-' || repeat(b, 2) || '-' || left(a, 2) || right(b, 2) || '-' || position('l' in a) || '-' || trim('  x ') || lpad(a, 7, '*') || rpad(a, 7, '+');
end
$$;
select strings('hello', 'world');
select strings(null, 'world');

create function like_it(a text) returns boolean language plpgsql as $$
begin
    return a like 'a%b_' or a ilike '%ZZ%';
end
$$;
select like_it('axxbq'), like_it('ab'), like_it('fuzzy');

create function between_and_in(a int) returns text language plpgsql as $$
begin
    if a between 3 and 5 then
        return 'between';
    elsif a in (7, 9, 11) then
        return 'in';
    elsif a not in (1, 2) then
        return 'not in';
    end if;
    return 'else';
end
$$;
select between_and_in(4), between_and_in(9), between_and_in(100), between_and_in(1);

create function distinctness(a int, b int) returns text language plpgsql as $$
begin
    return (a is distinct from b)::text || (a is null)::text || (b is not null)::text;
end
$$;
select distinctness(1, 1), distinctness(1, null), distinctness(null, null);

create function big_numbers() returns numeric language plpgsql as $$
declare
    n numeric := 1;
begin
    for i in 1..25 loop
        n := n * i;
    end loop;
    return n;
end
$$;
select big_numbers();

create function powers(a double precision, n numeric) returns text language plpgsql as $$
begin
    return a ^ 2 || ' ' || n ^ 2 || ' ' || sqrt(a) || ' ' || round(n, 1) || ' ' || abs(-n) || ' ' || ceil(n) || ' ' || floor(n) || ' ' || trunc(n) || ' ' || sign(-n) || ' ' || mod(7, 4) || ' ' || greatest(1, 3, 2) || ' ' || least(1, 3, 2);
end
$$;
select powers(2.25, 3.14);

create function overflow_bigint(a bigint) returns bigint language plpgsql as $$
begin
    return a * 10;
end
$$;
select overflow_bigint(922337203685477580);
select overflow_bigint(922337203685477581);

create function integer_negation(a int) returns int language plpgsql as $$ begin return -a; end $$;
select integer_negation(5);
select integer_negation(-2147483648);

create function bits(a int, b int) returns text language plpgsql as $$
begin
    return (a & b) || ' ' || (a | b) || ' ' || (a # b) || ' ' || (~a) || ' ' || (a << 2) || ' ' || (a >> 1);
end
$$;
select bits(12, 10), bits(-1, 7);

create function dates(d date, n int) returns text language plpgsql as $$
declare
    later date := d + n;
    days int := later - d;
begin
    return later || ' ' || days || ' ' || extract(year from later) || ' ' || (later > d);
end
$$;
select dates('2024-02-28', 2), dates('2023-12-31', 1);

create function stamps(t timestamp) returns text language plpgsql as $$
declare
    d date := t;
begin
    return d || ' ' || date_trunc('hour', t) || ' ' || extract(minute from t);
end
$$;
select stamps('2024-05-06 07:08:09.5');

create function assign_from_self(a int) returns int language plpgsql as $$
begin
    a := a + 1;
    a := a * a;
    return a;
end
$$;
select assign_from_self(3);

create function equal_sign_assigns() returns int language plpgsql as $$
declare
    a int = 3;
begin
    a = a + 4;
    return a;
end
$$;
select equal_sign_assigns();

create function positional(int, text) returns text language plpgsql as $$
declare
    n alias for $1;
begin
    return n || $2;
end
$$;
select positional(3, 'x');

create function array_sum(a int[]) returns bigint language plpgsql as $$
declare
    s bigint := 0;
begin
    for i in 1 .. array_length(a, 1) loop
        s := s + a[i];
    end loop;
    return s;
end
$$;
select array_sum('{1,2,3}'), array_sum(array[4,5]);
select array_sum('{}');

create function array_outside(a text[]) returns text language plpgsql as $$
begin
    return coalesce(a[0], 'none') || coalesce(a[1], 'none') || coalesce(a[99], 'none') || array_length(a, 1) || cardinality(a);
end
$$;
select array_outside('{x,y}'), array_outside(array['q']);

create function array_build(n int) returns int[] language plpgsql as $$
declare
    a int[] := '{}';
begin
    for i in 1..n loop
        a[i] := i * i;
    end loop;
    return a;
end
$$;
select array_build(4), array_build(0);

create function array_hole() returns text[] language plpgsql as $$
declare
    a text[];
begin
    a[1] := 'a';
    a[3] := 'c';
    return a;
end
$$;
select array_hole();

create function array_append_it(a bigint[], b bigint) returns bigint[] language plpgsql as $$
begin
    return array_append(a, b) || 7::bigint;
end
$$;
select array_append_it('{1,2}', 3);

create function array_of_numeric(a numeric[]) returns numeric language plpgsql as $$
declare
    best numeric := a[1];
    x numeric;
begin
    foreach x in array a loop
        if x > best then
            best := x;
        end if;
    end loop;
    return best;
end
$$;
select array_of_numeric('{1.5,2.25,-3}');
select array_of_numeric(null);

create function array_with_nulls(a int[]) returns int language plpgsql as $$
declare
    x int;
    nulls int := 0;
begin
    foreach x in array a loop
        if x is null then
            nulls := nulls + 1;
        end if;
    end loop;
    return nulls;
end
$$;
select array_with_nulls('{1,null,3,null}');

create function any_of(a int, b int[]) returns boolean language plpgsql as $$
begin
    return a = any(b);
end
$$;
select any_of(2, '{1,2,3}'), any_of(9, '{1,2,3}'), any_of(9, '{1,null}');

create function missing_return(a int) returns int language plpgsql as $$
begin
    if a > 0 then
        return 1;
    end if;
end
$$;
select missing_return(1);
select missing_return(0);

create function strict_function(a int, b int) returns int language plpgsql strict as $$
begin
    return coalesce(a, 1) + coalesce(b, 1);
end
$$;
select strict_function(1, 2), strict_function(1, null), strict_function(null, null);

create function nested_calls(a int) returns int language plpgsql as $$
begin
    return add_ints(add_ints(a, 1), divide(a * 10, 3)) + strict_function(a, a);
end
$$;
select nested_calls(5);

create function called_in_where(a int) returns boolean language plpgsql as $$ begin return a % 2 = 0; end $$;
create table numbers (n int primary key, word text);
insert into numbers values (1, 'one'), (2, 'two'), (3, 'three'), (4, 'four');
select n, word, add_ints(n, 10) from numbers where called_in_where(n) order by n;
select sum(add_ints(n, 1)) from numbers;
update numbers set word = word || add_ints(n, 0) where called_in_where(n + 1);
select * from numbers order by n;
insert into numbers values (add_ints(2, 3), int_to_text(5));
delete from numbers where called_in_where(n) returning n, add_ints(n, n);

create function fact_of(n bigint) returns bigint language plpgsql as $$
begin
    if n <= 1 then
        return 1;
    end if;
    return n * fact_of(n - 1);
end
$$;
select fact_of(10), fact_of(20);
select fact_of(21);

create function fibonacci(n int) returns int language plpgsql as $$
begin
    return case when n < 2 then n else fibonacci(n - 1) + fibonacci(n - 2) end;
end
$$;
select fibonacci(12);

create function gcd_of(a int, b int) returns int language plpgsql as $$
declare
    t int;
begin
    while b <> 0 loop
        t := b;
        b := a % b;
        a := t;
    end loop;
    return a;
end
$$;
select gcd_of(48, 36), gcd_of(17, 5);

create function is_prime(n int) returns boolean language plpgsql as $$
begin
    if n < 2 then
        return false;
    end if;
    for i in 2 .. n - 1 loop
        exit when i * i > n;
        if n % i = 0 then
            return false;
        end if;
    end loop;
    return true;
end
$$;
select is_prime(97), is_prime(91), is_prime(1);

create function collatz(n bigint) returns int language plpgsql as $$
declare
    steps int := 0;
begin
    while n <> 1 loop
        n := case when n % 2 = 0 then n / 2 else 3 * n + 1 end;
        steps := steps + 1;
    end loop;
    return steps;
end
$$;
select collatz(27);

create function reverse_text(t text) returns text language plpgsql as $$
declare
    r text := '';
begin
    for i in reverse length(t) .. 1 loop
        r := r || substr(t, i, 1);
    end loop;
    return r;
end
$$;
select reverse_text('abcdef'), reverse_text('');

-- IF, CASE, loops, labels, EXIT and CONTINUE.
create function count_up(n int) returns text language plpgsql as $$
declare
    t text := '';
begin
    for i in 1..n loop
        t := t || i || ' ';
    end loop;
    return t;
end
$$;
select count_up(5), count_up(0), count_up(-3);
select count_up(null);

create function count_down(n int) returns text language plpgsql as $$
declare
    t text := '';
begin
    for i in reverse n..1 by 2 loop
        t := t || i || ' ';
    end loop;
    return t;
end
$$;
select count_down(7), count_down(0);

create function by_step(a int, b int, s int) returns text language plpgsql as $$
declare
    t text := '';
begin
    for i in a..b by s loop
        t := t || i || ' ';
    end loop;
    return t;
end
$$;
select by_step(1, 10, 3), by_step(1, 1, 5);
select by_step(1, 10, 0);
select by_step(1, 10, -1);
select by_step(1, 10, null);
select by_step(null, 10, 1);

create function loop_at_the_end() returns int language plpgsql as $$
declare
    n int := 0;
begin
    for i in 2147483640 .. 2147483647 loop
        n := n + 1;
    end loop;
    return n;
end
$$;
select loop_at_the_end();

create function change_loop_variable() returns text language plpgsql as $$
declare
    t text := '';
begin
    for i in 1..3 loop
        i := i * 10;
        t := t || i || ' ';
    end loop;
    return t;
end
$$;
select change_loop_variable();

create function loop_variable_hides() returns text language plpgsql as $$
declare
    i int := 77;
    t text := '';
begin
    for i in 1..2 loop
        t := t || i || ' ';
    end loop;
    return t || i;
end
$$;
select loop_variable_hides();

create function bounds_once(n int) returns int language plpgsql as $$
declare
    c int := 0;
begin
    for i in 1..n loop
        n := n + 1;
        c := c + 1;
    end loop;
    return c * 100 + n;
end
$$;
select bounds_once(4);

create function exit_label() returns text language plpgsql as $$
declare
    t text := '';
begin
    <<outer_loop>>
    for i in 1..5 loop
        <<inner_loop>>
        for j in 1..5 loop
            continue outer_loop when j > i;
            exit outer_loop when i * j > 12;
            continue when j = 2;
            t := t || i || j || ' ';
        end loop inner_loop;
    end loop outer_loop;
    return t;
end
$$;
select exit_label();

create function exit_block(a int) returns text language plpgsql as $$
begin
    <<guarded>>
    begin
        if a > 5 then
            exit guarded;
        end if;
        return 'small';
    end guarded;
    return 'large';
end
$$;
select exit_block(1), exit_block(9);

create function plain_loop(n int) returns int language plpgsql as $$
declare
    i int := 0;
begin
    loop
        i := i + 1;
        if i % 2 = 0 then
            continue;
        end if;
        exit when i > n;
    end loop;
    return i;
end
$$;
select plain_loop(10), plain_loop(-1);

create function while_loop(n int) returns int language plpgsql as $$
declare
    s int := 0;
begin
    <<w>>
    while n > 0 loop
        n := n - 1;
        continue w when n % 3 = 0;
        s := s + n;
    end loop w;
    return s;
end
$$;
select while_loop(10), while_loop(0), while_loop(null);

create function case_statement(a int) returns text language plpgsql as $$
begin
    case a
        when 1 then
            return 'one';
        when 2, 3 then
            return 'two or three';
        when 4 + 1 then
            return 'five';
        else
            return 'other';
    end case;
end
$$;
select case_statement(1), case_statement(3), case_statement(5), case_statement(6), case_statement(null);

create function case_without_else(a int) returns text language plpgsql as $$
declare
    t text := 'none';
begin
    case a
        when 1 then
            t := 'one';
        when 2 then
            t := 'two';
    end case;
    return t;
end
$$;
select case_without_else(2);
select case_without_else(3);
select case_without_else(null);

create function searched_case(a int, b text) returns text language plpgsql as $$
begin
    case
        when a is null then
            return 'null';
        when a > 10 and b like 'x%' then
            return 'both';
        when a > 10 then
            return 'large';
        else
            null;
    end case;
    return 'fell through';
end
$$;
select searched_case(null, 'x'), searched_case(11, 'xy'), searched_case(11, 'y'), searched_case(1, 'x');

create function searched_case_missing(a int) returns text language plpgsql as $$
begin
    case when a = 1 then return 'one'; end case;
end
$$;
select searched_case_missing(1);
select searched_case_missing(2);

create function case_text(t text) returns int language plpgsql as $$
begin
    case upper(t)
        when 'A' then return 1;
        when 'B' || 'C' then return 2;
    else
        return 0;
    end case;
end
$$;
select case_text('a'), case_text('bc'), case_text('z');

create function else_ifs(a int) returns text language plpgsql as $$
begin
    if a < 0 then
        if a < -10 then
            return 'very negative';
        end if;
        return 'negative';
    elseif a = 0 then
        return 'zero';
    elsif a < 10 then
        return 'small';
    else
        return 'large';
    end if;
end
$$;
select else_ifs(-20), else_ifs(-1), else_ifs(0), else_ifs(5), else_ifs(50), else_ifs(null);

create function foreach_exit(a text[]) returns text language plpgsql as $$
declare
    x text;
    t text := '';
begin
    foreach x in array a loop
        exit when x = 'stop';
        continue when x is null;
        t := t || x;
    end loop;
    return t || '/' || coalesce(x, 'null');
end
$$;
select foreach_exit('{a,b,null,c}'), foreach_exit('{a,stop,b}'), foreach_exit('{}');
select foreach_exit(null);

create function found_after_for(n int) returns text language plpgsql as $$
declare
    t text;
begin
    for i in 1..n loop
        null;
    end loop;
    t := found::text;
    return t;
end
$$;
select found_after_for(0), found_after_for(1);

create function return_in_loop() returns int language plpgsql as $$
begin
    for i in 1..10 loop
        for j in 1..10 loop
            if i * j = 42 then
                return i * 100 + j;
            end if;
        end loop;
    end loop;
    return -1;
end
$$;
select return_in_loop();

create function null_statement() returns int language plpgsql as $$ begin null; null; return 1; end; $$;
select null_statement();

create function comments() returns int language plpgsql as $$
-- a comment
declare
    /* another /* nested */ one */
    a int := 1; -- at the end
begin
    a := a /* in between */ + 1;
    -- return 5;
    return a;
end
$$;
select comments();

create function quoted_names() returns int language plpgsql as $$
declare
    "Mixed Case" int := 3;
    "select" int := 4;
begin
    "Mixed Case" := "Mixed Case" * "select";
    return "Mixed Case";
end
$$;
select quoted_names();

create function keyword_variables() returns int language plpgsql as $$
declare
    count int := 1;
    name int := 2;
    type int := 3;
    value int := 4;
begin
    return count + name + type + value;
end
$$;
select keyword_variables();

create function deep_nesting(n int) returns int language plpgsql as $$
declare
    s int := 0;
begin
    for a in 1..n loop
        for b in a..n loop
            for c in b..n loop
                if a + b > c then
                    if a <> b then
                        begin
                            s := s + 1;
                        end;
                    end if;
                end if;
            end loop;
        end loop;
    end loop;
    return s;
end
$$;
select deep_nesting(6);

create function bubble_sort(a int[]) returns int[] language plpgsql as $$
declare
    n int := array_length(a, 1);
    t int;
    swapped boolean := true;
begin
    while swapped loop
        swapped := false;
        for i in 1 .. n - 1 loop
            if a[i] > a[i + 1] then
                t := a[i];
                a[i] := a[i + 1];
                a[i + 1] := t;
                swapped := true;
            end if;
        end loop;
    end loop;
    return a;
end
$$;
select bubble_sort('{5,3,9,-1,0,3}');

create function sieve(n int) returns int language plpgsql as $$
declare
    marked boolean[];
    primes int := 0;
    j int;
begin
    for i in 1..n loop
        marked[i] := false;
    end loop;
    for i in 2..n loop
        if not marked[i] then
            primes := primes + 1;
            j := i * 2;
            while j <= n loop
                marked[j] := true;
                j := j + i;
            end loop;
        end if;
    end loop;
    return primes;
end
$$;
select sieve(100);

create function roman(n int) returns text language plpgsql as $$
declare
    numbers int[] := array[1000,900,500,400,100,90,50,40,10,9,5,4,1];
    letters text[] := array['M','CM','D','CD','C','XC','L','XL','X','IX','V','IV','I'];
    answer text := '';
begin
    for i in 1 .. array_length(numbers, 1) loop
        while n >= numbers[i] loop
            answer := answer || letters[i];
            n := n - numbers[i];
        end loop;
    end loop;
    return answer;
end
$$;
select roman(1994), roman(2026), roman(4);

create function exit_wrong() returns int language plpgsql as $$
begin
    exit nowhere;
    return 1;
end
$$;

create function continue_wrong() returns int language plpgsql as $$
begin
    <<here>>
    begin
        continue here;
    end;
    return 1;
end
$$;

create function exit_outside() returns int language plpgsql as $$
begin
    exit;
    return 1;
end
$$;

create function continue_outside() returns int language plpgsql as $$
begin
    continue;
    return 1;
end
$$;

create function wrong_end_label() returns int language plpgsql as $$
begin
    <<a>>
    loop
        exit;
    end loop b;
    return 1;
end
$$;

create function end_label_without() returns int language plpgsql as $$
begin
    loop
        exit;
    end loop b;
    return 1;
end
$$;

create function no_end() returns int language plpgsql as $$
begin
    if true then
        return 1;
end
$$;

create function missing_then(a int) returns int language plpgsql as $$
begin
    if a > 1
        return 1;
    end if;
    return 2;
end
$$;

create function unknown_variable() returns int language plpgsql as $$
begin
    nothing := 3;
    return 1;
end
$$;

create function declared_twice() returns int language plpgsql as $$
declare
    a int;
    a text;
begin
    return 1;
end
$$;

create function constant_assigned() returns int language plpgsql as $$
declare
    a constant int := 1;
begin
    a := 2;
    return a;
end
$$;

create function unknown_type() returns int language plpgsql as $$
declare
    a nothing;
begin
    return 1;
end
$$;

create function broken_expression() returns int language plpgsql as $$
begin
    return 1 + ;
end
$$;
create function missing_semicolon() returns int language plpgsql as $$
begin
    return 1
end
$$;
create function return_without() returns int language plpgsql as $$
begin
    return;
end
$$;
create function returned_void() returns void language plpgsql as $$
begin
    return 1;
end
$$;
create procedure returned_procedure() language plpgsql as $$
begin
    return 1;
end
$$;
create function no_language() returns int as $$ begin return 1; end $$;
create function other_language() returns int language plnothing as $$ begin return 1; end $$;

-- RAISE, EXCEPTION blocks and what they undo.
create table t (id int primary key, v int not null);

insert into t values (1, 10), (2, 20);

create procedure raise_levels() language plpgsql as $$
begin
    raise debug 'debug %', 1;
    raise log 'log %', 2;
    raise info 'info %', 3;
    raise notice 'notice % and % and %%', 4, 'text';
    raise warning 'warning %', null;
end
$$;
call raise_levels();

create procedure raise_plain(a int) language plpgsql as $$
begin
    raise exception 'value is %', a;
end
$$;
call raise_plain(5);

create procedure raise_default(a int) language plpgsql as $$
begin
    raise 'no level %', a + 1;
end
$$;
call raise_default(5);

create procedure raise_state(a text) language plpgsql as $$
begin
    raise exception 'with state' using errcode = a;
end
$$;
call raise_state('U1234');
call raise_state('22012');
call raise_state('unique_violation');
call raise_state('nonsense name');

create procedure raise_named() language plpgsql as $$
begin
    raise division_by_zero;
end
$$;
call raise_named();

create procedure raise_sqlstate() language plpgsql as $$
begin
    raise sqlstate '22023' using message = 'a message', detail = 'a detail', hint = 'a hint';
end
$$;
call raise_sqlstate();

create procedure raise_using_all() language plpgsql as $$
begin
    raise exception using message = 'm' || 1, errcode = 'unique_violation', detail = 'd', hint = 'h', table = 't', column = 'c', constraint = 'k', schema = 's', datatype = 'dt';
end
$$;
call raise_using_all();

create procedure raise_warning_state() language plpgsql as $$
begin
    raise warning 'careful' using hint = 'a hint', errcode = '01234';
end
$$;
call raise_warning_state();

create procedure raise_types() language plpgsql as $$
begin
    raise notice '% % % % % %', 1.50, true, null::int, 'x'::char(3), array[1,2], date '2024-01-02';
end
$$;
call raise_types();

create procedure raise_too_few() language plpgsql as $$
begin
    raise notice 'a % b %', 1;
end
$$;

create procedure raise_too_many() language plpgsql as $$
begin
    raise notice 'a %', 1, 2;
end
$$;

create procedure raise_unknown_condition() language plpgsql as $$
begin
    raise no_such_condition;
end
$$;

create procedure rethrow_outside() language plpgsql as $$
begin
    raise;
end
$$;
call rethrow_outside();

create function catch_division(a int, b int) returns text language plpgsql as $$
begin
    return a / b;
exception
    when division_by_zero then
        return 'caught ' || sqlstate || ' ' || sqlerrm;
end
$$;
select catch_division(6, 3), catch_division(1, 0);

create function catch_others(kind int) returns text language plpgsql as $$
declare
    i int;
    s smallint;
begin
    case kind
        when 1 then i := 1 / 0;
        when 2 then i := 'x'::text;
        when 3 then s := 100000;
        when 4 then insert into t values (1, 1);
        when 5 then insert into t values (50, null);
        when 6 then raise exception 'mine' using errcode = 'U0001';
        when 7 then select v into strict i from t where id = 999;
        when 8 then select v into strict i from t;
        when 9 then assert false, 'asserted';
        when 10 then i := 2147483647 + kind;
        when 11 then raise no_data_found;
    end case;
    return 'nothing';
exception
    when unique_violation or not_null_violation then
        return 'constraint ' || sqlstate;
    when sqlstate 'U0001' then
        return 'user ' || sqlerrm;
    when data_exception then
        return 'class 22: ' || sqlstate || ' ' || sqlerrm;
    when too_many_rows then
        return 'too many';
    when others then
        return 'other ' || sqlstate || ' ' || sqlerrm;
end
$$;
select catch_others(1);
select catch_others(2);
select catch_others(3);
select catch_others(4);
select catch_others(5);
select catch_others(6);
select catch_others(7);
select catch_others(8);
select catch_others(9);
select catch_others(10);
select catch_others(11);
select catch_others(12);
select * from t order by id;

create procedure undo_inner() language plpgsql as $$
begin
    insert into t values (3, 30);
    begin
        insert into t values (4, 40);
        update t set v = v + 1000;
        delete from t where id = 1;
        raise exception 'undo';
    exception
        when raise_exception then
            raise notice 'caught %', sqlerrm;
            insert into t values (5, 50);
    end;
    update t set v = v + 1 where id = 3;
end
$$;
call undo_inner();
select * from t order by id;

create procedure variables_survive() language plpgsql as $$
declare
    n int := 0;
begin
    begin
        n := 1;
        insert into t values (6, 60);
        n := 2;
        insert into t values (6, 61);
        n := 3;
    exception
        when unique_violation then
            raise notice 'n is %', n;
    end;
    raise notice 'n is still %, % rows', n, (select count(*) from t);
end
$$;
call variables_survive();
select * from t order by id;

create procedure nested_handlers(kind int) language plpgsql as $$
begin
    begin
        begin
            insert into t values (100 + kind, 1);
            if kind = 1 then
                raise exception 'first' using errcode = 'U0001';
            elsif kind = 2 then
                raise exception 'second' using errcode = 'U0002';
            elsif kind = 3 then
                raise exception 'third' using errcode = 'U0003';
            end if;
        exception
            when sqlstate 'U0001' then
                raise notice 'inner caught %', sqlerrm;
            when sqlstate 'U0002' then
                raise notice 'inner passes on %', sqlerrm;
                raise;
        end;
        raise notice 'after inner';
    exception
        when sqlstate 'U0002' then
            raise notice 'outer caught % %', sqlstate, sqlerrm;
    end;
    raise notice 'the end';
end
$$;
call nested_handlers(0);
call nested_handlers(1);
call nested_handlers(2);
call nested_handlers(3);
select * from t where id >= 100 order by id;

create function error_in_handler(a int) returns text language plpgsql as $$
begin
    begin
        perform 1 / a;
    exception
        when division_by_zero then
            perform 'x'::text::int;
        when others then
            return 'not here';
    end;
    return 'fine';
exception
    when invalid_text_representation then
        return 'outer ' || sqlerrm;
end
$$;
select error_in_handler(1), error_in_handler(0);

create function stacked() returns text language plpgsql as $$
declare
    s text;
    m text;
    d text;
    h text;
    c text;
    t text;
    k text;
begin
    raise exception 'msg' using errcode = '22023', detail = 'det', hint = 'hin', column = 'col', table = 'tab', constraint = 'con';
exception
    when others then
        get stacked diagnostics s = returned_sqlstate, m = message_text, d = pg_exception_detail, h = pg_exception_hint, c = column_name, t = table_name, k = constraint_name;
        return s || ' ' || m || ' ' || d || ' ' || h || ' ' || c || ' ' || t || ' ' || k;
end
$$;
select stacked();

create function stacked_unique() returns text language plpgsql as $$
declare
    t text;
    k text;
    d text;
begin
    insert into t values (1, 5);
    return 'none';
exception
    when others then
        get stacked diagnostics t = table_name, k = constraint_name, d = pg_exception_detail;
        return t || ' ' || k || ' ' || d;
end
$$;
select stacked_unique();

create procedure stacked_outside() language plpgsql as $$
declare
    s text;
begin
    get stacked diagnostics s = message_text;
end
$$;
call stacked_outside();

create function sqlerrm_of_two() returns text language plpgsql as $$
declare
    t text := '';
begin
    begin
        raise exception 'one';
    exception when others then
        t := t || sqlerrm;
        begin
            raise exception 'two';
        exception when others then
            t := t || sqlerrm;
        end;
        t := t || sqlerrm;
    end;
    return t;
end
$$;
select sqlerrm_of_two();

create procedure inner_procedure(kind int) language plpgsql as $$
begin
    insert into t values (200 + kind, kind);
    if kind > 1 then
        raise exception 'kind %', kind using errcode = 'U0009';
    end if;
end
$$;

create procedure outer_procedure(kind int) language plpgsql as $$
begin
    call inner_procedure(kind);
    raise notice 'inner returned';
exception
    when sqlstate 'U0009' then
        raise notice 'inner failed: %', sqlerrm;
end
$$;
call outer_procedure(1);
call outer_procedure(2);
call inner_procedure(3);
select * from t where id >= 200 order by id;

create procedure calls_failing(kind int) language plpgsql as $$
declare
    x int;
begin
    x := catch_division(1, kind)::int;
    call inner_procedure(kind);
end
$$;
call calls_failing(1);
call calls_failing(5);

create function deep_context(n int) returns int language plpgsql as $$
begin
    if n = 0 then
        return 1 / n;
    end if;
    return deep_context(n - 1);
end
$$;
select deep_context(2);

create function loop_with_exceptions(n int) returns text language plpgsql as $$
declare
    good int := 0;
    bad int := 0;
begin
    for i in 1..n loop
        begin
            if i % 3 = 0 then
                raise exception 'third';
            end if;
            insert into t values (300 + i, i);
            good := good + 1;
        exception
            when others then
                bad := bad + 1;
                continue;
        end;
    end loop;
    return good || ' ' || bad;
end
$$;
select loop_with_exceptions(10);
select count(*), sum(v) from t where id > 300;

create function exit_from_block() returns text language plpgsql as $$
declare
    n int := 0;
begin
    loop
        begin
            n := n + 1;
            exit when n > 3;
            if n = 2 then
                raise exception 'two';
            end if;
        exception
            when others then
                continue;
        end;
    end loop;
    begin
        return 'n ' || n || (1 / (n - n));
    exception
        when division_by_zero then
            return 'n ' || n;
    end;
end
$$;
select exit_from_block();

create function return_from_block(a int) returns text language plpgsql as $$
begin
    begin
        insert into t values (400 + a, a);
        return 'returned';
    exception
        when unique_violation then
            return 'again';
    end;
end
$$;
select return_from_block(1);
select return_from_block(1);
select * from t where id > 400;

create function handler_declares() returns text language plpgsql as $$
declare
    m text := 'outer';
begin
    declare
        m text := 'inner';
    begin
        raise exception 'x';
    exception
        when others then
            return m || sqlerrm;
    end;
end
$$;
select handler_declares();

create procedure assertion(a int) language plpgsql as $$
begin
    assert a > 0;
    assert a > 1, 'must be more than one, is ' || a;
end
$$;
call assertion(2);
call assertion(1);
call assertion(0);
call assertion(null);

create function assert_not_caught() returns text language plpgsql as $$
begin
    assert false;
    return 'x';
exception
    when others then
        return 'others';
end
$$;
select assert_not_caught();

create function assert_caught() returns text language plpgsql as $$
begin
    assert false;
    return 'x';
exception
    when assert_failure then
        return 'assert ' || sqlstate;
end
$$;
select assert_caught();

create procedure unknown_condition_caught() language plpgsql as $$
begin
    null;
exception
    when no_such_condition then
        null;
end
$$;

create function in_failed_block() returns int language plpgsql as $$
begin
    update t set v = -1 where id = 1;
    raise exception 'all is undone';
end
$$;
begin;
update t set v = 11 where id = 1;
select in_failed_block();
select 1;
rollback;
select * from t where id = 1;

begin;
savepoint s;
select in_failed_block();
rollback to s;
call outer_procedure(4);
commit;
select * from t where id in (1, 204) order by id;

-- What a handler, or what follows the block, finds in a variable that was set before an error.
create function set_before_error(x int) returns int language plpgsql as $$
declare
    v int := 1;
begin
    begin
        v := 5;
        v := v / x;
    exception when division_by_zero then
        return v;
    end;
    return -v;
end
$$;
select set_before_error(0), set_before_error(2);

create function text_before_error(p int) returns text language plpgsql as $$
declare
    s text := 'start';
begin
    begin
        s := 'step one';
        s := s || (1 / p)::text;
    exception when others then
        null;
    end;
    return s;
end
$$;
select text_before_error(0), text_before_error(1);

create function number_before_error(p int) returns int language plpgsql as $$
declare
    n int := 0;
begin
    begin
        n := 10;
        n := n * p;
    exception when numeric_value_out_of_range then
        n := n + 1;
    end;
    return n;
end
$$;
select number_before_error(2000000000), number_before_error(3);

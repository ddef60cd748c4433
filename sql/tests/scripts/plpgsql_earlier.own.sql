-- What Hyades says when a body is created and PostgreSQL when it runs, and the few other differences that are meant.

create table account (id int primary key, owner text not null, balance numeric(12,2) not null default 0, branch int);

create function empty_body() returns int language plpgsql as $$ $$;

create procedure raise_twice() language plpgsql as $$
begin
    raise exception 'x' using message = 'y';
end
$$;

call raise_twice();

create procedure wrong_default(a int default 'x') language plpgsql as $$ begin null; end $$;

create procedure call_literal_out() language plpgsql as $$
begin
    call inout_two(1, 'x');
end
$$;

call call_literal_out();

create function out_return_value(a int, out b int) language plpgsql as $$ begin return 5; end $$;

drop function if exists replaced(int);

drop function if exists replaced;

create function calls_replaced(a int) returns text language plpgsql as $$ begin return helper(a); end $$;

create or replace function calls_replaced(a int) returns text language plpgsql as $$ begin return helper(a) || '.'; end $$;

select calls_replaced(1);

select calls_replaced(1);

select calls_replaced(1);

create function type_missing(a nothing) returns int language plpgsql as $$ begin return 1; end $$;

create procedure prepared_call(a int, inout b int) language plpgsql as $$ begin b := a + b; end $$;

prepare pc as call prepared_call($1, $2);

create function void_function(a int) returns void language plpgsql as $$
begin
    perform a + 1;
end
$$;

select void_function(1);

create function wrong_shape() returns table (a int, b text) language plpgsql as $$
begin
    return query select 1, 2;
end
$$;

select * from wrong_shape();

create function column_or_variable(balance numeric) returns text language plpgsql as $$
declare
    o text;
begin
    select owner into o from account where balance > 10;
    return o;
end
$$;

select column_or_variable(1);

create function no_destination() returns int language plpgsql as $$
begin
    select 1;
    return 1;
end
$$;

select no_destination();

create function returning_no_destination() returns int language plpgsql as $$
begin
    update account set balance = 0 where id = 1 returning id;
    return 1;
end
$$;

select returning_no_destination();

create function into_nothing() returns int language plpgsql as $$
declare
    a int;
begin
    delete from entry where id = 1 into a;
    return 1;
end
$$;

select into_nothing();

create function unassigned_record() returns text language plpgsql as $$
declare
    r record;
begin
    return r.a;
end
$$;

select unassigned_record();

create function unknown_table() returns int language plpgsql as $$
begin
    return 1;
    insert into no_such_table values (1);
end
$$;

create function unknown_column() returns int language plpgsql as $$
declare
    a int;
begin
    select nothing into a from account;
    return a;
end
$$;

create function wrong_types() returns int language plpgsql as $$
begin
    return 1 + true;
end
$$;

create function wrong_condition() returns int language plpgsql as $$
begin
    if 5 || 'x' then
        return 1;
    end if;
    return 2;
end
$$;


create function anonymous_record() returns record language plpgsql as $$ begin return null; end $$;

create function unlimited(n int) returns int language plpgsql as $$ begin return unlimited(n + 1); end $$;

create procedure explained(n int) language plpgsql as $$ begin update account set balance = balance + n where id = n; end $$;

explain call explained(1);

set hyades.logging = data;

explain call explained(1);

reset hyades.logging;

show hyades.logging;

set hyades.logging = 'nothing';

create procedure explained_clock() language plpgsql as $$ begin insert into account values (1, now()::text, random() * 100); end $$;

explain call explained_clock();

create procedure explained_time() language plpgsql as $$ begin insert into account values (1, clock_timestamp()::text); end $$;

explain call explained_time();

begin;

explain call explained(1);

rollback;

explain (format json) call explained(1);

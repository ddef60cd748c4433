-- SQL in bodies: INTO, RETURNING, FOUND, row counts, loops over queries, sets of rows.
create table account (id int primary key, owner text not null, balance numeric(12,2) not null default 0, branch int);

create table entry (id int primary key, account int, amount numeric(12,2), note text);

insert into account values (1, 'ann', 100, 1), (2, 'bob', 50.5, 1), (3, 'cid', 0, 2), (4, 'dot', 999.99, null);

create function balance_of(who int) returns numeric language plpgsql as $$
declare
    b numeric;
begin
    select balance into b from account where id = who;
    return b;
end
$$;
select balance_of(1), balance_of(2), balance_of(99);

create function balance_strict(who int) returns numeric language plpgsql as $$
declare
    b account.balance%type;
begin
    select balance into strict b from account where id = who;
    return b;
end
$$;
select balance_strict(1);
select balance_strict(99);

create function strict_many(b int) returns text language plpgsql as $$
declare
    o text;
begin
    select owner into strict o from account where branch = b;
    return o;
end
$$;
select strict_many(2);
select strict_many(1);
select strict_many(7);

create function first_of_many(b int) returns text language plpgsql as $$
declare
    o text;
begin
    select owner from account where branch = b order by id into o;
    return o || found;
end
$$;
select first_of_many(1), first_of_many(7);

create function several(who int) returns text language plpgsql as $$
declare
    o text;
    b numeric;
    extra int := 5;
begin
    select owner, balance into o, b from account where id = who;
    return coalesce(o, 'nobody') || coalesce(b, -1) || extra;
end
$$;
select several(2), several(50);

create function too_few_columns(who int) returns text language plpgsql as $$
declare
    o text := 'o';
    b numeric := 1;
    c int := 2;
begin
    select owner, balance into o, b, c from account where id = who;
    return o || b || coalesce(c, -1);
end
$$;
select too_few_columns(1);

create function too_many_columns(who int) returns text language plpgsql as $$
declare
    o text;
begin
    select owner, balance into o from account where id = who;
    return o;
end
$$;
select too_many_columns(1);

create function record_of(who int) returns text language plpgsql as $$
declare
    r record;
begin
    select id, owner, balance * 2 as doubled into r from account where id = who;
    return r.id || r.owner || r.doubled;
end
$$;
select record_of(1), record_of(77);

create function row_of(who int) returns text language plpgsql as $$
declare
    r account%rowtype;
begin
    select * into r from account where id = who;
    if not found then
        return 'no ' || who;
    end if;
    r.balance := r.balance + 1;
    return r.owner || r.balance || coalesce(r.branch, -1);
end
$$;
select row_of(1), row_of(4), row_of(5);

create function row_type_without(who int) returns text language plpgsql as $$
declare
    r account;
begin
    select * into r from account a where a.id = who;
    return r.owner;
end
$$;
select row_type_without(3);

create procedure deposit(who int, amount numeric) language plpgsql as $$
begin
    update account set balance = balance + amount where id = who;
    if not found then
        raise exception 'no account %', who;
    end if;
end
$$;
call deposit(1, 10.25);
call deposit(100, 1);
select * from account order by id;

create procedure deposit_returning(who int, amount numeric, inout new_balance numeric) language plpgsql as $$
begin
    update account set balance = balance + amount where id = who returning balance into new_balance;
end
$$;
call deposit_returning(2, 5, null);
call deposit_returning(200, 5, 17);

create procedure deposit_strict(who int, amount numeric, inout new_balance numeric) language plpgsql as $$
begin
    update account set balance = balance + amount where id >= who returning balance into strict new_balance;
end
$$;
call deposit_strict(4, 1, null);
call deposit_strict(3, 1, null);
call deposit_strict(5, 1, null);
select * from account order by id;

create procedure update_many_into(inout o text) language plpgsql as $$
begin
    update account set balance = balance + 1 returning owner into o;
end
$$;
call update_many_into(null);
select * from account order by id;

create function row_counts() returns text language plpgsql as $$
declare
    n int;
    m bigint;
    t text := '';
begin
    update account set balance = balance where branch = 1;
    get diagnostics n = row_count;
    t := t || n || found;
    update account set balance = balance where branch = 77;
    get diagnostics m := row_count;
    t := t || m || found;
    perform 1 from account;
    get diagnostics n = row_count;
    t := t || n || found;
    perform 1 from account where id = 55;
    get diagnostics n = row_count;
    t := t || n || found;
    delete from entry;
    get diagnostics n = row_count;
    t := t || n || found;
    insert into entry values (1, 1, 5, 'a'), (2, 1, 6, 'b');
    get diagnostics n = row_count;
    t := t || n || found;
    select id into n from entry where id = 1;
    get diagnostics n = row_count;
    return t || n || found;
end
$$;
select row_counts();
select * from entry order by id;

create function insert_returning(note_text text) returns int language plpgsql as $$
declare
    new_id int;
begin
    insert into entry (id, account, amount, note) values (10, 2, 1.5, note_text) returning id * 10 into new_id;
    return new_id;
end
$$;
select insert_returning('x');
select insert_returning('again');

create function delete_returning(which int) returns text language plpgsql as $$
declare
    gone record;
begin
    delete from entry where id = which returning * into gone;
    return coalesce(gone.note, 'nothing') || found;
end
$$;
select delete_returning(10), delete_returning(10);

create function loop_over_rows(least_balance numeric) returns text language plpgsql as $$
declare
    r record;
    t text := '';
begin
    for r in select id, owner, balance from account where balance >= least_balance order by balance desc loop
        t := t || r.id || r.owner || r.balance || ' ';
    end loop;
    return t || found;
end
$$;
select loop_over_rows(1), loop_over_rows(100000);

create function loop_into_scalars() returns text language plpgsql as $$
declare
    a int;
    b text;
    t text := '';
begin
    for a, b in select id, owner from account order by owner desc loop
        continue when a = 2;
        t := t || a || b || ' ';
        exit when a = 1;
    end loop;
    return t || a || b;
end
$$;
select loop_into_scalars();

create function loop_rowtype() returns numeric language plpgsql as $$
declare
    r account%rowtype;
    s numeric := 0;
begin
    for r in select * from account where branch is not null order by id loop
        s := s + r.balance * r.branch;
    end loop;
    return s;
end
$$;
select loop_rowtype();

create procedure loop_that_changes(step numeric) language plpgsql as $$
declare
    r record;
begin
    for r in select id, balance from account order by id loop
        update account set balance = r.balance + step where id = r.id;
        insert into entry values (100 + r.id, r.id, step, 'step');
    end loop;
end
$$;
call loop_that_changes(1);
select * from account order by id;
select * from entry order by id;

create procedure loop_inserting_same() language plpgsql as $$
declare
    r record;
begin
    for r in select id from entry where id > 100 order by id loop
        insert into entry values (r.id + 100, r.id, 0, 'copy');
    end loop;
end
$$;
call loop_inserting_same();
select count(*), min(id), max(id) from entry;

create procedure loop_deleting() language plpgsql as $$
declare
    r record;
    n int := 0;
begin
    for r in select * from entry where note = 'copy' order by id desc loop
        delete from entry where id = r.id;
        n := n + 1;
    end loop;
    raise notice 'deleted %', n;
end
$$;
call loop_deleting();
select count(*) from entry;

create procedure loop_over_returning() language plpgsql as $$
declare
    r record;
begin
    for r in update account set balance = balance * 2 where branch = 1 returning id, balance loop
        raise notice '% has %', r.id, r.balance;
    end loop;
end
$$;
call loop_over_returning();

create function loop_variables_captured(n int) returns text language plpgsql as $$
declare
    r record;
    t text := '';
begin
    for r in select id from account where id > n order by id loop
        n := 1000;
        t := t || r.id;
    end loop;
    return t || ' ' || n;
end
$$;
select loop_variables_captured(2);

create function nested_query_loops() returns text language plpgsql as $$
declare
    b record;
    a record;
    t text := '';
begin
    for b in select distinct branch from account where branch is not null order by branch loop
        t := t || b.branch || ':';
        for a in select owner from account where branch = b.branch order by owner loop
            t := t || a.owner || ' ';
        end loop;
    end loop;
    return t;
end
$$;
select nested_query_loops();

create function aggregates(b int) returns text language plpgsql as $$
declare
    n bigint;
    s numeric;
    m text;
begin
    select count(*), sum(balance), max(owner) into n, s, m from account where branch = b;
    return n || ' ' || coalesce(s, 0) || ' ' || coalesce(m, '-') || found;
end
$$;
select aggregates(1), aggregates(9);

create function grouped() returns text language plpgsql as $$
declare
    r record;
    t text := '';
begin
    for r in select branch, count(*) as n, sum(balance) as s from account group by branch having count(*) > 0 order by branch nulls first loop
        t := t || coalesce(r.branch, 0) || '=' || r.n || '/' || r.s || ' ';
    end loop;
    return t;
end
$$;
select grouped();

create function joined(who int) returns text language plpgsql as $$
declare
    r record;
    t text := '';
begin
    for r in select a.owner, e.amount from account a join entry e on e.account = a.id where a.id = who order by e.id loop
        t := t || r.owner || r.amount || ' ';
    end loop;
    return t;
end
$$;
select joined(1), joined(2);

create function limited(n int, skip int) returns text language plpgsql as $$
declare
    r record;
    t text := '';
begin
    for r in select id from account order by id limit n offset skip loop
        t := t || r.id;
    end loop;
    return t;
end
$$;
select limited(2, 1), limited(0, 0), limited(null, 3);

create function exists_test(who int) returns boolean language plpgsql as $$
begin
    if exists (select 1 from account where id = who) then
        return true;
    end if;
    return false;
end
$$;
select exists_test(1), exists_test(1000);

create function scalar_subquery(who int) returns numeric language plpgsql as $$
declare
    b numeric := (select balance from account where id = who);
begin
    return b + (select count(*) from account);
end
$$;
select scalar_subquery(3), scalar_subquery(333);

create function many_from_subquery() returns int language plpgsql as $$
begin
    return (select id from account);
end
$$;
select many_from_subquery();

create function series(n int) returns setof int language plpgsql as $$
begin
    for i in 1..n loop
        return next i * i;
    end loop;
    return;
end
$$;
select * from series(4);
select s from series(3) s order by s desc;
select count(*) from series(0);

create function rich(least_balance numeric) returns table (who text, amount numeric) language plpgsql as $$
begin
    return query select owner, balance from account where balance >= least_balance order by owner;
    if not found then
        who := 'nobody';
        amount := 0;
        return next;
    end if;
end
$$;
select * from rich(10);
select * from rich(1000000);
select who, amount * 2 as twice from rich(100) where who <> 'bob' order by amount;

create function accounts_of(b int) returns setof account language plpgsql as $$
begin
    return query select * from account where branch = b order by id;
    return query select * from account where branch is null order by id;
end
$$;
select * from accounts_of(1);
select owner from accounts_of(2) order by owner;

create function out_rows(n int, out i int, out square int) returns setof record language plpgsql as $$
begin
    for i in 1..n loop
        square := i * i;
        return next;
    end loop;
    i := -1;
    square := -1;
    return next;
end
$$;
select * from out_rows(2);

create function text_series() returns setof text language plpgsql as $$
begin
    return next 'a';
    return query values ('b'), ('c');
    return query select owner from account where id = 1;
end
$$;
select * from text_series();

create function joins_function(n int) returns text language plpgsql as $$
declare
    r record;
    t text := '';
begin
    for r in select a.owner, s.s from account a join series(n) as s(s) on s.s = a.id order by a.id loop
        t := t || r.owner || r.s || ' ';
    end loop;
    return t;
end
$$;
select joins_function(3);

create function qualified_variable(balance numeric) returns text language plpgsql as $$
declare
    o text;
begin
    select owner into o from account where account.balance > qualified_variable.balance order by id;
    return o;
end
$$;
select qualified_variable(1);

create procedure upsert(who int, name text) language plpgsql as $$
begin
    insert into account (id, owner) values (who, name)
        on conflict (id) do update set owner = excluded.owner || '!' || account.owner;
end
$$;
call upsert(4, 'eve');
call upsert(5, 'fay');
select * from account where id >= 4 order by id;

create procedure insert_select(from_branch int) language plpgsql as $$
begin
    insert into entry select 1000 + id, id, balance, 'branch' || from_branch from account where branch = from_branch;
end
$$;
call insert_select(1);
select id, account, note from entry where id > 1000 order by id;

create procedure insert_default() language plpgsql as $$
begin
    insert into account (id, owner, branch) values (6, 'gus', default);
end
$$;
call insert_default();
select * from account where id = 6;

create procedure not_null_column() language plpgsql as $$
begin
    insert into account (id) values (7);
end
$$;
call not_null_column();

create procedure duplicate_key() language plpgsql as $$
begin
    insert into account (id, owner) values (8, 'x');
    insert into account (id, owner) values (8, 'y');
end
$$;
call duplicate_key();
select count(*) from account where id = 8;

create function expression_of_row(who int) returns text language plpgsql as $$
declare
    r account%rowtype;
    s account%rowtype;
begin
    select * into r from account where id = who;
    s := r;
    s.owner := 'copy of ' || r.owner;
    return r.owner || s.owner;
end
$$;
select expression_of_row(1);

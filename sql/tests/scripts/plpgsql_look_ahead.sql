-- Loops whose reads by key are announced ahead: what the reads find must not depend on it.
create table thing (id int primary key, amount bigint not null, label text);

create table pair (a int, b int, amount bigint not null, primary key (a, b));

create table word (name text primary key, amount int not null);

insert into thing select 0, 0, 'zero';

create procedure fill(many int) language plpgsql as $$
begin
    for i in 1 .. many loop
        insert into thing values (i, i * 10, 'thing ' || i);
        insert into pair values (i % 4, i, i);
    end loop;
end
$$;

call fill(60);

insert into word values ('one', 1), ('two', 2), ('three', 3);

create function total(ids int[]) returns text language plpgsql as $$
declare
    seen text := '';
    found_amount bigint;
begin
    for i in 1 .. array_length(ids, 1) loop
        select amount into found_amount from thing where id = ids[i];
        if found then
            seen := seen || found_amount || ' ';
        else
            seen := seen || '- ';
        end if;
    end loop;
    return seen;
end
$$;

-- More than are looked for at once; the same again; missing ones; none.
select total(array[3, 1, 2]);

select total(array[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35]);

select total(array[7, 7, 7, 99, 7, null, 7, -5, 60, 61]);

select total(array[5]);

-- Rows that change, go and come back between being looked for and being read.
create function churn(ids int[]) returns text language plpgsql as $$
declare
    seen text := '';
    found_amount bigint;
    wanted int;
begin
    for i in 1 .. array_length(ids, 1) loop
        wanted := ids[i];
        update thing set amount = amount + 1 where id = wanted returning amount into found_amount;
        seen := seen || coalesce(found_amount, -1) || ' ';
        if i % 3 = 0 then
            delete from thing where id = ids[i + 1];
        end if;
        if i % 5 = 0 then
            insert into thing values (ids[i + 1], 7000 + i, 'again') on conflict (id) do nothing;
        end if;
        if i % 4 = 0 then
            update thing set label = label || ' longer than before' where id = ids[i + 1];
        end if;
    end loop;
    return seen;
end
$$;

select churn(array[10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]);

select id, amount, label from thing where id between 10 and 20 order by id;

-- Keys of several parts, and keys that are computed.
create function pairs(firsts smallint[], seconds int[], shift int) returns text language plpgsql as $$
declare
    seen text := '';
    found_amount bigint;
    first int;
    second int;
begin
    for i in 1 .. array_length(firsts, 1) loop
        first := firsts[i];
        second := seconds[i] + shift;
        select amount into found_amount from pair where a = first and b = second;
        seen := seen || coalesce(found_amount::text, '?') || ' ';
        select amount into found_amount from pair where b = i and a = i % 4;
        seen := seen || coalesce(found_amount::text, '?') || ', ';
    end loop;
    return seen;
end
$$;

select pairs(array[1, 2, 3, 0]::smallint[], array[1, 2, 3, 4], 0);

select pairs(array[1, 2, 3, 0]::smallint[], array[1, 2, 3, 4], 4);

select pairs(array[1, 2]::smallint[], array[2147483647, 3], 1);

create function words(names text[]) returns int language plpgsql as $$
declare
    total int := 0;
    found_amount int;
begin
    for i in 1 .. array_length(names, 1) loop
        select amount into strict found_amount from word where name = names[i];
        total := total + found_amount;
    end loop;
    return total;
end
$$;

select words(array['one', 'two', 'three', 'two']);

select words(array['one', 'four', 'three']);

-- Loops in loops, and in procedures that loops call.
create function inner_sum(low int, high int) returns bigint language plpgsql as $$
declare
    total bigint := 0;
    found_amount bigint;
begin
    for i in low .. high loop
        select amount into found_amount from thing where id = i;
        total := total + coalesce(found_amount, 0);
    end loop;
    return total;
end
$$;

create function outer_sum(ids int[]) returns text language plpgsql as $$
declare
    seen text := '';
    found_amount bigint;
    part bigint;
begin
    for i in 1 .. array_length(ids, 1) loop
        part := inner_sum(1, ids[i]);
        select amount into found_amount from thing where id = ids[i];
        seen := seen || part || '/' || coalesce(found_amount, -1) || ' ';
        for j in 1 .. 2 loop
            select amount into found_amount from thing where id = ids[i] + j;
            seen := seen || coalesce(found_amount, -1) || ' ';
        end loop;
    end loop;
    return seen;
end
$$;

select outer_sum(array[1, 2, 3, 4, 5, 1, 2, 3]);

-- Ways out of the loop, and errors in it.
create function ways(ids int[]) returns text language plpgsql as $$
declare
    seen text := '';
    found_amount bigint;
    divisor bigint;
begin
    <<all_of_them>>
    for i in 1 .. array_length(ids, 1) loop
        continue when ids[i] = 2;
        exit all_of_them when ids[i] = 9;
        begin
            select amount into strict found_amount from thing where id = ids[i];
            divisor := found_amount - 30;
            seen := seen || (1000 / divisor) || ' ';
        exception
            when division_by_zero then
                seen := seen || 'zero ';
            when no_data_found then
                seen := seen || 'none ';
        end;
    end loop;
    return seen;
end
$$;

select ways(array[1, 2, 3, 4, 777, 3, 5, 9, 6]);

create procedure backwards(inout seen text) language plpgsql as $$
declare
    found_amount bigint;
begin
    seen := '';
    for i in reverse 5 .. 1 loop
        select amount into found_amount from thing where id = i;
        seen := seen || found_amount || ' ';
    end loop;
    for i in 1 .. 20 by 3 loop
        select amount into found_amount from thing where id = i;
        seen := seen || found_amount || ' ';
    end loop;
    for i in 15 .. 20 loop
        select amount into found_amount from thing where id = i + 30;
        seen := seen || found_amount || ' ';
    end loop;
end
$$;

call backwards(null);

-- Updates that are made straight from numbers, and those that are not.
create table typed (id int primary key, small smallint, normal int not null, big bigint, truth boolean, day date, moment timestamp, share double precision, exact numeric(8,2), short varchar(5));

insert into typed values (1, 1, 1, 1, true, '2026-01-01', '2026-01-01 10:00', 0.5, 1.25, 'abc'), (2, null, 2, null, null, null, null, null, null, null);

create function retype(wanted int) returns setof typed language plpgsql as $$
begin
    for i in 1 .. 3 loop
        update typed set small = small + 1::smallint, normal = normal * 2, big = big + normal, truth = not truth where id = wanted;
        update typed set day = day + 1, moment = '2026-02-02 11:00' where id = wanted;
        update typed set normal = normal + case when big > 3 then 100 else 1 end, big = case when big is null then 1 else big end where id = wanted;
        update typed set share = share + 1, exact = exact + 0.5, short = short || 'd' where id = wanted and i < 3;
    end loop;
    return query select * from typed where id = wanted;
end
$$;

select * from retype(1);

select * from retype(2);

create procedure refuse(kind int) language plpgsql as $$
begin
    if kind = 1 then
        update typed set normal = null where id = 1;
    elsif kind = 2 then
        update typed set big = 1, normal = normal + 2147483647 where id = 1;
    elsif kind = 3 then
        update typed set small = 40000 where id = 1;
    elsif kind = 4 then
        update typed set big = big / (normal - normal) where id = 1;
    elsif kind = 5 then
        update typed set id = 2, normal = 5 where id = 1;
    elsif kind = 6 then
        update typed set id = 3, normal = 5 where id = 1;
    end if;
end
$$;

call refuse(1);

call refuse(2);

call refuse(3);

call refuse(4);

call refuse(5);

call refuse(6);

select * from typed order by id;

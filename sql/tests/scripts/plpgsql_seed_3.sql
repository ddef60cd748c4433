-- Made from seed 3 by sql/src/tests/procedures.rs.
create table g (gk int primary key, ga int not null, gb numeric(10,2), gt text);

create function f1(p int, q int, n numeric, t text) returns text language plpgsql as $$
declare
    i int := 1;
    j int := q;
    m numeric(12,3) := n;
    s text := 'x';
    c boolean;
    l bigint := 3;
    ar int[] := array[4, 5, 6];
    r record;
    w g%rowtype;
begin
    select gk, ga, gb, gt into r from g where false;
    ar[2] := (j + (r.gk * p));
    m := (n + round(r.gb, 0));
    c := exists (select 1 from g where g.gk = j);
    begin
        c := exists (select 1 from g where g.gk = p);
        begin
            begin
                s := left(t, 2);
                c := m between 1.5 and n;
                s := (t || null);
            exception
                when others then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    raise;
            end;
        exception
            when data_exception then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
            when raise_exception then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
            when no_data_found or too_many_rows then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
        end;
    exception
        when sqlstate 'U0001' then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            raise;
        when division_by_zero or numeric_value_out_of_range then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            for r in select g.gk, g.ga, g.gb, g.gt from g where g.ga <> 5 order by g.ga desc, g.gk loop
                select max(g.gb), min(g.gk) into m, i from g where g.gk < j;
                insert into g values (5, i, round(m, 2), (s || r.ga));
                if not (m between i and n) then
                    update g set gt = coalesce(g.gt, '') || '+' where g.gk > j;
                    get diagnostics l = row_count;
                    s := s || found;
                    continue when t like '%l%';
                elsif t like '%l%' then
                    update g set gt = coalesce(g.gt, '') || '+' where g.gk > i;
                    j := abs(i);
                end if;
            end loop;
        when unique_violation then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            raise;
    end;
    begin
        ar[2] := coalesce(w.ga, (case when r.ga > 2147483647 then j else r.ga end));
        l := (case when ar[1] >= p then (p * q) else ar[1] end);
        begin
            if (ar[i] > 100 or r.ga > -1) then
                return replace(w.gt, 'x', 'yz');
            end if;
            insert into g values (i, (i * greatest(ar[i], 1)), (r.gb * n), coalesce(s, s));
        exception
            when data_exception then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
            when raise_exception then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
            when no_data_found or too_many_rows then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                raise;
        end;
    exception
        when sqlstate 'U0001' then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
        when division_by_zero or numeric_value_out_of_range then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
        when unique_violation then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            for w in select * from g where g.gk > j - 3 order by g.gk desc loop
                get diagnostics l = row_count;
                s := s || found;
                update g set ga = g.ga % 1000 + coalesce(i, 7) % 1000, gb = g.gb + 1 where gk = p returning g.gk, g.ga, g.gb, g.gt into r;
            end loop;
            if r.gk = q then
                return left(s, 1);
            end if;
    end;
    if j in (1, 2, i) then
        return substr(w.gt, 3, 3);
    end if;
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f1(10, 10, 99.995, ' 7 ');
select f1(100, 46341, -2.25, 'Hello World');
select f1(-4, 46341, 1000000.01, 'abc');
select * from g order by gk;

create function f2(p int, q int, n numeric, t text) returns text language plpgsql as $$
declare
    i int := 1;
    j int := q;
    m numeric(12,3) := n;
    s text := 'x';
    c boolean;
    l bigint := 3;
    ar int[] := array[4, 5, 6];
    r record;
    w g%rowtype;
begin
    select gk, ga, gb, gt into r from g where false;
    if (p > -1 or ar[1] > 7) then
        return substr(t, 0, 3);
    end if;
    if s like '%4%' then
        return (r.gb)::text;
    end if;
    for i, s in select g.gk, g.gt from g order by g.gk desc limit 3 loop
        insert into g values (j, ar[1], (n + n), (w.gt || r.gk));
    end loop;
    if p in (1, 2, ar[1]) then
        return coalesce(w.gt, w.gt);
    end if;
    insert into g values (1, (j + greatest(r.gk, 2147483647)), (n - r.ga), s);
    begin
        insert into g values (1, w.ga, round(n, 1), replace(s, 'x', 'yz'));
    exception
        when data_exception then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
        when raise_exception then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
        when no_data_found or too_many_rows then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
    end;
    m := round(n, 0);
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f2(2, -1, 1000000.01, 'abc');
select f2(0, 2147483647, null, '42');
select f2(-1, 100, 0, 'Hello World');
select * from g order by gk;

create function f3(p int, q int, n numeric, t text) returns text language plpgsql as $$
declare
    i int := 1;
    j int := q;
    m numeric(12,3) := n;
    s text := 'x';
    c boolean;
    l bigint := 3;
    ar int[] := array[4, 5, 6];
    r record;
    w g%rowtype;
begin
    select gk, ga, gb, gt into r from g where false;
    raise notice 'at % %', (r.gk + null), (n)::text;
    j := (i + (i + 100));
    if (t like '%x%' or (r.ga > 3 or q > 100)) then
        if i >= j then
            return left(w.gt, 0);
        end if;
    end if;
    begin
        if q is null then
            raise exception 'raised %', upper(s) using errcode = 'U0001';
        end if;
    exception
        when sqlstate 'U0001' then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
        when division_by_zero or numeric_value_out_of_range then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            delete from g where g.gk < j and g.ga > j;
        when unique_violation then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
    end;
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f3(3, 46341, null, '');
select f3(-4, 2, 0, '');
select f3(3, 3, -2.25, null);
select * from g order by gk;

create function f4(p int, q int, n numeric, t text) returns text language plpgsql as $$
declare
    i int := 1;
    j int := q;
    m numeric(12,3) := n;
    s text := 'x';
    c boolean;
    l bigint := 3;
    ar int[] := array[4, 5, 6];
    r record;
    w g%rowtype;
begin
    select gk, ga, gb, gt into r from g where false;
    s := coalesce(w.gt, coalesce(t, 'lit'));
    insert into g values (2, length((s || -4)), (n + w.gb), (m)::text);
    l := (p * (r.gk % j));
    s := coalesce(w.gt, (1.25)::text);
    case i % 4
    when 0 then
        if ar[1] < (j % 7) then
            begin
                get diagnostics l = row_count;
                s := s || found;
                insert into g values (p, coalesce(q, greatest(i, ar[i])), round(r.gb, 2), 'lit');
                if m between 1.5 and n then
                    raise exception 'raised %', replace(s, 'x', 'yz') using errcode = '22012';
                end if;
            exception
                when others then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    s := coalesce(t, replace(w.gt, 'x', 'yz'));
                    c := not (m between i and n);
                    insert into g values (0, r.ga, (n + m), (m)::text);
            end;
        end if;
        get diagnostics l = row_count;
        s := s || found;
        s := left(s, -2);
    when 1, 2 then
        insert into g values (p, 1, 2, (w.gt || ar[i])) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
        for v1 in 0 .. 1 by 2 loop
            ar[2] := 10;
        end loop;
    when j then
        begin
            s := left(t, -2);
            if (q is null or t like '%l%') then
                get diagnostics l = row_count;
                s := s || found;
                i := ar[1];
            elsif r.gk <= (1 / p) then
                if m between i and n then
                    return r.gt;
                end if;
            else
                select g.ga into i from g where gk = 5;
                perform g.ga from g where g.gk > i;
            end if;
        exception
            when sqlstate 'U0001' then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                insert into g values (j, 1, 2, replace(s, 'x', 'yz')) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
                ar[2] := (ar[i] + coalesce(p, ar[1]));
            when division_by_zero or numeric_value_out_of_range then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                ar[3] := length((m)::text);
                c := exists (select 1 from g where g.gk = p);
            when unique_violation then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                raise;
        end;
        raise notice 'at % %', q, replace(w.gt, 'x', 'yz');
    end case;
    case i % 4
    when 0 then
        s := upper(s);
        s := w.gt;
        for v2 in -2 .. least(j, -1) loop
            if v2 < (case when ar[i] > 100 then v2 else r.ga end) then
                continue when (v2 > 2147483647 or j > 7);
                get diagnostics l = row_count;
                s := s || found;
            elsif (t like '%4%' and m between i and n) then
                perform g.ga from g where g.gk > i;
                delete from g where g.gk < i and g.ga > j;
            else
                l := (v2 + v2);
                c := t like '%l%';
                ar[5] := greatest(v2, (v2 + i));
            end if;
        end loop;
    when 1, 2 then
        if m between 0 and n then
            select * into w from g where g.gk >= 0 order by g.gk;
        else
            ar[1] := coalesce(ar[i], 3);
        end if;
        select g.ga into i from g where gk = p;
        begin
            for v3 in reverse 0 .. -1 loop
                i := (v3 - (v3 - (p - 7)));
                update g set ga = g.ga % 1000 + coalesce(j, 7) % 1000, gb = g.gb + 1 where gk = 4 returning g.gk, g.ga, g.gb, g.gt into r;
            end loop;
        exception
            when data_exception then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                raise;
            when raise_exception then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                i := coalesce(j, (i + 100));
            when no_data_found or too_many_rows then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                raise;
        end;
    when j then
        insert into g values (p, coalesce(i, (ar[1] - 3)), (m * r.gb), substr(s, 0, 3));
        for v4 in -2 .. least(j, 1) loop
            if v4 is null then
                perform g.ga from g where g.gk > p;
            elsif not ((v4 > 2 or ar[i] > 10)) then
                update g set gt = coalesce(g.gt, '') || '+' where g.gk > p;
                j := abs(v4);
                insert into g values (j, length((s || s)), round(m, 1), substr(s, 1, 3));
            end if;
        end loop;
    else
        insert into g values (i, (case when ar[1] is null then (case when r.ga > 100 then p else q end) else r.ga end), (m - 2147483647), coalesce(w.gt, s));
    end case;
    insert into g values (j, (case when w.ga = 1 then -4 else w.ga end), coalesce(m, n), (t || q));
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f4(46341, 2, 99.995, 'Hello World');
select f4(7, 0, null, 'Hello World');
select f4(7, 10, 1000000.01, 'abc');
select * from g order by gk;

create function f5(p int, q int, n numeric, t text) returns text language plpgsql as $$
declare
    i int := 1;
    j int := q;
    m numeric(12,3) := n;
    s text := 'x';
    c boolean;
    l bigint := 3;
    ar int[] := array[4, 5, 6];
    r record;
    w g%rowtype;
begin
    select gk, ga, gb, gt into r from g where false;
    insert into g values (p, abs(r.gk), n, t);
    j := (ar[i] + null);
    get diagnostics l = row_count;
    s := s || found;
    declare
        u5 int := 0;
    begin
        while u5 < 3 and ((q > -1 and i > 1)) loop
            u5 := u5 + 1;
            s := upper(w.gt);
        end loop;
    end;
    c := m between 1.5 and n;
    begin
        l := 2;
    exception
        when unique_violation or not_null_violation then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            begin
                raise notice 'at % %', (ar[i] + i), (w.gb)::text;
            exception
                when unique_violation or not_null_violation then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                when others then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
            end;
        when others then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            j := coalesce(j, w.ga);
            insert into g values (j, (j * (i + 10)), (r.gb / n), s);
            insert into g values (p, (p % i), coalesce(r.gb, w.gb), r.gt);
    end;
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f5(1, -4, null, '42');
select f5(46341, 100, 99.995, null);
select f5(2, 5, -2.25, '42');
select * from g order by gk;

create function f6(p int, q int, n numeric, t text) returns text language plpgsql as $$
declare
    i int := 1;
    j int := q;
    m numeric(12,3) := n;
    s text := 'x';
    c boolean;
    l bigint := 3;
    ar int[] := array[4, 5, 6];
    r record;
    w g%rowtype;
begin
    select gk, ga, gb, gt into r from g where false;
    s := substr(s, 0, 3);
    delete from g where gk = i returning * into w;
    select max(g.gb), min(g.gk) into m, i from g where g.gk < p;
    insert into g values (i, 1, 2, s) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
    c := exists (select 1 from g where g.gk = p);
    i := (ar[i] - greatest(p, abs(p)));
    case i % 4
    when 0 then
        begin
            if r.ga >= -1 then
                insert into g values (0, 1, 2, (s || w.gt)) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
                if w.ga >= 46341 then
                    raise exception 'raised %', coalesce(t, r.gt) using errcode = 'U0001';
                end if;
                l := length(coalesce(s, w.gt));
            else
                ar[3] := length(r.gt);
                select * into w from g where g.gk >= i order by g.gk;
            end if;
            delete from g where gk = p returning * into w;
        exception
            when others then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                declare
                    u6 int := 0;
                begin
                    while u6 < 2 and ((j > 5 or p > 10)) loop
                        u6 := u6 + 1;
                        perform g.ga from g where g.gk > i;
                        raise notice 'at % %', (p + u6), left(s, 1);
                        exit when w.ga is null;
                    end loop;
                end;
                c := w.ga in (1, 2, w.ga);
                begin
                    if ar[1] < r.gk then
                        raise exception 'raised %', (n)::text using errcode = '22012';
                    end if;
                    ar[5] := abs(r.ga);
                exception
                    when others then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                        delete from g where g.gk < 1 and g.ga > j;
                end;
        end;
    when 1, 2 then
        delete from g where gk = 4 returning * into w;
        get diagnostics l = row_count;
        s := s || found;
    when j then
        for w in select * from g where g.gk > j - 3 order by g.gk desc loop
            begin
                exit when not (i > 2);
                insert into g values (i, -4, round(r.gb, 2), (s || j));
            exception
                when others then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
            end;
            for v7 in -1 .. least(j, 2) loop
                c := (s like '%l%' or v7 in (1, 2, p));
                exit when (p > 2 or i > 2147483647);
                delete from g where g.gk < i and g.ga > j;
            end loop;
            if (m between i and n and not (i > null)) then
                select count(*), sum(g.ga % 1000) into l, m from g;
                get diagnostics l = row_count;
                s := s || found;
            elsif t like '%4%' then
                ar[1] := (i + (ar[1] + -1));
                select g.ga into i from g where gk = p;
            else
                continue when (q > 0 or i > 46341);
            end if;
        end loop;
        begin
            perform g.ga from g where g.gk > j;
        exception
            when sqlstate 'U0001' then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
            when division_by_zero or numeric_value_out_of_range then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                insert into g values (j, (case when j <> q then (ar[i] / i) else j end), coalesce(n, m), left(w.gt, 2));
            when unique_violation then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
        end;
    else
        for v8 in reverse 2 .. 0 loop
            for v9 in reverse -1 .. -1 loop
                delete from g where g.gk < i and g.ga > j;
                j := coalesce(ar[i], (case when q > 2147483647 then r.ga else ar[1] end));
            end loop;
        end loop;
        i := greatest(w.ga, q);
        update g set ga = g.ga % 1000 + coalesce(w.ga, 7) % 1000, gb = g.gb + 1 where gk = j returning g.gk, g.ga, g.gb, g.gt into r;
    end case;
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f6(10, 0, 1.5, null);
select f6(1, 10, null, 'abc');
select f6(0, null, 1.5, 'Hello World');
select * from g order by gk;

create function f7(p int, q int, n numeric, t text) returns text language plpgsql as $$
declare
    i int := 1;
    j int := q;
    m numeric(12,3) := n;
    s text := 'x';
    c boolean;
    l bigint := 3;
    ar int[] := array[4, 5, 6];
    r record;
    w g%rowtype;
begin
    select gk, ga, gb, gt into r from g where false;
    case i % 4
    when 0 then
        begin
            s := (w.gt || (m)::text);
            m := (m - (case when p > 2 then q else ar[i] end));
            if s like '%l%' then
                return left(t, -1);
            end if;
        exception
            when sqlstate 'U0001' then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                i := (case when q in (1, 2, w.ga) then (j % 3) else j end);
                begin
                    i := (p % i);
                    get diagnostics l = row_count;
                    s := s || found;
                exception
                    when others then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                        raise;
                end;
            when division_by_zero or numeric_value_out_of_range then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                for v10 in -2 .. 1 by 2 loop
                    c := exists (select 1 from g where g.gk = j);
                    select * into w from g where g.gk >= i order by g.gk;
                    get diagnostics l = row_count;
                    s := s || found;
                end loop;
            when unique_violation then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
        end;
        update g set gt = coalesce(g.gt, '') || '+' where g.gk > p;
    when 1, 2 then
        m := (m / coalesce(n, r.gb));
        raise notice 'at % %', (j - ar[1]), (m)::text;
    when j then
        for r in select g.gk, g.ga, g.gb, g.gt from g where g.ga <> 5 order by g.ga desc, g.gk loop
            select count(*), sum(g.ga % 1000) into l, m from g;
            c := m between 1.5 and n;
        end loop;
    else
        i := (r.ga + (i * (r.gk % 3)));
    end case;
    begin
        if r.ga = r.gk then
            raise exception 'raised %', (n)::text using errcode = 'U0002';
        end if;
        for v11 in 0 .. 2 by 2 loop
            c := t like '%x%';
        end loop;
    exception
        when sqlstate 'U0001' then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            j := greatest(ar[1], (i % j));
            begin
                insert into g values (4, (p + (ar[1] - w.ga)), (r.gb * n), upper(s));
                begin
                    insert into g values (j, 1, 2, upper(s)) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
                    select g.ga into i from g where gk = 4;
                exception
                    when data_exception then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                        raise notice 'at % %', (q + p), (s || 100);
                    when raise_exception then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                        j := (r.ga - coalesce(p, ar[1]));
                    when no_data_found or too_many_rows then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                        s := substr(w.gt, -1, 3);
                        update g set ga = g.ga % 1000 + coalesce(w.ga, 7) % 1000, gb = g.gb + 1 where gk = 1 returning g.gk, g.ga, g.gb, g.gt into r;
                        perform g.ga from g where g.gk > i;
                end;
                if ar[i] in (1, 2, r.ga) then
                    i := (q * abs(p));
                elsif (not (q > 46341) or not (w.ga > -1)) then
                    update g set gt = coalesce(g.gt, '') || '+' where g.gk > i;
                else
                    l := length((m)::text);
                    get diagnostics l = row_count;
                    s := s || found;
                end if;
            exception
                when sqlstate 'U0001' then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                when division_by_zero or numeric_value_out_of_range then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                when unique_violation then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
            end;
        when division_by_zero or numeric_value_out_of_range then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            if r.ga is null then
                begin
                    perform g.ga from g where g.gk > p;
                    s := w.gt;
                    update g set ga = g.ga % 1000 + coalesce(i, 7) % 1000, gb = g.gb + 1 where gk = p returning g.gk, g.ga, g.gb, g.gt into r;
                exception
                    when data_exception then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                        update g set ga = g.ga % 1000 + coalesce(j, 7) % 1000, gb = g.gb + 1 where gk = i returning g.gk, g.ga, g.gb, g.gt into r;
                    when raise_exception then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                    when no_data_found or too_many_rows then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                        raise;
                end;
                if (w.ga is null and t like '%l%') then
                    if (i > 100 and p > 46341) then
                        return substr(w.gt, 2, 3);
                    end if;
                    raise notice 'at % %', (ar[i] + j), substr(s, 1, 3);
                    raise notice 'at % %', (case when w.ga > 7 then -1 else p end), (w.gb)::text;
                else
                    l := w.ga;
                end if;
            elsif ar[i] in (1, 2, q) then
                s := replace(t, 'x', 'yz');
            end if;
            l := abs(p);
        when unique_violation then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            get diagnostics l = row_count;
            s := s || found;
            if j >= i then
                return replace(w.gt, 'x', 'yz');
            end if;
    end;
    get diagnostics l = row_count;
    s := s || found;
    declare
        u12 int := 0;
    begin
        while u12 < 2 and (ar[1] is null) loop
            u12 := u12 + 1;
            select count(*), sum(g.ga % 1000) into l, m from g;
            exit when (u12 > -4 or r.gk > 7);
            begin
                update g set ga = g.ga % 1000 + coalesce(r.ga, 7) % 1000, gb = g.gb + 1 where gk = p returning g.gk, g.ga, g.gb, g.gt into r;
            exception
                when unique_violation or not_null_violation then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    begin
                        c := not (u12 >= u12);
                        delete from g where g.gk < i and g.ga > j;
                    exception
                        when data_exception then
                            s := s || sqlstate;
                            raise notice 'caught % %', sqlstate, sqlerrm;
                        when raise_exception then
                            s := s || sqlstate;
                            raise notice 'caught % %', sqlstate, sqlerrm;
                            update g set ga = g.ga % 1000 + coalesce(u12, 7) % 1000, gb = g.gb + 1 where gk = p returning g.gk, g.ga, g.gb, g.gt into r;
                            s := (w.gt || (ar[i] / u12));
                        when no_data_found or too_many_rows then
                            s := s || sqlstate;
                            raise notice 'caught % %', sqlstate, sqlerrm;
                            raise;
                    end;
                    for w in select * from g where g.gk > j - 3 order by g.gk desc loop
                        ar[3] := (i % 7);
                        l := greatest(u12, (u12 - w.ga));
                        get diagnostics l = row_count;
                        s := s || found;
                    end loop;
                    case i % 4
                    when 0 then
                        raise notice 'at % %', (u12 * r.ga), (n)::text;
                    when 1, 2 then
                        update g set ga = g.ga % 1000 + coalesce(u12, 7) % 1000, gb = g.gb + 1 where gk = 3 returning g.gk, g.ga, g.gb, g.gt into r;
                    when j then
                        exit when r.ga in (1, 2, r.ga);
                        s := (s || abs(ar[1]));
                    end case;
                when others then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
            end;
        end loop;
    end;
    declare
        u13 int := 0;
    begin
        while u13 < 1 and (ar[i] = w.ga) loop
            u13 := u13 + 1;
            select g.ga into i from g where gk = i;
        end loop;
    end;
    declare
        u14 int := 0;
    begin
        while u14 < 1 and ((r.ga > 2 and r.ga > -4)) loop
            u14 := u14 + 1;
            begin
                if u14 <> (ar[1] % i) then
                    insert into g values (5, (r.gk + abs(r.gk)), (r.gb + n), replace(w.gt, 'x', 'yz'));
                elsif r.gk in (1, 2, u14) then
                    get diagnostics l = row_count;
                    s := s || found;
                    update g set gt = coalesce(g.gt, '') || '+' where g.gk > p;
                    exit when (u14 > 2 or u14 > 7);
                else
                    l := (u14 + (u14 - ar[1]));
                    c := exists (select 1 from g where g.gk = j);
                end if;
            exception
                when sqlstate 'U0001' then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    i := (u14 % 7);
                    s := left(s, 1);
                    i := ar[i];
                when division_by_zero or numeric_value_out_of_range then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                when unique_violation then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    delete from g where g.gk < j and g.ga > j;
                    for v15 in 2 .. 4 by 2 loop
                        i := (v15 % 7);
                        c := exists (select 1 from g where g.gk = i);
                        exit when not (w.ga > 5);
                    end loop;
                    ar[5] := coalesce(u14, coalesce(u14, i));
            end;
            declare
                u16 int := 0;
            begin
                while u16 < 3 and (not (u14 > 100)) loop
                    u16 := u16 + 1;
                    for w in select * from g where g.gk > j - 3 order by g.gk desc loop
                        m := coalesce(n, (r.gb / m));
                        insert into g values (i, (ar[1] + length(w.gt)), (r.gb / n), upper(s));
                        select * into w from g where g.gk >= p order by g.gk;
                    end loop;
                    raise notice 'at % %', greatest(r.ga, 3), t;
                    case i % 4
                    when 0 then
                        raise notice 'at % %', length('lit'), (w.gt || ar[1]);
                        ar[2] := coalesce(ar[i], length(s));
                    when 1, 2 then
                        exit when ar[1] is null;
                        i := -1;
                        select max(g.gb), min(g.gk) into m, i from g where g.gk < p;
                    when j then
                        c := w.ga is null;
                    end case;
                end loop;
            end;
            begin
                case i % 4
                when 0 then
                    delete from g where gk = j returning * into w;
                    s := (coalesce(m, m))::text;
                when 1, 2 then
                    exit when u14 in (1, 2, p);
                    c := (j < q or t like '%4%');
                    j := (case when (u14 > 0 or j > 0) then greatest(q, 10) else u14 end);
                when j then
                    select g.ga, g.gt into strict i, s from g where gk = i;
                    if ar[i] > j then
                        raise exception 'raised %', upper(s) using errcode = 'U0002';
                    end if;
                else
                    select g.ga, g.gt into strict i, s from g where gk = i;
                    perform g.ga from g where g.gk > p;
                    delete from g where g.gk < i and g.ga > j;
                end case;
            exception
                when others then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    begin
                        c := exists (select 1 from g where g.gk = 0);
                        exit when u14 is null;
                    exception
                        when others then
                            s := s || sqlstate;
                            raise notice 'caught % %', sqlstate, sqlerrm;
                            select count(*), sum(g.ga % 1000) into l, m from g;
                            select max(g.gb), min(g.gk) into m, i from g where g.gk < p;
                            s := coalesce(s, (s || w.gt));
                    end;
                    continue when u14 is null;
                    l := 7;
            end;
        end loop;
    end;
    c := ((j > 1 and r.ga > 2147483647) or (w.ga > 10 or j > 1));
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f7(1, -4, 0, ' 7 ');
select f7(1, 46341, 1.5, '');
select f7(-1, 10, 1.5, null);
select * from g order by gk;

create function f8(p int, q int, n numeric, t text) returns text language plpgsql as $$
declare
    i int := 1;
    j int := q;
    m numeric(12,3) := n;
    s text := 'x';
    c boolean;
    l bigint := 3;
    ar int[] := array[4, 5, 6];
    r record;
    w g%rowtype;
begin
    select gk, ga, gb, gt into r from g where false;
    for v17 in 1 .. least(j, 4) loop
        m := (n - (ar[i] + j));
        c := r.gk < greatest(v17, v17);
    end loop;
    case i % 4
    when 0 then
        l := ar[i];
    when 1, 2 then
        l := i;
        perform g.ga from g where g.gk > 2;
    when j then
        l := r.ga;
        get diagnostics l = row_count;
        s := s || found;
        declare
            u18 int := 0;
        begin
            while u18 < 3 and ((q > 1 or ar[i] > 46341)) loop
                u18 := u18 + 1;
                s := (s || (u18 - -4));
                i := ar[1];
            end loop;
        end;
    else
        for v19 in 2 .. 2 by 2 loop
            c := t like '%4%';
            if not (v19 >= v19) then
                s := s;
                continue when v19 <> 2;
            else
                insert into g values (p, 1, 2, upper(s)) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
                continue when v19 < ar[i];
                select * into w from g where g.gk >= p order by g.gk;
            end if;
            case i % 4
            when 0 then
                update g set ga = g.ga % 1000 + coalesce(v19, 7) % 1000, gb = g.gb + 1 where gk = j returning g.gk, g.ga, g.gb, g.gt into r;
                s := left(t, 0);
            when 1, 2 then
                ar[3] := (v19 - (v19 + 1));
            when j then
                insert into g values (2, 1, 2, substr(s, 1, 3)) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
            else
                get diagnostics l = row_count;
                s := s || found;
            end case;
        end loop;
        ar[5] := (j + (r.ga + r.gk));
        insert into g values (i, abs(ar[i]), (m - 0), (w.gt || t));
    end case;
    raise notice 'at % %', (q + 100), substr(w.gt, 3, 3);
    ar[3] := coalesce(r.ga, (p / w.ga));
    insert into g values (p, 1, 2, coalesce(w.gt, r.gt)) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
    case i % 4
    when 0 then
        c := exists (select 1 from g where g.gk = i);
    when 1, 2 then
        declare
            u20 int := 0;
        begin
            while u20 < 2 and (i in (1, 2, q)) loop
                u20 := u20 + 1;
                raise notice 'at % %', u20, (n)::text;
                perform g.ga from g where g.gk > p;
            end loop;
        end;
    when j then
        for w in select * from g where g.gk > j - 3 order by g.gk loop
            case i % 4
            when 0 then
                l := 1;
                s := w.gt;
                raise notice 'at % %', length(t), w.gt;
            when 1, 2 then
                select count(*), sum(g.ga % 1000) into l, m from g;
            when j then
                s := coalesce(s, upper(t));
            else
                insert into g values (4, (w.ga * (i + q)), (r.gb + n), s);
            end case;
            get diagnostics l = row_count;
            s := s || found;
            if s like '%x%' then
                j := (case when (i > 5 and p > -1) then (i + -4) else r.gk end);
            end if;
        end loop;
        raise notice 'at % %', (j - p), r.gt;
    else
        ar[5] := (case when not (q > 3) then (r.gk / ar[i]) else r.ga end);
        declare
            u21 int := 0;
        begin
            while u21 < 3 and (not (i > 46341)) loop
                u21 := u21 + 1;
                s := upper(s);
            end loop;
        end;
    end case;
    get diagnostics l = row_count;
    s := s || found;
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f8(null, 5, 0, 'abc');
select f8(null, -1, 99.995, 'abc');
select f8(2, -1, 1.5, 'abc');
select * from g order by gk;

create function f9(p int, q int, n numeric, t text) returns text language plpgsql as $$
declare
    i int := 1;
    j int := q;
    m numeric(12,3) := n;
    s text := 'x';
    c boolean;
    l bigint := 3;
    ar int[] := array[4, 5, 6];
    r record;
    w g%rowtype;
begin
    select gk, ga, gb, gt into r from g where false;
    raise notice 'at % %', length('lit'), (t || ar[i]);
    case i % 4
    when 0 then
        declare
            u22 int := 0;
        begin
            while u22 < 3 and (i <= r.ga) loop
                u22 := u22 + 1;
                update g set ga = g.ga % 1000 + coalesce(u22, 7) % 1000, gb = g.gb + 1 where gk = p returning g.gk, g.ga, g.gb, g.gt into r;
                update g set ga = g.ga % 1000 + coalesce(u22, 7) % 1000, gb = g.gb + 1 where gk = i returning g.gk, g.ga, g.gb, g.gt into r;
            end loop;
        end;
        m := (m + (m + w.gb));
        m := (m + (r.gb - 7));
    when 1, 2 then
        declare
            u23 int := 0;
        begin
            while u23 < 1 and (q is null) loop
                u23 := u23 + 1;
                select max(g.gb), min(g.gk) into m, i from g where g.gk < p;
                for r in select g.gk, g.ga, g.gb, g.gt from g where g.ga <> 5 order by g.ga desc, g.gk loop
                    continue when not (i > 2147483647);
                    i := (ar[i] - u23);
                    continue when r.gk <> 2;
                end loop;
            end loop;
        end;
        if m between i and n then
            l := ((j % 3) / r.ga);
        elsif m between i and n then
            ar[3] := (case when i in (1, 2, ar[1]) then (case when q > 2147483647 then i else j end) else r.gk end);
        end if;
        begin
            get diagnostics l = row_count;
            s := s || found;
            begin
                insert into g values (j, length(coalesce(w.gt, s)), (m + w.gb), (w.gt || ar[1]));
                update g set ga = g.ga % 1000 + coalesce(ar[1], 7) % 1000, gb = g.gb + 1 where gk = p returning g.gk, g.ga, g.gb, g.gt into r;
                i := length(substr(s, 1, 3));
            exception
                when sqlstate 'U0001' then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    raise;
                when division_by_zero or numeric_value_out_of_range then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                when unique_violation then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
            end;
        exception
            when others then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                delete from g where gk = 4 returning * into w;
                s := coalesce(t, (w.gt || 'lit'));
        end;
    when j then
        for w in select * from g where g.gk > j - 3 order by g.gk desc loop
            ar[2] := (q % 7);
        end loop;
    end case;
    insert into g values (3, -1, (m + n), replace(w.gt, 'x', 'yz'));
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f9(2147483647, 7, 99.995, '42');
select f9(1, 2, 1000000.01, 'abc');
select f9(-1, null, 0, '');
select * from g order by gk;

create function f10(p int, q int, n numeric, t text) returns text language plpgsql as $$
declare
    i int := 1;
    j int := q;
    m numeric(12,3) := n;
    s text := 'x';
    c boolean;
    l bigint := 3;
    ar int[] := array[4, 5, 6];
    r record;
    w g%rowtype;
begin
    select gk, ga, gb, gt into r from g where false;
    raise notice 'at % %', j, replace(w.gt, 'x', 'yz');
    i := (ar[i] % 3);
    declare
        u24 int := 0;
    begin
        while u24 < 1 and (r.ga < 46341) loop
            u24 := u24 + 1;
            select count(*), sum(g.ga % 1000) into l, m from g;
            raise notice 'at % %', (u24 - q), (w.gt || w.gt);
        end loop;
    end;
    update g set ga = g.ga % 1000 + coalesce(j, 7) % 1000, gb = g.gb + 1 where gk = 1 returning g.gk, g.ga, g.gb, g.gt into r;
    if not (i > null) then
        return replace(w.gt, 'x', 'yz');
    end if;
    delete from g where gk = 4 returning * into w;
    if ((w.ga > 3 and r.gk > 1) and r.ga in (1, 2, r.gk)) then
        begin
            for r in select g.gk, g.ga, g.gb, g.gt from g where g.ga <> 5 order by g.ga, g.gk loop
                if (i > 7 and i > 46341) then
                    raise exception 'raised %', (t || t) using errcode = 'U0001';
                end if;
                delete from g where gk = p returning * into w;
            end loop;
        exception
            when data_exception then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                declare
                    u25 int := 0;
                begin
                    while u25 < 1 and ((r.gk > 2147483647 and ar[i] > 2147483647)) loop
                        u25 := u25 + 1;
                        continue when m between 1.5 and n;
                    end loop;
                end;
                if t like '%x%' then
                    raise notice 'at % %', abs(j), substr(t, 0, 3);
                elsif m between 1.5 and n then
                    get diagnostics l = row_count;
                    s := s || found;
                end if;
                for v26 in reverse 3 .. 0 loop
                    raise notice 'at % %', length('lit'), left(s, 1);
                    exit when i > 10;
                    get diagnostics l = row_count;
                    s := s || found;
                end loop;
            when raise_exception then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
            when no_data_found or too_many_rows then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                for v27 in -1 .. 0 by 2 loop
                    exit when v27 is null;
                end loop;
                declare
                    u28 int := 0;
                begin
                    while u28 < 1 and (i <> ar[i]) loop
                        u28 := u28 + 1;
                        s := coalesce(w.gt, t);
                    end loop;
                end;
                m := coalesce(m, round(r.gb, 2));
        end;
        s := s;
    elsif j is null then
        begin
            select count(*), sum(g.ga % 1000) into l, m from g;
        exception
            when sqlstate 'U0001' then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                ar[1] := (p + (ar[1] / r.ga));
                case i % 4
                when 0 then
                    raise notice 'at % %', p, w.gt;
                when 1, 2 then
                    begin
                        c := not (s like '%4%');
                        get diagnostics l = row_count;
                        s := s || found;
                    exception
                        when data_exception then
                            s := s || sqlstate;
                            raise notice 'caught % %', sqlstate, sqlerrm;
                            begin
                                if not (j > 2147483647) then
                                    return (w.gt || i);
                                end if;
                                j := greatest(q, coalesce(r.ga, r.gk));
                            exception
                                when unique_violation or not_null_violation then
                                    s := s || sqlstate;
                                    raise notice 'caught % %', sqlstate, sqlerrm;
                                    insert into g values (p, (r.ga * coalesce(i, r.ga)), round(n, 2), left(w.gt, -2));
                                when others then
                                    s := s || sqlstate;
                                    raise notice 'caught % %', sqlstate, sqlerrm;
                                    insert into g values (j, greatest(ar[i], (case when r.gk > -1 then 5 else ar[1] end)), (r.gb + w.gb), left(t, 0));
                            end;
                            j := abs(w.ga);
                        when raise_exception then
                            s := s || sqlstate;
                            raise notice 'caught % %', sqlstate, sqlerrm;
                        when no_data_found or too_many_rows then
                            s := s || sqlstate;
                            raise notice 'caught % %', sqlstate, sqlerrm;
                            raise;
                    end;
                    insert into g values (i, (ar[i] % i), coalesce(m, m), (s || q));
                when j then
                    insert into g values (p, (coalesce(ar[i], r.ga) / w.ga), coalesce(n, n), upper(w.gt));
                else
                    m := (r.gb * (r.gb + w.gb));
                    ar[3] := q;
                end case;
                for v29 in 0 .. 3 by 2 loop
                    j := abs(v29);
                end loop;
            when division_by_zero or numeric_value_out_of_range then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
            when unique_violation then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
        end;
        i := abs(ar[1]);
    end if;
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f10(7, 5, -2.25, ' 7 ');
select f10(100, 10, -2.25, '42');
select f10(100, -1, null, '42');
select * from g order by gk;

create function f11(p int, q int, n numeric, t text) returns text language plpgsql as $$
declare
    i int := 1;
    j int := q;
    m numeric(12,3) := n;
    s text := 'x';
    c boolean;
    l bigint := 3;
    ar int[] := array[4, 5, 6];
    r record;
    w g%rowtype;
begin
    select gk, ga, gb, gt into r from g where false;
    if m between 1.5 and n then
        i := (q - ((j * ar[1]) / ar[i]));
    else
        if m between 0 and n then
            return (n)::text;
        end if;
        declare
            u30 int := 0;
        begin
            while u30 < 3 and ((q > 10 and r.gk > 3)) loop
                u30 := u30 + 1;
                for w in select * from g where g.gk > j - 3 order by g.gk loop
                    s := (t || (p / ar[1]));
                    s := (w.gt || (i + 2147483647));
                end loop;
            end loop;
        end;
        declare
            u31 int := 0;
        begin
            while u31 < 3 and (r.ga <> ar[i]) loop
                u31 := u31 + 1;
                for v32 in -1 .. least(j, 0) loop
                    raise notice 'at % %', u31, substr(s, 1, 3);
                    get diagnostics l = row_count;
                    s := s || found;
                    delete from g where gk = i returning * into w;
                end loop;
                m := (m / (r.gb + m));
            end loop;
        end;
    end if;
    begin
        case i % 4
        when 0 then
            if not ((ar[1] > 5 and ar[1] > 7)) then
                s := left(t, 3);
                select * into w from g where g.gk >= 1 order by g.gk;
            else
                m := (n + coalesce(m, n));
                l := (i / w.ga);
                select g.ga, g.gt into strict i, s from g where gk = j;
            end if;
            update g set gt = coalesce(g.gt, '') || '+' where g.gk > p;
            c := j <> (r.ga % j);
        when 1, 2 then
            l := r.ga;
            case i % 4
            when 0 then
                if s like '%4%' then
                    return (w.gt || w.gt);
                end if;
                if m between i and n then
                    return t;
                end if;
                insert into g values (1, 1, 2, substr(s, 1, 3)) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
            when 1, 2 then
                if q is null then
                    return upper(t);
                end if;
                s := substr(w.gt, -1, 3);
            when j then
                select count(*), sum(g.ga % 1000) into l, m from g;
                get diagnostics l = row_count;
                s := s || found;
            else
                get diagnostics l = row_count;
                s := s || found;
            end case;
            insert into g values (p, (p + (j + r.ga)), round(r.gb, 2), 'lit');
        when j then
            begin
                delete from g where g.gk < p and g.ga > j;
            exception
                when others then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
            end;
        else
            if m between i and n then
                perform g.ga from g where g.gk > i;
            end if;
        end case;
        raise notice 'at % %', abs(j), (s || i);
    exception
        when others then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            if (q > -4 and w.ga > 7) then
                return coalesce(t, s);
            end if;
            begin
                ar[3] := (q + r.gk);
                begin
                    select max(g.gb), min(g.gk) into m, i from g where g.gk < i;
                exception
                    when data_exception then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                        c := s like '%l%';
                        update g set ga = g.ga % 1000 + coalesce(ar[1], 7) % 1000, gb = g.gb + 1 where gk = p returning g.gk, g.ga, g.gb, g.gt into r;
                        perform g.ga from g where g.gk > j;
                    when raise_exception then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                        insert into g values (i, (ar[i] * (p * w.ga)), (r.gb / w.gb), (r.gb)::text);
                        c := ar[i] in (1, 2, ar[i]);
                        get diagnostics l = row_count;
                        s := s || found;
                    when no_data_found or too_many_rows then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                        raise;
                end;
                update g set ga = g.ga % 1000 + coalesce(i, 7) % 1000, gb = g.gb + 1 where gk = j returning g.gk, g.ga, g.gb, g.gt into r;
            exception
                when data_exception then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    raise;
                when raise_exception then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                when no_data_found or too_many_rows then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    raise;
            end;
            get diagnostics l = row_count;
            s := s || found;
    end;
    if r.ga >= (p / ar[1]) then
        begin
            delete from g where gk = i returning * into w;
            select count(*), sum(g.ga % 1000) into l, m from g;
        exception
            when unique_violation or not_null_violation then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                if i in (1, 2, i) then
                    get diagnostics l = row_count;
                    s := s || found;
                    get diagnostics l = row_count;
                    s := s || found;
                    update g set gt = coalesce(g.gt, '') || '+' where g.gk > 5;
                elsif r.gk is null then
                    raise notice 'at % %', abs(q), (t || t);
                    insert into g values (0, 1, 2, coalesce(t, t)) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
                end if;
                for v33 in 2 .. least(j, 2) loop
                    get diagnostics l = row_count;
                    s := s || found;
                end loop;
                for v34 in 0 .. least(j, 3) loop
                    get diagnostics l = row_count;
                    s := s || found;
                end loop;
            when others then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                raise notice 'at % %', coalesce(j, ar[1]), substr(t, -1, 3);
                select g.ga into i from g where gk = j;
        end;
        if j >= -1 then
            return s;
        end if;
    elsif (m between 0 and n and (ar[i] > null and j > 7)) then
        raise notice 'at % %', (j - r.gk), replace(t, 'x', 'yz');
    else
        raise notice 'at % %', (-1 / p), upper(s);
        select g.ga into i from g where gk = p;
        s := coalesce(w.gt, left(t, -1));
    end if;
    for v35 in -2 .. -1 by 2 loop
        s := (w.gt || (v35 + 100));
        c := v35 <= (v35 - i);
        c := p < (j / r.ga);
    end loop;
    declare
        u36 int := 0;
    begin
        while u36 < 1 and (i <> r.gk) loop
            u36 := u36 + 1;
            l := (u36 % 3);
            if (u36 in (1, 2, u36) or m between 1.5 and n) then
                for i, s in select g.gk, g.gt from g order by g.gk limit 3 loop
                    s := upper(s);
                    raise notice 'at % %', coalesce(i, 100), coalesce(w.gt, t);
                    c := (t like '%l%' and ar[1] is null);
                end loop;
            elsif u36 <> (u36 - u36) then
                insert into g values (2, abs(u36), coalesce(r.gb, m), replace(t, 'x', 'yz'));
            else
                update g set ga = g.ga % 1000 + coalesce(r.gk, 7) % 1000, gb = g.gb + 1 where gk = j returning g.gk, g.ga, g.gb, g.gt into r;
                update g set ga = g.ga % 1000 + coalesce(u36, 7) % 1000, gb = g.gb + 1 where gk = p returning g.gk, g.ga, g.gb, g.gt into r;
                update g set gt = coalesce(g.gt, '') || '+' where g.gk > 5;
            end if;
        end loop;
    end;
    raise notice 'at % %', coalesce(w.ga, 10), left(s, 1);
    begin
        perform g.ga from g where g.gk > j;
    exception
        when sqlstate 'U0001' then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
        when division_by_zero or numeric_value_out_of_range then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
        when unique_violation then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            raise notice 'at % %', r.ga, coalesce(s, 'lit');
            j := abs(ar[i]);
            begin
                j := (w.ga % i);
                for i, s in select g.gk, g.gt from g order by g.gk limit 3 loop
                    delete from g where g.gk < i and g.ga > j;
                    exit when t like '%4%';
                    get diagnostics l = row_count;
                    s := s || found;
                end loop;
            exception
                when sqlstate 'U0001' then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    update g set ga = g.ga % 1000 + coalesce(j, 7) % 1000, gb = g.gb + 1 where gk = p returning g.gk, g.ga, g.gb, g.gt into r;
                    declare
                        u37 int := 0;
                    begin
                        while u37 < 1 and (w.ga = q) loop
                            u37 := u37 + 1;
                            perform g.ga from g where g.gk > j;
                        end loop;
                    end;
                    begin
                        select g.ga, g.gt into strict i, s from g where gk = j;
                    exception
                        when data_exception then
                            s := s || sqlstate;
                            raise notice 'caught % %', sqlstate, sqlerrm;
                            raise;
                        when raise_exception then
                            s := s || sqlstate;
                            raise notice 'caught % %', sqlstate, sqlerrm;
                            raise;
                        when no_data_found or too_many_rows then
                            s := s || sqlstate;
                            raise notice 'caught % %', sqlstate, sqlerrm;
                            raise;
                    end;
                when division_by_zero or numeric_value_out_of_range then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    s := replace(w.gt, 'x', 'yz');
                    select * into w from g where g.gk >= 5 order by g.gk;
                    m := (r.gb * (m + m));
                when unique_violation then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    raise;
            end;
    end;
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f11(-4, 0, 99.995, null);
select f11(10, 5, 0, 'Hello World');
select f11(2, 2, 1.5, 'abc');
select * from g order by gk;

create function f12(p int, q int, n numeric, t text) returns text language plpgsql as $$
declare
    i int := 1;
    j int := q;
    m numeric(12,3) := n;
    s text := 'x';
    c boolean;
    l bigint := 3;
    ar int[] := array[4, 5, 6];
    r record;
    w g%rowtype;
begin
    select gk, ga, gb, gt into r from g where false;
    s := r.gt;
    begin
        i := (j / w.ga);
        insert into g values (i, (coalesce(w.ga, ar[i]) / q), round(r.gb, 1), upper(w.gt));
        update g set ga = g.ga % 1000 + coalesce(i, 7) % 1000, gb = g.gb + 1 where gk = 0 returning g.gk, g.ga, g.gb, g.gt into r;
    exception
        when sqlstate 'U0001' then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
        when division_by_zero or numeric_value_out_of_range then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            i := (r.gk + r.ga);
        when unique_violation then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            s := (round(m, 1))::text;
            raise notice 'at % %', (case when ar[1] > 3 then p else ar[i] end), substr(t, 2, 3);
            if i <> j then
                return (w.gb)::text;
            end if;
    end;
    if m between 1.5 and n then
        return left(s, 2);
    end if;
    insert into g values (p, coalesce(i, length(r.gt)), (m * 1.25), (w.gb)::text);
    select g.ga, g.gt into strict i, s from g where gk = 0;
    declare
        u38 int := 0;
    begin
        while u38 < 2 and ((w.ga > 2 or q > -1)) loop
            u38 := u38 + 1;
            s := (s || coalesce(t, w.gt));
            exit when not (u38 > 5);
            select count(*), sum(g.ga % 1000) into l, m from g;
        end loop;
    end;
    for r in select g.gk, g.ga, g.gb, g.gt from g where g.ga <> 5 order by g.ga desc, g.gk loop
        i := (i % j);
        select g.ga into i from g where gk = p;
    end loop;
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f12(-1, 1, 99.995, 'Hello World');
select f12(1, 2147483647, -2.25, ' 7 ');
select f12(2147483647, 2147483647, 0, ' 7 ');
select * from g order by gk;


-- Made from seed 5 by sql/src/tests/procedures.rs.
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
    insert into g values (i, (ar[1] * coalesce(w.ga, 100)), (n + m), replace(s, 'x', 'yz'));
    if not (t like '%l%') then
        for v1 in 0 .. 2 by 2 loop
            update g set gt = coalesce(g.gt, '') || '+' where g.gk > p;
            begin
                raise notice 'at % %', abs(v1), 'lit';
                delete from g where gk = i returning * into w;
                s := ((n + n))::text;
            exception
                when sqlstate 'U0001' then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    raise;
                when division_by_zero or numeric_value_out_of_range then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    get diagnostics l = row_count;
                    s := s || found;
                when unique_violation then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
            end;
            update g set gt = coalesce(g.gt, '') || '+' where g.gk > 3;
        end loop;
        ar[5] := (j * -1);
    end if;
    delete from g where gk = p returning * into w;
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f1(7, 1, 0, 'abc');
select f1(7, 5, 99.995, 'Hello World');
select f1(1, -1, 1.5, '42');
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
    raise notice 'at % %', coalesce(ar[i], q), (1.25)::text;
    m := (n + (n + m));
    if s like '%4%' then
        for v2 in 1 .. least(j, 1) loop
            if m between 1.5 and n then
                raise notice 'at % %', abs(v2), upper(s);
                continue when j >= v2;
                get diagnostics l = row_count;
                s := s || found;
            end if;
            if v2 <= abs(r.gk) then
                delete from g where gk = i returning * into w;
                select g.ga, g.gt into strict i, s from g where gk = p;
            elsif m between 1.5 and n then
                j := (v2 + (p + r.gk));
                m := 1.25;
            else
                c := t like '%x%';
            end if;
        end loop;
        i := (p - (ar[i] * (i % i)));
        if ((ar[i] > 0 and j > -4) or j = i) then
            get diagnostics l = row_count;
            s := s || found;
            l := (q + abs(q));
        end if;
    elsif ar[i] is null then
        if (w.ga > 0 or i > 46341) then
            return upper(s);
        end if;
    else
        if p >= i then
            return (m)::text;
        end if;
    end if;
    c := j <= (case when p > 3 then p else ar[1] end);
    if r.gk = (q / r.gk) then
        for v3 in reverse 5 .. 2 loop
            get diagnostics l = row_count;
            s := s || found;
            i := (case when t like '%x%' then (v3 + length(s)) else p end);
            for v4 in 0 .. 3 by 2 loop
                delete from g where gk = i returning * into w;
            end loop;
        end loop;
        i := (w.ga + (length(s) / q));
        insert into g values (p, (w.ga % 7), (r.gb * n), (w.gt || 'lit'));
    elsif w.ga is null then
        declare
            u5 int := 0;
        begin
            while u5 < 3 and (t like '%l%') loop
                u5 := u5 + 1;
                declare
                    u6 int := 0;
                begin
                    while u6 < 1 and ((p > 100 and u5 > 100)) loop
                        u6 := u6 + 1;
                        exit when i is null;
                        select count(*), sum(g.ga % 1000) into l, m from g;
                        update g set ga = g.ga % 1000 + coalesce(u6, 7) % 1000, gb = g.gb + 1 where gk = j returning g.gk, g.ga, g.gb, g.gt into r;
                    end loop;
                end;
                case i % 4
                when 0 then
                    raise notice 'at % %', abs(r.ga), replace(s, 'x', 'yz');
                    perform g.ga from g where g.gk > p;
                    update g set gt = coalesce(g.gt, '') || '+' where g.gk > p;
                when 1, 2 then
                    m := n;
                    ar[5] := length((s || s));
                    insert into g values (p, (case when (w.ga > -4 and u5 > 2) then u5 else u5 end), (r.gb + n), coalesce(s, r.gt));
                when j then
                    exit when not (u5 > 7);
                    c := exists (select 1 from g where g.gk = j);
                    ar[3] := (p % j);
                else
                    l := (u5 - (case when i > 10 then u5 else u5 end));
                    get diagnostics l = row_count;
                    s := s || found;
                end case;
                for v7 in 0 .. least(j, 1) loop
                    m := m;
                    delete from g where g.gk < p and g.ga > j;
                    delete from g where gk = 1 returning * into w;
                end loop;
            end loop;
        end;
    end if;
    l := coalesce(p, (ar[i] % i));
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f2(3, 7, null, null);
select f2(null, null, -2.25, 'Hello World');
select f2(5, 2147483647, 99.995, '');
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
    insert into g values (3, (r.gk + 5), coalesce(n, m), (s || null));
    insert into g values (4, length(upper(t)), coalesce(n, n), left(w.gt, 1));
    delete from g where gk = j returning * into w;
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f3(1, 2147483647, 1000000.01, '42');
select f3(7, 1, null, null);
select f3(-1, 5, null, 'abc');
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
    if q in (1, 2, ar[1]) then
        return coalesce(w.gt, r.gt);
    end if;
    raise notice 'at % %', (r.gk + ar[i]), substr(w.gt, 0, 3);
    begin
        l := length(coalesce(t, t));
        declare
            u8 int := 0;
        begin
            while u8 < 1 and (i <> ar[i]) loop
                u8 := u8 + 1;
                m := (n + (r.gb * w.gb));
                j := (u8 + (u8 % 3));
                raise notice 'at % %', (u8 + q), (s || t);
            end loop;
        end;
        m := (n + w.gb);
    exception
        when data_exception then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            if j is null then
                return (m)::text;
            end if;
        when raise_exception then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
        when no_data_found or too_many_rows then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
    end;
    if t like '%x%' then
        return (t || 2);
    end if;
    perform g.ga from g where g.gk > p;
    select g.ga into i from g where gk = p;
    declare
        u9 int := 0;
    begin
        while u9 < 2 and (q <> 1) loop
            u9 := u9 + 1;
            update g set ga = g.ga % 1000 + coalesce(ar[1], 7) % 1000, gb = g.gb + 1 where gk = p returning g.gk, g.ga, g.gb, g.gt into r;
            case i % 4
            when 0 then
                begin
                    get diagnostics l = row_count;
                    s := s || found;
                    select * into w from g where g.gk >= 1 order by g.gk;
                exception
                    when sqlstate 'U0001' then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                        select * into w from g where g.gk >= i order by g.gk;
                    when division_by_zero or numeric_value_out_of_range then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                    when unique_violation then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                        raise;
                end;
                for w in select * from g where g.gk > j - 3 order by g.gk loop
                    ar[1] := abs(i);
                end loop;
            when 1, 2 then
                declare
                    u10 int := 0;
                begin
                    while u10 < 2 and (t like '%4%') loop
                        u10 := u10 + 1;
                        l := 100;
                        perform g.ga from g where g.gk > i;
                        i := -1;
                    end loop;
                end;
                insert into g values (j, 1, 2, substr(s, 1, 3)) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
            when j then
                begin
                    j := u9;
                    ar[3] := (u9 * coalesce(r.gk, q));
                    select max(g.gb), min(g.gk) into m, i from g where g.gk < j;
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
                perform g.ga from g where g.gk > i;
            else
                raise notice 'at % %', (2147483647 / ar[1]), (t || u9);
                raise notice 'at % %', (u9 + 10), coalesce(w.gt, t);
            end case;
        end loop;
    end;
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f4(46341, 10, 99.995, ' 7 ');
select f4(-4, 5, 0, 'abc');
select f4(5, -1, 1000000.01, '42');
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
    s := upper(t);
    get diagnostics l = row_count;
    s := s || found;
    insert into g values (p, (r.gk % 3), (r.gb / w.gb), coalesce(s, t));
    get diagnostics l = row_count;
    s := s || found;
    select g.ga into i from g where gk = p;
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f5(1, 100, null, 'Hello World');
select f5(100, 1, 0, 'abc');
select f5(3, 0, 99.995, 'Hello World');
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
    j := abs(i);
    j := coalesce(j, (r.ga - j));
    l := (r.ga % 7);
    for v11 in 2 .. 5 by 2 loop
        for v12 in reverse 1 .. -1 loop
            j := 10;
            perform g.ga from g where g.gk > i;
            insert into g values (p, (case when not (r.gk > null) then (case when ar[i] > 10 then 0 else v11 end) else r.gk end), (r.gb * n), (s || r.gk));
        end loop;
        continue when v11 <= v11;
        get diagnostics l = row_count;
        s := s || found;
    end loop;
    raise notice 'at % %', i, coalesce(s, r.gt);
    begin
        case i % 4
        when 0 then
            if j is null then
                i := length('lit');
                insert into g values (i, ar[i], coalesce(r.gb, w.gb), 'lit');
                if (r.gk > -4 or j > 46341) then
                    raise exception 'raised %', replace(t, 'x', 'yz') using errcode = '22012';
                end if;
            else
                i := abs(i);
            end if;
            begin
                get diagnostics l = row_count;
                s := s || found;
                i := (coalesce(r.ga, 0) / i);
            exception
                when data_exception then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    if i <> j then
                        raise exception 'raised %', coalesce(w.gt, 'lit') using errcode = '22012';
                    end if;
                    m := n;
                when raise_exception then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                when no_data_found or too_many_rows then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
            end;
            if i in (1, 2, j) then
                raise exception 'raised %', coalesce(t, s) using errcode = '22012';
            end if;
        when 1, 2 then
            if (m between 0 and n and i = 7) then
                if t like '%x%' then
                    raise exception 'raised %', (w.gb)::text using errcode = 'P0001';
                end if;
                ar[2] := abs(i);
                insert into g values (p, ((case when r.gk > -1 then w.ga else ar[i] end) / r.ga), (n / n), (t || s));
            else
                if (p > -4 or j > 0) then
                    return left(s, 3);
                end if;
            end if;
            l := (w.ga % 3);
            update g set gt = coalesce(g.gt, '') || '+' where g.gk > p;
        when j then
            if p > q then
                return (w.gt || ar[1]);
            end if;
            for v13 in 2 .. least(j, 4) loop
                l := (ar[1] + i);
            end loop;
        else
            insert into g values (j, 5, w.gb, (t || s));
            perform g.ga from g where g.gk > p;
            if m between i and n then
                return (w.gt || 3);
            end if;
        end case;
        begin
            update g set ga = g.ga % 1000 + coalesce(p, 7) % 1000, gb = g.gb + 1 where gk = j returning g.gk, g.ga, g.gb, g.gt into r;
        exception
            when others then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                select g.ga into i from g where gk = 3;
                update g set gt = coalesce(g.gt, '') || '+' where g.gk > 2;
        end;
    exception
        when unique_violation or not_null_violation then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            insert into g values (2, 5, (n * 1.25), (w.gt || 1));
            insert into g values (2, j, (r.gb - j), (t || w.gt));
        when others then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
    end;
    delete from g where gk = i returning * into w;
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f6(1, 0, 0, 'abc');
select f6(null, 100, 0, ' 7 ');
select f6(null, 1, 1000000.01, '42');
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
    s := s;
    begin
        i := (case when ar[1] >= (r.gk % i) then r.gk else q end);
    exception
        when sqlstate 'U0001' then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            for w in select * from g where g.gk > j - 3 order by g.gk loop
                get diagnostics l = row_count;
                s := s || found;
                select count(*), sum(g.ga % 1000) into l, m from g;
            end loop;
        when division_by_zero or numeric_value_out_of_range then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            i := ((q + (j + w.ga)) / r.ga);
            insert into g values (p, r.gk, (m - p), replace(w.gt, 'x', 'yz'));
            c := exists (select 1 from g where g.gk = p);
        when unique_violation then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            raise;
    end;
    get diagnostics l = row_count;
    s := s || found;
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f7(2, 46341, -2.25, null);
select f7(1, -4, -2.25, 'Hello World');
select f7(3, -1, 99.995, '42');
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
    s := (round(n, 1))::text;
    raise notice 'at % %', length(r.gt), coalesce(s, r.gt);
    raise notice 'at % %', abs(q), coalesce(w.gt, t);
    perform g.ga from g where g.gk > j;
    insert into g values (j, coalesce(r.ga, (r.ga - r.ga)), (m + r.gb), t);
    select max(g.gb), min(g.gk) into m, i from g where g.gk < p;
    begin
        c := (w.ga = q or j < j);
        get diagnostics l = row_count;
        s := s || found;
        select count(*), sum(g.ga % 1000) into l, m from g;
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
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f8(-4, 7, 0, null);
select f8(1, 46341, 1.5, 'Hello World');
select f8(7, -1, 0, ' 7 ');
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
    raise notice 'at % %', length(t), coalesce(w.gt, w.gt);
    begin
        case i % 4
        when 0 then
            declare
                u14 int := 0;
            begin
                while u14 < 1 and ((ar[1] > 10 and p > null)) loop
                    u14 := u14 + 1;
                    s := substr(t, 3, 3);
                end loop;
            end;
        when 1, 2 then
            m := (m + round(r.gb, 2));
            if w.ga is null then
                raise exception 'raised %', left(w.gt, 3) using errcode = 'U0001';
            end if;
            case i % 4
            when 0 then
                update g set ga = g.ga % 1000 + coalesce(w.ga, 7) % 1000, gb = g.gb + 1 where gk = p returning g.gk, g.ga, g.gb, g.gt into r;
                select g.ga, g.gt into strict i, s from g where gk = p;
            when 1, 2 then
                insert into g values (p, ((case when q > 100 then i else ar[1] end) / p), (m + n), substr(w.gt, -1, 3));
                if ar[i] <> ar[i] then
                    raise exception 'raised %', (w.gt || ar[1]) using errcode = 'U0002';
                end if;
            when j then
                ar[3] := (j + (i + ar[1]));
            else
                s := substr(s, 0, 3);
                j := (i - (q + ar[1]));
            end case;
        when j then
            insert into g values (j, 1, 2, substr(s, 0, 3)) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
            m := (m * (n / m));
            if not (not (i > -4)) then
                delete from g where g.gk < p and g.ga > j;
            elsif s like '%x%' then
                if (j > 1 and j > 1) then
                    raise exception 'raised %', coalesce(w.gt, s) using errcode = 'P0001';
                end if;
            end if;
        end case;
        if not (r.gk > 3) then
            raise exception 'raised %', upper(w.gt) using errcode = 'P0001';
        end if;
        case i % 4
        when 0 then
            if i <> (w.ga + 10) then
                update g set gt = coalesce(g.gt, '') || '+' where g.gk > i;
                s := 'lit';
                raise notice 'at % %', length(s), (m)::text;
            elsif (q is null and ar[i] <> p) then
                s := coalesce(w.gt, left(s, 3));
            end if;
            c := exists (select 1 from g where g.gk = 2);
        when 1, 2 then
            for w in select * from g where g.gk > j - 3 order by g.gk loop
                get diagnostics l = row_count;
                s := s || found;
            end loop;
            if ar[1] in (1, 2, ar[i]) then
                j := length(replace(s, 'x', 'yz'));
                ar[5] := (case when ar[1] in (1, 2, j) then (ar[1] % j) else ar[i] end);
            elsif w.ga is null then
                s := upper(t);
                if (p > 46341 or j > 7) then
                    raise exception 'raised %', (w.gb)::text using errcode = '22012';
                end if;
            else
                select max(g.gb), min(g.gk) into m, i from g where g.gk < p;
            end if;
        when j then
            if q <= 2147483647 then
                return (m)::text;
            end if;
        else
            raise notice 'at % %', greatest(ar[i], 5), coalesce(w.gt, s);
            if r.ga in (1, 2, p) then
                delete from g where g.gk < p and g.ga > j;
                if s like '%4%' then
                    return (s || -1);
                end if;
                select g.ga into i from g where gk = i;
            elsif m between 0 and n then
                raise notice 'at % %', length(s), (s || i);
                perform g.ga from g where g.gk > j;
            end if;
        end case;
    exception
        when sqlstate 'U0001' then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            if (p is null and i = 5) then
                ar[2] := coalesce(p, length(s));
            else
                if (i in (1, 2, ar[i]) and r.gk is null) then
                    c := exists (select 1 from g where g.gk = j);
                    if (p > 46341 and ar[1] > 3) then
                        return (w.gt || j);
                    end if;
                    update g set ga = g.ga % 1000 + coalesce(r.gk, 7) % 1000, gb = g.gb + 1 where gk = i returning g.gk, g.ga, g.gb, g.gt into r;
                end if;
                c := m between 0 and n;
                case i % 4
                when 0 then
                    l := (q - (j * 2147483647));
                    select g.ga into i from g where gk = 4;
                    l := (q % 7);
                when 1, 2 then
                    m := (n * round(r.gb, 2));
                when j then
                    begin
                        insert into g values (1, 1, 2, (s || r.gk)) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
                        c := not (j in (1, 2, j));
                    exception
                        when unique_violation or not_null_violation then
                            s := s || sqlstate;
                            raise notice 'caught % %', sqlstate, sqlerrm;
                            c := r.ga > greatest(w.ga, p);
                        when others then
                            s := s || sqlstate;
                            raise notice 'caught % %', sqlstate, sqlerrm;
                    end;
                    s := (w.gt || (i + 3));
                else
                    m := round(n, 1);
                end case;
            end if;
            s := coalesce(s, left(w.gt, 0));
            select max(g.gb), min(g.gk) into m, i from g where g.gk < j;
        when division_by_zero or numeric_value_out_of_range then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            begin
                begin
                    if ar[1] > 0 then
                        return (t || null);
                    end if;
                    get diagnostics l = row_count;
                    s := s || found;
                exception
                    when others then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                end;
                delete from g where gk = 2 returning * into w;
                if (m between 0 and n or ar[1] <= r.gk) then
                    select * into w from g where g.gk >= p order by g.gk;
                    raise notice 'at % %', length(s), coalesce(w.gt, s);
                elsif (r.ga < r.gk and i = r.gk) then
                    j := (ar[1] % 7);
                    c := w.ga <= (q * 3);
                    insert into g values (j, (ar[i] + (i + ar[1])), (m + r.gb), (w.gt || 'lit'));
                else
                    delete from g where g.gk < 0 and g.ga > j;
                    m := (m / (r.gb * m));
                end if;
            exception
                when sqlstate 'U0001' then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    update g set ga = g.ga % 1000 + coalesce(q, 7) % 1000, gb = g.gb + 1 where gk = p returning g.gk, g.ga, g.gb, g.gt into r;
                    if p in (1, 2, w.ga) then
                        return s;
                    end if;
                    insert into g values (5, (case when r.ga <> r.ga then (p * p) else p end), (r.gb * m), t);
                when division_by_zero or numeric_value_out_of_range then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    select * into w from g where g.gk >= 3 order by g.gk;
                    get diagnostics l = row_count;
                    s := s || found;
                    for r in select g.gk, g.ga, g.gb, g.gt from g where g.ga <> 5 order by g.ga desc, g.gk loop
                        select g.ga, g.gt into strict i, s from g where gk = j;
                        get diagnostics l = row_count;
                        s := s || found;
                        exit when (ar[1] > 0 and j > 5);
                    end loop;
                when unique_violation then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
            end;
            begin
                if r.gk <> (j + i) then
                    if r.gk in (1, 2, w.ga) then
                        return upper(w.gt);
                    end if;
                end if;
                select * into w from g where g.gk >= p order by g.gk;
                delete from g where gk = p returning * into w;
            exception
                when data_exception then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                when raise_exception then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    raise;
                when no_data_found or too_many_rows then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    for r in select g.gk, g.ga, g.gb, g.gt from g where g.ga <> 5 order by g.ga, g.gk loop
                        select g.ga into i from g where gk = i;
                    end loop;
                    select count(*), sum(g.ga % 1000) into l, m from g;
            end;
            begin
                i := (r.gk + (i - (ar[1] * ar[1])));
                i := j;
                case i % 4
                when 0 then
                    if j in (1, 2, j) then
                        return substr(t, 0, 3);
                    end if;
                when 1, 2 then
                    update g set gt = coalesce(g.gt, '') || '+' where g.gk > j;
                    if ar[1] is null then
                        return left(w.gt, 0);
                    end if;
                    if w.ga <= -1 then
                        return (t || s);
                    end if;
                when j then
                    ar[5] := (r.gk % i);
                end case;
            exception
                when data_exception then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                when raise_exception then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    raise;
                when no_data_found or too_many_rows then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
            end;
        when unique_violation then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            m := (n / coalesce(r.gb, n));
    end;
    s := replace(t, 'x', 'yz');
    if ar[i] <= (r.ga % 3) then
        get diagnostics l = row_count;
        s := s || found;
        case i % 4
        when 0 then
            select max(g.gb), min(g.gk) into m, i from g where g.gk < j;
            for v15 in 1 .. 2 by 2 loop
                raise notice 'at % %', (v15 + q), substr(t, 3, 3);
                c := exists (select 1 from g where g.gk = 2);
                raise notice 'at % %', 7, upper(t);
            end loop;
            get diagnostics l = row_count;
            s := s || found;
        when 1, 2 then
            begin
                get diagnostics l = row_count;
                s := s || found;
            exception
                when unique_violation or not_null_violation then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                when others then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    begin
                        if not (r.ga > 1) then
                            raise exception 'raised %', substr(w.gt, 3, 3) using errcode = 'U0002';
                        end if;
                    exception
                        when others then
                            s := s || sqlstate;
                            raise notice 'caught % %', sqlstate, sqlerrm;
                            begin
                                l := greatest(q, abs(w.ga));
                            exception
                                when others then
                                    s := s || sqlstate;
                                    raise notice 'caught % %', sqlstate, sqlerrm;
                                    raise notice 'at % %', coalesce(w.ga, ar[1]), 'lit';
                                    s := upper(w.gt);
                                    insert into g values (j, 1, 2, coalesce(t, s)) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
                            end;
                            c := exists (select 1 from g where g.gk = 0);
                            get diagnostics l = row_count;
                            s := s || found;
                    end;
            end;
            for i, s in select g.gk, g.gt from g order by g.gk desc limit 3 loop
                c := r.ga <= (i * 100);
                update g set ga = g.ga % 1000 + coalesce(i, 7) % 1000, gb = g.gb + 1 where gk = j returning g.gk, g.ga, g.gb, g.gt into r;
                c := i >= r.ga;
            end loop;
        when j then
            if w.ga is null then
                if not (j > 3) then
                    return (m)::text;
                end if;
            end if;
            get diagnostics l = row_count;
            s := s || found;
        end case;
        begin
            get diagnostics l = row_count;
            s := s || found;
            s := coalesce(s, left(t, 1));
        exception
            when sqlstate 'U0001' then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                s := upper(w.gt);
                j := (i + (j + ar[1]));
            when division_by_zero or numeric_value_out_of_range then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                select max(g.gb), min(g.gk) into m, i from g where g.gk < i;
                l := (p * (i / p));
                c := (i in (1, 2, q) and ar[1] is null);
            when unique_violation then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                raise;
        end;
    end if;
    j := (w.ga * ar[1]);
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f9(5, -4, null, '42');
select f9(46341, 10, 1.5, 'abc');
select f9(5, -4, null, 'abc');
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
    j := w.ga;
    if j = r.ga then
        return w.gt;
    end if;
    insert into g values (i, (p * length(s)), (n + n), replace(s, 'x', 'yz'));
    perform g.ga from g where g.gk > 3;
    if p <= i then
        return coalesce(t, s);
    end if;
    begin
        if (i is null and (ar[1] > 2 and r.gk > null)) then
            for i, s in select g.gk, g.gt from g order by g.gk limit 3 loop
                c := exists (select 1 from g where g.gk = j);
            end loop;
            s := coalesce(t, s);
        end if;
    exception
        when others then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
    end;
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f10(0, -4, -2.25, null);
select f10(7, 7, 1.5, null);
select f10(2, 7, 0, '42');
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
    insert into g values (i, (q + length('lit')), (m - 2147483647), coalesce(t, w.gt));
    delete from g where g.gk < p and g.ga > j;
    begin
        select count(*), sum(g.ga % 1000) into l, m from g;
        begin
            select * into w from g where g.gk >= p order by g.gk;
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
                get diagnostics l = row_count;
                s := s || found;
                if i = r.gk then
                    raise exception 'raised %', (w.gt || r.gt) using errcode = 'U0002';
                end if;
                select max(g.gb), min(g.gk) into m, i from g where g.gk < i;
        end;
        begin
            i := (q - ((case when j > 2 then 3 else r.ga end) / ar[1]));
            c := m between i and n;
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
                get diagnostics l = row_count;
                s := s || found;
        end;
    exception
        when data_exception then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            raise;
        when raise_exception then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            begin
                for v16 in reverse -1 .. -1 loop
                    exit when s like '%l%';
                    j := (w.ga % i);
                    perform g.ga from g where g.gk > i;
                end loop;
            exception
                when sqlstate 'U0001' then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                when division_by_zero or numeric_value_out_of_range then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    insert into g values (5, ar[i], (m / n), r.gt);
                    for w in select * from g where g.gk > j - 3 order by g.gk loop
                        perform g.ga from g where g.gk > 3;
                        continue when (i > 2 and i > null);
                        perform g.ga from g where g.gk > j;
                    end loop;
                    insert into g values (p, coalesce(r.ga, greatest(ar[1], j)), m, (w.gb)::text);
                when unique_violation then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    raise;
            end;
            for v17 in 2 .. 3 by 2 loop
                get diagnostics l = row_count;
                s := s || found;
            end loop;
        when no_data_found or too_many_rows then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            l := ((ar[i] - ar[i]) / j);
            update g set gt = coalesce(g.gt, '') || '+' where g.gk > i;
            s := (t || upper(w.gt));
    end;
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f11(-4, 3, 0, 'Hello World');
select f11(3, 2, 1.5, '');
select f11(0, 3, null, 'abc');
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
    if (q <> w.ga and ar[i] is null) then
        if not (i > 1) then
            return s;
        end if;
    elsif ar[1] = (w.ga + -1) then
        begin
            delete from g where gk = p returning * into w;
        exception
            when others then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
        end;
        insert into g values (2, (w.ga / ar[i]), (r.gb - i), (m)::text);
        insert into g values (p, i, round(n, 2), substr(s, 0, 3));
    end if;
    begin
        select count(*), sum(g.ga % 1000) into l, m from g;
    exception
        when unique_violation or not_null_violation then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
        when others then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            i := (q + (ar[1] + length(w.gt)));
    end;
    if r.ga <= j then
        return left(t, 2);
    end if;
    declare
        u18 int := 0;
    begin
        while u18 < 1 and (p < ar[i]) loop
            u18 := u18 + 1;
            begin
                s := left(t, -1);
                if (u18 > 0 or p > 10) then
                    raise exception 'raised %', replace(s, 'x', 'yz') using errcode = 'U0001';
                end if;
            exception
                when others then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    update g set gt = coalesce(g.gt, '') || '+' where g.gk > 4;
            end;
        end loop;
    end;
    perform g.ga from g where g.gk > 5;
    i := r.gk;
    select max(g.gb), min(g.gk) into m, i from g where g.gk < j;
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f12(100, -4, 1000000.01, ' 7 ');
select f12(5, 3, -2.25, 'Hello World');
select f12(-4, 10, 99.995, '42');
select * from g order by gk;


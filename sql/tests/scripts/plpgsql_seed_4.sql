-- Made from seed 4 by sql/src/tests/procedures.rs.
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
    begin
        if not (not (i > -4)) then
            begin
                select * into w from g where g.gk >= i order by g.gk;
                m := (r.gb + (r.gb * n));
            exception
                when data_exception then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    delete from g where g.gk < p and g.ga > j;
                    c := exists (select 1 from g where g.gk = j);
                when raise_exception then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    i := (case when ar[1] is null then coalesce(q, coalesce(r.ga, r.gk)) else ar[i] end);
                when no_data_found or too_many_rows then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    delete from g where g.gk < j and g.ga > j;
                    i := (q + greatest(j, j));
                    if (p > 5 and p > 3) then
                        return (w.gt || s);
                    end if;
            end;
        else
            if s like '%l%' then
                if i in (1, 2, q) then
                    return left(s, 0);
                end if;
                get diagnostics l = row_count;
                s := s || found;
                select count(*), sum(g.ga % 1000) into l, m from g;
            elsif j in (1, 2, w.ga) then
                get diagnostics l = row_count;
                s := s || found;
                ar[4] := (case when i in (1, 2, r.ga) then 46341 else q end);
            else
                update g set gt = coalesce(g.gt, '') || '+' where g.gk > p;
                l := (case when q < r.ga then greatest(q, -4) else w.ga end);
            end if;
            delete from g where g.gk < i and g.ga > j;
        end if;
    exception
        when sqlstate 'U0001' then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
        when division_by_zero or numeric_value_out_of_range then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            if q <= (ar[i] % i) then
                for r in select g.gk, g.ga, g.gb, g.gt from g where g.ga <> 5 order by g.ga desc, g.gk loop
                    s := coalesce(t, left(t, -2));
                    l := (case when s like '%l%' then abs(i) else i end);
                    s := (round(r.gb, 1))::text;
                end loop;
                if ar[1] is null then
                    return (t || 46341);
                end if;
                raise notice 'at % %', (null / r.gk), w.gt;
            elsif m between 0 and n then
                i := coalesce(ar[1], (ar[i] - length('lit')));
                l := (j % j);
                i := (r.ga + abs(ar[1]));
            else
                perform g.ga from g where g.gk > j;
                raise notice 'at % %', (r.ga % j), r.gt;
            end if;
        when unique_violation then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            raise notice 'at % %', r.ga, substr(w.gt, 0, 3);
    end;
    j := abs(i);
    if ar[1] <> w.ga then
        return left(s, -2);
    end if;
    insert into g values (i, abs(q), (r.gb + r.gb), upper(t));
    raise notice 'at % %', (p + q), substr(s, 3, 3);
    ar[2] := (ar[1] - (ar[i] + r.ga));
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f1(0, 1, -2.25, 'abc');
select f1(-1, 3, 0, 'abc');
select f1(7, null, 1000000.01, 'Hello World');
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
    case i % 4
    when 0 then
        i := (j - (j + i));
        declare
            u1 int := 0;
        begin
            while u1 < 1 and (w.ga is null) loop
                u1 := u1 + 1;
                insert into g values (p, (case when (ar[i] > 3 and w.ga > 7) then (u1 % j) else j end), round(r.gb, 2), left(s, 0));
                l := greatest(u1, (q - u1));
            end loop;
        end;
        s := replace(s, 'x', 'yz');
    when 1, 2 then
        i := length(replace(w.gt, 'x', 'yz'));
    when j then
        for v2 in 0 .. least(j, 3) loop
            ar[3] := (v2 - v2);
            select * into w from g where g.gk >= i order by g.gk;
        end loop;
    else
        if q is null then
            declare
                u3 int := 0;
            begin
                while u3 < 2 and (t like '%4%') loop
                    u3 := u3 + 1;
                    s := (w.gt || (u3 + 5));
                    s := (coalesce(m, m))::text;
                end loop;
            end;
            case i % 4
            when 0 then
                if ar[1] in (1, 2, ar[1]) then
                    return substr(w.gt, 3, 3);
                end if;
                c := t like '%x%';
                m := n;
            when 1, 2 then
                delete from g where gk = 5 returning * into w;
                insert into g values (i, (length(t) / i), (r.gb * n), substr(t, 3, 3));
                get diagnostics l = row_count;
                s := s || found;
            when j then
                s := replace(t, 'x', 'yz');
                update g set ga = g.ga % 1000 + coalesce(q, 7) % 1000, gb = g.gb + 1 where gk = 2 returning g.gk, g.ga, g.gb, g.gt into r;
            else
                update g set ga = g.ga % 1000 + coalesce(r.ga, 7) % 1000, gb = g.gb + 1 where gk = j returning g.gk, g.ga, g.gb, g.gt into r;
            end case;
            raise notice 'at % %', coalesce(i, 2), (1.25)::text;
        elsif j in (1, 2, j) then
            begin
                c := p > (i * 2);
            exception
                when sqlstate 'U0001' then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    raise notice 'at % %', coalesce(i, r.gk), (s || 100);
                    insert into g values (p, (r.ga % i), (r.gb - r.gk), (w.gb)::text);
                    update g set gt = coalesce(g.gt, '') || '+' where g.gk > 1;
                when division_by_zero or numeric_value_out_of_range then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    c := exists (select 1 from g where g.gk = j);
                    raise notice 'at % %', (r.ga - q), w.gt;
                when unique_violation then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
            end;
        else
            j := (ar[1] % 7);
            ar[3] := (r.gk - (w.ga % i));
            if r.ga < (case when q > -4 then 7 else ar[i] end) then
                l := (w.ga - length(s));
                l := (r.gk - abs(ar[1]));
            elsif not (ar[1] < w.ga) then
                s := t;
            else
                j := -4;
                get diagnostics l = row_count;
                s := s || found;
                delete from g where g.gk < j and g.ga > j;
            end if;
        end if;
    end case;
    i := 7;
    select g.ga into i from g where gk = p;
    for i, s in select g.gk, g.gt from g order by g.gk desc limit 3 loop
        s := left(s, -1);
        raise notice 'at % %', (case when i > 10 then q else w.ga end), coalesce(w.gt, s);
    end loop;
    for v4 in -2 .. 0 by 2 loop
        s := substr(w.gt, 2, 3);
    end loop;
    begin
        select count(*), sum(g.ga % 1000) into l, m from g;
        c := i = greatest(i, 2147483647);
        for v5 in 2 .. least(j, 3) loop
            s := upper(s);
            delete from g where g.gk < i and g.ga > j;
        end loop;
    exception
        when unique_violation or not_null_violation then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            raise notice 'at % %', length(s), upper(w.gt);
        when others then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            select count(*), sum(g.ga % 1000) into l, m from g;
    end;
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f2(10, 7, 1000000.01, 'Hello World');
select f2(-1, 46341, 1.5, '');
select f2(10, 1, 1000000.01, 'abc');
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
    delete from g where g.gk < i and g.ga > j;
    case i % 4
    when 0 then
        perform g.ga from g where g.gk > i;
        c := q < coalesce(w.ga, ar[i]);
        for v6 in 2 .. least(j, 5) loop
            for i, s in select g.gk, g.gt from g order by g.gk limit 3 loop
                exit when r.ga is null;
            end loop;
        end loop;
    when 1, 2 then
        update g set ga = g.ga % 1000 + coalesce(q, 7) % 1000, gb = g.gb + 1 where gk = p returning g.gk, g.ga, g.gb, g.gt into r;
        insert into g values (j, (i + (10 / r.ga)), (m / r.gb), left(t, 3));
    when j then
        declare
            u7 int := 0;
        begin
            while u7 < 1 and (p in (1, 2, w.ga)) loop
                u7 := u7 + 1;
                get diagnostics l = row_count;
                s := s || found;
                if t like '%4%' then
                    continue when m between 1.5 and n;
                    select max(g.gb), min(g.gk) into m, i from g where g.gk < i;
                    i := p;
                else
                    m := (n / coalesce(r.gb, m));
                    delete from g where g.gk < 4 and g.ga > j;
                end if;
            end loop;
        end;
        begin
            m := (n + (r.gb + n));
            update g set ga = g.ga % 1000 + coalesce(j, 7) % 1000, gb = g.gb + 1 where gk = p returning g.gk, g.ga, g.gb, g.gt into r;
        exception
            when others then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
        end;
        raise notice 'at % %', (ar[1] + ar[1]), left(w.gt, 2);
    end case;
    if not (ar[i] > null) then
        return substr(w.gt, 3, 3);
    end if;
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f3(100, -4, null, '');
select f3(-4, 5, 1.5, null);
select f3(5, 3, 1000000.01, '42');
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
    if t like '%4%' then
        raise notice 'at % %', length('lit'), upper(w.gt);
        raise notice 'at % %', (w.ga - 100), (t || r.gt);
        update g set ga = g.ga % 1000 + coalesce(w.ga, 7) % 1000, gb = g.gb + 1 where gk = p returning g.gk, g.ga, g.gb, g.gt into r;
    end if;
    j := coalesce(w.ga, (i * 10));
    insert into g values (0, (ar[i] % 7), (m - ar[1]), (m)::text);
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f4(-4, -4, 0, ' 7 ');
select f4(0, -1, -2.25, 'abc');
select f4(46341, 100, 1000000.01, null);
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
    j := w.ga;
    begin
        s := replace(s, 'x', 'yz');
        i := r.gk;
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
            case i % 4
            when 0 then
                raise notice 'at % %', i, upper(w.gt);
                begin
                    i := (q - coalesce(q, 100));
                    if (p > 3 and ar[i] > 100) then
                        return upper(s);
                    end if;
                    if ar[1] is null then
                        return replace(t, 'x', 'yz');
                    end if;
                exception
                    when unique_violation or not_null_violation then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                        delete from g where gk = p returning * into w;
                        m := (n - length(w.gt));
                        begin
                            get diagnostics l = row_count;
                            s := s || found;
                        exception
                            when unique_violation or not_null_violation then
                                s := s || sqlstate;
                                raise notice 'caught % %', sqlstate, sqlerrm;
                                select * into w from g where g.gk >= i order by g.gk;
                            when others then
                                s := s || sqlstate;
                                raise notice 'caught % %', sqlstate, sqlerrm;
                        end;
                    when others then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                        if (r.ga > 3 and w.ga > -1) then
                            return replace(w.gt, 'x', 'yz');
                        end if;
                        select g.ga into i from g where gk = i;
                end;
                s := coalesce(s, upper(s));
            when 1, 2 then
                get diagnostics l = row_count;
                s := s || found;
                case i % 4
                when 0 then
                    insert into g values (1, length((s || r.gt)), (n * 1.25), left(s, -2));
                when 1, 2 then
                    delete from g where g.gk < i and g.ga > j;
                    delete from g where gk = i returning * into w;
                when j then
                    if m between 0 and n then
                        return replace(t, 'x', 'yz');
                    end if;
                    if not (j > 1) then
                        return substr(t, 0, 3);
                    end if;
                    j := (p * (q + 1));
                end case;
            when j then
                select * into w from g where g.gk >= p order by g.gk;
                get diagnostics l = row_count;
                s := s || found;
                c := exists (select 1 from g where g.gk = i);
            end case;
            l := -1;
    end;
    insert into g values (p, 100, (r.gb / m), (s || r.ga));
    if (w.ga > 10 and ar[1] > 3) then
        return upper(s);
    end if;
    s := t;
    if ((i > 2 and p > 2) and (ar[i] > 1 or q > -1)) then
        if j = r.ga then
            return (m)::text;
        end if;
        s := substr(t, 3, 3);
    elsif t like '%4%' then
        for r in select g.gk, g.ga, g.gb, g.gt from g where g.ga <> 5 order by g.ga, g.gk loop
            raise notice 'at % %', (i % 7), r.gt;
            update g set gt = coalesce(g.gt, '') || '+' where g.gk > j;
        end loop;
    else
        s := replace(s, 'x', 'yz');
        if (i in (1, 2, r.ga) and r.ga is null) then
            update g set ga = g.ga % 1000 + coalesce(j, 7) % 1000, gb = g.gb + 1 where gk = j returning g.gk, g.ga, g.gb, g.gt into r;
            raise notice 'at % %', (i + w.ga), replace(w.gt, 'x', 'yz');
        end if;
        raise notice 'at % %', (null / ar[1]), upper(s);
    end if;
    if not (m between 1.5 and n) then
        declare
            u8 int := 0;
        begin
            while u8 < 1 and ((j > 7 and p > 7)) loop
                u8 := u8 + 1;
                begin
                    update g set gt = coalesce(g.gt, '') || '+' where g.gk > j;
                    i := coalesce(p, (u8 + 2));
                    j := (u8 % j);
                exception
                    when sqlstate 'U0001' then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                    when division_by_zero or numeric_value_out_of_range then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                        c := (t like '%x%' or j < u8);
                    when unique_violation then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                end;
            end loop;
        end;
        for v9 in 1 .. least(j, 4) loop
            insert into g values (j, (r.ga + length(s)), (r.gb - r.ga), substr(t, 0, 3));
            ar[3] := ((r.gk / i) / v9);
            get diagnostics l = row_count;
            s := s || found;
        end loop;
    elsif w.ga >= (r.gk - r.ga) then
        s := replace(s, 'x', 'yz');
        raise notice 'at % %', (r.ga - p), replace(s, 'x', 'yz');
        case i % 4
        when 0 then
            l := (i - (i - r.ga));
            if s like '%4%' then
                get diagnostics l = row_count;
                s := s || found;
                raise notice 'at % %', 2, coalesce(s, t);
                if m between 1.5 and n then
                    return (w.gt || s);
                end if;
            elsif (q in (1, 2, r.ga) or not (w.ga > null)) then
                insert into g values (2, (ar[i] - coalesce(ar[1], 5)), n, substr(w.gt, -1, 3));
            end if;
            for v10 in reverse 0 .. -2 loop
                insert into g values (p, v10, (n + m), left(s, 3));
            end loop;
        when 1, 2 then
            declare
                u11 int := 0;
            begin
                while u11 < 3 and ((ar[i] > null and ar[i] > 5)) loop
                    u11 := u11 + 1;
                    delete from g where gk = j returning * into w;
                end loop;
            end;
            insert into g values (i, abs(j), (m + m), substr(s, 3, 3));
            declare
                u12 int := 0;
            begin
                while u12 < 2 and (not (ar[1] > -4)) loop
                    u12 := u12 + 1;
                    insert into g values (p, (case when u12 is null then 2 else r.gk end), coalesce(r.gb, m), coalesce(t, w.gt));
                    i := (case when not ((w.ga > 1 and u12 > 2)) then coalesce(u12, (case when u12 > 2 then 1 else u12 end)) else i end);
                end loop;
            end;
        when j then
            if (p > 100 or r.ga > -4) then
                return left(t, 1);
            end if;
            delete from g where gk = p returning * into w;
        else
            if i >= (ar[i] - q) then
                s := (m)::text;
            else
                select count(*), sum(g.ga % 1000) into l, m from g;
                begin
                    raise notice 'at % %', coalesce(r.ga, p), coalesce(s, w.gt);
                    c := w.ga >= (w.ga % 3);
                    if t like '%x%' then
                        raise exception 'raised %', (w.gt || p) using errcode = 'U0002';
                    end if;
                exception
                    when sqlstate 'U0001' then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                        raise;
                    when division_by_zero or numeric_value_out_of_range then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                        raise;
                    when unique_violation then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                        j := (q * (p + ar[i]));
                        insert into g values (1, 1, 2, (r.gb)::text) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
                end;
                delete from g where gk = p returning * into w;
            end if;
            s := upper(t);
            begin
                ar[4] := greatest(r.ga, 0);
                insert into g values (4, 1, (r.gb + n), (s || t));
            exception
                when unique_violation or not_null_violation then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    s := upper(w.gt);
                    select max(g.gb), min(g.gk) into m, i from g where g.gk < i;
                when others then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
            end;
        end case;
    else
        declare
            u13 int := 0;
        begin
            while u13 < 3 and (t like '%x%') loop
                u13 := u13 + 1;
                c := u13 = null;
                for v14 in 2 .. 5 by 2 loop
                    get diagnostics l = row_count;
                    s := s || found;
                    update g set ga = g.ga % 1000 + coalesce(p, 7) % 1000, gb = g.gb + 1 where gk = 5 returning g.gk, g.ga, g.gb, g.gt into r;
                end loop;
            end loop;
        end;
        begin
            s := ((r.gb + r.gb))::text;
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
                begin
                    update g set ga = g.ga % 1000 + coalesce(i, 7) % 1000, gb = g.gb + 1 where gk = p returning g.gk, g.ga, g.gb, g.gt into r;
                    s := replace(w.gt, 'x', 'yz');
                exception
                    when unique_violation or not_null_violation then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                        insert into g values (i, (w.ga - greatest(r.ga, ar[1])), coalesce(m, m), replace(t, 'x', 'yz'));
                        if (r.ga > 10 or q > 0) then
                            return left(t, 1);
                        end if;
                        l := (r.gk * (p + ar[i]));
                    when others then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                end;
                insert into g values (p, (i * length(s)), round(r.gb, 0), replace(w.gt, 'x', 'yz'));
        end;
        if t like '%x%' then
            return coalesce(t, t);
        end if;
    end if;
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f5(3, null, null, 'abc');
select f5(3, 0, 0, '42');
select f5(-4, -1, 99.995, '');
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
    insert into g values (p, (j * (w.ga % i)), round(m, 1), left(w.gt, 3));
    j := (q + (i - p));
    for v15 in 0 .. 0 by 2 loop
        s := ((n + n))::text;
        s := left(w.gt, -1);
        insert into g values (i, coalesce(v15, coalesce(v15, v15)), round(r.gb, 0), w.gt);
    end loop;
    raise notice 'at % %', (ar[1] - ar[i]), left(s, 1);
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f6(46341, 2147483647, 1.5, '42');
select f6(2, 3, null, ' 7 ');
select f6(46341, null, 1000000.01, '');
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
    raise notice 'at % %', length(t), replace(s, 'x', 'yz');
    begin
        begin
            begin
                raise notice 'at % %', (q + 3), substr(s, -1, 3);
                m := coalesce(r.gb, (n - 7));
                if ar[i] <> ar[i] then
                    return left(s, 1);
                end if;
            exception
                when data_exception then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    raise;
                when raise_exception then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    l := abs(r.gk);
                    delete from g where g.gk < i and g.ga > j;
                when no_data_found or too_many_rows then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    i := (ar[i] % 7);
                    insert into g values (i, coalesce(r.ga, length(t)), (m + m), (w.gt || s));
                    insert into g values (p, length(left(s, 0)), coalesce(m, n), left(t, -1));
            end;
            for i, s in select g.gk, g.gt from g order by g.gk desc limit 3 loop
                insert into g values (3, 1, 2, (1.25)::text) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
            end loop;
            begin
                get diagnostics l = row_count;
                s := s || found;
                select max(g.gb), min(g.gk) into m, i from g where g.gk < i;
            exception
                when others then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
            end;
        exception
            when data_exception then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                update g set ga = g.ga % 1000 + coalesce(q, 7) % 1000, gb = g.gb + 1 where gk = 1 returning g.gk, g.ga, g.gb, g.gt into r;
            when raise_exception then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                c := exists (select 1 from g where g.gk = j);
                get diagnostics l = row_count;
                s := s || found;
                update g set gt = coalesce(g.gt, '') || '+' where g.gk > 0;
            when no_data_found or too_many_rows then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                raise;
        end;
        s := left(t, 2);
    exception
        when others then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
    end;
    i := (case when w.ga is null then abs(w.ga) else r.gk end);
    s := (t || (j + r.gk));
    get diagnostics l = row_count;
    s := s || found;
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f7(2, 1, 1000000.01, 'Hello World');
select f7(null, 7, -2.25, null);
select f7(7, 1, 99.995, '42');
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
    i := (r.ga - (r.gk + (case when r.ga > 2147483647 then r.gk else w.ga end)));
    begin
        insert into g values (2, r.gk, (m - i), (t || s));
        if q > (i % j) then
            begin
                s := coalesce(t, 'lit');
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
            update g set ga = g.ga % 1000 + coalesce(p, 7) % 1000, gb = g.gb + 1 where gk = p returning g.gk, g.ga, g.gb, g.gt into r;
        end if;
        begin
            if i is null then
                return s;
            end if;
            if m between 1.5 and n then
                if m between 0 and n then
                    raise exception 'raised %', left(t, -2) using errcode = 'P0001';
                end if;
                raise notice 'at % %', (j % i), (1.25)::text;
            elsif (t like '%4%' and (p > 2 or p > 46341)) then
                j := length(upper(t));
                raise notice 'at % %', (p % i), upper(t);
            end if;
        exception
            when others then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                if t like '%l%' then
                    if p = i then
                        raise exception 'raised %', left(w.gt, 2) using errcode = 'P0001';
                    end if;
                    select * into w from g where g.gk >= p order by g.gk;
                elsif ar[1] <= greatest(r.gk, p) then
                    ar[4] := (w.ga + (r.ga * 2));
                    if r.ga is null then
                        raise exception 'raised %', replace(t, 'x', 'yz') using errcode = 'P0001';
                    end if;
                    raise notice 'at % %', (q + j), replace(t, 'x', 'yz');
                end if;
                if ar[i] in (1, 2, p) then
                    raise exception 'raised %', (w.gt || t) using errcode = 'U0001';
                end if;
        end;
    exception
        when data_exception then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            for r in select g.gk, g.ga, g.gb, g.gt from g where g.ga <> 5 order by g.ga, g.gk loop
                insert into g values (j, 1, 2, (t || w.gt)) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
                perform g.ga from g where g.gk > p;
                l := (i * (r.gk + r.ga));
            end loop;
            c := t like '%l%';
            if m between 1.5 and n then
                begin
                    m := (m + (m / 1.25));
                    if r.ga <> -1 then
                        return (m)::text;
                    end if;
                    select max(g.gb), min(g.gk) into m, i from g where g.gk < p;
                exception
                    when unique_violation or not_null_violation then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                        raise;
                    when others then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                        select g.ga into i from g where gk = j;
                end;
                begin
                    j := r.gk;
                    if w.ga in (1, 2, w.ga) then
                        return coalesce(w.gt, r.gt);
                    end if;
                exception
                    when unique_violation or not_null_violation then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                    when others then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                        s := coalesce(w.gt, upper(s));
                        raise notice 'at % %', 1, coalesce(w.gt, 'lit');
                end;
                i := (w.ga * (p % j));
            end if;
        when raise_exception then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
        when no_data_found or too_many_rows then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            raise;
    end;
    l := (r.ga - coalesce(ar[1], i));
    begin
        if ar[1] in (1, 2, j) then
            begin
                ar[3] := (case when t like '%4%' then greatest(q, 3) else p end);
                ar[1] := (case when not (p > 2147483647) then (r.ga + ar[1]) else r.gk end);
                c := ar[1] = w.ga;
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
        elsif r.gk is null then
            j := length(substr(s, 2, 3));
            s := left(t, 3);
        end if;
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
    begin
        i := (j * (r.ga % i));
        declare
            u16 int := 0;
        begin
            while u16 < 3 and ((j > 2147483647 and i > -1)) loop
                u16 := u16 + 1;
                case i % 4
                when 0 then
                    raise notice 'at % %', length(r.gt), (t || w.gt);
                    ar[4] := coalesce(u16, (u16 % 3));
                when 1, 2 then
                    c := t like '%l%';
                when j then
                    select * into w from g where g.gk >= j order by g.gk;
                    raise notice 'at % %', (-4 / w.ga), replace(t, 'x', 'yz');
                    insert into g values (3, (length('lit') / j), coalesce(m, r.gb), (m)::text);
                else
                    s := ((r.gb * 1.25))::text;
                    select count(*), sum(g.ga % 1000) into l, m from g;
                    if s like '%4%' then
                        raise exception 'raised %', upper(t) using errcode = 'U0002';
                    end if;
                end case;
                for v17 in 0 .. least(j, 3) loop
                    m := coalesce(n, round(r.gb, 1));
                    get diagnostics l = row_count;
                    s := s || found;
                    c := r.ga in (1, 2, u16);
                end loop;
                if (t like '%x%' or ar[1] in (1, 2, i)) then
                    ar[3] := (r.ga % j);
                end if;
            end loop;
        end;
        if not (j > 7) then
            return coalesce(t, w.gt);
        end if;
    exception
        when unique_violation or not_null_violation then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
        when others then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            for r in select g.gk, g.ga, g.gb, g.gt from g where g.ga <> 5 order by g.ga, g.gk loop
                begin
                    perform g.ga from g where g.gk > 2;
                    ar[1] := coalesce(r.gk, (3 / i));
                    select max(g.gb), min(g.gk) into m, i from g where g.gk < p;
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
                end;
            end loop;
            begin
                l := (j % 7);
            exception
                when others then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
            end;
            if not (not (r.gk > 5)) then
                begin
                    j := abs(r.gk);
                exception
                    when others then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                        insert into g values (p, 0, (n * r.gb), substr(w.gt, -1, 3));
                        insert into g values (p, w.ga, round(m, 0), substr(s, 2, 3));
                        j := greatest(q, (p * w.ga));
                end;
                begin
                    i := abs(r.ga);
                exception
                    when data_exception then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                        m := (r.gb + round(m, 0));
                        insert into g values (i, (case when j = null then (q + r.ga) else ar[1] end), round(r.gb, 2), (t || w.gt));
                    when raise_exception then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                    when no_data_found or too_many_rows then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                end;
                update g set ga = g.ga % 1000 + coalesce(i, 7) % 1000, gb = g.gb + 1 where gk = j returning g.gk, g.ga, g.gb, g.gt into r;
            elsif ar[i] > (case when i > 2147483647 then w.ga else ar[1] end) then
                m := (r.gb / (r.gb + m));
            end if;
    end;
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f8(2, 0, 1000000.01, 'abc');
select f8(7, 3, 1.5, ' 7 ');
select f8(5, 100, 99.995, '42');
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
    declare
        u18 int := 0;
    begin
        while u18 < 3 and ((r.gk > 3 or r.gk > 3)) loop
            u18 := u18 + 1;
            raise notice 'at % %', (u18 - u18), (m)::text;
            if u18 > greatest(u18, u18) then
                select g.ga into i from g where gk = p;
                select * into w from g where g.gk >= j order by g.gk;
            else
                get diagnostics l = row_count;
                s := s || found;
                l := u18;
                insert into g values (j, -4, (n * w.gb), replace(s, 'x', 'yz'));
            end if;
        end loop;
    end;
    if m between 0 and n then
        for v19 in 0 .. least(j, 0) loop
            begin
                get diagnostics l = row_count;
                s := s || found;
                get diagnostics l = row_count;
                s := s || found;
            exception
                when data_exception then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    delete from g where g.gk < j and g.ga > j;
                    insert into g values (5, abs(v19), coalesce(n, m), (t || s));
                    select count(*), sum(g.ga % 1000) into l, m from g;
                when raise_exception then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    select count(*), sum(g.ga % 1000) into l, m from g;
                when no_data_found or too_many_rows then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    insert into g values (0, 1, 2, s) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
            end;
            begin
                if v19 > ar[1] then
                    raise exception 'raised %', upper(s) using errcode = 'U0002';
                end if;
                exit when i <> v19;
                j := greatest(p, (j + -4));
            exception
                when others then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    m := coalesce(m, (r.gb * n));
                    insert into g values (p, v19, (r.gb / r.gb), (m)::text);
                    update g set gt = coalesce(g.gt, '') || '+' where g.gk > j;
            end;
            l := (v19 % i);
        end loop;
        select * into w from g where g.gk >= j order by g.gk;
        update g set ga = g.ga % 1000 + coalesce(r.gk, 7) % 1000, gb = g.gb + 1 where gk = 0 returning g.gk, g.ga, g.gb, g.gt into r;
    elsif ar[i] = (case when p > -1 then 100 else w.ga end) then
        ar[5] := (w.ga % j);
    else
        raise notice 'at % %', 3, (s || ar[1]);
        for v20 in reverse 2 .. 0 loop
            c := exists (select 1 from g where g.gk = 5);
            exit when (v20 > -1 and q > 0);
        end loop;
        select g.ga into i from g where gk = 0;
    end if;
    for i, s in select g.gk, g.gt from g order by g.gk desc limit 3 loop
        begin
            if i in (1, 2, i) then
                raise exception 'raised %', (s || w.gt) using errcode = 'U0001';
            end if;
            begin
                if i in (1, 2, i) then
                    raise exception 'raised %', left(s, 3) using errcode = 'U0002';
                end if;
            exception
                when others then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
            end;
        exception
            when unique_violation or not_null_violation then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
            when others then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
        end;
        if m between 1.5 and n then
            delete from g where g.gk < i and g.ga > j;
            raise notice 'at % %', coalesce(i, r.gk), coalesce(w.gt, s);
            if t like '%4%' then
                i := (q - (p % 3));
                ar[3] := length(replace(t, 'x', 'yz'));
                delete from g where g.gk < j and g.ga > j;
            else
                delete from g where gk = j returning * into w;
                get diagnostics l = row_count;
                s := s || found;
            end if;
        end if;
    end loop;
    if (not (w.ga > 1) or ar[1] = ar[1]) then
        begin
            ar[3] := 100;
            declare
                u21 int := 0;
            begin
                while u21 < 2 and ((r.gk > null or w.ga > 1)) loop
                    u21 := u21 + 1;
                    exit when ar[1] < p;
                end loop;
            end;
            s := left(t, 2);
        exception
            when data_exception then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                select * into w from g where g.gk >= j order by g.gk;
            when raise_exception then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
            when no_data_found or too_many_rows then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                if ar[1] < r.ga then
                    return upper(s);
                end if;
                m := (r.gb - 5);
        end;
    end if;
    c := exists (select 1 from g where g.gk = p);
    begin
        raise notice 'at % %', coalesce(ar[1], r.ga), (r.gb)::text;
        c := p <= (i * j);
        m := (n + (n * n));
    exception
        when sqlstate 'U0001' then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            s := replace(w.gt, 'x', 'yz');
            if p in (1, 2, ar[1]) then
                if (not (q > -4) or (r.gk > null or ar[i] > 7)) then
                    insert into g values (p, (ar[1] % 3), coalesce(r.gb, w.gb), (m)::text);
                end if;
                s := (t || upper(w.gt));
                insert into g values (i, 1, 2, upper(w.gt)) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
            else
                select g.ga into i from g where gk = i;
                begin
                    m := coalesce(n, coalesce(n, n));
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
                end;
                c := r.ga in (1, 2, p);
            end if;
            ar[1] := length((t || r.gt));
        when division_by_zero or numeric_value_out_of_range then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            case i % 4
            when 0 then
                i := greatest(i, abs(q));
                select g.ga into i from g where gk = p;
            when 1, 2 then
                if j is null then
                    update g set ga = g.ga % 1000 + coalesce(j, 7) % 1000, gb = g.gb + 1 where gk = 2 returning g.gk, g.ga, g.gb, g.gt into r;
                elsif not (p is null) then
                    get diagnostics l = row_count;
                    s := s || found;
                end if;
            when j then
                select max(g.gb), min(g.gk) into m, i from g where g.gk < p;
                update g set ga = g.ga % 1000 + coalesce(i, 7) % 1000, gb = g.gb + 1 where gk = i returning g.gk, g.ga, g.gb, g.gt into r;
                c := i < abs(ar[1]);
            else
                begin
                    if not (r.ga > 3) then
                        return (m)::text;
                    end if;
                    raise notice 'at % %', 2, (r.gb)::text;
                    i := (p + abs(w.ga));
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
                        select g.ga into i from g where gk = j;
                        perform g.ga from g where g.gk > i;
                end;
            end case;
            s := replace(s, 'x', 'yz');
        when unique_violation then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
    end;
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f9(10, 2147483647, 1.5, '42');
select f9(100, 2147483647, 1.5, ' 7 ');
select f9(46341, 1, null, null);
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
    select max(g.gb), min(g.gk) into m, i from g where g.gk < p;
    begin
        if j > ar[i] then
            i := (p % i);
            get diagnostics l = row_count;
            s := s || found;
        else
            for v22 in 0 .. 0 by 2 loop
                i := (v22 + (ar[i] * (case when ar[1] > -4 then 5 else i end)));
                raise notice 'at % %', (ar[1] % i), w.gt;
                get diagnostics l = row_count;
                s := s || found;
            end loop;
            if t like '%4%' then
                return replace(s, 'x', 'yz');
            end if;
            select g.ga into i from g where gk = 0;
        end if;
        select g.ga into i from g where gk = j;
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
            ar[3] := 10;
            delete from g where gk = j returning * into w;
            select g.ga into i from g where gk = p;
    end;
    if j <> i then
        begin
            for w in select * from g where g.gk > j - 3 order by g.gk loop
                raise notice 'at % %', (ar[i] % 3), left(s, 2);
                select g.ga, g.gt into strict i, s from g where gk = i;
                select max(g.gb), min(g.gk) into m, i from g where g.gk < j;
            end loop;
        exception
            when data_exception then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                raise;
            when raise_exception then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                raise notice 'at % %', greatest(r.gk, i), coalesce(s, 'lit');
                select count(*), sum(g.ga % 1000) into l, m from g;
            when no_data_found or too_many_rows then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                for v23 in reverse 2 .. 0 loop
                    i := (q * coalesce(v23, (v23 % i)));
                    continue when v23 > v23;
                    insert into g values (j, 1, 2, substr(s, 2, 3)) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
                end loop;
                update g set gt = coalesce(g.gt, '') || '+' where g.gk > 2;
        end;
        j := (case when j = i then (ar[1] % j) else ar[1] end);
        for r in select g.gk, g.ga, g.gb, g.gt from g where g.ga <> 5 order by g.ga desc, g.gk loop
            l := (i * -1);
            s := coalesce(w.gt, coalesce(w.gt, 'lit'));
        end loop;
    elsif not (ar[1] > w.ga) then
        insert into g values (i, abs(r.gk), (m * m), t);
        for i, s in select g.gk, g.gt from g order by g.gk limit 3 loop
            delete from g where g.gk < j and g.ga > j;
            begin
                raise notice 'at % %', (p - i), coalesce(s, r.gt);
                if m between 1.5 and n then
                    raise exception 'raised %', (w.gt || s) using errcode = 'P0001';
                end if;
            exception
                when others then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
            end;
        end loop;
        update g set ga = g.ga % 1000 + coalesce(r.gk, 7) % 1000, gb = g.gb + 1 where gk = j returning g.gk, g.ga, g.gb, g.gt into r;
    end if;
    ar[5] := p;
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f10(null, null, null, ' 7 ');
select f10(10, 5, 99.995, '');
select f10(null, 3, 1000000.01, '');
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
    insert into g values (j, coalesce(r.ga, coalesce(i, p)), (n + r.gb), upper(w.gt));
    declare
        u24 int := 0;
    begin
        while u24 < 1 and (not (r.gk > 1)) loop
            u24 := u24 + 1;
            s := substr(t, 3, 3);
            declare
                u25 int := 0;
            begin
                while u25 < 2 and (u24 >= u24) loop
                    u25 := u25 + 1;
                    s := ((n / n))::text;
                    exit when u24 in (1, 2, p);
                end loop;
            end;
        end loop;
    end;
    begin
        select g.ga, g.gt into strict i, s from g where gk = p;
    exception
        when sqlstate 'U0001' then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            for v26 in 1 .. least(j, 4) loop
                for v27 in reverse 4 .. 2 loop
                    i := (v27 + (v27 % 3));
                    raise notice 'at % %', length(s), s;
                end loop;
            end loop;
            if r.ga <= coalesce(p, q) then
                l := greatest(r.gk, (r.ga - 46341));
                get diagnostics l = row_count;
                s := s || found;
                declare
                    u28 int := 0;
                begin
                    while u28 < 1 and (r.gk < 0) loop
                        u28 := u28 + 1;
                        raise notice 'at % %', greatest(u28, ar[i]), (1.25)::text;
                        l := (case when u28 = r.ga then (u28 * ar[1]) else u28 end);
                        insert into g values (5, length((r.gb)::text), (r.gb / n), (t || s));
                    end loop;
                end;
            else
                if m between 1.5 and n then
                    begin
                        get diagnostics l = row_count;
                        s := s || found;
                        l := (case when r.gk is null then (q - i) else q end);
                    exception
                        when sqlstate 'U0001' then
                            s := s || sqlstate;
                            raise notice 'caught % %', sqlstate, sqlerrm;
                            perform g.ga from g where g.gk > i;
                            raise notice 'at % %', coalesce(w.ga, p), replace(t, 'x', 'yz');
                        when division_by_zero or numeric_value_out_of_range then
                            s := s || sqlstate;
                            raise notice 'caught % %', sqlstate, sqlerrm;
                            delete from g where g.gk < 1 and g.ga > j;
                            raise notice 'at % %', length('lit'), left(s, 3);
                            update g set ga = g.ga % 1000 + coalesce(j, 7) % 1000, gb = g.gb + 1 where gk = j returning g.gk, g.ga, g.gb, g.gt into r;
                        when unique_violation then
                            s := s || sqlstate;
                            raise notice 'caught % %', sqlstate, sqlerrm;
                    end;
                    insert into g values (5, 1, 2, (w.gt || r.gk)) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
                    if i in (1, 2, p) then
                        return coalesce(t, s);
                    end if;
                else
                    i := abs(r.gk);
                end if;
                begin
                    insert into g values (i, length(coalesce(s, t)), n, coalesce(s, w.gt));
                    j := (r.gk - length(s));
                exception
                    when others then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                        s := (w.gt || (w.gt || s));
                        begin
                            i := (ar[1] + length(upper(s)));
                            raise notice 'at % %', (j - -1), left(t, 1);
                        exception
                            when sqlstate 'U0001' then
                                s := s || sqlstate;
                                raise notice 'caught % %', sqlstate, sqlerrm;
                                delete from g where gk = 5 returning * into w;
                                raise notice 'at % %', (p * -4), left(s, -1);
                                select max(g.gb), min(g.gk) into m, i from g where g.gk < i;
                            when division_by_zero or numeric_value_out_of_range then
                                s := s || sqlstate;
                                raise notice 'caught % %', sqlstate, sqlerrm;
                                raise;
                            when unique_violation then
                                s := s || sqlstate;
                                raise notice 'caught % %', sqlstate, sqlerrm;
                                j := 0;
                                update g set ga = g.ga % 1000 + coalesce(i, 7) % 1000, gb = g.gb + 1 where gk = j returning g.gk, g.ga, g.gb, g.gt into r;
                        end;
                end;
                insert into g values (p, length(s), (n + r.gb), coalesce(w.gt, 'lit'));
            end if;
            update g set ga = g.ga % 1000 + coalesce(ar[1], 7) % 1000, gb = g.gb + 1 where gk = p returning g.gk, g.ga, g.gb, g.gt into r;
        when division_by_zero or numeric_value_out_of_range then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
        when unique_violation then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
    end;
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f11(2, 10, 0, 'Hello World');
select f11(-1, 2147483647, 1.5, '');
select f11(2147483647, -1, -2.25, '42');
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
    select * into w from g where g.gk >= j order by g.gk;
    s := ((r.gb / m))::text;
    raise notice 'at % %', (q + i), t;
    j := abs(j);
    case i % 4
    when 0 then
        begin
            if ar[i] <> 7 then
                raise exception 'raised %', left(s, -1) using errcode = 'U0002';
            end if;
        exception
            when data_exception then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                insert into g values (1, 1, 2, (w.gt || s)) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
            when raise_exception then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                for i, s in select g.gk, g.gt from g order by g.gk limit 3 loop
                    insert into g values (i, 1, 2, left(w.gt, -1)) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
                    ar[5] := abs(i);
                    insert into g values (i, 1, 2, coalesce(w.gt, s)) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
                end loop;
                begin
                    raise notice 'at % %', (r.gk % i), substr(t, 1, 3);
                exception
                    when others then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                        begin
                            if (ar[1] > null and q > -1) then
                                return (t || r.gt);
                            end if;
                            if m between 1.5 and n then
                                raise exception 'raised %', (w.gt || s) using errcode = '22012';
                            end if;
                            delete from g where g.gk < p and g.ga > j;
                        exception
                            when data_exception then
                                s := s || sqlstate;
                                raise notice 'caught % %', sqlstate, sqlerrm;
                                select max(g.gb), min(g.gk) into m, i from g where g.gk < j;
                            when raise_exception then
                                s := s || sqlstate;
                                raise notice 'caught % %', sqlstate, sqlerrm;
                                if not (j > 7) then
                                    return (s || -1);
                                end if;
                                if r.ga > r.ga then
                                    return coalesce(t, r.gt);
                                end if;
                                s := left(s, 0);
                            when no_data_found or too_many_rows then
                                s := s || sqlstate;
                                raise notice 'caught % %', sqlstate, sqlerrm;
                        end;
                        select * into w from g where g.gk >= 4 order by g.gk;
                        raise notice 'at % %', r.ga, upper(w.gt);
                end;
                begin
                    if w.ga in (1, 2, q) then
                        return left(t, -1);
                    end if;
                exception
                    when data_exception then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                        raise;
                    when raise_exception then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                        insert into g values (j, (w.ga % j), (n + r.gb), (m)::text);
                        ar[2] := greatest(p, 46341);
                    when no_data_found or too_many_rows then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                end;
            when no_data_found or too_many_rows then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
        end;
        select count(*), sum(g.ga % 1000) into l, m from g;
        case i % 4
        when 0 then
            ar[3] := coalesce(ar[1], (j / p));
        when 1, 2 then
            i := abs(ar[i]);
            begin
                insert into g values (i, (r.ga + (r.gk - ar[1])), coalesce(r.gb, r.gb), substr(s, 2, 3));
            exception
                when data_exception then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    insert into g values (i, (case when s like '%l%' then greatest(ar[1], p) else q end), w.gb, left(s, -2));
                when raise_exception then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    s := (w.gt || (r.gb)::text);
                when no_data_found or too_many_rows then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    perform g.ga from g where g.gk > j;
                    i := ((p * j) / r.ga);
                    s := coalesce(t, substr(s, 3, 3));
            end;
            s := (t || (s || 10));
        when j then
            i := -4;
        else
            declare
                u29 int := 0;
            begin
                while u29 < 3 and (m between 0 and n) loop
                    u29 := u29 + 1;
                    m := (m / round(n, 2));
                end loop;
            end;
            begin
                if s like '%x%' then
                    raise exception 'raised %', (s || 100) using errcode = 'U0001';
                end if;
                s := left(s, -1);
                c := exists (select 1 from g where g.gk = p);
            exception
                when others then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    raise;
            end;
            begin
                select max(g.gb), min(g.gk) into m, i from g where g.gk < 2;
                j := q;
            exception
                when unique_violation or not_null_violation then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    update g set ga = g.ga % 1000 + coalesce(ar[i], 7) % 1000, gb = g.gb + 1 where gk = i returning g.gk, g.ga, g.gb, g.gt into r;
                    insert into g values (1, greatest(q, (w.ga % 7)), (n + r.gb), (t || i));
                when others then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
            end;
        end case;
    when 1, 2 then
        update g set ga = g.ga % 1000 + coalesce(r.ga, 7) % 1000, gb = g.gb + 1 where gk = 2 returning g.gk, g.ga, g.gb, g.gt into r;
    when j then
        i := coalesce(w.ga, (case when not (i > -4) then (w.ga * q) else r.gk end));
        if m between i and n then
            c := (r.ga < w.ga and m between i and n);
        elsif not ((w.ga > -4 or r.gk > 5)) then
            get diagnostics l = row_count;
            s := s || found;
            update g set gt = coalesce(g.gt, '') || '+' where g.gk > p;
            begin
                ar[1] := 46341;
                c := m between 0 and n;
            exception
                when sqlstate 'U0001' then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    select count(*), sum(g.ga % 1000) into l, m from g;
                    m := (m - ar[1]);
                    j := (j % 3);
                when division_by_zero or numeric_value_out_of_range then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    select * into w from g where g.gk >= i order by g.gk;
                    ar[1] := (case when r.ga in (1, 2, p) then (3 / w.ga) else q end);
                when unique_violation then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
            end;
        end if;
    else
        if ar[i] <= -1 then
            return left(t, 3);
        end if;
    end case;
    s := replace(w.gt, 'x', 'yz');
    s := left(t, 0);
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f12(10, -1, 1.5, ' 7 ');
select f12(3, -4, 1000000.01, '');
select f12(0, 46341, 1.5, '');
select * from g order by gk;


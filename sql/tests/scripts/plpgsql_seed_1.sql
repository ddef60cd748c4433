-- Made from seed 1 by sql/src/tests/procedures.rs.
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
        if (j > 10 or r.ga in (1, 2, q)) then
            if not ((ar[1] > 2 and q > 0)) then
                get diagnostics l = row_count;
                s := s || found;
                if j = 2 then
                    raise exception 'raised %', substr(w.gt, 0, 3) using errcode = 'U0002';
                end if;
                l := ar[i];
            elsif p >= (ar[i] % i) then
                i := (q + (ar[1] + coalesce(j, q)));
                if ar[1] <= null then
                    return (w.gt || 0);
                end if;
            else
                i := (i * (j + (case when w.ga > 3 then -4 else w.ga end)));
                s := replace(w.gt, 'x', 'yz');
            end if;
            m := (r.gb - (j / w.ga));
            ar[4] := 100;
        elsif m between i and n then
            begin
                i := (case when not (ar[i] < j) then ((case when p > 5 then i else w.ga end) / p) else p end);
                s := (t || coalesce(j, 2));
                get diagnostics l = row_count;
                s := s || found;
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
                    j := (q % 7);
                    select g.ga, g.gt into strict i, s from g where gk = i;
                    select max(g.gb), min(g.gk) into m, i from g where g.gk < p;
            end;
            insert into g values (1, (length(s) / r.gk), (n * 1.25), coalesce(w.gt, r.gt));
            begin
                s := replace(t, 'x', 'yz');
            exception
                when data_exception then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                when raise_exception then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    i := greatest(ar[1], (w.ga + (j % 7)));
                    c := exists (select 1 from g where g.gk = 4);
                    update g set gt = coalesce(g.gt, '') || '+' where g.gk > 1;
                when no_data_found or too_many_rows then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    m := (r.gb / (m - ar[i]));
                    if (q > 0 or r.gk > 1) then
                        raise exception 'raised %', s using errcode = 'U0001';
                    end if;
            end;
        else
            s := replace(t, 'x', 'yz');
            begin
                get diagnostics l = row_count;
                s := s || found;
                c := not (p is null);
                get diagnostics l = row_count;
                s := s || found;
            exception
                when data_exception then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    j := (ar[1] - length(s));
                when raise_exception then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                when no_data_found or too_many_rows then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
            end;
        end if;
        for v1 in 2 .. 3 by 2 loop
            c := v1 in (1, 2, v1);
        end loop;
        get diagnostics l = row_count;
        s := s || found;
    exception
        when unique_violation or not_null_violation then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            s := upper(s);
            l := length((w.gt || r.gt));
            l := ar[i];
        when others then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            if not (ar[i] is null) then
                begin
                    select max(g.gb), min(g.gk) into m, i from g where g.gk < p;
                    select count(*), sum(g.ga % 1000) into l, m from g;
                    raise notice 'at % %', (0 / q), (s || r.gt);
                exception
                    when unique_violation or not_null_violation then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                    when others then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                end;
                m := (n + r.gb);
            else
                case i % 4
                when 0 then
                    raise notice 'at % %', (q * j), (n)::text;
                    raise notice 'at % %', 46341, coalesce(s, w.gt);
                when 1, 2 then
                    if q <= 1 then
                        return replace(t, 'x', 'yz');
                    end if;
                when j then
                    s := s;
                else
                    c := ar[1] = abs(q);
                    begin
                        select count(*), sum(g.ga % 1000) into l, m from g;
                        m := (n + r.gb);
                        get diagnostics l = row_count;
                        s := s || found;
                    exception
                        when unique_violation or not_null_violation then
                            s := s || sqlstate;
                            raise notice 'caught % %', sqlstate, sqlerrm;
                            raise;
                        when others then
                            s := s || sqlstate;
                            raise notice 'caught % %', sqlstate, sqlerrm;
                            raise;
                    end;
                end case;
                insert into g values (p, (abs(ar[1]) / i), r.gb, 'lit');
            end if;
            case i % 4
            when 0 then
                begin
                    insert into g values (i, (i - 7), round(n, 2), (t || j));
                    insert into g values (i, length((n)::text), round(n, 2), upper(s));
                    insert into g values (j, abs(j), (n + m), (s || -4));
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
                get diagnostics l = row_count;
                s := s || found;
            when 1, 2 then
                for v2 in -1 .. 2 by 2 loop
                    i := (case when not (ar[1] >= 3) then 5 else v2 end);
                end loop;
                if (i <> 0 and m between 1.5 and n) then
                    begin
                        raise notice 'at % %', (w.ga + 3), w.gt;
                        delete from g where gk = j returning * into w;
                    exception
                        when sqlstate 'U0001' then
                            s := s || sqlstate;
                            raise notice 'caught % %', sqlstate, sqlerrm;
                            delete from g where gk = i returning * into w;
                            select count(*), sum(g.ga % 1000) into l, m from g;
                        when division_by_zero or numeric_value_out_of_range then
                            s := s || sqlstate;
                            raise notice 'caught % %', sqlstate, sqlerrm;
                            i := greatest(ar[1], coalesce(j, (j / j)));
                            select * into w from g where g.gk >= p order by g.gk;
                            begin
                                j := (coalesce(i, -4) / r.ga);
                                m := (m * (m / m));
                            exception
                                when data_exception then
                                    s := s || sqlstate;
                                    raise notice 'caught % %', sqlstate, sqlerrm;
                                    raise;
                                when raise_exception then
                                    s := s || sqlstate;
                                    raise notice 'caught % %', sqlstate, sqlerrm;
                                    begin
                                        c := ((q > 7 and r.gk > -4) or m between 0 and n);
                                        ar[2] := coalesce(i, ar[i]);
                                        select g.ga into i from g where gk = i;
                                    exception
                                        when unique_violation or not_null_violation then
                                            s := s || sqlstate;
                                            raise notice 'caught % %', sqlstate, sqlerrm;
                                            s := coalesce(s, replace(t, 'x', 'yz'));
                                        when others then
                                            s := s || sqlstate;
                                            raise notice 'caught % %', sqlstate, sqlerrm;
                                            if m between 0 and n then
                                                return (t || 3);
                                            end if;
                                    end;
                                    select g.ga into i from g where gk = i;
                                    c := exists (select 1 from g where g.gk = j);
                                when no_data_found or too_many_rows then
                                    s := s || sqlstate;
                                    raise notice 'caught % %', sqlstate, sqlerrm;
                            end;
                        when unique_violation then
                            s := s || sqlstate;
                            raise notice 'caught % %', sqlstate, sqlerrm;
                            if p = q then
                                return coalesce(t, s);
                            end if;
                            select g.ga into i from g where gk = j;
                    end;
                elsif ((i > 5 or j > 1) and (ar[i] > -4 and i > 0)) then
                    insert into g values (i, (case when j is null then (i * 5) else ar[i] end), (m + m), substr(s, 3, 3));
                    select g.ga into i from g where gk = p;
                    get diagnostics l = row_count;
                    s := s || found;
                else
                    c := i is null;
                    c := p in (1, 2, ar[i]);
                    raise notice 'at % %', 10, (w.gb)::text;
                end if;
            when j then
                delete from g where gk = j returning * into w;
                select * into w from g where g.gk >= p order by g.gk;
                for v3 in 1 .. least(j, 1) loop
                    raise notice 'at % %', r.gk, left(t, 1);
                    select g.ga into i from g where gk = j;
                    continue when (v3 > -1 or v3 > 0);
                end loop;
            end case;
            update g set ga = g.ga % 1000 + coalesce(ar[i], 7) % 1000, gb = g.gb + 1 where gk = p returning g.gk, g.ga, g.gb, g.gt into r;
    end;
    m := (m / (m / n));
    begin
        case i % 4
        when 0 then
            for v4 in -1 .. least(j, -1) loop
                if not (v4 > 1) then
                    raise exception 'raised %', (w.gt || j) using errcode = 'U0002';
                end if;
                ar[1] := coalesce(q, (v4 + r.gk));
            end loop;
            s := s;
            insert into g values (i, (p - (ar[1] + 2147483647)), (n + n), left(w.gt, 2));
        when 1, 2 then
            delete from g where g.gk < j and g.ga > j;
            perform g.ga from g where g.gk > j;
        when j then
            for v5 in 0 .. least(j, 3) loop
                s := (coalesce(n, m))::text;
                select g.ga into i from g where gk = i;
                c := (s like '%x%' and v5 in (1, 2, i));
            end loop;
            j := length(coalesce(t, s));
            perform g.ga from g where g.gk > i;
        else
            j := abs(p);
            begin
                get diagnostics l = row_count;
                s := s || found;
                update g set ga = g.ga % 1000 + coalesce(w.ga, 7) % 1000, gb = g.gb + 1 where gk = 2 returning g.gk, g.ga, g.gb, g.gt into r;
                raise notice 'at % %', (case when w.ga > 5 then r.ga else w.ga end), upper(s);
            exception
                when sqlstate 'U0001' then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                when division_by_zero or numeric_value_out_of_range then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    if (w.ga > 1 and j > 2147483647) then
                        return left(s, 1);
                    end if;
                when unique_violation then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    raise;
            end;
            raise notice 'at % %', (r.ga - q), left(s, 3);
        end case;
    exception
        when others then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
    end;
    if m between 0 and n then
        j := (r.gk % 7);
        select * into w from g where g.gk >= 2 order by g.gk;
        select count(*), sum(g.ga % 1000) into l, m from g;
    elsif m between i and n then
        begin
            if m between i and n then
                return substr(w.gt, 0, 3);
            end if;
        exception
            when data_exception then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                select * into w from g where g.gk >= p order by g.gk;
                if not (q > -1) then
                    m := (n * (n / n));
                end if;
                c := r.gk = (w.ga * r.ga);
            when raise_exception then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                raise;
            when no_data_found or too_many_rows then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
        end;
        begin
            insert into g values (3, 1, 2, left(t, -1)) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
            get diagnostics l = row_count;
            s := s || found;
            if ar[i] <> (p / ar[1]) then
                get diagnostics l = row_count;
                s := s || found;
            else
                c := ar[i] >= i;
                i := (ar[1] - (j + (case when ar[i] > 46341 then -4 else r.gk end)));
            end if;
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
    end if;
    begin
        if (ar[1] > 1 and ar[i] > 100) then
            raise exception 'raised %', r.gt using errcode = '22012';
        end if;
    exception
        when others then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
    end;
    get diagnostics l = row_count;
    s := s || found;
    i := (case when not ((r.ga > 0 or ar[1] > 100)) then q else ar[i] end);
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f1(3, -1, -2.25, ' 7 ');
select f1(46341, 10, 0, '');
select f1(100, 2147483647, -2.25, null);
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
    begin
        for v6 in -1 .. 0 by 2 loop
            begin
                get diagnostics l = row_count;
                s := s || found;
            exception
                when unique_violation or not_null_violation then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    get diagnostics l = row_count;
                    s := s || found;
                when others then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
            end;
        end loop;
        ar[1] := greatest(w.ga, abs(j));
        if p in (1, 2, r.ga) then
            for i, s in select g.gk, g.gt from g order by g.gk desc limit 3 loop
                delete from g where gk = 2 returning * into w;
                i := (i % 3);
            end loop;
        elsif ar[i] >= (ar[1] + -1) then
            declare
                u7 int := 0;
            begin
                while u7 < 1 and ((ar[1] > 5 and ar[1] > 3)) loop
                    u7 := u7 + 1;
                    i := (case when r.ga <= abs(u7) then (w.ga + 46341) else u7 end);
                    select count(*), sum(g.ga % 1000) into l, m from g;
                end loop;
            end;
            i := ar[1];
        end if;
    exception
        when data_exception then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
        when raise_exception then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            delete from g where g.gk < i and g.ga > j;
        when no_data_found or too_many_rows then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            c := j < (case when q > -4 then r.gk else q end);
            begin
                s := left(w.gt, 0);
                j := (length(w.gt) / i);
                begin
                    if r.ga <= -1 then
                        raise exception 'raised %', (n)::text using errcode = 'U0002';
                    end if;
                    raise notice 'at % %', (i / r.ga), upper(w.gt);
                    raise notice 'at % %', i, substr(t, 1, 3);
                exception
                    when unique_violation or not_null_violation then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                        ar[3] := (j + (j + 2));
                        c := ar[i] = (ar[i] - 2147483647);
                    when others then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                        raise;
                end;
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
                    if (ar[i] > 7 or ar[i] > 10) then
                        return left(s, -1);
                    end if;
                    for w in select * from g where g.gk > j - 3 order by g.gk desc loop
                        m := (n + (m / m));
                    end loop;
                    if q is null then
                        raise notice 'at % %', (w.ga % 7), upper(w.gt);
                        j := (r.ga + (ar[1] % j));
                    else
                        if m between i and n then
                            return (n)::text;
                        end if;
                        s := substr(s, -1, 3);
                        get diagnostics l = row_count;
                        s := s || found;
                    end if;
            end;
            s := left(w.gt, 1);
    end;
    select g.ga, g.gt into strict i, s from g where gk = p;
    case i % 4
    when 0 then
        case i % 4
        when 0 then
            if r.ga in (1, 2, r.ga) then
                get diagnostics l = row_count;
                s := s || found;
                raise notice 'at % %', coalesce(ar[1], r.gk), coalesce(t, w.gt);
            else
                i := (case when r.gk > p then length(replace(s, 'x', 'yz')) else p end);
                i := greatest(ar[1], (case when s like '%l%' then length(s) else i end));
                delete from g where g.gk < i and g.ga > j;
            end if;
            s := substr(s, 0, 3);
            for v8 in reverse -1 .. -2 loop
                insert into g values (i, length((m)::text), (r.gb + 1.25), substr(t, 0, 3));
            end loop;
        when 1, 2 then
            get diagnostics l = row_count;
            s := s || found;
        when j then
            if (w.ga is null and j <> 3) then
                update g set gt = coalesce(g.gt, '') || '+' where g.gk > i;
                j := ((r.gk - r.ga) / q);
                begin
                    delete from g where gk = p returning * into w;
                    if ar[1] is null then
                        return (w.gt || q);
                    end if;
                    perform g.ga from g where g.gk > j;
                exception
                    when sqlstate 'U0001' then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                        raise notice 'at % %', greatest(j, ar[i]), (t || w.ga);
                        perform g.ga from g where g.gk > p;
                    when division_by_zero or numeric_value_out_of_range then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                        l := length(replace(t, 'x', 'yz'));
                        m := (r.gb / coalesce(m, 1.25));
                        select * into w from g where g.gk >= i order by g.gk;
                    when unique_violation then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                        select max(g.gb), min(g.gk) into m, i from g where g.gk < 1;
                        ar[1] := (r.gk % 7);
                        ar[5] := (r.ga % j);
                end;
            elsif r.ga = length(r.gt) then
                insert into g values (j, i, coalesce(r.gb, n), left(s, 1));
                update g set ga = g.ga % 1000 + coalesce(i, 7) % 1000, gb = g.gb + 1 where gk = p returning g.gk, g.ga, g.gb, g.gt into r;
            else
                get diagnostics l = row_count;
                s := s || found;
                s := upper(t);
            end if;
            l := length(upper(w.gt));
            get diagnostics l = row_count;
            s := s || found;
        end case;
        i := ar[i];
        raise notice 'at % %', 100, left(t, 0);
    when 1, 2 then
        begin
            i := (ar[i] * coalesce(j, (r.ga + ar[1])));
            if ar[1] < (case when q > 10 then 3 else ar[i] end) then
                l := (i + length(s));
                s := replace(s, 'x', 'yz');
                if s like '%l%' then
                    return substr(s, -1, 3);
                end if;
            elsif m between 0 and n then
                delete from g where gk = j returning * into w;
            end if;
            raise notice 'at % %', (r.gk - ar[i]), coalesce(t, t);
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
    when j then
        for v9 in -1 .. least(j, 2) loop
            get diagnostics l = row_count;
            s := s || found;
            begin
                continue when t like '%l%';
                s := replace(t, 'x', 'yz');
            exception
                when sqlstate 'U0001' then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                when division_by_zero or numeric_value_out_of_range then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    l := length((w.gt || p));
                    insert into g values (i, 1, 2, upper(s)) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
                    get diagnostics l = row_count;
                    s := s || found;
                when unique_violation then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    raise;
            end;
        end loop;
        insert into g values (p, (j % 7), (m + m), (s || 'lit'));
        j := (p - (r.ga % 7));
    else
        insert into g values (p, 1, 2, substr(t, 1, 3)) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
        if s like '%x%' then
            case i % 4
            when 0 then
                raise notice 'at % %', (i % 3), 'lit';
            when 1, 2 then
                l := length(substr(w.gt, -1, 3));
                select count(*), sum(g.ga % 1000) into l, m from g;
                j := (w.ga + (r.gk + r.gk));
            when j then
                select g.ga into i from g where gk = p;
            else
                if q is null then
                    return left(t, 0);
                end if;
                update g set gt = coalesce(g.gt, '') || '+' where g.gk > 0;
                s := upper(t);
            end case;
            l := (ar[1] * (case when p > 10 then j else ar[1] end));
            insert into g values (p, (j + (case when ar[1] > 2147483647 then q else ar[i] end)), (m / r.gb), (s || t));
        end if;
        c := ((q > 1 and i > null) or t like '%l%');
    end case;
    i := (case when q > coalesce(r.gk, 46341) then (case when (q > 2147483647 or w.ga > 5) then i else p end) else ar[1] end);
    if m between 0 and n then
        begin
            insert into g values (i, i, (n - r.gk), replace(s, 'x', 'yz'));
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
                raise;
        end;
    end if;
    m := (m * (n * n));
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f2(5, -1, null, 'abc');
select f2(0, -4, 1.5, 'Hello World');
select f2(10, 1, null, 'abc');
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
    for i, s in select g.gk, g.gt from g order by g.gk limit 3 loop
        get diagnostics l = row_count;
        s := s || found;
        insert into g values (i, abs(r.gk), round(m, 1), (s || ar[i]));
    end loop;
    for v10 in reverse 0 .. 0 loop
        case i % 4
        when 0 then
            select max(g.gb), min(g.gk) into m, i from g where g.gk < 5;
        when 1, 2 then
            declare
                u11 int := 0;
            begin
                while u11 < 1 and (w.ga = 2147483647) loop
                    u11 := u11 + 1;
                    delete from g where g.gk < i and g.ga > j;
                    s := replace(w.gt, 'x', 'yz');
                end loop;
            end;
        when j then
            if not (ar[1] = v10) then
                ar[1] := abs(r.ga);
            else
                raise notice 'at % %', (ar[i] - v10), left(s, 3);
            end if;
            delete from g where gk = j returning * into w;
            perform g.ga from g where g.gk > i;
        else
            delete from g where g.gk < j and g.ga > j;
            get diagnostics l = row_count;
            s := s || found;
        end case;
    end loop;
    if i > 1 then
        return left(w.gt, -2);
    end if;
    for i, s in select g.gk, g.gt from g order by g.gk desc limit 3 loop
        select * into w from g where g.gk >= j order by g.gk;
    end loop;
    get diagnostics l = row_count;
    s := s || found;
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f3(2, 2, -2.25, null);
select f3(null, 1, null, null);
select f3(2, 2, 1.5, null);
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
    i := length((t || replace(t, 'x', 'yz')));
    get diagnostics l = row_count;
    s := s || found;
    case i % 4
    when 0 then
        if (p > -1 or ar[1] > 2) then
            return left(w.gt, 3);
        end if;
        select g.ga, g.gt into strict i, s from g where gk = i;
    when 1, 2 then
        declare
            u12 int := 0;
        begin
            while u12 < 1 and (r.gk in (1, 2, p)) loop
                u12 := u12 + 1;
                begin
                    select g.ga, g.gt into strict i, s from g where gk = j;
                    exit when not (i > 46341);
                    update g set ga = g.ga % 1000 + coalesce(q, 7) % 1000, gb = g.gb + 1 where gk = p returning g.gk, g.ga, g.gb, g.gt into r;
                exception
                    when others then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                end;
                i := coalesce(u12, ((1 / u12) / ar[i]));
            end loop;
        end;
        for v13 in reverse 3 .. 1 loop
            continue when q > w.ga;
            if ((v13 > 10 and r.gk > 46341) and p is null) then
                c := v13 in (1, 2, v13);
                i := ((v13 - abs(v13)) / v13);
            elsif not ((v13 > 100 or v13 > 1)) then
                continue when ar[1] <> 1;
                raise notice 'at % %', greatest(v13, ar[1]), (w.gt || ar[1]);
                i := v13;
            end if;
            if (not (j > 2147483647) and v13 in (1, 2, v13)) then
                get diagnostics l = row_count;
                s := s || found;
            elsif i = (v13 % 3) then
                c := j <> (r.ga / ar[1]);
                update g set gt = coalesce(g.gt, '') || '+' where g.gk > i;
                exit when (j > -1 and ar[i] > 1);
            else
                ar[2] := v13;
                j := (p % 3);
            end if;
        end loop;
    when j then
        delete from g where g.gk < j and g.ga > j;
    else
        case i % 4
        when 0 then
            i := (ar[1] + (ar[i] % 3));
            select max(g.gb), min(g.gk) into m, i from g where g.gk < i;
        when 1, 2 then
            raise notice 'at % %', q, upper(w.gt);
            if (m between i and n or not (q > 2)) then
                s := (w.gt || (w.gt || 2));
                c := t like '%4%';
            elsif m between 1.5 and n then
                raise notice 'at % %', coalesce(ar[i], 10), substr(t, 2, 3);
                c := exists (select 1 from g where g.gk = p);
            else
                update g set ga = g.ga % 1000 + coalesce(q, 7) % 1000, gb = g.gb + 1 where gk = p returning g.gk, g.ga, g.gb, g.gt into r;
            end if;
        when j then
            insert into g values (3, 1, 2, upper(w.gt)) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
        else
            begin
                j := (case when m between 0 and n then (q * i) else j end);
                insert into g values (j, greatest(q, (p + r.gk)), coalesce(m, n), left(s, 0));
                if j >= 100 then
                    return left(w.gt, 1);
                end if;
            exception
                when others then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
            end;
            for w in select * from g where g.gk > j - 3 order by g.gk desc loop
                get diagnostics l = row_count;
                s := s || found;
                raise notice 'at % %', (i + r.ga), w.gt;
                update g set gt = coalesce(g.gt, '') || '+' where g.gk > i;
            end loop;
        end case;
        if (i in (1, 2, j) and i > r.gk) then
            delete from g where g.gk < p and g.ga > j;
            if q is null then
                return left(s, 3);
            end if;
            begin
                if p > 100 then
                    return (s || q);
                end if;
                ar[1] := (abs(i) / j);
                i := ((p + (r.gk + w.ga)) / i);
            exception
                when sqlstate 'U0001' then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                when division_by_zero or numeric_value_out_of_range then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    raise;
                when unique_violation then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    raise;
            end;
        elsif p < abs(j) then
            if ar[1] = length(r.gt) then
                select g.ga into i from g where gk = 5;
                l := (ar[1] / w.ga);
                if t like '%l%' then
                    return upper(w.gt);
                end if;
            else
                delete from g where gk = i returning * into w;
                raise notice 'at % %', q, upper(t);
                l := (w.ga + (ar[i] / q));
            end if;
            begin
                get diagnostics l = row_count;
                s := s || found;
                if p = w.ga then
                    return (1.25)::text;
                end if;
            exception
                when sqlstate 'U0001' then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                when division_by_zero or numeric_value_out_of_range then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    raise;
                when unique_violation then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
            end;
            for v14 in 0 .. 0 by 2 loop
                update g set gt = coalesce(g.gt, '') || '+' where g.gk > i;
                raise notice 'at % %', (v14 % 7), substr(t, 2, 3);
            end loop;
        end if;
    end case;
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f4(46341, 7, 99.995, 'Hello World');
select f4(1, 100, 0, '');
select f4(1, null, -2.25, 'abc');
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
    i := (case when r.gk <> greatest(w.ga, r.ga) then (r.gk + greatest(w.ga, r.ga)) else q end);
    c := ar[i] >= 2147483647;
    if (ar[i] > 46341 and i > 0) then
        return coalesce(t, s);
    end if;
    begin
        if r.gk <= length('lit') then
            begin
                l := ar[i];
            exception
                when data_exception then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    if q < i then
                        raise exception 'raised %', (s || r.gt) using errcode = 'U0001';
                    end if;
                    s := left(t, -1);
                    insert into g values (i, (case when not (r.gk > 2147483647) then (r.ga * -1) else p end), (n * m), t);
                when raise_exception then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                when no_data_found or too_many_rows then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
            end;
            select g.ga, g.gt into strict i, s from g where gk = 1;
            declare
                u15 int := 0;
            begin
                while u15 < 1 and (r.ga > w.ga) loop
                    u15 := u15 + 1;
                    c := exists (select 1 from g where g.gk = 0);
                    update g set gt = coalesce(g.gt, '') || '+' where g.gk > i;
                    if (ar[i] > 46341 or u15 > 1) then
                        raise exception 'raised %', coalesce(t, s) using errcode = 'U0002';
                    end if;
                end loop;
            end;
        elsif ((j > 3 or r.ga > 100) or m between i and n) then
            get diagnostics l = row_count;
            s := s || found;
        end if;
        c := (m between 1.5 and n and q = p);
        i := abs(j);
    exception
        when unique_violation or not_null_violation then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
        when others then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            raise;
    end;
    if p in (1, 2, ar[i]) then
        return substr(t, 1, 3);
    end if;
    begin
        if w.ga >= 7 then
            return left(w.gt, 0);
        end if;
        m := coalesce(n, (m + r.gb));
        get diagnostics l = row_count;
        s := s || found;
    exception
        when sqlstate 'U0001' then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            s := w.gt;
        when division_by_zero or numeric_value_out_of_range then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
        when unique_violation then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            select g.ga into i from g where gk = j;
            update g set ga = g.ga % 1000 + coalesce(r.gk, 7) % 1000, gb = g.gb + 1 where gk = j returning g.gk, g.ga, g.gb, g.gt into r;
            if i <= 46341 then
                return coalesce(s, t);
            end if;
    end;
    for v16 in -1 .. 2 by 2 loop
        declare
            u17 int := 0;
        begin
            while u17 < 3 and (i is null) loop
                u17 := u17 + 1;
                for v18 in reverse 3 .. 1 loop
                    s := s;
                    l := (u17 * greatest(ar[1], v18));
                    i := greatest(v16, (r.gk * v16));
                end loop;
                raise notice 'at % %', coalesce(v16, r.gk), w.gt;
            end loop;
        end;
    end loop;
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f5(2147483647, 10, 1000000.01, 'abc');
select f5(3, 2147483647, 1000000.01, '');
select f5(null, 1, 1000000.01, 'Hello World');
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
    insert into g values (i, 1, 2, w.gt) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
    for v19 in -2 .. -2 by 2 loop
        insert into g values (p, (i * length('lit')), (n - 1), (n)::text);
        if ar[i] in (1, 2, v19) then
            for i, s in select g.gk, g.gt from g order by g.gk desc limit 3 loop
                continue when t like '%4%';
                i := ((q - (case when w.ga > -4 then ar[i] else w.ga end)) / i);
                raise notice 'at % %', (i % 3), substr(w.gt, 0, 3);
            end loop;
            c := exists (select 1 from g where g.gk = 4);
        elsif v19 in (1, 2, v19) then
            s := substr(t, 2, 3);
        else
            insert into g values (4, (v19 + (q * ar[1])), r.gb, substr(s, 2, 3));
        end if;
        insert into g values (p, 1, 2, upper(s)) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
    end loop;
    begin
        i := (q + abs(i));
    exception
        when sqlstate 'U0001' then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            begin
                for w in select * from g where g.gk > j - 3 order by g.gk loop
                    s := (s || (j / p));
                    update g set gt = coalesce(g.gt, '') || '+' where g.gk > i;
                    select g.ga into i from g where gk = 1;
                end loop;
                for v20 in -1 .. 1 by 2 loop
                    update g set gt = coalesce(g.gt, '') || '+' where g.gk > p;
                    insert into g values (5, length(substr(t, 2, 3)), round(m, 1), upper(t));
                end loop;
                if r.ga is null then
                    c := (ar[1] >= w.ga and j < 100);
                    insert into g values (j, (q + (w.ga + 1)), (n / w.gb), upper(t));
                    select g.ga, g.gt into strict i, s from g where gk = 1;
                elsif r.gk <= r.gk then
                    update g set gt = coalesce(g.gt, '') || '+' where g.gk > j;
                    insert into g values (p, abs(ar[i]), (n + m), coalesce(t, w.gt));
                else
                    m := coalesce(n, n);
                    s := (t || s);
                end if;
            exception
                when unique_violation or not_null_violation then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    update g set ga = g.ga % 1000 + coalesce(j, 7) % 1000, gb = g.gb + 1 where gk = j returning g.gk, g.ga, g.gb, g.gt into r;
                    if not ((r.ga > -4 and j > 100)) then
                        if (r.gk > 1 and r.gk > null) then
                            return upper(t);
                        end if;
                    end if;
                    perform g.ga from g where g.gk > p;
                when others then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
            end;
            i := (w.ga + (abs(r.gk) / ar[1]));
        when division_by_zero or numeric_value_out_of_range then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            j := (coalesce(r.ga, 46341) / ar[1]);
        when unique_violation then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            s := s;
            i := ar[i];
    end;
    update g set ga = g.ga % 1000 + coalesce(p, 7) % 1000, gb = g.gb + 1 where gk = j returning g.gk, g.ga, g.gb, g.gt into r;
    insert into g values (j, (j * (w.ga - r.ga)), r.gb, s);
    if (s like '%l%' and j is null) then
        m := (r.gb + (n - q));
        insert into g values (j, greatest(p, (q * ar[1])), (n + m), left(s, 3));
        s := replace(w.gt, 'x', 'yz');
    else
        i := (j - (w.ga + 100));
        raise notice 'at % %', (ar[1] + r.ga), upper(t);
    end if;
    raise notice 'at % %', length(s), upper(t);
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f6(7, 100, 1000000.01, null);
select f6(100, 2147483647, 1.5, null);
select f6(1, null, 1.5, 'Hello World');
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
    delete from g where g.gk < i and g.ga > j;
    case i % 4
    when 0 then
        begin
            perform g.ga from g where g.gk > j;
            raise notice 'at % %', ar[1], substr(t, 2, 3);
            insert into g values (j, 1, 2, coalesce(t, 'lit')) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
        exception
            when unique_violation or not_null_violation then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                raise;
            when others then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
        end;
        update g set ga = g.ga % 1000 + coalesce(q, 7) % 1000, gb = g.gb + 1 where gk = i returning g.gk, g.ga, g.gb, g.gt into r;
        get diagnostics l = row_count;
        s := s || found;
    when 1, 2 then
        get diagnostics l = row_count;
        s := s || found;
        c := j is null;
        update g set gt = coalesce(g.gt, '') || '+' where g.gk > j;
    when j then
        update g set ga = g.ga % 1000 + coalesce(ar[1], 7) % 1000, gb = g.gb + 1 where gk = 2 returning g.gk, g.ga, g.gb, g.gt into r;
        update g set ga = g.ga % 1000 + coalesce(q, 7) % 1000, gb = g.gb + 1 where gk = 0 returning g.gk, g.ga, g.gb, g.gt into r;
        get diagnostics l = row_count;
        s := s || found;
    else
        select count(*), sum(g.ga % 1000) into l, m from g;
        perform g.ga from g where g.gk > i;
    end case;
    m := (m - (w.ga - r.gk));
    if (r.gk > -1 or j > 7) then
        return upper(t);
    end if;
    declare
        u21 int := 0;
    begin
        while u21 < 2 and (m between i and n) loop
            u21 := u21 + 1;
            raise notice 'at % %', (ar[i] - u21), upper(t);
            continue when (u21 > 1 and u21 > 0);
            raise notice 'at % %', (r.ga * u21), (s || 'lit');
        end loop;
    end;
    c := exists (select 1 from g where g.gk = p);
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f7(3, 2147483647, -2.25, 'abc');
select f7(2147483647, 46341, 1000000.01, null);
select f7(0, 0, -2.25, '42');
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
    c := exists (select 1 from g where g.gk = j);
    update g set ga = g.ga % 1000 + coalesce(j, 7) % 1000, gb = g.gb + 1 where gk = p returning g.gk, g.ga, g.gb, g.gt into r;
    begin
        case i % 4
        when 0 then
            update g set gt = coalesce(g.gt, '') || '+' where g.gk > i;
            begin
                select count(*), sum(g.ga % 1000) into l, m from g;
            exception
                when unique_violation or not_null_violation then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                when others then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
            end;
        when 1, 2 then
            j := (w.ga - coalesce(q, null));
        when j then
            delete from g where gk = j returning * into w;
            ar[2] := (p + (i + w.ga));
            begin
                raise notice 'at % %', (ar[i] + j), (t || j);
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
                    ar[4] := greatest(r.gk, (ar[1] - r.ga));
                    raise notice 'at % %', (ar[1] / w.ga), (w.gb)::text;
            end;
        end case;
    exception
        when sqlstate 'U0001' then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            raise;
        when division_by_zero or numeric_value_out_of_range then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            raise notice 'at % %', i, (t || r.ga);
            insert into g values (j, (ar[i] - (ar[1] + 10)), (r.gb * m), replace(t, 'x', 'yz'));
            insert into g values (j, (case when w.ga < w.ga then (10 / r.ga) else j end), w.gb, (w.gt || 'lit'));
        when unique_violation then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
    end;
    m := (m + coalesce(m, m));
    begin
        declare
            u22 int := 0;
        begin
            while u22 < 3 and (m between 1.5 and n) loop
                u22 := u22 + 1;
                exit when m between 1.5 and n;
            end loop;
        end;
        update g set ga = g.ga % 1000 + coalesce(i, 7) % 1000, gb = g.gb + 1 where gk = j returning g.gk, g.ga, g.gb, g.gt into r;
        raise notice 'at % %', (ar[1] * q), upper(s);
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
            if ((r.ga > -4 or i > -1) and (ar[i] > 7 or p > 7)) then
                if p is null then
                    return replace(s, 'x', 'yz');
                end if;
            elsif (not (r.gk > 100) and r.ga <= p) then
                insert into g values (j, (case when r.gk is null then greatest(q, -4) else j end), (n - 0), coalesce(w.gt, s));
            end if;
            if r.gk in (1, 2, i) then
                return coalesce(t, r.gt);
            end if;
            i := (p + -1);
    end;
    get diagnostics l = row_count;
    s := s || found;
    select * into w from g where g.gk >= i order by g.gk;
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f8(46341, 10, 99.995, 'abc');
select f8(null, -4, 1000000.01, null);
select f8(1, 100, null, 'abc');
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
    for i, s in select g.gk, g.gt from g order by g.gk limit 3 loop
        l := (i * (p % j));
    end loop;
    if not (ar[i] in (1, 2, ar[1])) then
        insert into g values (3, length((s || s)), (r.gb + n), coalesce(w.gt, 'lit'));
        ar[2] := (ar[i] / ar[i]);
        j := (ar[i] + (ar[i] + ar[1]));
    elsif r.gk <> greatest(p, r.gk) then
        if not (m between 0 and n) then
            if q in (1, 2, p) then
                return (w.gb)::text;
            end if;
            update g set ga = g.ga % 1000 + coalesce(ar[i], 7) % 1000, gb = g.gb + 1 where gk = 5 returning g.gk, g.ga, g.gb, g.gt into r;
            m := coalesce(m, (n * 1.25));
        end if;
        raise notice 'at % %', (case when ar[i] > 100 then r.ga else p end), (s || -1);
        if s like '%4%' then
            for v23 in -2 .. -1 by 2 loop
                delete from g where g.gk < p and g.ga > j;
            end loop;
            c := ar[1] < w.ga;
        else
            i := (case when (r.ga >= q and i is null) then (case when ar[1] > ar[1] then (case when w.ga > 100 then 1 else r.ga end) else q end) else i end);
        end if;
    end if;
    ar[2] := (w.ga * (i * 2));
    if j = (w.ga * 7) then
        for v24 in 2 .. 3 by 2 loop
            l := w.ga;
            case i % 4
            when 0 then
                update g set ga = g.ga % 1000 + coalesce(v24, 7) % 1000, gb = g.gb + 1 where gk = j returning g.gk, g.ga, g.gb, g.gt into r;
            when 1, 2 then
                i := greatest(v24, (v24 % 3));
            when j then
                perform g.ga from g where g.gk > 1;
                s := t;
                insert into g values (p, (v24 % j), (r.gb / m), coalesce(t, s));
            else
                continue when i >= 5;
            end case;
        end loop;
        if s like '%4%' then
            for v25 in 1 .. 2 by 2 loop
                m := round(r.gb, 2);
                c := not (s like '%x%');
            end loop;
            raise notice 'at % %', length(s), left(s, -2);
        elsif r.gk = (case when i > -4 then ar[i] else i end) then
            select count(*), sum(g.ga % 1000) into l, m from g;
        else
            declare
                u26 int := 0;
            begin
                while u26 < 2 and (r.gk in (1, 2, w.ga)) loop
                    u26 := u26 + 1;
                    i := (u26 * abs(r.ga));
                    update g set gt = coalesce(g.gt, '') || '+' where g.gk > p;
                    s := (s || upper(t));
                end loop;
            end;
        end if;
    end if;
    raise notice 'at % %', abs(w.ga), upper(s);
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f9(10, 100, 1.5, 'Hello World');
select f9(0, 2, 1.5, null);
select f9(null, 46341, 0, 'abc');
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
    case i % 4
    when 0 then
        declare
            u27 int := 0;
        begin
            while u27 < 2 and (not (p > 7)) loop
                u27 := u27 + 1;
                insert into g values (j, (p + (null / i)), coalesce(r.gb, n), (n)::text);
            end loop;
        end;
        insert into g values (p, 1, 2, coalesce(s, t)) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
        for r in select g.gk, g.ga, g.gb, g.gt from g where g.ga <> 5 order by g.ga, g.gk loop
            insert into g values (3, (ar[1] - -4), round(r.gb, 0), left(w.gt, 0));
            raise notice 'at % %', 7, (w.gt || -1);
            update g set gt = coalesce(g.gt, '') || '+' where g.gk > p;
        end loop;
    when 1, 2 then
        select * into w from g where g.gk >= p order by g.gk;
    when j then
        for v28 in 1 .. least(j, 2) loop
            if (r.ga >= v28 or (q > 2 and v28 > 2)) then
                insert into g values (j, v28, (r.gb + n), substr(t, 1, 3));
            end if;
            i := ((r.ga + (v28 / p)) / j);
            c := not ((v28 > -4 and q > 100));
        end loop;
        for i, s in select g.gk, g.gt from g order by g.gk limit 3 loop
            if not (i = i) then
                select g.ga, g.gt into strict i, s from g where gk = p;
                perform g.ga from g where g.gk > 1;
            end if;
            j := greatest(r.gk, (q + i));
            case i % 4
            when 0 then
                select g.ga into i from g where gk = p;
                insert into g values (3, i, (n + 1.25), replace(s, 'x', 'yz'));
                delete from g where g.gk < i and g.ga > j;
            when 1, 2 then
                get diagnostics l = row_count;
                s := s || found;
                c := (i <= i and (i > -4 and i > 10));
            when j then
                j := coalesce(i, (i % 3));
            else
                get diagnostics l = row_count;
                s := s || found;
            end case;
        end loop;
        for v29 in reverse 4 .. 1 loop
            delete from g where gk = 0 returning * into w;
            continue when (i > 1 or v29 > -4);
            ar[3] := abs(v29);
        end loop;
    end case;
    case i % 4
    when 0 then
        if ar[1] <> 100 then
            return (s || s);
        end if;
        select max(g.gb), min(g.gk) into m, i from g where g.gk < p;
    when 1, 2 then
        insert into g values (p, greatest(r.ga, (r.gk / ar[i])), (m - j), left(t, 0));
        insert into g values (2, (j * abs(p)), (n / n), upper(w.gt));
        select g.ga into i from g where gk = j;
    when j then
        s := left(s, 2);
        if q = null then
            return (n)::text;
        end if;
    else
        i := (abs(j) / ar[i]);
    end case;
    get diagnostics l = row_count;
    s := s || found;
    begin
        s := left(s, 0);
        begin
            delete from g where g.gk < i and g.ga > j;
            select max(g.gb), min(g.gk) into m, i from g where g.gk < i;
        exception
            when others then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                if r.gk <= q then
                    return (w.gt || 5);
                end if;
                if (r.gk is null and q in (1, 2, p)) then
                    raise notice 'at % %', (ar[1] / r.ga), (n)::text;
                    c := ar[i] in (1, 2, i);
                    if not (r.gk > -4) then
                        return left(t, 0);
                    end if;
                end if;
                c := w.ga is null;
        end;
    exception
        when others then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
    end;
    begin
        i := j;
        select g.ga into i from g where gk = j;
        select g.ga into i from g where gk = j;
    exception
        when unique_violation or not_null_violation then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            begin
                i := (q % 3);
                case i % 4
                when 0 then
                    s := (t || replace(t, 'x', 'yz'));
                when 1, 2 then
                    raise notice 'at % %', (q / q), w.gt;
                when j then
                    raise notice 'at % %', abs(j), (w.gt || j);
                    s := substr(w.gt, 0, 3);
                end case;
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
            begin
                if w.ga = (case when q > -4 then r.ga else r.gk end) then
                    insert into g values (p, (i * abs(p)), (n * w.gb), upper(w.gt));
                elsif ar[i] is null then
                    l := (1 / p);
                    insert into g values (5, (j + abs(j)), m, left(t, 2));
                    s := left(t, -2);
                else
                    get diagnostics l = row_count;
                    s := s || found;
                    s := substr(t, 0, 3);
                    ar[4] := (ar[1] * coalesce(r.ga, 3));
                end if;
                if ar[1] < j then
                    raise exception 'raised %', replace(w.gt, 'x', 'yz') using errcode = '22012';
                end if;
                select * into w from g where g.gk >= j order by g.gk;
            exception
                when others then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
            end;
    end;
    i := (i / i);
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f10(46341, 10, 1000000.01, '42');
select f10(7, 10, 1000000.01, '');
select f10(5, 100, 99.995, '42');
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
    delete from g where gk = p returning * into w;
    raise notice 'at % %', (ar[1] % 3), left(s, -1);
    delete from g where g.gk < j and g.ga > j;
    s := left(t, -1);
    s := (s || (p + r.ga));
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f11(46341, 100, null, '');
select f11(100, 1, 1.5, null);
select f11(7, -1, -2.25, '42');
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
    i := abs(q);
    delete from g where gk = i returning * into w;
    j := abs(r.gk);
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f12(1, null, null, ' 7 ');
select f12(null, 1, null, '');
select f12(100, 1, 99.995, 'Hello World');
select * from g order by gk;


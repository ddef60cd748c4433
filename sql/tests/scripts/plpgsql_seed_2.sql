-- Made from seed 2 by sql/src/tests/procedures.rs.
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
    insert into g values (0, ((ar[1] * -4) / ar[1]), (m / w.gb), coalesce(s, s));
    raise notice 'at % %', (ar[1] + ar[i]), (s || s);
    if t like '%l%' then
        return coalesce(t, t);
    end if;
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f1(10, -1, null, 'abc');
select f1(null, 3, 0, 'Hello World');
select f1(2, 0, 1000000.01, null);
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
    get diagnostics l = row_count;
    s := s || found;
    select count(*), sum(g.ga % 1000) into l, m from g;
    get diagnostics l = row_count;
    s := s || found;
    begin
        if q <> i then
            return coalesce(w.gt, r.gt);
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
    if s like '%l%' then
        c := ((ar[i] > 0 and r.ga > 3) and t like '%4%');
        case i % 4
        when 0 then
            i := abs(p);
            if j <> greatest(w.ga, j) then
                select g.ga into i from g where gk = 5;
                c := exists (select 1 from g where g.gk = j);
                begin
                    l := ar[1];
                exception
                    when unique_violation or not_null_violation then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                        update g set ga = g.ga % 1000 + coalesce(r.ga, 7) % 1000, gb = g.gb + 1 where gk = 5 returning g.gk, g.ga, g.gb, g.gt into r;
                    when others then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                        delete from g where gk = j returning * into w;
                        c := exists (select 1 from g where g.gk = p);
                        begin
                            c := r.ga in (1, 2, j);
                            raise notice 'at % %', -1, coalesce(t, r.gt);
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
                end;
            elsif i is null then
                if i is null then
                    return replace(t, 'x', 'yz');
                end if;
                delete from g where g.gk < p and g.ga > j;
            end if;
        when 1, 2 then
            l := (j + (r.gk * ar[i]));
            get diagnostics l = row_count;
            s := s || found;
            select max(g.gb), min(g.gk) into m, i from g where g.gk < 0;
        when j then
            select g.ga into i from g where gk = i;
            begin
                s := substr(w.gt, 3, 3);
                select * into w from g where g.gk >= p order by g.gk;
                get diagnostics l = row_count;
                s := s || found;
            exception
                when data_exception then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    begin
                        i := coalesce(r.ga, greatest(q, (case when j > 2 then r.ga else r.gk end)));
                        insert into g values (i, 1, 2, replace(w.gt, 'x', 'yz')) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
                    exception
                        when unique_violation or not_null_violation then
                            s := s || sqlstate;
                            raise notice 'caught % %', sqlstate, sqlerrm;
                            get diagnostics l = row_count;
                            s := s || found;
                            c := exists (select 1 from g where g.gk = j);
                            update g set ga = g.ga % 1000 + coalesce(q, 7) % 1000, gb = g.gb + 1 where gk = p returning g.gk, g.ga, g.gb, g.gt into r;
                        when others then
                            s := s || sqlstate;
                            raise notice 'caught % %', sqlstate, sqlerrm;
                            i := coalesce(p, coalesce(ar[1], (j + ar[1])));
                            if m between i and n then
                                return (t || 5);
                            end if;
                    end;
                when raise_exception then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                when no_data_found or too_many_rows then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    update g set ga = g.ga % 1000 + coalesce(j, 7) % 1000, gb = g.gb + 1 where gk = 5 returning g.gk, g.ga, g.gb, g.gt into r;
            end;
        else
            begin
                select max(g.gb), min(g.gk) into m, i from g where g.gk < p;
                c := exists (select 1 from g where g.gk = 2);
                if i < 2147483647 then
                    return left(w.gt, -2);
                end if;
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
            begin
                i := (greatest(r.gk, (q * r.ga)) / p);
                delete from g where gk = p returning * into w;
            exception
                when others then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
            end;
        end case;
        c := i <> (i * r.ga);
    elsif p > abs(ar[i]) then
        s := (s || -1);
        begin
            update g set gt = coalesce(g.gt, '') || '+' where g.gk > p;
            if (not (r.gk > null) or ar[1] = i) then
                m := (r.gb * coalesce(m, r.gb));
                insert into g values (j, 7, (m + m), replace(t, 'x', 'yz'));
            else
                s := ((m * m))::text;
                get diagnostics l = row_count;
                s := s || found;
                insert into g values (j, length((w.gt || 'lit')), n, coalesce(t, t));
            end if;
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
    end if;
    case i % 4
    when 0 then
        begin
            insert into g values (p, (j + (j + ar[i])), (m + 1.25), (s || s));
            perform g.ga from g where g.gk > i;
        exception
            when sqlstate 'U0001' then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                if m between 0 and n then
                    begin
                        c := exists (select 1 from g where g.gk = i);
                        i := length(left(w.gt, -2));
                    exception
                        when sqlstate 'U0001' then
                            s := s || sqlstate;
                            raise notice 'caught % %', sqlstate, sqlerrm;
                        when division_by_zero or numeric_value_out_of_range then
                            s := s || sqlstate;
                            raise notice 'caught % %', sqlstate, sqlerrm;
                            c := ar[1] >= (r.gk * 5);
                        when unique_violation then
                            s := s || sqlstate;
                            raise notice 'caught % %', sqlstate, sqlerrm;
                    end;
                end if;
                case i % 4
                when 0 then
                    if m between 1.5 and n then
                        return (m)::text;
                    end if;
                    get diagnostics l = row_count;
                    s := s || found;
                    begin
                        l := abs(ar[i]);
                        ar[4] := greatest(j, (case when j > 10 then 10 else q end));
                        if t like '%x%' then
                            return (s || t);
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
                            get diagnostics l = row_count;
                            s := s || found;
                            i := coalesce(ar[1], (w.ga + (ar[i] + ar[i])));
                            ar[4] := ((w.ga - i) / j);
                    end;
                when 1, 2 then
                    i := 5;
                    select count(*), sum(g.ga % 1000) into l, m from g;
                    c := exists (select 1 from g where g.gk = i);
                when j then
                    begin
                        perform g.ga from g where g.gk > j;
                        i := greatest(r.ga, (j + (ar[i] / i)));
                        ar[5] := (greatest(j, r.gk) / ar[i]);
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
                            begin
                                get diagnostics l = row_count;
                                s := s || found;
                                s := coalesce(w.gt, substr(t, 2, 3));
                                select * into w from g where g.gk >= p order by g.gk;
                            exception
                                when unique_violation or not_null_violation then
                                    s := s || sqlstate;
                                    raise notice 'caught % %', sqlstate, sqlerrm;
                                when others then
                                    s := s || sqlstate;
                                    raise notice 'caught % %', sqlstate, sqlerrm;
                            end;
                            insert into g values (p, abs(r.gk), (n * m), w.gt);
                            raise notice 'at % %', (ar[1] + 2), (s || w.gt);
                    end;
                    i := (w.ga + 2147483647);
                end case;
                for v1 in 0 .. least(j, 1) loop
                    m := (r.gb * (m / w.gb));
                    update g set ga = g.ga % 1000 + coalesce(w.ga, 7) % 1000, gb = g.gb + 1 where gk = p returning g.gk, g.ga, g.gb, g.gt into r;
                    i := ((v1 % i) / v1);
                end loop;
            when division_by_zero or numeric_value_out_of_range then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                raise;
            when unique_violation then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                c := r.gk <> (case when r.ga > 0 then 46341 else i end);
                perform g.ga from g where g.gk > i;
        end;
    when 1, 2 then
        i := (i % 3);
    when j then
        begin
            select g.ga, g.gt into strict i, s from g where gk = j;
            if p is null then
                insert into g values (i, 1, 2, (w.gt || i)) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
                raise notice 'at % %', (-1 / ar[1]), (t || 2);
                update g set gt = coalesce(g.gt, '') || '+' where g.gk > j;
            elsif not (not (r.gk > 2)) then
                l := (case when q in (1, 2, r.ga) then abs(r.gk) else i end);
            end if;
        exception
            when others then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                raise;
        end;
    else
        begin
            perform g.ga from g where g.gk > p;
            ar[2] := ((p + q) / r.gk);
            if (p > 5 or ar[i] > -4) then
                return t;
            end if;
        exception
            when others then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
        end;
        i := (ar[1] + (q % i));
    end case;
    begin
        j := 3;
        select g.ga into i from g where gk = p;
        delete from g where gk = p returning * into w;
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
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f2(7, 3, null, '');
select f2(5, 100, 1.5, 'abc');
select f2(2147483647, -1, -2.25, 'abc');
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
    insert into g values (p, (j + 5), (r.gb * m), left(t, -1));
    case i % 4
    when 0 then
        begin
            if r.ga >= i then
                raise exception 'raised %', s using errcode = 'U0001';
            end if;
            select max(g.gb), min(g.gk) into m, i from g where g.gk < j;
            insert into g values (i, (j + length(r.gt)), (r.gb + m), left(s, -2));
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
        update g set ga = g.ga % 1000 + coalesce(q, 7) % 1000, gb = g.gb + 1 where gk = p returning g.gk, g.ga, g.gb, g.gt into r;
    when 1, 2 then
        raise notice 'at % %', (j + r.ga), substr(t, 3, 3);
        select g.ga, g.gt into strict i, s from g where gk = p;
        case i % 4
        when 0 then
            insert into g values (3, 1, 2, upper(w.gt)) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
            insert into g values (1, abs(r.ga), coalesce(n, m), left(s, -2));
        when 1, 2 then
            l := j;
            ar[3] := length(left(s, 3));
        when j then
            insert into g values (j, 1, 2, (1.25)::text) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
            s := substr(w.gt, 1, 3);
            s := (w.gt || left(w.gt, 1));
        else
            delete from g where gk = j returning * into w;
            if j is null then
                s := (t || s);
                get diagnostics l = row_count;
                s := s || found;
            elsif p < (i + q) then
                l := (q * q);
                m := coalesce(m, (m + m));
            end if;
            case i % 4
            when 0 then
                get diagnostics l = row_count;
                s := s || found;
            when 1, 2 then
                c := exists (select 1 from g where g.gk = p);
                s := s;
                update g set ga = g.ga % 1000 + coalesce(p, 7) % 1000, gb = g.gb + 1 where gk = j returning g.gk, g.ga, g.gb, g.gt into r;
            when j then
                get diagnostics l = row_count;
                s := s || found;
                l := (ar[i] * (ar[1] / ar[i]));
            else
                begin
                    s := coalesce(t, left(s, -1));
                    if (p > 1 and p > -4) then
                        raise exception 'raised %', coalesce(w.gt, w.gt) using errcode = 'U0002';
                    end if;
                    if not (w.ga > 0) then
                        raise exception 'raised %', replace(w.gt, 'x', 'yz') using errcode = 'P0001';
                    end if;
                exception
                    when others then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                        begin
                            delete from g where gk = 5 returning * into w;
                            insert into g values (j, -1, (m + m), coalesce(s, w.gt));
                        exception
                            when data_exception then
                                s := s || sqlstate;
                                raise notice 'caught % %', sqlstate, sqlerrm;
                            when raise_exception then
                                s := s || sqlstate;
                                raise notice 'caught % %', sqlstate, sqlerrm;
                                raise notice 'at % %', abs(w.ga), (w.gt || r.gt);
                            when no_data_found or too_many_rows then
                                s := s || sqlstate;
                                raise notice 'caught % %', sqlstate, sqlerrm;
                        end;
                end;
            end case;
        end case;
    when j then
        for v2 in 2 .. 4 by 2 loop
            ar[4] := (r.gk + (p - ar[1]));
            if r.ga in (1, 2, v2) then
                get diagnostics l = row_count;
                s := s || found;
                m := (r.gb / round(n, 2));
                update g set gt = coalesce(g.gt, '') || '+' where g.gk > i;
            elsif v2 in (1, 2, v2) then
                continue when w.ga = 2147483647;
            else
                l := coalesce(v2, (p / v2));
            end if;
        end loop;
        get diagnostics l = row_count;
        s := s || found;
        begin
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
                raise;
        end;
    else
        i := (w.ga % i);
        for w in select * from g where g.gk > j - 3 order by g.gk loop
            s := replace(s, 'x', 'yz');
            ar[3] := -4;
        end loop;
    end case;
    begin
        s := substr(s, 3, 3);
    exception
        when unique_violation or not_null_violation then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            update g set gt = coalesce(g.gt, '') || '+' where g.gk > 5;
        when others then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            delete from g where g.gk < 2 and g.ga > j;
    end;
    if not (not (i > 2)) then
        get diagnostics l = row_count;
        s := s || found;
    end if;
    l := (i + (i % i));
    s := ((n + n))::text;
    select g.ga into i from g where gk = 4;
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f3(-4, 5, null, null);
select f3(-4, 7, 99.995, '');
select f3(1, 5, 99.995, 'Hello World');
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
    declare
        u3 int := 0;
    begin
        while u3 < 2 and (p is null) loop
            u3 := u3 + 1;
            case i % 4
            when 0 then
                select g.ga, g.gt into strict i, s from g where gk = j;
                for v4 in 2 .. 3 by 2 loop
                    i := (u3 + coalesce(v4, (case when j > -4 then ar[i] else p end)));
                    select g.ga into i from g where gk = p;
                end loop;
                raise notice 'at % %', u3, upper(w.gt);
            when 1, 2 then
                j := (u3 + 10);
                insert into g values (3, (u3 - r.gk), round(r.gb, 2), replace(w.gt, 'x', 'yz'));
            when j then
                select * into w from g where g.gk >= 1 order by g.gk;
            end case;
        end loop;
    end;
    ar[2] := greatest(p, 7);
    select max(g.gb), min(g.gk) into m, i from g where g.gk < 0;
    if r.ga > 100 then
        return upper(t);
    end if;
    ar[5] := i;
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f4(5, 46341, 1000000.01, null);
select f4(2, null, 1000000.01, null);
select f4(2, 5, 1000000.01, null);
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
    m := m;
    if ar[i] >= 10 then
        return (w.gt || 'lit');
    end if;
    select * into w from g where g.gk >= j order by g.gk;
    declare
        u5 int := 0;
    begin
        while u5 < 1 and ((ar[i] > 46341 and q > 0)) loop
            u5 := u5 + 1;
            if m between i and n then
                raise notice 'at % %', (u5 * u5), substr(t, -1, 3);
                raise notice 'at % %', 2147483647, upper(s);
                update g set ga = g.ga % 1000 + coalesce(r.gk, 7) % 1000, gb = g.gb + 1 where gk = p returning g.gk, g.ga, g.gb, g.gt into r;
            elsif u5 is null then
                delete from g where gk = p returning * into w;
                continue when s like '%x%';
                update g set ga = g.ga % 1000 + coalesce(u5, 7) % 1000, gb = g.gb + 1 where gk = i returning g.gk, g.ga, g.gb, g.gt into r;
            else
                l := coalesce(u5, greatest(u5, 10));
                l := ((u5 % 7) / j);
            end if;
        end loop;
    end;
    ar[3] := coalesce(r.gk, (w.ga - r.ga));
    declare
        u6 int := 0;
    begin
        while u6 < 3 and (ar[i] in (1, 2, q)) loop
            u6 := u6 + 1;
            declare
                u7 int := 0;
            begin
                while u7 < 2 and (m between 0 and n) loop
                    u7 := u7 + 1;
                    delete from g where gk = 1 returning * into w;
                end loop;
            end;
        end loop;
    end;
    for i, s in select g.gk, g.gt from g order by g.gk limit 3 loop
        if (p is null or i > i) then
            ar[2] := (case when w.ga > r.ga then (ar[i] + i) else i end);
            get diagnostics l = row_count;
            s := s || found;
        elsif m between 1.5 and n then
            if i is null then
                i := coalesce(p, (abs(ar[1]) / i));
            elsif p <= 10 then
                i := (w.ga + (p * length(t)));
            else
                get diagnostics l = row_count;
                s := s || found;
                continue when i is null;
            end if;
            c := not (q in (1, 2, i));
        end if;
    end loop;
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f5(0, -1, -2.25, '42');
select f5(2, 2, 1000000.01, '42');
select f5(3, 1, null, null);
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
    insert into g values (p, 1, 2, (s || s)) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
    insert into g values (i, (i - greatest(r.gk, 3)), round(m, 0), (s || 46341));
    if r.ga is null then
        return coalesce(s, 'lit');
    end if;
    insert into g values (j, 1, 2, substr(w.gt, 2, 3)) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
    if (p > 46341 and r.ga > 7) then
        return upper(s);
    end if;
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f6(2, 2, 1.5, null);
select f6(-4, -4, 99.995, 'Hello World');
select f6(46341, 100, 1000000.01, '42');
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
    perform g.ga from g where g.gk > i;
    select max(g.gb), min(g.gk) into m, i from g where g.gk < 2;
    if (m between 1.5 and n and ar[1] <= -4) then
        s := ((n * 1.25))::text;
    else
        i := 2147483647;
        i := 46341;
        select * into w from g where g.gk >= i order by g.gk;
    end if;
    declare
        u8 int := 0;
    begin
        while u8 < 2 and (i is null) loop
            u8 := u8 + 1;
            for w in select * from g where g.gk > j - 3 order by g.gk loop
                select * into w from g where g.gk >= p order by g.gk;
            end loop;
            insert into g values (5, 1, 2, (w.gt || u8)) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
        end loop;
    end;
    for v9 in -1 .. 2 by 2 loop
        c := ((q > 46341 and p > 46341) or r.ga <> q);
        insert into g values (i, abs(ar[i]), (r.gb - w.ga), upper(s));
        s := substr(s, 2, 3);
    end loop;
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f7(7, 46341, 1000000.01, '42');
select f7(null, null, 1000000.01, '42');
select f7(100, -1, -2.25, null);
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
    declare
        u10 int := 0;
    begin
        while u10 < 2 and (j in (1, 2, ar[i])) loop
            u10 := u10 + 1;
            begin
                begin
                    delete from g where gk = i returning * into w;
                exception
                    when sqlstate 'U0001' then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                    when division_by_zero or numeric_value_out_of_range then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                        l := (coalesce(p, 5) / u10);
                        ar[5] := (case when s like '%4%' then u10 else j end);
                    when unique_violation then
                        s := s || sqlstate;
                        raise notice 'caught % %', sqlstate, sqlerrm;
                        c := exists (select 1 from g where g.gk = p);
                end;
                c := not ((u10 > 0 and u10 > null));
            exception
                when others then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
            end;
            get diagnostics l = row_count;
            s := s || found;
        end loop;
    end;
    get diagnostics l = row_count;
    s := s || found;
    if m between 1.5 and n then
        if (r.gk > 7 or ar[i] > 5) then
            return t;
        end if;
    elsif p <> 3 then
        raise notice 'at % %', coalesce(r.ga, ar[i]), (r.gb)::text;
        begin
            raise notice 'at % %', abs(i), 'lit';
        exception
            when sqlstate 'U0001' then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
                begin
                    l := ((q - 46341) / r.gk);
                    if (w.ga > 100 and r.ga > 1) then
                        return replace(t, 'x', 'yz');
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
                        insert into g values (j, 1, 2, (t || p)) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
                        select g.ga, g.gt into strict i, s from g where gk = 0;
                        select max(g.gb), min(g.gk) into m, i from g where g.gk < i;
                end;
                l := (r.gk % j);
                case i % 4
                when 0 then
                    s := coalesce(t, upper(w.gt));
                when 1, 2 then
                    insert into g values (j, length(substr(t, -1, 3)), coalesce(m, n), (s || 2147483647));
                    update g set gt = coalesce(g.gt, '') || '+' where g.gk > j;
                when j then
                    j := length(substr(t, 2, 3));
                else
                    select g.ga into i from g where gk = j;
                    c := not (ar[i] < 2147483647);
                    c := exists (select 1 from g where g.gk = p);
                end case;
            when division_by_zero or numeric_value_out_of_range then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
            when unique_violation then
                s := s || sqlstate;
                raise notice 'caught % %', sqlstate, sqlerrm;
        end;
        i := (r.ga + coalesce(r.ga, greatest(ar[i], 7)));
    end if;
    declare
        u11 int := 0;
    begin
        while u11 < 2 and (m between i and n) loop
            u11 := u11 + 1;
            s := replace(w.gt, 'x', 'yz');
        end loop;
    end;
    if m between 1.5 and n then
        update g set gt = coalesce(g.gt, '') || '+' where g.gk > p;
    end if;
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f8(10, 2147483647, 1000000.01, '');
select f8(null, 5, 99.995, '42');
select f8(-4, 100, 99.995, 'Hello World');
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
    select max(g.gb), min(g.gk) into m, i from g where g.gk < j;
    i := coalesce(r.ga, (ar[i] - greatest(ar[i], j)));
    i := greatest(i, (r.ga % j));
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f9(2, 0, -2.25, ' 7 ');
select f9(46341, 100, null, 'Hello World');
select f9(5, 5, 0, '42');
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
    for w in select * from g where g.gk > j - 3 order by g.gk desc loop
        declare
            u12 int := 0;
        begin
            while u12 < 1 and (i = r.gk) loop
                u12 := u12 + 1;
                for v13 in reverse 5 .. 2 loop
                    delete from g where g.gk < i and g.ga > j;
                    select max(g.gb), min(g.gk) into m, i from g where g.gk < i;
                    s := (coalesce(n, r.gb))::text;
                end loop;
                update g set gt = coalesce(g.gt, '') || '+' where g.gk > j;
            end loop;
        end;
        exit when s like '%4%';
    end loop;
    get diagnostics l = row_count;
    s := s || found;
    for r in select g.gk, g.ga, g.gb, g.gt from g where g.ga <> 5 order by g.ga, g.gk loop
        insert into g values (j, (case when s like '%4%' then (ar[1] + p) else r.ga end), (n + n), left(w.gt, 1));
        update g set ga = g.ga % 1000 + coalesce(r.gk, 7) % 1000, gb = g.gb + 1 where gk = i returning g.gk, g.ga, g.gb, g.gt into r;
    end loop;
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f10(null, 2, 99.995, ' 7 ');
select f10(46341, 3, -2.25, 'Hello World');
select f10(46341, 46341, -2.25, 'Hello World');
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
    declare
        u14 int := 0;
    begin
        while u14 < 3 and (r.gk >= -4) loop
            u14 := u14 + 1;
            begin
                case i % 4
                when 0 then
                    update g set gt = coalesce(g.gt, '') || '+' where g.gk > j;
                when 1, 2 then
                    continue when ar[i] in (1, 2, q);
                    s := replace(w.gt, 'x', 'yz');
                when j then
                    raise notice 'at % %', length(w.gt), (t || r.gt);
                else
                    delete from g where g.gk < p and g.ga > j;
                    select * into w from g where g.gk >= i order by g.gk;
                    j := greatest(i, (u14 + p));
                end case;
            exception
                when sqlstate 'U0001' then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    case i % 4
                    when 0 then
                        get diagnostics l = row_count;
                        s := s || found;
                        delete from g where g.gk < 5 and g.ga > j;
                        update g set ga = g.ga % 1000 + coalesce(r.ga, 7) % 1000, gb = g.gb + 1 where gk = j returning g.gk, g.ga, g.gb, g.gt into r;
                    when 1, 2 then
                        m := coalesce(n, (r.gb - 1));
                        m := (m - p);
                    when j then
                        update g set ga = g.ga % 1000 + coalesce(u14, 7) % 1000, gb = g.gb + 1 where gk = p returning g.gk, g.ga, g.gb, g.gt into r;
                        c := ((u14 > 2147483647 or ar[1] > 3) and i = i);
                    end case;
                    l := greatest(u14, (i + u14));
                    get diagnostics l = row_count;
                    s := s || found;
                when division_by_zero or numeric_value_out_of_range then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                when unique_violation then
                    s := s || sqlstate;
                    raise notice 'caught % %', sqlstate, sqlerrm;
                    continue when w.ga is null;
                    for v15 in -2 .. least(j, 1) loop
                        j := (p * null);
                        select g.ga into i from g where gk = j;
                        insert into g values (i, (j - length(r.gt)), (r.gb - v15), substr(t, -1, 3));
                    end loop;
            end;
        end loop;
    end;
    for i, s in select g.gk, g.gt from g order by g.gk desc limit 3 loop
        if i = abs(p) then
            update g set gt = coalesce(g.gt, '') || '+' where g.gk > p;
            declare
                u16 int := 0;
            begin
                while u16 < 3 and (i <= q) loop
                    u16 := u16 + 1;
                    c := i <> u16;
                    i := (u16 + ((i - q) / i));
                    c := exists (select 1 from g where g.gk = p);
                end loop;
            end;
        end if;
    end loop;
    begin
        for v17 in 0 .. least(j, 0) loop
            delete from g where g.gk < i and g.ga > j;
            select * into w from g where g.gk >= i order by g.gk;
            for i, s in select g.gk, g.gt from g order by g.gk limit 3 loop
                insert into g values (j, (case when i <> 7 then i else v17 end), (m + n), coalesce(w.gt, t));
                select count(*), sum(g.ga % 1000) into l, m from g;
                i := i;
            end loop;
        end loop;
        s := replace(t, 'x', 'yz');
        begin
            delete from g where g.gk < j and g.ga > j;
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
                if w.ga < (q + j) then
                    select g.ga into i from g where gk = i;
                    select g.ga into i from g where gk = p;
                elsif m between i and n then
                    select max(g.gb), min(g.gk) into m, i from g where g.gk < 5;
                end if;
                for w in select * from g where g.gk > j - 3 order by g.gk desc loop
                    update g set ga = g.ga % 1000 + coalesce(ar[1], 7) % 1000, gb = g.gb + 1 where gk = i returning g.gk, g.ga, g.gb, g.gt into r;
                end loop;
                update g set ga = g.ga % 1000 + coalesce(r.gk, 7) % 1000, gb = g.gb + 1 where gk = p returning g.gk, g.ga, g.gb, g.gt into r;
        end;
    exception
        when others then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            raise;
    end;
    m := (n + (n + r.gb));
    insert into g values (4, 1, 2, (w.gt || s)) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f11(-1, 0, null, 'abc');
select f11(-4, 0, 99.995, '42');
select f11(2147483647, 46341, -2.25, '');
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
    begin
        for v18 in reverse 1 .. 1 loop
            insert into g values (p, length((t || w.gt)), (r.gb - v18), coalesce(w.gt, r.gt));
        end loop;
    exception
        when sqlstate 'U0001' then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            declare
                u19 int := 0;
            begin
                while u19 < 1 and ((p > 1 or w.ga > 100)) loop
                    u19 := u19 + 1;
                    if u19 >= length(w.gt) then
                        insert into g values (i, 1, 2, upper(s)) on conflict (gk) do update set ga = g.ga + excluded.ga, gt = 'twice' returning g.ga into j;
                    end if;
                end loop;
            end;
            insert into g values (p, abs(j), round(n, 2), upper(t));
        when division_by_zero or numeric_value_out_of_range then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
            raise;
        when unique_violation then
            s := s || sqlstate;
            raise notice 'caught % %', sqlstate, sqlerrm;
    end;
    delete from g where g.gk < 2 and g.ga > j;
    raise notice 'at % %', (p + -4), r.gt;
    update g set gt = coalesce(g.gt, '') || '+' where g.gk > i;
    return coalesce(i, -1) || ' ' || coalesce(j, -1) || ' ' || coalesce(m, -1) || ' ' || coalesce(s, 'null') || ' ' || coalesce(c::text, 'null') || ' ' || coalesce(l, -1) || ' ' || coalesce(ar::text, 'null') || ' ' || coalesce(r.gk, -1) || ' ' || coalesce(w.gt, 'null');
end
$$;
select f12(5, 0, 0, '');
select f12(2147483647, 10, -2.25, '42');
select f12(2, 10, 0, 'Hello World');
select * from g order by gk;


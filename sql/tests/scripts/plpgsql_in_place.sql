-- Rows that are updated in place while a cursor or a loop still reads them, and rolled back.
create table spot (id int primary key, a int not null, b bigint, c text, d text);
insert into spot values (1, 10, 100, 'one', 'x'), (2, 20, null, 'two', null), (3, 30, 300, '', 'zzz');

create function outer_row_stays() returns text language plpgsql as $$
declare
    t text := '';
    r spot%rowtype;
    s spot%rowtype;
begin
    for r in select * from spot order by id loop
        update spot set a = a + 1, b = r.a where id = r.id returning * into s;
        t := t || r.a || ' ' || coalesce(r.b::text, '-') || ' > ' || s.a || ' ' || s.b || '; ';
        for s in select * from spot where id >= r.id order by id loop
            update spot set c = 'abc', a = s.a + r.a where id = s.id;
            t := t || s.c || r.c || s.a || ', ';
        end loop;
    end loop;
    return t;
end
$$;
select outer_row_stays();
select * from spot order by id;

create function taken_back() returns text language plpgsql as $$
declare
    t text := '';
    r spot%rowtype;
    n int;
begin
    for r in select * from spot order by id loop
        begin
            update spot set a = -a, b = null, c = 'cba' where id = r.id returning a into n;
            t := t || r.a || ' ' || n || ' ';
            update spot set a = a * 2, d = 'longer than before' where id = r.id returning a into n;
            t := t || r.a || ' ' || n || ' ';
            update spot set b = 7, c = 'xyz' where id = r.id;
            if r.id <> 2 then
                raise exception 'no';
            end if;
        exception when raise_exception then
            select a into n from spot where id = r.id;
            t := t || r.a || ' ' || r.c || ' ' || n || '; ';
        end;
    end loop;
    return t;
end
$$;
select taken_back();
select * from spot order by id;

begin;
update spot set a = 1, b = 2 where id = 1;
savepoint s;
update spot set a = 3, b = null, c = 'qqq' where id = 1;
update spot set a = 4, b = 5 where id = 1;
delete from spot where id = 1;
insert into spot values (1, 6, 6, 'six', 'y');
update spot set a = 7, b = null where id = 1;
select * from spot where id = 1;
rollback to s;
select * from spot where id = 1;
update spot set a = a + 1, b = b + 1 where id = 1 returning id, a, b;
rollback;
select * from spot order by id;

update spot set a = a + 1, b = a, c = d, d = c;
select * from spot order by id;
update spot set a = 1 / (id - 2) where id = 2;
update spot set a = null where id = 3;
update spot set b = null, a = b where id = 1;
select * from spot order by id;

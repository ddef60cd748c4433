-- Rows that a statement still looks at after a function it calls has run for long, or has changed them.
create table kept (id int primary key, a int not null, b text);
insert into kept values (1, 10, 'one'), (2, 20, 'two'), (3, 30, null);

create function slow(n int) returns int language plpgsql as $$
declare
    s int := 0;
begin
    for i in 1..1000 loop
        s := s + n;
    end loop;
    return s;
end
$$;

update kept set a = slow(a) + a, b = b || slow(id) where id = 1;
select id, slow(id), a, b, slow(a), b from kept order by id;
insert into kept select id + 10, slow(id) + a, b from kept where id < 3;
select * from kept order by id;

create function bump(n int) returns int language plpgsql as $$
begin
    update kept set a = a + 1, b = coalesce(b, '') || '!' where id = n;
    return slow(n);
end
$$;

select id, a, b, bump(id), a, b from kept where id = 2;
select * from kept where id = 2;
delete from kept where slow(id) > 2500;
select * from kept order by id;

create function over_rows() returns text language plpgsql as $$
declare
    t text := '';
    r kept%rowtype;
begin
    for r in select * from kept order by id loop
        begin
            update kept set a = slow(a) + r.a where id = r.id;
            if r.id = 2 then
                raise exception 'not this one';
            end if;
        exception when others then
            t := t || sqlerrm || ' ';
        end;
        t := t || r.id || ':' || r.a || ' ';
    end loop;
    return t;
end
$$;
select over_rows();
select * from kept order by id;

-- Rows by the elements of an array.
drop table if exists item;
drop table if exists part;
drop function if exists total;
drop procedure if exists pay;
create table item (id int primary key, price int not null);
insert into item values (1, 10), (2, 20), (3, 30), (4, 40), (5, 50);
create table part (kind text, number bigint, price int, primary key (kind, number));
insert into part values ('a', 1, 1), ('a', 2, 2), ('b', 1, 3), ('b', 3, 4);
select * from item where id = any('{4,2,2,9,null,4}'::int[]) order by id;
select * from item where id = any(array[5, 1]) and price > 10;
select count(*) from item where id = any('{}'::int[]);
select count(*) from item where id = any(null::int[]);
select count(*) from item where id = any('{null}'::int[]);
select count(*) from item where not id = any('{1,2}'::int[]);
select count(*) from item where id = any('{1,2}'::int[]) or price = 50;
select * from item where id = any('{1,2,3}'::int[]) and id = any('{2,3,4}'::int[]) order by id;
select * from item where id = any('{1,2,3}'::int[]) and id = 2;
select * from item where id = any('{3,2,1}'::int[]) order by id desc limit 2;
select * from part where kind = 'b' and number = any('{3,1,3,2}'::int[]) order by number;
select * from part where number = any('{1}'::bigint[]) order by kind;
select i.id, p.kind from item i join part p on p.kind = 'a' and p.number = any(array[i.id, i.id - 1]) where i.id < 4 order by 1, 2;
select i.id, p.number, q.kind from item i left join part p on p.kind = 'a' and p.number = i.id left join part q on q.kind = 'b' and q.number = any(array[p.number, p.number + 2]) order by 1, 2, 3;
update item set price = price + 1 where id = any('{5,1,5}'::int[]);
select * from item order by id;
update item set id = id + 1 where id = any('{5,6}'::int[]);
select * from item order by id;
delete from item where id = any('{6,7}'::int[]);
select * from item order by id;
create function total(wanted int[]) returns int language plpgsql as $$
declare
    sum int := 0;
    line record;
begin
    for line in select * from item where id = any(wanted) order by id loop
        sum := sum + line.price;
        wanted := array_append(wanted, 3);
    end loop;
    return sum;
end
$$;
select total('{1,1,2,7}'), total('{}'), total(null);
create procedure pay(wanted int[], amount int) language plpgsql as $$
begin
    update item set price = price - amount where id = any(wanted);
    if not found then
        raise exception 'none of % is there', wanted;
    end if;
end
$$;
call pay('{2,3}', 5);
call pay('{20,30}', 5);
select * from item order by id;
prepare by_ids(int[], text) as select *, $2 from item where id = any($1) order by id;
execute by_ids('{3,1,1}', 'x');
execute by_ids(array[2, 9], null);
prepare in_pairs(int[2]) as select cardinality($1);
execute in_pairs('{1,2,3}');
prepare wrong(int[) as select 1;
deallocate all;

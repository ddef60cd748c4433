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
-- Lists and arrays of a wider type than the key, and long ones.
create table narrow (k smallint primary key, i int);
insert into narrow select i, 10 * i from generate_series(1, 100) i;
create table keyed (k int primary key, t text);
insert into keyed select i, 'text ' || i from generate_series(1, 500) i;
select k from narrow where k in (3, 1, 3, 70000, -5, null) order by k;
select k from narrow where k in (2, 3000000000) order by k;
select k from narrow where k = any('{5,4,99999,NULL,4}'::int[]) order by k;
select k from keyed where k in (7, 3000000000, 5) order by k;
select k from keyed where k = any('{7,3000000000,5,7}'::bigint[]) order by k;
select k from keyed where k = any(null::bigint[]) order by k;
select count(*), sum(k) from keyed where k in (1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59,60,61,62,63,64,65,66,67,68,69,70,70,70,1000,null,5000000000);
select count(*), sum(k) from keyed where k not in (1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30);
select count(*) from keyed where k not in (1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,null);
select k from keyed where t in ('text 1','text 2','text 3','x','y','z','a','b','c','d','e','f','g','h','i','j','k','l') order by k;
select count(*) from keyed where (t in ('text 1','text 2','text 3','x','y','z','a','b','c','d','e','f','g','h','i','j','k',null)) is null;
select k from keyed where k in (1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59,60,61,62,63,64,65,66) and t like '%6' order by k desc;
update keyed set t = 'changed' where k in (1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59,60,61,62,63,64,65,66,66,66);
delete from keyed where k in (1,2,3,3000000000);
select count(*), sum(k) from keyed where t = 'changed';
select 1.5::float8 in (1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,1.5), '-0'::float8 in (1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,0) from keyed where k = 7;

-- Queries in FROM, WITH, VALUES, UNION, INTERSECT, EXCEPT.
create table sales (id int primary key, shop text, amount int);
create table shops (name text primary key, city text);
insert into sales values (1, 'a', 10), (2, 'a', 20), (3, 'b', 5), (4, 'c', 40), (5, null, 1);
insert into shops values ('a', 'Rome'), ('b', 'Oslo'), ('d', 'Bern');
-- queries in FROM
select * from (select id, amount from sales where amount > 5) big order by id;
select shop, total from (select shop, sum(amount) as total from sales group by shop) t where total > 4 order by total desc;
select t.a, t.b from (select shop, amount from sales) as t(a, b) order by b limit 2;
select s.name, t.total from shops s join (select shop, sum(amount) total from sales group by shop) t on t.shop = s.name order by 1;
select s.name, t.total from shops s left join (select shop, sum(amount) total from sales group by shop) t on t.shop = s.name order by 1;
select a.id, b.id from (select id from sales where id < 3) a, (select id from sales where id > 3) b order by 1, 2;
select max(n) from (select count(*) n from sales group by shop) counts;
select * from (select * from (select 1 as x) a) b;
select x.* from (select 1 a, 'two'::text b) x;
select (select sum(q) from (select amount q from sales where shop = s.name) inner_query) from shops s order by name;
select name from shops s where exists (select 1 from (select shop from sales) t where t.shop = s.name) order by 1;
select name, (select count(*) from (select 1 from sales where sales.shop = shops.name limit 1) one) from shops order by 1;
select distinct city from (select city from shops union all select city from shops) both_of order by 1;
select * from (select id from sales) order by 1;
select * from (select 1) t, (select 2) t;
select amount from (select id from sales) t;
select t.nosuch from (select id from sales) t;
-- VALUES
values (1, 'a'), (2, 'b') order by 1 desc;
values (3), (1), (2) order by column1 limit 2;
select * from (values (1, 'one'), (2, 'two')) v order by 1;
select n, word from (values (1, 'one'), (2, null), (3, 'three')) v(n, word) where n <> 1 order by n;
select sales.id, v.label from sales join (values ('a', 'A'), ('c', 'C')) v(shop, label) on v.shop = sales.shop order by 1;
select * from (values (1), (2.5), (3)) v(x) order by x;
select sum(x) from (values (1), (2), (3)) v(x);
select 2 in (values (1), (2)), array(values (3), (4)), exists (values (1));
-- UNION, INTERSECT, EXCEPT
select 1 union select 2 union select 1 order by 1;
select 1 union all select 2 union all select 1 order by 1;
select shop from sales union select name from shops order by 1;
select shop from sales union all select name from shops order by 1;
select shop from sales intersect select name from shops order by 1;
select name from shops except select shop from sales order by 1;
select shop from sales except select name from shops order by 1;
select shop from sales intersect all select 'a' from sales order by 1;
select shop from sales except all select 'a' from shops where name = 'a' order by 1 nulls first;
select 1 as n, 'x'::text as t union select 2.5, null order by n;
(select id from sales order by id limit 1) union (select id from sales order by id desc limit 1) order by 1;
select id from sales where id < 3 union select id from sales where id > 4 order by id desc limit 2 offset 1;
select 1 union select 2 except select 1 order by 1;
select 1 union (select 2 intersect select 2) order by 1;
select count(*) from (select shop from sales union select name from shops) names;
select null union select 1 order by 1;
select 1, 2 union select 1;
select 1 union select 'a'::text;
select name from shops where name in (select shop from sales intersect select name from shops) order by 1;
values (1) union select 2 order by 1;
select shop, sum(amount) from sales group by shop having sum(amount) > 4 union select city, 0 from shops order by 2, 1;
-- WITH
with t as (select 1 as x) select x + 1 from t;
with big as (select * from sales where amount > 5), few as (select shop, count(*) c from big group by shop) select big.id, few.c from big join few on few.shop = big.shop order by 1;
with t(a, b) as (select id, amount from sales) select a from t where b > 10 order by a;
with t as (select id from sales where id < 4) select x.id, y.id from t x join t y on x.id = y.id - 1 order by 1;
with t as (select max(amount) m from sales) select id from sales where amount = (select m from t);
with t as (select 1 x) select * from t union all select x + 1 from t order by 1;
with a as (select 1 x), b as (select x + 1 as x from a), c as (select x from a union all select x from b) select sum(x) from c;
with t as (select 1 x) select (with u as (select x + 1 as y from t) select y from u);
with t as (select shop from sales) select name, exists (select 1 from t where t.shop = name) from shops order by 1;
with sales as (select 99 as id) select * from sales;
with t as (select 1), t as (select 2) select * from t;
with t(a, b) as (select 1) select * from t;
with t as (select nosuch from sales) select 1;
select * from t;
select name, (with own as (select amount from sales where shop = shops.name) select count(*) from own a, own b) from shops order by 1;
insert into shops with n as (select 'e' as name, 'Turin' as city) select name, city from n returning *;
insert into shops select v.name, upper(v.city) from (values ('f', 'Graz'), ('g', 'Linz')) v(name, city) returning name, city;
insert into shops select 'h', 'Nice' union all select 'i', 'Lyon';
update sales set amount = amount + (select count(*) from (values (1), (2)) v) where shop in (select name from shops union select 'c') ;
delete from shops where name in (select name from (select name from shops order by name desc limit 2) last_two) returning name;
select id, amount from sales order by id;
prepare from_values(int, int) as select * from (values ($1), ($2)) v(x) where x > (select min(id) from sales) order by x;
execute from_values(0, 7);
create function best() returns table(shop text, total bigint) language plpgsql as $$
declare r record; begin
  for r in select t.shop, t.total from (select s.shop, sum(amount) total from sales s group by s.shop) t order by t.total desc limit 2 loop
    shop := r.shop; total := r.total; return next;
  end loop;
  return query with x as (select 'end'::text e, 0::bigint z) select e, z from x union all select 'really', 1;
end $$;
select * from best();
drop function best();
drop table sales;
drop table shops;

-- What EXPLAIN ANALYZE counts. PostgreSQL has costs in mind, other plans and more to say of sorts.
create table customer (id int primary key, name text, city int);
create table purchase (id int primary key, customer int, amount numeric);
insert into customer select g, 'c' || g, g % 10 from generate_series(1, 200) g;
insert into purchase select g, g % 250, g from generate_series(1, 1000) g;
explain (analyze, summary off) select * from customer where city = 3;
explain (analyze, costs off, timing off, summary off) select * from customer where id = 1 and name = 'x';
explain (analyze, summary off) select * from customer where id in (1, 2, 2, 999);
explain (analyze, summary off) select * from customer where false;
explain (analyze, summary off) select 1;
explain (analyze, summary off) select * from generate_series(1, 5) g where g > 2;
-- Groups, sorts, limits
explain (analyze, summary off) select c.city, count(*) from customer c join purchase p on p.customer = c.id where c.id > 20
    group by c.city having count(*) > 50 order by 1 limit 3;
explain (analyze, summary off) select count(*) from customer;
explain (analyze, summary off) select distinct city from customer order by city limit 2 offset 1;
explain (analyze, summary off) select id from customer limit 3 offset 2;
explain (analyze, summary off) select * from customer order by id desc limit 0;
-- Joins of every kind
explain (analyze, summary off) select * from customer c join purchase p on p.id = c.id where c.id < 4;
explain (analyze, summary off) select * from customer c left join purchase p on p.customer = c.id and p.amount > 900 where c.id < 50;
explain (analyze, summary off) select * from customer c left join purchase p on p.id = c.id + 990 where p.id is null;
explain (analyze, summary off) select * from customer c full join purchase p on p.customer = c.id;
explain (analyze, summary off) select * from customer c, lateral (select * from purchase p where p.customer = c.id limit 2) l where c.id < 3;
-- Subqueries, the second of which is kept from its second run on
explain (analyze, summary off) select id, (select count(*) from purchase p where p.customer = c.id) from customer c
    where exists (select from purchase q where q.id = c.id + 900);
explain (analyze, summary off) select (select 1 from purchase where id = 7) from customer where id < 0;
with recursive r as (select 1 as n union all select n + 1 from r where n < 10) select count(*) from r;
explain (analyze, summary off) with recursive r as (select 1 as n union all select n + 1 from r where n < 10) select * from r;
-- Changes happen
explain (analyze, summary off) update purchase set amount = amount + 1 where id in (1, 2, 3);
explain (analyze, summary off) delete from purchase where id > 990 returning id;
explain (analyze, summary off) insert into purchase values (5000, 1, 1), (5001, 1, 1);
explain (analyze, summary off) insert into purchase select id + 6000, 1, 1 from customer where city = 1;
explain (analyze, summary off) insert into purchase values (5000, 1, 1) on conflict do nothing returning id;
select count(*), sum(amount) from purchase;
begin read only;
explain analyze update purchase set amount = 0;
rollback;
begin;
explain (analyze, summary off) select * from customer where id = 5 for update;
rollback;
-- With parameters, again and again, in other forms
prepare one (int) as explain (analyze, summary off) select * from customer where id < $1;
execute one (3);
execute one (30);
explain (analyze, summary off, format json) select * from customer where id < 3;
explain (analyze, summary off, verbose) select id from customer where city = 3;
explain (analyze off) select 1;
explain (summary on) select 1 where false;
explain analyze create table x (a int);
explain analyze select 1 / 0;
explain (analyze, summary off, format yaml) select 1;
drop table customer, purchase;

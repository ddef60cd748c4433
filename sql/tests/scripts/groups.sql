-- What may be computed of groups, and aggregates of texts, arrays and bits.
create table sales (id int primary key, city text, item text, amount int, price numeric(8,2), flag boolean, at timestamp);
insert into sales values
  (1, 'Oslo', 'pen', 3, 1.50, true, '2024-01-01 10:00'), (2, 'Oslo', 'ink', 1, 7.25, false, '2024-01-02'),
  (3, 'Rome', 'pen', 5, 1.50, null, '2024-01-03'), (4, 'Rome', 'ink', null, 7.00, true, '2024-01-04'),
  (5, null, 'pen', 2, null, true, null), (6, 'Bern', 'cap', 9, 12.00, false, '2024-02-01'), (7, 'Oslo', 'pen', 3, 1.40, true, '2024-02-02');
create table cities (name text primary key, country text);
insert into cities values ('Oslo', 'NO'), ('Rome', 'IT'), ('Bern', 'CH'), ('Nice', 'FR');
create function twice(n bigint) returns bigint language plpgsql as $$ begin return 2 * n; end $$;
-- Subqueries and functions over groups
select city, (select country from cities where name = city) as country, sum(amount) from sales group by city order by city;
select city, sum(amount) from sales group by city having exists (select from cities where name = sales.city and country <> 'NO') order by 1;
select city, twice(sum(amount)) from sales group by city order by 2 desc nulls last;
select city from sales group by city having twice(count(*)) > 3 order by city;
select city, count(*) from sales group by city order by (select country from cities c where c.name = city), city;
select sum(amount) as total, (select max(country) from cities) from sales limit (select 1);
select country, (select sum(amount) from sales where city = name) from cities order by 1;
select distinct (select country from cities where name = city) from sales group by city order by 1;
select city, sum(amount) from sales group by city limit 2 offset 10;
select count(*) from sales limit 0;
select count(*) from sales group by city limit -1;
select item, count(*) from sales group by item having count(*) > 1 limit 1 offset 1;
select name from cities where (select count(*) from sales where city = name group by city) > 1 order by 1;
select name, (select string_agg(item, '+' order by id) from sales where city = name) from cities order by 1;
-- string_agg
select string_agg(item, ',') from sales where id < 4;
select string_agg(item, ', ' order by item desc, id) from sales;
select city, string_agg(item, '/' order by id desc) from sales group by city order by city;
select string_agg(distinct item, ',' order by item) from sales;
select string_agg(distinct item, ',' order by item desc) from sales;
select string_agg(city, '-' order by id) from sales;
select string_agg(item, null order by id) from sales;
select string_agg(item, city order by id) from sales;
select string_agg(item, ',' order by id) filter (where amount > 2) from sales;
select string_agg(item, ',') from sales where false;
select string_agg(item::bytea, '\x00'::bytea order by id) from sales where id < 3;
select string_agg(distinct item, ',' order by id) from sales;
select string_agg(amount, ',') from sales;
select string_agg(amount::text, ',' order by amount nulls first, id) from sales;
select string_agg(item) from sales;
select string_agg('x', ',') from sales;
-- array_agg
select array_agg(id order by id) from sales;
select array_agg(amount order by id) from sales;
select array_agg(amount order by amount desc) from sales;
select array_agg(distinct amount order by amount) from sales;
select array_agg(item order by item, id desc) filter (where flag) from sales;
select city, array_agg(price order by price) from sales group by city order by city;
select array_agg(id) from sales where false;
select array_agg(at order by at) from sales where id < 3;
select array_agg(nope) from sales;
select cardinality(array_agg(id)), (array_agg(id order by amount desc nulls last, id))[1] from sales;
-- bits
select bit_and(amount), bit_or(amount), bit_xor(amount) from sales;
select city, bit_or(amount::smallint), bit_and(amount::bigint) from sales group by city order by city;
select bit_or(price) from sales;
-- order in others, and errors
select sum(amount order by id), count(distinct item order by item), avg(price order by price) from sales;
select count(distinct item order by id) from sales;
select sum(amount) filter (where price > 100), count(*) filter (where flag) from sales;
select sum(100 / (amount - 3)) filter (where amount <> 3) from sales;
select max(item order by nope) from sales;
select string_agg(item, ',' order by sum(amount)) from sales;
select city from sales group by city having item = 'pen';
select city, (select item) from sales group by city;

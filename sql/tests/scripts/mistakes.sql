-- Mistakes that beginners make: hints, positions, fields of errors.
create schema shop;
create table customers (id integer primary key, name text not null, email text unique, city text);
create table shop.orders (id integer primary key, customer_id integer references customers, total numeric check (total > 0), placed date);
create view totals as select customer_id, sum(total) as total from shop.orders group by customer_id;
select nmae from customers;
select namee from customers;
select customers.nmae from customers;
select c.emial from customers c;
select customer.name from customers;
select c.xyzzy from customers c;
select a from customers;
select idd from customers c, shop.orders o;
select cutsomer_id from customers c, shop.orders o;
select name from shop.orders;
select o.name from shop.orders o, customers c;
select oo.id from shop.orders o;
select c.placed from customers c, shop.orders o;
select c.plaecd from customers c, shop.orders o;
select id from customers where citty = 'x';
select id from customers order by nam;
select city from customers group by citi;
select 1 from customers c where exists
    (select 1 from shop.orders o where o.custmer_id = c.id);
select 1 from customers c where exists (select 1
    from shop.orders o where o.customer_id = c.idd);
select * from customers c, (select o.id
    from shop.orders o where o.customer_id = c.id) q;
select * from (select id as number, name from customers) q
    where q.nummber = 1;
select totl from totals;
update customers set name = nmae;
update customers set nmae = 'x';
insert into customers (nmae) values ('x');
insert into customers (id, name) values (1, 'x')
    returning nmae;
delete from customers where idx = 1;
select t1.aa from (values (1, 2)) t1(ab, ac);
select t1.ad from (values (1, 2, 3)) t1(aa, ab, ac);
select "Name" from customers;
select NAME, "EMAIL" from customers;
with w as (select id as key from customers)
    select kei from w;
select x.generate_serie from generate_series(1, 2) x(generate_series);
-- Ends and signs.
select * from;
select 1 +;
select * from customers where;
select * from customers order by;
update customers set;
select case when true then 1;
select * from customers limit 5, 10;
select top 5 * from customers;
select `name`, city from customers;
select name from `customers`;
select name from customers where `name` = 'x';
select ` 1;
select 1 ` 2;
select name &&& city from customers;
-- Fields.
insert into customers values (1, 'Ann', 'a', 'x');
do $$
declare a text; b text; c text; d text; begin
    insert into customers values (1, 'Bob', 'b', 'x');
exception when others then
    get stacked diagnostics a = schema_name, b = table_name, c = constraint_name, d = column_name;
    raise notice '% % % %', a, b, c, d;
end $$;
do $$
declare a text; b text; c text; d text; begin
    insert into shop.orders values (1, 1, -1, null);
exception when others then
    get stacked diagnostics a = schema_name, b = table_name, c = constraint_name, d = column_name;
    raise notice '% % % %', a, b, c, d;
end $$;
do $$
declare a text; b text; c text; d text; begin
    insert into shop.orders values (1, 7, 1, null);
exception when others then
    get stacked diagnostics a = schema_name, b = table_name, c = constraint_name, d = column_name;
    raise notice '% % % %', a, b, c, d;
end $$;
do $$
declare a text; b text; c text; d text; begin
    insert into customers values (2, null, 'b', 'x');
exception when others then
    get stacked diagnostics a = schema_name, b = table_name, c = constraint_name, d = column_name;
    raise notice '% % % %', a, b, c, d;
end $$;
do $$
declare a text; b text; c text; d text; begin
    insert into customers values (3, 'x', 'a', 'x');
exception when others then
    get stacked diagnostics a = schema_name, b = table_name, c = constraint_name, d = column_name;
    raise notice '% % % %', a, b, c, d;
end $$;
do $$
declare a text; b text; c text; d text; begin
    insert into shop.orders values (1, 1, 1, null);
    delete from customers;
exception when others then
    get stacked diagnostics a = schema_name, b = table_name, c = constraint_name, d = column_name;
    raise notice '% % % %', a, b, c, d;
end $$;

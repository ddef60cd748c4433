-- ORDER BY key USING operator.
create table item (id int primary key, name text, price numeric);
insert into item values (1, 'pear', 2.5), (2, 'apple', 1), (3, null, 3), (4, 'fig', null);

select id from item order by id using <;
select id from item order by id using >;
select id from item order by id using > limit 2;
select id from item order by price using < nulls first;
select id from item order by price using > nulls last, id using <;
select id, name from item order by 2 using >;
select id as number from item order by number using >;
select id from item order by id + 1 using >;
select id from item order by id using operator(pg_catalog.>);
select id from item order by id using operator(>);
select name from item order by name using ~<~;
select name from item order by name using ~>~;
select name from item order by name || 'x' using ~>~ nulls last;
select id, name as called from item order by called using ~>~, id;
select name from item order by 1 using ~<~;
select id from item order by 1 using ~<~;
select string_agg(name, ',' order by name using ~>~) from item;
select array_agg(id order by id using >) from item;
select string_agg(name, ',' order by name using <) from item;
select id, rank() over (order by id using >) from item order by id;
select id, rank() over w from item window w as (order by price using > nulls last) order by id;
select percentile_disc(0.5) within group (order by id using >) from item;
select id from item union select 9 order by 1 using >;
select * from (select id from item order by id using > limit 2) q;
select i.id from item i join item j using (id) order by i.id using >;
create view dearest as select id from item order by price using > nulls last;
select pg_get_viewdef('dearest');

-- Operators that are no order.
select id from item order by id using =;
select id from item order by id using <=;
select id from item order by id using +;
select id from item order by name using ||;
select id from item order by id using ~<~;
select id from item order by name using &&;
select id from item order by id using <<>>;
select id from item order by no_column using <;
select id from item order by no_column using +;
select array_agg(id order by id using =) from item;

-- Places where it cannot stand.
select id from item where id using <;
select id from item order by (id using <);
select id from item order by id using < desc;
select id from item group by id using <;
delete from item i using item j where i.id = j.id and i.id > 100;

-- DISTINCT ON sorts by its keys where no order is asked for.
select distinct on (v) v, w from (values (3, 1), (null, 2), (1, 3), (3, 4)) t(v, w) where w < 4;
select distinct on (v, w) v, w from (values (3, 1), (null, 2), (1, 3), (3, 4), (3, 1)) t(v, w);
select distinct on (-v) v from (values (3), (null), (1), (2)) t(v) limit 2;
select distinct on (lower(s)) lower(s) from (values ('b'), ('A'), ('B'), ('a')) t(s);
select * from (select distinct on (v) v from (values (3), (1), (2)) t(v)) x union all select 0;

-- Sets in select lists that are refused
create table t (id int primary key, list text);
insert into t values (1, 'a,b'), (2, 'c');
select unnest(string_to_array(list, ',')) as e, generate_series(1, count(*)) from t group by e;
select generate_series(1, generate_series(1, 3)), generate_series(1, generate_series(1, 2));
explain select list, unnest(array_agg(id)) from t group by list;
insert into t values (generate_series(3, 4), 'x');
create function two() returns table (a int, b int) language sql as 'select 1, 2';
select two();
select regexp_match('abc', 'b', 'b');
drop function two;
drop table t;

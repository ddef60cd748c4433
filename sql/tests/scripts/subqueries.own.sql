-- Subqueries that are not there yet, refused by name; and how others are explained.
create table authors (id int primary key, name text);
create table books (id int primary key, author int);
select (1, 2) = (select id, author from books);
select (select sum(a.id) from books) from authors a;
select name like any (array['x%']) from authors;
explain select * from authors where (id, name) > (1, 'a') and id <> all (array[2, 3]) and id < any (select author from books);
select array_length((select id from books));
create procedure takes(n int) language plpgsql as $$ begin null; end $$;
call takes((select 1));
explain verbose select name from authors where id in (select author from books where id > $1);
explain verbose select name from authors a where exists (select 1 from books where author = a.id);
drop procedure takes;
drop table books;
drop table authors;

-- An aggregate of the query around it where the subquery itself may have none.
create table grouped (a int, b text);
select b, (values (count(a)), (2) order by 1 limit 1) from grouped group by b;
select b from grouped g group by b having exists (select 1 from grouped where a < count(g.a));
select (values (count(*)));
values (sum(1));
insert into grouped values (count(*), 'x');
drop table grouped;

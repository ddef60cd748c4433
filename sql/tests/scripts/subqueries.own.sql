-- Subqueries that are refused; and how others are explained.
create table authors (id int primary key, name text);
create table books (id int primary key, author int);
select (select id, author from books) = (1, 2);
explain select * from authors where name like any (array['x%']) or (id, name) = (select author, 'x' from books);
explain select * from authors where (id, name) > (1, 'a') and id <> all (array[2, 3]) and id < any (select author from books);
select array_length((select id from books));
create procedure takes(n int) language plpgsql as $$ begin null; end $$;
call takes((select 1));
explain verbose select name from authors where id in (select author from books where id > $1);
explain verbose select name from authors a where exists (select 1 from books where author = a.id);
drop procedure takes;
drop table books;
drop table authors;

-- Queries inside expressions.
create table authors (id int primary key, name text not null, country text);
create table books (id int primary key, author int, title text, price numeric(6,2), year smallint);
create table tags (book int, tag text, primary key (book, tag));
insert into authors values (1, 'Ada', 'UK'), (2, 'Bo', 'SE'), (3, 'Cy', null), (4, 'Di', 'UK');
insert into books values (10, 1, 'one', 10.50, 1990), (11, 1, 'two', 20, 1995), (12, 2, 'three', 5.25, 2001), (13, null, 'four', 7, null), (14, 4, 'five', 30, 2010);
insert into tags values (10, 'a'), (10, 'b'), (12, 'a'), (14, 'c');
-- a value
select (select 1);
select (select name from authors where id = 2), (select name from authors where id = 99);
select (select name from authors);
select (select name, country from authors where id = 1);
select name, (select count(*) from books where author = authors.id) from authors order by id;
select name, (select max(price) from books b where b.author = a.id) as dearest from authors a order by dearest desc nulls last, name;
select title, price - (select avg(price) from books) from books order by id;
select title from books where price > (select avg(price) from books) order by title;
select title from books where author = (select id from authors where name = 'Ada') order by id;
select title from books where id = (select max(id) from books);
select coalesce((select title from books where id = 10), 'none'), coalesce((select title from books where id = 1), 'none');
select case when (select count(*) from books) > 3 then (select min(title) from books) else 'few' end;
select (select (select (select max(year) from books)));
select name, (select title from books where author = authors.id order by price desc limit 1) from authors order by 1;
select name, (select title from books where author = authors.id) from authors where id > 1 order by 1;
select name, (select title from books where author = authors.id) from authors order by 1;
-- existence
select name from authors where exists (select 1 from books where author = authors.id) order by 1;
select name from authors a where not exists (select * from books where author = a.id) order by 1;
select exists (select 1 from books where price > 100), exists (select from books), not exists (select 1);
select name from authors a where exists (select 1 from books b where b.author = a.id and exists (select 1 from tags t where t.book = b.id and t.tag = 'a')) order by 1;
select name from authors a where exists (select 1 from books b, tags t where b.author = a.id and t.book = b.id and t.tag <> a.name) order by 1;
-- membership
select title from books where author in (select id from authors where country = 'UK') order by 1;
select title from books where author not in (select id from authors where country = 'UK') order by 1;
select name from authors where id in (select author from books) order by 1;
select name from authors where id not in (select author from books) order by 1;
select name from authors where id not in (select author from books where author is not null) order by 1;
select name from authors where id = any (select author from books where price > 8) order by 1;
select title from books where id in (select book from tags group by book having count(*) > 1);
select 1 in (select 1), 1 in (select null::int), 1 not in (select null::int), null in (select 1 where false), 5 in (select id from authors);
select title from books where year in (select 1990) or price in (select 7) order by 1;
select title from books b where 'a' in (select tag from tags where book = b.id) order by 1;
select title from books where title in (select 'one' union_word from authors) order by 1;
select 1 in (select id, name from authors);
-- arrays
select array(select id from authors where country = 'UK' order by id desc), array(select title from books where false);
select name, array(select title from books where author = authors.id order by title) from authors order by id;
-- in other clauses
select country, count(*) from authors group by country having count(*) > (select 1) order by 1;
select country, count(*) + (select 10) from authors group by country order by (select 1), 1;
select name from authors order by (select count(*) from books where author = authors.id) desc, name limit (select 2) offset (select 1);
select a.name, b.title from authors a left join books b on b.author = a.id and b.price = (select max(price) from books where author = a.id) order by a.id;
select a.name, b.title, (select tag from tags where book = b.id and tag > 'a' order by tag limit 1) from authors a left join books b on b.author = a.id order by a.id, b.id;
select count(*) filter (where author in (select id from authors where country is not null)), sum((select count(*) from tags where book = books.id)) from books;
select distinct (select country from authors where id = books.author) from books order by 1;
-- names
select name from authors where id = (select authors.id from books limit 1) order by 1;
select exists (select 1 from books where nosuch = 1);
select exists (select 1 from books where other.id = 1);
select id from authors where id = (select max(author) from books where year < (select max(year) from books where author <> authors.id));
-- changes
insert into tags values ((select min(id) from books), (select 'new')) returning book, tag, (select title from books where id = book);
update books set price = (select max(price) from books) where author = (select id from authors where name = 'Bo') returning id, price;
update books set price = price + (select count(*) from tags where book = books.id) where id in (select book from tags);
update authors set country = (select 'X' || count(*) from books where author = authors.id) where country is null returning *;
delete from tags where book in (select id from books where author = 1) returning book, tag;
delete from books where not exists (select 1 from authors where authors.id = books.author) returning title;
insert into books select id + 100, author, title, price, year from books where id in (select book from tags);
select id, price from books order by id;
-- parameters
prepare dear(numeric) as select title from books where price > (select $1 + avg(price) from books) order by 1;
execute dear(0);
execute dear(1000);
prepare tagged(text) as select title from books b where exists (select 1 from tags where book = b.id and tag = $1) order by 1;
execute tagged('c');
-- routines
create function titles_of(who int) returns int language plpgsql as $$
declare n int; begin
  n := (select count(*) from books where author = who);
  if exists (select 1 from books b where b.author = who and b.price > (select avg(price) from books)) then n := n + 100; end if;
  for i in 1..2 loop n := n + (select min(id) from authors where id >= i); end loop;
  return n + (select count(*) from authors where id in (select author from books where author = who));
end $$;
select id, titles_of(id) from authors order by id;
select name from authors where titles_of((select max(author) from books where author < authors.id)) > 100 order by 1;
drop table tags;
drop table books;
drop table authors;

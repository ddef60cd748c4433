-- What is stored under one DateStyle means the same under another.
set datestyle = 'ISO, DMY';
create table kept (
  id int primary key,
  d date default '01/02/2024',
  t timestamp default '01/02/2024 03:04',
  i interval default '1 day',
  da date[] default '{01/02/2024}',
  check (d > '05/04/2003'));
create view seen as select id, d, date '07/06/2024' as other, '08/07/2024'::timestamp as moment from kept where d < '02/03/2024';
create function of_body() returns date language plpgsql as $$ begin return '01/02/2024'; end $$;
create function of_sql() returns date language sql as $$ select date '01/02/2024' $$;
create function with_default(d date default '01/02/2024') returns date language sql as $$ select d $$;
create index late on kept (id) where d > '03/02/2024';
insert into kept (id) values (1);
set datestyle = 'ISO, MDY';
insert into kept (id) values (2);
insert into kept (id, d) values (3, '2003-04-20');
insert into kept (id, d) values (4, '2003-04-04');
select * from kept order by id;
select * from seen order by id;
select of_body(), of_sql(), with_default();
alter table kept alter d set default '01/02/2024';
insert into kept (id) values (5);
set datestyle = 'ISO, DMY';
select of_body(), of_sql(), with_default();
insert into kept (id) values (6);
select id, d from kept order by id;
select * from seen order by id;
select count(*) from kept where d > '03/02/2024';
create procedure keep(n int, text) language plpgsql as $$ begin insert into kept (id, d) values (n, $2::date); end $$;
call keep(10, '01/02/2024');
set datestyle = 'SQL, MDY';
call keep(11, '01/02/2024');
create procedure show_it(n int, inout shown text) language plpgsql as $$ begin select d::text || ' ' || i into shown from kept where id = n; end $$;
call show_it(10, null);
set intervalstyle = 'iso_8601';
call show_it(11, null);
do $$ declare x text := date '2024-02-01'; begin raise notice '% %', x, interval '1 day 2 hours'; end $$;
reset datestyle;
reset intervalstyle;
select id, d from kept where id >= 10 order by id;
set intervalstyle = 'sql_standard';
create table lasting (id int, i interval default '-1 2:03:04');
insert into lasting (id) values (1);
reset intervalstyle;
insert into lasting (id) values (2);
insert into lasting values (3, '-1 2:03:04');
select * from lasting order by id;

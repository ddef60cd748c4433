-- The fields of intervals in views, CHECK constraints and defaults.
create view years as select interval '1' year + interval '2 mons' f, interval '1' month m, interval '1' day d, interval '3' hour h, cast('1' as interval year) c, '1-2'::interval year to month ym, interval '1.5' second s, '1:2:3'::interval hour to minute hm;
select * from years;
select pg_get_viewdef('years'::regclass);
create table lasting (id int primary key, iv interval default interval '1' year, check (iv < cast('9' as interval year)), constraint by_day check (iv > interval '-1' day), constraint fits check ('ab'::varchar(3) <> iv::text and 1.5::numeric(10,2) > 1 and '2'::numeric(4,1) > 1));
insert into lasting (id) values (1);
insert into lasting values (2, '8 years');
insert into lasting values (3, '9 years');
select * from lasting order by id;
select conname, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'lasting'::regclass and contype = 'c' and conname <> 'fits' order by conname;

-- Syntax of columns and constraints that came late: collations of new types, and NULLS [NOT] DISTINCT.
create table note (id int primary key, title text, size int, tag varchar(4));
insert into note values (1, 'one', 10, 'a'), (2, 'two', 20, 'b');

alter table note alter title type varchar(9) collate "C";
alter table note alter column title set data type varchar(12) collate "C" using upper(title);
alter table note alter size type text collate "C" using 'n' || size, alter tag type text collate "default";
alter table note alter title type text collate pg_catalog."C" using title collate "C";
select * from note order by id;
alter table note alter size type numeric(10, 2) collate "C" using 1;
alter table note alter column id type int collate "C";
alter table note alter id type varchar(9) collate "POSIX", add column more text collate "C" default ('x' collate "C");
alter table note alter title type text collate;
alter table note alter title type text collate "C" using;
alter table note alter title type text using title collate "C";
alter table note alter title type text
collate "C" collate "C";
select id, title, size, tag, more from note order by id;

create table once (a int unique nulls not distinct, b text unique nulls distinct, c int, d int, unique nulls not distinct (c, d));
select conname, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'once'::regclass order by conname;
insert into once values (null, null, null, 1);
insert into once values (null, null, 2, 1);
insert into once values (1, null, null, 1);
insert into once values (1, null, null, 2);
insert into once values (2, null, null, 2);
create table later (a int, b int constraint one_b unique nulls not distinct deferrable initially deferred);
alter table later add constraint one_a unique nulls not distinct (a);
alter table later add unique nulls distinct (a, b);
alter table later add column c int unique nulls not distinct;
select conname, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'later'::regclass order by conname;
select indexname, indexdef from pg_indexes where tablename = 'later' order by indexname;
create unique index later_ab on later (b, a) nulls not distinct;
select pg_get_indexdef('later_ab'::regclass);
create table wrong (a int unique nulls);
create table wrong (a int unique nulls not);
create table wrong (a int primary key nulls not distinct);

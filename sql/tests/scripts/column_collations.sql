-- The collations that columns are declared with.
create table t (a text collate "C", b varchar(10) collate "POSIX", c text, d text collate "default", e int);
select attname, attcollation from pg_attribute where attrelid = 't'::regclass and attnum > 0 order by attnum;
select column_name, collation_schema, collation_name from information_schema.columns where table_name = 't' order by ordinal_position;
create index i on t (a, b, c, e);
select indcollation from pg_index where indexrelid = 'i'::regclass;
drop index i;
create table l (like t);
alter table t alter column c type text collate "C";
alter table t alter column a type varchar(20);
alter table t add column f text collate "C" default 'x';
alter table t drop column b;
alter table t rename column a to g;
select attname, attcollation from pg_attribute where attrelid = 't'::regclass and attnum > 0 and not attisdropped order by attnum;
select attname, attcollation from pg_attribute where attrelid = 'l'::regclass and attnum > 0 order by attnum;
select a.attname, c.collname from pg_attribute a join pg_type y on y.oid = a.atttypid join pg_collation c on c.oid = a.attcollation
  where attrelid = 't'::regclass and attnum > 0 and a.attcollation <> y.typcollation order by attnum;
drop table t, l;

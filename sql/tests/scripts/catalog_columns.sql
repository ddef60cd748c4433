-- columns of types that the catalog has
create table c (n name primary key, o oid, k "char");
insert into c values ('abc', 7, 'x'), (repeat('n', 70), 0, ''),
  ('', null, '\377');
select n, length(n), o, k from c order by n;
select * from c where n = 'abc';
select * from c where o > 5;
update c set o = o + 1;
update c set o = 9, k = 'yz' where n = 'abc' returning *;
create index on c (o);
create index on c (k);
select * from c where o = 9 order by n;
select * from c where k = 'y' order by n;
create table d as select relname, oid, relkind from pg_class
where relname in ('c', 'c_pkey');
select relname, relkind from d order by 1;
select attname, atttypid::regtype from pg_attribute
where attrelid = 'd'::regclass and attnum > 0 order by 1;
alter table c add column more name default 'm';
select n, more from c order by n;
alter table c alter n type text;
select n from c order by 1;
copy (select * from c order by n) to stdout;
-- literals take the length from a common type
select * from (values ('abc'::varchar(3), '0123456789'),
  ('0123456789', 'abc'::varchar(3))) v(a, b);
select coalesce(null::varchar(2), 'abcdef');
select case when true then 'abcdef' else 'ab'::char(2) end;
select array['ab'::varchar(2), 'abcdef'];
select greatest('ab'::varchar(2), 'bcdef');

-- Brackets, and serial types in quotes.
create table bracketed (a int[], b int[][], c text[3][4][5], d int, e "serial", f "bigserial" not null);
select attname, attndims, format_type(atttypid, atttypmod), atthasdef from pg_attribute
where attrelid = 'bracketed'::regclass and attnum > 0 order by attnum;
alter table bracketed add column g uuid[][];
select attname, attndims from pg_attribute where attrelid = 'bracketed'::regclass and attnum > 0 order by attnum;
create table bracketed_wrong (a "Serial");
drop table bracketed;

-- What the catalog shows of indexes and unique constraints.
create table parents (id int primary key, code text unique, a int, b int, c int, constraint pair unique (b, a));
create table children (n int primary key, code text references parents (code), x int, y int, foreign key (x, y) references parents (a, b));
create index on parents (c desc, a);
create unique index "Odd name" on parents (c nulls first, b desc nulls last) include (a);
create index hashed on children using hash (code);
create unique index equal on children (x) nulls not distinct;
select tablename, indexname, indexdef from pg_indexes where schemaname = 'public' order by 1, 2;
select indexrelid::regclass, indrelid::regclass, indnatts, indnkeyatts, indisunique, indnullsnotdistinct, indisprimary, indkey, indoption from pg_index where indrelid in ('parents'::regclass, 'children'::regclass) order by indexrelid::regclass::text;
select conname, contype, conrelid::regclass, conindid::regclass, confrelid::regclass, conkey, confkey, pg_get_constraintdef(oid) from pg_constraint where conrelid in ('parents'::regclass, 'children'::regclass) order by 1;
select c.relname, c.relkind, a.amname, c.relnatts, c.relhasindex from pg_class c left join pg_am a on a.oid = c.relam where c.relnamespace = 'public'::regnamespace order by 1;
select a.attrelid::regclass, a.attnum, a.attname, a.attnotnull, pg_get_indexdef(a.attrelid, a.attnum, true) from pg_attribute a join pg_class c on c.oid = a.attrelid where c.relkind = 'i' and c.relnamespace = 'public'::regnamespace order by c.relname, 2;
select table_name, constraint_name, constraint_type from information_schema.table_constraints where table_schema = 'public' and constraint_type <> 'CHECK' order by 1, 2;
select constraint_name, column_name, ordinal_position, position_in_unique_constraint from information_schema.key_column_usage where table_schema = 'public' order by 1, 3;
select constraint_name, unique_constraint_name from information_schema.referential_constraints order by 1;
select d.classid::regclass, d.objid::regclass::text, d.refclassid::regclass, d.refobjsubid, d.deptype from pg_depend d where d.classid = 'pg_class'::regclass and d.objid in (select indexrelid from pg_index where indrelid = 'children'::regclass) order by 2, 4;
alter index "Odd name" rename to plain;
drop index hashed;
select indexname from pg_indexes where schemaname = 'public' order by 1;

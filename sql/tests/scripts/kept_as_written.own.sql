-- Conditions that are shown as they were written get no more parentheses each time.
create table paren (id int primary key, constraint one check (date '2020-01-01' < current_date), constraint two check ((((id))) > (0)), constraint three check (((id = any (array[1, 2])))));
select conname, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'paren'::regclass and contype = 'c' order by conname;
alter table paren drop constraint three, add constraint three check ((id = ANY(ARRAY[1, 2])));
select pg_get_constraintdef(oid) from pg_constraint where conname = 'three';

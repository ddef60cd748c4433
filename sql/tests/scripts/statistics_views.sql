-- Views of what is counted: each table is there, as programs expect.
create table counted (a int primary key);
create view counted_view as select a from counted;
select schemaname, relname, relid = 'counted'::regclass as is_its from pg_stat_user_tables where relname like 'counted%';
select schemaname, relname, relid = 'counted'::regclass as is_its from pg_statio_user_tables where relname like 'counted%';
select schemaname, relname from pg_catalog.pg_statio_all_tables where relname = 'counted';
drop table counted cascade;

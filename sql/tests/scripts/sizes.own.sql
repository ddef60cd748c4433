-- Bytes in memory: estimates, so only what must hold of them is shown
create table t (id int primary key, note text);
create index t_note on t (note);
select pg_table_size('t'), pg_indexes_size('t'), pg_total_relation_size('t');
insert into t select g, repeat('x', 100) from generate_series(1, 1000) g;
select pg_table_size('t') between 100000 and 300000, pg_relation_size('t') = pg_table_size('t');
select pg_relation_size('t_note') between 50000 and 300000, pg_relation_size('t_note') = pg_indexes_size('t');
select pg_total_relation_size('t') = pg_table_size('t') + pg_indexes_size('t');
select pg_database_size(current_database()) >= pg_total_relation_size('t');
select kind, name, bytes > 0 from hyades_memory where kind in ('table', 'index');
select kind from hyades_memory where name is null;
select log, appended_bytes >= durable_bytes, lag_bytes = appended_bytes - durable_bytes, buffer_bytes > 0 from hyades_logs;
select datname, numbackends, xact_commit > 2, deadlocks from pg_stat_database;
create view v as select 1;
select pg_relation_size('v'), pg_table_size('pg_class');

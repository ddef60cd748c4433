-- pg_sleep and its kin: how often they run, not how long they take.
select pg_sleep(0.01) is null, pg_sleep(0) is null, pg_sleep(-1) is null;
select pg_sleep(null) is null, pg_sleep_for('5 milliseconds') is null, pg_sleep_until(now()) is null;
select count(*) from generate_series(1, 5) g where pg_sleep(0.002) is not null;
select g, pg_sleep(0.001 * g)::text || pg_sleep(0.002)::text as twice from generate_series(1, 3) g;
select clock_timestamp() - statement_timestamp() >= interval '20 milliseconds' from pg_sleep(0.02);
create table t (i int);
insert into t select 1 from pg_sleep(0.002);
with s as (select pg_sleep(0.002)) insert into t select 2 from s;
update t set i = i + 10 where pg_sleep(0.001) is not null;
select * from t order by i;
create function nap(n int) returns int language plpgsql as $$ begin for i in 1..n loop perform pg_sleep(0.001); end loop; return n; end $$;
select nap(3), nap(2), pg_sleep(0.001) is null;
do $$ begin perform pg_sleep(0.001); raise exception 'after a nap'; exception when others then perform pg_sleep(0.001); raise notice '%', sqlerrm; end $$;
select pg_sleep(0.001) is null;
select pg_sleep('soon');
select pg_sleep_for('soon');

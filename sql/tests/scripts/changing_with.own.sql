-- What would be read behind its change.
create table t (id int primary key, v int);
insert into t values (1, 1), (2, 2);
with i as (insert into t values (3, 3) returning id) select * from i union all select id from t;
with u as (update t set v = 0 returning id) delete from t where id = 1;
with u as (update t set v = 0 returning id), r as (select * from t) select * from r;
with u as (delete from t) insert into t values (1, 1) on conflict do nothing;
with recursive u as (delete from t returning id) select * from u;
select * from t order by id;

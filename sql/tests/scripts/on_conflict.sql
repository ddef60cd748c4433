-- What ON CONFLICT DO UPDATE may touch, and what is called excluded.
create table t (a int primary key, b int);
insert into t values (5, 1), (5, 2) on conflict (a) do update set b = 0;
select * from t;
insert into t values (5, 1), (6, 2) on conflict (a) do update set b = 0;
insert into t values (5, 1), (6, 2), (5, 3) on conflict (a) do update set b = excluded.b;
insert into t values (7, 1), (7, 2) on conflict (a) do nothing;
insert into t values (5, 1), (5, 2) on conflict (a) do update set b = 9 where t.b > 100;
insert into t values (5, 1), (5, 2) on conflict (a) do update set b = 9 where t.b = 0;
insert into t values (5, 1), (8, 2) on conflict (a) do update set a = 8;
insert into t values (5, 1), (5, 2) on conflict (a) do update set a = 10;
insert into t values (10, 5) on conflict (a) do update set b = excluded.b returning *;
insert into t select 5 + i % 2, i from generate_series(1, 2) i on conflict (a) do update set b = 10 * excluded.b;
insert into t select 5, i from generate_series(1, 2) i on conflict (a) do update set b = 10 * excluded.b;
insert into t values (20, 1), (21, 1) on conflict (a) do update set b = 7;
insert into t values (20, 2), (21, 2) on conflict (a) do update set b = 8;
prepare p as insert into t values ($1, 1), ($2, 2) on conflict (a) do update set b = excluded.b;
execute p(30, 31);
execute p(30, 30);
execute p(30, 31);
select * from t order by a;
create table excluded (key int primary key, data text);
insert into excluded values (1, '2')
on conflict (key) do update set data = excluded.data;
insert into excluded as target values (1, '2') on conflict (key) do update set data = excluded.data returning target.*;
insert into excluded as target values (1, '3') on conflict (key) do update set data = target.data || excluded.data returning *;
insert into excluded values (1, '2') on conflict (key) do update set data = 3;
insert into excluded values (1, '2') on conflict (key) do nothing;
select * from excluded;
-- Behind a SELECT without FROM ON is no name of its last column.
create table bare (id int primary key, v int);
insert into bare select 1, 1 on conflict do nothing;
insert into bare select 1, 2 on conflict (id) do update set v = excluded.v returning *;
insert into bare (id) select 1 union all select 2 on conflict do nothing returning *;
prepare stays as insert into bare select 1 on conflict do nothing;
execute stays(1, 2);
execute stays;
drop table bare;

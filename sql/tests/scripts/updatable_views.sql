-- Views that are changed.
create table t (id int primary key, a int default 7, b text);
insert into t values (1, 10, 'x'), (2, 20, 'y');
create view v as select id as key, b, a from t where id < 100;
insert into v values (3, 'z', 30);
insert into v (b, key) values ('w', 4);
insert into v (key) select 5;
insert into v (key) values (6), (7) returning *;
update v set a = a + 1 where key = 3;
update v set b = 'new', a = default where key <= 2 returning key, b, a;
update v x set a = 0 from (values (4)) y (k) where x.key = y.k
  returning x.*, y.k;
delete from v where key = 6;
delete from v using t where v.key = t.id and t.id = 7
  returning v.key;
select * from t order by id;
-- what the view does not show does not change
insert into t values (200, 1, 'far');
update v set a = -1 where key = 200;
delete from v where b = 'far';
insert into v values (300, 'gone', 1);
select * from v order by key;
select * from t where id >= 200 order by id;
-- a view of a view, with an expression
create view vv as select key, a * 2 as twice, upper(b) as b,
  a from v where a > 0;
insert into vv (key, a) values (8, 80) returning *;
update vv set a = 81 where twice = 160 returning key, twice;
update vv set twice = 1;
insert into vv (key, twice) values (9, 1);
insert into vv values (9, 1, 'x', 2);
delete from vv where key = 8;
select * from vv order by key;
-- errors
update v set nothing = 1;
insert into v (nothing) values (1);
insert into v (key, key) values (1, 2);
update v set id = 1;
insert into v values (1, 'dup', 1);
insert into v values (1, 'too', 1, 2);
create view v_distinct as select distinct a from t;
create view v_group as select a from t group by a;
create view v_having as select 1 as one from t having true;
create view v_agg as select count(*) from t;
create view v_union as select a from t union select 1;
create view v_with as with q as (select 1) select a from t;
create view v_limit as select a from t limit 1;
create view v_join as select t.a from t, t t2;
create view v_none as select 1 as one;
create view v_const as select 1 as one from t;
create view v_below as select * from v_limit;
delete from v_distinct;
update v_group set a = 1;
insert into v_having values (1);
insert into v_agg values (1);
insert into v_union values (1);
delete from v_with;
delete from v_limit;
update v_join set a = 1;
delete from v_none;
insert into v_const values (1);
delete from v_below;
select table_name, is_updatable from information_schema.views
  where table_schema = 'public' order by 1;
-- prepared, in routines, rolled back
prepare p (int, int) as update v set a = $2 where key = $1;
execute p (1, 111);
create function f(k int) returns int language plpgsql as $$
begin
  update v set a = a + 1 where key = k;
  insert into v (key, b) values (k + 50, 'f');
  return k;
end $$;
select f(1);
select * from v where key in (1, 51) order by key;
begin;
delete from v;
select count(*) from t;
rollback;
select count(*) from t;
begin;
select * from v where key = 1 for update;
commit;
copy v from stdin;
copy v to stdout;
with d as (delete from v where key = 51 returning key)
  select * from d;
drop table t cascade;

-- What views cannot do yet.
create table t (a int primary key, b int);
create view v as select a, b from t;
create view c as select a from t with check option;
create view c as select a from t with local check option;
create view c with (check_option = local) as select a from t;
create view c with (nothing = 1) as select a from t;
create view c with (security_barrier = maybe) as select a from t;
create view c with (security_barrier) as select a from t;
insert into v values (1, 1) on conflict (a) do nothing;
create view d as with x as (delete from t returning a)
  select * from x;
create view e as select from t;
-- a view that comes to name itself
create view one as select 1 as x;
create view two as select * from one;
create or replace view one as select x from two;
select * from two;
-- what is done to a view's rows goes by the table's key
insert into v select g, g from generate_series(1, 1000) as g;
explain select * from v where a = 5;
explain select * from v x join v y on x.a = y.b where x.a = 7;
explain update v set b = 0 where a = 5;
create view k as select count(*) as n from t;
explain select * from k;

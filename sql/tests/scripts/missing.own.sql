-- what PostgreSQL has and this has not is named
create table t (a int primary key, b int);
alter table t attach partition p for values in (1);
alter table t set unlogged;
alter table t alter a set statistics 3;
set session authorization someone;
create rule r as on insert to t do instead nothing;
create or replace rule r as on insert to t do nothing;
drop rule r on t;
create aggregate sum2(int) (sfunc = f, stype = int);
create cast (int as text) with function f(int);
create statistics s on a, b from t;
create text search configuration c (copy = english);
alter routine f() rename to g;
select * from rows from (generate_series(1, 2));
select count(variadic array[1, 2]);
create table x (c int, exclude using gist (c with =));
-- what nobody has is an error of syntax
alter table t attach p;
create rulex r;
select rule rule rule from t;

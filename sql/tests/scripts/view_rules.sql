-- A view is a rule of its own.
create table t (a int, b text);
create view "V v" as select a, b from t where a > 1 and b <> 'x';
create materialized view m as select a from t;
select ev_class::regclass, rulename, pg_get_ruledef(oid), pg_get_ruledef(oid, true), pg_get_ruledef(oid, false)
from pg_rewrite where ev_class in ('"V v"'::regclass, 'm'::regclass) order by 1;
select pg_get_ruledef(1), pg_get_ruledef(null);
create schema s;
create view s.w as select * from "V v";
select pg_get_ruledef(oid, true) from pg_rewrite where ev_class = 's.w'::regclass;

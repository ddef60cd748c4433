-- A constraint of a domain and a table that is made of it at the same time: no row violates the constraint.

z: create domain r as int;

a: begin;
a: create table t (x r);
a: insert into t values (-1), (null);
b: alter domain r add constraint positive check (value > 0);
a: commit;
b: select conname from pg_constraint where contypid = 'r'::regtype;
a: begin;
a: insert into t values (-2);
b: alter domain r set not null;
a: commit;
b: alter domain r add constraint positive check (value > 0) not valid;
a: insert into t values (-3);
a: select * from t;

-- A domain that is dropped while a table is made of it.
z: create domain s as int;
a: begin;
a: create table u (x s);
b: drop domain s;
a: commit;
b: drop domain s cascade;

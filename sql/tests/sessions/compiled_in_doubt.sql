-- Statements that are compiled while another transaction has changed the definitions of their tables: they
-- wait, and mean what is committed.
0: create table t (id int primary key, v int);
0: insert into t values (1, 10);

-- A column of another type, taken back and committed.
a: begin;
a: alter table t alter column v type text;
b: select v + 1 as next from t;
a: rollback;
a: begin;
a: alter table t alter column v type text;
b: select v || 'x' as longer from t;
a: commit;

-- A column that is added, taken back: the star does not have it.
a: begin;
a: alter table t add column w int default 5;
b: select * from t;
a: rollback;

-- A column that is dropped, taken back: it can be named.
a: begin;
a: alter table t drop column v;
b: select v from t;
a: rollback;
a: begin;
a: alter table t drop column v;
b: select v from t;
a: commit;

-- Within a block of the waiting session, and with a name that is new.
0: alter table t add column v int default 7;
b: begin;
a: begin;
a: alter table t rename column v to w;
b: update t set w = w + 1;
a: commit;
b: select * from t;
b: commit;

-- PREPARE waits, too. EXECUTE of a statement that was prepared earlier does not change its result.
a: begin;
a: alter table t rename column w to v;
b: prepare doubled as select v * 2 as doubled from t;
a: commit;
b: execute doubled;
a: begin;
a: alter table t alter column v type bigint;
b: execute doubled;
a: rollback;
a: begin;
a: alter table t alter column v type bigint;
b: execute doubled;
a: commit;
b: deallocate doubled;

-- A view of the table, and the same while the view is replaced.
0: create view seen as select v as of_view from t;
a: begin;
a: create or replace view seen as select v as of_view, id from t;
b: select * from seen;
a: rollback;

-- Two transactions that wait for each other: one of them is given up.
0: create table u (id int primary key, v int);
a: begin;
a: alter table t add column x int;
b: begin;
b: alter table u add column x int;
a: select * from u;
b: rollback;
a: rollback;

-- A table that was dropped, taken back.
a: begin;
a: drop table u;
b: select * from u;
a: rollback;

-- A transaction reads what it has altered itself.
a: begin;
a: alter table u add column y int default 3;
a: insert into u values (1, 1);
a: select * from u;
a: commit;
0: drop view seen;
0: drop table t, u;

-- UNIQUE and PRIMARY KEY that can be deferred: when they are checked, and what the check sees.
create table plain (id int primary key, n int unique);
insert into plain select i, i * 10 from generate_series(1, 5) i;
create table t (id int primary key deferrable, n int constraint t_n unique deferrable initially deferred, s text);
insert into t select i, i * 10, 'row ' || i from generate_series(1, 5) i;

-- At once, at the end of the statement.
update t set id = id + 1;
select * from t order by id;
update t set id = id - 1;
update t set id = 6 - id;
select id, n from t order by id;
insert into t values (1, 100, 'again');
insert into t values (6, 60, 'a'), (6, 61, 'b');
update t set id = 2 where id = 1;
update t set id = 3;
insert into t (n) values (7);
select count(*), min(id), max(id) from t;
select id, n from t where id = 4;
select id, n from t where id in (2, 3) order by id;

-- At the end of the transaction.
begin;
insert into t values (6, 10, 'one'), (7, 10, 'two');
select id, n, s from t where n = 10 order by id;
select distinct n from t where n = 10;
select a.id, b.id from t a join t b on a.n = b.n where a.n = 10 order by 1, 2;
update t set n = id * 1000 where id in (6, 7);
commit;
select id, n from t order by id;
begin;
insert into t values (8, 6000, 'twice');
commit;
select count(*) from t where id = 8;
begin;
insert into t values (8, 6000, 'twice');
delete from t where id = 6;
insert into t values (6, 6000, 'three times');
commit;
select count(*) from t where id = 8;
begin;
update t set n = 50 where id = 1;
update t set n = 10 where id = 5;
commit;
begin;
update t set n = (select n from t b where b.id = 3 - t.id) where id in (1, 2);
commit;
select id, n from t order by id;

-- The row that was in the way goes, or the new one does.
begin;
insert into t values (8, 30, 'new');
delete from t where id = 3;
commit;
begin;
insert into t values (9, 30, 'newer');
delete from t where id = 9;
commit;
begin;
insert into t values (9, 30, 'newer');
delete from t where s = 'newer';
insert into t values (9, 30, 'newest');
commit;
select id, n, s from t where n = 30;

-- SET CONSTRAINTS.
begin;
insert into t values (10, 30, 'x');
set constraints t_n immediate;
select 1;
rollback;
begin;
set constraints t_n immediate;
insert into t values (10, 30, 'x');
rollback;
begin;
set constraints t_pkey deferred;
insert into t values (1, 111, 'x');
update t set id = 11 where s = 'x';
commit;
begin;
set constraints all deferred;
insert into t values (1, 112, 'y');
set constraints t_pkey immediate;
rollback;
begin;
set constraints all deferred;
insert into t values (1, 112, 'y');
insert into t values (12, 111, 'z');
set constraints all immediate;
rollback;
begin;
set constraints all immediate;
insert into t values (12, 111, 'z');
rollback;
begin;
set constraints plain_pkey deferred;
rollback;
begin;
set constraints plain_pkey immediate;
set constraints nothing deferred;
rollback;
set constraints t_n deferred;

-- Savepoints.
begin;
insert into t values (13, 111, 'first');
savepoint one;
insert into t values (14, 111, 'second');
rollback to one;
update t set n = 130 where id = 13;
commit;
begin;
savepoint one;
update t set n = 131 where id = 13;
insert into t values (14, 130, 'takes it');
rollback to one;
insert into t values (14, 130, 'takes it');
commit;
begin;
savepoint one;
insert into t values (14, 130, 'takes it');
set constraints t_n immediate;
rollback to one;
select count(*) from t where n = 130;
commit;

-- NULLs are all different, or not.
begin;
insert into t values (20, null, 'n'), (21, null, 'n');
commit;
create table u (a int, b int, c int, unique nulls not distinct (a, b) deferrable initially deferred);
insert into u values (1, null, 1);
begin;
insert into u values (1, null, 2);
commit;
begin;
insert into u values (1, null, 2);
update u set b = 2 where c = 1;
commit;
select * from u order by c;

-- A plain key beside it, and rows that move along that.
create table m (id int primary key, k text, unique (k) deferrable initially deferred);
insert into m values (1, 'a'), (2, 'b');
begin;
update m set k = 'b' where id = 1;
update m set id = 11 where id = 1;
commit;
begin;
update m set k = 'b' where id = 1;
update m set id = 11 where id = 1;
update m set k = 'a' where id = 2;
update m set id = 12 where id = 2;
commit;
select * from m order by id;
begin;
update m set id = id + 1, k = k;
rollback;

-- ON CONFLICT asks at once.
insert into t values (1, 1, 'c') on conflict do nothing;
insert into t values (1, 1, 'c') on conflict (id) do nothing;
insert into t values (1, 1, 'c') on conflict (n) do update set s = 'd';
insert into t values (1, 1, 'c') on conflict on constraint t_n do nothing;
insert into t select 1, 1, 'c' where false on conflict do nothing;
insert into m values (11, 'q') on conflict (id) do update set k = 'z';
insert into m values (12, 'z') on conflict (id) do nothing;
select * from m order by id;
begin;
insert into m values (11, 'q') on conflict (id) do update set k = 'z2';
insert into m values (12, 'q') on conflict (id) do update set k = 'z2';
commit;
select * from m order by id;

-- COPY.
begin;
copy t from stdin;
30	300	copied
31	300	copied
\.
commit;
begin;
copy t from stdin;
30	300	copied
31	300	copied
\.
update t set n = 310 where id = 31;
commit;
copy t from stdin;
31	311	copied
\.
select id, n from t where id >= 30 order by id;

-- In routines each statement has its end, and a block that fails takes its checks with it.
create procedure twice(keeps boolean) language plpgsql as $$
begin
  begin
    insert into t values (40, 310, 'p');
    if not keeps then
      raise division_by_zero;
    end if;
  exception when division_by_zero then
    raise notice 'taken back';
  end;
  update t set id = id + 1;
  update t set id = id - 1;
end $$;
call twice(false);
begin;
call twice(true);
commit;
select count(*) from t where id = 40;
do $$
begin
  insert into t values (1, 999, 'dup');
exception when unique_violation then
  raise notice 'at the end of the statement: %', sqlerrm;
end $$;

-- Keys of several columns, of expressions that are none, and of generated columns.
create table g (a int, b int, c int generated always as (a % 10) stored, primary key (a, b) deferrable initially deferred, unique (c) deferrable);
insert into g values (1, 1), (2, 2);
insert into g values (11, 1);
begin;
insert into g values (1, 1);
rollback;
begin;
update g set a = a + 1;
commit;
select * from g order by a;
begin;
insert into g (a, b) values (5, 5), (15, 6);
rollback;
update g set b = null;

-- GROUP BY does not follow from such a key.
select id, n from plain group by id order by id;
select id, n from t group by id;
select count(*) from t group by id having count(*) > 1;

-- Foreign keys to and from such tables.
create table c1 (t_id int references t);
create table c1 (t_id int references t (id));
create table c1 (t_n int references t (n));
create table both_keys (a int unique deferrable, b int primary key);
create table c1 (x int references both_keys, y int unique deferrable initially deferred);
insert into both_keys values (1, 1), (2, 2);
insert into c1 values (1, 1), (2, 2);
update both_keys set b = 3 where b = 1;
create table c2 (x int unique deferrable initially deferred references both_keys on update cascade);
insert into c2 values (1), (2);
drop table c1;
delete from c2;
insert into c2 values (1), (2);
begin;
update both_keys set b = b + 10;
insert into c2 values (11);
commit;
select * from c2 order by 1;
begin;
update both_keys set b = b + 10;
insert into c2 values (11);
delete from c2 where x = 11;
commit;
select * from c2 order by 1;

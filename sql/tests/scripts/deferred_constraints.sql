-- Foreign keys that are checked when the transaction ends.
create table p (id int primary key);
create table c (id int primary key, p_id int
  constraint cp references p deferrable initially deferred);
create table d (id int primary key, p_id int
  constraint dp references p deferrable);
create table e (id int primary key, p_id int
  constraint ep references p);
create table x (a int, foreign key (a) references p
  initially deferred, b int);
select conname, condeferrable, condeferred, pg_get_constraintdef(oid)
  from pg_constraint where contype = 'f' order by conname;
select constraint_name, is_deferrable, initially_deferred
  from information_schema.table_constraints
  where constraint_type = 'FOREIGN KEY' order by 1;
drop table x;
begin;
insert into c values (1, 1);
commit;
select * from c;
begin;
insert into c values (1, 1), (2, 2);
insert into p values (1), (2);
commit;
begin;
insert into c values (3, 3);
select * from c order by id;
commit;
select * from c order by id;
begin;
delete from p where id = 1;
delete from c where p_id = 1;
commit;
begin;
delete from p where id = 2;
select 1;
commit;
begin;
delete from p where id = 2;
insert into p values (2);
commit;
begin;
update p set id = 20 where id = 2;
update c set p_id = 20 where id = 2;
commit;
begin;
update p set id = 2 where id = 20;
commit;
select * from p;
begin;
insert into c values (5, 50);
update c set id = 6 where id = 5;
commit;
begin;
insert into c values (5, 50);
update c set p_id = 20 where id = 5;
commit;
begin;
insert into c values (7, 70);
delete from c where id = 7;
commit;
select * from c order by id;
-- INITIALLY IMMEDIATE, and SET CONSTRAINTS.
insert into d values (1, 9);
begin;
insert into d values (1, 9);
rollback;
begin;
set constraints dp deferred;
insert into d values (1, 9);
insert into p values (9);
commit;
begin;
set constraints all deferred;
insert into d values (2, 8);
insert into e values (2, 8);
rollback;
begin;
set constraints all deferred;
insert into d values (2, 8);
set constraints dp immediate;
rollback;
begin;
set constraints all deferred;
insert into d values (2, 8);
insert into c values (20, 8);
insert into p values (8);
set constraints all immediate;
insert into c values (21, 7);
rollback;
begin;
set constraints cp immediate;
insert into c values (21, 7);
rollback;
begin;
set constraints cp, dp immediate;
set constraints public.cp deferred;
insert into c values (21, 7);
insert into d values (21, 7);
rollback;
set constraints all deferred;
insert into d values (2, 8);
begin;
set constraints ep deferred;
rollback;
begin;
set constraints ep immediate;
set constraints nix immediate;
rollback;
begin;
set constraints p_pkey deferred;
rollback;
set constraints cp nonsense;
-- Savepoints.
begin;
savepoint s;
insert into c values (30, 30);
rollback to s;
insert into c values (31, 9);
commit;
begin;
insert into c values (32, 32);
savepoint s;
insert into p values (32);
set constraints all immediate;
rollback to s;
commit;
begin;
savepoint s;
set constraints dp deferred;
rollback to s;
insert into d values (40, 40);
rollback;
begin;
insert into c values (33, 33);
savepoint s;
insert into c values (33, 34);
rollback to s;
insert into p values (33);
commit;
select * from c order by id;
-- Actions do not wait.
create table a (id int primary key, p_id int references p
  on delete cascade deferrable initially deferred);
insert into a values (1, 9);
delete from d;
begin;
delete from p where id = 9;
select * from a;
rollback;
drop table a;
create table a (id int primary key, p_id int references p
  on delete restrict on update cascade deferrable initially deferred);
insert into p values (100);
insert into a values (1, 100);
begin;
delete from p where id = 100;
rollback;
begin;
update p set id = 101 where id = 100;
select * from a;
insert into a values (2, 102);
update p set id = 102 where id = 101;
commit;
select * from a order by id;
drop table a;
-- A table that references itself, circles, MATCH FULL.
create table t (id int primary key, up int references t
  deferrable initially deferred);
begin;
insert into t values (1, 2);
insert into t values (2, 3);
insert into t values (3, 1);
commit;
begin;
delete from t where id = 1;
delete from t where id = 2;
commit;
delete from t;
drop table t;
create table l (id int primary key, r_id int not null);
create table r (id int primary key, l_id int not null
  references l deferrable initially deferred);
alter table l add constraint lr foreign key (r_id) references r
  deferrable initially deferred;
begin;
insert into l values (1, 1);
commit;
begin;
insert into l values (1, 1);
insert into r values (1, 1);
commit;
begin;
delete from l;
delete from r;
commit;
drop table l, r cascade;
create table q (a int, b int, primary key (a, b));
create table f (a int, b int, foreign key (a, b) references q
  match full deferrable initially deferred);
begin;
insert into f values (1, null);
update f set a = null;
commit;
begin;
insert into f values (1, null);
commit;
drop table f, q;
-- In routines.
create procedure late(n int) language plpgsql as $$
begin
  insert into c values (n, n);
  begin
    insert into c values (n + 1, n + 1);
    raise exception 'no';
  exception when raise_exception then
    null;
  end;
  insert into p values (n);
end $$;
call late(60);
create procedure bad(n int) language plpgsql as $$
begin
  insert into c values (n, n);
end $$;
begin;
call bad(70);
commit;
select * from c order by id;
drop procedure late, bad;
alter table c drop constraint cp;
drop table c, d, e, p;

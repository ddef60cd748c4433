-- Settings with which sessions begin.
create role keeper login;
create role other;
create database kept;
create view stored as
  select coalesce(d.datname, '-') as database, coalesce(r.rolname, '-') as role, s.setconfig
  from pg_db_role_setting s left join pg_database d on d.oid = s.setdatabase left join pg_roles r on r.oid = s.setrole
  where d.datname = 'kept' or r.rolname in ('keeper', 'other') or (s.setdatabase = 0 and s.setrole = 0)
  order by 1, 2;
alter role keeper set statement_timeout = '5s';
alter role keeper set search_path to public, "Odd One", pg_catalog;
alter role keeper set TimeZone to 'Europe/Berlin';
alter user keeper set work_mem to '8MB';
alter role keeper in database kept set datestyle to 'german, dmy';
alter role all set lock_timeout = 1000;
alter database kept set time zone 'UTC';
alter database kept set default_transaction_isolation to 'repeatable read';
alter database kept set my.own to 'x';
select * from stored;
select rolconfig from pg_roles where rolname = 'keeper';
select useconfig from pg_user where usename = 'keeper';
-- in place, away, from the session
alter role keeper set work_mem = '16MB';
alter role keeper reset time zone;
alter role keeper set statement_timeout to default;
set lock_timeout = '7s';
alter role other set lock_timeout from current;
select * from stored;
alter database kept reset my.own;
alter role all reset lock_timeout;
alter role keeper in database kept reset all;
select * from stored;
-- what is wrong
alter role keeper set no_such to 1;
alter role keeper reset no_such;
alter role keeper set work_mem to 'much';
alter role keeper set timezone to 'Nowhere';
alter role keeper set server_version to '1';
alter role nobody_here set work_mem to '1MB';
alter role keeper in database nowhere set work_mem to '1MB';
alter database nowhere set work_mem to '1MB';
alter role keeper set;
alter role keeper set work_mem;
alter role keeper set work_mem from;
alter role keeper in kept set work_mem = '1MB';
alter role public set work_mem = '1MB';
-- who may
set role keeper;
alter role keeper set work_mem = '1MB';
alter role keeper set temp_file_limit = '1MB';
alter role other set work_mem = '1MB';
alter role all set work_mem = '1MB';
alter role all in database kept set work_mem = '1MB';
alter database kept set work_mem = '1MB';
reset role;
alter database kept owner to keeper;
set role keeper;
alter role all in database kept set work_mem = '2MB';
reset role;
select * from stored;
-- they go with what they are about, and with the transaction
begin;
alter role keeper set work_mem = '3MB';
select setconfig from stored where role = 'keeper';
rollback;
select setconfig from stored where role = 'keeper';
drop database kept;
drop role keeper;
select * from stored;
drop view stored;
drop role other;

-- Temporary tables where PostgreSQL answers otherwise, or not at all.
create table seen (a int primary key);
insert into seen values (1);
create function look_at_seen() returns bigint language plpgsql as $$
begin
  return (select sum(a) from seen);
end $$;
create procedure add_to_seen(n int) language plpgsql as $$
begin
  insert into seen values (n);
end $$;
select look_at_seen();
call add_to_seen(2);
explain call add_to_seen(2);
create temp table seen (a int primary key);
select look_at_seen();
call add_to_seen(5);
explain call add_to_seen(2);
select look_at_seen();
select * from seen;
select * from public.seen order by a;
drop table seen;
select look_at_seen();
call add_to_seen(3);
explain call add_to_seen(2);
select * from seen order by a;
create function look_at_own() returns bigint language sql as $$ select count(*) from own $$;
create temp table own (a int);
create function look_at_own() returns bigint language sql as $$ select count(*) from own $$;
select look_at_own();
drop table own;
select look_at_own();
select * from pg_temp_99999.t;
create table pg_temp_99999.t (a int);
create procedure pg_temp.p() language sql as $$ select 1 $$;
set search_path = pg_temp;
create procedure p() language sql as $$ select 1 $$;

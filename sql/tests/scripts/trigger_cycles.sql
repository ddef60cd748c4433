-- Routines that call each other, in cycles inside of cycles.
create table ta (n int, x text);
create table tb (n int, x text);
create function fa() returns trigger language plpgsql as $$
begin
  new.x := 'A';
  if new.n > 0 then insert into tb values (new.n - 1); end if;
  return new;
end $$;
create function fb() returns trigger language plpgsql as $$
begin
  new.x := 'B';
  if new.n > 2 then insert into tb values (new.n - 1);
  elsif new.n > 0 then insert into ta values (new.n - 1);
  end if;
  return new;
end $$;
create trigger t before insert on ta for each row execute function fa();
create trigger t before insert on tb for each row execute function fb();
insert into ta values (5);
select * from ta order by n;
select * from tb order by n;
insert into tb values (6);
select * from ta order by n;
select * from tb order by n;

create function b(n int) returns text language plpgsql as $$ begin return ''; end $$;
create function a(n int) returns text language plpgsql as $$
begin
  if n <= 0 then return 'a'; end if;
  return 'a' || b(n - 1);
end $$;
create or replace function b(n int) returns text language plpgsql as $$
begin
  if n <= 0 then return 'b'; end if;
  if n % 2 = 0 then return 'b' || a(n - 1); end if;
  return 'b' || b(n - 1);
end $$;
select a(4), b(4), a(5), b(5), a(9);
create function c(n int) returns text language plpgsql as $$ begin return ''; end $$;
create function d(n int) returns text language plpgsql as $$
begin
  if n <= 0 then return 'd'; end if;
  return 'd' || n || c(n - 1);
end $$;
create function e(n int) returns text language plpgsql as $$
begin
  if n <= 0 then return 'e'; end if;
  return 'e' || n || d(n - 1);
end $$;
create or replace function c(n int) returns text language plpgsql as $$
begin
  if n <= 0 then return 'c'; end if;
  case n % 3
    when 0 then return 'c' || n || d(n - 1);
    when 1 then return 'c' || n || e(n - 1);
    else return 'c' || n || c(n - 1);
  end case;
end $$;
select c(10), d(10), e(11);

-- Deferred triggers that catch an error do not bring each other back.
create table caught (a int primary key, b text);
create table log (number serial, what text);
create function catches() returns trigger language plpgsql as $$
begin
  begin
    perform 1 / 0;
  exception when division_by_zero then
    insert into log (what) values ('caught for ' || new.a);
  end;
  return null;
end $$;
create constraint trigger d after insert on caught deferrable initially deferred
  for each row execute function catches();
insert into caught values (2, 'x'), (3, 'y');
select * from log;
begin;
insert into caught values (4, 'z'), (5, 'z');
set constraints all immediate;
savepoint s;
insert into caught values (6, 'z');
rollback to s;
insert into caught values (7, 'z');
commit;
begin;
insert into caught values (8, 'z');
savepoint s;
set constraints all immediate;
rollback to s;
commit;
select * from log;

-- All of a row in WHEN.
create function told() returns trigger language plpgsql as $$
begin
  raise notice '% %', tg_op, new.a;
  return null;
end $$;
create trigger changed after update on caught for each row
  when (old.* is distinct from new.*) execute function told();
update caught set b = 'x' where a = 2;
update caught set b = 'y' where a = 2;
update caught set a = a where a = 3;
drop table ta, tb, caught, log;
drop function fa, fb, a, b, c, d, e, catches, told;

-- A deferred trigger whose function is replaced before it runs.
create table late (a int, b text);
create table seen (a int, b text, c text);
create function looks() returns trigger language plpgsql as $$
begin insert into seen values (new.a, 'first', null); return null; end $$;
create constraint trigger l after insert or update on late deferrable initially deferred
  for each row execute function looks();
begin;
insert into late values (1, 'one');
update late set a = 2;
create or replace function looks() returns trigger language plpgsql as $$
begin insert into seen values (new.a, new.b, case when tg_op = 'UPDATE' then old.b end); return null; end $$;
commit;
select * from seen;
drop table late, seen;
drop function looks;

-- Each of nine tables fires inserts into all of them: there are more ways than can be followed one by one.
do $$ begin
  for i in 1..9 loop
    execute format('create table m%s (n int, way text)', i);
  end loop;
end $$;
create function fan_out() returns trigger language plpgsql as $$
begin
  if tg_table_name = 'm1' then insert into m2 select new.n - 1, new.way || 1 where new.n > 0; end if;
  insert into m3 select new.n - 2, new.way || tg_table_name where new.n > 1;
  insert into m4 select new.n - 3, new.way || tg_table_name where new.n > 2;
  insert into m5 select new.n - 4, new.way || tg_table_name where new.n > 3;
  insert into m6 select new.n - 5, new.way || tg_table_name where new.n > 4;
  insert into m7 select new.n - 6, new.way || tg_table_name where new.n > 5;
  insert into m8 select new.n - 7, new.way || tg_table_name where new.n > 6;
  insert into m9 select new.n - 8, new.way || tg_table_name where new.n > 7;
  insert into m1 select new.n - 9, new.way || tg_table_name where new.n > 8;
  return null;
end $$;
do $$ begin
  for i in 1..9 loop
    execute format('create trigger t after insert on m%s for each row execute function fan_out()', i);
  end loop;
end $$;
insert into m1 values (9, '');
select n, way from m1 order by way;
select count(*), min(way), max(length(way)) from m3;
select count(*), min(way), max(length(way)) from m9;
insert into m9 values (10, '+');
select n, way from m1 where way like '+%' order by way;
select count(*), sum(n), max(length(way)) from m4;

-- A domain whose condition calls a function that makes a value of the domain.
create function halves(n int) returns boolean language plpgsql as $$ begin return true; end $$;
create domain shrinking as int check (halves(value));
create or replace function halves(n int) returns boolean language plpgsql as $$
begin
  if n <= 1 then return n = 1; end if;
  if n % 2 = 1 then return false; end if;
  return (n / 2)::shrinking is not null;
end $$;
select 64::shrinking, 1::shrinking;
select 96::shrinking;
select 0::shrinking;

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

-- Variables and parameters of type refcursor; cursors that stay when the routine is done.
create table t (id integer primary key, a text);
insert into t select n, 'row ' || n from generate_series(1, 10) n;
create function given(c refcursor) returns refcursor language plpgsql as $$
begin
  open c for select id, a from t order by id;
  return c;
end $$;
select given('mine');
fetch next from mine;
begin;
select given('mine');
fetch next from mine;
fetch 2 from mine;
fetch last from mine;
fetch backward 2 from mine;
move absolute 5 in mine;
fetch mine;
select name, statement, is_holdable, is_binary, is_scrollable from pg_cursors where name = 'mine';
select given('mine');
rollback;
begin;
select given('mine');
close mine;
select given('mine');
fetch first from mine;
commit;
fetch first from mine;
-- Without a name one is made up
create function unnamed() returns text language plpgsql as $$
declare c refcursor;
begin
  if c is not null then raise exception 'not null'; end if;
  open c for select 1;
  return case when c::text like '<unnamed portal %>' then 'as it should be' else c::text end;
end $$;
select unnamed();
-- Text that is known only when it runs
create function executed(c refcursor, condition text, lowest integer) returns refcursor language plpgsql as $$
begin
  open c for execute 'select a, id * 2 as twice from t where ' || condition || ' order by id' using lowest;
  return c;
end $$;
begin;
select executed('e', 'id > $1', 8);
fetch all from e;
select executed('f', 'id < $1', 0);
fetch all from f;
select executed('g', 'nonsense > $1', 0);
rollback;
begin;
select executed(null, 'id > $1', 8)::text like '<unnamed portal %>' as has_name;
rollback;
create function executes(x text) returns integer language plpgsql as $$
declare c refcursor;
begin
  open c for execute x;
  return 1;
end $$;
select executes('delete from t');
select executes('values (1), (2)');
select executes(null);
-- In the routine: all directions
create function directions() returns text language plpgsql as $$
declare
  c refcursor;
  k integer;
  b text;
  r record;
  said text = '';
begin
  open c scroll for select id, a from t order by id;
  fetch c into k, b;
  said = said || k || b || ' ';
  fetch next from c into k;
  said = said || k || ' ';
  fetch last from c into r;
  said = said || r.id || r.a || ' ';
  fetch prior from c into r;
  said = said || r.id || ' ';
  fetch relative -2 from c into k;
  said = said || k || ' ';
  fetch absolute 3 in c into k;
  said = said || k || ' ';
  fetch absolute k + 1 from c into k;
  said = said || k || ' ';
  fetch backward from c into k;
  said = said || k || ' ';
  fetch forward from c into k;
  said = said || k || ' ';
  fetch first from c into k;
  said = said || k || ' ';
  fetch prior from c into k, b;
  said = said || coalesce(k, -1) || coalesce(b, 'none') || found || ' ';
  move forward 3 from c;
  get diagnostics k = row_count;
  said = said || 'moved ' || k || found || ' ';
  fetch relative 0 from c into k;
  said = said || k || ' ';
  move last from c;
  move c;
  said = said || found || ' ';
  move backward all from c;
  get diagnostics k = row_count;
  said = said || k || ' ';
  move 2 from c;
  fetch c into k;
  said = said || k;
  close c;
  return said;
end $$;
select directions();
select directions();
create function forward_only() returns integer language plpgsql as $$
declare c refcursor; k integer;
begin
  open c no scroll for select id from t order by id;
  fetch c into k;
  fetch prior from c into k;
  return k;
end $$;
select forward_only();
-- Several rows at once go nowhere
create function several() returns void language plpgsql as $$
declare c refcursor; k integer;
begin
  open c for select 1;
  fetch all from c into k;
end $$;
create function several() returns void language plpgsql as $$
declare c refcursor; k integer;
begin
  open c for select 1;
  fetch forward 2 from c into k;
end $$;
-- Closed, open, null
create function closed(c refcursor) returns integer language plpgsql as $$
declare k integer;
begin
  fetch c into k;
  return k;
end $$;
select closed('nowhere');
select closed(null);
create function closes(c refcursor) returns boolean language plpgsql as $$
begin
  close c;
  return true;
end $$;
select closes('nowhere');
select closes(null);
create function moves(c refcursor, n integer) returns boolean language plpgsql as $$
begin
  move relative n from c;
  return found;
end $$;
begin;
declare d cursor for select id, a from t order by id;
select closed('d');
select closed('d');
select moves('d', 2);
fetch d;
savepoint s;
select moves('d', null);
rollback to s;
select closes('d');
fetch d;
rollback;
-- Handed from one routine to another
create function opens(out one refcursor, out two refcursor) language plpgsql as $$
begin
  one = 'first cursor';
  two = 'second cursor';
  open one for select id from t where id <= 2 order by id;
  open two for select a from t where id > 8 order by id;
end $$;
create function reads() returns text language plpgsql as $$
declare c refcursor; d refcursor; k integer; b text; said text = '';
begin
  select * into c, d from opens();
  loop
    fetch c into k;
    exit when not found;
    said = said || k || ' ';
  end loop;
  loop
    fetch d into b;
    exit when not found;
    said = said || b || ' ';
  end loop;
  close c;
  close d;
  return said;
end $$;
select reads();
begin;
select * from opens();
fetch all in "first cursor";
fetch all in "second cursor";
commit;
create procedure proposes(inout c refcursor, lowest integer) language plpgsql as $$
begin
  open c for select * from t where id >= lowest order by id;
end $$;
begin;
call proposes('p', 9);
fetch all from p;
commit;
create function sets() returns setof refcursor language plpgsql as $$
declare c refcursor;
begin
  c = 'set one';
  open c for select 1 as one;
  return next c;
  c = 'set two';
  open c for select 2 as two, 'b' as b;
  return next c;
end $$;
begin;
select * from sets();
fetch all from "set one";
fetch all from "set two";
commit;
-- Bound cursors that others know
create function bound(lowest integer) returns refcursor language plpgsql as $$
declare
  k integer;
  c cursor (n integer) for select id, a from t where id >= n order by id;
begin
  open c(lowest);
  fetch c into k;
  return c;
end $$;
begin;
select bound(7);
fetch all from c;
select bound(8);
rollback;
create function scrolls() returns integer language plpgsql as $$
declare c scroll cursor for select id from t order by id; k integer;
begin
  open c;
  fetch last from c into k;
  fetch relative -3 from c into k;
  close c;
  open c;
  fetch last from c into k;
  return k;
end $$;
select scrolls();
create function loops() returns integer language plpgsql as $$
declare c cursor for select id from t order by id; total integer = 0; name text = c;
begin
  for r in c loop
    total = total + r.id;
  end loop;
  return total;
end $$;
select loops();
-- A block with a handler takes its cursors back
create function handled() returns text language plpgsql as $$
declare c refcursor = 'h'; k integer;
begin
  begin
    open c for select id from t order by id;
    raise exception 'oh';
  exception when others then null;
  end;
  open c for select -id from t order by id;
  fetch c into k;
  return c::text || k;
end $$;
select handled();
create function kept() returns text language plpgsql as $$
declare c refcursor = 'h'; k integer;
begin
  begin
    open c for select id from t order by id;
  exception when others then null;
  end;
  fetch c into k;
  return c::text || k;
end $$;
select kept();
begin;
savepoint s;
select given('before');
rollback to s;
fetch before;
rollback;
begin;
select given('before');
savepoint s;
fetch before;
rollback to s;
fetch before;
release s;
fetch before;
commit;
-- Types
create function types() returns text language plpgsql as $$
declare c refcursor; n numeric; b bigint; x text;
begin
  open c for select id, id * 10, id * 100 from t where id = 3;
  fetch c into n, b, x;
  return n || ' ' || b || ' ' || x;
end $$;
select types();
create function wrong_value() returns integer language plpgsql as $$
declare c refcursor; k integer;
begin
  open c for select a from t order by id;
  fetch c into k;
  return k;
end $$;
select wrong_value();
select 'x'::refcursor, pg_typeof('x'::refcursor);
-- What is wrong when it is created
create function bad() returns void language plpgsql as $$
declare k integer;
begin
  open k for select 1;
end $$;
create function bad() returns void language plpgsql as $$
begin
  open nobody for select 1;
end $$;
create function bad() returns void language plpgsql as $$
declare c refcursor;
begin
  open c;
end $$;
create function bad() returns void language plpgsql as $$
declare c refcursor;
begin
  for r in c loop
    null;
  end loop;
end $$;
create function bad() returns void language plpgsql as $$
declare c refcursor; k integer;
begin
  fetch c;
end $$;
-- HammerDB's way with one that is opened by a condition
create function chosen(by_name boolean) returns text language plpgsql as $$
declare c refcursor; k integer; b text; n integer = 0;
begin
  if by_name then
    open c for select id, a from t where a like 'row 1%' order by a;
  else
    open c for select id, a from t where id < 3 order by id;
  end if;
  loop
    fetch c into k, b;
    exit when not found;
    n = n + k;
  end loop;
  close c;
  return n || coalesce(b, ' none');
end $$;
select chosen(true), chosen(false);
do $$
declare c refcursor; k integer;
begin
  open c for select id from t order by id desc;
  fetch c into k;
  raise notice '%', k;
end $$;

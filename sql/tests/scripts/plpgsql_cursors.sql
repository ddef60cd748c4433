-- Bound cursors in PL/pgSQL.
create table pc (a int primary key, b text);
insert into pc select i, 'row ' || i from generate_series(1, 6) i;
create function pc_sum() returns text language plpgsql as $$
declare
  c cursor for select a, b from pc order by a;
  x int; y text; s text := '';
begin
  open c;
  loop
    fetch c into x, y;
    exit when not found;
    s := s || x || y || ' ';
  end loop;
  close c;
  return s || coalesce(x, -1);
end $$;
select pc_sum();
select pc_sum();
create function pc_middle(wanted text) returns text language plpgsql as $$
declare
  n bigint; x int; y text;
  c_name no scroll cursor for select a, b from pc where b like wanted order by b;
begin
  select count(*) into n from pc where b like wanted;
  open c_name;
  for i in 0..n / 2 loop
    fetch next from c_name into x, y;
  end loop;
  close c_name;
  return x || y;
end $$;
select pc_middle('row%'), pc_middle('%3');
create function pc_args(lo int, hi int) returns text language plpgsql as $$
declare
  c cursor (l int, h int) for select b from pc where a between l and h order by a desc;
  r record; s text := '';
begin
  for r in c(lo, hi) loop
    s := s || r.b || ' ';
  end loop;
  for r in c(1, lo) loop
    s := s || '/' || r.b;
    continue when r.b = 'row 2';
    exit when r.b = 'row 1';
  end loop;
  open c(6, 7);
  fetch c into r;
  s := s || '+' || r.b;
  move c;
  s := s || found;
  fetch c into r;
  return s || found;
end $$;
select pc_args(2, 4);
create procedure pc_changes() language plpgsql as $$
declare c cursor is select a from pc where a < 100 order by a;
begin
  for r in c loop
    insert into pc values (r.a + 100, 'new');
    update pc set b = b || '!' where a = r.a;
    commit;
  end loop;
end $$;
call pc_changes();
select count(*), min(b), max(b) from pc;
create function pc_twice() returns int language plpgsql as $$
declare c cursor for select a from pc; x int;
begin
  open c;
  open c;
  return 1;
end $$;
select pc_twice();
create function pc_unopened() returns int language plpgsql as $$
declare c cursor for select a from pc; x int;
begin
  fetch c into x;
  return x;
end $$;
select pc_unopened();
create function pc_closed() returns text language plpgsql as $$
declare c cursor for select a from pc order by a; x int;
begin
  open c;
  close c;
  begin
    close c;
  exception when invalid_cursor_name then
    raise notice 'caught %', sqlerrm;
  end;
  open c;
  fetch from c into x;
  return x;
end $$;
select pc_closed();
create function pc_row() returns text language plpgsql as $$
declare c cursor for select * from pc order by a; r pc%rowtype;
begin
  open c;
  fetch c into r;
  close c;
  return r.a || r.b;
end $$;
select pc_row();
create procedure pc_keyed(k int) language plpgsql as $$
declare c cursor (k int) for select a from pc where pc.a = k;
begin
  for r in c (k + 1) loop
    raise notice '% %', r.a, k;
  end loop;
end $$;
call pc_keyed(2);
create function pc_snapshot() returns text language plpgsql as $$
declare c cursor for select count(*) from pc; n bigint;
begin
  open c;
  delete from pc where a > 100;
  fetch c into n;
  return n || ' ' || (select count(*) from pc);
end $$;
select pc_snapshot();
drop function pc_sum, pc_middle, pc_args, pc_twice, pc_unopened, pc_closed, pc_row, pc_snapshot;
drop procedure pc_changes, pc_keyed;
drop table pc;

-- Cursors that the session keeps: what is refused, and what differs.
create table t (id integer primary key, a text);
insert into t values (1, 'one'), (2, 'two');
-- The columns of a record are those of an OPEN in the same text
create function taken(c refcursor) returns integer language plpgsql as $$
declare r record;
begin
  fetch c into r;
  return r.id;
end $$;
create function taken(c refcursor) returns text language plpgsql as $$
declare r t%rowtype;
begin
  fetch c into r;
  return r.id || r.a;
end $$;
begin;
declare other cursor for select id, a, a || '!' from t order by id;
select taken('other');
commit;
create function two(first boolean) returns text language plpgsql as $$
declare c refcursor; r record;
begin
  if first then
    open c for select id as other, a from t order by id;
  else
    open c for select id, a from t order by id;
  end if;
  fetch c into r;
  return r.id || r.a;
end $$;
select two(false);
select two(true);
-- A cursor is a text where operators are concerned
select 'c'::refcursor = 'c', 'c'::refcursor || 'd';
-- WHERE CURRENT OF in a body
create function current(c refcursor) returns void language plpgsql as $$
begin
  update t set a = 'x' where current of c;
end $$;

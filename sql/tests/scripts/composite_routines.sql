-- Functions and procedures with rows.
create type pair as (a int, b text);
create table item (id int primary key, label text, p pair);
insert into item values (1, 'hat', (1, 'x')), (2, 'cap', null);
create function made(x int, y text) returns pair language sql as $$ select x, y $$;
create function made_row(x int) returns pair language sql as $$ select row(x, 'r')::pair $$;
create function nobody() returns pair language sql as $$ select 1, 'a' where false $$;
create function wrong() returns pair language sql as $$ select 1 $$;
create function wrong_types() returns pair language sql as $$ select 'a'::text, 'b'::text $$;
select made(1, 'z'), (made(2, 'q')).b, (made(3, 'w')).*, made_row(4), nobody();
select * from made(5, 'from');
select * from nobody();
select m, m.a from made(6, 'whole') m;
create function of_pair(p pair) returns int language sql as $$ select p.a * 10 $$;
create function of_both(p pair, q pair) returns bool language sql as $$ select p = q $$;
select of_pair(row(1, 'x')), of_pair('(2,y)'), of_pair(null), of_pair(made(3, 'z')), of_both((1, 'a'), (1, 'a'));
create function tag(i item) returns text language sql as $$ select i.label || i.id $$;
select tag(item), item.tag, tag(item.*), (item).tag from item order by id;
select tag(null::item);
create function strict_tag(i item) returns text strict language sql as $$ select 'called' $$;
select strict_tag(null), strict_tag(row(null, null, null));
create function changed(p pair, v int) returns pair language plpgsql as $$ begin p.a := v; return p; end $$;
select changed((1, 'k'), 10), changed(null, 3);
create function found(i int) returns item language plpgsql as $$
declare r item;
begin
  select * into r from item where id = i;
  return r;
end $$;
select found(1), (found(1)).label, found(9), found(9) is null as n;
select * from found(1);
select * from found(9);
create function rows_of() returns setof item language plpgsql as $$
declare r item%rowtype; p pair;
begin
  for r in select * from item order by id loop
    r.label := upper(r.label);
    p := r.p;
    p.b := coalesce(p.b, 'none');
    r.p := p;
    return next r;
  end loop;
  return query select 3, 'three'::text, row(3, 'c')::pair;
end $$;
select * from rows_of();
select rows_of();
create function pairs(n int) returns setof pair language plpgsql as $$
declare p pair := row(0, 'start');
begin
  return next p;
  for i in 1..n loop
    p := (i, 'i' || i);
    return next p;
  end loop;
  return next null;
  return next row(7, 'seven'::text);
end $$;
select * from pairs(2);
create function summed(ps pair[]) returns int language plpgsql as $$
declare p pair; total int := 0;
begin
  foreach p in array ps loop total := total + p.a; end loop;
  return total;
end $$;
select summed(array[(1, 'a'), (2, 'b')]::pair[]), summed('{"(3,c)"}');
create function logged(p pair) returns text language plpgsql as $$
declare q pair; r record;
begin
  raise notice 'p is %, % and %', p, p.a, p.b;
  q := p;
  select * into p from (values (5, 'five')) v;
  r := q;
  return p::text || q::text || r.a || (q = p)::text || (q is null)::text;
end $$;
select logged((1, 'x')::pair);
create function both_out(out p pair, out n int) language plpgsql as $$ begin p := (1, 'out'); p.a := 2; n := 3; end $$;
select * from both_out();
create function one_out(inout p pair) language plpgsql as $$ begin p.b := p.b || '+'; end $$;
select one_out((1, 'x')::pair);
create function from_sql() returns setof pair language sql as $$ select id, label from item order by id $$;
select * from from_sql();
create function whole_rows() returns setof item language sql as $$ select item from item order by id $$;
select * from whole_rows();
create function inserted(i item) returns item language sql as $$
  insert into item select i.* returning * $$;
select inserted(row(4, 'four', (4, 'd')));
create procedure put(i item, p pair) language plpgsql as $$
begin
  insert into item values (i.id, i.label, p);
  update item set p.a = 100 where id = i.id;
end $$;
call put((5, 'five', null)::item, row(5, 'e')::pair);
call put(null, null);
select * from item order by id;
create function jobs(specs pair[]) returns setof item language plpgsql as $$
begin
  return query insert into item (id, label) select s.a, s.b from unnest(specs) s returning *;
end $$;
select * from jobs(array[row(10, 'ten')::pair, (11, 'eleven')::pair]);
alter table item add column more int default 1;
select * from found(1);
select tag(item) from item where id = 1;
alter type pair add attribute c int;
select changed((1, 'k', 5), 10);
create function copied() returns text language plpgsql as $$
declare r item;
begin
  with moved as (select id + 100 as id, label from item where id < 3)
  insert into item (id, label) select id, label from moved;
  with one as (select 101 as id) update item set label = 'moved' from one where item.id = one.id returning item.* into r;
  return r.label || r.id;
end $$;
select copied();
set client_min_messages = warning;
drop type pair cascade;
select * from item order by id;
drop table item cascade;

-- The type of the rows of a table as a result, in the catalog.
create table kept_items (id int, name text);
create function kept_items_of(int) returns setof kept_items language sql as $$ select * from kept_items where id = $1 $$;
select prorettype::regtype, proretset, pg_get_function_result(oid) from pg_proc where proname = 'kept_items_of';
select data_type, type_udt_schema, type_udt_name from information_schema.routines where routine_name = 'kept_items_of';
select attname, atttypid::regtype from pg_proc p join pg_type t on t.oid = prorettype
    join pg_attribute on attrelid = typrelid where proname = 'kept_items_of' and attnum > 0 order by attnum;

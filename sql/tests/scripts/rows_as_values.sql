-- Whole rows: of relations, of records, and written out.

create table t (id int primary key, name text, at date);
insert into t values (1, 'a b', '2020-01-01'), (2, null, null), (3, 'q"uo\te', null), (4, '', null), (5, '(x),y', null);
select t::text from t order by id;
select count(t.*), count(t), count(*) from t;
select count(b.*), count(b), count(*) from t a left join t b on b.id = a.id + 3;
select a.id, b::text from t a left join t b on b.id = a.id + 3 order by a.id;
select (t).name, (t).id + 1 as next from t order by id;
select (t).nothing from t;
select row(1, 'x', null), row(), row(null), (1, 2.50, true);
select row(t.*, 'more')::text from t where id = 1;
select row_to_json(t), to_jsonb(t) from t where id < 3 order by id;
select concat(t, '!'), format('%s', t) from t where id = 1;
select t::text || '!' from t where id = 4;
select id from t where t is null;
select id from t where t is not null order by id;
select row(null, null) is null, row(1, null) is null, row(1, null) is not null, row(1, 2) is not null;
select a.id from t a join t b on a.id = b.id where a = b order by 1;
select a.id, a is distinct from b as differs from t a join t b on b.id = a.id order by 1;
select a.id from t a join t b on a.id = b.id where (a.*) = (b.*) and a.* is not distinct from b.* order by 1;
select (1, null) is distinct from (1, null), (1, 2) is distinct from (1, 3), row(1, null) = row(1, null);
select x::text from (select 1 as a, 'y z' as b) x;
select x.*, x::text from (values (1, 2), (3, null)) x;
select (select t::text from t where id = 1), exists (select t from t);

-- In routines.
create table log (id int, name text, at date, op text);
create function noted() returns trigger language plpgsql as $$
declare r record; o t;
begin
  if tg_op = 'INSERT' then
    insert into log values (new.*, tg_op);
  elsif new is distinct from old then
    insert into log select new.*, 'was ' || old::text;
    raise notice 'changed % to %', old, new;
  elsif new.* = old.* then
    raise notice 'same %', to_json(new);
  end if;
  r := new;
  o := old;
  if tg_op = 'UPDATE' then
    raise notice '% % %', r.name, o.name, row_to_json(r);
    if r.name = 'take back' then
      new := o;
    elsif r.name = 'write out' then
      new := row(r.id, 'written'::text, '2022-02-02'::date);
    end if;
  end if;
  return new;
end $$;
create trigger noted before insert or update on t for each row execute function noted();
insert into t values (6, 'six', '2021-01-01');
update t set name = 'sechs' where id = 6;
update t set name = name where id = 6;
update t set name = 'take back' where id = 6;
update t set name = 'write out' where id = 6;
select * from t where id = 6;
select * from log;
drop trigger noted on t;
create function when_changed() returns trigger language plpgsql as $$
begin
  raise notice 'changed %', new;
  return row(new.id, upper(new.name), new.at);
end $$;
create trigger c before update on t for each row when (old.* is distinct from new.*) execute function when_changed();
create trigger d before update on t for each row when (old is distinct from new) execute function when_changed();
update t set name = name where id = 6;
update t set name = 'other' where id = 6;
select * from t where id = 6;
select pg_get_triggerdef(oid) from pg_trigger where tgrelid = 't'::regclass order by tgname;
drop trigger c on t;
drop trigger d on t;
create function said() returns trigger language plpgsql as $$
begin
  raise notice '%', new;
  return new;
end $$;
create trigger c before update on t for each row when (old.* is distinct from new.*) execute function said();
alter table t add extra int;
update t set extra = 1 where id = 5;
alter table t drop extra;
update t set id = id where id = 5;
do $$
declare r record; n int; p t%rowtype;
begin
  for r in select * from t order by id limit 2 loop
    raise notice '%', r;
  end loop;
  select * into p from t where id = 1;
  raise notice '% %', p, p is null;
  select count(*) into n from t where (id, name, at) is not distinct from p;
  r := (1, 'two');
  raise notice '%', r;
end $$;
drop table t, log;

-- The name of a scalar function in FROM is its value.
select v, v = 2, row(v) from generate_series(1, 2) v;

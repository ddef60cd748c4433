-- INSTEAD OF triggers, and COPY into tables with triggers.

create table a (id int primary key, name text);
create table b (id int primary key, n int);
create view v as select a.id, a.name, b.n from a join b using (id);
insert into v values (1, 'x', 1);
create function v_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    if new.n < 0 then return null; end if;
    insert into a values (new.id, new.name);
    insert into b values (new.id, new.n);
    new.name := new.name || ' (new)';
    return new;
  elsif tg_op = 'UPDATE' then
    update a set id = new.id, name = new.name where id = old.id;
    update b set id = new.id, n = new.n where id = old.id;
    return new;
  else
    delete from a where id = old.id;
    delete from b where id = old.id;
    return old;
  end if;
end $$;
create trigger ins instead of insert on v for each row execute function v_change();
insert into v values (1, 'x', 1), (2, 'y', -2) returning *;
insert into v (n, id) select g, g from generate_series(3, 5) g returning id, name;
select * from v order by id;
update v set n = 1;
delete from v;
create trigger upd instead of update or delete on v for each row execute function v_change();
update v set n = n * 10, name = 'w' || id where id > 3 returning *;
update v set id = id + 100 where id = 1 returning id;
update v as w set n = w.n + a.id from a where a.id = w.id and w.id = 5 returning w.n;
update v set nothing = 1;
update v set n = 1, n = 2;
update v set n = 'x';
delete from v where id = 3 returning id, n;
delete from v using b where v.id = b.id and b.n = 40;
select * from v order by id;
select * from a order by id;
insert into v values (5, 'double', 5);
insert into v values (7, 'x', 7, 7);
create or replace view v as select a.id, a.name, b.n, 1 as one from a join b using (id);
insert into v values (8, 'eight', 8);
select tgname, pg_get_triggerdef(oid) from pg_trigger where tgrelid = 'v'::regclass order by tgname;
create function v_say() returns trigger language plpgsql as $$
begin raise notice '% % %', tg_relname, tg_when, tg_op; return null; end $$;
create trigger before_v before insert or update or delete on v execute function v_say();
create trigger after_v after insert or update or delete on v execute function v_say();
insert into v values (9, 'nine', 9);
update v set n = 0 where id = 9;
delete from v where false;
drop trigger ins on v;
insert into v values (10, 'ten', 10);
drop view v;
select count(*) from pg_trigger;

-- Views that can be changed without them.
create view simple as select id, name from a where id < 100;
create function up() returns trigger language plpgsql as $$
begin new.name := upper(new.name); return new; end $$;
create trigger up before insert or update on a for each row execute function up();
insert into simple values (50, 'fifty') returning *;
update simple set name = name || 'x' where id = 50 returning *;

-- COPY.
create trigger say_before before insert on a execute function v_say();
create trigger say_after after insert on a execute function v_say();
copy a from stdin;
60	sixty
61	sixty-one
\.
select * from a where id >= 60 order by id;
create function odd() returns trigger language plpgsql as $$
begin if new.id % 2 = 1 then return null; end if; return new; end $$;
create trigger odd before insert on a for each row execute function odd();
copy a from stdin;
62	sixty-two
63	sixty-three
64	sixty-four
\.
select count(*) from a where id >= 60;
drop view simple;
drop table a, b;

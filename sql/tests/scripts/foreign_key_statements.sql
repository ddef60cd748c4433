-- What counts is what is there when the statement is done.
create table p (id int primary key, name text);
create table c (id int primary key, p_id int references p);
insert into p values (1, 'a'), (2, 'b'), (3, 'c');
insert into c values (1, 1), (2, 2);
update p set id = 4 - id where id in (1, 3);
select * from p order by id;
update p set id = id;
update p set id = id + 1 where id > 1;
update p set id = id + 10;
insert into p values (1, 'x') on conflict (id) do update set id = 9;
insert into p values (1, 'x') on conflict (id) do update set name = excluded.name;
insert into p values (3, 'x') on conflict (id) do update set id = 9;
insert into p values (9, 'z') on conflict (id) do update set id = 3, name = 'w' returning *;
with gone as (delete from c where p_id = 1 returning p_id)
  delete from p where id in (select p_id from gone) returning *;
with new as (insert into p values (7, 'new') returning id)
  insert into c select 7, id from new returning *;
with new as (insert into c values (8, 8) returning p_id)
  insert into p select p_id, 'late' from new returning *;
with new as (insert into c values (9, 9))
  insert into p values (10, 'late');
select * from p order by id;
select * from c order by id;
-- RESTRICT does not ask whether another row has the key.
drop table c;
create table c (id int primary key, p_id int references p on update restrict on delete restrict);
insert into c values (1, 2), (2, 3);
update p set id = case id when 2 then 3 else 2 end where id in (2, 3);
update p set id = 2 where id = 2;
delete from p where id = 2;
drop table c;
-- Several keys of one table.
create table q (id int primary key);
insert into q values (1);
create table c (id int primary key, a int references p, b int references q, d int references p);
insert into c values (1, 2, 1, 3);
insert into c values (2, 90, 91, 92);
insert into c values (2, 2, 91, 92);
insert into c values (2, 2, 1, 92);
update c set a = 77, b = 1;
update c set a = a, b = b, d = 78;
delete from q;
delete from p where id in (2, 3);
drop table c, q, p;
-- MATCH FULL.
create table p (a int, b text, primary key (a, b));
insert into p values (1, 'x'), (2, 'y');
create table c (id int primary key, a int, b text, foreign key (a, b) references p match full);
insert into c values (1, 1, 'x'), (2, null, null);
insert into c values (3, 1, null);
insert into c values (3, null, 'x');
insert into c values (3, 1, 'y');
update c set a = null where id = 1;
update c set a = null, b = null where id = 1;
update c set a = 2, b = 'y' where id = 1;
delete from p where a = 2;
update p set b = 'z' where a = 2;
drop table c;
create table c (id int primary key, a int, b text,
  foreign key (a, b) references p match full on delete set null on update cascade);
insert into c values (1, 1, 'x'), (2, 2, 'y');
delete from p where a = 1;
update p set b = 'yy';
select * from c order by id;
drop table c;
create table c (id int primary key, a int, b text,
  foreign key (a, b) references p match full on delete set null (a));
insert into c values (1, 2, 'yy');
delete from p;
alter table c add foreign key (a, b) references p match full;
drop table c;
create table c (id int primary key, a int, b text);
insert into c values (1, null, 'q');
alter table c add foreign key (a, b) references p match full;
alter table c add foreign key (a, b) references p;
create table c2 (a int references p (a) match full);
drop table c, p;
-- Types that differ.
create table p (id bigint primary key);
create table c (id int primary key, small smallint references p on delete cascade on update cascade,
  whole int references p on delete set null);
insert into p values (1), (2), (100000), (10000000000);
insert into c values (1, 1, 100000), (2, 2, null), (3, 3, 1);
insert into c values (1, 1, 100000), (2, 2, null);
update p set id = 3 where id = 2;
select * from c order by id;
update p set id = 50000 where id = 3;
delete from p where id in (3, 100000);
select * from c;
drop table c, p;
create table p (id smallint primary key);
create table c (id int primary key, big bigint references p on update cascade, n int references p);
insert into p values (1), (2);
insert into c values (1, 1, 2);
insert into c values (2, 100000, 2);
insert into c values (2, 10000000000, 2);
update p set id = 3 where id = 1;
delete from p where id = 2;
delete from p where id = 3;
select * from c;
drop table c, p;
create table p (id numeric primary key);
create table c (id int primary key, n int references p on update cascade, m numeric(10, 2) references p on update cascade);
insert into p values (1.0), (2), (2.5);
insert into c values (1, 1, 2.5), (2, 2, 1.00);
insert into c values (3, 5, 1);
update p set id = 1.000 where id = 1;
update p set id = 3.75 where id = 2.5;
update p set id = 7.4 where id = 1;
select * from c order by id;
delete from p where id = 2;
drop table c, p;
create table p (id text primary key);
create table c (a varchar(5) references p, b char(4) references p on update cascade);
insert into p values ('ab'), ('cd ');
insert into c values ('ab', 'ab');
insert into c values ('cd', null);
insert into c values ('cd ', null);
update p set id = 'xy' where id = 'ab';
delete from p where id = 'cd ';
drop table c, p;
create table p (id date primary key);
create table c (t timestamp references p, d date references p);
insert into p values ('2024-01-01');
insert into c values ('2024-01-01', '2024-01-01');
insert into c values ('2024-01-01 10:00', '2024-01-01');
delete from p;
drop table c, p;
create table p (id double precision primary key);
insert into p values (1), (0.5);
create table c (r real references p, i int references p, n numeric references p);
insert into c values (0.5, 1, 0.5);
insert into c values (0.1, 1, 0.5);
delete from p where id = 1;
drop table c, p;
-- NOT VALID, and VALIDATE CONSTRAINT.
create table p (id int primary key);
create table c (id int primary key, p_id int);
insert into c values (1, 1), (2, 2);
insert into p values (2);
alter table c add constraint k foreign key (p_id) references p not valid;
select convalidated, pg_get_constraintdef(oid) from pg_constraint where conname = 'k';
insert into c values (3, 3);
update c set id = 10 where id = 1;
update c set p_id = 1 where id = 10;
update c set p_id = 5 where id = 10;
alter table c validate constraint k;
alter table c validate constraint nix;
alter table c validate constraint c_pkey;
insert into p values (1);
alter table c validate constraint k;
alter table c validate constraint k;
select convalidated from pg_constraint where conname = 'k';
delete from p;
drop table c, p;
-- In routines.
create table p (id int primary key);
create table c (id int primary key, p_id int references p on delete cascade);
create procedure fill(n int) language plpgsql as $$
begin
  insert into p select g from generate_series(1, n) g;
  for i in 1 .. n loop
    insert into c values (i, i), (i + n, n - i + 1);
  end loop;
end $$;
create function wipe(x int) returns int language plpgsql as $$
declare
  was int;
begin
  delete from p where id = x returning id into was;
  return (select count(*) from c);
end $$;
create procedure try(x int) language plpgsql as $$
begin
  insert into c values (x, x);
exception when foreign_key_violation then
  raise notice '%', sqlerrm;
  insert into p values (x);
  insert into c values (x, x);
end $$;
call fill(4);
select wipe(2), wipe(9);
select * from c order by id;
call try(50);
call try(51);
call try(52);
delete from p where id > 50 and wipe(3) > 0;
select * from c order by id;
create function gone(x int) returns setof int language sql as $$
  delete from p where id = x returning id;
$$;
select * from gone(1);
select * from c order by id;
do $$
declare r record;
begin
  for r in delete from p returning id loop
    raise notice 'gone %', r.id;
  end loop;
  if exists (select 1 from c) then raise exception 'left'; end if;
end $$;
select * from c;
drop function gone, wipe;
drop procedure try, fill;
drop table c, p;

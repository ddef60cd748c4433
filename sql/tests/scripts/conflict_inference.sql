-- ON CONFLICT finds unique indexes on expressions and on some of the rows.
create table people (id integer primary key, mail text, team integer, is_open boolean, visits integer default 1);
create unique index by_mail on people (lower(mail));
create unique index by_team on people (team) where is_open;
create unique index by_both on people (team, (upper(mail) || 'x'));
insert into people values (1, 'Ann@x', 1, true), (2, 'Bob@x', 1, false), (3, 'Cy@x', 2, true);
insert into people values (4, 'ANN@X', 9, false) on conflict (lower(mail)) do nothing;
insert into people values (4, 'ANN@X', 9, false) on conflict ((lower(mail))) do update set visits = people.visits + 1 returning *;
insert into people values (4, 'dan@x', 1, true) on conflict (team) where is_open do update set visits = people.visits + 10 returning id, visits;
insert into people values (4, 'dan@x', 1, false) on conflict (team) where is_open do update set visits = 0 returning id, visits;
insert into people values (5, 'eve@x', 2, true) on conflict (team) where is_open and id > 0 do nothing;
insert into people values (6, 'dan@x', 1, false) on conflict ((upper(mail) || 'x'), team) do update
  set mail = excluded.mail || '!' where people.id = 4 returning id, mail;
insert into people values (1, 'zed@x', 5, true) on conflict (id) where is_open do update set visits = 99 returning id, visits;
insert into people values (7, 'ANN@X', 8, true) on conflict (team) where is_open do nothing;
select * from people order by id;
-- The conflicting row has the same primary key, too.
insert into people values (1, 'ann@X', 7, false) on conflict (lower(mail)) do update set visits = people.visits + 100 returning id, visits;
insert into people values (3, 'Cy@x', 2, true) on conflict (team) where is_open do nothing;
insert into people values (3, 'none', 2, true) on conflict (lower(mail)) do nothing;
insert into people as p values (1, 'ANN@X', 7, false) on conflict (lower(p.mail)) do update set visits = p.visits + 1 returning p.id, p.visits;
insert into people as p values (9, 'x', 2, true) on conflict (team) where p.is_open do nothing;
-- None
insert into people values (8, 'x', 1, true) on conflict (team) do nothing;
insert into people values (8, 'x', 1, true) on conflict (team) where not is_open do nothing;
insert into people values (8, 'x', 1, true) on conflict (upper(mail)) do nothing;
insert into people values (8, 'x', 1, true) on conflict (lower(mail), team) do nothing;
-- With parameters, in functions, from queries
prepare seen (text) as insert into people (id, mail) values (10, $1)
  on conflict (lower(mail)) do update set visits = people.visits + 1 returning id, visits;
execute seen ('Fay@x');
execute seen ('FAY@X');
create function see(who text) returns integer language plpgsql as $$
declare n integer;
begin
  insert into people (id, mail) values (11, who)
    on conflict (lower(mail)) do update set visits = people.visits + 1 returning visits into n;
  return n;
end $$;
select see('fay@x');
select see('gus@x');
select see('GUS@x');
insert into people (id, mail) select id + 100, upper(mail) from people on conflict (lower(mail)) do update set visits = 0;
select count(*) from people where visits = 0;
drop function see;
-- Generated columns
create table doubled (id integer primary key, a integer, twice integer generated always as (a * 2) stored unique, n integer default 0);
insert into doubled (id, a) values (1, 5), (2, 6);
insert into doubled (id, a) values (3, 5) on conflict (twice) do update set n = excluded.twice + doubled.n returning *;
insert into doubled (id, a) values (3, 7), (4, 6) on conflict (twice) do update set n = excluded.id returning *;
insert into doubled (id, a) values (1, 8) on conflict (id) do update set a = excluded.a, n = excluded.twice returning *;
insert into doubled (id, a) values (1, 9) on conflict (twice) do nothing;
drop table doubled;
drop table people;
-- Whether a row was inserted or was there
create table seen (id integer primary key, n integer default 0);
insert into seen values (1) returning id, xmax = 0 as is_new;
insert into seen values (1), (2) on conflict (id) do update set n = seen.n + 1 returning id, (xmax = 0) as is_new, n;
insert into seen values (2), (3) on conflict do nothing returning id, xmax = 0;
insert into seen select g from generate_series(2, 5) g on conflict (id) do update set n = seen.n + 10 returning id, case when seen.xmax = 0 then 'new' else 'old' end;
with w as (insert into seen values (5), (6) on conflict (id) do update set n = 1 returning id, xmax <> 0 as was) select * from w order by id;
drop table seen;

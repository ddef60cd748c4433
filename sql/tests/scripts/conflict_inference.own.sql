-- Errors point at what is wrong; PostgreSQL's point at the parenthesis. Plans name the index.
create table people (id integer primary key, mail text, team integer, is_open boolean);
create unique index by_mail on people (lower(mail));
create unique index by_team on people (team) where is_open;
insert into people values (8, 'x', 1, true) on conflict (lower(nothing)) do nothing;
insert into people values (8, 'x', 1, true)
  on conflict (team) where nothing do nothing;
insert into people values (8, 'x', 1, true) on conflict (team) where team do nothing;
insert into people values (8, 'x', 1, true) on conflict ((select 1)) do nothing;
insert into people values (8, 'x', 1, true) on conflict (team) where team > (select 0) do nothing;
insert into people values (8, 'x', 1, true) on conflict (lower(mail)) where;
insert into people values (8, 'x', 1, true) on conflict (lower(mail) do nothing;
explain insert into people values (1, 'a') on conflict (lower(mail)) do update set team = 1 where people.id > 0;
explain insert into people values (1, 'a') on conflict (team) where is_open do nothing;
drop table people;

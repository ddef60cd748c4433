-- indexes that compute something of a generated column
create table a (id int primary key, doc jsonb, n int,
  low text generated always as (lower(doc->>'n')) stored,
  twice int generated always as (n * 2) stored,
  gone boolean default false);
create unique index on a (low) where not gone;
create unique index on a ((twice + 1));
create index on a (id) where twice > 6;
insert into a (id, doc, n) select g,
  jsonb_build_object('n', 'N' || g), g from generate_series(1, 5) g;
insert into a (id, doc) values (9, '{"n": "n1"}');
insert into a (id, n) values (9, 3);
insert into a (id, doc, n, gone) values (9, '{"n": "n1"}', 9, true)
returning *;
select id from a where low = 'n4' and not gone;
select id from a where twice + 1 = 9;
select id from a where twice > 6 and id > 3 order by id;
update a set doc = '{"n": "N5"}' where id = 1;
update a set n = 5 where id = 1;
update a set n = 50, doc = '{"n": "NEW"}' where id = 1;
select id from a where low = 'new' and not gone;
select id from a where twice + 1 = 101;
select id from a where twice > 6 and id = 1;
update a set gone = false where id = 9;
update a set gone = false, doc = '{"n": "n1"}' where id = 9
returning low;
update a set doc = '{"n": "x"}' where id = 9;
insert into a (id, doc, n) values (10, '{"n": "X"}', 60);
alter table a drop column n cascade;
insert into a (id, doc) values (11, '{"n": "X"}');
select id from a where low = 'x' and not gone;
select indexdef from pg_indexes where tablename = 'a'
order by indexname;

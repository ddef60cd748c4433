-- on expressions
create table u (id int primary key, email text, a int, b int,
  active boolean not null default true);
insert into u values (1, 'Ada@x', 1, 10), (2, 'bob@x', 2, 20);
create unique index u_email on u (lower(email));
insert into u values (3, 'ADA@X', 1, 10);
insert into u values (3, 'Carl@x', 1, 10) returning *;
select id from u where lower(email) = 'ada@x';
update u set email = 'BOB@X' where id = 3;
update u set email = 'Cee@x' where id = 3 returning *;
select id from u where lower(email) in ('cee@x', 'bob@x')
order by id;
create index on u ((a + b));
create index on u (b, lower(email) desc, (a * 2));
select id from u where a + b = 22;
select * from u where a + b > 11 order by id;
select indexdef from pg_indexes where tablename = 'u'
order by indexname;
select relname, indkey, indisunique,
  pg_get_expr(indexprs, indrelid)
from pg_index join pg_class c on c.oid = indexrelid
where indrelid = 'u'::regclass order by 1;
select attname, attnum from pg_attribute
where attrelid = 'u'::regclass and attnum > 0;
select attname, attnum from pg_attribute
where attrelid = 'u_email'::regclass;
-- of some rows
create table s (id int, k text, deleted timestamp, n int);
create unique index s_live on s (k) where deleted is null;
insert into s values (1, 'x'), (2, 'y', '2020-01-01');
insert into s values (3, 'x');
insert into s values (3, 'x', '2020-01-02'),
  (4, 'y', '2020-01-03');
insert into s values (5, 'y') returning *;
update s set deleted = null where id = 4;
update s set deleted = '2021-01-01' where id = 5;
update s set deleted = null where id = 4 returning *;
select id from s where k = 'x' and deleted is null;
select id from s where k = 'x' order by id;
create index s_n on s (n, (id + 1))
where n is not null and k <> 'z';
update s set n = id * 10;
select id from s where n = 30 and k <> 'z';
select id from s where n > 10 and id + 1 = 4 and k <> 'z';
delete from s where k = 'y' and deleted is null
returning *;
select indexdef from pg_indexes where tablename = 's'
order by indexname;
select relname, indkey, pg_get_expr(indpred, indrelid)
from pg_index join pg_class c on c.oid = indexrelid
where indrelid = 's'::regclass order by 1;
create unique index s_once on s ((true)) where n = 10;
insert into s (n) values (10);
-- refused
create index on u (random());
create index on u ((now()));
create unique index on s (length(k));
create index on u (a + b);
-- ALTER TABLE
alter table u add column c int default 7;
insert into u values (4, 'Dee@x', 3, 30) returning *;
table u order by id;
alter table u rename email to mail;
select id from u where lower(mail) = 'dee@x';
select indexdef from pg_indexes where tablename = 'u'
order by indexname;
insert into u values (5, 'DEE@x');
alter table u drop column b;
select indexname from pg_indexes where tablename = 'u'
order by 1;
insert into u (id, mail) values (5, 'DEE@x');
alter table u rename to u2;
alter table u2 drop column active;
insert into u2 (id, mail) values (5, 'DEE@x');
drop index u_email;
insert into u2 (id, mail) values (5, 'DEE@x') returning *;
create unique index on u2 (upper(mail));
delete from u2 where id = 5;
create unique index on u2 (upper(mail));
table u2 order by id;
alter table s rename deleted to gone;
select indexdef from pg_indexes where tablename = 's'
order by indexname;
alter table s drop column gone;
insert into s (k) values ('x'), ('x');
-- elsewhere
create view live as select * from u2;
insert into live values (6, 'Eve@x') returning *;
create function mails(wanted text) returns setof u2 as $$
  select * from u2 where upper(mail) = wanted;
$$ language sql;
select * from mails('EVE@X');
insert into u2 values (7, 'eve@X') on conflict do nothing;
create table copy_of as select * from u2;
select count(*) from copy_of;
copy u2 to stdout;
insert into u2 values (1, 'x@x') on conflict (id)
do update set mail = excluded.mail returning *;
select id from u2 where upper(mail) = 'X@X';
-- Several in one statement
create table several (id integer, a integer unique, b text);
create table others (id integer, a integer references several (a));
create index by_sum on several ((id + a));
create unique index by_lower on several (lower(b)) where a > 0;
create index by_b on several (b);
create index by_double on several ((a * 2), (id * 2));
insert into several values (1, 2, 'X'), (2, -2, 'X'), (3, 3, 'y');
drop index by_sum, by_b, by_double, by_sum;
insert into several values (4, 4, 'Y');
select * from several where lower(b) = 'x' and a > 0;
drop index by_lower, by_lower;
insert into several values (4, 4, 'Y');
select * from several order by id;
drop index by_lower;
drop table others, several;

-- The type of a column of which an index computes something.
create table retyped (id int primary key, n varchar(30), m int, k int);
insert into retyped values (1, 'B', 1, 5), (2, 'a', 2, 6), (3, 'A', 3, 7);
create index retyped_partial on retyped (n) where m > 1;
create unique index retyped_lower on retyped (lower(n) varchar_pattern_ops desc, k) include (m) where k is not null;
create index retyped_sum on retyped ((m + k) desc nulls last, (n || 'x'), m);
create index retyped_plain on retyped (m, n);
select indexname, indexdef from pg_indexes where tablename = 'retyped' order by 1;
alter table retyped alter n type varchar(60);
alter table retyped alter m type bigint using m * 10, alter k type numeric(5, 1);
select indexname, indexdef from pg_indexes where tablename = 'retyped' order by 1;
select id from retyped where lower(n) = 'a' order by id;
select id, m + k from retyped where m + k > 25 order by m + k desc;
insert into retyped values (4, 'a', 1, 6);
insert into retyped values (5, 'A', 1, 6);
alter table retyped alter k type int using 1;
alter table retyped alter k type date using null;
select id, n, m, k from retyped order by id;
begin;
alter table retyped alter n type text;
rollback;
alter table retyped alter n type char(10);
select indexname, indexdef from pg_indexes where tablename = 'retyped' order by 1;
alter table retyped alter n type int using 1;
drop table retyped;

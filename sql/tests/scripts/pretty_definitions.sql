-- Definitions with few parentheses, and defaults as they are shown.
create type mood as enum ('sad', 'ok');
create table p (id int primary key, n numeric, email varchar(10), r real, b boolean, m mood, ts timestamptz, a int[],
  constraint one check (n > 0), constraint two check (n > 0 and email <> 'b' or not b), constraint three check ((id + 1) * 2 > r),
  constraint four check (email in ('a', 'b') and m = 'ok'), constraint five check (lower(email) like 'a%' and ts > '2020-01-01 00:00:00+00'),
  constraint six check (case when b then id > 1 else id < 5 end), constraint seven check (a[1] = 2 and coalesce(id, 1) between 1 and 3),
  g int generated always as (id * 2 + coalesce(a[1], 0)) stored);
create index p_lower on p (lower(email));
create index p_sum on p ((id + 1), (n * 2 - id) desc, lower(email) varchar_pattern_ops, (a[1])) where n > 1 and not b;
create index p_or on p (id) where b or id > 3 and id < 9;
select indexrelid::regclass, pg_get_indexdef(indexrelid), pg_get_indexdef(indexrelid, 0, true), pg_get_indexdef(indexrelid, 1, false),
  pg_get_indexdef(indexrelid, 1, true), pg_get_indexdef(indexrelid, 2, true), pg_get_indexdef(indexrelid, 4, true)
from pg_index where indrelid = 'p'::regclass order by indexrelid::regclass::text;
select conname, pg_get_constraintdef(oid), pg_get_constraintdef(oid, true) from pg_constraint where conrelid = 'p'::regclass order by 1;
alter table p rename column email to mail;
alter type mood rename value 'ok' to 'fine';
select conname, pg_get_constraintdef(oid, true) from pg_constraint where conrelid = 'p'::regclass order by 1;
select pg_get_indexdef('p_sum'::regclass, 0, true);
create domain positive as int check (value > 0 and value + 1 < 100);
select pg_get_constraintdef(oid), pg_get_constraintdef(oid, true) from pg_constraint where contypid = 'positive'::regtype;
create function noted() returns trigger language plpgsql as $$ begin return new; end $$;
create trigger w before update on p for each row when (old.n > 1 and (new.mail <> old.mail or new.b)) execute function noted();
create trigger x after update on p for each row when (old.* is distinct from new.*) execute function noted();
select pg_get_triggerdef(oid), pg_get_triggerdef(oid, true) from pg_trigger where tgrelid = 'p'::regclass order by tgname;
create table d (
  a text default 'a' || 'b', b varchar(5) default 'x', c text[] default array['a']::text[], d mood[] default '{"sad"}', e int default -1,
  f bigint default 5, g numeric(5, 2) default 1.5, h boolean default 'yes', i jsonb default '{"b":1,  "a":2}', j json default '{"b":1,  "a":2}',
  k date default '2020-1-2', l timestamptz default now(), m timestamp default current_timestamp, n interval default '24 hours',
  o char(3) default 'z', p int default 1 + 2 * 3, q text default upper('x'), r int[] default '{1, 2}', s int default length('abc'),
  t text default current_user, u uuid default gen_random_uuid(), v real default 1.5, w text default null, x serial,
  y bigint default (extract(epoch from '2020-01-01 00:00:00+00'::timestamptz))::bigint, z positive default 7, aa cidr default '10/8');
select attname, pg_get_expr(adbin, adrelid) from pg_attrdef join pg_attribute on attrelid = adrelid and attnum = adnum
where adrelid = 'd'::regclass order by attnum;
select column_name, column_default from information_schema.columns where table_name = 'd' order by ordinal_position;
insert into d default values;
select a, b, c, d, e, f, g, h, i, j, k, n, o, p, q, r, s, v, w, x, y, z, aa from d;
drop table p, d;
drop function noted;
drop domain positive;
drop type mood;

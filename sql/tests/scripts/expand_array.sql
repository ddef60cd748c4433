-- The columns of keys and indexes, as drivers ask for them.
create table t (id int, code text, name text, primary key (id, code));
create unique index t_name on t (name desc, lower(code));
select (information_schema._pg_expandarray(i.indkey)).n, (information_schema._pg_expandarray(i.indkey)).x
  from pg_index i where indexrelid = 't_pkey'::regclass;
select r.keys, (r.keys).x, (r.keys).n
  from (select information_schema._pg_expandarray(i.indkey) as keys from pg_index i where indexrelid = 't_pkey'::regclass) r;
select result.table_name, result.column_name, result.key_seq, result.pk_name from (
  select n.nspname as table_schem, ct.relname as table_name, a.attname as column_name,
    (information_schema._pg_expandarray(i.indkey)).n as key_seq, ci.relname as pk_name,
    information_schema._pg_expandarray(i.indkey) as keys, a.attnum as a_attnum
  from pg_catalog.pg_class ct
    join pg_catalog.pg_attribute a on (ct.oid = a.attrelid)
    join pg_catalog.pg_namespace n on (ct.relnamespace = n.oid)
    join pg_catalog.pg_index i on (a.attrelid = i.indrelid)
    join pg_catalog.pg_class ci on (ci.oid = i.indexrelid)
  where true and n.nspname = 'public' and ct.relname = 't' and i.indisprimary) result
where result.a_attnum = (result.keys).x order by result.table_name, result.pk_name, result.key_seq;
select tmp.table_name, tmp.non_unique, tmp.index_name, tmp.ordinal_position,
  trim(both '"' from pg_catalog.pg_get_indexdef(tmp.ci_oid, tmp.ordinal_position, false)) as column_name,
  case tmp.am_name when 'btree' then case tmp.i_indoption[tmp.ordinal_position - 1] & 1::smallint
    when 1 then 'D' else 'A' end else null end as asc_or_desc
from (select ct.relname as table_name, not i.indisunique as non_unique, ci.relname as index_name,
    (information_schema._pg_expandarray(i.indkey)).n as ordinal_position, ci.oid as ci_oid,
    i.indoption as i_indoption, am.amname as am_name
  from pg_catalog.pg_class ct
    join pg_catalog.pg_namespace n on (ct.relnamespace = n.oid)
    join pg_catalog.pg_index i on (ct.oid = i.indrelid)
    join pg_catalog.pg_class ci on (ci.oid = i.indexrelid)
    join pg_catalog.pg_am am on (ci.relam = am.oid)
  where true and n.nspname = 'public' and ct.relname = 't') tmp
order by non_unique, index_name, ordinal_position;
select (r.k).y from (select information_schema._pg_expandarray(array[3, 4]) as k) r;
select information_schema._pg_expandarray(array['a', null, 'b c']);
-- Rows of tables, through a query.
insert into t values (1, 'x', 'a "b", c'), (2, 'y\z', null), (3, '', '(,)');
select (s.r).id, (s.r).code, (s.r).name, s.r::text from (select t as r from t) s order by 1;
select (s.r).id + 1 as more from (select u.r from (select t as r from t where id > 1) u) s order by 1;
with q as (select t as r from t) select (r).name from q order by (r).id;
drop table t;
-- Other questions that clients ask of the catalog, of rows.
create table with_keys (a serial, b int generated always as identity, c int);
select a.attname, pg_get_serial_sequence('with_keys', a.attname) from pg_attribute a
  where attrelid = 'with_keys'::regclass and attnum > 0 order by attnum;
select pg_get_serial_sequence(quote_ident(c.relname), 'b') from pg_class c where relname = 'with_keys';
select pg_sequence_last_value('with_keys_a_seq'::regclass);
insert into with_keys default values;
select relname, pg_sequence_last_value(oid::regclass) from pg_class where relkind = 'S' order by relname;
select oidvectortypes('23 25'::oidvector), oidvectortypes('');
create function of_types(int, text[], timestamptz) returns int language sql as 'select 1';
select proname, oidvectortypes(proargtypes) from pg_proc where proname in ('of_types', 'pi') order by 1;
drop function of_types;
drop table with_keys;

-- In FROM.
create table keyed (a int, b int generated always as identity, c serial, primary key (b, a));
create index on keyed (c, (a + 1), b);
select n, x from information_schema._pg_expandarray(array[5, 6]) order by n;
select * from information_schema._pg_expandarray('{a,NULL,c}'::text[]) as e;
select e.x, e.m, n from information_schema._pg_expandarray('{4}'::int[]) as e(x, m), generate_series(1, 2) n;
select i.indexrelid::regclass, e.x, e.n, pg_typeof(e.n) from pg_index i, information_schema._pg_expandarray(i.indkey) e
where i.indrelid = 'keyed'::regclass order by i.indexrelid::regclass::text, e.n;
select a.attname, (select pg_get_serial_sequence('keyed', a.attname)), pg_get_serial_sequence('keyed', a.attname)
from pg_attribute a where attrelid = 'keyed'::regclass and attnum > 0 order by 1;
select (select (select pg_get_serial_sequence(t, 'c')) from (values (1)) v) from (values ('keyed'), ('keyed')) t(t) order by 1;
drop table keyed;

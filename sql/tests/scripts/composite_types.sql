-- Values of composite types: made, read, stored, compared.
create type pair as (a int, b text);
create type nested as (n numeric(6,2), p pair, ps pair[], d date);
create type pair as (x int);
create type twice as (a int, a text);
create type itself as (a int, b itself);
select row(1, 'x')::pair, (row(1, 'x')::pair).a, (row(2, 'y z')::pair).b;
select (row(1, 'y')::pair).*, ((3, null)::pair).b is null as is_null;
select '(1,"a ""b"" \\c")'::pair, '(,)'::pair, '( 5 ,"")'::pair;
select '(1'::pair;
select '(1,2,3)'::pair;
select '(1)'::pair;
select '1,2)'::pair;
select '(1,2) x'::pair;
select '(a,2)'::pair;
select row(1)::pair;
select row(1, 2, 3)::pair;
select row(true, 'x')::pair;
select (row(1, 'x')::pair).c;
select (5).c;
select row(1.005, row(1, 'in'), array[row(2, 'l')::pair, null], '2020-02-29')::nested;
select (v).p.b, (v).ps[1].a, ((v).ps[1]).b, (v).d + 1
from (select row(1, (7, 'q'), array[(8, 'r')::pair], '2020-01-31')::nested) x(v);
select row(1, 'a')::pair = row(1, 'a')::pair as eq, row(1, null)::pair = row(1, null)::pair as eq_nulls,
  row(1, null)::pair < row(1, 'a')::pair as null_last, row(1, 'b')::pair > row(1, 'a')::pair as gt,
  row(1, 'x')::pair = (1, 'x'::text) as with_row, row(1, 'x')::pair is distinct from null as is_distinct;
select row(null, null)::pair is null as all_null, row(1, null)::pair is null as a, row(1, null)::pair is not null as b,
  null::pair is null as c, row(1, 'x')::pair is not null as d;
create table boxes (id int primary key, p pair, ps pair[] default '{}', n nested, unique (p));
insert into boxes (id, p, ps) values (1, row(1, 'one'), array[row(1, 'a')::pair, (2, 'b')::pair]), (2, (2, null), null),
  (3, null, '{"(9,z)"}'), (4, '(4,four)', default);
insert into boxes (id, p) values (5, (1, 'one'));
insert into boxes (id, p.a, p.b) values (6, 60, 'sixty'), (7, 70, null);
insert into boxes (id, p.a) select 8, 80;
insert into boxes (id, p.c) values (9, 1);
update boxes set p.b = (p).b || '!', n.p.a = id, n.d = '2021-01-01' where id in (1, 7, 8);
update boxes set p.a = 'x' where id = 1;
update boxes set ps[2].b = 'new' where id = 1;
select * from boxes order by id;
select id, (p).a, (p).b, ps[1].b, (n).p from boxes order by id;
select id, (p).* from boxes where p is not null order by id;
select id from boxes where p = row(1, 'one!'::text);
select id from boxes where p = (1, 'one!')::pair or p in (row(4, 'four')::pair) order by id;
select id from boxes where p > (4, 'a')::pair order by p desc;
select id from boxes order by p desc, id;
select p, count(*) from (select p from boxes union all select p from boxes) x group by p order by p;
select distinct (p).a % 2 = 0, p is null from boxes order by 1, 2;
select min((p).a), array_agg(p order by p) from boxes where id < 5;
select array_agg(p order by id) = array[(1, 'one!')::pair, (2, null)::pair] as same from boxes where id < 3;
alter table boxes add check ((p).a > 0);
insert into boxes values (10, (-1, 'x'));
create index boxes_b on boxes (((p).b));
select id from boxes where (p).b = 'four';
-- json
select to_json(p), to_jsonb(ps), row_to_json(p) from boxes where id = 1;
select row_to_json(b), json_agg(p) from boxes b where id = 1 group by b.id;
select row_to_json(p, true) from boxes where id = 4;
select json_build_object('p', p), jsonb_build_array(p, ps) from boxes where id = 1;
select json_populate_record(null::pair, '{"a": 5, "b": "five", "c": 1}'), jsonb_populate_record(row(1, 'k')::pair, '{"a": 6}');
select * from json_populate_record(null::nested, '{"n": 1.005, "p": {"a": 1, "b": null}, "ps": [{"a": 2}, null], "d": "2020-02-02"}');
select * from jsonb_populate_recordset(null::boxes, '[{"id": 1, "p": {"a": 3}}, {"id": 2, "p": "(4,t)", "ps": []}]');
select json_populate_recordset(row(0, 'd')::pair, '[{"a": 1}, {"b": "x"}]');
select json_populate_record(null::pair, '[1]');
select jsonb_populate_recordset(null::pair, '{"a": 1}');
-- in views
create view shown as select id, (p).a, ((n).p).b, ((n).ps)[1] as first from boxes where (boxes.p).b is not null;
select pg_get_viewdef('shown');
select * from shown order by id;
drop view shown;
-- arrays into rows
select * from unnest(array[row(1, 'a')::pair, (2, 'b')::pair, null]);
select * from unnest(array[row(1, 'a')::pair, (2, 'b')::pair]) with ordinality;
select u, u.a, (u).b, u.* from unnest(array[row(1, 'a')::pair]) u;
select unnest(ps) from boxes where id = 1;
select id, e.b from boxes, unnest(ps) e where id in (1, 3) order by id, e.a;
-- rows of tables
create table item (id int, label text);
insert into item values (1, 'hat'), (2, null);
select item, (item).label, item is not null as full_row from item order by item desc;
select null::item, (null::item).id, '(7,seven)'::item, row(8, 'eight')::item;
select pg_typeof(item), pg_typeof(p), pg_typeof(ps) from item, boxes limit 1;
select i.label = (i).label as same, label(i), id(i) from item i where id = 1;
select array_agg(i order by id) from item i;
alter table item add column extra int default 3;
select null::item is null as n, item from item order by id;
select '(1,a,2)'::item;
-- parameters
prepare p1(pair) as select $1, ($1).b, $1 = row(1, 'x')::pair;
execute p1(row(1, 'x'));
execute p1('(2,z)');
prepare p2(pair) as select id from boxes where p = $1;
execute p2('(4,four)');
-- the type changes
alter type pair add attribute c date;
select p, (p).c from boxes where id < 4 order by id;
update boxes set p.c = '2022-02-02' where id = 1;
select id from boxes where p = row(4, 'four', null)::pair;
insert into boxes (id, p) values (11, (4, 'four', null));
alter type pair add attribute a int;
alter type pair drop attribute nope;
alter type pair drop attribute if exists nope;
create table one_user (p pair[]);
create type alone as (a int);
create table one_alone (x alone[]);
alter type alone alter attribute a type bigint;
alter type pair rename attribute c to since;
alter type pair rename attribute c to since2;
alter type nope add attribute a int;
alter type item add attribute a int;
alter type pair rename to couple;
select p, (p).since from boxes where id = 1;
select '(1,a,)'::pair;
create table couple (a int);
create type boxes as (a int);
drop table one_user, one_alone;
drop type alone;
select * from boxes order by id limit 2;
create type part as (x int);
create type whole as (p part, y int);
create table of_whole (w whole, i int);
insert into of_whole values (row(row(1), 2), 3);
drop type part;
drop type part cascade;
select * from of_whole;
drop type whole;
drop type whole cascade;
select * from of_whole;
create type lone as ();
select row()::lone;
create type other as (a int, b int);
alter type other add attribute c text, drop attribute a, alter attribute b type numeric(4,1);
select '(1.25,x)'::other;
comment on type other is 'a comment';
select relname, relkind, relnatts, reltype = t.oid as is_its, obj_description(t.oid, 'pg_type')
from pg_class c join pg_type t on t.typrelid = c.oid where typname in ('other', 'item') order by 1;
select attname, atttypid::regtype, attnum from pg_attribute where attrelid = (select typrelid from pg_type where typname = 'other')
  and not attisdropped order by attnum;
select typname, typtype, typcategory, typinput from pg_type where typname in ('other', '_other', 'item', '_item') order by 1;
select 'other'::regtype, 'item[]'::regtype, format_type('_item'::regtype, null);
drop type other;
drop type item;

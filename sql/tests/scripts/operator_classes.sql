-- Operator classes are kept and shown; all of them order as the default does.
create table classes (a text, b varchar(10), c char(5), d int, e uuid, f time, g interval, h name, i int[], "j" jsonb);
create index on classes (a text_pattern_ops, b varchar_pattern_ops, c bpchar_pattern_ops);
create index on classes using btree (b text_pattern_ops desc, a varchar_ops nulls first, c);
create index on classes (a text_ops, b text_ops, c bpchar_ops, d int4_ops, e uuid_ops, f time_ops, g interval_ops);
create index on classes (h name_ops, i array_ops, j pg_catalog.jsonb_ops);
create unique index on classes (lower(a) varchar_pattern_ops, (d + 1) int4_ops desc nulls last) where d > 0;
create index on classes using hash (a text_pattern_ops);
select indexdef from pg_indexes where tablename = 'classes' order by 1;
select i.indexrelid::regclass, n, c.opcname, c.opcdefault, c.opcintype::regtype
from pg_index i, unnest(i.indclass) with ordinality as o(class, n) join pg_opclass c on c.oid = class
where i.indrelid = 'classes'::regclass and i.indexrelid::regclass::text not like '%\_idx1' order by i.indexrelid::regclass::text, n;
create index on classes (a int4_ops);
create index on classes (c text_pattern_ops);
create index on classes (a missing_ops);
create index on classes (a missing_ops nulls first);
create table classes_like (like classes including indexes);
select indexdef from pg_indexes where tablename = 'classes_like' order by 1;
insert into classes (a, b) values ('B', 'x'), ('a', 'y'), ('A', 'z');
select a from classes where a like 'A%' order by a;
drop table classes, classes_like;

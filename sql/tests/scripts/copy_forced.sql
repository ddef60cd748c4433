-- HEADER MATCH, FORCE_NULL and FORCE_NOT_NULL.
create table forced (a int, b text, c text, d int generated always as (a * 2) stored);
copy forced from stdin with (header match);
a	b	c
1	one	\N
\.
copy forced (c, a) from stdin with (format csv, header match);
c,"a"
x,2
\.
copy forced from stdin with (header match);
a	b
1	one
\.
copy forced from stdin with (header match);
a	b	c	d
\.
copy forced from stdin with (format csv, header match);
a,c,b
1,2,3
\.
copy forced from stdin with (header match);
a	\N	c
\.
copy forced from stdin with (format csv, header match);
a,,c
\.
copy forced from stdin with (format csv, header match);
\.
copy forced from stdin with (format csv, force_null (b), force_not_null (c));
3,"",
4,,""
\.
copy forced from stdin with (format csv, null 'NULL', force_not_null (b, c), force_null (c));
5,NULL,"NULL"
6,"NULL",NULL
\.
copy forced from stdin csv force not null b, c;
7,,
\.
copy forced from stdin csv force null b force not null c;
8,"",
\.
select a, b, b is null as b_null, c, c is null as c_null, d from forced order by a;
copy forced to stdout csv force quote *;
copy forced (a, b) to stdout csv header force quote b, a;
copy forced to stdout with (header match);
copy forced from stdin with (force_null (b));
\.
copy forced from stdin with (force_not_null (b));
\.
copy forced to stdout with (format csv, force_null (b));
copy forced to stdout with (format csv, force_not_null (b));
copy forced (a) from stdin with (format csv, force_null (b));
\.
copy forced (a) from stdin with (format csv, force_not_null (b));
\.
copy forced from stdin with (format csv, force_null (nothing));
\.
copy forced from stdin with (format csv, force_null b);
\.
copy forced from stdin with (header maybe);
\.
copy forced from stdin with (format binary, header match);
\.
copy forced from stdin csv force;
\.
drop table forced;

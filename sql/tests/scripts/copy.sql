drop table if exists c;
create table c (a int primary key, b text, d date);
copy c from stdin;
1	one	2024-01-01
2	\N	\N
3	tab\there	2024-02-03
4	back\\slash	\N
5		\N
\.
copy c to stdout;
copy c (a, b) to stdout with (format csv, header);
copy c (b) to stdout csv;
copy (select a, b from c where a > 2 order by a desc) to stdout with (delimiter ';', null 'NULL');
copy c from stdin with csv;
10,"quoted, ""x""",2024-01-01
11,,
12,"two
lines",
\.
copy c (a) from stdin;
20
21
\.
copy c from stdin;
30	x
\.
copy c from stdin;
31	x	2024-01-01	extra
\.
copy c from stdin;
abc	x	2024-01-01
\.
copy c from stdin;
1	dup	\N
\.
copy c (a, b) from stdin with (format csv, header true, delimiter '|', quote '''');
a|b
50|'q|q'
\.
select * from c order by a;
copy nosuch to stdout;
copy c (nosuch) to stdout;
copy c to stdout with (format nosuch);
copy c to stdout with (nosuch);
copy c to stdout with (delimiter 'ab');
copy c to stdout with (format csv, quote 'ab');
copy c to stdout with (quote '"');
copy (select nosuch from c) to stdout;
copy c to stdout with (format csv, force_quote *);
begin;
create table made (a int);
copy made from stdin;
1
2
\.
select count(*) from made;
rollback;
drop table c;

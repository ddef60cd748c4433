-- DateStyle: how dates and timestamps are written and read.
show datestyle;
create table moment (id int primary key, d date, t timestamp, z timestamptz, da date[], tz timestamptz[]);
insert into moment values
  (1, '2024-02-01', '2024-02-01 13:04:05.678', '2024-02-01 13:04:05.678+02', '{2024-02-01,2023-12-31}', '{2024-02-01 13:04:05+02}'),
  (2, '0044-03-15 BC', '0044-03-15 01:02:03 BC', '0044-03-15 01:02:03 BC', '{}', null),
  (3, 'infinity', '-infinity', 'infinity', '{infinity}', '{-infinity}'),
  (4, '12024-12-31', '12024-12-31 00:00', '12024-12-31 00:00+00', '{null}', '{null}');

set datestyle = 'SQL';
show datestyle;
select * from moment order by id;
set datestyle = 'DMY';
show datestyle;
select * from moment order by id;
set datestyle = 'German';
show datestyle;
select * from moment order by id;
set datestyle = 'Postgres, MDY';
select * from moment order by id;
set datestyle = 'European';
show datestyle;
select * from moment order by id;
set datestyle = 'YMD';
show datestyle;
select * from moment order by id;
set datestyle = 'SQL, YMD';
select * from moment order by id;
set datestyle = 'ISO, DMY';
select * from moment order by id;

-- Conversions, and what is written in every function.
set datestyle = 'Postgres, DMY';
select d::text, t::varchar, z::text, 'on ' || d, concat(d, '/', t), format('%s', z) from moment where id = 1;
select array_to_string(da, ' '), string_agg(d::text, ';') from moment where id = 1 group by da;
select to_json(d), to_json(t), to_json(z), to_jsonb(d), json_build_object('d', d), row_to_json(m) from (select d, t, z from moment where id = 1) m, moment where moment.id = 1;
select to_char(t, 'YYYY-MM-DD'), date_trunc('day', t), t + interval '1 day', d + 1, d - 1, extract(year from d) from moment where id = 1;
select length(d::text), upper(t::text) from moment where id = 1;
select '2024-01-02'::date = '02/01/2024', '{01/02/2024}'::date[], '1/2/2024 12:00 PST'::timestamptz;
copy moment to stdout;
copy (select d, t from moment where id = 1) to stdout (format csv);
copy moment (id, d, t) from stdin;
5	03/04/2024	Thu 04 Apr 05:06:07.5 2024
\.
select id, d, t from moment where id = 5;
set datestyle = 'ISO, MDY';
select id, d, t from moment where id = 5;

-- The order of numbers.
set datestyle = 'MDY';
select '1/2/2003'::date, '1-2-03'::date, '99-1-2'::date;
select '1/2/2003'::date, '1-2-03'::date, '1 2 03'::date, '1.2.03'::date;
select '13/12/2003'::date;
select '12/13/2003'::date, '2003/2/1'::date, '20030201'::date, '030201'::date, '1999-Jan-08'::date;
select '08-Jan-99'::date, '08-Jan-1999'::date, 'Jan-08-99'::date, 'Jan-08-1999'::date;
select '99-Jan-08'::date;
select 'January 8, 99 BC'::date, '8 Jan 99'::date, 'Jan 8 99'::date;
select '99 8 Jan'::date;
set datestyle = 'DMY';
select '1/2/2003'::date, '1-2-03'::date, '1 2 03'::date, '1.2.03'::date, '13/12/2003'::date;
select '12/13/2003'::date;
select '2003/2/1'::date, '20030201'::date, '030201'::date, '1999-Jan-08'::date;
select '2003-13-01'::date;
select '08-Jan-99'::date, '08-Jan-1999'::date, 'Jan-08-99'::date, 'Jan-08-1999'::date;
select '99-Jan-08'::date;
select '99-1-2'::date;
select '8 Jan 99'::date, 'Jan 8 99'::date, '1/2/03 4:05'::timestamp, '1/2/03 4:05'::timestamptz;
set datestyle = 'YMD';
select '1/2/2003'::date;
select '1-2-03'::date, '1 2 03'::date, '1.2.03'::date, '03/12/13'::date, '2003/2/1'::date, '030201'::date, '1999-Jan-08'::date;
select '99-Jan-08'::date, '99-1-2'::date;
select '08-Jan-1999'::date, 'Jan-08-99'::date;
select '08-Jan-99'::date;
select 'Jan-08-1999'::date;
select '8 Jan 99'::date;
select 'January 8, 1999'::date, '1999 8 Jan'::date;
select '13/13/13'::date;
prepare of_text (text) as select $1::date;
execute of_text('01/02/03');
set datestyle = 'DMY';
execute of_text('01/02/03');
reset datestyle;
execute of_text('01/02/03');

-- Mistakes, and what a word leaves as it is.
set datestyle = 'ISO, SQL';
set datestyle = 'DMY, YMD';
set datestyle = 'nonsense';
set datestyle = 'ISO, Nonsense';
set datestyle = 'ISO MDY';
set datestyle = '';
show datestyle;
set datestyle = iso, dmy;
show datestyle;
set datestyle = german, mdy;
show datestyle;
set datestyle = us;
show datestyle;
set datestyle = 'noneuropean, postgresql';
show datestyle;
set datestyle = default;
show datestyle;
set datestyle to 'sql, default';
show datestyle;
select name, setting, vartype from pg_settings where name in ('DateStyle', 'IntervalStyle') order by name;
select set_config('DateStyle', 'German', false);
show datestyle;
begin;
set local datestyle = 'ISO, YMD';
select '03/02/01'::date;
rollback;
select '03/02/01'::date;
reset datestyle;

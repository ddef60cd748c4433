-- IntervalStyle: how intervals are written and read.
show intervalstyle;
create table span (id int primary key, i interval);
insert into span values
  (1, '1 year 2 months'), (2, '3 days 4:05:06'), (3, '1 year 2 months -3 days 4:05:06.789'), (4, '-1 year -2 months'),
  (5, '-3 days -4:05:06'), (6, '0'), (7, '-1 year 2 months'), (8, '4:05'), (9, '-0.5 sec'), (10, '1 sec'), (11, '-1 sec'),
  (12, '1 day -1 sec'), (13, '-1 day 1 sec'), (14, '1 mon -1 hour'), (15, '100 hours'), (16, '1 day 0.000001 sec'),
  (17, '-1 mon -1 day'), (18, '1 min'), (19, '-5 min'), (20, '10 years'), (21, '1 year 1 day'), (22, '1 mon 0.1 sec');
select * from span order by id;
set intervalstyle = 'postgres_verbose';
select * from span order by id;
set intervalstyle = 'sql_standard';
select * from span order by id;
set intervalstyle = 'iso_8601';
show intervalstyle;
select * from span order by id;
select i::text, 'x' || i, array[i], to_json(i), concat(i), format('%s', i) from span where id = 3;
copy (select * from span where id < 4) to stdout;
select age('2024-03-01', '2023-01-15'), justify_hours('50 hours'), interval '1' year, interval '1-2' year to month, interval(2) '1.234 s';

-- Reading.
select '-1 2:03:04'::interval, '-1-2'::interval, '-1 day 2 hours'::interval, '1 -2:03'::interval;
set intervalstyle = 'sql_standard';
select '-1 2:03:04'::interval, '-1-2'::interval, '-1 day 2 hours'::interval, '1 -2:03'::interval;
select '-1-2 3 4:05:06'::interval, '-1-2 +3 4:05:06'::interval, '-1 year 2 months'::interval, '+1 2:03:04'::interval;
select '-1 2:03:04 ago'::interval, '- 1 2:03:04'::interval;
select '-P1DT2H'::interval;
select 'P-1DT2H'::interval, '@ 1 day -2 hours ago'::interval, '-0.5 1:00'::interval, '-1.5 days 2 hours'::interval;
select interval '-1 2' day to hour, interval '-1 2:03' day to minute;
reset intervalstyle;
select '-1 2:03:04'::interval, '-1-2 3 4:05:06'::interval;
set intervalstyle = 'nonsense';
set intervalstyle = 'SQL_Standard';
show intervalstyle;
set intervalstyle = default;
show intervalstyle;

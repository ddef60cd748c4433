-- Views with aggregates WITHIN GROUP, and with aggregates of sorted rows.
create table sets (x int, t text, v varchar(5), n numeric);
insert into sets values (1, 'a', 'a', 1), (2, 'b', 'b', 2), (2, 'b', 'c', 3);
create view medians as select percentile_cont(0.5) within group (order by x) c, percentile_disc(0.25) within group (order by t desc) d, mode() within group (order by x + 1) m, percentile_cont(array[0.25, 0.5]) within group (order by n nulls first) filter (where x > 0) cs, mode() within group (order by lower(t)) from sets;
select * from medians;
select pg_get_viewdef('medians'::regclass);
select pg_get_viewdef('medians'::regclass, true);
create view lists as select string_agg(t, ',' order by lower(t), x + 1, x) from sets;
select pg_get_viewdef('lists'::regclass);

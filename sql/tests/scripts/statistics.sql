-- Variances, regression, percentiles
create table s (k int primary key, g int, i int, b bigint, n numeric, d float8, r float4);
insert into s values (1, 1, 56, 10, 56.5, 7.8, 7.5), (2, 1, 100, 20, 100.25, 99.097, 99.25), (3, 2, 0, null, 0.09, 0.09561, 0.125), (4, 2, 42, 9223372036854775807, 1e20, 324.78, 324.75), (5, 3, null, null, null, null, null);
select stddev(i), variance(i), stddev_pop(i), var_pop(i), stddev_samp(b), var_samp(b) from s;
select stddev(n), variance(n), stddev_pop(n), var_pop(n) from s;
select stddev_pop(d), var_pop(d), stddev_samp(d), var_samp(d), stddev_pop(r), var_pop(r) from s;
select g, count(*), stddev(i), stddev_pop(i), variance(n), var_pop(d), stddev(d) from s group by g order by g;
select stddev(i), var_pop(d), stddev_samp(n) from s where k > 4;
select var_pop(1.0::float8), var_samp(2.0::float8), stddev_pop(3.0::float8), stddev_samp(4.0::float8), var_pop('inf'::float8), var_samp('nan'::float8), stddev_pop('inf'::float4), var_pop('nan'::numeric), stddev_samp('inf'::numeric), var_pop('inf'::numeric), var_pop(4::numeric), stddev_pop(5::smallint);
select stddev(distinct i), variance(i) filter (where i > 0), stddev(i order by i) from s;
select stddev(1e131071), var_samp(x) from (values (1::numeric), (1.0), (1.00)) v (x);
select var_pop(x), stddev(x) from (values ('7000000000005'::float8), ('7000000000007')) v (x);
select variance(x) from (values ('1e308'::float8), ('-1e308')) v (x);
select variance('x'::text);
select stddev(true);
select regr_count(d, r), regr_sxx(i, i), regr_syy(i, i), regr_sxy(i, i), regr_avgx(i, d), regr_avgy(i, d), regr_r2(i, i), regr_slope(i, i), regr_intercept(i, i), covar_pop(i, i), covar_samp(i, i), corr(i, i) from s;
select covar_pop(1::float8, 2::float8), covar_samp(3::float8, 4::float8), corr(1, 1), regr_r2(1, 2), regr_slope(1, 1), regr_count(1, null), regr_sxx(null, 1), covar_pop(1::float8, 'inf'), covar_pop(1::float8, 'nan');
select regr_count(i, d), regr_sxx(i, 1) from s where k > 4;
select corr(i);
select regr_count('a'::text, 1);
select percentile_cont(0.5) within group (order by i), percentile_cont(0.25) within group (order by d), percentile_disc(0.5) within group (order by i), percentile_disc(0.9) within group (order by i desc), percentile_disc(0) within group (order by n), percentile_cont(1) within group (order by r) from s;
select g, percentile_cont(0.5) within group (order by i), mode() within group (order by i) from s group by g order by g;
select percentile_cont(array[0, 0.25, 0.5, 1]) within group (order by i), percentile_disc(array[0.1, null, 0.9]) within group (order by i) from s;
select percentile_disc(0.5) within group (order by t), mode() within group (order by t) from (values ('b'), ('a'), ('c'), ('a'), ('b')) v (t);
select percentile_cont(0.5) within group (order by x) from (values (interval '1 day'), (interval '2 days 2 hours')) v (x);
select percentile_cont(null) within group (order by i), percentile_cont(0.5) within group (order by i) filter (where i > 50) from s;
select percentile_cont(0.5) within group (order by i), mode() within group (order by i) from s where k > 9;
select percentile_cont(1.5) within group (order by i) from s;
select percentile_disc(-0.1) within group (order by i) from s;
select percentile_cont(0.5) from s;
select mode() within group (order by i desc) from s;
prepare p (float8) as select percentile_disc($1) within group (order by i) from s;
execute p (0.5);
deallocate p;
drop table s;
-- Arrays
select array_remove(array[1, 2, null, 2], 2), array_remove(array[1, null], null), array_remove(null::int[], 1), array_replace(array[1, 2, 5, 2], 2, null), array_replace(array['a', null], null, 'b'), array_positions(array['a', 'b', 'a'], 'a'), array_positions(array[1], 2), array_positions(null::int[], 1);
select trim_array(array[1, 2, 3], 2), trim_array(array[1, 2, 3], 0), trim_array(array[1], null), array_dims(array[1, 2, 3]), array_ndims(array[1]), array_dims('{}'::int[]), array_ndims('{}'::int[]);
select trim_array(array[1, 2, 3], -1);
select trim_array(array[1, 2, 3], 10);
select string_to_array('1|2|3', '|'), string_to_array('1|2|3|', '|'), string_to_array('1||2|3||', '||'), string_to_array('', '|'), string_to_array('1|2', ''), string_to_array('äbc', null), string_to_array('abc', '', 'abc'), string_to_array('1|*|3', '|', '*'), string_to_array(null, ','), string_to_array('a,b', ',', null);
-- Periods
select (date '2001-02-16', date '2001-12-21') overlaps (date '2001-10-30', date '2002-10-30') as a, (date '2001-02-16', interval '100 days') overlaps (date '2001-10-30', date '2002-10-30') as b, (timestamp '2000-11-27', timestamp '2000-11-28') overlaps (timestamp '2000-11-27 12:00', timestamp '2000-11-30') as c, (timestamp '2000-11-28', timestamp '2000-11-27') overlaps (timestamp '2000-11-28', interval '1 day') as d, (time '00:00', time '01:00') overlaps (time '00:30', time '01:30') as e, (time '00:00', interval '1 hour') overlaps (time '01:00', interval '1 hour') as f;
select (null, date '2001-12-21') overlaps (date '2001-10-30', null) as a, (date '2001-01-01', null) overlaps (date '2001-01-01', null) as b, (date '2001-01-01', date '2001-03-01') overlaps (date '2001-02-01', null) as c, (date '2001-01-01', null) overlaps (date '2002-01-01', date '2003-01-01') as d, (null::date, null::date) overlaps (date '2001-01-01', date '2003-01-01') as e;
-- Degrees and hyperbolic functions
select x, sind(x), cosd(x), tand(x) from (values (0::float8), (30), (90), (150), (180), (210), (270), (330), (360), (-30)) v (x) where x not in (90, 270);
select sind(90), cosd(90), sind(270), tand(45), tand(135), tand(225), cotd(45), cotd(135), asind(0.5), asind(-1), acosd(0.5), acosd(-0.5), acosd(-1), atand(1), atand(-1), atan2d(1, 1), atan2d(0, -1), atand('inf'), asind('nan');
select sinh('inf'::float8), cosh('-inf'::float8), tanh('inf'::float8), asinh('-inf'::float8), acosh(1), atanh(0), atanh(1), atanh(-1), tanh(0), sinh(0), cosh(0), round(cot(1)::numeric, 10), round(sinh(1)::numeric, 10), round(acosh(2)::numeric, 10);
select asind(1.1);
select acosd(-2);
select acosh(0.5);
select atanh(2);
select sind('inf');
select cot('inf');
-- substring
select substring('abcdefg' similar 'a#"(b_d)#"%' escape '#'), substring('abcdefg' similar 'a*#"%#"g*' escape '#'), substring(null similar 'a' escape '#') is null, substring('abc' similar 'a.c' escape '#') is null;

-- Times by a template
create table times (id int primary key, s timestamp);
insert into times values (1, '2024-03-01 00:05:09.012345'), (2, '1999-12-31 12:00'), (3, '0044-03-15 23:59:59.999999 BC'), (4, '12345-01-02 13:04:05.6'), (5, '2000-02-29 11:11:11.1'), (6, '0001-01-01'), (7, 'infinity'), (8, '1900-12-31 01:02:03');
select id, to_char(s, 'YYYY-MM-DD HH24:MI:SS.US'), to_char(s, 'DD Mon YYYY, HH12:MI am'), to_char(s, 'Y,YYY YYY YY Y CC AD B.C.') from times order by id;
select id, to_char(s, 'DAY Day day DY Dy dy|MONTH Month month MON Mon mon|RM rm') from times order by id;
select id, to_char(s, 'FMDAY FMDay FMday FMMonth FMMON FMRM fmDD FMHH24:FMMI:FMSS FMDDD FMYYYY FMCC FMMS') from times order by id;
select id, to_char(s, 'D ID DDD IDDD DD W WW IW Q J I IY IYY IYYY') from times order by id;
select id, to_char(s, 'HH HH24 HH12 MI SS SSSS SSSSS MS US FF1 FF2 FF3 FF4 FF5 FF6 PM p.m. A.M.') from times order by id;
select id, to_char(s, 'DDth DDTH FMDDth HH24TH MIth YYYYth MMTH Dth Qth CCTH MSth Y,YYYth') from times order by id;
select to_char(timestamp '2024-01-11', 'DDth'), to_char(timestamp '2024-01-12', 'DDth'), to_char(timestamp '2024-01-13', 'FMDDTH'), to_char(timestamp '2024-01-21', 'DDth'), to_char(timestamp '2024-01-22', 'DDth'), to_char(timestamp '2024-01-23', 'DDTH'), to_char(timestamp '2024-01-03', 'FMDDth');
select to_char(timestamp '2024-03-01 10:20:30', '"YYYY" YYYY\"x\" \YYYY "a\"b" "open'), to_char(timestamp '2024-03-01 10:20:30', 'Hh24 hh24 Yyyy xYYYYx, T""MI - é€ FM FX fx TMMonth TMmon'), to_char(timestamp '2024-03-01', ''), to_char(timestamp '2024-03-01', ' '), to_char(null::timestamp, 'YYYY'), to_char(date '2024-03-01', 'YYYY/DDD');
select to_char(timestamp '2024-03-01 10:20:30', 'TZ tz OF TZH:TZM');
set time zone 'Europe/Berlin';
select to_char(timestamptz '2024-07-01 10:00+00', 'HH24:MI TZ tz OF TZH:TZM FMOF'), to_char(timestamptz '2024-01-01 10:00+00', 'HH24:MI TZ OF');
set time zone 'Asia/Kolkata';
select to_char(timestamptz '2024-07-01 10:00+00', 'HH24:MI TZ tz OF TZH:TZM FMOF');
set time zone 'America/St_Johns';
select to_char(timestamptz '2024-07-01 10:00+00', 'HH24:MI OF TZH:TZM FMOF');
select to_char(now(), 'YYYY') = extract(year from now())::text;
-- Intervals by a template
select to_char(i, 'YYYY MM DD HH24:MI:SS.US'), to_char(i, 'FMHH24 FMMI HH12 AM MS US SSSS DDD YY Y CC') from (values (1, interval '1 year 2 mons 3 days 04:05:06.7'), (2, interval '-1 year -2 mons -3 days -04:05:06.7'), (3, interval '123:45:06'), (4, interval '0')) v(n, i) order by n;
select to_char(interval '5 mons', 'RM rm FMRM'), to_char(interval '1 day', 'DDth HH24th');
select to_char(interval '1 day', 'Month');
select to_char(interval '1 day', 'DAY');
select to_char(interval '1 day', 'AD');
select to_char(interval '1 day', 'TZ');
select to_char(interval '1 day', 'D');
select to_char(time '10:20:30', 'HH24-MI');
create function stamp(t timestamptz) returns text language plpgsql as $$ begin return to_char(t, 'YYYYMMDD"T"HH24MISS TZ'); end $$;
select stamp('2024-07-01 10:00+00');
select i, to_char(i * interval '1 mon', 'rm'), to_char(i * interval '1 mon', 'RM'), to_char(i * interval '1 mon', 'FMRM')
from generate_series(-25, 25) i;

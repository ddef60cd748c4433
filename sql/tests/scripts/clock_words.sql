-- What today and now are is known when the transaction begins.
select date 'today' = current_date, date 'tomorrow' - current_date, date 'yesterday' - current_date, date 'now' = current_date, date 'TODAY' = current_date;
select timestamptz 'now' = now(), timestamp 'now' = localtimestamp, timestamptz 'today' = date_trunc('day', now()), timestamp 'today 10:11' = current_date + 0;
select (timestamp 'today 10:11')::date = current_date, extract(hour from timestamp '10:11 today'), extract(minute from timestamp 'tomorrow 10:11 am');
select timestamptz 'today +00' = timestamptz 'today 00:00 UTC', timestamptz 'now' = current_timestamp, timestamp 'today allballs' = current_date;
select 'today' = current_date, now() = 'now', current_date in ('today', '2000-01-01'), 'yesterday' < current_date, case when current_date = 'tomorrow' then 1 else 2 end;
begin;
select timestamptz 'now' = now();
select timestamptz 'now' = now(), date 'today' = current_date;
commit;
select date 'today foo';
select timestamptz 'now now';
select timestamptz 'now 10:00';
select date 'today 25:00';
select date 'todays';
create table c (k int primary key, d date, z timestamptz, t text);
insert into c values (1, 'today', 'now', 'tomorrow'), (2, '2000-01-01', '2000-01-01', 'now');
insert into c select 3, 'tomorrow', 'today', 'yesterday' from c where d = 'today' and z <= 'now';
update c set d = 'yesterday' where d < 'yesterday';
select k, d - current_date, z <= now(), z < 'today', t::date - current_date, t::timestamptz <= now() from c order by k;
copy c from stdin;
5	today	now	x
6	tomorrow	yesterday	x
\.
copy c from stdin;
7	today now	now	x
\.
select k, d - current_date, z <= now() from c where k > 4 order by k;
prepare p (date, timestamptz) as select $1 = current_date, $2 <= now(), $2 > date '2000-01-02';
execute p ('today', 'now');
execute p ('yesterday', 'tomorrow');
select ('tod' || 'ay')::date = current_date, ('no' || 'w')::timestamptz = now(), cast(t as date) = current_date from c where t = 'now';
create function f(t text) returns date language plpgsql as $$ begin return t::date; end $$;
create function g(t text) returns boolean language plpgsql as $$ declare z timestamptz := t; begin return z = now(); end $$;
select f('today') = current_date, f('2024-01-01'), g('now'), g('today 10:11:12.5');
select f('today foo');
create procedure pr(z timestamptz, inout b boolean) language plpgsql as $$ begin b := z = now(); end $$;
call pr('now', null);
call pr(now(), null);
call pr('today', null);
begin;
call pr('now', null);
execute p ('today', now());
commit;
execute p (current_date, now());
set timezone = 'Pacific/Kiritimati';
select date 'today' = current_date, timestamp 'now' = localtimestamp, timestamptz 'now' = now(), f('today') = current_date;
set timezone = 'Etc/GMT+12';
select date 'today' = current_date, timestamp 'now' = localtimestamp, timestamptz 'now' = now(), f('today') = current_date;
set timezone = 'UTC';
drop procedure pr;
drop function f;
drop function g;
drop table c;

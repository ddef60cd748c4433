select 1;
select 1 as a, 'x' as b, null as c, true, 1.5, 2147483648, 99999999999999999999;
select -2147483648, - 1, +1, 1 + 1, 7 / 2, 7 % 2, 7.0 / 2, 2 ^ 3;
select 1::bigint + 1, 1::smallint + 1::smallint, 1 + 1.5, 1::real + 1, 1.5::real + 1.5::double precision;
select 'a' || 'b', 'a' || 1, 1 || 'a';
select 1 + true;
select 1 || 2;
select 'a' + 1;
select 1 = 1, 1 < 2.5, 'a' < 'b', date '2024-01-01' < timestamp '2024-01-02 00:00:00';
select 1 = 'x';
select 1 = true;
select null = 1, null is null, 1 is not null, not true, true and null, false and null, true or null;
select x;
select t.x;
select 1 from missing;
select nosuch(1);
select length(1);
select case when true then 1 else 2.5 end, case 1 when 1 then 'one' else 'other' end;
select case when 1 then 2 end;
select case when true then 1 else true end;
select coalesce(null, 1), coalesce(null, 'x'), nullif(1, 1), nullif(1, 2), greatest(1, 2, 3), least(1, 2.5);
select 1 between 0 and 2, 1 not between 0 and 2, 1 in (1, 2), 1 not in (1, 2), null in (1), 3 in (1, null);
select 'abc' like 'a%', 'abc' like 'b%', 'abc' not like '_b_', 'ABC' ilike 'abc', 'a%c' like 'a\%c', 'a%c' like 'a#%c' escape '#';
select true is true, null is true, false is not true, null is unknown, true is not unknown;
select 1 is distinct from 2, null is distinct from null, null is not distinct from 1;
select cast('12' as integer), '12'::int, '1.5'::numeric(4,2), 'abc'::varchar(2), 'abc'::char(5), 12::text, true::text, 1::boolean;
select 'x'::int;
select 'abc'::date;
select 300::smallint::text, 70000::smallint;
select 1::date;
select cast(1 as date);
select cast(1 as nosuch);
select true;
select '1'::nosuchtype;
select date '2024-02-29', timestamp '2024-01-02 03:04:05.678', timestamptz '2024-01-02 03:04:05+02', uuid '00000000-0000-0000-0000-000000000001';
select date '2024-02-29' + 1, date '2024-03-01' - date '2024-02-28', date '2024-03-01' - 1;
select extract(year from date '2024-02-29'), extract(epoch from timestamp '2000-01-01 00:00:01');
select substring('abcdef' from 2 for 3), substring('abcdef' from 3), trim('  a '), trim(leading 'x' from 'xxa'), position('c' in 'abc');
select upper('a'), lower('A'), length('abc'), abs(-5), round(2.5), round(1.255, 2), mod(7, 3), floor(1.5), ceil(1.2);
select 1/0;
select 2147483647 + 1;
select 9223372036854775807 + 1;
select 1 as "A b", 2 as a2;
select 'it''s', E'a\nb', $$dollar$$, $x$a$$b$x$;
select (1, 2) = (1, 2), (1, 2) <> (1, 3);
select 5 & 3, 5 | 3, 5 # 3, ~5, 1 << 4, 256 >> 4;
select true and 1;
select not 1;
select version() like 'PostgreSQL 15%';
select 1 limit 0;
select 1 limit -1;
select 1 offset -1;
select 1 where false;
select 1 where 1;
values (1, 'a'), (2, 'b');
values (1), (1.5), (null);
values (1, 2), (3);
select count(*);
select 1 group by 1;
select 'a'
 'b' as x;
select 'a' -- a comment
 'b', 'c';
select 'a''b'

'''c', E'a\t'
'b\t', U&'\0061'
'b';
select 'a' || 'x'
'y' as z;
select 'a' 'b';
select 'a' /* a comment */ 'b';
select 1 'x';
select 1 as 'x';
select 'x', 1 'x';
select 1 from generate_series(1, 1) as 'x';
select 'ab' like 'a'
'%';
select now() > 5;
select abs(1) > true, 1;
select '2024-01-01'::date + 1.5;
select '1'::numeric(10, 2) > true;
select now()::timestamp with time zone > true;
select ('1'::int) > true;
select '1'::pg_catalog.int4 || 2;
select '2024-01-01'::date::timestamp + 1;

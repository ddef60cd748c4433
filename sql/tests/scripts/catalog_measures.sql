-- What the information schema says of the values of types, and its helper functions.
create table measured (a varchar(5), b char(3), c text, d varchar, e smallint, f integer, g bigint, h numeric, i numeric(8,2), j real,
    k double precision, l date, m time, n time(2), o timestamp, p timestamptz(3), q interval, r interval(2), s interval year to month,
    t interval day to second(4), u interval second, v boolean, w int[], x jsonb, y uuid, z "char");
select column_name, information_schema._pg_char_max_length(a.atttypid, a.atttypmod) = character_maximum_length as characters,
    information_schema._pg_char_octet_length(a.atttypid, a.atttypmod) as bytes, character_octet_length,
    information_schema._pg_numeric_precision(a.atttypid, a.atttypmod) as p, numeric_precision,
    information_schema._pg_numeric_precision_radix(a.atttypid, a.atttypmod) as r, numeric_precision_radix,
    information_schema._pg_numeric_scale(a.atttypid, a.atttypmod) as s, numeric_scale,
    information_schema._pg_datetime_precision(a.atttypid, a.atttypmod) as t, datetime_precision,
    information_schema._pg_interval_type(a.atttypid, a.atttypmod) as i, interval_type
from information_schema.columns c join pg_attribute a on a.attname = c.column_name and a.attrelid = 'measured'::regclass
where c.table_name = 'measured' order by ordinal_position;
select information_schema._pg_char_max_length(1043, 14), information_schema._pg_char_max_length(1043, -1), information_schema._pg_char_max_length(0, 5);
select information_schema._pg_char_max_length(null, 14), information_schema._PG_NUMERIC_SCALE(23, -1);
select information_schema._pg_nothing(1);
select _pg_char_max_length(1043, 14);
drop table measured;
-- Hashes of texts are PostgreSQL's.
select hashtext(''), hashtext('a'), hashtext('abc'), hashtext('abcd'), hashtext('abcdefgh'), hashtext('abcdefghi'), hashtext('abcdefghijk');
select hashtext('abcdefghijkl'), hashtext('abcdefghijklm'), hashtext('a job queue'), hashtext('ä€𝄞'), hashtext(repeat('long text ', 1000));
select hashtextextended('a', 0), hashtextextended('a job queue', 42), hashtextextended('abcdefghijklmnop', -1), hashtextextended('', 9223372036854775807);
select hashtext(null), hashtext(5::text), hashtext('x'::varchar), hashtext('x'::name::text);
select pg_try_advisory_xact_lock(hashtext('a job queue'));

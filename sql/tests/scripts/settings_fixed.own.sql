-- Values that would change answers or promises, and do not.
set array_nulls = off;
set transform_null_equals = on;
set session_replication_role = replica;
set log_min_duration_statement = -1;
set hyades.nosuch = 1;
set hyades.logging = data;
reset hyades.logging;
select count(*) > 170 from pg_settings;

select current_user, current_database(), current_schema, current_schema();
select pg_typeof(1), pg_typeof('a'), pg_typeof(1.5), pg_typeof(1::real + 1), pg_typeof(null);
select pg_backend_pid() > 0, current_setting('server_version') like '15%', set_config('application_name', 'x', false), current_setting('application_name');
select current_setting('nosuch');
select current_setting('nosuch', true);

-- What psql's backslash commands ask for besides the catalog's plain rows.
SET work_mem = '5MB';
SELECT name, current_setting(name) FROM pg_settings WHERE name IN ('DateStyle', 'work_mem') ORDER BY 1;
SELECT current_setting(name) FROM (VALUES ('work_mem'), ('no_such_setting')) named (name);
SELECT current_setting('work_mem');
CREATE TABLE t (a int, b text);
CREATE INDEX i ON t (lower(b), (a + 1), a DESC, ((a + 1) * (a + 2)));
SELECT pg_get_indexdef('i'::regclass, n, true) FROM generate_series(1, 5) n;
SELECT pg_get_indexdef('i'::regclass, 2, false);
SELECT pg_table_size(0) IS NULL, pg_size_pretty(pg_total_relation_size(0)) IS NULL;
SELECT opcname, pg_opclass_is_visible(oid) FROM pg_opclass WHERE opcname = 'text_ops' AND opcdefault AND opcmethod = 403;
SELECT lanname, lanplcallfoid <> 0, obj_description(oid, 'pg_language') FROM pg_language WHERE lanname = 'plpgsql';
SELECT extname, obj_description(oid, 'pg_extension') FROM pg_extension;
CREATE SCHEMA s;
CREATE FUNCTION f() RETURNS int LANGUAGE sql SET search_path TO s, "Odd" AS 'SELECT 1';
SELECT pg_get_functiondef('f'::regproc);

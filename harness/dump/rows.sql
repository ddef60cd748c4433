-- The rows of all tables, views and materialized views, one row a line.
SET timezone = 'UTC';
SELECT format('TABLE %I.%I', n.nspname, c.relname)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'v', 'm') AND c.relispopulated AND n.nspname NOT IN ('pg_catalog', 'information_schema')
    ORDER BY 1
\gexec

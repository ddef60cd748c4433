-- A routine's plan holds the tables as they were: what changes one and uses it must say EXECUTE.
CREATE TABLE t (a int);
CREATE PROCEDURE widen() LANGUAGE plpgsql AS $$ BEGIN ALTER TABLE t ADD COLUMN b int; INSERT INTO t VALUES (1); END $$;
CALL widen();
SELECT * FROM t;
CREATE OR REPLACE PROCEDURE widen() LANGUAGE plpgsql AS $$ BEGIN ALTER TABLE t ADD COLUMN b int; EXECUTE 'INSERT INTO t VALUES (1, 2)'; END $$;
CALL widen();
SELECT * FROM t;
DO $$ BEGIN CREATE TABLE u AS SELECT 1; END $$;
DO $$ BEGIN CREATE DATABASE x; END $$;
DO $$ BEGIN GRANT SELECT ON t TO me; END $$;

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
-- What the statement that runs uses stays as it is
CREATE TABLE ls (a int PRIMARY KEY, b int);
INSERT INTO ls SELECT g, g FROM generate_series(1, 3) g;
CREATE FUNCTION within(statement text) RETURNS int LANGUAGE plpgsql AS $$ BEGIN EXECUTE statement; RETURN 7; END $$;
UPDATE ls SET b = within('alter table ls add column if not exists q int default 9');
UPDATE ls SET b = within('drop table if exists ls');
UPDATE ls SET a = a + 10, b = within('create unique index on ls (a)');
UPDATE ls SET b = within('-- all of them
  truncate ls');
SELECT a, within('alter table ls alter b type text') FROM ls;
SELECT * FROM ls;
UPDATE ls SET b = within('create table if not exists beside (a int)');
SELECT * FROM ls, beside;
-- Where a routine's session does not attend to it
CREATE TABLE filled AS SELECT within('select 1');
ALTER TABLE ls ADD COLUMN d int DEFAULT within('select 1');
ALTER TABLE ls ADD CHECK (within('select 1') > 0);
SELECT * FROM ls;
-- A label that is taken back is not stored
CREATE TYPE mood AS ENUM ('a');
CREATE TABLE moods (m mood);
DO $$ DECLARE v mood; BEGIN
  BEGIN
    EXECUTE 'alter type mood add value ''x''';
    EXECUTE 'select ''x''::mood' INTO v;
    RAISE EXCEPTION 'back';
  EXCEPTION WHEN raise_exception THEN NULL;
  END;
  EXECUTE 'insert into moods values ($1)' USING v;
END $$;
ALTER TYPE mood ADD VALUE 'y';
SELECT * FROM moods;
DO $$ DECLARE n int; BEGIN EXECUTE 'create table never (a int)' INTO n; END $$;

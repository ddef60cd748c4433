-- Changes of the schema in routines and in DO blocks.
DO $$ BEGIN CREATE TYPE kind AS ENUM ('a', 'b'); EXCEPTION WHEN duplicate_object THEN NULL; END $$;
DO $$ BEGIN CREATE TYPE kind AS ENUM ('a', 'b'); EXCEPTION WHEN duplicate_object THEN RAISE NOTICE 'it is there: %', SQLERRM; END $$;
SELECT 'a'::kind;
DO $$ BEGIN CREATE TYPE kind AS ENUM ('c'); END $$;
CREATE TABLE parent (id int PRIMARY KEY);
CREATE TABLE child (id int, parent int);
DO $$ BEGIN
  ALTER TABLE child ADD CONSTRAINT child_parent FOREIGN KEY (parent) REFERENCES parent (id);
EXCEPTION WHEN duplicate_object THEN NULL;
END $$;
DO $$ BEGIN
  ALTER TABLE child ADD CONSTRAINT child_parent FOREIGN KEY (parent) REFERENCES parent (id);
EXCEPTION WHEN duplicate_object THEN RAISE NOTICE 'again: % %', SQLSTATE, SQLERRM;
END $$;
INSERT INTO child VALUES (1, 1);
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM information_schema.columns WHERE table_name = 'child' AND column_name = 'note') THEN
    ALTER TABLE child ADD COLUMN note text DEFAULT 'n';
  END IF;
END $$;
INSERT INTO parent VALUES (1), (2);
INSERT INTO child VALUES (1, 1);
SELECT * FROM child;
-- The text may be made
DO $$ DECLARE n text; BEGIN
  FOREACH n IN ARRAY ARRAY['one', 'two'] LOOP
    EXECUTE format('CREATE TABLE %I (id int PRIMARY KEY, v text)', 'made_' || n);
    EXECUTE format('INSERT INTO %I VALUES (1, $1)', 'made_' || n) USING n;
  END LOOP;
END $$;
SELECT * FROM made_one UNION ALL SELECT * FROM made_two;
-- Functions and procedures
CREATE FUNCTION make(name text) RETURNS int LANGUAGE plpgsql AS $$ DECLARE n int; BEGIN
  EXECUTE 'create table ' || quote_ident(name) || ' (a int)';
  EXECUTE 'insert into ' || quote_ident(name) || ' values (1), (2)';
  EXECUTE 'select count(*) from ' || quote_ident(name) INTO n;
  RETURN n;
END $$;
SELECT make('f1'), make('f2');
SELECT make('f1');
SELECT * FROM f1;
CREATE PROCEDURE replace_all() LANGUAGE plpgsql AS $$ BEGIN
  DROP TABLE IF EXISTS f1, f3;
  CREATE TABLE f3 (x int);
  TRUNCATE f2;
END $$;
CALL replace_all();
SELECT * FROM f1;
SELECT count(*) FROM f2;
SELECT * FROM f3;
-- What a handler catches is taken back
DO $$ BEGIN
  BEGIN
    CREATE TABLE gone (a int);
    EXECUTE 'insert into gone values (1)';
    RAISE EXCEPTION 'no';
  EXCEPTION WHEN raise_exception THEN RAISE NOTICE 'caught';
  END;
  CREATE TABLE gone (b text);
END $$;
SELECT * FROM gone;
BEGIN;
DO $$ BEGIN DROP TABLE gone; END $$;
SELECT * FROM gone;
ROLLBACK;
SELECT * FROM gone;
DO $$ BEGIN CREATE TABLE t5 (a int); RAISE EXCEPTION 'stop'; END $$;
SELECT * FROM t5;
DO $$ BEGIN DROP TABLE nothing; END $$;
DO $$ BEGIN CREATE TABLE t6 (a int, a int); END $$;
DO $$ BEGIN CREATE VIEW v AS SELECT 1 AS one; CREATE INDEX ON child (note); ALTER TABLE child RENAME note TO remark; CREATE SEQUENCE s; END $$;
SELECT one, nextval('s') FROM v;
SELECT remark FROM child;
DO $$ BEGIN CREATE FUNCTION made() RETURNS int LANGUAGE sql AS 'SELECT 7'; EXECUTE 'DROP VIEW v'; END $$;
SELECT made();
SELECT * FROM v;

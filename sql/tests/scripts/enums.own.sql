-- Types that Hyades does not have, and changes of types that it refuses.
CREATE TYPE r AS RANGE (subtype = int4);
CREATE TYPE shell;
CREATE TYPE mood AS ENUM ('sad', 'sad');
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE TABLE t (m mood DEFAULT 'sad', n int CHECK (n > 0));
ALTER TYPE mood OWNER TO nobody;
-- The last column of a table, and a table that a view uses
CREATE TABLE one (m mood);
DROP TYPE mood CASCADE;
DROP TABLE one;
CREATE VIEW v AS SELECT n FROM t;
DROP TYPE mood CASCADE;
CREATE TYPE mood AS ENUM ('sad', 'ok');
ALTER TABLE t ADD COLUMN m mood DEFAULT 'sad';
DROP VIEW v;
-- An index that converts to the type
CREATE TABLE i (a int, b text);
CREATE INDEX i_b ON i (a) WHERE b = ('ok'::text || 'sad'::mood::text);
DROP TYPE mood CASCADE;
DROP INDEX i_b;
DROP TYPE mood CASCADE;
SELECT * FROM t;

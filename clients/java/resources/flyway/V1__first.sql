CREATE TABLE item (id serial PRIMARY KEY, name text NOT NULL);
INSERT INTO item (name) VALUES ('a;b'), ('c');
CREATE FUNCTION twice(a int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN a * 2; END; $$;

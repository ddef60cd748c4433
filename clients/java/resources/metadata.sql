-- The schema that WithMetadata asks about. A statement ends at a line that ends with a semicolon.
CREATE SCHEMA shop;
CREATE TYPE shop.mood AS ENUM ('sad', 'glad');
CREATE DOMAIN shop.positive AS int NOT NULL DEFAULT 1 CHECK (value > 0);
CREATE TABLE shop.item (
    id int GENERATED ALWAYS AS IDENTITY, kind smallint NOT NULL, code varchar(10) NOT NULL, title text,
    CONSTRAINT item_pk PRIMARY KEY (kind, id), CONSTRAINT item_code UNIQUE (code), CONSTRAINT item_title UNIQUE (code, title));
COMMENT ON TABLE shop.item IS 'the shop''s items';
COMMENT ON COLUMN shop.item.code IS 'a code';
CREATE TABLE shop.sale (
    id bigserial PRIMARY KEY, name varchar(40) DEFAULT 'x' NOT NULL, item_id int, item_kind smallint,
    price numeric(10,2) DEFAULT 1.5, exact numeric, paid boolean DEFAULT false, at timestamp(3), made timestamptz DEFAULT now(),
    day date, hour time(2), mood shop.mood DEFAULT 'glad', moods shop.mood[], tags text[] DEFAULT '{}', data jsonb, plain json,
    key uuid DEFAULT gen_random_uuid(), raw bytea, letters char(5), "Char" "char", alias name, share real, ratio double precision,
    span interval, spans interval day to second(3), amount shop.positive, number oid,
    total numeric GENERATED ALWAYS AS (price * 2) STORED, free varchar,
    CONSTRAINT sale_item FOREIGN KEY (item_kind, item_id) REFERENCES shop.item (kind, id)
        ON DELETE CASCADE ON UPDATE SET NULL DEFERRABLE INITIALLY DEFERRED,
    CONSTRAINT sale_code FOREIGN KEY (name) REFERENCES shop.item (code), CHECK (price > 0));
COMMENT ON COLUMN shop.sale.price IS 'in euro';
CREATE INDEX sale_price ON shop.sale (price DESC, name);
CREATE UNIQUE INDEX sale_lower ON shop.sale (lower(name)) WHERE paid;
CREATE INDEX sale_made ON shop.sale (made) INCLUDE (day);
CREATE INDEX sale_sum ON shop.sale ((price + 1), at NULLS FIRST);
CREATE VIEW shop.sold AS SELECT id, name, price, lower(name) AS lower, mood FROM shop.sale;
COMMENT ON VIEW shop.sold IS 'what is sold';
CREATE SEQUENCE shop.numbers START 5 INCREMENT 2;
CREATE FUNCTION shop.added(a int, b int DEFAULT 2) RETURNS int LANGUAGE sql AS 'SELECT a + b';
COMMENT ON FUNCTION shop.added(int, int) IS 'adds';
CREATE FUNCTION shop.pair(a int, OUT x int, OUT y text) LANGUAGE sql AS $$ SELECT a, 'y' $$;
CREATE FUNCTION shop.items(wanted text) RETURNS SETOF shop.item LANGUAGE sql AS 'SELECT * FROM shop.item WHERE code = wanted';
CREATE FUNCTION shop.listed(a int) RETURNS TABLE (p int, q text) LANGUAGE sql AS $$ SELECT a, 'q' $$;
CREATE PROCEDURE shop.doubled(a int, INOUT b text) LANGUAGE plpgsql AS $$ BEGIN b := b || a; END $$;
CREATE PROCEDURE shop.nothing() LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION shop.stamp() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN new; END $$;
CREATE TRIGGER stamp BEFORE INSERT ON shop.sale FOR EACH ROW EXECUTE FUNCTION shop.stamp();
CREATE ROLE shop_reader;
GRANT SELECT, UPDATE ON shop.item TO shop_reader;
CREATE MATERIALIZED VIEW shop.kept AS SELECT id, price FROM shop.sale;
CREATE TABLE shop.visit (address inet, network cidr, device macaddr);

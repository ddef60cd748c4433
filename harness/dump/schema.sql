-- A schema with everything that pg_dump and psql show, and some rows in it. Hyades and PostgreSQL take it alike.
CREATE SCHEMA sales;
COMMENT ON SCHEMA sales IS 'what is sold';
CREATE SCHEMA "Odd Schema";

CREATE TYPE mood AS ENUM ('sad', 'ok', 'it''s "happy"');
COMMENT ON TYPE mood IS 'how they are';
CREATE TYPE sales."State" AS ENUM ('new', 'Paid', 'shipped');

CREATE TABLE every_type (
    a_boolean boolean,
    a_smallint smallint DEFAULT 7,
    an_integer integer DEFAULT (1 + 2),
    a_bigint bigint NOT NULL,
    a_real real,
    a_double double precision,
    a_numeric numeric,
    a_decimal numeric(12,3) DEFAULT 0.5,
    a_text text DEFAULT 'it''s',
    a_varchar character varying(40),
    an_endless_varchar character varying,
    a_char character(5) DEFAULT 'x',
    a_bytea bytea,
    a_date date DEFAULT '2020-02-29',
    a_time time without time zone,
    a_time0 time(0) without time zone,
    a_timestamp timestamp without time zone DEFAULT '2001-02-03 04:05:06',
    a_timestamp3 timestamp(3) without time zone,
    a_timestamptz timestamp with time zone DEFAULT now(),
    an_interval interval DEFAULT '1 day',
    a_span interval day to second(3),
    a_uuid uuid,
    a_json json,
    a_jsonb jsonb DEFAULT '{"a": [1, 2]}',
    a_mood mood DEFAULT 'ok',
    numbers integer[] DEFAULT '{1,2}',
    texts text[],
    matrix numeric(8,2)[],
    moods mood[],
    moments timestamp with time zone[],
    CONSTRAINT every_type_pkey PRIMARY KEY (a_bigint)
);
COMMENT ON TABLE every_type IS 'one column
of each type';
COMMENT ON COLUMN every_type.a_text IS 'a text; "quoted"';
INSERT INTO every_type (a_bigint, a_timestamptz) VALUES (0, '2020-01-01 00:00:00+00');
INSERT INTO every_type VALUES
    (true, -32768, 2147483647, 1, 1.5, 0.1, 123456789012345678901234567890.123456789, 99.125, E'tab\tline\nback\\slash',
     'varchar', '', 'ab', '\x00ff5c', '1999-12-31', '23:59:59.123456', '12:34:56', '1970-01-01 00:00:00.000001',
     '2024-02-29 12:00:00.5', '2024-02-29 12:00:00+02', '1 year 2 mons 3 days 04:05:06.789', '4 days 05:06:07.891',
     '123e4567-e89b-12d3-a456-426614174000', '{"b" :  1}', '{"b": {"c": null}}', 'it''s "happy"', '{1,NULL,3}',
     '{"a,b","c\"d",NULL,""}', '{{1.25,2},{3,4}}', '{sad,"it''s \"happy\""}', '{"2024-01-01 00:00:00+00"}'),
    (false, 0, -1, 2, 'NaN', '-Infinity', 'NaN', NULL, '\N', NULL, 'ünïcödé', '', '', 'infinity', '00:00:00', NULL,
     '-infinity', NULL, '0044-03-15 00:00:00+00 BC', '-1 days', NULL, NULL, 'null', '[]', NULL, '{}', '{}', NULL,
     '{}', NULL);

CREATE TABLE sales.customers (
    id integer GENERATED ALWAYS AS IDENTITY (START WITH 100 INCREMENT BY 10),
    email character varying(100) NOT NULL,
    name text NOT NULL,
    referred_by integer,
    CONSTRAINT customers_pkey PRIMARY KEY (id),
    CONSTRAINT customers_email_key UNIQUE (email),
    CONSTRAINT email_has_at CHECK (email ~~ '%@%'),
    CONSTRAINT customers_referred_by_fkey FOREIGN KEY (referred_by) REFERENCES sales.customers (id) ON DELETE SET NULL
);
COMMENT ON CONSTRAINT email_has_at ON sales.customers IS 'roughly';
CREATE INDEX customers_lower_name ON sales.customers USING btree (lower(name), id DESC NULLS LAST);
COMMENT ON INDEX sales.customers_lower_name IS 'for searches';
INSERT INTO sales.customers (email, name, referred_by) VALUES
    ('ann@example.org', 'Ann', NULL), ('bob@example.org', 'Bob', 100), ('eve@example.org', 'Eve', 110);

CREATE SEQUENCE sales.invoice_numbers AS integer START WITH 1000 INCREMENT BY 5 MINVALUE 10 MAXVALUE 90000 CYCLE;
COMMENT ON SEQUENCE sales.invoice_numbers IS 'five by five';
SELECT nextval('sales.invoice_numbers'), nextval('sales.invoice_numbers');
CREATE SEQUENCE downwards INCREMENT BY -1;

CREATE TABLE sales.orders (
    id bigserial,
    customer integer NOT NULL,
    state sales."State" DEFAULT 'new' NOT NULL,
    invoice integer DEFAULT nextval('sales.invoice_numbers'),
    placed timestamp with time zone DEFAULT CURRENT_TIMESTAMP,
    net numeric(10,2) DEFAULT 0 NOT NULL,
    gross numeric GENERATED ALWAYS AS (net * 1.2) STORED,
    CONSTRAINT orders_pkey PRIMARY KEY (id),
    CONSTRAINT orders_customer_fkey FOREIGN KEY (customer) REFERENCES sales.customers (id)
        ON UPDATE CASCADE ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
    CONSTRAINT net_is_positive CHECK (net >= 0 AND (net < 1000000 OR state = 'new'))
);
CREATE INDEX orders_open ON sales.orders USING btree (state, placed DESC) WHERE state <> 'shipped';
CREATE UNIQUE INDEX orders_invoice ON sales.orders USING btree (invoice) WHERE (invoice IS NOT NULL);
INSERT INTO sales.orders (customer, state, placed, net) VALUES
    (100, 'Paid', '2024-01-01 00:00:00+00', 10), (110, 'new', '2024-01-02 00:00:00+00', 2.50);

CREATE TABLE sales.items (
    order_id bigint NOT NULL,
    place smallint NOT NULL,
    product text NOT NULL,
    amount integer DEFAULT 1 NOT NULL,
    CONSTRAINT items_pkey PRIMARY KEY (order_id, place),
    CONSTRAINT items_order_fkey FOREIGN KEY (order_id) REFERENCES sales.orders (id) ON DELETE RESTRICT
);
INSERT INTO sales.items VALUES (1, 1, 'pen', 2), (1, 2, 'paper', 500), (2, 1, 'ink', 1);
ALTER TABLE sales.items ADD CONSTRAINT amount_is_small CHECK (amount < 100) NOT VALID;

CREATE TABLE sales.shelves (
    shelf integer CONSTRAINT shelves_pkey PRIMARY KEY DEFERRABLE,
    product text CONSTRAINT one_shelf UNIQUE DEFERRABLE INITIALLY DEFERRED,
    room integer,
    CONSTRAINT shelves_room_key UNIQUE NULLS NOT DISTINCT (room, shelf) INITIALLY DEFERRED
);
INSERT INTO sales.shelves VALUES (2, 'pen', 1), (1, 'ink', NULL);
UPDATE sales.shelves SET shelf = 3 - shelf;

CREATE TABLE "Odd Schema"."Mixed Case" (
    "Key" integer PRIMARY KEY,
    "select" text,
    "a ""quote""" integer DEFAULT 1,
    "ünï" text
);
INSERT INTO "Odd Schema"."Mixed Case" VALUES (1, 'from', 2, 'ö'), (2, NULL, NULL, '');
CREATE INDEX "Odd Index" ON "Odd Schema"."Mixed Case" USING btree ("select", "a ""quote""" DESC);
COMMENT ON COLUMN "Odd Schema"."Mixed Case"."a ""quote""" IS 'odd';
CREATE TABLE dropped_column (a integer, b text, c integer DEFAULT 3, UNIQUE (a, c));
INSERT INTO dropped_column VALUES (1, 'b', 2);
ALTER TABLE dropped_column DROP COLUMN b;
ALTER TABLE dropped_column ADD COLUMN d integer DEFAULT 4 NOT NULL;
CREATE TABLE keyless (a integer, b text);
INSERT INTO keyless VALUES (1, 'x'), (1, 'x'), (NULL, NULL);

CREATE VIEW sales.paid AS
    SELECT o.id, c.email, o.net, o.gross FROM sales.orders o JOIN sales.customers c ON c.id = o.customer
    WHERE o.state = 'Paid';
COMMENT ON VIEW sales.paid IS 'who has paid';
CREATE VIEW totals (customer, orders, "Sum") AS
    SELECT customer, count(*), sum(net) FROM sales.orders GROUP BY customer HAVING count(*) > 0 ORDER BY 3 DESC;
CREATE VIEW on_view AS SELECT email, net + 1 AS more FROM sales.paid;

CREATE FUNCTION with_tax(amount numeric, rate numeric DEFAULT 0.2) RETURNS numeric
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
    AS $$SELECT amount * (1 + rate)$$;
COMMENT ON FUNCTION with_tax(numeric, numeric) IS 'what it costs';
CREATE FUNCTION with_tax(amount integer) RETURNS integer LANGUAGE sql AS 'SELECT amount + 1';
CREATE FUNCTION sales.orders_of(who integer) RETURNS SETOF sales.orders
    LANGUAGE sql STABLE ROWS 5
    AS $$SELECT * FROM sales.orders WHERE customer = who ORDER BY id$$;
CREATE FUNCTION sales.summary(OUT orders bigint, OUT total numeric) LANGUAGE plpgsql AS $body$
BEGIN
    -- a comment with 'quotes' and $$ dollars $$
    SELECT count(*), sum(net) INTO orders, total FROM sales.orders;
END
$body$;
CREATE FUNCTION names_of(kind mood) RETURNS TABLE (name text, length integer) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT c.name, length(c.name) FROM sales.customers c ORDER BY c.id;
END $$;
CREATE PROCEDURE sales.ship(IN which bigint, INOUT done boolean DEFAULT false) LANGUAGE plpgsql AS $$
BEGIN
    UPDATE sales.orders SET state = 'shipped' WHERE id = which;
    done := FOUND;
END $$;
COMMENT ON PROCEDURE sales.ship(bigint, boolean) IS 'off it goes';
CREATE FUNCTION "Odd Schema"."Mixed Function"("First Argument" text, numbers integer[]) RETURNS text[]
    LANGUAGE sql SET search_path TO 'sales', 'public'
    AS $$SELECT ARRAY["First Argument"]$$;

-- Domains, some of which are made of what comes later in the alphabet.
CREATE FUNCTION zz_is_even(i integer) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT i % 2 = 0';
CREATE DOMAIN zz_positive AS integer CHECK (VALUE > 0);
CREATE DOMAIN aa_small AS zz_positive DEFAULT 1 NOT NULL;
CREATE DOMAIN aa_even AS integer CHECK (zz_is_even(VALUE));
CREATE DOMAIN aa_good AS mood CHECK (VALUE IS NOT NULL);
CREATE DOMAIN sales.code AS character varying(8) DEFAULT 'none' CHECK (VALUE <> '') CHECK (VALUE !~ ' ');
ALTER DOMAIN sales.code ADD CONSTRAINT long_enough CHECK (length(VALUE) > 1) NOT VALID;
COMMENT ON DOMAIN zz_positive IS 'more than nothing';
CREATE TABLE of_domains (
    id zz_positive PRIMARY KEY,
    small aa_small,
    even aa_even,
    code sales.code
);
INSERT INTO of_domains VALUES (1, 2, 4, 'ab'), (2, DEFAULT, NULL, DEFAULT);

-- Materialized views, one of them on another, and one without rows.
CREATE MATERIALIZED VIEW sales.by_customer (customer, orders) AS
    SELECT c.name, count(o.id) FROM sales.customers c LEFT JOIN sales.orders o ON o.customer = c.id GROUP BY c.name;
CREATE UNIQUE INDEX by_customer_key ON sales.by_customer (customer);
CREATE INDEX by_customer_busy ON sales.by_customer (orders DESC) WHERE orders > 1;
COMMENT ON MATERIALIZED VIEW sales.by_customer IS 'as of the last refresh';
COMMENT ON COLUMN sales.by_customer.orders IS 'how many';
CREATE MATERIALIZED VIEW "Busy" AS SELECT customer AS "Who" FROM sales.by_customer WHERE orders > 0;
CREATE MATERIALIZED VIEW not_yet AS SELECT 1 AS one WITH NO DATA;
CREATE VIEW on_materialized AS SELECT "Who" FROM "Busy";

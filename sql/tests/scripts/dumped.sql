-- What pg_dump writes of an application's schema and its rows, comments left out.
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
CREATE TYPE public.status AS ENUM (
    'new',
    'paid',
    'shipped'
);
ALTER TYPE public.status OWNER TO CURRENT_USER;
CREATE FUNCTION public.add_tax(p numeric) RETURNS numeric
    LANGUAGE sql IMMUTABLE
    AS $$select p * 1.2$$;
ALTER FUNCTION public.add_tax(p numeric) OWNER TO CURRENT_USER;
CREATE FUNCTION public.bump(i integer) RETURNS integer
    LANGUAGE plpgsql
    AS $$ begin update products set price = price + 1 where id = i; return i; end $$;
ALTER FUNCTION public.bump(i integer) OWNER TO CURRENT_USER;
CREATE PROCEDURE public.ship(IN o bigint)
    LANGUAGE plpgsql
    AS $$ begin update orders set status = 'shipped' where id = o; end $$;
ALTER PROCEDURE public.ship(IN o bigint) OWNER TO CURRENT_USER;
CREATE TABLE public.customers (
    id integer NOT NULL,
    email character varying(100) NOT NULL,
    name text NOT NULL,
    created timestamp with time zone DEFAULT now() NOT NULL,
    meta jsonb DEFAULT '{}'::jsonb,
    tags text[]
);
ALTER TABLE public.customers OWNER TO CURRENT_USER;
CREATE SEQUENCE public.customers_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER TABLE public.customers_id_seq OWNER TO CURRENT_USER;
ALTER SEQUENCE public.customers_id_seq OWNED BY public.customers.id;
CREATE SEQUENCE public.invoice_no
    START WITH 1000
    INCREMENT BY 5
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER TABLE public.invoice_no OWNER TO CURRENT_USER;
CREATE TABLE public.items (
    order_id bigint NOT NULL,
    product_id integer NOT NULL,
    qty integer DEFAULT 1 NOT NULL,
    price numeric(10,2),
    total numeric GENERATED ALWAYS AS (((qty)::numeric * price)) STORED
);
ALTER TABLE public.items OWNER TO CURRENT_USER;
CREATE TABLE public.orders (
    id bigint NOT NULL,
    customer_id integer NOT NULL,
    status public.status DEFAULT 'new'::public.status NOT NULL,
    placed timestamp with time zone DEFAULT CURRENT_TIMESTAMP,
    total numeric(12,2)
);
ALTER TABLE public.orders OWNER TO CURRENT_USER;
CREATE SEQUENCE public.orders_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER TABLE public.orders_id_seq OWNER TO CURRENT_USER;
ALTER SEQUENCE public.orders_id_seq OWNED BY public.orders.id;
CREATE VIEW public.paid AS
 SELECT o.id,
    c.email,
    o.total
   FROM (public.orders o
     JOIN public.customers c ON ((c.id = o.customer_id)))
  WHERE (o.status = 'paid'::public.status);
ALTER TABLE public.paid OWNER TO CURRENT_USER;
CREATE TABLE public.products (
    id integer NOT NULL,
    sku character(8) NOT NULL,
    price numeric(10,2) NOT NULL,
    title text,
    CONSTRAINT products_price_check CHECK ((price >= (0)::numeric))
);
ALTER TABLE public.products OWNER TO CURRENT_USER;
ALTER TABLE public.products ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.products_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
ALTER TABLE ONLY public.customers ALTER COLUMN id SET DEFAULT nextval('public.customers_id_seq'::regclass);
ALTER TABLE ONLY public.orders ALTER COLUMN id SET DEFAULT nextval('public.orders_id_seq'::regclass);
COPY public.customers (id, email, name, created, meta, tags) FROM stdin;
1	a@x	Ann	2026-11-23 23:47:45.031662+00	{}	{a,b}
2	b@x	Bob\ttab	2026-11-23 23:47:45.031662+00	{}	\N
\.
COPY public.items (order_id, product_id, qty, price) FROM stdin;
1	1	2	1.50
1	2	1	2.00
\.
COPY public.orders (id, customer_id, status, placed, total) FROM stdin;
1	1	paid	2026-11-23 23:47:45.038209+00	\N
2	2	new	2026-11-23 23:47:45.038209+00	\N
\.
COPY public.products (id, sku, price, title) FROM stdin;
1	A       	1.50	\N
2	B       	2.00	\N
\.
SELECT pg_catalog.setval('public.customers_id_seq', 2, true);
SELECT pg_catalog.setval('public.invoice_no', 1000, true);
SELECT pg_catalog.setval('public.orders_id_seq', 2, true);
SELECT pg_catalog.setval('public.products_id_seq', 2, true);
ALTER TABLE ONLY public.customers
    ADD CONSTRAINT customers_email_key UNIQUE (email);
ALTER TABLE ONLY public.customers
    ADD CONSTRAINT customers_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.items
    ADD CONSTRAINT items_pkey PRIMARY KEY (order_id, product_id);
ALTER TABLE ONLY public.orders
    ADD CONSTRAINT orders_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.products
    ADD CONSTRAINT products_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.products
    ADD CONSTRAINT sku_u UNIQUE (sku);
CREATE INDEX customers_lower ON public.customers USING btree (lower((email)::text));
CREATE INDEX orders_status ON public.orders USING btree (status, placed DESC) WHERE (status <> 'shipped'::public.status);
ALTER TABLE ONLY public.items
    ADD CONSTRAINT items_order_id_fkey FOREIGN KEY (order_id) REFERENCES public.orders(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.items
    ADD CONSTRAINT items_product_id_fkey FOREIGN KEY (product_id) REFERENCES public.products(id);
ALTER TABLE ONLY public.orders
    ADD CONSTRAINT orders_customer_id_fkey FOREIGN KEY (customer_id) REFERENCES public.customers(id) ON DELETE CASCADE;
SELECT * FROM public.paid;
SET search_path = public;
SELECT pg_get_viewdef('paid'::regclass);
SELECT * FROM items ORDER BY 1, 2;
INSERT INTO orders (customer_id) VALUES (2) RETURNING id, status;
INSERT INTO products (sku, price) VALUES ('C', 3) RETURNING id;
SELECT bump(1), add_tax(10), nextval('invoice_no');
CALL ship(1);
SELECT id, status FROM orders ORDER BY id;
SELECT pg_get_serial_sequence('products', 'id'), pg_get_serial_sequence('customers', 'id');
ALTER SEQUENCE invoice_no OWNER TO CURRENT_USER;
ALTER VIEW paid OWNER TO nobody_at_all;
ALTER TABLE nothing OWNER TO CURRENT_USER;
ALTER FUNCTION add_tax(int) OWNER TO CURRENT_USER;
CREATE FUNCTION late() RETURNS int LANGUAGE sql AS 'SELECT a FROM comes_later';
CREATE TABLE comes_later (a int);
SELECT late();

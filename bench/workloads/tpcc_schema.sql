-- TPC-C (revision 5.11), clause 1.3: the nine tables.
--
-- Representation: money in cents and percentages in hundredths of a per cent, both as integers (clause 1.3.1 leaves it open).
-- Two secondary indexes: customers are also found by last name, and the latest order by its customer.
-- history gets a key, the customer and the number of the payment, so that the same history has the same bytes.

CREATE TABLE warehouse (
    w_id integer PRIMARY KEY,
    w_name text NOT NULL,
    w_street_1 text NOT NULL,
    w_street_2 text NOT NULL,
    w_city text NOT NULL,
    w_state text NOT NULL,
    w_zip text NOT NULL,
    w_tax integer NOT NULL,
    w_ytd bigint NOT NULL
);

CREATE TABLE district (
    d_w_id integer NOT NULL,
    d_id integer NOT NULL,
    d_name text NOT NULL,
    d_street_1 text NOT NULL,
    d_street_2 text NOT NULL,
    d_city text NOT NULL,
    d_state text NOT NULL,
    d_zip text NOT NULL,
    d_tax integer NOT NULL,
    d_ytd bigint NOT NULL,
    d_next_o_id integer NOT NULL,
    PRIMARY KEY (d_w_id, d_id)
);

CREATE TABLE customer (
    c_w_id integer NOT NULL,
    c_d_id integer NOT NULL,
    c_id integer NOT NULL,
    c_first text NOT NULL,
    c_middle text NOT NULL,
    c_last text NOT NULL,
    c_street_1 text NOT NULL,
    c_street_2 text NOT NULL,
    c_city text NOT NULL,
    c_state text NOT NULL,
    c_zip text NOT NULL,
    c_phone text NOT NULL,
    c_since timestamp NOT NULL,
    c_credit text NOT NULL,
    c_credit_lim bigint NOT NULL,
    c_discount integer NOT NULL,
    c_balance bigint NOT NULL,
    c_ytd_payment bigint NOT NULL,
    c_payment_cnt integer NOT NULL,
    c_delivery_cnt integer NOT NULL,
    c_data text NOT NULL,
    PRIMARY KEY (c_w_id, c_d_id, c_id)
);

CREATE INDEX customer_by_name ON customer (c_w_id, c_d_id, c_last, c_first);

CREATE TABLE history (
    h_c_w_id integer NOT NULL,
    h_c_d_id integer NOT NULL,
    h_c_id integer NOT NULL,
    h_number integer NOT NULL,
    h_d_id integer NOT NULL,
    h_w_id integer NOT NULL,
    h_date timestamp NOT NULL,
    h_amount bigint NOT NULL,
    h_data text NOT NULL,
    PRIMARY KEY (h_c_w_id, h_c_d_id, h_c_id, h_number)
);

CREATE TABLE orders (
    o_w_id integer NOT NULL,
    o_d_id integer NOT NULL,
    o_id integer NOT NULL,
    o_c_id integer NOT NULL,
    o_entry_d timestamp NOT NULL,
    o_carrier_id integer,
    o_ol_cnt integer NOT NULL,
    o_all_local integer NOT NULL,
    PRIMARY KEY (o_w_id, o_d_id, o_id)
);

CREATE INDEX orders_by_customer ON orders (o_w_id, o_d_id, o_c_id, o_id);

CREATE TABLE new_order (
    no_w_id integer NOT NULL,
    no_d_id integer NOT NULL,
    no_o_id integer NOT NULL,
    PRIMARY KEY (no_w_id, no_d_id, no_o_id)
);

CREATE TABLE order_line (
    ol_w_id integer NOT NULL,
    ol_d_id integer NOT NULL,
    ol_o_id integer NOT NULL,
    ol_number integer NOT NULL,
    ol_i_id integer NOT NULL,
    ol_supply_w_id integer NOT NULL,
    ol_delivery_d timestamp,
    ol_quantity integer NOT NULL,
    ol_amount bigint NOT NULL,
    ol_dist_info text NOT NULL,
    PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)
);

CREATE TABLE item (
    i_id integer PRIMARY KEY,
    i_im_id integer NOT NULL,
    i_name text NOT NULL,
    i_price bigint NOT NULL,
    i_data text NOT NULL
);

CREATE TABLE stock (
    s_w_id integer NOT NULL,
    s_i_id integer NOT NULL,
    s_quantity integer NOT NULL,
    s_dist_01 text NOT NULL,
    s_dist_02 text NOT NULL,
    s_dist_03 text NOT NULL,
    s_dist_04 text NOT NULL,
    s_dist_05 text NOT NULL,
    s_dist_06 text NOT NULL,
    s_dist_07 text NOT NULL,
    s_dist_08 text NOT NULL,
    s_dist_09 text NOT NULL,
    s_dist_10 text NOT NULL,
    s_ytd bigint NOT NULL,
    s_order_cnt integer NOT NULL,
    s_remote_cnt integer NOT NULL,
    s_data text NOT NULL,
    PRIMARY KEY (s_w_id, s_i_id)
);

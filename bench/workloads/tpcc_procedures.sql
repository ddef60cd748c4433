-- TPC-C (revision 5.11), clause 2: the five transactions.
--
-- What a terminal would show comes back in INOUT parameters; line by line output (items of an order) is left out.
-- New-Order of an unused item raises P0002, which is the rollback of clause 2.4.1.4.
-- FOR UPDATE says early what will be written, so that two transactions do not both read a row and then wait for each other.

CREATE PROCEDURE tpcc_new_order(
    w integer, d integer, c integer, items integer[], suppliers smallint[], quantities smallint[],
    INOUT total bigint)
LANGUAGE plpgsql AS $$
DECLARE
    lines integer := array_length(items, 1);
    warehouse_tax integer;
    district_tax integer;
    order_id integer;
    discount integer;
    all_local integer := 1;
    ordered_item integer;
    supplier integer;
    quantity integer;
    price bigint;
    dist_info text;
    amount bigint;
    entered timestamp := localtimestamp;
BEGIN
    SELECT w_tax INTO STRICT warehouse_tax FROM warehouse WHERE w_id = w;
    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = w AND d_id = d
        RETURNING d_tax, d_next_o_id - 1 INTO STRICT district_tax, order_id;
    SELECT c_discount INTO STRICT discount FROM customer WHERE c_w_id = w AND c_d_id = d AND c_id = c;
    FOR i IN 1 .. lines LOOP
        IF suppliers[i] <> w THEN
            all_local := 0;
        END IF;
    END LOOP;
    INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
        VALUES (w, d, order_id, c, entered, NULL, lines, all_local);
    INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (w, d, order_id);
    total := 0;
    FOR i IN 1 .. lines LOOP
        ordered_item := items[i];
        supplier := suppliers[i];
        quantity := quantities[i];
        SELECT i_price INTO price FROM item WHERE i_id = ordered_item;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'Item number is not valid' USING ERRCODE = 'P0002';
        END IF;
        UPDATE stock
            SET s_quantity = s_quantity - quantity + CASE WHEN s_quantity >= quantity + 10 THEN 0 ELSE 91 END,
                s_ytd = s_ytd + quantity, s_order_cnt = s_order_cnt + 1,
                s_remote_cnt = s_remote_cnt + CASE WHEN supplier = w THEN 0 ELSE 1 END
            WHERE s_w_id = supplier AND s_i_id = ordered_item
            RETURNING CASE d WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03
                             WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06
                             WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09
                             ELSE s_dist_10 END
            INTO STRICT dist_info;
        amount := quantity * price;
        total := total + amount;
        INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d,
                                ol_quantity, ol_amount, ol_dist_info)
            VALUES (w, d, order_id, i, ordered_item, supplier, NULL, quantity, amount, dist_info);
    END LOOP;
    total := total * (10000 - discount) / 10000 * (10000 + warehouse_tax + district_tax) / 10000;
END
$$;

-- The customer in the middle of those with this last name, by first name (clause 2.5.2.2).
CREATE FUNCTION tpcc_customer_by_name(w integer, d integer, last_name text) RETURNS integer
LANGUAGE plpgsql STABLE AS $$
DECLARE
    namesakes integer[];
BEGIN
    SELECT array_agg(c_id ORDER BY c_first, c_id) INTO namesakes
        FROM customer WHERE c_w_id = w AND c_d_id = d AND c_last = last_name;
    IF namesakes IS NULL THEN
        RAISE EXCEPTION 'no customer of this name' USING ERRCODE = 'P0002';
    END IF;
    RETURN namesakes[(array_length(namesakes, 1) + 1) / 2];
END
$$;

-- The customer is named by number, or by last name when the number is null.
CREATE PROCEDURE tpcc_payment(
    w integer, d integer, customer_w integer, customer_d integer, last_name text, amount bigint,
    INOUT c integer, INOUT balance bigint)
LANGUAGE plpgsql AS $$
DECLARE
    warehouse_name text;
    district_name text;
    payments integer;
    credit text;
    note text;
BEGIN
    UPDATE warehouse SET w_ytd = w_ytd + amount WHERE w_id = w RETURNING w_name INTO STRICT warehouse_name;
    UPDATE district SET d_ytd = d_ytd + amount WHERE d_w_id = w AND d_id = d
        RETURNING d_name INTO STRICT district_name;
    IF c IS NULL THEN
        c := tpcc_customer_by_name(customer_w, customer_d, last_name);
    END IF;
    UPDATE customer
        SET c_balance = c_balance - amount, c_ytd_payment = c_ytd_payment + amount,
            c_payment_cnt = c_payment_cnt + 1
        WHERE c_w_id = customer_w AND c_d_id = customer_d AND c_id = c
        RETURNING c_balance, c_payment_cnt, c_credit INTO STRICT balance, payments, credit;
    IF credit = 'BC' THEN
        note := c || ' ' || customer_d || ' ' || customer_w || ' ' || d || ' ' || w || ' ' || amount || ' | ';
        UPDATE customer SET c_data = substr(note || c_data, 1, 500)
            WHERE c_w_id = customer_w AND c_d_id = customer_d AND c_id = c;
    END IF;
    INSERT INTO history (h_c_w_id, h_c_d_id, h_c_id, h_number, h_d_id, h_w_id, h_date, h_amount, h_data)
        VALUES (customer_w, customer_d, c, payments, d, w, localtimestamp, amount,
                warehouse_name || '    ' || district_name);
END
$$;

CREATE PROCEDURE tpcc_order_status(
    w integer, d integer, last_name text,
    INOUT c integer, INOUT balance bigint, INOUT order_id integer, INOUT carrier integer, INOUT ordered bigint)
LANGUAGE plpgsql AS $$
BEGIN
    IF c IS NULL THEN
        c := tpcc_customer_by_name(w, d, last_name);
    END IF;
    SELECT c_balance INTO STRICT balance FROM customer WHERE c_w_id = w AND c_d_id = d AND c_id = c;
    SELECT o_id, o_carrier_id INTO STRICT order_id, carrier FROM orders
        WHERE o_w_id = w AND o_d_id = d AND o_c_id = c ORDER BY o_id DESC LIMIT 1;
    SELECT sum(ol_quantity) INTO ordered FROM order_line
        WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = order_id;
END
$$;

-- The oldest undelivered order of each district of a warehouse; `skipped` counts the districts without one.
CREATE PROCEDURE tpcc_delivery(w integer, carrier integer, INOUT skipped integer)
LANGUAGE plpgsql AS $$
DECLARE
    order_id integer;
    c integer;
    amount bigint;
    delivered timestamp := localtimestamp;
BEGIN
    skipped := 0;
    FOR d IN 1 .. 10 LOOP
        SELECT no_o_id INTO order_id FROM new_order WHERE no_w_id = w AND no_d_id = d ORDER BY no_o_id LIMIT 1
            FOR UPDATE;
        IF NOT FOUND THEN
            skipped := skipped + 1;
            CONTINUE;
        END IF;
        DELETE FROM new_order WHERE no_w_id = w AND no_d_id = d AND no_o_id = order_id;
        UPDATE orders SET o_carrier_id = carrier WHERE o_w_id = w AND o_d_id = d AND o_id = order_id
            RETURNING o_c_id INTO STRICT c;
        UPDATE order_line SET ol_delivery_d = delivered WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = order_id;
        SELECT sum(ol_amount) INTO STRICT amount FROM order_line
            WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = order_id;
        UPDATE customer SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1
            WHERE c_w_id = w AND c_d_id = d AND c_id = c;
    END LOOP;
END
$$;

CREATE PROCEDURE tpcc_stock_level(w integer, d integer, threshold integer, INOUT low integer)
LANGUAGE plpgsql AS $$
DECLARE
    next_order integer;
BEGIN
    SELECT d_next_o_id INTO STRICT next_order FROM district WHERE d_w_id = w AND d_id = d;
    SELECT count(DISTINCT ol_i_id) INTO low
        FROM order_line JOIN stock ON s_w_id = w AND s_i_id = ol_i_id
        WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id >= next_order - 20 AND ol_o_id < next_order
            AND s_quantity < threshold;
END
$$;

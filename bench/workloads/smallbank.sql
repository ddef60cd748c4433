-- SmallBank (Alomari et al., ICDE 2008): six short transactions over a customer's savings and checking balance.
--
-- Amounts are cents. A customer is found by name, as in the original, through the table account, which stands for the index on it.

CREATE TABLE account (
    name text PRIMARY KEY,
    customer integer NOT NULL
);

CREATE TABLE savings (
    customer integer PRIMARY KEY,
    balance bigint NOT NULL
);

CREATE TABLE checking (
    customer integer PRIMARY KEY,
    balance bigint NOT NULL
);

CREATE PROCEDURE smallbank_balance(owner text, INOUT total bigint)
LANGUAGE plpgsql AS $$
DECLARE
    id integer;
    saved bigint;
BEGIN
    SELECT customer INTO STRICT id FROM account WHERE name = owner;
    SELECT balance INTO STRICT saved FROM savings WHERE customer = id;
    SELECT balance INTO STRICT total FROM checking WHERE customer = id;
    total := total + saved;
END
$$;

CREATE PROCEDURE smallbank_deposit_checking(owner text, amount bigint)
LANGUAGE plpgsql AS $$
DECLARE
    id integer;
BEGIN
    IF amount < 0 THEN
        RAISE EXCEPTION 'a deposit must not be negative' USING ERRCODE = '22023';
    END IF;
    SELECT customer INTO STRICT id FROM account WHERE name = owner;
    UPDATE checking SET balance = balance + amount WHERE customer = id;
END
$$;

CREATE PROCEDURE smallbank_transact_savings(owner text, amount bigint)
LANGUAGE plpgsql AS $$
DECLARE
    id integer;
    saved bigint;
BEGIN
    SELECT customer INTO STRICT id FROM account WHERE name = owner;
    SELECT balance INTO STRICT saved FROM savings WHERE customer = id FOR UPDATE;
    IF saved + amount < 0 THEN
        RAISE EXCEPTION 'savings would become negative' USING ERRCODE = '23514';
    END IF;
    UPDATE savings SET balance = saved + amount WHERE customer = id;
END
$$;

CREATE PROCEDURE smallbank_amalgamate(giver text, taker text)
LANGUAGE plpgsql AS $$
DECLARE
    giver_id integer;
    taker_id integer;
    saved bigint;
    checked bigint;
BEGIN
    SELECT customer INTO STRICT giver_id FROM account WHERE name = giver;
    SELECT customer INTO STRICT taker_id FROM account WHERE name = taker;
    SELECT balance INTO STRICT saved FROM savings WHERE customer = giver_id FOR UPDATE;
    SELECT balance INTO STRICT checked FROM checking WHERE customer = giver_id FOR UPDATE;
    UPDATE savings SET balance = 0 WHERE customer = giver_id;
    UPDATE checking SET balance = 0 WHERE customer = giver_id;
    UPDATE checking SET balance = balance + saved + checked WHERE customer = taker_id;
END
$$;

CREATE PROCEDURE smallbank_write_check(owner text, amount bigint)
LANGUAGE plpgsql AS $$
DECLARE
    id integer;
    saved bigint;
    checked bigint;
BEGIN
    SELECT customer INTO STRICT id FROM account WHERE name = owner;
    SELECT balance INTO STRICT saved FROM savings WHERE customer = id;
    SELECT balance INTO STRICT checked FROM checking WHERE customer = id FOR UPDATE;
    IF saved + checked < amount THEN
        -- The penalty for an overdraft is one dollar.
        UPDATE checking SET balance = checked - amount - 100 WHERE customer = id;
    ELSE
        UPDATE checking SET balance = checked - amount WHERE customer = id;
    END IF;
END
$$;

CREATE PROCEDURE smallbank_send_payment(giver text, taker text, amount bigint)
LANGUAGE plpgsql AS $$
DECLARE
    giver_id integer;
    taker_id integer;
    checked bigint;
BEGIN
    SELECT customer INTO STRICT giver_id FROM account WHERE name = giver;
    SELECT customer INTO STRICT taker_id FROM account WHERE name = taker;
    SELECT balance INTO STRICT checked FROM checking WHERE customer = giver_id FOR UPDATE;
    IF checked < amount THEN
        RAISE EXCEPTION 'not enough money' USING ERRCODE = '23514';
    END IF;
    UPDATE checking SET balance = checked - amount WHERE customer = giver_id;
    UPDATE checking SET balance = balance + amount WHERE customer = taker_id;
END
$$;

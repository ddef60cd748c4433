-- The bank of the PACMAN paper (Wu et al., SIGMOD 2017, figures 2 and 4): transfer and deposit.
--
-- Amounts are cents. The bonus of a deposit, two per cent, is rounded down.

CREATE TABLE spouse (
    name integer PRIMARY KEY,
    spouse_name integer
);

CREATE TABLE current_account (
    name integer PRIMARY KEY,
    value bigint NOT NULL
);

CREATE TABLE saving_account (
    name integer PRIMARY KEY,
    value bigint NOT NULL
);

CREATE TABLE nation_stats (
    nation integer PRIMARY KEY,
    large_deposits bigint NOT NULL
);

CREATE PROCEDURE bank_transfer(src integer, amount bigint)
LANGUAGE plpgsql AS $$
DECLARE
    dst integer;
    src_value bigint;
    dst_value bigint;
    bonus bigint;
BEGIN
    SELECT spouse_name INTO STRICT dst FROM spouse WHERE name = src;
    IF dst IS NOT NULL THEN
        SELECT value INTO STRICT src_value FROM current_account WHERE name = src FOR UPDATE;
        UPDATE current_account SET value = src_value - amount WHERE name = src;
        SELECT value INTO STRICT dst_value FROM current_account WHERE name = dst FOR UPDATE;
        UPDATE current_account SET value = dst_value + amount WHERE name = dst;
        SELECT value INTO STRICT bonus FROM saving_account WHERE name = src FOR UPDATE;
        UPDATE saving_account SET value = bonus + 100 WHERE name = src;
    END IF;
END
$$;

CREATE PROCEDURE bank_deposit(src integer, amount bigint, src_nation integer)
LANGUAGE plpgsql AS $$
DECLARE
    tmp bigint;
    bonus bigint;
BEGIN
    SELECT value INTO STRICT tmp FROM current_account WHERE name = src FOR UPDATE;
    UPDATE current_account SET value = tmp + amount WHERE name = src;
    IF tmp + amount > 1000000 THEN
        SELECT value INTO STRICT bonus FROM saving_account WHERE name = src FOR UPDATE;
        UPDATE saving_account SET value = bonus + tmp / 50 WHERE name = src;
        UPDATE nation_stats SET large_deposits = large_deposits + 1 WHERE nation = src_nation;
    END IF;
END
$$;

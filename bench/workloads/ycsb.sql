-- YCSB: one table of rows with ten fields of 100 bytes, and a transaction that touches some of them.
--
-- A key stands for an access: positive reads a field, negative writes one. So the arguments of a call, which is all that command
-- logging keeps, are the keys and ten characters; the field of 100 bytes is made of them inside the database.
-- Keys count from 1. ycsb_2 is the same for two accesses, without an array.

CREATE TABLE usertable (
    ycsb_key integer PRIMARY KEY,
    field0 text NOT NULL,
    field1 text NOT NULL,
    field2 text NOT NULL,
    field3 text NOT NULL,
    field4 text NOT NULL,
    field5 text NOT NULL,
    field6 text NOT NULL,
    field7 text NOT NULL,
    field8 text NOT NULL,
    field9 text NOT NULL
);

CREATE PROCEDURE ycsb(accesses integer[], seed text)
LANGUAGE plpgsql AS $$
DECLARE
    access integer;
    found_field text;
BEGIN
    FOR i IN 1 .. array_length(accesses, 1) LOOP
        access := accesses[i];
        IF access > 0 THEN
            SELECT field0 INTO STRICT found_field FROM usertable WHERE ycsb_key = access;
        ELSE
            UPDATE usertable SET field0 = repeat(seed, 10) WHERE ycsb_key = -access;
        END IF;
    END LOOP;
END
$$;

CREATE PROCEDURE ycsb_2(access_1 integer, access_2 integer, seed text)
LANGUAGE plpgsql AS $$
DECLARE
    found_field text;
BEGIN
    IF access_1 > 0 THEN
        SELECT field0 INTO STRICT found_field FROM usertable WHERE ycsb_key = access_1;
    ELSE
        UPDATE usertable SET field0 = repeat(seed, 10) WHERE ycsb_key = -access_1;
    END IF;
    IF access_2 > 0 THEN
        SELECT field0 INTO STRICT found_field FROM usertable WHERE ycsb_key = access_2;
    ELSE
        UPDATE usertable SET field0 = repeat(seed, 10) WHERE ycsb_key = -access_2;
    END IF;
END
$$;

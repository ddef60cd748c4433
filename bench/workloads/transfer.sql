-- Transfer: money moves between two accounts. The smallest transaction that can lose something.
--
-- The caller names the account with the smaller number first, so two transfers never wait for each other in a circle.

CREATE TABLE account (
    id bigint PRIMARY KEY,
    balance bigint NOT NULL
);

CREATE PROCEDURE transfer(from_id bigint, to_id bigint, amount bigint)
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE account SET balance = balance - amount WHERE id = from_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no such account' USING ERRCODE = 'P0002';
    END IF;
    UPDATE account SET balance = balance + amount WHERE id = to_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no such account' USING ERRCODE = 'P0002';
    END IF;
END
$$;

-- A ledger with procedures: entries that balance, functions with defaults of enum types, views over views.
CREATE SCHEMA ledger;
CREATE TYPE ledger.side AS ENUM ('debit', 'credit');
CREATE TYPE ledger."Account Kind" AS ENUM ('asset', 'liability', 'equity');
CREATE SEQUENCE ledger.entry_numbers AS bigint START WITH 1000 CACHE 10;
CREATE TABLE ledger.accounts (
    code text PRIMARY KEY CHECK (length(code) >= 2 AND length(code) <= 12 AND code = upper(code)),
    kind ledger."Account Kind" NOT NULL,
    currency character(3) DEFAULT 'EUR' NOT NULL,
    opened date DEFAULT '2024-01-01' NOT NULL,
    normal ledger.side GENERATED ALWAYS AS (CASE WHEN kind = 'asset' THEN 'debit'::ledger.side ELSE 'credit'::ledger.side END) STORED
);
CREATE TABLE ledger.entries (
    number bigint DEFAULT nextval('ledger.entry_numbers'::regclass) NOT NULL,
    line smallint NOT NULL CHECK (line > 0),
    account text NOT NULL REFERENCES ledger.accounts (code) ON UPDATE CASCADE,
    side ledger.side NOT NULL,
    amount numeric(18,2) NOT NULL,
    booked timestamp with time zone NOT NULL,
    signed numeric GENERATED ALWAYS AS (CASE side WHEN 'debit' THEN amount ELSE - amount END) STORED,
    CONSTRAINT entries_pkey PRIMARY KEY (number, line),
    CONSTRAINT amount_is_positive CHECK (amount > 0::numeric)
);
ALTER SEQUENCE ledger.entry_numbers OWNED BY ledger.entries.number;
CREATE INDEX entries_by_account ON ledger.entries (account, booked DESC) INCLUDE (amount);
CREATE INDEX large_debits ON ledger.entries (amount) WHERE side = 'debit' AND amount >= 1000;
CREATE FUNCTION ledger.opposite(of_side ledger.side DEFAULT 'debit') RETURNS ledger.side LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF of_side = 'debit' THEN RETURN 'credit'; END IF;
    RETURN 'debit';
END $$;
CREATE FUNCTION ledger.balance(of_account text, until timestamp with time zone DEFAULT 'infinity') RETURNS numeric LANGUAGE plpgsql STABLE AS $$
DECLARE total numeric;
BEGIN
    SELECT sum(signed) INTO total FROM ledger.entries WHERE account = of_account AND booked <= until;
    RETURN coalesce(total, 0);
END $$;
CREATE PROCEDURE ledger.book(from_account text, to_account text, sum_of numeric, at_time timestamp with time zone, INOUT entry bigint DEFAULT NULL) LANGUAGE plpgsql AS $$
BEGIN
    entry = nextval('ledger.entry_numbers');
    INSERT INTO ledger.entries (number, line, account, side, amount, booked) VALUES
        (entry, 1, to_account, 'debit', sum_of, at_time), (entry, 2, from_account, ledger.opposite(), sum_of, at_time);
END $$;
COMMENT ON FUNCTION ledger.balance(text, timestamp with time zone) IS 'what is left';
COMMENT ON PROCEDURE ledger.book(text, text, numeric, timestamp with time zone, bigint) IS 'two lines';
INSERT INTO ledger.accounts (code, kind) VALUES ('BANK', 'asset'), ('CASH', 'asset'), ('SALES', 'equity');
CALL ledger.book('SALES', 'CASH', 1200.50, '2024-03-01 00:00:00+00');
CALL ledger.book('CASH', 'BANK', 200, '2024-03-02 00:00:00+00');
CREATE VIEW ledger.lines AS SELECT e.number, e.line, e.side, a.kind, e.signed FROM ledger.entries e JOIN ledger.accounts a ON a.code = e.account WHERE e.side = ANY ('{debit,credit}'::ledger.side[]);
CREATE VIEW ledger.totals (kind, side, total) AS SELECT kind, side, sum(signed) FROM ledger.lines WHERE kind <> 'liability' GROUP BY kind, side;
CREATE VIEW public.ledger_totals AS SELECT t.kind, t.total, ledger.opposite(t.side) AS other_side FROM ledger.totals t WHERE t.side = 'debit' ORDER BY t.kind, t.total DESC;
-- PostgreSQL's cached numbers are drawn ahead; from here on both go on with the same one.
SELECT setval('ledger.entry_numbers', 1020);

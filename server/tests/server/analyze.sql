CREATE TABLE account (id int PRIMARY KEY, owner text NOT NULL, balance bigint NOT NULL CHECK (balance >= 0));
CREATE TABLE journal (id bigint PRIMARY KEY, debit int, credit int, amount bigint, at timestamptz);
CREATE TABLE quota (owner text PRIMARY KEY, left_over int NOT NULL);
CREATE TABLE totals (day date PRIMARY KEY, amount bigint NOT NULL);
CREATE TABLE seat (show int, seat int, booked_by text, PRIMARY KEY (show, seat));
CREATE TABLE waiting (show int, who text, PRIMARY KEY (show, who));
CREATE TABLE price (show int PRIMARY KEY, amount bigint);
CREATE TABLE audit (what text, at timestamptz);
CREATE TABLE note (t text);
CREATE TABLE seen (id int PRIMARY KEY, n int);
CREATE FUNCTION fee(a bigint) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  RETURN greatest(1, a / 100);
END $$;
CREATE PROCEDURE pay(a int, b int, amount bigint, number bigint) LANGUAGE plpgsql AS $$
DECLARE
  payer text;
  charged bigint;
BEGIN
  charged := amount + fee(amount);
  UPDATE account SET balance = balance - charged WHERE id = a RETURNING owner INTO payer;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'no account %', a;
  END IF;
  UPDATE account SET balance = balance + amount WHERE id = b;
  UPDATE quota SET left_over = left_over - 1 WHERE owner = payer;
  INSERT INTO journal VALUES (number, a, b, amount, now());
  INSERT INTO totals VALUES (current_date, amount)
    ON CONFLICT (day) DO UPDATE SET amount = totals.amount + excluded.amount;
END $$;
CREATE PROCEDURE book(s int, wanted int[], guest text) LANGUAGE plpgsql AS $$
DECLARE
  n int;
  free boolean;
BEGIN
  FOREACH n IN ARRAY wanted LOOP
    BEGIN
      INSERT INTO seat VALUES (s, n, guest);
    EXCEPTION WHEN unique_violation THEN
      INSERT INTO waiting VALUES (s, guest) ON CONFLICT DO NOTHING;
      INSERT INTO audit VALUES ('taken: ' || n, now());
    END;
  END LOOP;
  INSERT INTO note VALUES (guest || ' has booked');
END $$;
CREATE PROCEDURE rotate(x int) LANGUAGE plpgsql AS $$
DECLARE
  b bigint;
  l int;
BEGIN
  SELECT balance INTO b FROM account WHERE id = x;
  UPDATE quota SET left_over = b WHERE owner = 'me' RETURNING left_over INTO l;
  UPDATE account SET balance = l WHERE id = x;
END $$;
CREATE PROCEDURE dynamic(t text) LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'delete from ' || t; END $$;

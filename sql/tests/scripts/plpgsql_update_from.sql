-- UPDATE ... FROM and DELETE ... USING in a body.
CREATE TABLE item (id int PRIMARY KEY, name text, price int, stock int);
CREATE TABLE delivery (id int, item int, amount int, note text);
INSERT INTO item VALUES (1, 'apple', 10, 0), (2, 'pear', 20, 5), (3, 'plum', 30, 7), (4, 'fig', 40, 1);
INSERT INTO delivery VALUES (1, 1, 100, 'a'), (2, 2, 50, 'b'), (3, 9, 1, 'none'), (4, 3, NULL, 'c'), (5, 2, 1, 'd');
create procedure restock(extra int) LANGUAGE plpgsql AS $$
DECLARE n int; r record;
BEGIN
  UPDATE item SET stock = item.stock + extra FROM delivery d WHERE d.item = item.id AND item.id <> 1;
  GET DIAGNOSTICS n = ROW_COUNT;
  RAISE NOTICE '% restocked', n;
  FOR r IN UPDATE item SET price = item.price + d.id FROM delivery d WHERE d.item = item.id RETURNING item.id, d.note LOOP
    RAISE NOTICE '% %', r.id, r.note;
  END LOOP;
  DELETE FROM item USING delivery d WHERE d.item = item.id AND d.note = 'c' RETURNING item.id INTO n;
  RAISE NOTICE 'gone: %', n;
END $$;
CALL restock(1000);
SELECT * FROM item ORDER BY id;

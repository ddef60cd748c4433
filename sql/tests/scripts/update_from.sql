-- UPDATE ... FROM and DELETE ... USING.
CREATE TABLE item (id int PRIMARY KEY, name text, price int, stock int);
CREATE TABLE delivery (id int, item int, amount int, note text);
INSERT INTO item VALUES (1, 'apple', 10, 0), (2, 'pear', 20, 5), (3, 'plum', 30, 7), (4, 'fig', 40, 1);
INSERT INTO delivery VALUES (1, 1, 100, 'a'), (2, 2, 50, 'b'), (3, 9, 1, 'none'), (4, 3, NULL, 'c');
UPDATE item SET stock = stock + amount FROM delivery WHERE item.id = delivery.item;
SELECT * FROM item ORDER BY id;
UPDATE item i SET name = d.note, price = price + d.id FROM delivery AS d WHERE d.item = i.id AND d.amount > 60 RETURNING i.*, d.note, price;
UPDATE item i SET price = 0 FROM delivery d WHERE d.item = i.id RETURNING *;
SELECT * FROM item ORDER BY id;
-- Several rows of the other table: one change.
INSERT INTO delivery VALUES (5, 1, 1000, 'twice');
UPDATE item SET stock = stock + 1 FROM delivery WHERE item.id = delivery.item;
SELECT id, stock FROM item ORDER BY id;
UPDATE item SET stock = stock + 1 FROM generate_series(1, 3) WHERE id = 4 RETURNING id, stock;
-- A statement does not see its own changes.
UPDATE item a SET price = b.id * 10 + b.price FROM item b WHERE b.id = a.id + 1 RETURNING a.id, a.price, b.price;
UPDATE item a SET price = b.price + 1 FROM item b WHERE b.id = a.id - 1;
SELECT id, price FROM item ORDER BY id;
UPDATE item SET price = (SELECT count(*) FROM item i WHERE i.price < item.price);
SELECT id, price FROM item ORDER BY id;
UPDATE item SET price = price + 1 WHERE EXISTS (SELECT FROM item i WHERE i.price = item.price + 1);
SELECT id, price FROM item ORDER BY id;
-- Keys that move.
UPDATE item SET id = item.id + 10 FROM delivery WHERE delivery.item = item.id;
UPDATE item SET id = id + 1 WHERE id > 10 RETURNING id, name;
SELECT id, name FROM item ORDER BY id;
UPDATE item SET id = id - 11 WHERE id > 10;
-- Joins, queries, VALUES and functions beside the table.
UPDATE item SET name = x.a || coalesce(y.note, '-') FROM (VALUES (1, 'one'), (2, 'two'), (3, 'three')) AS x(n, a)
  LEFT JOIN delivery y ON y.item = x.n AND y.amount < 100 WHERE x.n = item.id;
SELECT id, name FROM item ORDER BY id;
UPDATE item SET stock = s.total FROM (SELECT item, sum(amount) AS total FROM delivery GROUP BY item) s WHERE s.item = item.id;
UPDATE item SET stock = l.n FROM delivery d CROSS JOIN LATERAL (SELECT d.amount + 1 AS n) l WHERE d.item = item.id AND d.id = 2 RETURNING item.id, l.n, stock;
UPDATE item SET stock = -1 FROM delivery d FULL JOIN (SELECT 4 AS k) q ON d.item = q.k WHERE q.k = item.id;
SELECT id, stock FROM item ORDER BY id;
-- No common condition: every row, once.
UPDATE item SET price = 5 FROM delivery;
SELECT id, price FROM item ORDER BY id;
UPDATE item SET price = 6 FROM delivery WHERE delivery.id = 99;
-- Several columns at once.
UPDATE item SET (name, price) = ('x', 1) WHERE id = 1;
UPDATE item SET (name, price) = (SELECT note, amount FROM delivery d WHERE d.item = item.id AND d.id < 5), stock = 8 WHERE id < 4;
SELECT * FROM item ORDER BY id;
UPDATE item SET (price, stock) = (SELECT max(id), min(id) FROM item);
UPDATE item SET (price, stock) = (SELECT price + id, i.id FROM item i WHERE i.id = item.id) FROM delivery d WHERE d.item = item.id RETURNING item.*, d.id;
SELECT * FROM item ORDER BY id;
UPDATE item SET (price, stock) = (SELECT id, id FROM delivery);
UPDATE item SET (price, stock) = (SELECT 1);
UPDATE item SET (price, stock) = (1, 2, 3);
UPDATE item SET (price, stock) = (SELECT 'a'::text, 2);
UPDATE item SET (price, price) = (1, 2);
UPDATE item SET (price, stock) = (DEFAULT, 2) WHERE id = 1 RETURNING *;
-- DELETE.
CREATE TABLE plain (a int, b text);
INSERT INTO plain SELECT n, 'r' || n FROM generate_series(1, 6) n;
DELETE FROM plain USING delivery d WHERE d.item = plain.a RETURNING *;
DELETE FROM plain p USING plain q WHERE p.a = q.a + 1 RETURNING p.a, q.a;
DELETE FROM plain p USING generate_series(1, 2) WHERE p.a = 4;
SELECT * FROM plain;
INSERT INTO plain VALUES (1, 'x'), (1, 'y'), (2, 'z');
DELETE FROM plain WHERE EXISTS (SELECT FROM plain p WHERE p.a = plain.a AND p.b < plain.b);
SELECT * FROM plain ORDER BY a, b;
UPDATE plain SET b = plain.b || q.b FROM plain q WHERE q.a = plain.a + 1;
SELECT * FROM plain ORDER BY a, b;
DELETE FROM plain USING delivery, item WHERE delivery.item = item.id AND plain.a = item.id;
SELECT * FROM plain ORDER BY a, b;
-- What is wrong.
UPDATE item SET price = 1 FROM item WHERE item.id = 1;
UPDATE item SET price = 1 FROM nowhere;
UPDATE item SET price = d.zzzzzz FROM delivery d;
UPDATE item SET d.price = 1 FROM delivery d;
UPDATE item SET price = id FROM delivery;
DELETE FROM plain USING plain;
DELETE FROM plain USING delivery WHERE id = 'x';
UPDATE item SET price = count(*) FROM delivery;
UPDATE item SET id = 1 FROM delivery WHERE delivery.item = item.id;
-- A foreign key.
CREATE TABLE part (id int PRIMARY KEY, item int REFERENCES item);
INSERT INTO part VALUES (1, 1), (2, 2);
DELETE FROM item USING delivery d WHERE d.item = item.id;
UPDATE part SET item = 77 FROM delivery WHERE delivery.item = part.id;
SELECT * FROM part ORDER BY id;

-- WITH whose queries change rows.
CREATE TABLE a (id int PRIMARY KEY, v int);
CREATE TABLE b (id int PRIMARY KEY, v int);
CREATE TABLE log (n serial, what text);
INSERT INTO a SELECT n, n * 10 FROM generate_series(1, 6) n;
WITH moved AS (DELETE FROM a WHERE id > 4 RETURNING *) INSERT INTO b SELECT * FROM moved;
SELECT * FROM a ORDER BY id;
SELECT * FROM b ORDER BY id;
WITH new AS (INSERT INTO log (what) VALUES ('x'), ('y') RETURNING n, what) SELECT what, n FROM new ORDER BY n DESC;
WITH up AS (UPDATE a SET v = v + 1 RETURNING id, v) SELECT count(*), sum(v) FROM up;
-- Not read, and run all the same, once.
WITH up AS (UPDATE a SET v = v + 1) SELECT 1 AS one;
WITH up AS (UPDATE a SET v = v + 1 RETURNING *) SELECT 1 AS one WHERE false;
WITH up AS (UPDATE a SET v = v + 1 RETURNING *) SELECT x.id, y.v FROM up x JOIN up y USING (id) WHERE x.id < 3;
SELECT * FROM a ORDER BY id;
-- Several, of which later ones read earlier ones.
WITH gone AS (DELETE FROM b RETURNING id), noted AS (INSERT INTO log (what) SELECT 'gone ' || id FROM gone RETURNING what),
  plain AS (SELECT what || '!' AS w FROM noted) SELECT * FROM plain ORDER BY w;
SELECT * FROM b;
WITH p (x, y) AS (INSERT INTO b VALUES (1, 1) RETURNING id + 1, v) SELECT x + y AS z FROM p;
WITH p (x, y, z) AS (INSERT INTO b VALUES (2, 1) RETURNING id, v) SELECT * FROM p;
-- Before the change.
WITH before AS (SELECT sum(v) AS s FROM a), up AS (UPDATE a SET v = 0 RETURNING id) SELECT s, count(id) FROM before, up GROUP BY s;
SELECT * FROM a ORDER BY id;
-- WITH in front of changes.
WITH n AS (SELECT 1 AS id, 100 AS v UNION ALL SELECT 2, 200) UPDATE a SET v = n.v FROM n WHERE n.id = a.id RETURNING a.*;
WITH n AS (SELECT 2 AS id) DELETE FROM a USING n WHERE n.id = a.id;
WITH n AS (SELECT 7 AS id) INSERT INTO a SELECT id, id FROM n RETURNING *;
WITH n AS (SELECT 7 AS id) INSERT INTO a (id, v) VALUES ((SELECT id + 1 FROM n), 0);
WITH d AS (DELETE FROM log RETURNING n) UPDATE b SET v = (SELECT count(*) FROM d);
SELECT * FROM a ORDER BY id;
SELECT * FROM b ORDER BY id;
WITH i AS (INSERT INTO b VALUES (50, 1), (51, 2) RETURNING *), j AS (INSERT INTO b SELECT id + 10, v FROM i RETURNING id) SELECT * FROM j ORDER BY id;
WITH i AS (INSERT INTO a VALUES (60, 1) RETURNING id) INSERT INTO a SELECT id + 1, 5 FROM i;
WITH none AS (UPDATE b SET v = v) SELECT * FROM none;
WITH i AS (INSERT INTO b VALUES (50, 1) RETURNING id) SELECT * FROM i;
SELECT * FROM (WITH i AS (DELETE FROM b RETURNING id) SELECT * FROM i) x;
WITH i AS (DELETE FROM b RETURNING id), i AS (SELECT 1) SELECT * FROM i;
WITH i AS (INSERT INTO log (what) VALUES ('z') ON CONFLICT DO NOTHING RETURNING what) SELECT * FROM i;
SELECT * FROM b ORDER BY id;
BEGIN READ ONLY;
WITH i AS (DELETE FROM b RETURNING id) SELECT * FROM i;
ROLLBACK;

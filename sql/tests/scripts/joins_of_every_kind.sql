-- Joins of every kind.
CREATE TABLE a (i int PRIMARY KEY, x int, t text);
CREATE TABLE b (i int PRIMARY KEY, x int, u text);
CREATE TABLE c (k int, x bigint, v char(4));
INSERT INTO a VALUES (1, 10, 'one'), (2, 20, 'two'), (3, NULL, 'three'), (4, 40, 'four'), (5, 10, 'five');
INSERT INTO b VALUES (1, 10, 'b1'), (2, NULL, 'b2'), (3, 20, 'b3'), (6, 60, 'b6'), (7, 10, 'b7');
INSERT INTO c VALUES (1, 10, 'p'), (1, 20, 'q'), (NULL, 10, 'r'), (9, NULL, NULL), (2, 60, 'p');
-- Inner and cross
SELECT * FROM a JOIN b ON a.x = b.x ORDER BY a.i, b.i;
SELECT a.i, b.i, c.k FROM a, b, c WHERE a.x = b.x AND b.x = c.x ORDER BY 1, 2, 3;
SELECT count(*) FROM a CROSS JOIN b CROSS JOIN c;
SELECT a.t, c.v FROM a JOIN c ON a.x = c.x AND c.v <> 'q' ORDER BY 1, 2;
-- Left, right, full
SELECT a.i, b.i FROM a LEFT JOIN b ON a.x = b.x ORDER BY 1, 2;
SELECT a.i, b.i FROM a RIGHT JOIN b ON a.x = b.x ORDER BY 2, 1;
SELECT a.i, b.i FROM a FULL JOIN b ON a.x = b.x ORDER BY 1, 2;
SELECT * FROM a RIGHT OUTER JOIN b ON a.i = b.i ORDER BY b.i;
SELECT * FROM a FULL OUTER JOIN b ON a.i = b.i ORDER BY a.i, b.i;
SELECT a.i, b.i FROM a LEFT JOIN b ON a.x = b.x AND b.u <> 'b1' ORDER BY 1, 2;
SELECT a.i, b.i FROM a LEFT JOIN b ON a.x = b.x AND a.t <> 'one' ORDER BY 1, 2;
SELECT a.i, b.i FROM a LEFT JOIN b ON a.t = 'two' ORDER BY 1, 2;
SELECT a.i, b.i FROM a LEFT JOIN b ON false ORDER BY 1, 2;
SELECT a.i, b.i FROM a LEFT JOIN b ON true WHERE b.i > 5 ORDER BY 1, 2;
SELECT a.i, b.i FROM a LEFT JOIN b ON a.x = b.x WHERE b.i IS NULL ORDER BY 1;
SELECT a.i, b.i FROM a RIGHT JOIN b ON a.x = b.x WHERE a.i IS NULL ORDER BY 2;
SELECT a.i, b.i FROM a FULL JOIN b ON a.x = b.x WHERE a.i IS NULL OR b.i IS NULL ORDER BY 1, 2;
SELECT a.i, b.i FROM a FULL JOIN b ON a.x = b.x AND a.t <> 'one' AND b.u <> 'b7' ORDER BY 1, 2;
SELECT a.i, b.i FROM a FULL JOIN b ON true WHERE a.i = 1 OR b.i = 6 ORDER BY 1, 2;
SELECT a.i, b.i FROM a FULL JOIN b ON a.x < b.x ORDER BY 1, 2;
-- Nested
SELECT a.i, b.i, c.k FROM a LEFT JOIN b ON a.x = b.x LEFT JOIN c ON b.x = c.x ORDER BY 1, 2, 3;
SELECT a.i, b.i, c.k FROM a LEFT JOIN (b JOIN c ON b.x = c.x) ON a.x = b.x ORDER BY 1, 2, 3;
SELECT a.i, b.i, c.k FROM (a LEFT JOIN b ON a.x = b.x) RIGHT JOIN c ON b.x = c.x ORDER BY 1, 2, 3;
SELECT a.i, b.i, c.k FROM a FULL JOIN b ON a.x = b.x FULL JOIN c ON c.x = b.x ORDER BY 1, 2, 3;
SELECT a.i, b.i, c.k FROM a FULL JOIN (b LEFT JOIN c ON b.x = c.x) ON a.x = b.x ORDER BY 1, 2, 3;
SELECT c.k, a.i, b.i FROM c, a FULL JOIN b ON a.x = b.x WHERE c.v = 'p' ORDER BY 1, 2, 3;
SELECT a.i, b.i, c.k FROM a JOIN b ON a.i = b.i LEFT JOIN c ON c.k = b.i JOIN a a2 ON a2.i = c.k ORDER BY 1, 2, 3;
SELECT a.i, b.i, c.k FROM a LEFT JOIN (b LEFT JOIN c ON b.i = c.k) ON a.i = b.i WHERE c.k IS NULL ORDER BY 1, 2, 3;
SELECT count(*), sum(b.i) FROM a LEFT JOIN b ON a.x = b.x AND b.i BETWEEN 2 AND 7;
SELECT a.x, count(b.i), count(*) FROM a LEFT JOIN b ON a.x = b.x GROUP BY a.x ORDER BY a.x;
SELECT DISTINCT b.x FROM a FULL JOIN b ON a.x = b.x ORDER BY 1;
-- More left joins than six
SELECT a.i, count(*) FROM a
  LEFT JOIN b b1 ON b1.i = a.i LEFT JOIN b b2 ON b2.i = b1.i + 1 LEFT JOIN b b3 ON b3.i = b2.i + 1
  LEFT JOIN b b4 ON b4.x = a.x LEFT JOIN b b5 ON b5.x = b4.x LEFT JOIN b b6 ON b6.i = a.i
  LEFT JOIN b b7 ON b7.i = a.i LEFT JOIN b b8 ON b8.u = b7.u LEFT JOIN c ON c.x = b5.x
  GROUP BY a.i ORDER BY 1;
-- USING and NATURAL
SELECT * FROM a JOIN b USING (i) ORDER BY i;
SELECT * FROM a LEFT JOIN b USING (x) ORDER BY x, a.i, b.i;
SELECT * FROM a RIGHT JOIN b USING (x) ORDER BY x, a.i, b.i;
SELECT * FROM a FULL JOIN b USING (x) ORDER BY x, a.i, b.i;
SELECT i, x, t, u FROM a FULL JOIN b USING (i, x) ORDER BY 1, 2;
SELECT * FROM a NATURAL JOIN b ORDER BY i;
SELECT * FROM a NATURAL LEFT JOIN b ORDER BY i;
SELECT * FROM a NATURAL FULL JOIN c ORDER BY x, i, k;
SELECT x, a.x, c.x FROM a JOIN c USING (x) ORDER BY 1, 2, 3;
SELECT * FROM a JOIN b USING (i) JOIN c ON c.k = i ORDER BY 1, 6, 7;
SELECT a.*, c.* FROM a JOIN c USING (x) ORDER BY a.i, c.k;
SELECT x, count(*) FROM a FULL JOIN b USING (x) GROUP BY x ORDER BY x;
SELECT * FROM a NATURAL JOIN (SELECT 1 AS one) s ORDER BY i;
SELECT * FROM a JOIN b USING (nope);
SELECT * FROM a JOIN b USING (i, i);
SELECT * FROM (a JOIN b ON a.i = b.i) JOIN c USING (x);
SELECT i FROM a JOIN b ON a.i = b.i;
SELECT x FROM a JOIN b USING (i);
-- Joins with a name of their own
SELECT j.i, j.u FROM (a JOIN b USING (i)) AS j ORDER BY 1;
SELECT * FROM (a JOIN b USING (i)) AS j (p, q, r) ORDER BY 1;
SELECT a.i FROM (a JOIN b USING (i)) AS j;
SELECT j.t, c.v FROM (a LEFT JOIN b USING (i)) j JOIN c ON c.k = j.i ORDER BY 1, 2;
-- What a condition can name
SELECT * FROM a, b LEFT JOIN c ON a.x = c.x;
SELECT * FROM a LEFT JOIN b ON a.i = b.i, c WHERE c.k = a.i AND b.i = 1 ORDER BY 1, 2;
SELECT * FROM a JOIN a ON true;
-- LATERAL
SELECT a.i, s.m FROM a, LATERAL (SELECT max(b.i) AS m FROM b WHERE b.x = a.x) s ORDER BY 1;
SELECT a.i, s.i FROM a LEFT JOIN LATERAL (SELECT b.i FROM b WHERE b.x = a.x ORDER BY b.i DESC LIMIT 1) s ON true ORDER BY 1;
SELECT a.i, s.n FROM a CROSS JOIN LATERAL (VALUES (a.i * 2), (a.x)) s (n) ORDER BY 1, 2;
SELECT a.i, g FROM a, generate_series(1, a.i) g WHERE a.i < 4 ORDER BY 1, 2;
SELECT a.i, g FROM a LEFT JOIN generate_series(3, a.i) g ON g <> 4 ORDER BY 1, 2;
SELECT a.i, s.m FROM a, (SELECT a.i) s;
SELECT a.i, s.j, r.k FROM a, LATERAL (SELECT a.i + 1 AS j) s, LATERAL (SELECT s.j * 2 AS k) r ORDER BY 1;
SELECT i, (SELECT string FROM (SELECT 'x' || a.i AS string) s) FROM a ORDER BY 1;
SELECT a.i FROM a WHERE EXISTS (SELECT FROM b LEFT JOIN c ON b.x = c.x AND c.k = a.i WHERE b.i = a.i AND c.k IS NOT NULL) ORDER BY 1;
-- Equal to what, and how
SELECT a.i, c.k FROM a JOIN c ON a.x + 10 = c.x ORDER BY 1, 2;
SELECT p.v, q.v FROM c p JOIN c q ON p.v = q.v ORDER BY 1, 2;
SELECT p.v, q.t FROM c p JOIN (VALUES ('p'), ('p   '), ('r ')) q (t) ON p.v = q.t ORDER BY 1, 2;
SELECT x.n, y.n FROM (VALUES (1.0), (2.50), (NULL)) x (n) JOIN (VALUES (1), (2), (NULL)) y (n) ON x.n = y.n ORDER BY 1;
SELECT x.n, y.n FROM (VALUES (float8 '0'), ('NaN')) x (n) JOIN (VALUES (float8 '-0'), ('NaN')) y (n) ON x.n = y.n ORDER BY 1;
-- Rows of joins in subqueries, changes and routines
SELECT (SELECT count(*) FROM a FULL JOIN b USING (x));
CREATE TABLE d (i int, j int);
INSERT INTO d SELECT a.i, b.i FROM a FULL JOIN b ON a.x = b.x;
SELECT * FROM d ORDER BY 1, 2;
create function pairs(low int) RETURNS SETOF int LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
  FOR r IN SELECT a.i AS p, b.i AS q FROM a LEFT JOIN b ON a.x = b.x WHERE a.i >= low ORDER BY 1, 2 LOOP
    RETURN NEXT coalesce(r.p, 0) * 10 + coalesce(r.q, 0);
  END LOOP;
END $$;
SELECT * FROM pairs(2);
SELECT a.i, p FROM a, pairs(a.i) p WHERE a.i > 3 ORDER BY 1, 2;
SELECT a.i, p FROM a LEFT JOIN pairs(5) p ON p > a.i * 10 ORDER BY 1, 2;
SELECT p, q FROM pairs(4) p, pairs(5) q ORDER BY 1, 2;
-- Locks
SELECT a.i FROM a JOIN b ON a.x = b.x ORDER BY 1 FOR UPDATE OF a;
SELECT a.i FROM a LEFT JOIN b ON a.x = b.x FOR UPDATE;
SELECT a.i FROM a LEFT JOIN b ON a.x = b.x ORDER BY 1 FOR UPDATE OF a;
SELECT b.i FROM a RIGHT JOIN b ON a.x = b.x FOR UPDATE OF a;
SELECT b.i FROM a RIGHT JOIN b ON a.x = b.x ORDER BY 1 FOR SHARE OF b;
-- Full joins whose conditions read one side or none
SELECT a.i, b.i FROM a FULL JOIN b ON 1 = 2 ORDER BY 1, 2;
SELECT a.i, b.i FROM a FULL JOIN b ON a.i = b.i AND a.x < b.x + 1 ORDER BY 1, 2;
select null + 5.5 as n union all select null union all select 1 order by 1;
-- Conditions that read nothing, deep in an outer join
SELECT a.i, b.i, c.k FROM a JOIN b ON 1 = 2 LEFT JOIN d ON true RIGHT JOIN c ON true ORDER BY 1, 2, 3;
SELECT a.i, b.i, c.k FROM (a JOIN b ON NULL) FULL JOIN c ON a.x = c.x ORDER BY 1, 2, 3;
SELECT c.k, a.i, b.i FROM c LEFT JOIN (a JOIN b ON false LEFT JOIN d ON true) ON c.k = a.i ORDER BY 1, 2, 3;

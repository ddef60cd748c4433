-- GROUPING SETS, ROLLUP and CUBE inside of GROUPING SETS.
CREATE TABLE s (a int, b int, c int, n int);
INSERT INTO s VALUES (1, 1, 1, 1), (1, 2, 1, 2), (2, 1, 2, 4), (2, 2, NULL, 8), (2, 2, 3, 16);
SELECT a, b, sum(n), grouping(a, b) AS g FROM s GROUP BY GROUPING SETS (ROLLUP (a, b)) ORDER BY g, a, b;
SELECT a, b, c, sum(n), grouping(a, b, c) AS g FROM s GROUP BY GROUPING SETS (ROLLUP (a, b), CUBE (c), (b)) ORDER BY g, a, b, c;
SELECT a, b, sum(n), grouping(a, b) AS g FROM s GROUP BY GROUPING SETS (GROUPING SETS ((a), (b)), (a, b), ()) ORDER BY g, a, b;
SELECT a, b, c, sum(n), grouping(a, b, c) AS g FROM s GROUP BY GROUPING SETS (GROUPING SETS (ROLLUP (a), GROUPING SETS (b, ())), CUBE ((b, c), a)) ORDER BY g, a, b, c, 4;
SELECT a, sum(n), grouping(a) AS g FROM s GROUP BY b, GROUPING SETS (a, CUBE (a)) ORDER BY g, a, b;
SELECT count(*) FROM s GROUP BY GROUPING SETS (ROLLUP (a, (b), (b, c)), a + 1, (a + 1, (c))) ORDER BY 1;
SELECT count(*) FROM s GROUP BY GROUPING SETS (ROLLUP (d));
CREATE VIEW nested AS SELECT a, b, sum(n) AS n FROM s GROUP BY GROUPING SETS (ROLLUP (a, (b, c)), GROUPING SETS (b, CUBE (a, b)));
SELECT * FROM nested ORDER BY 1, 2, 3;
SELECT pg_get_viewdef('nested'::regclass);
DROP VIEW nested;
DROP TABLE s;

-- Sorts, groups, DISTINCT and set operations that have less memory than they need.
SET work_mem = '64kB';
CREATE TABLE reading (id integer PRIMARY KEY, device integer, note text, amount numeric(10, 2), taken date, tags text[]);
INSERT INTO reading SELECT n, n * 7919 % 2001, CASE WHEN n % 10 = 0 THEN NULL ELSE repeat('note ', n % 7) || n % 977 END,
    (n * 31 % 100000) / 100.0, date '2026-01-01' + n % 365, ARRAY['a' || n % 3, NULL] FROM generate_series(1, 8000) AS n;

-- ORDER BY, all of it and parts, stable or not.
SELECT md5(string_agg(id::text, ',')) FROM (SELECT id FROM reading ORDER BY note DESC NULLS LAST, amount, id) AS sorted;
SELECT md5(string_agg(tags::text || taken || amount, ',')) FROM (SELECT * FROM reading ORDER BY amount DESC, id) AS sorted;
SELECT id, device, note FROM reading ORDER BY device, id LIMIT 5;
SELECT id, device, note, tags FROM reading ORDER BY device, id OFFSET 7995;
SELECT id, taken FROM reading ORDER BY taken DESC, id LIMIT 4 OFFSET 6000;

-- GROUP BY, with everything that may stand there.
SELECT count(*), sum(n), md5(string_agg(device || ' ' || n || ' ' || amount, ',' ORDER BY device))
FROM (SELECT device, count(*) AS n, sum(amount) AS amount FROM reading GROUP BY device) AS grouped;
SELECT device, note, count(*), max(taken), avg(amount) FROM reading GROUP BY device, note ORDER BY device DESC, note LIMIT 3;
SELECT count(*), sum(n), sum(devices) FROM
    (SELECT note, count(*) AS n, count(DISTINCT device) AS devices FROM reading GROUP BY note HAVING count(*) > 2) AS grouped;
SELECT device IS NULL AS all_devices, note IS NULL AS all_notes, count(*), sum(n) FROM
    (SELECT device, note, count(*) AS n FROM reading GROUP BY CUBE (device, note)) AS cubes GROUP BY 1, 2 ORDER BY 1, 2;
SELECT md5(string_agg(list, ';' ORDER BY device)) FROM
    (SELECT device, string_agg(note, ',' ORDER BY id DESC) AS list FROM reading GROUP BY device) AS lists;
SELECT count(*), count(DISTINCT note), count(DISTINCT (device)) FROM reading;

-- DISTINCT and DISTINCT ON.
SELECT count(*) FROM (SELECT DISTINCT device, note FROM reading) AS d;
SELECT DISTINCT note, tags FROM reading ORDER BY note DESC, tags LIMIT 3 OFFSET 10;
SELECT md5(string_agg(id::text, ',')) FROM (SELECT DISTINCT ON (device) id FROM reading ORDER BY device, amount DESC, id) AS d;
SELECT DISTINCT ON (taken, device) taken, device, id FROM reading ORDER BY taken, device, id LIMIT 3;

-- Set operations.
SELECT count(*), sum(device) FROM (SELECT device, note FROM reading UNION SELECT id, note FROM reading) AS u;
SELECT count(*), sum(device) FROM (SELECT device, note FROM reading INTERSECT SELECT id, note FROM reading) AS i;
SELECT count(*), sum(device) FROM (SELECT device FROM reading EXCEPT ALL SELECT id FROM reading) AS e;
SELECT count(*), sum(device) FROM (SELECT device FROM reading INTERSECT ALL SELECT id / 2 FROM reading) AS e;

-- Joins: tables and queries, full ones, rows that are found once, often and never, and NULLs.
CREATE TABLE device (id integer, kind text, price numeric);
INSERT INTO device SELECT n % 1500, CASE WHEN n % 7 = 0 THEN NULL ELSE repeat('kind ', n % 4) || n % 50 END, n / 8.0 FROM generate_series(1, 3000) AS n;
SELECT count(*), sum(r.id), sum(d.price), md5(string_agg(r.id || ' ' || d.price, ',' ORDER BY r.id, d.price)) FROM reading r JOIN device d ON d.id = r.device;
SELECT count(*), count(d.id), sum(r.id), sum(d.price) FROM reading r LEFT JOIN device d ON d.id = r.device AND d.kind > 'kind 2';
SELECT count(*), count(d.id), count(r.id), sum(r.id), sum(d.price) FROM reading r FULL JOIN device d ON d.id = r.device + 1000 AND r.amount > 100;
SELECT count(*), sum(a.id), sum(b.id) FROM reading a JOIN reading b ON a.note = b.note AND a.id < b.id;
SELECT a.id, b.id, b.kind FROM reading a, (SELECT DISTINCT id, kind FROM device) AS b WHERE b.id = a.device AND a.id > 7990 ORDER BY a.id, b.kind;
SELECT count(*) FROM reading r WHERE EXISTS (SELECT 1 FROM device d WHERE d.kind = r.note);
SELECT count(*), sum((SELECT max(d.price) FROM device d WHERE d.id = r.device AND d.kind IS NOT NULL)) FROM reading r;
SELECT r.id, d.price FROM reading r JOIN device d ON d.id = r.device ORDER BY r.id DESC, d.price LIMIT 3;
SELECT count(*), sum(one.n), sum(other.m) FROM (reading r JOIN device d ON d.id = r.device) JOIN
    (SELECT device, count(*) AS n FROM reading GROUP BY device) AS one ON one.device = d.id FULL JOIN
    (SELECT id, count(*) AS m FROM device GROUP BY id) AS other ON other.id = one.device;
DROP TABLE device;

-- Of types that no argument can have, read more than once, changed while it is read.
CREATE TYPE level AS ENUM ('low', 'middle', 'high');
SELECT level, count(*), min(id), max(levels) FROM (SELECT id, (enum_range(NULL::level))[1 + id % 3] AS level,
    ARRAY[(enum_range(NULL::level))[1 + id % 2]] AS levels FROM reading ORDER BY note, id OFFSET 0) AS sorted
    GROUP BY level ORDER BY level;
WITH sorted AS (SELECT id, device FROM reading ORDER BY device, id)
SELECT count(*), sum(one.id) FROM sorted AS one, sorted AS other WHERE one.device = other.device AND one.id < other.id;
BEGIN;
UPDATE reading SET device = sorted.id FROM (SELECT id FROM reading ORDER BY note, id) AS sorted WHERE sorted.id = reading.id;
SELECT sum(device), count(DISTINCT device) FROM reading;
ROLLBACK;
CREATE FUNCTION digest_of(most integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    one record;
    found text := '';
BEGIN
    FOR one IN SELECT device, note, count(*) AS n FROM reading GROUP BY device, note ORDER BY 3 DESC, 1, 2 LOOP
        found := md5(found || one.device || coalesce(one.note, '') || one.n);
        most := most - 1;
        EXIT WHEN most = 0;
    END LOOP;
    RETURN found;
END $$;
SELECT digest_of(3), digest_of(5000);
SELECT digest_of(1) = digest_of(2) AS same FROM (SELECT 1 LIMIT 0) AS none;
SET temp_file_limit = 100;
SELECT count(*) FROM (SELECT id FROM reading ORDER BY note OFFSET 0) AS sorted;
RESET temp_file_limit;
SHOW temp_file_limit;
DROP TABLE reading;
DROP TYPE level CASCADE;

"""psycopg 2: the usual first work. The connection comes from the environment (PGHOST and its like)."""

import datetime
import decimal
import uuid

import psycopg2
import psycopg2.extras
from psycopg2 import errors, sql

connection = psycopg2.connect("")
assert connection.server_version >= 150000
cursor = connection.cursor()
cursor.execute("""
    CREATE TABLE item (
        id serial PRIMARY KEY, name text NOT NULL UNIQUE, price numeric(10, 2) NOT NULL DEFAULT 0,
        made timestamptz DEFAULT now(), day date, tag uuid, data bytea, done boolean, share double precision)
""")
connection.commit()

psycopg2.extras.register_uuid()
tag = uuid.uuid4()
cursor.execute(
    "INSERT INTO item (name, price, day, tag, data, done, share) VALUES (%s, %s, %s, %s, %s, %s, %s) RETURNING id",
    ("it's", decimal.Decimal("12.50"), datetime.date(2024, 2, 29), tag, b"\x00\xff'\\", True, 0.1))
assert cursor.fetchone() == (1,)
cursor.execute("SELECT name, price, day, tag, data, done, share FROM item WHERE id = %s", (1,))
name, price, day, found, data, done, share = cursor.fetchone()
assert (name, price, day, found) == ("it's", decimal.Decimal("12.50"), datetime.date(2024, 2, 29), tag)
assert (bytes(data), done, share) == (b"\x00\xff'\\", True, 0.1)
cursor.execute("SELECT made FROM item")
assert cursor.fetchone()[0].tzinfo is not None

psycopg2.extras.execute_values(
    cursor, "INSERT INTO item (name, price) VALUES %s", [(f"n{number}", number) for number in range(500)])
cursor.executemany("UPDATE item SET price = %s WHERE name = %s", [(7, "n1"), (8, "n2")])
cursor.execute("SELECT count(*), sum(price) FROM item WHERE name = ANY(%s)", (["n1", "n2", "n3"],))
assert cursor.fetchone() == (3, decimal.Decimal(18))
cursor.execute("SELECT name FROM item WHERE name IN %s ORDER BY name", (("n1", "n2"),))
assert cursor.fetchall() == [("n1",), ("n2",)]

try:
    cursor.execute("INSERT INTO item (name) VALUES ('n1')")
    raise AssertionError("a second n1")
except errors.UniqueViolation as error:
    assert error.diag.constraint_name == "item_name_key", error.diag.constraint_name
    assert error.pgcode == "23505"
connection.rollback()
cursor.execute("SELECT count(*) FROM item")
assert cursor.fetchone() == (0,)

with connection, connection.cursor() as inner:
    for number in range(10):
        inner.execute("INSERT INTO item (name) VALUES (%s)", (f"m{number}",))
    inner.execute("SAVEPOINT s")
    inner.execute("DELETE FROM item")
    inner.execute("ROLLBACK TO SAVEPOINT s")
with connection.cursor(cursor_factory=psycopg2.extras.RealDictCursor) as rows:
    rows.execute("SELECT name, price FROM item ORDER BY id LIMIT 2")
    assert [dict(row) for row in rows] == [
        {"name": "m0", "price": decimal.Decimal("0.00")}, {"name": "m1", "price": decimal.Decimal("0.00")}]
with connection.cursor("served") as served:
    served.itersize = 3
    served.execute("SELECT name FROM item ORDER BY name")
    assert [row[0] for row in served] == [f"m{number}" for number in range(10)]
cursor.execute(sql.SQL("SELECT {} FROM {} WHERE {} = %s").format(
    sql.Identifier("name"), sql.Identifier("item"), sql.Identifier("id")), (502,))
cursor.fetchall()

import io
cursor.copy_expert("COPY item (name, price) FROM STDIN", io.StringIO("c1\t1.5\nc2\t\\N\n".replace("\\N", "2")))
out = io.StringIO()
cursor.copy_expert("COPY (SELECT name, price FROM item WHERE name LIKE 'c%' ORDER BY 1) TO STDOUT WITH CSV HEADER", out)
assert out.getvalue() == "name,price\nc1,1.50\nc2,2.00\n", out.getvalue()
connection.commit()

# A function that opens a cursor, which a cursor of the driver then takes over by its name.
cursor.execute("""
    CREATE FUNCTION dear(lowest numeric) RETURNS refcursor LANGUAGE plpgsql AS $$
    DECLARE found refcursor;
    BEGIN
        OPEN found FOR SELECT name, price FROM item WHERE price >= lowest ORDER BY price;
        RETURN found;
    END $$
""")
cursor.callproc("dear", (decimal.Decimal(1),))
with connection.cursor(cursor.fetchone()[0]) as opened:
    assert opened.fetchone() == ("c1", decimal.Decimal("1.50"))
    assert opened.fetchmany(5) == [("c2", decimal.Decimal("2.00"))]
    assert opened.fetchall() == []
connection.commit()
cursor.execute("DROP FUNCTION dear")
connection.commit()

connection.set_session(isolation_level="SERIALIZABLE", readonly=True)
cursor.execute("SHOW transaction_isolation")
assert cursor.fetchone() == ("serializable",)
connection.rollback()
connection.set_session(isolation_level="DEFAULT", readonly=False, autocommit=True)
cursor.execute("SELECT pg_backend_pid()")
assert cursor.fetchone()[0] == connection.get_backend_pid()
psycopg2.extras.register_default_jsonb(connection)
cursor.execute("SELECT %s::jsonb -> 'a' ->> 0", (psycopg2.extras.Json({"a": ["x", 1]}),))
assert cursor.fetchone() == ("x",)
cursor.execute("SELECT ARRAY[1, 2, NULL], '{a,\"b c\"}'::text[]")
assert cursor.fetchone() == ([1, 2, None], ["a", "b c"])
cursor.execute("LISTEN channel; NOTIFY channel, 'told'")
connection.poll()
assert [(told.channel, told.payload) for told in connection.notifies] == [("channel", "told")]
cursor.execute("DROP TABLE item")

"""psycopg 3: prepared statements, binary results, COPY, pipelines, server-side cursors."""

import datetime
import decimal
import uuid

import psycopg
from psycopg.rows import class_row, dict_row
from psycopg.types.json import Jsonb

with psycopg.connect("", autocommit=False) as connection:
    connection.execute("""
        CREATE TABLE booking (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, guest text NOT NULL,
            nights int CHECK (nights > 0), price numeric, day date, at timestamptz, key uuid, note jsonb, tags text[])
    """)
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO booking (guest, nights, price, day, at, key, note, tags) VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
            [(f"g{number}", number + 1, decimal.Decimal("1.5"), datetime.date(2024, 1, 1),
              datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc), uuid.UUID(int=number),
              Jsonb({"n": number}), ["a", f"t{number}"]) for number in range(20)])
        cursor.execute("SELECT id, price, day, at, key, note, tags FROM booking ORDER BY id LIMIT 1", binary=True)
        row = cursor.fetchone()
        assert row == (1, decimal.Decimal("1.5"), datetime.date(2024, 1, 1),
                       datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc), uuid.UUID(int=0), {"n": 0},
                       ["a", "t0"]), row
        for number in range(8):
            # Prepared at the fifth.
            cursor.execute("SELECT guest FROM booking WHERE nights = %s", (number + 1,))
            assert cursor.fetchone() == (f"g{number}",)
        with cursor.copy("COPY booking (guest, nights) FROM STDIN") as copy:
            for number in range(3):
                copy.write_row((f"c{number}", 1))
        with cursor.copy("COPY booking (guest, nights) FROM STDIN (FORMAT BINARY)") as copy:
            copy.set_types(["text", "int4"])
            copy.write_row(("binary", 2))
        with cursor.copy("COPY (SELECT guest, nights FROM booking WHERE guest LIKE 'b%') TO STDOUT") as copy:
            assert list(copy.rows()) == [("binary", "2")]
    connection.commit()
    try:
        with connection.transaction():
            connection.execute("INSERT INTO booking (guest, nights) VALUES ('x', 0)")
    except psycopg.errors.CheckViolation as error:
        assert error.diag.constraint_name == "booking_nights_check"
    with connection.pipeline():
        first = connection.execute("SELECT 1")
        second = connection.execute("SELECT 2")
    assert (first.fetchone(), second.fetchone()) == ((1,), (2,))
    with connection.cursor(name="served", row_factory=dict_row, scrollable=True) as served:
        served.execute("SELECT id FROM booking ORDER BY id")
        assert served.fetchmany(2) == [{"id": 1}, {"id": 2}]
        served.scroll(-1)
        assert served.fetchone() == {"id": 2}
    rows = connection.execute("SELECT note->>'n' AS n FROM booking WHERE note @> %s", (Jsonb({"n": 3}),)).fetchall()
    assert rows == [("3",)]
    connection.execute("DROP TABLE booking")
    connection.commit()
    assert connection.info.parameter_status("standard_conforming_strings") == "on"

"""asyncpg: it reads everything in binary, and asks the catalog about types that it does not know."""

import asyncio
import datetime
import decimal
import os
import uuid

import asyncpg


async def work():
    connection = await asyncpg.connect()
    await connection.execute("""
        CREATE TABLE quota (id serial PRIMARY KEY, owner text UNIQUE, used bigint DEFAULT 0, day date,
            at timestamptz, price numeric, key uuid, note jsonb, tags int[], span interval)
    """)
    async with connection.transaction():
        number = await connection.fetchval(
            "INSERT INTO quota (owner, day, at, price, key, note, tags, span) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id",
            "o", datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc),
            decimal.Decimal("1.5"), uuid.UUID(int=1), '{"a": 1}', [1, 2], datetime.timedelta(days=1))
        assert number == 1
    row = await connection.fetchrow("SELECT * FROM quota WHERE id = $1", 1)
    assert dict(row) == {
        "id": 1, "owner": "o", "used": 0, "day": datetime.date(2024, 1, 1),
        "at": datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc), "price": decimal.Decimal("1.5"),
        "key": uuid.UUID(int=1), "note": '{"a": 1}', "tags": [1, 2], "span": datetime.timedelta(days=1)}, row
    await connection.executemany("INSERT INTO quota (owner) VALUES ($1)", [(f"n{n}",) for n in range(100)])
    try:
        async with connection.transaction():
            await connection.execute("INSERT INTO quota (owner) VALUES ('n1')")
        raise AssertionError("a second n1")
    except asyncpg.UniqueViolationError as error:
        assert error.constraint_name == "quota_owner_key"
    async with connection.transaction():
        seen = [record["owner"] async for record in connection.cursor("SELECT owner FROM quota ORDER BY id", prefetch=7)]
    assert len(seen) == 101
    await connection.copy_records_to_table("quota", records=[("c1", 1), ("c2", 2)], columns=["owner", "used"])
    assert await connection.fetchval("SELECT sum(used) FROM quota WHERE owner = any($1::text[])", ["c1", "c2"]) == 3
    statement = await connection.prepare("SELECT owner FROM quota WHERE used > $1 ORDER BY owner")
    assert [record[0] for record in await statement.fetch(0)] == ["c1", "c2"]
    assert [attribute.name for attribute in statement.get_attributes()] == ["owner"]
    await connection.execute("""
        CREATE FUNCTION owners(result refcursor) RETURNS refcursor LANGUAGE plpgsql AS $$
        BEGIN OPEN result FOR SELECT owner, used FROM quota WHERE used > 0 ORDER BY owner; RETURN result; END $$
    """)
    async with connection.transaction():
        name = await connection.fetchval("SELECT owners($1)", "the owners")
        assert [tuple(record) for record in await connection.fetch(f'FETCH ALL FROM "{name}"')] == [("c1", 1), ("c2", 2)]
    await connection.execute("DROP FUNCTION owners")
    told = asyncio.Queue()
    await connection.add_listener("channel", lambda *arguments: told.put_nowait(arguments[-1]))
    other = await asyncpg.connect()
    await other.execute("SELECT pg_notify('channel', 'told')")
    assert await asyncio.wait_for(told.get(), 10) == "told"
    await connection.execute("CREATE TYPE mood AS ENUM ('sad', 'happy')")
    assert await connection.fetchval("SELECT $1::mood", "sad") == "sad"
    await connection.execute("DROP TABLE quota; DROP TYPE mood")
    await other.close()
    await connection.close()
    async with asyncpg.create_pool(min_size=2, max_size=4) as pool:
        assert await asyncio.gather(*[pool.fetchval("SELECT $1::int", n) for n in range(20)]) == list(range(20))


asyncio.run(work())

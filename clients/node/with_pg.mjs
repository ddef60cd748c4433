// node-postgres: queries by text and by name, types, a pool, a cursor, notifications.
import assert from "node:assert/strict";
import pg from "pg";
import Cursor from "pg-cursor";

const client = new pg.Client();
await client.connect();
await client.query(`CREATE TABLE player (id serial PRIMARY KEY, name text UNIQUE NOT NULL, points int DEFAULT 0,
  share numeric, seen timestamptz DEFAULT now(), data jsonb, tags text[])`);
const made = await client.query(
  "INSERT INTO player (name, share, data, tags) VALUES ($1, $2, $3, $4) RETURNING *",
  ["ann", "1.50", { level: 3 }, ["a", "b"]],
);
assert.equal(made.rowCount, 1);
assert.equal(made.rows[0].share, "1.50");
assert.deepEqual(made.rows[0].data, { level: 3 });
assert.deepEqual(made.rows[0].tags, ["a", "b"]);
assert.ok(made.rows[0].seen instanceof Date);
for (let number = 0; number < 30; number++) {
  await client.query({ name: "add", text: "INSERT INTO player (name, points) VALUES ($1, $2)", values: [`p${number}`, number] });
}
await assert.rejects(client.query("INSERT INTO player (name) VALUES ('ann')"), { code: "23505", constraint: "player_name_key" });
await client.query("BEGIN");
await client.query("UPDATE player SET points = points + 1");
await client.query("ROLLBACK");
const sum = await client.query("SELECT sum(points)::int AS sum, count(*) FROM player");
assert.deepEqual(sum.rows, [{ sum: 435, count: "31" }]);
const some = await client.query("SELECT name FROM player WHERE name = ANY($1) ORDER BY 1", [["p1", "p2"]]);
assert.deepEqual(some.rows.map((row) => row.name), ["p1", "p2"]);
const cursor = client.query(new Cursor("SELECT id FROM player ORDER BY id"));
assert.equal((await cursor.read(10)).length, 10);
assert.equal((await cursor.read(100)).length, 21);
await cursor.close();
const told = new Promise((resolve) => client.on("notification", resolve));
await client.query("LISTEN news");
const pool = new pg.Pool({ max: 3 });
await Promise.all(Array.from({ length: 20 }, (_, number) => pool.query("SELECT $1::int AS n", [number])));
await pool.query("NOTIFY news, 'hello'");
assert.equal((await told).payload, "hello");
await pool.end();
await client.query("DROP TABLE player");
await client.end();

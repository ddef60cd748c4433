// drizzle-kit: push makes a schema and then finds no changes, pull reads it back, generate and migrate make it too.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { end, step } from "./steps.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const { PGHOST, PGPORT, PGUSER, PGDATABASE, PGPASSWORD } = process.env;
const folder = mkdtempSync(join(here, "drizzle-kit-"));
const pool = new pg.Pool();

function kit(command, schema, ...more) {
  const configuration = {
    dialect: "postgresql", schema: join(here, schema), out: join(folder, command === "pull" ? "pulled" : "made"),
    schemaFilter: ["public", "shop"], verbose: true,
    dbCredentials: { host: PGHOST, port: Number(PGPORT), user: PGUSER, password: PGPASSWORD, database: PGDATABASE, ssl: false },
  };
  const file = join(folder, "drizzle.config.ts");
  writeFileSync(file, `export default ${JSON.stringify(configuration)}`);
  const run = spawnSync("npx", ["drizzle-kit", command, "--config", file, ...more], { cwd: here, encoding: "utf8" });
  const isTold = (line) => !/^ +(at .*|\w+: undefined,?)$/.test(line);
  const said = (run.stdout + run.stderr).split("\n").filter(isTold).join("\n").slice(-1000);
  return { said, succeeded: run.status === 0 };
}

// drizzle-kit ends with 0 when a statement of a push fails, so what it says at the end counts.
function expect(words, command, schema, ...more) {
  const { said, succeeded } = kit(command, schema, ...more);
  assert.ok(succeeded && words.test(said), `expected ${words} of drizzle-kit ${command}, which ends with\n${said}`);
}

async function clear() {
  await pool.query(`DROP SCHEMA IF EXISTS shop CASCADE`);
  await pool.query(`DROP SCHEMA IF EXISTS drizzle CASCADE`);
  await pool.query(`DROP SCHEMA public CASCADE`);
  await pool.query(`CREATE SCHEMA public`);
}

const push = (schema) => expect(/Changes applied/, "push", schema, "--force");
const pushNothing = (schema) => expect(/No changes detected/, "push", schema, "--force");

function pull() {
  expect(/Your relations file is ready/, "pull", "drizzle_schema.ts");
  const pulled = readFileSync(join(folder, "pulled", "schema.ts"), "utf8");
  const parts = [
    /id: bigserial\(/, /number: serial\(/, /users_id_seq/, /integer\(\)\.array\(\)\.array\(\)/, /\.default\(\["ok"\]\)/,
    /fillfactor: ?"70"/, /securityBarrier/, /onUpdate\("cascade"\)\.onDelete\("set null"\)/, /generatedByDefaultAsIdentity\(\{ name: "other_seq"/,
    /pgEnum\("mood", \['sad', 'ok', 'its'\]\)/, /uniqueIndex\("users_lower_email"\)/, /check\("users_price"/, /pgView\("active"/,
  ];
  for (const part of parts) {
    assert.match(pulled, part);
  }
}

async function generateAndMigrate(schema) {
  await clear();
  expect(/Your SQL migration file/, "generate", schema);
  expect(/migrations applied successfully/, "migrate", schema);
  expect(/migrations applied successfully/, "migrate", schema);
  assert.equal(readdirSync(join(folder, "made")).filter((name) => name.endsWith(".sql")).length, 1);
  const { rows } = await pool.query(`SELECT count(*)::int AS number FROM drizzle.__drizzle_migrations`);
  assert.equal(rows[0].number, 1);
}

try {
  await step("push", () => push("drizzle_schema.ts"));
  await step("second push", () => pushNothing("drizzle_schema.ts"));
  await step("pull", pull);
  await step("generate and migrate", () => generateAndMigrate("drizzle_schema.ts"));
  await step("push after migrate", () => pushNothing("drizzle_schema.ts"));
  await step("clear", clear);
  await step("push of addresses", () => push("drizzle_address_schema.ts"));
  await step("second push of addresses", () => pushNothing("drizzle_address_schema.ts"));
} finally {
  rmSync(folder, { recursive: true });
  await pool.end();
}
end();

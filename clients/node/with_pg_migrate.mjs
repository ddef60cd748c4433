// node-pg-migrate: a migration that uses its builders, up, down and up again.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runner } from "node-pg-migrate";
import pg from "pg";
import { end, step } from "./steps.mjs";

// The runner reads its migrations from files.
const FIRST = `
export const up = (pgm) => {
  pgm.createType("mood", ["sad", "ok"]);
  pgm.addTypeValue("mood", "new", { before: "ok", ifNotExists: true });
  pgm.createDomain("positive", "integer", { check: "VALUE > 0", default: 1 });
  pgm.createSequence("numbers", { start: 5, increment: 2 });
  pgm.createTable("person", {
    id: "id",
    name: { type: "varchar(50)", notNull: true, comment: "its name" },
    mood: { type: "mood", default: "ok" },
    amount: { type: "positive" },
    made: { type: "timestamptz", notNull: true, default: pgm.func("current_timestamp") },
  }, { comment: "people" });
  pgm.createTable("task", {
    id: { type: "int", primaryKey: true, sequenceGenerated: { precedence: "ALWAYS" } },
    person_id: { type: "integer", references: "person", onDelete: "CASCADE" },
    total: { type: "int", expressionGenerated: "person_id * 2" },
  }, { constraints: { unique: [["person_id", "id"]], check: "person_id > 0" } });
  pgm.createIndex("person", ["name", { name: "made", sort: "DESC" }], { unique: true, where: "amount > 1", include: ["amount"] });
  pgm.addColumns("person", { extra: { type: "jsonb", default: "{}" } });
  pgm.alterColumn("person", "name", { type: "text", allowNull: true, default: "x" });
  pgm.renameColumn("person", "extra", "more");
  pgm.addConstraint("person", "person_amount", { check: "amount < 100" });
  pgm.renameConstraint("person", "person_amount", "person_small");
  pgm.createView("busy", { columns: ["name", "amount"] }, "SELECT name, amount FROM person");
  pgm.createFunction("stamp", [], { returns: "trigger", language: "plpgsql", replace: true },
    "BEGIN NEW.made := now(); RETURN NEW; END;");
  pgm.createTrigger("person", "person_stamp",
    { when: "BEFORE", operation: ["INSERT", "UPDATE"], level: "ROW", function: "stamp" });
  pgm.createRole("migrate_role", { login: true });
  pgm.grantOnTables({ tables: "person", privileges: ["SELECT"], roles: "migrate_role" });
  pgm.createSchema("extra", { ifNotExists: true });
  pgm.sql("INSERT INTO person (name) VALUES ('Ann')");
};
export const down = (pgm) => {
  pgm.dropSchema("extra");
  pgm.revokeOnTables({ tables: "person", privileges: "ALL", roles: "migrate_role" });
  pgm.dropRole("migrate_role");
  pgm.dropTrigger("person", "person_stamp");
  pgm.dropFunction("stamp", []);
  pgm.dropView("busy");
  pgm.dropTable("task");
  pgm.dropTable("person");
  pgm.dropSequence("numbers");
  pgm.dropDomain("positive");
  pgm.dropType("mood");
};`;

const KEPT = `
export const up = (pgm) => {
  pgm.createMaterializedView("kept", {}, "SELECT name FROM person");
  pgm.refreshMaterializedView("kept");
};
export const down = (pgm) => pgm.dropMaterializedView("kept");`;

const silent = { info() {}, warn() {}, debug() {}, error() {} };
const folder = mkdtempSync(join(tmpdir(), "migrate-"));
const client = new pg.Client();
await client.connect();

async function migrate(direction, expected, count = Infinity) {
  const done = await runner({
    dbClient: client, dir: folder, direction, count, migrationsTable: "migrations", logger: silent, log: () => {},
  });
  assert.equal(done.length, expected, `migrations ${direction}`);
}

async function rows() {
  const { rows } = await client.query("SELECT name, amount FROM busy");
  assert.deepEqual(rows, [{ name: "Ann", amount: 1 }]);
}

writeFileSync(join(folder, "1700000000000_first.mjs"), FIRST);
await step("up", () => migrate("up", 1));
await step("up without more to do", () => migrate("up", 0));
await step("rows", rows);
await step("down", () => migrate("down", 1));
await step("up again", () => migrate("up", 1));
writeFileSync(join(folder, "1700000000001_kept.mjs"), KEPT);
await step("materialized view", () => migrate("up", 1));
await step("down of the materialized view", () => migrate("down", 1, 1));
await step("down again", () => migrate("down", 1));
await client.end();
rmSync(folder, { recursive: true });
end();

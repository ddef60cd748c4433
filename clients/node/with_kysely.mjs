// Kysely: its migrator and schema builder, introspection, queries with nested JSON, transactions.
import assert from "node:assert/strict";
import { Kysely, Migrator, PostgresDialect, sql } from "kysely";
import { jsonArrayFrom, jsonObjectFrom } from "kysely/helpers/postgres";
import pg from "pg";
import { end, step } from "./steps.mjs";

const database = new Kysely({ dialect: new PostgresDialect({ pool: new pg.Pool() }) });

const first = {
  async up({ schema }) {
    await schema.createType("species").asEnum(["cat", "dog"]).execute();
    await schema.createTable("person")
      .addColumn("id", "integer", (column) => column.primaryKey().generatedAlwaysAsIdentity())
      .addColumn("name", "varchar(40)", (column) => column.notNull().unique())
      .addColumn("made", "timestamptz", (column) => column.defaultTo(sql`now()`))
      .addColumn("upper", "text", (column) => column.generatedAlwaysAs(sql`upper(name)`).stored())
      .addCheckConstraint("named", sql`length(name) > 0`).execute();
    await schema.createTable("pet")
      .addColumn("id", "serial", (column) => column.primaryKey())
      .addColumn("owner", "integer", (column) => column.references("person.id").onDelete("cascade"))
      .addColumn("species", sql`species`)
      .addColumn("data", "jsonb").execute();
    await schema.createIndex("pet_owner").on("pet").columns(["owner", "species desc"]).where("owner", ">", 1).execute();
    const owners = database.selectFrom("person").innerJoin("pet", "pet.owner", "person.id").select(["person.name", "pet.species"]);
    await schema.createView("owners").orReplace().as(owners).execute();
  },
  async down({ schema }) {
    await schema.dropView("owners").execute();
    await schema.dropTable("pet").execute();
    await schema.dropTable("person").execute();
    await schema.dropType("species").execute();
  },
};
const kept = {
  async up({ schema }) {
    await schema.createView("kept").materialized().as(database.selectFrom("person").select("name")).execute();
    await schema.refreshMaterializedView("kept").execute();
  },
  async down({ schema }) {
    await schema.dropView("kept").materialized().execute();
  },
};
const migrator = (migrations) => new Migrator({ db: database, provider: { getMigrations: async () => migrations } });

async function migrate(migrations, expected) {
  const { error, results } = await migrator(migrations).migrateToLatest();
  if (error) throw error;
  assert.equal(results.length, expected);
}

async function migrateDown(migrations) {
  const { error } = await migrator(migrations).migrateDown();
  if (error) throw error;
}

async function introspection() {
  const tables = await database.introspection.getTables();
  const kinds = tables.map((table) => [table.name, table.isView]).sort();
  assert.deepEqual(kinds, [["owners", true], ["person", false], ["pet", false]]);
  const person = tables.find((table) => table.name === "person");
  const columns = person.columns.map((column) => [column.name, column.dataType, column.isNullable, column.hasDefaultValue]);
  assert.deepEqual(columns.slice(1), [
    ["name", "varchar", false, false], ["made", "timestamptz", true, true], ["upper", "text", true, true],
  ]);
  assert.equal(tables.find((table) => table.name === "pet").columns[0].isAutoIncrementing, true);
  assert.ok((await database.introspection.getSchemas()).some((schema) => schema.name === "public"));
}

async function nestedJson() {
  const { id } = await database.insertInto("person").values({ name: "Ann" }).returning("id").executeTakeFirstOrThrow();
  await database.insertInto("pet")
    .values([{ owner: id, species: "cat", data: JSON.stringify({ a: 1 }) }, { owner: id, species: "dog" }]).execute();
  const [row] = await database.selectFrom("person").select((query) => [
    "upper",
    jsonArrayFrom(query.selectFrom("pet").select(["species", "data"]).whereRef("pet.owner", "=", "person.id").orderBy("pet.id"))
      .as("pets"),
    jsonObjectFrom(query.selectFrom("pet").select("species").whereRef("owner", "=", "person.id").orderBy("id").limit(1)).as("first"),
  ]).execute();
  assert.deepEqual(row, {
    upper: "ANN", pets: [{ species: "cat", data: { a: 1 } }, { species: "dog", data: null }], first: { species: "cat" },
  });
}


async function transaction() {
  const rows = await database.transaction().setIsolationLevel("serializable").execute((run) =>
    run.selectFrom("person").selectAll().where("name", "=", "Ann").forUpdate().skipLocked().execute());
  assert.equal(rows.length, 1);
}

await step("migrate", () => migrate({ first }, 1));
await step("migrate without more to do", () => migrate({ first }, 0));
await step("introspection", introspection);
await step("nested JSON", nestedJson);
await step("transaction", transaction);
await step("materialized view", async () => {
  await migrate({ first, kept }, 1);
  await migrateDown({ first, kept });
});
await step("down", () => migrateDown({ first }));
await database.destroy();
end();

// Knex: schema builder, migrations with its lock table, queries.
import assert from "node:assert/strict";
import knex from "knex";

const database = knex({ client: "pg", connection: {} });
const migrations = [
  {
    name: "1",
    up: async (run) => {
      await run.schema.createTable("team", (table) => {
        table.increments("id");
        table.string("name", 40).notNullable().unique();
        table.jsonb("data");
        table.timestamps(true, true);
      });
      await run.schema.createTable("member", (table) => {
        table.bigIncrements("id");
        table.integer("team_id").references("id").inTable("team").onDelete("CASCADE").index();
        table.enu("role", ["lead", "member"]).defaultTo("member");
        table.decimal("pay", 10, 2);
      });
    },
    down: async (run) => {
      await run.schema.dropTable("member");
      await run.schema.dropTable("team");
    },
  },
  {
    name: "2",
    up: async (run) => run.schema.alterTable("member", (table) => {
      table.string("note").defaultTo("none");
      table.renameColumn("pay", "salary");
      table.check("salary >= 0", undefined, "paid");
    }),
    down: async (run) => run.schema.alterTable("member", (table) => {
      table.dropChecks("paid");
      table.dropColumn("note");
      table.renameColumn("salary", "pay");
    }),
  },
];
const source = {
  getMigrations: async () => migrations,
  getMigrationName: (migration) => migration.name,
  getMigration: async (migration) => migration,
};
const config = { migrationSource: source };
await database.migrate.latest(config);
assert.ok(await database.schema.hasTable("member"));
assert.ok(await database.schema.hasColumn("member", "salary"));
const [team] = await database("team").insert({ name: "blue", data: { a: 1 } }).returning("*");
assert.deepEqual(team.data, { a: 1 });
await database("member").insert([{ team_id: team.id, salary: 10 }, { team_id: team.id, role: "lead", salary: 20.5 }]);
await assert.rejects(database("member").insert({ team_id: team.id, role: "cook" }), { code: "23514" });
const rows = await database("team").join("member", "team.id", "member.team_id").groupBy("team.name")
  .select("team.name").sum({ total: "salary" }).count({ members: "*" });
assert.deepEqual(rows, [{ name: "blue", total: "30.50", members: "2" }]);
await database.transaction(async (run) => {
  await run("team").insert({ name: "blue" }).onConflict("name").merge({ data: { a: 2 } });
  assert.equal((await run("team").where({ name: "blue" }).forUpdate().first()).data.a, 2);
});
await database("team").del();
assert.equal((await database("member").count({ n: "*" }))[0].n, "0");
const columns = await database("member").columnInfo();
assert.equal(columns.note.type, "character varying");
await database.migrate.rollback(config, true);
assert.ok(!(await database.schema.hasTable("team")));
await database.schema.dropTable("knex_migrations").dropTable("knex_migrations_lock");
await database.destroy();

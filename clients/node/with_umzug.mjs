// Umzug with Sequelize's query interface: migrations up and down, and what the interface reads back.
import assert from "node:assert/strict";
import { DataTypes, Sequelize } from "sequelize";
import { SequelizeStorage, Umzug } from "umzug";
import { end, step } from "./steps.mjs";

const { PGHOST, PGPORT, PGUSER, PGDATABASE, PGPASSWORD } = process.env;
const sequelize = new Sequelize(PGDATABASE, PGUSER, PGPASSWORD, {
  host: PGHOST, port: Number(PGPORT), dialect: "postgres", logging: false,
});
const queries = sequelize.getQueryInterface();

const people = {
  name: "01-people",
  async up() {
    await queries.createTable("people", {
      id: { type: DataTypes.INTEGER, primaryKey: true, autoIncrement: true },
      name: { type: DataTypes.STRING(30), allowNull: false, comment: "the name" },
      mood: { type: DataTypes.ENUM("a", "b"), defaultValue: "a" },
      tags: DataTypes.ARRAY(DataTypes.STRING),
      data: DataTypes.JSONB,
      key: { type: DataTypes.UUID, defaultValue: DataTypes.UUIDV4 },
    });
    await queries.addColumn("people", "boss", {
      type: DataTypes.INTEGER, references: { model: "people", key: "id" }, onDelete: "SET NULL",
    });
    await queries.addIndex("people", ["name", "mood"], { unique: true, where: { mood: "a" }, name: "people_name_mood" });
    await queries.changeColumn("people", "name", { type: DataTypes.STRING(60), allowNull: true, defaultValue: "z" });
    await queries.renameColumn("people", "data", "details");
    await queries.addConstraint("people", { type: "check", fields: ["name"], where: { name: ["z", "ann"] }, name: "people_names" });
  },
  async down() {
    await queries.dropTable("people");
    await sequelize.query('DROP TYPE "enum_people_mood"');
  },
};
const addresses = {
  name: "02-addresses",
  async up() {
    await queries.addColumn("people", "address", { type: DataTypes.INET, defaultValue: "127.0.0.1" });
    await queries.addColumn("people", "network", { type: DataTypes.CIDR });
    await queries.addColumn("people", "device", { type: DataTypes.MACADDR });
  },
  async down() {
    for (const name of ["address", "network", "device"]) {
      await queries.removeColumn("people", name);
    }
  },
};
const umzug = (migrations) => new Umzug({ migrations, storage: new SequelizeStorage({ sequelize }), logger: undefined });
const first = umzug([people]);

async function up() {
  assert.equal((await first.up()).length, 1);
  assert.equal((await first.pending()).length, 0);
  assert.equal((await first.up()).length, 0);
}

async function readBack() {
  const table = await queries.describeTable("people");
  assert.equal(table.name.type, "CHARACTER VARYING(60)");
  assert.equal(table.name.comment, "the name");
  assert.equal(table.id.primaryKey, true);
  assert.deepEqual(table.mood.special, ["a", "b"]);
  const indexes = await queries.showIndex("people");
  assert.deepEqual(indexes.map((index) => index.name).sort(), ["people_name_mood", "people_pkey"]);
  const [key] = await queries.getForeignKeyReferencesForTable("people");
  assert.equal(key.referencedColumnName, "id");
  const constraints = await queries.showConstraint("people");
  assert.ok(constraints.some((constraint) => constraint.constraintName === "people_names"));
  assert.deepEqual((await queries.showAllTables()).sort(), ["SequelizeMeta", "people"]);
}

async function withAddresses() {
  const both = umzug([people, addresses]);
  assert.equal((await both.up()).length, 1);
  await sequelize.query(`INSERT INTO people (name, network) VALUES ('ann', '10.0.0.0/8')`);
  const [[row]] = await sequelize.query(`SELECT address, network FROM people`);
  assert.deepEqual(row, { address: "127.0.0.1", network: "10.0.0.0/8" });
  assert.equal((await both.down()).length, 1);
}

async function down() {
  assert.equal((await first.down()).length, 1);
  await first.up();
  await first.down({ to: 0 });
  assert.deepEqual(await queries.showAllTables(), ["SequelizeMeta"]);
}

await step("up", up);
await step("reading back", readBack);
await step("inet, cidr, macaddr", withAddresses);
await step("down and up and down", down);
await sequelize.close();
end();

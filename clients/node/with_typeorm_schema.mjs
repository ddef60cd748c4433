// TypeORM's schema builder: synchronize makes all kinds of columns, a second one finds nothing, a changed entity is
// followed; migration:generate likewise; then repositories over what was made.
import "reflect-metadata";
import assert from "node:assert/strict";
import { ArrayContains, Between, DataSource, EntitySchema, ILike, In, IsNull, Not, Raw } from "typeorm";
import { end, step } from "./steps.mjs";
import { Entry, Kept, Owner, others, ownerColumns, ownerOptions, Visit } from "./typeorm_entities.mjs";

const { PGHOST, PGPORT, PGUSER, PGDATABASE, PGPASSWORD } = process.env;
const server = { type: "postgres", host: PGHOST, port: Number(PGPORT), username: PGUSER, password: PGPASSWORD, database: PGDATABASE };
const open = (entities, more) => new DataSource({ ...server, entities, ...more }).initialize();

// What synchronize would do now; `migration:generate` writes the same statements.
async function pending(source) {
  const log = await source.driver.createSchemaBuilder().log();
  return log.upQueries.map((one) => one.query);
}

async function synchronize(source) {
  await source.query(`CREATE SCHEMA IF NOT EXISTS zoo`);
  await source.synchronize();
  assert.deepEqual(await pending(source), [], "a second synchronize finds nothing to do");
  await source.synchronize();
}

const ann = {
  email: "a@b.c", first: "Ann", last: "Bee", tags: ["x", "y, z", 'q"'], scores: [1, 2], roles: ["read", "write"], role: "admin",
  data: { b: [1, { c: null }] }, plain: { z: 1 }, list: ["p", "q"], simple: { r: 1 }, birth: "2000-02-03", time: "10:11:12.345",
  price: "12.345", ratio: 0.1, share: 1.5, raw: Buffer.from([0, 1, 255]), span: "1 day 02:00:00", sorted: "s",
  profile: { text: "hello" }, pets: [{ name: "Tom", kind: "cat" }, { name: "Rex", kind: "it's" }],
  groups: [{ code: "aa", region: 1 }, { code: "bb", region: 2 }],
};

async function insertAndRead(source) {
  const owners = source.getRepository("Owner");
  const saved = await owners.save(ann);
  assert.equal(saved.full, "Ann Bee");
  assert.equal(saved.version, 1);
  const [read] = await owners.find({
    relations: { profile: true, pets: true, groups: true }, order: { pets: { name: "ASC" }, groups: { code: "ASC" } },
  });
  for (const name of ["tags", "scores", "roles", "data", "plain", "list", "simple", "birth", "time", "price", "ratio", "share"]) {
    assert.deepEqual(read[name], ann[name], name);
  }
  assert.deepEqual([...read.raw], [0, 1, 255]);
  assert.equal(read.span.hours, 2);
  assert.equal(read.letters, "abc");
  assert.deepEqual(read.pets.map((pet) => pet.name), ["Rex", "Tom"]);
  assert.deepEqual(read.groups.map((group) => group.code), ["aa", "bb"]);
  assert.equal(read.profile.text, "hello");
  read.last = "Cee";
  assert.equal((await owners.save(read)).version, 2);
  assert.equal((await owners.findOneBy({ id: read.id })).full, "Ann Cee");
}

async function refusals(source) {
  const owners = source.getRepository("Owner");
  await assert.rejects(owners.insert({ email: "a@b.c", first: "B", big: 9 }), (error) => error.code === "23505");
  await assert.rejects(
    owners.insert({ email: "s@b.c", first: "B", small: 100, big: 4 }),
    (error) => error.code === "23514" && error.driverError.constraint === "owner_small",
  );
}

async function finders(source) {
  const owners = source.getRepository("Owner");
  await owners.insert([{ email: "d@e.f", first: "D", big: 1 }, { email: "g@h.i", first: "G", big: 2, tags: ["x"] }]);
  await owners.upsert({ email: "d@e.f", first: "Dan", big: 1 }, { conflictPaths: ["email"], skipUpdateIfNoValuesChanged: true });
  assert.equal((await owners.findOneByOrFail({ email: "d@e.f" })).full, "Dan Nobody");
  assert.equal(await owners.countBy({ tags: ArrayContains(["x"]) }), 2);
  assert.equal(await owners.countBy({ email: ILike("%@E.%") }), 1);
  assert.equal(await owners.countBy({ email: In(["a@b.c", "d@e.f"]), big: Between(0, 1), price: Not(IsNull()) }), 1);
  assert.equal(await owners.countBy({ data: Raw((alias) => `${alias} @> '{"a":1}'`) }), 2);
  const [page, total] = await owners.findAndCount({ relations: { pets: true }, order: { email: "DESC" }, take: 2, skip: 1 });
  assert.equal(total, 3);
  assert.deepEqual(page.map((row) => row.email), ["d@e.f", "a@b.c"]);
  const counts = await source.getRepository("Counts").find({ order: { email: "ASC" } });
  assert.deepEqual(counts.map((row) => Number(row.pets)), [2, 0, 0]);
}

async function builders(source) {
  const owners = source.getRepository("Owner");
  const groups = await source.createQueryBuilder().select("o.role", "role").addSelect("count(*)::int", "number").from("Owner", "o")
    .groupBy("o.role").having("count(*) > 0").orderBy("o.role").getRawMany();
  assert.deepEqual(groups, [{ role: "admin", number: 1 }, { role: "user", number: 2 }]);
  const done = await owners.createQueryBuilder().update().set({ last: () => `upper("last")` }).where("big >= 0")
    .returning(["email", "last"]).execute();
  assert.equal(done.affected, 3);
  const few = await source.createQueryBuilder().addCommonTableExpression(`SELECT "email" FROM "owner" WHERE "big" > 0`, "few")
    .select("f.email", "email").from("few", "f").orderBy("f.email").getRawMany();
  assert.equal(few.length, 2);
  await owners.softDelete({ email: "g@h.i" });
  assert.equal(await owners.count(), 2);
  await owners.restore({ email: "g@h.i" });
}

async function transactions(source) {
  await source.transaction("SERIALIZABLE", async (manager) => {
    const locked = await manager.getRepository("Owner").createQueryBuilder("o").setLock("pessimistic_write")
      .setOnLocked("skip_locked").getMany();
    assert.equal(locked.length, 3);
    const inner = manager.transaction(async (nested) => {
      await nested.getRepository("Owner").delete({ email: "g@h.i" });
      throw new Error("taken back");
    });
    await assert.rejects(inner, /taken back/);
  });
  assert.equal(await source.getRepository("Owner").count(), 3);
}

async function trees(source) {
  const categories = source.getTreeRepository("Category");
  const root = await categories.save({ name: "root" });
  const child = await categories.save({ name: "child", parent: root });
  await categories.save({ name: "leaf", parent: child });
  const [tree] = await categories.findTrees();
  assert.equal(tree.children[0].children[0].name, "leaf");
  assert.equal(await categories.countDescendants(root), 3);
}

// Other types, lengths, defaults, comments, values of an enum, indexes and checks of a table that has rows.
const Changed = new EntitySchema({
  ...ownerOptions,
  columns: {
    ...ownerColumns,
    memo: { type: "varchar", length: 100, nullable: true },
    role: { type: "enum", enum: ["admin", "user", "guest", "new"], enumName: "owner_role", default: "guest" },
    big: { type: "bigint", default: 7 },
    extra: { type: "int", array: true, default: [1, 2] },
    price: { type: "numeric", precision: 14, scale: 2, nullable: true, comment: "else" },
    full: { type: "text", generatedType: "STORED", asExpression: `"last" || 'x'`, nullable: true },
  },
  indices: [{ name: "owner_last", columns: ["last"] }],
  checks: [{ name: "owner_small", expression: `"small" >= 0` }],
});

async function follow() {
  const source = await open([Changed, ...others]);
  assert.ok((await pending(source)).length > 5, "the changed entity asks for changes");
  await source.synchronize();
  assert.deepEqual(await pending(source), [], "a second synchronize of the changed entity finds nothing to do");
  assert.equal((await source.getRepository("Owner").findOneByOrFail({ email: "a@b.c" })).full, "CEEx");
  await source.dropDatabase();
  await source.query(`DROP SCHEMA zoo CASCADE`);
  await source.destroy();
}

// The statements that `migration:generate` writes make the schema, then there is nothing to generate.
async function generatedMigration() {
  const source = await open([Owner, ...others]);
  await source.query(`CREATE SCHEMA zoo`);
  const { upQueries, downQueries } = await source.driver.createSchemaBuilder().log();
  class Generated1700000000000 {
    async up(runner) {
      for (const one of upQueries) await runner.query(one.query, one.parameters);
    }
    async down(runner) {
      for (const one of downQueries.toReversed()) await runner.query(one.query, one.parameters);
    }
  }
  const migrating = await open([Owner, ...others], { migrations: [Generated1700000000000] });
  assert.equal((await migrating.runMigrations()).length, 1);
  assert.deepEqual(await pending(source), [], "after the generated migration there is nothing to generate");
  assert.equal((await migrating.runMigrations()).length, 0);
  await migrating.undoLastMigration();
  assert.equal((await pending(source)).length, upQueries.length);
  for (const one of [migrating, source]) await one.destroy();
}

async function kept(source) {
  const materialized = await open([Owner, ...others, Kept]);
  await synchronize(materialized);
  await materialized.query(`REFRESH MATERIALIZED VIEW "kept"`);
  assert.equal(await materialized.getRepository(Kept).count(), await source.getRepository("Owner").count());
  await materialized.query(`DROP MATERIALIZED VIEW "kept"`);
  await materialized.query(`DELETE FROM typeorm_metadata WHERE type = 'MATERIALIZED_VIEW'`);
  await materialized.destroy();
}

async function types(entity, row, expected) {
  const source = await open([entity]);
  await source.synchronize();
  assert.deepEqual(await pending(source), [], "a second synchronize finds nothing to do");
  const rows = source.getRepository(entity);
  await rows.insert(row);
  const [{ id, ...found }] = await rows.find();
  assert.deepEqual(found, expected);
  await source.destroy();
}

await step("migration:generate", generatedMigration);
const source = await open([Owner, ...others]);
await step("synchronize", () => synchronize(source));
await step("insert and read", () => insertAndRead(source));
await step("refusals", () => refusals(source));
await step("finders and upsert", () => finders(source));
await step("query builders", () => builders(source));
await step("transactions", () => transactions(source));
await step("trees", () => trees(source));
await step("materialized view", () => kept(source));
await source.destroy();
await step("changed entity", follow);
await step("inet, cidr, macaddr", () => types(
  Visit, { network: "10.0.0.0/8", device: "08:00:2b:01:02:03" },
  { address: "127.0.0.1", network: "10.0.0.0/8", device: "08:00:2b:01:02:03" },
));
await step("citext, hstore", () => types(
  Entry, { word: "Word", pairs: { a: "1", b: "it's" } }, { word: "Word", pairs: { a: "1", b: "it's" } },
));
end();

// MikroORM: its schema generator (a second update finds nothing), unit of work, populate, query builder, locks.
import assert from "node:assert/strict";
import { EntitySchema, LockMode, MikroORM, raw } from "@mikro-orm/postgresql";
import { end, step } from "./steps.mjs";

const { PGHOST, PGPORT, PGUSER, PGDATABASE, PGPASSWORD } = process.env;

const Author = new EntitySchema({
  name: "Author",
  indexes: [{ properties: ["name", "born"] }],
  uniques: [{ properties: ["email"], name: "author_email" }],
  checks: [{ name: "author_age", expression: "age >= 0" }],
  properties: {
    id: { type: "number", primary: true },
    key: { type: "uuid", defaultRaw: "gen_random_uuid()" },
    name: { type: "string", length: 60, default: "none" },
    email: { type: "string", nullable: true },
    age: { type: "smallint", default: 1 },
    big: { type: "bigint", nullable: true },
    price: { type: "decimal", precision: 10, scale: 2, nullable: true },
    born: { type: "date", nullable: true },
    made: { type: "datetime", defaultRaw: "now()", length: 3 },
    tags: { type: "string[]", nullable: true, columnType: "text[]" },
    data: { type: "json", nullable: true },
    picture: { type: "blob", nullable: true },
    mood: { enum: true, items: ["sad", "ok"], default: "ok" },
    native: { enum: true, items: ["x", "y"], nativeEnumName: "native_enum", nullable: true },
    upper: { type: "string", columnType: "text", generated: "(upper(name)) stored", nullable: true, comment: "generated" },
    active: { type: "boolean", default: false },
    ratio: { type: "double", nullable: true },
    span: { type: "interval", nullable: true },
    hour: { type: "time", nullable: true },
    version: { type: "number", version: true },
    books: { kind: "1:m", entity: "Book", mappedBy: "author", orphanRemoval: true },
  },
});
const Book = new EntitySchema({
  name: "Book",
  properties: {
    id: { type: "uuid", primary: true, defaultRaw: "gen_random_uuid()" },
    title: { type: "string", index: true },
    author: { kind: "m:1", entity: "Author", deleteRule: "cascade", updateRule: "cascade", deferMode: "deferred" },
    labels: { kind: "m:n", entity: "Label", owner: true },
  },
});
const Label = new EntitySchema({
  name: "Label",
  schema: "other",
  properties: {
    id: { type: "number", primary: true, autoincrement: true },
    text: { type: "string", unique: true },
  },
});

const orm = await MikroORM.init({
  entities: [Author, Book, Label], host: PGHOST, port: Number(PGPORT), user: PGUSER, password: PGPASSWORD, dbName: PGDATABASE,
});
const generator = orm.getSchemaGenerator();

async function updateFindsNothing() {
  assert.equal((await generator.getUpdateSchemaSQL()).trim(), "");
}

async function insert() {
  const manager = orm.em.fork();
  const author = manager.create("Author", {
    name: "Ann", email: "a@b", tags: ["x", "y,z"], data: { k: [1] }, picture: Buffer.from([1, 0]), born: "2000-01-02", native: "x",
    price: "1.50", books: [{ title: "one", labels: [{ text: "first" }] }, { title: "two", labels: [] }],
  });
  await manager.flush();
  assert.equal(author.version, 1);
}

async function readAndChange() {
  const manager = orm.em.fork();
  const author = await manager.findOneOrFail(
    "Author", { name: "Ann", tags: { $contains: ["x"] } }, { populate: ["books.labels"], orderBy: { books: { title: "asc" } } });
  assert.equal(author.upper, "ANN");
  assert.deepEqual(author.data, { k: [1] });
  assert.equal(author.books[0].labels[0].text, "first");
  author.name = "Bob";
  author.books.remove(author.books[1]);
  await manager.flush();
  assert.equal(await manager.count("Book"), 1);
  assert.equal(author.version, 2);
}

async function pages() {
  const [rows, total] = await orm.em.fork().findAndCount(
    "Author", { books: { title: { $ilike: "O%" } } }, { limit: 1, offset: 0, strategy: "joined", populate: ["books"] });
  assert.deepEqual([rows.length, total], [1, 1]);
}

async function upsert() {
  const manager = orm.em.fork();
  await manager.upsertMany("Author", [{ email: "a@b", name: "Up" }, { email: "c@d", name: "New" }], { onConflictFields: ["email"] });
  const sums = await manager.createQueryBuilder("Author", "a").select(["a.mood", raw("count(*) as number")]).groupBy("a.mood")
    .execute("all", false);
  assert.equal(Number(sums[0].number), 2);
}

async function locks() {
  await orm.em.fork().transactional(async (manager) => {
    await manager.findOneOrFail("Author", { email: "c@d" }, { lockMode: LockMode.PESSIMISTIC_WRITE });
    await manager.find("Author", {}, { lockMode: LockMode.PESSIMISTIC_PARTIAL_WRITE });
  });
}

await step("create schema", () => generator.createSchema());
await step("update schema", updateFindsNothing);
await step("insert", insert);
await step("read and change", readAndChange);
await step("pages", pages);
await step("upsert", upsert);
await step("locks", locks);
await step("drop schema", () => generator.dropSchema({ wrap: false }));
await orm.close(true);
end();

// The entities of with_typeorm_schema.mjs.
import { EntitySchema, Index, ViewColumn, ViewEntity } from "typeorm";

export const ownerColumns = {
  id: { type: "uuid", primary: true, generated: "uuid" },
  email: { type: String, length: 80, unique: true },
  first: { type: "text" },
  last: { type: "varchar", length: 40, default: "Nobody" },
  full: { type: "text", generatedType: "STORED", asExpression: `"first" || ' ' || "last"`, nullable: true },
  tags: { type: "text", array: true, default: () => "'{}'" },
  scores: { type: "int", array: true, nullable: true },
  role: { type: "enum", enum: ["admin", "user", "guest"], enumName: "owner_role", default: "user" },
  roles: { type: "enum", enum: ["read", "write"], array: true, default: ["read"] },
  data: { type: "jsonb", default: { a: 1 } },
  plain: { type: "json", nullable: true },
  list: { type: "simple-array", nullable: true },
  simple: { type: "simple-json", nullable: true },
  birth: { type: "date", nullable: true },
  time: { type: "time", precision: 3, nullable: true },
  at: { type: "timestamp", precision: 3, default: () => "CURRENT_TIMESTAMP" },
  made: { type: "timestamptz", createDate: true },
  changed: { type: "timestamptz", updateDate: true },
  gone: { type: "timestamptz", deleteDate: true, nullable: true },
  version: { type: Number, version: true },
  big: { type: "bigint", default: 0 },
  small: { type: "smallint", default: 1 },
  price: { type: "numeric", precision: 12, scale: 3, nullable: true, comment: "How much it's" },
  ratio: { type: "double precision", nullable: true },
  share: { type: "real", nullable: true },
  raw: { type: "bytea", nullable: true },
  active: { type: Boolean, default: true },
  memo: { type: "text", default: "" },
  span: { type: "interval", nullable: true },
  letters: { type: "char", length: 3, default: "abc" },
  sorted: { type: "varchar", nullable: true, collation: "C" },
};

export const ownerOptions = {
  name: "Owner",
  tableName: "owner",
  indices: [
    { name: "owner_last_first", columns: ["last", "first"] },
    { name: "owner_active", columns: ["email"], unique: true, where: `"active" = true` },
    { name: "owner_big_small", columns: ["big", "small"], unique: true },
  ],
  uniques: [{ name: "owner_big_made", columns: ["big", "made"] }],
  checks: [
    { name: "owner_small", expression: `"small" >= 0 AND "small" < 100` },
    { expression: `"role" <> 'guest' OR "active"` },
  ],
  relations: {
    profile: { type: "one-to-one", target: "Profile", inverseSide: "owner", cascade: true },
    pets: { type: "one-to-many", target: "Pet", inverseSide: "owner", cascade: true },
    groups: { type: "many-to-many", target: "Group", joinTable: { name: "owner_group" }, inverseSide: "owners", cascade: true },
  },
};

export const Owner = new EntitySchema({ ...ownerOptions, columns: ownerColumns });

const Profile = new EntitySchema({
  name: "Profile",
  columns: {
    id: { type: Number, primary: true, generated: "identity", generatedIdentity: "ALWAYS" },
    text: { type: "text", nullable: true },
  },
  relations: {
    owner: {
      type: "one-to-one", target: "Owner", inverseSide: "profile", joinColumn: { name: "owner_id" }, onDelete: "CASCADE",
    },
  },
});

const Pet = new EntitySchema({
  name: "Pet",
  schema: "zoo",
  columns: {
    id: { type: "bigint", primary: true, generated: "increment" },
    name: { type: String },
    kind: { type: "enum", enum: ["cat", "dog", "it's"], nullable: true },
  },
  relations: {
    owner: {
      type: "many-to-one", target: "Owner", joinColumn: { name: "owner_id" }, inverseSide: "pets", onDelete: "SET NULL",
      onUpdate: "CASCADE", deferrable: "INITIALLY DEFERRED", nullable: true,
    },
  },
});

const Group = new EntitySchema({
  name: "Group",
  columns: { code: { type: "varchar", length: 5, primary: true }, region: { type: "int", primary: true } },
  relations: { owners: { type: "many-to-many", target: "Owner", inverseSide: "groups" } },
});

const Category = new EntitySchema({
  name: "Category",
  columns: { id: { type: Number, primary: true, generated: true }, name: { type: String } },
  trees: [{ type: "closure-table" }],
  relations: {
    parent: { type: "many-to-one", target: "Category", treeParent: true },
    children: { type: "one-to-many", target: "Category", treeChildren: true, inverseSide: "parent" },
  },
});

const Counts = new EntitySchema({
  name: "Counts",
  type: "view",
  expression: `SELECT "o"."email" AS "email", count("p"."id") AS "pets" FROM "owner" "o"
    LEFT JOIN "zoo"."pet" "p" ON "p"."owner_id" = "o"."id" GROUP BY "o"."email"`,
  columns: { email: { type: String }, pets: { type: Number } },
});

export const others = [Profile, Pet, Group, Category, Counts];

// A materialized view with an index.
export class Kept {}
ViewColumn()(Kept.prototype, "email");
ViewColumn()(Kept.prototype, "role");
Index("kept_email", ["email"], { unique: true })(Kept);
ViewEntity({ name: "kept", materialized: true, expression: `SELECT "email", "role" FROM "owner"` })(Kept);

// Types of addresses, and those that extensions bring.
export const Visit = new EntitySchema({
  name: "Visit",
  columns: {
    id: { type: Number, primary: true, generated: true },
    address: { type: "inet", default: "127.0.0.1" },
    network: { type: "cidr", nullable: true },
    device: { type: "macaddr", nullable: true },
  },
});

export const Entry = new EntitySchema({
  name: "Entry",
  columns: {
    id: { type: Number, primary: true, generated: true },
    word: { type: "citext", unique: true },
    pairs: { type: "hstore", hstoreType: "object", nullable: true },
  },
});

// The schema of with_drizzle_kit.mjs.
import { sql } from "drizzle-orm";
import {
  type AnyPgColumn, bigint, bigserial, boolean, char, check, date, doublePrecision, foreignKey, index, integer, interval, json, jsonb,
  numeric, pgEnum, pgSchema, pgSequence, pgTable, pgView, primaryKey, real, serial, smallint, smallserial, text, time, timestamp,
  unique, uniqueIndex, uuid, varchar,
} from "drizzle-orm/pg-core";

export const mood = pgEnum("mood", ["sad", "ok", "its"]);
export const shop = pgSchema("shop");
export const color = shop.enum("color", ["red", "green"]);
export const counter = pgSequence("counter", { startWith: 100, increment: 5, maxValue: 10000, minValue: 1, cache: 10, cycle: true });

export const users = pgTable("users", {
  id: integer("id").primaryKey().generatedAlwaysAsIdentity({ startWith: 10 }),
  other: bigint("other", { mode: "number" }).generatedByDefaultAsIdentity({ name: "other_seq", increment: 2 }),
  key: uuid("key").defaultRandom().notNull().unique(),
  email: varchar("email", { length: 100 }).notNull().unique("users_email"),
  name: text("name").default("it's").notNull(),
  lower: text("lower").generatedAlwaysAs(sql`lower(name)`),
  mood: mood("mood").default("ok"),
  moods: mood("moods").array().default(["ok"]),
  tags: text("tags").array().notNull().default(["a"]),
  numbers: integer("numbers").array().default([1, 2]),
  grid: integer("grid").array().array(),
  data: jsonb("data").default({ a: 1 }),
  plain: json("plain"),
  price: numeric("price", { precision: 10, scale: 2 }).default("0.00"),
  exact: numeric("exact"),
  ratio: doublePrecision("ratio").default(0.5),
  share: real("share"),
  active: boolean("active").default(false).notNull(),
  code: char("code", { length: 3 }),
  made: timestamp("made", { withTimezone: true }).defaultNow().notNull(),
  at: timestamp("at", { precision: 3, mode: "string" }).default(sql`CURRENT_TIMESTAMP`),
  day: date("day").defaultNow(),
  hour: time("hour", { precision: 0 }),
  span: interval("span"),
  days: interval("days", { fields: "day" }),
  small: smallint("small").default(1),
  boss: integer("boss").references((): AnyPgColumn => users.id, { onDelete: "set null", onUpdate: "cascade" }),
}, (table) => [
  index("users_name").on(table.name.desc().nullsLast(), table.email),
  uniqueIndex("users_lower_email").on(sql`lower(${table.email})`),
  index("users_active").on(table.small).where(sql`${table.active} = true`),
  index("users_hash").using("hash", table.code),
  index("users_filled").on(table.price).with({ fillfactor: "70" }),
  unique("users_price_small").on(table.price, table.small),
  check("users_price", sql`${table.price} >= 0 AND ${table.small} < 100`),
]);

export const posts = shop.table("posts", {
  id: bigserial("id", { mode: "number" }).primaryKey(),
  userId: integer("user_id").notNull().references(() => users.id, { onDelete: "cascade" }),
  color: color("color").notNull().default("red"),
  title: text("title"),
});

export const links = pgTable("links", {
  userId: integer("user_id").notNull(),
  postId: bigint("post_id", { mode: "number" }).notNull(),
  number: serial("number"),
  small: smallserial("small"),
}, (table) => [
  primaryKey({ name: "links_key", columns: [table.userId, table.postId] }),
  foreignKey({ name: "links_user", columns: [table.userId], foreignColumns: [users.id] }).onDelete("restrict"),
]);

export const lines = pgTable("lines", { a: integer("a"), b: bigint("b", { mode: "number" }) }, (table) => [
  foreignKey({ columns: [table.a, table.b], foreignColumns: [links.userId, links.postId] }),
]);

export const active = pgView("active").as((query) =>
  query.select({ id: users.id, email: users.email }).from(users).where(sql`${users.active}`));

export const counts = pgView("counts", { email: text("email"), number: bigint("number", { mode: "number" }) })
  .with({ securityBarrier: true })
  .as(sql`select u.email, count(*) as number from users u join shop.posts p on p.user_id = u.id group by u.email`);

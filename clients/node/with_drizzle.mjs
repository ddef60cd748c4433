// Drizzle: its migrator, typed tables, relations by hand, upserts.
import assert from "node:assert/strict";
import { mkdtempSync, mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eq, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { migrate } from "drizzle-orm/node-postgres/migrator";
import { integer, jsonb, pgTable, serial, text, timestamp } from "drizzle-orm/pg-core";
import pg from "pg";

const pool = new pg.Pool();
const database = drizzle(pool);
const folder = mkdtempSync(join(tmpdir(), "drizzle-"));
mkdirSync(join(folder, "meta"));
writeFileSync(join(folder, "0000_first.sql"), `CREATE TABLE "city" ("id" serial PRIMARY KEY NOT NULL, "name" text NOT NULL, "data" jsonb, "made" timestamp DEFAULT now() NOT NULL, CONSTRAINT "city_name_unique" UNIQUE("name"));
--> statement-breakpoint
CREATE TABLE "street" ("id" serial PRIMARY KEY NOT NULL, "city_id" integer, "name" text);
--> statement-breakpoint
ALTER TABLE "street" ADD CONSTRAINT "street_city_id_city_id_fk" FOREIGN KEY ("city_id") REFERENCES "public"."city"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
CREATE INDEX "street_name" ON "street" USING btree ("name");`);
writeFileSync(join(folder, "meta", "_journal.json"), JSON.stringify({ version: "7", dialect: "postgresql", entries: [{ idx: 0, version: "7", when: 1700000000000, tag: "0000_first", breakpoints: true }] }));
await migrate(database, { migrationsFolder: folder });
await migrate(database, { migrationsFolder: folder });
const city = pgTable("city", { id: serial("id").primaryKey(), name: text("name").notNull().unique(), data: jsonb("data"), made: timestamp("made").defaultNow().notNull() });
const street = pgTable("street", { id: serial("id").primaryKey(), cityId: integer("city_id"), name: text("name") });
const [made] = await database.insert(city).values({ name: "Bonn", data: { a: [1] } }).returning();
assert.deepEqual(made.data, { a: [1] });
await database.insert(city).values({ name: "Bonn" }).onConflictDoUpdate({ target: city.name, set: { data: { a: 2 } } });
await database.insert(street).values([{ cityId: made.id, name: "x" }, { cityId: made.id, name: "y" }]);
const rows = await database.select({ name: city.name, streets: sql`count(*)::int` }).from(city).innerJoin(street, eq(street.cityId, city.id)).groupBy(city.name);
assert.deepEqual(rows, [{ name: "Bonn", streets: 2 }]);
await database.transaction(async (run) => {
  await run.delete(city);
});
assert.equal((await database.select().from(street)).length, 0);
await database.execute(sql`DROP TABLE street, city`);
await database.execute(sql`DROP SCHEMA drizzle CASCADE`);
await pool.end();

// The schema of with_drizzle_kit.mjs: types of addresses and a materialized view.
import { cidr, inet, macaddr, pgMaterializedView, pgTable, serial } from "drizzle-orm/pg-core";

export const visits = pgTable("visits", {
  id: serial("id").primaryKey(),
  address: inet("address").notNull().default("127.0.0.1"),
  network: cidr("network"),
  device: macaddr("device"),
});

export const addresses = pgMaterializedView("addresses").as((query) => query.select({ address: visits.address }).from(visits));

// TypeORM: synchronize twice, repositories, relations, the query builder.
import "reflect-metadata";
import assert from "node:assert/strict";
import { DataSource, EntitySchema } from "typeorm";

const { PGHOST, PGPORT, PGUSER, PGDATABASE, PGPASSWORD } = process.env;
const Shelf = new EntitySchema({
  name: "Shelf",
  columns: { id: { type: Number, primary: true, generated: true }, label: { type: String, unique: true } },
  relations: { boxes: { type: "one-to-many", target: "Box", inverseSide: "shelf", cascade: true } },
});
const box = (more) => new EntitySchema({
  name: "Box",
  columns: {
    id: { type: Number, primary: true, generated: "increment" },
    weight: { type: "numeric", precision: 8, scale: 2, default: 0 },
    kind: { type: "enum", enum: ["wood", "paper"], default: "paper" },
    content: { type: "jsonb", nullable: true },
    packed: { type: "timestamptz", createDate: true },
    ...more,
  },
  indices: [{ columns: ["weight"] }],
  checks: [{ expression: "weight >= 0" }],
  relations: { shelf: { type: "many-to-one", target: "Shelf", joinColumn: true, onDelete: "CASCADE", inverseSide: "boxes" } },
});
const options = { type: "postgres", host: PGHOST, port: Number(PGPORT), username: PGUSER, password: PGPASSWORD ?? "", database: PGDATABASE, synchronize: true };
const first = await new DataSource({ ...options, entities: [Shelf, box({})] }).initialize();
await first.destroy();
const source = await new DataSource({ ...options, entities: [Shelf, box({ note: { type: String, length: 20, default: "none" } })] }).initialize();
const shelves = source.getRepository("Shelf");
await shelves.save({ label: "top", boxes: [{ weight: 1.5, content: { a: 1 } }, { kind: "wood" }] });
const [shelf] = await shelves.find({ relations: { boxes: true } });
assert.equal(shelf.boxes.length, 2);
assert.deepEqual(shelf.boxes.map((one) => one.note), ["none", "none"]);
const total = await source.getRepository("Box").createQueryBuilder("box").innerJoin("box.shelf", "shelf")
  .where("shelf.label = :label", { label: "top" }).select("sum(box.weight)", "total").getRawOne();
assert.equal(total.total, "1.50");
await source.transaction(async (manager) => {
  await manager.getRepository("Box").increment({ kind: "wood" }, "weight", 2);
});
assert.equal(await source.getRepository("Box").countBy({ kind: "wood", weight: 2 }), 1);
await shelves.delete(shelf.id);
assert.equal(await source.getRepository("Box").count(), 0);
await source.dropDatabase();
await source.destroy();

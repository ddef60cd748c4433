// Sequelize: sync, sync with alter, associations, transactions.
import assert from "node:assert/strict";
import { DataTypes, Op, Sequelize } from "sequelize";

const { PGHOST, PGPORT, PGUSER, PGDATABASE, PGPASSWORD } = process.env;
const database = new Sequelize(PGDATABASE, PGUSER, PGPASSWORD ?? "", { host: PGHOST, port: PGPORT, dialect: "postgres", logging: false });
const Room = database.define("room", {
  name: { type: DataTypes.STRING, unique: true },
  kind: DataTypes.ENUM("single", "double"),
  tags: DataTypes.ARRAY(DataTypes.STRING),
  data: DataTypes.JSONB,
});
const Stay = database.define("stay", { nights: { type: DataTypes.INTEGER, allowNull: false, defaultValue: 1 }, price: DataTypes.DECIMAL(10, 2) }, { indexes: [{ fields: ["nights"] }] });
Room.hasMany(Stay, { onDelete: "CASCADE" });
Stay.belongsTo(Room);
await database.sync();
Stay.init({ nights: { type: DataTypes.INTEGER, allowNull: false, defaultValue: 2 }, price: DataTypes.DECIMAL(12, 2), note: DataTypes.TEXT, roomId: DataTypes.INTEGER }, { sequelize: database, modelName: "stay", indexes: [{ fields: ["nights"] }] });
await database.sync({ alter: true });
const room = await Room.create({ name: "one", kind: "double", tags: ["sea"], data: { floor: 3 } });
await Stay.bulkCreate([{ roomId: room.id, nights: 2, price: 10 }, { roomId: room.id, nights: 5, price: 20.5, note: "x" }]);
const found = await Room.findOne({ where: { data: { floor: 3 }, tags: { [Op.contains]: ["sea"] } } });
assert.equal(found.kind, "double");
const [row] = await Stay.findAll({ attributes: [[database.fn("sum", database.col("price")), "total"]], raw: true });
assert.equal(row.total, "30.50");
await assert.rejects(database.transaction(async (transaction) => {
  await Room.update({ kind: "single" }, { where: {}, transaction });
  await Room.create({ name: "one" }, { transaction });
}), { name: "SequelizeUniqueConstraintError" });
assert.equal((await Room.findByPk(room.id)).kind, "double");
const [, isNew] = await Room.upsert({ id: room.id, name: "one", kind: "single" });
assert.ok(isNew === null || typeof isNew === "boolean");
const tables = await database.getQueryInterface().showAllTables();
assert.ok(tables.length >= 2);
const description = await database.getQueryInterface().describeTable("stays");
assert.equal(description.note.type, "TEXT");
await database.drop({});
await database.close();

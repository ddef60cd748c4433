-- What knex and sequelize create: serial keys, text checks in the place of enums, timestamps with defaults.
create table "knex_migrations" ("id" serial primary key, "name" varchar(255), "batch" integer, "migration_time" timestamptz);
create table "knex_migrations_lock" ("index" serial primary key, "is_locked" integer);
create table "accounts" ("id" serial primary key, "uuid" uuid, "name" varchar(255) not null, "plan" text check ("plan" in ('free', 'pro', 'team')) default 'free', "balance" decimal(14, 2) default '0', "active" boolean default '1', "meta" jsonb, "created_at" timestamptz not null default CURRENT_TIMESTAMP, "updated_at" timestamptz default CURRENT_TIMESTAMP);
alter table "accounts" add constraint "accounts_name_unique" unique ("name");
CREATE TYPE "enum_Invoices_status" AS ENUM('open', 'paid', 'void');
CREATE TABLE IF NOT EXISTS "Invoices" ("id" SERIAL , "status" "enum_Invoices_status" DEFAULT 'open', "history" "enum_Invoices_status"[] DEFAULT ARRAY[]::"enum_Invoices_status"[], "total" DECIMAL(10,2) NOT NULL, "dueOn" DATE, "accountId" INTEGER REFERENCES "accounts" ("id") ON DELETE SET NULL ON UPDATE CASCADE, "createdAt" TIMESTAMP WITH TIME ZONE NOT NULL, "deletedAt" TIMESTAMP WITH TIME ZONE, PRIMARY KEY ("id"));
CREATE INDEX "invoices_open" ON "Invoices" ("dueOn" DESC) WHERE "status" = 'open' AND "deletedAt" IS NULL;
create index "accounts_plan_created_at_index" on "accounts" ("plan", "created_at");
comment on column "accounts"."meta" is 'anything; even ''quotes''';
insert into "accounts" ("name", "plan", "balance", "meta", "created_at", "updated_at") values ('Acme', 'pro', 12.30, '{"seats": 3}', '2024-01-01 00:00:00+00', '2024-01-01 00:00:00+00'), ('Bee', 'free', -1, null, '2024-01-02 00:00:00+00', null);
insert into "Invoices" ("status", "history", "total", "dueOn", "accountId", "createdAt") values ('paid', '{open,paid}', 99.95, '2024-02-01', 1, '2024-01-01 00:00:00+00');

-- What Prisma and TypeORM create: names in mixed case, enums with quotes, uuid keys, text arrays.
CREATE TYPE "Role" AS ENUM ('USER', 'ADMIN');
CREATE TYPE "post_kind_enum" AS ENUM ('news', 'a "quoted" one');
CREATE TABLE "User" ("id" TEXT NOT NULL, "email" TEXT NOT NULL, "role" "Role" NOT NULL DEFAULT 'USER', "roles" "Role"[] DEFAULT ARRAY['USER'::"Role"], "createdAt" TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP, "loginCount" INTEGER NOT NULL DEFAULT 0, CONSTRAINT "User_pkey" PRIMARY KEY ("id"));
CREATE TABLE "Post" ("id" uuid NOT NULL DEFAULT gen_random_uuid(), "title" character varying(255) NOT NULL, "kind" "post_kind_enum" NOT NULL DEFAULT 'a "quoted" one', "tags" text array NOT NULL DEFAULT '{}', "viewCount" BIGINT NOT NULL DEFAULT 0, "authorId" TEXT, "updatedAt" TIMESTAMP NOT NULL DEFAULT now(), CONSTRAINT "PK_be5fda3aac270b134ff9c21cdee" PRIMARY KEY ("id"), CONSTRAINT "CHK_kind" CHECK ("kind" <> 'news' OR "title" <> ''));
CREATE UNIQUE INDEX "User_email_key" ON "User"("email");
CREATE INDEX "Post_kind_admin_idx" ON "Post"("kind", "authorId") WHERE "kind" = 'news';
CREATE INDEX "User_role_idx" ON "User"((CASE "role" WHEN 'ADMIN' THEN 0 ELSE 1 END));
ALTER TABLE "Post" ADD CONSTRAINT "Post_authorId_fkey" FOREIGN KEY ("authorId") REFERENCES "User"("id") ON DELETE SET NULL ON UPDATE CASCADE;
CREATE VIEW "Admins" AS SELECT u."id", u."email", (SELECT count(*) FROM "Post" p WHERE p."authorId" = u."id") AS "posts" FROM "User" u WHERE u."role" = 'ADMIN'::"Role" OR 'ADMIN' = ANY (u."roles");
INSERT INTO "User" VALUES ('u1', 'ann@example.org', 'ADMIN', '{USER,ADMIN}', '2024-01-01 00:00:00.125', 3), ('u2', 'bob@example.org', 'USER', NULL, '2024-01-02 00:00:00', 0);
INSERT INTO "Post" ("id", "title", "kind", "tags", "authorId", "updatedAt") VALUES ('123e4567-e89b-12d3-a456-426614174001', 'Hi', 'news', E'{a,"b \\"c\\""}', 'u1', '2024-01-03 00:00:00');

-- A booking system in two schemas with foreign keys and types across them, moved and renamed after creation.
CREATE SCHEMA rooms;
CREATE SCHEMA "Guests";
CREATE TYPE rooms.class AS ENUM ('single', 'double', 'suite');
CREATE TYPE "Guests".standing AS ENUM ('new', 'known', 'vip');
CREATE TABLE rooms.room (number integer PRIMARY KEY, class rooms.class DEFAULT 'single' NOT NULL, beds integer DEFAULT 1 NOT NULL, price numeric(8,2) NOT NULL, CONSTRAINT beds_fit CHECK ((class = 'single' AND beds = 1) OR class <> 'single'));
CREATE TABLE "Guests"."Guest" (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "Name" text NOT NULL, standing "Guests".standing DEFAULT 'new'::"Guests".standing, favourite rooms.class, CONSTRAINT "vip has favourite" CHECK (standing <> 'vip' OR favourite IS NOT NULL));
CREATE TABLE rooms.stay (room integer NOT NULL REFERENCES rooms.room (number), guest integer NOT NULL, arrives date NOT NULL, leaves date NOT NULL, nights integer GENERATED ALWAYS AS (leaves - arrives) STORED, CONSTRAINT stay_pkey PRIMARY KEY (room, arrives), CONSTRAINT stay_guest_fkey FOREIGN KEY (guest) REFERENCES "Guests"."Guest" (id) ON DELETE CASCADE DEFERRABLE, CONSTRAINT leaves_later CHECK (leaves > arrives));
CREATE INDEX guests_by_class ON "Guests"."Guest" (favourite, ("Name" || '!'::text)) WHERE favourite IN ('double', 'suite');
CREATE VIEW rooms.free_suites AS SELECT r.number, r.price FROM rooms.room r WHERE r.class = 'suite' AND NOT EXISTS (SELECT 1 FROM rooms.stay s WHERE s.room = r.number);
CREATE FUNCTION rooms.price_of(wanted rooms.class, nights integer DEFAULT 1) RETURNS TABLE (number integer, total numeric) LANGUAGE plpgsql STABLE AS $$
BEGIN RETURN QUERY SELECT r.number, r.price * nights FROM rooms.room r WHERE r.class = wanted; END $$;
INSERT INTO rooms.room VALUES (1, 'single', 1, 80), (2, 'double', 2, 120.50), (9, 'suite', 4, 300);
INSERT INTO "Guests"."Guest" ("Name", standing, favourite) VALUES ('Ann', 'vip', 'suite'), ('Bob', 'new', NULL);
INSERT INTO rooms.stay (room, guest, arrives, leaves) VALUES (1, 1, '2024-05-01', '2024-05-04'), (2, 2, '2024-05-02', '2024-05-03');
ALTER TYPE rooms.class RENAME TO category;
ALTER TYPE "Guests".standing SET SCHEMA rooms;
ALTER TYPE rooms.standing RENAME TO "Standing";
ALTER SCHEMA rooms RENAME TO hotel;
COMMENT ON TYPE hotel.category IS 'was called class';

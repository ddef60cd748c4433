-- What SQLAlchemy's metadata and Alembic's migrations create: named enum types in CHECKs, defaults, generated
-- columns and indexes, naming conventions.
CREATE SCHEMA inventory;
CREATE TABLE inventory.alembic_version (version_num VARCHAR(32) NOT NULL, CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num));
INSERT INTO inventory.alembic_version (version_num) VALUES ('ae1027a6acf');
CREATE TYPE partstatus AS ENUM ('draft', 'active', 'gone.for_good');
CREATE TYPE inventory.unit AS ENUM ('piece', 'kilogram', 'Metre');
CREATE TABLE inventory.part (
    id SERIAL NOT NULL,
    number VARCHAR(40) NOT NULL,
    status partstatus DEFAULT 'draft' NOT NULL,
    unit inventory.unit DEFAULT 'piece'::inventory.unit NOT NULL,
    units inventory.unit[] DEFAULT '{piece}' NOT NULL,
    weight NUMERIC(10, 3),
    payload JSON,
    created_at TIMESTAMP WITHOUT TIME ZONE DEFAULT now() NOT NULL,
    label TEXT GENERATED ALWAYS AS (CASE status WHEN 'draft' THEN 'not yet' ELSE number END) STORED,
    is_sold BOOLEAN GENERATED ALWAYS AS (status = 'active' AND unit <> 'Metre') STORED,
    CONSTRAINT pk_part PRIMARY KEY (id),
    CONSTRAINT uq_part_number UNIQUE (number),
    CONSTRAINT ck_part_status CHECK (status <> 'gone.for_good' OR weight IS NULL),
    CONSTRAINT ck_part_unit CHECK (unit IN ('piece', 'kilogram')),
    CONSTRAINT ck_part_units CHECK (units @> ARRAY['piece'::inventory.unit])
);
CREATE INDEX ix_part_status ON inventory.part (status) WHERE status = 'active';
CREATE INDEX ix_part_unit_label ON inventory.part ((unit = 'kilogram'::inventory.unit), lower(number)) WHERE unit <> 'Metre';
CREATE UNIQUE INDEX uq_part_draft ON inventory.part (weight) WHERE status = 'draft'::partstatus AND weight IS NOT NULL;
CREATE TABLE inventory.assembly (
    parent_id INTEGER NOT NULL,
    child_id INTEGER NOT NULL,
    amount DOUBLE PRECISION DEFAULT '1' NOT NULL,
    CONSTRAINT pk_assembly PRIMARY KEY (parent_id, child_id),
    CONSTRAINT fk_assembly_parent_id_part FOREIGN KEY(parent_id) REFERENCES inventory.part (id) ON DELETE CASCADE,
    CONSTRAINT fk_assembly_child_id_part FOREIGN KEY(child_id) REFERENCES inventory.part (id) ON DELETE RESTRICT
);
COMMENT ON TABLE inventory.part IS 'What is built of other parts';
COMMENT ON COLUMN inventory.part.status IS 'see "partstatus"';
ALTER TYPE partstatus ADD VALUE 'scrapped' AFTER 'active';
INSERT INTO inventory.part (number, status, unit, weight, created_at) VALUES ('A-1', 'active', 'piece', 1.5, '2024-01-01 10:00:00'), ('A-2', 'draft', 'kilogram', NULL, '2024-01-02 10:00:00');
INSERT INTO inventory.assembly VALUES (1, 2, 2.5);
CREATE VIEW inventory.active_part AS SELECT id, number, unit, 'active'::partstatus AS wanted FROM inventory.part WHERE status = 'active' AND unit IN ('piece', 'kilogram');
CREATE VIEW inventory.counted AS SELECT wanted, count(*) AS parts FROM inventory.active_part GROUP BY wanted HAVING max(unit) < 'Metre';

//! The numbers of objects. Objects that PostgreSQL has from the start have PostgreSQL's own numbers.
//! Numbers of objects that users create are derived from the engine's, so that they are the same after a
//! restart.
//!
//! | objects | numbers |
//! |---|---|
//! | what PostgreSQL has | below 16384 |
//! | tables, schemas | their ids, from 16384; temporary ones from 2^29 |
//! | schemas of temporary relations | their numbers below 2^30 |
//! | sequences | their ids above 2^30 |
//! | routines | their ids above 3 * 2^29 |
//! | indexes, constraints, defaults, relations of composite types | from 2^31, by table or type, and name |
//! | types of the rows of relations, and of arrays of them | the ids of the relations above 2^30 and 2^31 |
//!
//! The last are hashes. Two objects can have the same number, which the large range makes unlikely.

use hyades_types::definition::{RoutineId, SequenceId};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Schemas.
pub(super) const PG_CATALOG: u32 = 11;
pub(super) const PG_TOAST: u32 = 99;
pub(super) const INFORMATION_SCHEMA: u32 = 13_207;

/// The role that owns whatever has no other owner.
pub(crate) const OWNER: u32 = 10;

/// Access methods.
pub(super) const HEAP: u32 = 2;
pub(super) const BTREE: u32 = 403;
pub(super) const HASH: u32 = 405;

/// Languages.
pub(super) const INTERNAL: u32 = 12;
pub(super) const SQL: u32 = 14;
pub(super) const PLPGSQL: u32 = 13_563;

/// Catalogs that others refer to.
pub(super) const PG_CLASS: u32 = 1259;
pub(super) const PG_ATTRDEF: u32 = 2604;
pub(super) const PG_CONSTRAINT: u32 = 2606;
pub(super) const PG_TYPE: u32 = 1247;
pub(super) const PG_PROC: u32 = 1255;
pub(super) const PG_OPERATOR: u32 = 2617;
pub(super) const PG_CAST: u32 = 2605;
pub(super) const PG_LANGUAGE: u32 = 2612;
pub(super) const PG_EXTENSION: u32 = 3079;
pub(super) const PG_REWRITE: u32 = 2618;
pub(super) const PG_TRIGGER: u32 = 2620;
pub(super) const PG_NAMESPACE: u32 = 2615;

const SEQUENCES: u32 = 1 << 30;
const ROUTINES: u32 = 3 << 29;
const PARTS: u32 = 1 << 31;

/// A part of a table, or of a type, with a number of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Of an enum, identified by its position.
    Label = 0,
    Index = 1,
    Constraint = 2,
    Default = 3,
    /// Of a view: its query.
    Rule = 4,
    Trigger = 5,
    /// Of no table.
    Extension = 6,
    /// Of a composite type: its relation.
    Attributes = 7,
}

/// The number of the schema of temporary relations with this name.
pub(super) fn of_temporary_schema(name: &str) -> u32 {
    let number: u32 = name.rsplit('_').next().and_then(|number| number.parse().ok()).unwrap_or(0);
    SEQUENCES - 1 - number % (1 << 20)
}

pub(crate) fn of_sequence(id: SequenceId) -> u32 {
    SEQUENCES + id.0
}

/// The engine's id of the sequence with this number.
pub(super) fn sequence_of(oid: u32) -> u32 {
    oid - SEQUENCES
}

pub(super) fn of_routine(id: RoutineId) -> u32 {
    ROUTINES + id.0
}

/// The number of the relation of a composite type.
pub(super) fn of_composite(id: u32) -> u32 {
    of_part(id, Part::Attributes, "")
}

/// The number of a named part of a table.
pub(super) fn of_part(table: u32, part: Part, name: &str) -> u32 {
    let seed = u64::from(table) << 3 | part as u64;
    PARTS | (xxh3_64_with_seed(name.as_bytes(), seed) as u32)
}

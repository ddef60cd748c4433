//! Objects that exist once or from the start: the database, schemas, languages.

use hyades_engine::db::SeenDatabase;
use hyades_types::access::{DATABASE_OBJECT, ObjectKind};
use hyades_types::definition::Collation;
use hyades_types::interval::Interval;
use hyades_types::value::Value;

use super::available_extensions::PLPGSQL_COMMENT;
use super::object_id::{self, OWNER, PG_CATALOG};
use super::row::{NamedRow, int4, oid, text, truth};
use super::snapshot::System;

/// `pg_char_to_encoding('UTF8')`.
const UTF8: i32 = 6;
/// The tablespace of a database.
const PG_DEFAULT: u32 = 1663;

pub(super) const PUBLIC_COMMENT: &str = "standard public schema";

/// The number of `plpgsql_call_handler` in PostgreSQL.
const PLPGSQL_HANDLER: u32 = 13_560;
pub(super) const PLPGSQL_EXTENSION: u32 = 13_559;

/// All collations: number, name, provider and locale.
pub(super) const COLLATIONS: [(u32, &str, &str, Option<&str>); 3] =
    [(100, "default", "d", None), (950, "C", "c", Some("C")), (951, "POSIX", "c", Some("POSIX"))];

/// The number and the name of a collation other than the default one.
pub(super) fn declared_collation(collation: Collation) -> Option<(u32, &'static str)> {
    let at = match collation {
        Collation::Default => return None,
        Collation::C => 1,
        Collation::Posix => 2,
    };
    Some((COLLATIONS[at].0, COLLATIONS[at].1))
}

/// PostgreSQL's comments on objects that exist from the start: number, catalog and text.
pub(super) const COMMENTS: [(u32, u32, &str); 2] = [
    (PLPGSQL_EXTENSION, object_id::PG_EXTENSION, PLPGSQL_COMMENT),
    (object_id::PLPGSQL, object_id::PG_LANGUAGE, PLPGSQL_COMMENT),
];

/// `pg_namespace`
pub(super) fn namespaces(system: &System) -> Vec<NamedRow> {
    let row = |(own, name): &(u32, String)| {
        let mut row = vec![("oid", oid(*own)), ("nspname", text(name))];
        row.push(("nspowner", oid(system.owner_of(*own))));
        row.push(("nspacl", system.access_list(*own, ObjectKind::Schema)));
        row
    };
    system.schemas.iter().map(row).collect()
}

/// `pg_am`
pub(super) fn access_methods(_system: &System) -> Vec<NamedRow> {
    use super::row::function;
    let row = |own, name, handler, kind| {
        vec![
            ("oid", oid(own)),
            ("amname", text(name)),
            ("amhandler", function(handler)),
            ("amtype", text(kind)),
        ]
    };
    vec![
        row(object_id::HEAP, "heap", ("heap_tableam_handler", 3), "t"),
        row(object_id::BTREE, "btree", ("bthandler", 330), "i"),
        row(object_id::HASH, "hash", ("hashhandler", 331), "i"),
    ]
}

/// `pg_collation`
pub(super) fn collations(_system: &System) -> Vec<NamedRow> {
    let row = |own, name, provider, locale: Option<&str>| {
        vec![
            ("oid", oid(own)),
            ("collname", text(name)),
            ("collnamespace", oid(PG_CATALOG)),
            ("collowner", oid(OWNER)),
            ("collprovider", text(provider)),
            ("collisdeterministic", truth(true)),
            ("collencoding", int4(-1)),
            ("collcollate", locale.map_or(Value::Null, text)),
            ("collctype", locale.map_or(Value::Null, text)),
        ]
    };
    COLLATIONS.into_iter().map(|(own, name, provider, locale)| row(own, name, provider, locale)).collect()
}

/// `pg_database`
pub(super) fn databases(system: &System) -> Vec<NamedRow> {
    let row = |database: &SeenDatabase| {
        let SeenDatabase { id, definition, access } = database;
        vec![
            ("oid", oid(id.0)),
            ("datname", text(&definition.name)),
            ("datdba", oid(access.owner(DATABASE_OBJECT).0)),
            ("encoding", int4(UTF8)),
            ("datlocprovider", text("c")),
            ("datistemplate", truth(definition.is_template)),
            ("datallowconn", truth(definition.allows_connections)),
            ("datconnlimit", Value::Integer(definition.connection_limit)),
            ("dattablespace", oid(PG_DEFAULT)),
            // Texts are ordered by their bytes.
            ("datcollate", text("C")),
            ("datctype", text("C")),
            ("datacl", system.shown_list(access, DATABASE_OBJECT)),
        ]
    };
    system.facts.databases.iter().map(row).collect()
}

/// `pg_timezone_names`: the names that SET TIME ZONE knows, as they are now.
pub(super) fn time_zones(_system: &System) -> Vec<NamedRow> {
    let (zones, now) = (jiff::tz::db(), jiff::Timestamp::now());
    let row = |name: jiff::tz::TimeZoneName<'_>| {
        let zone = zones.get(name.as_str()).ok()?;
        let offset = zone.to_offset_info(now);
        let microseconds = i64::from(offset.offset().seconds()) * 1_000_000;
        Some(vec![
            ("name", text(name.as_str())),
            ("abbrev", text(offset.abbreviation())),
            ("utc_offset", Value::Interval(Interval { months: 0, days: 0, microseconds })),
            ("is_dst", truth(offset.dst().is_dst())),
        ])
    };
    zones.available().filter_map(row).collect()
}

/// `pg_language`
pub(super) fn languages(_system: &System) -> Vec<NamedRow> {
    let row = |own, name, is_procedural| {
        vec![
            ("oid", oid(own)),
            ("lanname", text(name)),
            ("lanowner", oid(OWNER)),
            ("lanispl", truth(is_procedural)),
            ("lanpltrusted", truth(is_procedural)),
            ("lanplcallfoid", oid(if is_procedural { PLPGSQL_HANDLER } else { 0 })),
        ]
    };
    vec![
        row(object_id::INTERNAL, "internal", false),
        row(object_id::SQL, "sql", false),
        row(object_id::PLPGSQL, "plpgsql", true),
    ]
}

/// `pg_tablespace`
pub(super) fn tablespaces(_system: &System) -> Vec<NamedRow> {
    let row = |own, name| vec![("oid", oid(own)), ("spcname", text(name)), ("spcowner", oid(OWNER))];
    vec![row(PG_DEFAULT, "pg_default"), row(1664, "pg_global")]
}

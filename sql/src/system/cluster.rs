//! What there is one of, or what is there from the start: the database, the role, schemas, languages.
//!
//! Hyades has no roles: whoever asks is the one who owns everything.

use hyades_types::search_path::PUBLIC;
use hyades_types::system_type::SystemType;
use hyades_types::value::{ArrayElement, Value};

use super::object_id::{self, OWNER, PG_CATALOG};
use super::row::{NamedRow, int4, oid, text, truth};
use super::snapshot::System;

/// `pg_char_to_encoding('UTF8')`.
const UTF8: i32 = 6;
/// The tablespace of a database.
const PG_DEFAULT: u32 = 1663;

/// The role that PostgreSQL lets own the schema `public`.
pub(super) const DATABASE_OWNER_NAME: &str = "pg_database_owner";
/// What PostgreSQL says of the schema `public` before anybody changes that.
const PUBLIC_PRIVILEGES: [&str; 2] = ["pg_database_owner=UC/pg_database_owner", "=U/pg_database_owner"];
pub(super) const PUBLIC_COMMENT: &str = "standard public schema";

/// The number of `plpgsql_call_handler` in PostgreSQL.
const PLPGSQL_HANDLER: u32 = 13_560;
const PLPGSQL_EXTENSION: u32 = 13_559;

/// What PostgreSQL says of what is there from the start: number, catalog and text.
pub(super) const COMMENTS: [(u32, u32, &str); 2] = [
    (PLPGSQL_EXTENSION, object_id::PG_EXTENSION, "PL/pgSQL procedural language"),
    (object_id::PLPGSQL, object_id::PG_LANGUAGE, "PL/pgSQL procedural language"),
];

/// `pg_namespace`
pub(super) fn namespaces(system: &System) -> Vec<NamedRow> {
    let row = |(own, name): &(u32, String)| {
        let mut row = vec![("oid", oid(*own)), ("nspname", text(name))];
        if name == PUBLIC {
            let items = PUBLIC_PRIVILEGES.map(Value::text).to_vec();
            row.push(("nspowner", oid(object_id::DATABASE_OWNER)));
            row.push(("nspacl", Value::array(ArrayElement::System(SystemType::AclItem), items)));
        } else {
            row.push(("nspowner", oid(OWNER)));
        }
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

/// `pg_authid` and the views of it.
pub(super) fn roles_of(view: &str) -> fn(&System) -> Vec<NamedRow> {
    match view {
        "pg_authid" => |system| vec![database_owner(true), role(system, true)],
        "pg_roles" => |system| vec![database_owner(false), role(system, false)],
        "pg_user" | "pg_shadow" => |system| {
            vec![vec![
                ("usename", text(&system.facts.user)),
                ("usesysid", oid(OWNER)),
                ("usecreatedb", truth(true)),
                ("usesuper", truth(true)),
                ("userepl", truth(true)),
                ("usebypassrls", truth(true)),
                ("passwd", text("********")),
            ]]
        },
        _ => |_| Vec::new(),
    }
}

/// A role that nobody can become.
fn database_owner(is_table: bool) -> NamedRow {
    let number = ("oid", oid(object_id::DATABASE_OWNER));
    let mut row = if is_table { vec![number.clone()] } else { Vec::new() };
    row.push(("rolname", text(DATABASE_OWNER_NAME)));
    row.push(("rolsuper", truth(false)));
    row.push(("rolinherit", truth(true)));
    row.extend(
        ["rolcreaterole", "rolcreatedb", "rolcanlogin", "rolreplication"].map(|one| (one, truth(false))),
    );
    if is_table {
        row.push(("rolbypassrls", truth(false)));
        row.push(("rolconnlimit", int4(-1)));
    } else {
        row.push(("rolconnlimit", int4(-1)));
        row.push(("rolpassword", text("********")));
        row.push(("rolbypassrls", truth(false)));
        row.push(number);
    }
    row
}

fn role(system: &System, is_table: bool) -> NamedRow {
    let may = |right| (right, truth(true));
    let mut row = Vec::new();
    if is_table {
        row.push(("oid", oid(OWNER)));
    }
    row.push(("rolname", text(&system.facts.user)));
    row.extend(["rolsuper", "rolinherit", "rolcreaterole", "rolcreatedb", "rolcanlogin"].map(may));
    row.push(may("rolreplication"));
    if is_table {
        row.push(may("rolbypassrls"));
        row.push(("rolconnlimit", int4(-1)));
    } else {
        row.push(("rolconnlimit", int4(-1)));
        row.push(("rolpassword", text("********")));
        row.push(may("rolbypassrls"));
        row.push(("oid", oid(OWNER)));
    }
    row
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
    vec![row(100, "default", "d", None), row(950, "C", "c", Some("C")), row(951, "POSIX", "c", Some("POSIX"))]
}

/// `pg_database`
pub(super) fn databases(system: &System) -> Vec<NamedRow> {
    vec![vec![
        ("oid", oid(object_id::DATABASE)),
        ("datname", text(&system.facts.database)),
        ("datdba", oid(OWNER)),
        ("encoding", int4(UTF8)),
        ("datlocprovider", text("c")),
        ("datallowconn", truth(true)),
        ("datconnlimit", int4(-1)),
        ("dattablespace", oid(PG_DEFAULT)),
        // Texts are ordered by their bytes.
        ("datcollate", text("C")),
        ("datctype", text("C")),
    ]]
}

/// `pg_extension`
pub(super) fn extensions(_system: &System) -> Vec<NamedRow> {
    vec![vec![
        ("oid", oid(PLPGSQL_EXTENSION)),
        ("extname", text("plpgsql")),
        ("extowner", oid(OWNER)),
        ("extnamespace", oid(PG_CATALOG)),
        ("extversion", text("1.0")),
    ]]
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

//! Extensions: `pg_extension`, and the views of those that can be created (`available_extensions`).

use hyades_types::definition::{RoutineDefinition, RoutineId};

use super::available_extensions::{AVAILABLE, BUILT_IN, PLPGSQL_COMMENT};
use super::cluster::PLPGSQL_EXTENSION;
use super::object_id::{self, OWNER, PG_CATALOG, Part};
use super::row::{NamedRow, int4, oid, or_null, text, truth};
use super::snapshot::System;

const PLPGSQL_VERSION: &str = "1.0";

/// The number of an extension that users create.
fn number_of(name: &str) -> u32 {
    object_id::of_part(0, Part::Extension, name)
}

/// The functions of extensions, with the extension.
fn members(system: &System) -> impl Iterator<Item = (&RoutineDefinition, RoutineId, &str)> {
    system.facts.routines.iter().filter_map(|routine| {
        let definition = &routine.definition;
        definition.traits.extension.as_deref().map(|extension| (definition, routine.id, extension))
    })
}

/// The schema of an extension, if it exists.
fn schema_of(system: &System, extension: &str) -> Option<u32> {
    let mut own = members(system).filter(|(.., name)| *name == extension);
    own.next().map(|(definition, ..)| system.schema_oid(&definition.name.schema))
}

fn is_installed(system: &System, name: &str) -> bool {
    name == BUILT_IN || schema_of(system, name).is_some()
}

/// Name, version and comment of those that exist or can be created.
fn known() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let available = AVAILABLE.iter().map(|one| (one.name, one.version, one.comment));
    [(BUILT_IN, PLPGSQL_VERSION, PLPGSQL_COMMENT)].into_iter().chain(available)
}

/// `pg_extension`
pub(super) fn extensions(system: &System) -> Vec<NamedRow> {
    let row = |own, name: &str, schema, version: &str| {
        vec![
            ("oid", oid(own)),
            ("extname", text(name)),
            ("extowner", oid(OWNER)),
            ("extnamespace", oid(schema)),
            ("extrelocatable", truth(schema != PG_CATALOG)),
            ("extversion", text(version)),
        ]
    };
    let created = AVAILABLE.iter().filter_map(|one| {
        Some(row(number_of(one.name), one.name, schema_of(system, one.name)?, one.version))
    });
    [row(PLPGSQL_EXTENSION, BUILT_IN, PG_CATALOG, PLPGSQL_VERSION)].into_iter().chain(created).collect()
}

/// The rows of `pg_depend` that say which functions and types belong to an extension.
pub(super) fn dependencies(system: &System) -> impl Iterator<Item = NamedRow> {
    let functions = members(system)
        .map(|(_, id, extension)| (object_id::PG_PROC, object_id::of_routine(id), number_of(extension)));
    let types = system
        .facts
        .types
        .iter()
        .filter_map(|stored| Some((object_id::PG_TYPE, stored.id(), number_of(stored.extension()?))));
    functions.chain(types).map(|(class, own, extension)| {
        vec![
            ("classid", oid(class)),
            ("objid", oid(own)),
            ("objsubid", int4(0)),
            ("refclassid", oid(object_id::PG_EXTENSION)),
            ("refobjid", oid(extension)),
            ("refobjsubid", int4(0)),
            ("deptype", text("e")),
        ]
    })
}

/// `pg_available_extensions`
pub(super) fn available_extensions(system: &System) -> Vec<NamedRow> {
    let rows = known().map(|(name, version, comment)| {
        let installed = is_installed(system, name).then_some(version);
        vec![
            ("name", text(name)),
            ("default_version", text(version)),
            ("installed_version", or_null(installed, text)),
            ("comment", text(comment)),
        ]
    });
    rows.collect()
}

/// `pg_available_extension_versions`
pub(super) fn available_versions(system: &System) -> Vec<NamedRow> {
    let rows = known().map(|(name, version, comment)| {
        let schema = (name == BUILT_IN).then_some("pg_catalog");
        vec![
            ("name", text(name)),
            ("version", text(version)),
            ("installed", truth(is_installed(system, name))),
            ("superuser", truth(true)),
            ("trusted", truth(true)),
            ("relocatable", truth(name != BUILT_IN)),
            ("schema", or_null(schema, text)),
            ("comment", text(comment)),
        ]
    });
    rows.collect()
}

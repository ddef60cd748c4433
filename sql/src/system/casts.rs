//! Casts: those that exist from the start, and those that users have created.

use hyades_engine::storage::stored_routine::Routine;
use hyades_types::cast::CastContext;
use hyades_types::definition::CastMethod;

use super::builtins::{self, number_of};
use super::object_id;
use super::row::{NamedRow, oid, text};
use super::snapshot::System;

/// `pg_cast`
pub(super) fn casts(system: &System) -> Vec<NamedRow> {
    let mut rows = builtins::casts();
    rows.extend(system.facts.casts.iter().filter_map(|routine| cast_row(system, routine)));
    rows
}

fn cast_row(system: &System, routine: &Routine) -> Option<NamedRow> {
    let (source, target) = routine.definition.cast_types()?;
    let cast = routine.definition.cast.as_ref()?;
    let context = match cast.context {
        CastContext::Implicit => "i",
        CastContext::Assignment => "a",
        CastContext::Explicit => "e",
    };
    let method = match cast.method {
        CastMethod::Function(_) => "f",
        CastMethod::Text => "i",
        CastMethod::Same => "b",
    };
    Some(vec![
        ("oid", oid(object_id::of_routine(routine.id))),
        ("castsource", oid(source.oid())),
        ("casttarget", oid(target.oid())),
        ("castfunc", oid(cast.function().map_or(0, |function| number_of(system, function)))),
        ("castcontext", text(context)),
        ("castmethod", text(method)),
    ])
}

/// The numbers of the types and functions that users have created and that casts are made of, each after the
/// number of the cast and that of the catalog.
pub(super) fn dependencies(system: &System) -> Vec<(u32, (u32, u32))> {
    let mut found = Vec::new();
    for routine in &system.facts.casts {
        let own = object_id::of_routine(routine.id);
        let types = routine.definition.cast_types().into_iter().flat_map(|(one, other)| [one, other]);
        let created = types.filter(|sql_type| sql_type.created_id().is_some());
        found.extend(created.map(|sql_type| (own, (object_id::PG_TYPE, sql_type.oid()))));
        let mut functions = routine.definition.support_functions();
        let created = functions.find(|function| function.name.schema != "pg_catalog");
        found.extend(created.map(|function| (own, (object_id::PG_PROC, number_of(system, function)))));
    }
    found
}

//! The views of `pg_catalog`.

use hyades_types::access::{ObjectKind, Privileges, RoleId};
use hyades_types::system_type::SystemType;
use hyades_types::value::{ArrayElement, SqlType, Value};

use super::class::{ClassKind, indexes_of};
use super::row::{NamedRow, int8, oid, or_null, text, texts, truth};
use super::snapshot::{ShownCursor, ShownLock, ShownStatement, System};

/// `pg_tables`
pub(super) fn tables(system: &System) -> Vec<NamedRow> {
    let mut rows = Vec::new();
    for class in system.classes.iter().filter(|class| class.letter() == "r") {
        let definition = match &class.kind {
            ClassKind::Table(at) => Some(&system.definitions[*at]),
            _ => None,
        };
        let has_keys = |definition: &&std::sync::Arc<hyades_types::definition::TableDefinition>| {
            let keys = [definition.foreign_keys.len(), definition.referenced_by.len()];
            keys.iter().any(|count| *count > 0) || !definition.triggers.is_empty()
        };
        rows.push(vec![
            ("schemaname", text(system.schema_name(class.schema))),
            ("tablename", text(&class.name)),
            ("tableowner", text(system.owner_name(class))),
            (
                "hasindexes",
                truth(definition.is_some_and(|definition| !indexes_of(class.oid, definition).is_empty())),
            ),
            ("hasrules", truth(false)),
            ("hastriggers", truth(definition.as_ref().is_some_and(has_keys))),
            ("rowsecurity", truth(false)),
        ]);
    }
    rows
}

/// `pg_views`
pub(super) fn views(system: &System) -> Vec<NamedRow> {
    let mut rows = Vec::new();
    for class in &system.classes {
        let ClassKind::View(at) = class.kind else { continue };
        rows.push(vec![
            ("schemaname", text(system.schema_name(class.schema))),
            ("viewname", text(&class.name)),
            ("viewowner", text(system.owner_name(class))),
            ("definition", or_null(system.view_text(at, false), text)),
        ]);
    }
    rows
}

/// `pg_matviews`
pub(super) fn materialized(system: &System) -> Vec<NamedRow> {
    let mut rows = Vec::new();
    for class in &system.classes {
        let ClassKind::Materialized(at) = class.kind else { continue };
        let definition = &system.definitions[at];
        rows.push(vec![
            ("schemaname", text(system.schema_name(class.schema))),
            ("matviewname", text(&class.name)),
            ("matviewowner", text(system.owner_name(class))),
            ("hasindexes", truth(!definition.indexes.is_empty())),
            ("ispopulated", truth(!definition.is_unpopulated())),
            ("definition", or_null(system.view_text(at, false), text)),
        ]);
    }
    rows
}

/// `pg_indexes`
pub(super) fn indexes(system: &System) -> Vec<NamedRow> {
    let mut rows = Vec::new();
    for class in &system.classes {
        let ClassKind::Index(at, index) = &class.kind else { continue };
        let table = &system.definitions[*at];
        rows.push(vec![
            ("schemaname", text(&table.name.schema)),
            ("tablename", text(&table.name.name)),
            ("indexname", text(&class.name)),
            ("indexdef", text(system.index_definition(table, index, true))),
        ]);
    }
    rows
}

/// `pg_sequences`
pub(super) fn sequences(system: &System) -> Vec<NamedRow> {
    let mut rows = Vec::new();
    for sequence in &system.facts.sequences {
        let definition = &sequence.definition;
        let state = sequence.state();
        let type_oid = definition.sql_type.oid();
        let held = system.held(system.facts.role, sequence.id.0, ObjectKind::Sequence);
        let is_shown = state.is_called && held.intersects(Privileges::USAGE | Privileges::SELECT);
        rows.push(vec![
            ("schemaname", text(&definition.name.schema)),
            ("sequencename", text(&definition.name.name)),
            ("sequenceowner", text(system.role_name(system.owner_of(sequence.id.0)).unwrap_or_default())),
            ("data_type", Value::reference(SystemType::RegType, type_oid, definition.sql_type.base_name())),
            ("start_value", int8(definition.start)),
            ("min_value", int8(definition.least)),
            ("max_value", int8(definition.greatest)),
            ("increment_by", int8(definition.increment)),
            ("cycle", truth(definition.cycles)),
            ("cache_size", int8(definition.cache)),
            ("last_value", if is_shown { int8(state.value) } else { Value::Null }),
        ]);
    }
    rows
}

/// `pg_cursors`
pub(super) fn cursors(system: &System) -> Vec<NamedRow> {
    let row = |shown: &ShownCursor| {
        vec![
            ("name", text(&shown.name)),
            ("statement", text(&shown.statement)),
            ("is_holdable", truth(shown.is_holdable)),
            ("is_binary", truth(shown.is_binary)),
            ("is_scrollable", truth(shown.is_scrollable)),
            ("creation_time", Value::TimestampTz(shown.created)),
        ]
    };
    system.facts.cursors.iter().map(row).collect()
}

/// `pg_locks`: advisory locks only.
pub(super) fn locks(system: &System) -> Vec<NamedRow> {
    let row = |shown: &ShownLock| {
        vec![
            ("locktype", text("advisory")),
            ("database", oid(system.facts.own_database.0)),
            ("classid", oid(shown.key.class)),
            ("objid", oid(shown.key.object)),
            ("objsubid", Value::SmallInt(if shown.key.is_pair { 2 } else { 1 })),
            ("pid", Value::Integer(shown.session)),
            ("mode", text(if shown.is_shared { "ShareLock" } else { "ExclusiveLock" })),
            ("granted", truth(shown.is_granted)),
            ("fastpath", truth(false)),
        ]
    };
    system.facts.locks.iter().map(row).collect()
}

/// `pg_prepared_statements`: the statements of PREPARE.
pub(super) fn prepared_statements(system: &System) -> Vec<NamedRow> {
    let row = |shown: &ShownStatement| {
        let reference = |sql_type: &SqlType| {
            Value::reference(SystemType::RegType, sql_type.oid(), system.shown_type(*sql_type))
        };
        let types = shown.parameter_types.iter().map(reference).collect();
        vec![
            ("name", text(&shown.name)),
            ("statement", text(&shown.statement)),
            ("prepare_time", Value::TimestampTz(shown.prepared)),
            ("parameter_types", Value::array(ArrayElement::System(SystemType::RegType), types)),
            ("from_sql", truth(true)),
            ("generic_plans", int8(0)),
            ("custom_plans", int8(0)),
        ]
    };
    system.facts.prepared_statements.iter().map(row).collect()
}

/// `pg_settings`
pub(super) fn settings(system: &System) -> Vec<NamedRow> {
    let said = |text: &'static str| if text.is_empty() { Value::Null } else { Value::text(text) };
    let row = |shown: &crate::settings::Shown| {
        let choices = if shown.choices.is_empty() { Value::Null } else { texts(&shown.choices) };
        vec![
            ("name", text(shown.name)),
            ("setting", text(&shown.number)),
            ("unit", said(shown.unit)),
            ("category", text(shown.category)),
            ("short_desc", text(shown.description)),
            ("context", text(shown.context)),
            ("vartype", text(shown.value_type)),
            ("source", text(shown.source)),
            ("min_val", said(shown.range.0)),
            ("max_val", said(shown.range.1)),
            ("enumvals", choices),
            ("boot_val", text(&shown.default)),
            ("reset_val", text(&shown.reset)),
            ("pending_restart", truth(false)),
        ]
    };
    system.facts.settings.iter().map(row).collect()
}

/// `pg_stat_activity`
pub(super) fn activity(system: &System) -> Vec<NamedRow> {
    let (access, role) = (&system.facts.access, system.facts.role);
    let mut rows = system.facts.sessions.rows();
    for row in &mut rows {
        let owner = row.iter().find_map(|(name, value)| match (*name, value) {
            ("usesysid", Value::Oid(owner)) => Some(RoleId(*owner)),
            _ => None,
        });
        // A role may have been renamed since it logged in, or dropped.
        if let Some(owner) = owner.filter(|owner| *owner != RoleId::OWNER)
            && let Some((_, name)) = row.iter_mut().find(|(name, _)| *name == "usename")
        {
            *name = or_null(access.role(owner), |role| text(&role.name));
        }
        let is_own = owner.is_some_and(|owner| access.has_privileges_of(role, owner));
        if !is_own {
            // The activity of another role's session is hidden.
            row.retain(|(name, _)| {
                matches!(*name, "datid" | "datname" | "pid" | "usesysid" | "usename" | "application_name")
            });
            row.push(("query", text("<insufficient privilege>")));
        }
    }
    rows
}

/// `pg_stat_ssl`
pub(super) fn encryptions(system: &System) -> Vec<NamedRow> {
    system.facts.sessions.encryption_rows()
}

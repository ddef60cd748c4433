//! The views of `pg_catalog` about what has been counted: of tables, indexes, sequences and the log. What
//! Hyades does not have (blocks, processes that copy buffers, replication) is counted as nothing.

use hyades_engine::storage::table::Table;
use hyades_types::numeric;
use hyades_types::value::Value;

use super::class::{Class, ClassKind};
use super::row::{NamedRow, int8, oid, text};
use super::snapshot::System;

/// The source of a view's rows, if it is one of these.
pub(super) fn rows_of(name: &str) -> Option<fn(&System) -> Vec<NamedRow>> {
    Some(match name {
        "pg_stat_all_tables" | "pg_stat_user_tables" => tables,
        // There are no blocks, and the open transaction is not counted by itself.
        "pg_statio_all_tables"
        | "pg_statio_user_tables"
        | "pg_stat_xact_all_tables"
        | "pg_stat_xact_user_tables" => |system| counted_tables(system).map(names_of_table).collect(),
        "pg_stat_all_indexes"
        | "pg_stat_user_indexes"
        | "pg_statio_all_indexes"
        | "pg_statio_user_indexes" => indexes,
        "pg_statio_all_sequences" | "pg_statio_user_sequences" => sequences,
        "pg_stat_archiver" => archiver,
        "pg_stat_bgwriter" => checkpoints,
        "pg_stat_wal" => log,
        _ => return None,
    })
}

/// `pg_stat_user_tables`
fn tables(system: &System) -> Vec<NamedRow> {
    let row = |table: &Table| {
        let mut row = names_of_table(table);
        row.push(("n_live_tup", int8(table.row_count())));
        row
    };
    counted_tables(system).map(row).collect()
}

fn counted_tables(system: &System) -> impl Iterator<Item = &Table> {
    let tables = system.facts.tables.iter().zip(&system.definitions);
    tables.filter(|(_, definition)| definition.view.is_none()).map(|(table, _)| table.as_ref())
}

fn names_of_table(table: &Table) -> NamedRow {
    let name = &table.definition().name;
    vec![("relid", oid(table.id().0)), ("schemaname", text(&name.schema)), ("relname", text(&name.name))]
}

/// `pg_stat_user_indexes`
fn indexes(system: &System) -> Vec<NamedRow> {
    let row = |class: &Class| {
        let ClassKind::Index(at, _) = &class.kind else { return None };
        let table = &system.facts.tables[*at];
        Some(vec![
            ("relid", oid(table.id().0)),
            ("indexrelid", oid(class.oid)),
            ("schemaname", text(&system.definitions[*at].name.schema)),
            ("relname", text(&system.definitions[*at].name.name)),
            ("indexrelname", text(&class.name)),
        ])
    };
    system.classes.iter().filter_map(row).collect()
}

/// `pg_statio_user_sequences`
fn sequences(system: &System) -> Vec<NamedRow> {
    let row = |class: &Class| {
        vec![
            ("relid", oid(class.oid)),
            ("schemaname", text(system.schema_name(class.schema))),
            ("relname", text(&class.name)),
        ]
    };
    system.classes.iter().filter(|class| matches!(class.kind, ClassKind::Sequence)).map(row).collect()
}

/// `pg_stat_archiver`: nothing is archived.
fn archiver(_system: &System) -> Vec<NamedRow> {
    vec![vec![("archived_count", int8(0)), ("failed_count", int8(0))]]
}

/// `pg_stat_bgwriter`: checkpoints. Each is taken because the log has grown or because it was asked for.
fn checkpoints(system: &System) -> Vec<NamedRow> {
    let taken = system.facts.engine.checkpoint_status().map_or(0, |status| status.taken);
    let nothing = |name: &'static str| (name, int8(0));
    vec![vec![
        nothing("checkpoints_timed"),
        ("checkpoints_req", int8(taken)),
        ("checkpoint_write_time", Value::Double(0.0)),
        ("checkpoint_sync_time", Value::Double(0.0)),
        nothing("buffers_checkpoint"),
        nothing("buffers_clean"),
        nothing("maxwritten_clean"),
        nothing("buffers_backend"),
        nothing("buffers_backend_fsync"),
        nothing("buffers_alloc"),
    ]]
}

/// `pg_stat_wal`: all logs together.
fn log(system: &System) -> Vec<NamedRow> {
    let logs = system.facts.engine.statistics().logs;
    let bytes: u64 = logs.iter().map(|log| log.appended).sum();
    let syncs: u64 = logs.iter().map(|log| log.blocks).sum();
    vec![vec![
        ("wal_bytes", Value::numeric(numeric::from_i64(i64::try_from(bytes).unwrap_or(i64::MAX)))),
        ("wal_write", int8(syncs)),
        ("wal_sync", int8(syncs)),
    ]]
}

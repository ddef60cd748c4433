//! The use of memory, the progress of logs and of the restart, and the counts of sessions. Bytes of rows
//! and indexes are estimates (`hyades_engine::db::EngineStatistics`).

use hyades_engine::db::SeenDatabase;
use hyades_engine::storage::table::Table;
use hyades_types::access::{DATABASE_OBJECT, ObjectKind, Privileges, denied};
use hyades_types::definition::DatabaseId;
use hyades_types::error::Result;
use hyades_types::memory;
use hyades_types::system_catalog::{Privileged, Size};
use hyades_types::value::Value;

use super::class::ClassKind;
use super::row::{NamedRow, int4, int8, oid, or_null, text, truth};
use super::snapshot::System;

/// `pg_stat_database`
pub(super) fn databases(system: &System) -> Vec<NamedRow> {
    let row = |database: &SeenDatabase| {
        let counts = system.facts.sessions.counts(Some(database.id));
        vec![
            ("datid", oid(database.id.0)),
            ("datname", text(&database.definition.name)),
            ("numbackends", int4(counts.sessions)),
            ("xact_commit", int8(counts.commits)),
            ("xact_rollback", int8(counts.rollbacks)),
            ("deadlocks", int8(counts.deadlocks)),
        ]
    };
    system.facts.databases.iter().map(row).collect()
}

/// `hyades_logs`
pub(super) fn logs(system: &System) -> Vec<NamedRow> {
    let logs = system.facts.engine.statistics().logs;
    let row = |(log, one): (usize, hyades_engine::db::LogStatistics)| {
        vec![
            ("log", int4(log)),
            ("appended_bytes", int8(one.appended)),
            ("durable_bytes", int8(one.durable)),
            ("lag_bytes", int8(one.appended.saturating_sub(one.durable))),
            ("syncs", int8(one.blocks)),
            ("stored_bytes", int8(one.stored)),
            ("buffer_bytes", int8(one.buffer)),
        ]
    };
    logs.into_iter().enumerate().map(row).collect()
}

/// Microseconds from 1970 to 2000, where timestamps start.
const SINCE_1970_US: i64 = 946_684_800_000_000;

/// `hyades_checkpoint`: the last checkpoint, if there has been any, and what a restart would have to
/// replay.
pub(super) fn checkpoint(system: &System) -> Vec<NamedRow> {
    let Some(status) = system.facts.engine.checkpoint_status() else { return Vec::new() };
    let last = (status.number > 0).then_some(&status);
    let taken_at = |time_us: u64| Value::TimestampTz(time_us as i64 - SINCE_1970_US);
    vec![vec![
        ("number", or_null(last, |last| int8(last.number))),
        ("taken_at", or_null(last, |last| taken_at(last.taken_at_us))),
        ("seconds", or_null(last, |last| Value::Double(last.seconds))),
        ("rows", or_null(last, |last| int8(last.rows))),
        ("bytes", or_null(last, |last| int8(last.bytes))),
        ("written_bytes", or_null(last, |last| int8(last.written_bytes))),
        ("is_running", truth(status.is_running)),
        ("taken", int8(status.taken)),
        ("failed", int8(status.failed)),
        ("failure", or_null(status.failure.as_ref(), text)),
        ("bytes_to_replay", int8(status.bytes_to_replay)),
        ("log_bytes", int8(status.log_bytes)),
    ]]
}

/// `hyades_restart`: the progress of the restart, in seconds since it began.
pub(super) fn restart(system: &System) -> Vec<NamedRow> {
    let status = system.facts.engine.restart_status();
    vec![vec![
        ("is_complete", truth(status.is_complete)),
        ("percent", Value::Double(status.percent())),
        ("seconds", Value::Double(status.seconds)),
        ("open_seconds", or_null(status.open_seconds, Value::Double)),
        ("first_commit_seconds", or_null(status.first_commit_seconds, Value::Double)),
        ("tables", int4(status.tables)),
        ("closed_tables", int4(status.closed_tables)),
        ("loaded_bytes", int8(status.loaded_bytes)),
        ("bytes_to_load", int8(status.bytes_to_load)),
        ("replayed_bytes", int8(status.replayed_bytes)),
        ("bytes_to_replay", int8(status.bytes_to_replay)),
    ]]
}

/// `hyades_memory`: each table and index, and the rest as a whole.
pub(super) fn memory(system: &System) -> Vec<NamedRow> {
    let row = |kind: &str, name: Value, bytes: u64| {
        vec![("kind", text(kind)), ("name", name), ("bytes", int8(bytes))]
    };
    let mut rows = Vec::new();
    for (table, definition) in counted(system) {
        let (own, indexes) = table.estimated_bytes();
        rows.push(row("table", text(system.shown_name(&definition.name)), own));
        for (index, bytes) in definition.indexes.iter().zip(indexes) {
            rows.push(row("index", text(&index.name), bytes));
        }
    }
    let engine = system.facts.engine.statistics();
    let buffers = engine.logs.iter().map(|log| log.buffer).sum();
    rows.push(row("versions", Value::Null, engine.versions));
    rows.push(row("sessions", Value::Null, system.facts.sessions.counts(None).bytes));
    rows.push(row("logs", Value::Null, buffers));
    rows.push(row("total", Value::Null, memory::total_bytes() as u64));
    rows.push(row("limit", Value::Null, system.facts.engine.memory_limits().server_bytes as u64));
    rows
}

fn counted(system: &System) -> impl Iterator<Item = (&Table, &hyades_types::definition::TableDefinition)> {
    let tables = system.facts.tables.iter().zip(&system.definitions);
    tables
        .filter(|(_, definition)| definition.view.is_none())
        .map(|(table, definition)| (table.as_ref(), definition.as_ref()))
}

impl System {
    /// `pg_relation_size` and similar functions. NULL for an object that does not exist. The index of a
    /// primary key is the table.
    pub(super) fn size_of(&self, size: Size, number: u32) -> Value {
        let Some(class) = self.class(number) else { return Value::Null };
        let bytes = match &class.kind {
            ClassKind::Table(at) | ClassKind::Materialized(at) => {
                let (own, indexes) = self.facts.tables[*at].estimated_bytes();
                let indexes: u64 = indexes.iter().sum();
                match size {
                    Size::Own => own,
                    Size::Indexes => indexes,
                    Size::Whole => own + indexes,
                }
            }
            ClassKind::Index(at, index) => {
                let position = self.definitions[*at].indexes.iter().position(|one| one.name == index.name);
                let (_, indexes) = self.facts.tables[*at].estimated_bytes();
                position.and_then(|position| indexes.get(position).copied()).unwrap_or(0)
            }
            ClassKind::View(_) | ClassKind::Sequence | ClassKind::Composite(..) | ClassKind::System(_) => 0,
        };
        int8(bytes)
    }

    /// `pg_database_size`
    pub(super) fn database_bytes(&self, database: &Value) -> Result<Value> {
        let Some(number) = self.number_asked_about(Privileged::Database, database)? else {
            return Ok(Value::Null);
        };
        if let Some(database) = self.database(number)
            && !database
                .access
                .privileges(self.facts.role, DATABASE_OBJECT, ObjectKind::Database)
                .contains(Privileges::CONNECT)
        {
            return Err(denied("database", &database.definition.name));
        }
        let bytes_of = |table: &Table| {
            let (own, indexes) = table.estimated_bytes();
            own + indexes.iter().sum::<u64>()
        };
        let databases = self.facts.engine.databases();
        let bytes: u64 = match databases.catalog(DatabaseId(number)) {
            _ if number == self.facts.own_database.0 => counted(self).map(|(table, _)| bytes_of(table)).sum(),
            Some(catalog) => catalog.tables().iter().map(|table| bytes_of(table)).sum(),
            None => return Ok(Value::Null),
        };
        Ok(int8(bytes))
    }
}

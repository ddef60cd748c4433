//! The numbers: in Prometheus' text format, and as JSON for the page.
//!
//! Counters begin at 0 with the process. Metrics are never renamed: a new one gets a new name.

use std::fmt::Write as _;

use hyades::Database;
use hyades::session::statistics::{Memory, Statistics};
use serde_json::{Value, json};

use crate::connection::handshake::Gate;

/// One metric and its samples: labels (`state="idle"`) and values.
struct Metric {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    samples: Vec<(String, f64)>,
}

fn single(name: &'static str, kind: &'static str, help: &'static str, value: f64) -> Metric {
    Metric { name, kind, help, samples: vec![(String::new(), value)] }
}

fn labelled(
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    samples: &[(&str, &str, f64)],
) -> Metric {
    let samples = samples.iter().map(|(label, is, value)| (format!("{label}=\"{is}\""), *value));
    Metric { name, kind, help, samples: samples.collect() }
}

/// What Prometheus scrapes.
pub(super) fn text(gate: &Gate, database: Option<&Database>) -> String {
    let mut out = String::with_capacity(8 << 10);
    for metric in metrics(gate, database) {
        let Metric { name, kind, help, samples } = metric;
        // Writing to a string cannot fail.
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (labels, value) in samples {
            let _ = match labels.is_empty() {
                true => writeln!(out, "{name} {value}"),
                false => writeln!(out, "{name}{{{labels}}} {value}"),
            };
        }
    }
    out
}

fn metrics(gate: &Gate, database: Option<&Database>) -> Vec<Metric> {
    let is_up = gate.registry.failure().is_none();
    let mut all = vec![
        single("hyades_up", "gauge", "1 unless the database is poisoned.", f64::from(u8::from(is_up))),
        single("hyades_connections", "gauge", "Clients that have a place.", gate.registry.len() as f64),
        single(
            "hyades_connections_limit",
            "gauge",
            "Clients that may have a place.",
            gate.registry.limit() as f64,
        ),
    ];
    if let Some(database) = database {
        let statistics = database.statistics();
        all.extend(of_sessions(&statistics));
        all.extend(of_logs(&statistics));
        all.extend(of_memory(&statistics.memory));
        all.extend(of_recovery(database));
    }
    all
}

fn of_sessions(statistics: &Statistics) -> Vec<Metric> {
    let sessions = &statistics.sessions;
    let counts = &statistics.counts;
    vec![
        labelled(
            "hyades_sessions",
            "gauge",
            "Sessions by what they do.",
            &[
                ("state", "active", sessions.active as f64),
                ("state", "waiting", sessions.waiting as f64),
                ("state", "idle", sessions.idle as f64),
                ("state", "idle_in_transaction", sessions.idle_in_transaction as f64),
                ("state", "idle_in_failed_transaction", sessions.idle_in_failed_transaction as f64),
            ],
        ),
        labelled(
            "hyades_transactions_total",
            "counter",
            "Transactions by how they ended.",
            &[
                ("outcome", "committed", counts.commits as f64),
                ("outcome", "rolled_back", counts.rollbacks as f64),
            ],
        ),
        single("hyades_statements_total", "counter", "Statements that were run.", counts.statements as f64),
        single(
            "hyades_lock_waits_total",
            "counter",
            "Times that a statement had to wait.",
            counts.waits as f64,
        ),
        single(
            "hyades_deadlocks_total",
            "counter",
            "Statements that ended a deadlock.",
            counts.deadlocks as f64,
        ),
    ]
}

fn of_logs(statistics: &Statistics) -> Vec<Metric> {
    let of = |name, kind, help, value: fn(&hyades::engine::db::LogStatistics) -> u64| {
        let samples = statistics.logs.iter().enumerate();
        let samples = samples.map(|(log, one)| (format!("log=\"{log}\""), value(one) as f64));
        Metric { name, kind, help, samples: samples.collect() }
    };
    vec![
        of("hyades_log_appended_bytes_total", "counter", "Bytes of log records that were appended.", |log| {
            log.appended
        }),
        of("hyades_log_durable_bytes_total", "counter", "Bytes of log records that are durable.", |log| {
            log.durable
        }),
        of("hyades_log_lag_bytes", "gauge", "Bytes that were appended and are not durable.", |log| {
            log.appended.saturating_sub(log.durable)
        }),
        of("hyades_log_blocks_total", "counter", "Blocks that were written and synced.", |log| log.blocks),
    ]
}

fn of_memory(memory: &Memory) -> Vec<Metric> {
    vec![
        labelled(
            "hyades_memory_bytes",
            "gauge",
            "Memory by what it is for; rows and indexes are estimates.",
            &[
                ("for", "tables", memory.tables as f64),
                ("for", "indexes", memory.indexes as f64),
                ("for", "versions", memory.versions as f64),
                ("for", "sessions", memory.sessions as f64),
                ("for", "logs", memory.logs as f64),
            ],
        ),
        single(
            "hyades_memory_total_bytes",
            "gauge",
            "Memory of the process as its allocator counts it.",
            memory.total as f64,
        ),
        single("hyades_memory_limit_bytes", "gauge", "What --memory-limit allows.", memory.limit as f64),
    ]
}

fn of_recovery(database: &Database) -> Vec<Metric> {
    let report = database.recovery_report();
    let restart = database.restart_status();
    vec![
        single(
            "hyades_restart_percent",
            "gauge",
            "How far the restart is; 100 when everything is as it was.",
            restart.percent(),
        ),
        single(
            "hyades_restart_closed_tables",
            "gauge",
            "Tables that cannot be entered yet because the restart goes on.",
            restart.closed_tables as f64,
        ),
        single(
            "hyades_restart_open_seconds",
            "gauge",
            "When the restart let transactions in.",
            restart.open_seconds.unwrap_or(0.0),
        ),
        single(
            "hyades_recovery_seconds",
            "gauge",
            "How long the recovery at the start took.",
            report.seconds,
        ),
        single(
            "hyades_recovery_transactions",
            "gauge",
            "Transactions that the recovery at the start found in the logs.",
            report.transactions as f64,
        ),
        single(
            "hyades_recovery_discarded_transactions",
            "gauge",
            "Transactions that were never acknowledged and were left out.",
            report.discarded as f64,
        ),
    ]
}

/// The numbers that the page shows.
pub(super) fn json(gate: &Gate, database: Option<&Database>, health: &str) -> String {
    let mut object = json!({
        "health": health,
        "connections": gate.registry.len(),
        "connectionLimit": gate.registry.limit(),
        "version": env!("CARGO_PKG_VERSION"),
    });
    if let (Some(database), Value::Object(fields)) = (database, &mut object) {
        let statistics = database.statistics();
        let (sessions, counts, memory) = (&statistics.sessions, &statistics.counts, &statistics.memory);
        fields.insert(
            "sessions".to_owned(),
            json!({
                "active": sessions.active,
                "waiting": sessions.waiting,
                "idle": sessions.idle,
                "idle in transaction": sessions.idle_in_transaction + sessions.idle_in_failed_transaction,
            }),
        );
        fields.insert(
            "counts".to_owned(),
            json!({
                "commits": counts.commits,
                "rollbacks": counts.rollbacks,
                "statements": counts.statements,
                "waits": counts.waits,
                "deadlocks": counts.deadlocks,
            }),
        );
        let logs = statistics.logs.iter();
        let logs: Vec<Value> = logs
            .map(|log| json!({ "appended": log.appended, "durable": log.durable, "blocks": log.blocks }))
            .collect();
        fields.insert("logs".to_owned(), Value::Array(logs));
        fields.insert(
            "memory".to_owned(),
            json!({
                "tables": memory.tables,
                "indexes": memory.indexes,
                "versions": memory.versions,
                "sessions": memory.sessions,
                "logs": memory.logs,
                "total": memory.total,
                "limit": memory.limit,
            }),
        );
        let report = database.recovery_report();
        fields.insert(
            "recovery".to_owned(),
            json!({
                "seconds": report.seconds,
                "transactions": report.transactions,
                "discarded": report.discarded,
                "percent": database.restart_status().percent(),
            }),
        );
    }
    object.to_string()
}

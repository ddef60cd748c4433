//! Logs a restart: one that was complete before any transaction was let in, or one that goes on in the
//! background beside transactions (`--restart on-demand`).

use std::time::Duration;

use hyades::Database;
use hyades::engine::recovery::{RecoveryReport, RestartStatus};
use hyades::sqlstate;
use hyades::types::memory;

/// The interval at which its progress is logged.
const INTERVAL: Duration = Duration::from_secs(5);

/// Logs that the restart goes on in the background, then its progress, and finally its completion, or why
/// there will be none.
pub(super) async fn follow(database: Database) {
    let status = database.restart_status();
    tracing::info!(
        "transactions are let in after {:.2} s; {} of {} tables are open, the restart goes on in the background",
        status.open_seconds.unwrap_or(status.seconds),
        status.tables - status.closed_tables,
        status.tables,
    );
    loop {
        match database.wait_for_restart() {
            Ok(None) => break,
            Ok(Some(ticket)) => {
                if tokio::time::timeout(INTERVAL, ticket).await.is_err() {
                    tracing::info!("{}", sentence(&database.restart_status()));
                }
            }
            // A shutdown is logged elsewhere.
            Err(error) if error.sqlstate() == sqlstate::ADMIN_SHUTDOWN => return,
            Err(error) => {
                tracing::error!("the restart will not be complete: {error}");
                return;
            }
        }
    }
    report_recovery(&database.recovery_report());
    report_memory(database.memory_limits());
    let status = database.restart_status();
    let first = match status.first_commit_seconds {
        Some(seconds) => format!("the first transaction had committed after {seconds:.2} s"),
        None => "no transaction has committed before".to_owned(),
    };
    tracing::info!("the restart is complete after {:.2} s; {first}", status.seconds);
}

/// The progress of the restart, in one sentence.
fn sentence(status: &RestartStatus) -> String {
    format!(
        "recovering, {:.0} %: {} of {} MiB of the checkpoint loaded, {} of {} MiB of logs replayed, {} of {} tables are open",
        status.percent(),
        status.loaded_bytes >> 20,
        status.bytes_to_load >> 20,
        status.replayed_bytes >> 20,
        status.bytes_to_replay >> 20,
        status.tables - status.closed_tables,
        status.tables,
    )
}

/// Logs what a complete recovery has found.
pub(super) fn report_recovery(report: &RecoveryReport) {
    if report.incarnations == 0 {
        return;
    }
    for tail in &report.tails {
        if tail.is_torn() {
            tracing::warn!("{tail}");
        } else {
            tracing::info!("{tail}; it was not closed");
        }
    }
    if let Some(number) = report.checkpoint {
        tracing::info!(
            "loaded checkpoint {number} ({} rows, {} MiB) in {:.2} s",
            report.checkpoint_rows,
            report.checkpoint_bytes >> 20,
            report.checkpoint_seconds,
        );
    }
    if report.early_passes > 0 {
        tracing::info!(
            "replayed the logs in {} passes, first for tables that transactions waited for",
            report.early_passes + 1,
        );
    }
    let seconds = report.seconds.max(1e-6);
    tracing::info!(
        "recovered {} transactions ({} rows in {} tables) from {} logs in {:.2} s ({:.0}/s); {} discarded",
        report.transactions,
        report.rows,
        report.tables,
        report.logs,
        report.seconds,
        report.transactions as f64 / seconds,
        report.discarded,
    );
}

/// Logs that tables are larger than what the server may use now: recovery takes what it needs.
pub(super) fn report_memory(limits: memory::Limits) {
    const MIB: usize = 1 << 20;
    let used = memory::total_bytes();
    if used > limits.server_bytes {
        tracing::warn!(
            "the tables take {} MiB, more than the {} MiB of --memory-limit: rows can be read and deleted, not added",
            used / MIB,
            limits.server_bytes / MIB,
        );
    }
}

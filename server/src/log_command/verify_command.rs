//! `hyades log verify`: recovers a database in memory and reports what a start would find. Nothing is
//! written.
//!
//! The state hash covers all tables, keys, rows and routines. Two recoveries of the same logs must have the
//! same hash, however many workers replay. Only hashes from the same version of this program can be compared.

use std::io::Write;
use std::sync::Arc;

use clap::Args;
use hyades::Config;
use hyades_engine::recovery::{recover, state_hash};
use hyades_engine::storage::databases::Databases;
use serde_json::json;

use super::common::{Common, Failure};

#[derive(Args)]
pub struct VerifyArguments {
    #[command(flatten)]
    common: Common,
    /// Threads that replay; 0 means one for each core.
    #[arg(long, default_value_t = 0)]
    recovery_workers: usize,
    /// Replay the after-images of calls, where a server with --command-images has left them, instead of
    /// running the calls.
    #[arg(long, hide = true)]
    images: bool,
}

pub(super) fn run(arguments: &VerifyArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let inspection = arguments.common.open()?;
    if inspection.is_in_use() == Some(true) {
        return Err(Failure::Sentence("a server has this directory open".to_owned()));
    }
    let mut config = Config::new(&arguments.common.data);
    config.recovery_workers = arguments.recovery_workers;
    config.replay_images = arguments.images;
    let databases = Arc::new(Databases::new());
    let report = recover(&config, Some(hyades::routine_compiler()), &databases)?.report;
    let hash = format!("{:016x}", state_hash(&databases)?);
    let tables = databases.tables().len();
    if arguments.common.json {
        let report = json!({
            "state_hash": hash,
            "tables": tables,
            "transactions": report.transactions,
            "discarded": report.discarded,
            "not_closed": report.tails.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "log_bytes": report.log_bytes,
            "seconds": report.seconds,
        });
        writeln!(out, "{report:#}")?;
        return Ok(());
    }
    writeln!(
        out,
        "recovered {} transactions from {} bytes of logs in {:.2} s, {tables} tables; state {hash}",
        report.transactions, report.log_bytes, report.seconds
    )?;
    for tail in &report.tails {
        writeln!(out, "{tail}{}", if tail.is_torn() { "" } else { "; it was not closed" })?;
    }
    if report.discarded > 0 {
        writeln!(out, "{} transactions do not count: what they depend on is missing", report.discarded)?;
    }
    Ok(())
}

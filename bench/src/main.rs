//! `hyades-bench`: one measurement per invocation, printed as a sentence or as one line of JSON.
//!
//! Each measurement has its own process, so that no run inherits the memory of another. `cargo xtask bench`
//! runs it and draws conclusions.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use hyades_bench::command_line::protocol_names;
use hyades_bench::{accounts, restart, transfer};
use hyades_engine::config::{Config, ProtocolKind};
use hyades_engine::db;
use hyades_types::definition::IndexKind;
use hyades_types::error::Result;
use serde_json::json;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measures Hyades in process.
#[derive(Parser)]
#[command(name = "hyades-bench", version)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Durable transfers between random accounts, per second.
    Transfer {
        #[command(flatten)]
        common: Common,
        /// Length of the measurement.
        #[arg(long, default_value_t = 5)]
        seconds: u64,
        /// Length of the warm-up with the same work, which is not counted.
        #[arg(long, default_value_t = 1)]
        warm_up_seconds: u64,
    },
    /// Replays the logs of this many transfers, and compares the state before and after.
    Replay {
        #[command(flatten)]
        common: Common,
        #[arg(long, default_value_t = 5_000_000)]
        transactions: u64,
    },
}

#[derive(Args)]
struct Common {
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..))]
    workers: u64,
    #[arg(long, default_value_t = 2)]
    logs: usize,
    #[arg(long, value_parser = protocol_names(), default_value = ProtocolKind::default().name())]
    protocol: ProtocolKind,
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(2..))]
    accounts: u64,
    #[arg(long, value_enum, default_value_t = Index::Ordered)]
    index: Index,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// An empty directory on the device to measure.
    #[arg(long)]
    directory: PathBuf,
    /// Prints one line of JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Index {
    Ordered,
    Hash,
}

impl Common {
    fn config(&self) -> Config {
        let mut config = Config::new(&self.directory);
        config.protocol = self.protocol;
        config.logs = self.logs;
        config.recovery_workers = self.workers as usize;
        config
    }

    fn index(&self) -> IndexKind {
        match self.index {
            Index::Ordered => IndexKind::Ordered,
            Index::Hash => IndexKind::Hash,
        }
    }
}

fn main() -> ExitCode {
    let outcome = match CommandLine::parse().command {
        Command::Transfer { common, seconds, warm_up_seconds } => {
            measure_transfer(&common, Duration::from_secs(seconds), Duration::from_secs(warm_up_seconds))
        }
        Command::Replay { common, transactions } => measure_replay(&common, transactions),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure_transfer(common: &Common, length: Duration, warm_up: Duration) -> Result<()> {
    let engine = db::open(common.config(), None)?;
    let table = accounts::create(&engine, common.accounts, common.index())?;
    let run = |length, seed| {
        transfer::run(&engine, common.accounts, common.workers, transfer::Until::Elapsed(length), seed)
    };
    run(warm_up, common.seed.wrapping_add(1))?;
    let outcome = run(length, common.seed)?;
    transfer::check(&accounts::audit(&engine, &table)?, common.accounts)?;
    engine.shutdown()?;
    let report = json!({
        "workload": "transfer",
        "protocol": common.protocol.name(),
        "workers": common.workers,
        "logs": common.logs,
        "accounts": common.accounts,
        "transactions": outcome.transactions,
        "retries": outcome.retries,
        "seconds": outcome.seconds,
        "per_second": outcome.per_second(),
    });
    print(common, &report);
    Ok(())
}

fn measure_replay(common: &Common, transactions: u64) -> Result<()> {
    let plan = restart::Plan {
        accounts: common.accounts,
        transactions,
        workers: common.workers,
        index: common.index(),
    };
    let outcome = restart::run(&common.config(), &plan, common.seed)?;
    let report = json!({
        "workload": "replay",
        "protocol": common.protocol.name(),
        "workers": common.workers,
        "logs": common.logs,
        "accounts": common.accounts,
        "transactions": outcome.transfers,
        "seconds": outcome.seconds,
        "per_second": outcome.per_second(),
        "log_bytes": outcome.log_bytes,
        "state_matches": outcome.state_matches(),
    });
    print(common, &report);
    Ok(())
}

fn print(common: &Common, report: &serde_json::Value) {
    if common.json {
        println!("{report}");
        return;
    }
    println!(
        "{} with {}, {} workers, {} logs: {} transactions in {:.2} s, {:.0}/s",
        report["workload"].as_str().unwrap_or_default(),
        common.protocol.name(),
        common.workers,
        common.logs,
        report["transactions"],
        report["seconds"].as_f64().unwrap_or_default(),
        report["per_second"].as_f64().unwrap_or_default(),
    );
    if report["state_matches"] == json!(false) {
        println!("the state after the restart is not the state before");
    }
}

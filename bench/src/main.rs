//! `hyades-bench`: workloads inside the process, without a wire. See `hyades-bench --help`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};
use hyades_bench::transfer::{self, Outcome};
use hyades_engine::Result;
use hyades_engine::catalog::IndexKind;
use hyades_engine::config::ProtocolKind;
use hyades_engine::error::Error;
use serde_json::json;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
#[command(name = "hyades-bench", about = "Measures the Hyades engine inside one process")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Moves money between accounts; counts durable acknowledgements, then recovers and compares the states.
    Transfer(TransferArguments),
}

#[derive(clap::Args)]
struct TransferArguments {
    /// Protocols to run, interleaved round by round; ratios are against the first.
    #[arg(long, value_delimiter = ',', default_value = "taurus")]
    protocol: Vec<Protocol>,
    #[arg(long, default_value_t = 2)]
    workers: usize,
    #[arg(long, default_value_t = 2)]
    logs: usize,
    #[arg(long, default_value_t = 1_000_000)]
    accounts: u64,
    /// Seconds of each run.
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    #[arg(long, default_value = "hash")]
    index: Index,
    /// Where the databases of the runs go (each is removed after its run).
    #[arg(long)]
    directory: Option<PathBuf>,
    /// Prints one JSON object instead of text.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Protocol {
    None,
    Serial,
    Taurus,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Index {
    Hash,
    Ordered,
}

impl Protocol {
    fn kind(self) -> ProtocolKind {
        match self {
            Protocol::None => ProtocolKind::None,
            Protocol::Serial => ProtocolKind::Serial,
            Protocol::Taurus => ProtocolKind::Taurus,
        }
    }
}

/// All rounds of one protocol.
#[derive(Default)]
struct Series {
    rates: Vec<f64>,
    p50_us: Vec<f64>,
    p99_us: Vec<f64>,
    replay_rates: Vec<f64>,
    bytes: Vec<f64>,
    retries: u64,
}

impl Series {
    fn add(&mut self, outcome: &Outcome) {
        self.rates.push(outcome.figures.rate());
        self.p50_us.push(outcome.figures.latency_us.value_at_quantile(0.5) as f64);
        self.p99_us.push(outcome.figures.latency_us.value_at_quantile(0.99) as f64);
        self.retries += outcome.figures.retries;
        self.replay_rates.extend(outcome.replay.as_ref().map(transfer::Replay::rate));
        self.bytes.push(outcome.log_bytes_per_transaction);
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "transactions_per_s": spread(&self.rates),
            "latency_p50_us": spread(&self.p50_us),
            "latency_p99_us": spread(&self.p99_us),
            "replay_transactions_per_s": spread(&self.replay_rates),
            "log_bytes_per_transaction": spread(&self.bytes),
            "retries": self.retries,
        })
    }
}

/// Median, least and most.
fn spread(values: &[f64]) -> serde_json::Value {
    if values.is_empty() {
        return serde_json::Value::Null;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    json!({ "median": sorted[sorted.len() / 2], "min": sorted[0], "max": sorted[sorted.len() - 1] })
}

fn show(values: &[f64]) -> String {
    let value = |name: &str| spread(values)[name].as_f64().unwrap_or(0.0);
    if values.is_empty() {
        return "-".to_owned();
    }
    format!("{:.0} [{:.0} .. {:.0}]", value("median"), value("min"), value("max"))
}

fn main() -> ExitCode {
    let Command::Transfer(arguments) = Arguments::parse().command;
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hyades-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &TransferArguments) -> Result<()> {
    let root = arguments.directory.clone().unwrap_or_else(std::env::temp_dir);
    let mut series: Vec<Series> = arguments.protocol.iter().map(|_| Series::default()).collect();
    for round in 0..arguments.rounds {
        for (protocol, series) in arguments.protocol.iter().zip(&mut series) {
            let directory = root.join(format!("hyades-bench-{}-{round}-{protocol:?}", std::process::id()));
            let options = transfer::Options {
                protocol: protocol.kind(),
                index: match arguments.index {
                    Index::Hash => IndexKind::Hash,
                    Index::Ordered => IndexKind::Ordered,
                },
                logs: arguments.logs,
                workers: arguments.workers,
                accounts: arguments.accounts,
                seconds: arguments.seconds,
            };
            let outcome = transfer::run(&options, &directory);
            if let Err(error) = std::fs::remove_dir_all(&directory) {
                return Err(Error::io(format!("cannot remove {}", directory.display()), &error));
            }
            let outcome = outcome?;
            series.add(&outcome);
            if !arguments.json {
                eprintln!("round {} {protocol:?}: {:.0} transactions/s", round + 1, outcome.figures.rate());
            }
        }
    }
    report(arguments, &series);
    Ok(())
}

fn report(arguments: &TransferArguments, series: &[Series]) {
    if arguments.json {
        let protocols: serde_json::Map<String, serde_json::Value> = arguments
            .protocol
            .iter()
            .zip(series)
            .map(|(protocol, series)| (format!("{protocol:?}").to_lowercase(), series.json()))
            .collect();
        println!("{}", serde_json::Value::Object(protocols));
        return;
    }
    for (protocol, one) in arguments.protocol.iter().zip(series) {
        let ratios: Vec<f64> =
            one.rates.iter().zip(&series[0].rates).map(|(rate, base)| 100.0 * rate / base).collect();
        println!("{protocol:?}: durable transactions/s {}", show(&one.rates));
        println!("  percent of {:?}, round by round: {}", arguments.protocol[0], show(&ratios));
        println!("  latency to durable, us: median {}, p99 {}", show(&one.p50_us), show(&one.p99_us));
        println!("  log bytes per transaction {}, retries {}", show(&one.bytes), one.retries);
        println!("  replay, transactions/s {}", show(&one.replay_rates));
    }
}

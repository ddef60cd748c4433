//! `hyades-harness`: the commands of `cargo xtask` that test or measure the product from outside: real
//! processes, real clients, PostgreSQL beside them.
//!
//! There is one module per command. Shared code is in `tools` (processes, deadlines, statistics), `server`
//! (starting and killing a database server, ours or PostgreSQL) and `pgbench` (running the real pgbench and
//! reading its output).
//!
//! Invariant: no command changes a tracked file, except that `procedures --record` writes PostgreSQL's
//! answers and `regression --write` its counts. `fuzz` may add to its own corpus, which git ignores.

mod agree;
mod backslash;
mod bench;
mod clients;
mod conformance;
mod copies;
mod cost;
mod crash;
mod dump;
mod fuzz;
mod hostile;
mod loom;
mod objects;
mod pgbench;
mod procedures;
mod promises;
mod regression;
mod server;
mod sim;
mod soak;
mod tools;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Tests and measurements of the product.
#[derive(Parser)]
#[command(
    bin_name = "cargo xtask",
    help_template = "{about}:\n{subcommands}\n",
    disable_help_subcommand = true
)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Kills a server under load again and again and checks that nothing acknowledged is lost.
    Crash(crash::Options),
    /// Cuts the power of the file systems below a server under load, and checks that nothing acknowledged is
    /// lost.
    Cuts(crash::cuts::Options),
    /// Attacks the real server: statements that compute or take memory without end, clients that go away,
    /// bytes that no proper client sends.
    Hostile(hostile::Options),
    /// Measures Hyades next to PostgreSQL.
    Bench(bench::Options),
    /// Runs drivers, ORMs and migration tools against the real server.
    Clients(clients::Options),
    /// Times CREATE DATABASE .. TEMPLATE on Hyades and on PostgreSQL.
    Copies(copies::Options),
    /// Counts instructions and allocations of one call, and enforces ceilings on them.
    Cost(cost::Options),
    /// Tries every protocol with each number of logs and each kind of logging, and prints a line for each.
    Conformance(conformance::Options),
    /// Runs psql's backslash commands on Hyades and on PostgreSQL and compares what they print.
    Backslash(backslash::Options),
    /// Dumps Hyades with pg_dump, restores that into PostgreSQL and into Hyades, and compares.
    Dump(dump::Options),
    /// Feeds the decoders and the SQL entry with generated input.
    Fuzz(fuzz::Options),
    /// Runs procedures made from seeds on Hyades and on PostgreSQL and compares the results.
    Procedures(procedures::Options),
    /// Calls every function in every clause and compares what EXPLAIN promises with what replay produces.
    Promises(promises::Options),
    /// Runs random statements on Hyades and on PostgreSQL and compares the results.
    Agree(agree::Options),
    /// Runs PostgreSQL's regression files on Hyades and on PostgreSQL and counts the agreements.
    Regression(regression::Options),
    /// Runs the whole engine from seeds, one thread at a time, and checks what it did.
    Sim(sim::Options),
    /// Runs full TPC-C for an hour, kills the server each minute, and checks what has grown.
    Soak(soak::Options),
    /// Backs a running server up into an S3 server, and restores from there.
    Objects(objects::Options),
    /// Checks small concurrent kernels under every interleaving.
    Loom(loom::Options),
    /// Times single durable writes of one sector (used by bench, which runs it in the chosen scheduling
    /// mode).
    #[command(hide = true)]
    SyncProbe(bench::sync_probe::Options),
}

fn main() -> ExitCode {
    let outcome = match CommandLine::parse().command {
        Command::Crash(options) => crash::run(&options),
        Command::Cuts(options) => crash::cuts::run(&options),
        Command::Hostile(options) => hostile::run(&options),
        Command::Bench(options) => bench::run(&options),
        Command::Clients(options) => clients::run(&options),
        Command::Copies(options) => copies::run(&options),
        Command::Cost(options) => cost::run(&options),
        Command::Conformance(options) => conformance::run(&options),
        Command::Backslash(options) => backslash::run(&options),
        Command::Dump(options) => dump::run(&options),
        Command::Fuzz(options) => fuzz::run(&options),
        Command::Procedures(options) => procedures::run(&options),
        Command::Promises(options) => promises::run(&options),
        Command::Agree(options) => agree::run(&options),
        Command::Regression(options) => regression::run(&options),
        Command::Sim(options) => sim::run(&options),
        Command::Soak(options) => soak::run(&options),
        Command::Objects(options) => objects::run(&options),
        Command::Loom(options) => loom::run(&options),
        Command::SyncProbe(options) => bench::sync_probe::run(&options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

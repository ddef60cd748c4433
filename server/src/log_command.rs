//! `hyades log`: what stands in the logs of a database.
//!
//! [`stat`] counts, [`dump`] prints records one by one, [`graph`] tells how parallel a replay could be,
//! [`verify`] recovers in memory. All only look ([`hyades_engine::inspect`]): no file is written, no lock is
//! taken, and a directory that a server has open may be looked at too. The last incarnation is then a moving
//! target, and every output says so.

mod common;
pub mod dump;
pub mod graph;
pub mod stat;
pub mod verify;

use std::io::{self, BufWriter, Write};

use clap::Subcommand;

use crate::serve::Sentence;

pub use common::{Common, Failure};

#[derive(Subcommand)]
pub enum LogCommand {
    /// Sizes, records by kind, LSN vector bytes, durable positions, incarnations.
    Stat(stat::StatArguments),
    /// The records themselves.
    Dump(dump::DumpArguments),
    /// Work, span and parallelism of the dependency graph.
    Graph(graph::GraphArguments),
    /// Recover in memory, and tell what a start would find.
    Verify(verify::VerifyArguments),
}

/// Runs the command; what it prints goes to standard output.
///
/// # Errors
/// A sentence for the user.
pub fn run(command: &LogCommand) -> Result<(), Sentence> {
    let mut out = BufWriter::new(io::stdout().lock());
    let outcome = match command {
        LogCommand::Stat(arguments) => stat::run(arguments, &mut out),
        LogCommand::Dump(arguments) => dump::run(arguments, &mut out),
        LogCommand::Graph(arguments) => graph::run(arguments, &mut out),
        LogCommand::Verify(arguments) => verify::run(arguments, &mut out),
    };
    let outcome = outcome.and_then(|()| out.flush().map_err(Failure::from));
    match outcome {
        Ok(()) => Ok(()),
        // `hyades log dump | head` is no failure.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(Failure::Output(error)) => Err(format!("could not print: {error}")),
        Err(Failure::Sentence(sentence)) => Err(sentence),
    }
}

//! `hyades log`: what stands in the logs of a database.
//!
//! [`stat`] counts, [`dump`] prints records one by one, [`graph`] tells how parallel a replay could be,
//! [`verify`] recovers in memory. All only look ([`hyades_engine::inspect`]): no file is written, no lock is
//! taken, and a directory that a server has open may be looked at too. The last incarnation is then a moving
//! target, and every output says so.

pub mod dump;
pub mod graph;
pub mod stat;
pub mod verify;

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use hyades_engine::inspect::Inspection;
use hyades_engine::log::manifest::Incarnation;

use crate::serve::Sentence;

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

/// What all of them take.
#[derive(Args)]
pub struct Common {
    /// Data directory.
    #[arg(long, default_value = "./data")]
    data: PathBuf,
    /// Number of the incarnation to look at [default: the last one].
    #[arg(long)]
    incarnation: Option<u64>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Common {
    fn open(&self) -> Result<Inspection, Sentence> {
        Inspection::open(&self.data).map_err(|error| error.to_string())
    }

    /// The chosen incarnation, which must have logs.
    fn incarnation<'i>(&self, inspection: &'i Inspection) -> Result<&'i Incarnation, Sentence> {
        inspection.incarnation(self.incarnation).map_err(|error| error.to_string())
    }
}

/// Why the last incarnation's figures are not final, if they are not.
fn warning(inspection: &Inspection, incarnation: &Incarnation) -> Option<&'static str> {
    if incarnation.end.is_some() {
        return None;
    }
    match inspection.is_in_use() {
        Some(true) => Some(
            "a server has this directory open: each log is shown as far as it stood when it was read, and its last records may not \
             be durable yet",
        ),
        Some(false) => Some(
            "this incarnation has not been recovered yet: which of its last transactions count is decided by the next start",
        ),
        None => Some(
            "this incarnation has not ended, or has not been recovered yet: its last records may not be durable",
        ),
    }
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

/// What ends a command.
#[derive(Debug)]
pub enum Failure {
    Output(io::Error),
    Sentence(Sentence),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Output(error)
    }
}

impl From<Sentence> for Failure {
    fn from(sentence: Sentence) -> Failure {
        Failure::Sentence(sentence)
    }
}

impl From<hyades_types::Error> for Failure {
    fn from(error: hyades_types::Error) -> Failure {
        Failure::Sentence(error.to_string())
    }
}

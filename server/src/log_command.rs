//! `hyades log`: inspects the logs of a database.
//!
//! The commands only read ([`hyades_engine::inspect`]): they write no file, take no lock, and may be used on
//! a directory that a server has open. The last incarnation is then a moving target, and every output says
//! so.
//!
//! Files:
//! * [`stat_command`]: counts; [`dump_command`]: prints records one by one;
//! * [`graph_command`]: shows how parallel a replay could be;
//! * [`verify_command`]: recovers in memory;
//! * `common`: arguments and exit codes of all of them.

mod common;
pub mod dump_command;
pub mod graph_command;
pub mod stat_command;
pub mod verify_command;

use std::io::{self, BufWriter, Write};

use clap::Subcommand;

use crate::serve::Sentence;

pub use common::{Common, Failure};

#[derive(Subcommand)]
pub enum LogCommand {
    /// Sizes, records by kind, LSN vector bytes, durable positions, incarnations.
    Stat(stat_command::StatArguments),
    /// The records themselves.
    Dump(dump_command::DumpArguments),
    /// Work, span and parallelism of the dependency graph.
    Graph(graph_command::GraphArguments),
    /// Recover in memory, and tell what a start would find.
    Verify(verify_command::VerifyArguments),
}

/// Runs the command; what it prints goes to standard output.
///
/// # Errors
/// A sentence for the user.
pub fn run(command: &LogCommand) -> Result<(), Sentence> {
    let mut out = BufWriter::new(io::stdout().lock());
    let outcome = match command {
        LogCommand::Stat(arguments) => stat_command::run(arguments, &mut out),
        LogCommand::Dump(arguments) => dump_command::run(arguments, &mut out),
        LogCommand::Graph(arguments) => graph_command::run(arguments, &mut out),
        LogCommand::Verify(arguments) => verify_command::run(arguments, &mut out),
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

//! `hyades study`: what can be learnt from a database without serving it.
//!
//! Files:
//! * [`replay_model`]: how long the replay of its logs takes, measured and simulated.

pub mod replay_model;

use std::io::{self, BufWriter, Write};

use clap::Subcommand;

use crate::log_command::Failure;
use crate::serve::Sentence;

#[derive(Subcommand)]
pub enum StudyCommand {
    /// How much faster more workers would replay the logs: simulated, and measured with as many as there are
    /// processors.
    ReplayModel(replay_model::ReplayModelArguments),
}

/// Runs the command; what it prints goes to standard output.
///
/// # Errors
/// A sentence for the user.
pub fn run(command: &StudyCommand) -> Result<(), Sentence> {
    let mut out = BufWriter::new(io::stdout().lock());
    let outcome = match command {
        StudyCommand::ReplayModel(arguments) => replay_model::run(arguments, &mut out),
    };
    match outcome.and_then(|()| out.flush().map_err(Failure::from)) {
        Ok(()) => Ok(()),
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(Failure::Output(error)) => Err(format!("could not print: {error}")),
        Err(Failure::Sentence(sentence)) => Err(sentence),
    }
}

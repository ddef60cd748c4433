//! The arguments that all commands about logs share, and how these commands end.

use std::io;
use std::path::PathBuf;

use clap::Args;
use hyades_engine::inspect::Inspection;
use hyades_engine::log::manifest::Incarnation;

use crate::serve::Sentence;

/// The arguments shared by all of them.
#[derive(Args)]
pub struct Common {
    /// Data directory.
    #[arg(long, default_value = "./data")]
    pub(super) data: PathBuf,
    /// Number of the incarnation to look at [default: the last one].
    #[arg(long)]
    incarnation: Option<u64>,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

impl Common {
    pub(super) fn open(&self) -> Result<Inspection, Sentence> {
        Inspection::open(&self.data).map_err(|error| error.to_string())
    }

    /// The chosen incarnation, which must have logs.
    pub(super) fn incarnation<'i>(&self, inspection: &'i Inspection) -> Result<&'i Incarnation, Sentence> {
        inspection.incarnation(self.incarnation).map_err(|error| error.to_string())
    }
}

/// Why the last incarnation's figures are not final, if they are not.
pub(super) fn warning(inspection: &Inspection, incarnation: &Incarnation) -> Option<&'static str> {
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

/// Why a command ends early.
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

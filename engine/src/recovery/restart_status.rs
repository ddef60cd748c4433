//! What an operator sees of a restart that goes on in the background (`on_demand`).

use hyades_types::error::Error;

/// The progress of a restart.
#[derive(Clone, Debug, Default)]
pub struct RestartStatus {
    pub is_complete: bool,
    /// Why it will never be complete.
    pub failure: Option<Error>,
    /// Since it began, or how long it took.
    pub seconds: f64,
    /// When transactions were let in; `None` before.
    pub open_seconds: Option<f64>,
    /// When the first transaction had committed that was let in before the restart was complete.
    pub first_commit_seconds: Option<f64>,
    /// The number of tables, and of those that cannot be entered yet.
    pub tables: usize,
    pub closed_tables: usize,
    /// Of the checkpoint.
    pub loaded_bytes: u64,
    pub bytes_to_load: u64,
    /// Of log records: those that the last pass over the logs reads, and those of each early pass that has
    /// begun.
    pub replayed_bytes: u64,
    pub bytes_to_replay: u64,
}

impl RestartStatus {
    /// How much of the work is done. Falls when an early pass begins, because that adds work.
    pub fn percent(&self) -> f64 {
        let done = self.loaded_bytes + self.replayed_bytes;
        let all = self.bytes_to_load + self.bytes_to_replay;
        if self.is_complete || all == 0 { 100.0 } else { 100.0 * done as f64 / all as f64 }
    }
}

//! Loads the checkpoint while the cut is still being found: one waits for the disk while the other computes.
//!
//! Nothing that is loaded is used before the cut is known: replay and new transactions come after both. If
//! the logs turn out to be damaged, what was loaded so far is given up, and the start is refused as if
//! nothing had been loaded.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hyades_types::error::{Error, Result, sqlstate};
use parking_lot::Mutex;

use crate::checkpoint::load::{Loading, Watching};
use crate::storage::table::Table;
use crate::sync::{JoinHandle, seconds_since};

/// A checkpoint that is being loaded. It is given up when this is dropped.
pub(super) struct EarlyLoad {
    thread: Option<JoinHandle>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    is_given_up: AtomicBool,
    /// The seconds that it took.
    outcome: Mutex<Option<Result<f64>>>,
}

impl Watching for Shared {
    fn is_loaded(&self, _table: &Arc<Table>) {}

    fn is_given_up(&self) -> bool {
        self.is_given_up.load(Ordering::Relaxed)
    }
}

impl EarlyLoad {
    pub(super) fn begin(loading: &Arc<Loading>, workers: usize) -> Result<EarlyLoad> {
        let shared: Arc<Shared> = Arc::default();
        let (loading, working) = (Arc::clone(loading), Arc::clone(&shared));
        let work = move || {
            let begun = crate::sync::now();
            let watching: Arc<dyn Watching> = Arc::clone(&working) as _;
            let outcome = loading.run(workers, &watching).map(|()| seconds_since(begun));
            *working.outcome.lock() = Some(outcome);
        };
        let thread = crate::sync::spawn("hyades-load".to_owned(), work)
            .map_err(|error| Error::io("could not start a thread for the checkpoint", &error))?;
        Ok(EarlyLoad { thread: Some(thread), shared })
    }

    /// Waits for its end. Returns the seconds that it took.
    ///
    /// # Errors
    /// As [`Loading::run`].
    pub(super) fn finish(mut self) -> Result<f64> {
        if let Some(thread) = self.thread.take() {
            // A panic leaves no outcome.
            drop(thread.join());
        }
        let panicked =
            || Error::fatal(sqlstate::INTERNAL_ERROR, "a thread that loads the checkpoint panicked");
        self.shared.outcome.lock().take().unwrap_or_else(|| Err(panicked()))
    }
}

impl Drop for EarlyLoad {
    fn drop(&mut self) {
        self.shared.is_given_up.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

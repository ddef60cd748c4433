//! The database's background thread for cleaning up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyades_types::error::{Error, Result};

use crate::sync::JoinHandle;
use crate::txn::{Caretaker, Rest};

/// The thread that forgets versions, purges tombstones, and frees what tables have left behind.
pub(super) struct Janitor {
    stop: Arc<AtomicBool>,
    thread: JoinHandle,
}

/// Pause of the janitor when it has nothing to do. While it finds nothing to do, each pause is twice as long
/// as the one before.
const JANITOR_PAUSE: Duration = Duration::from_millis(20);
/// The longest pause.
const JANITOR_LONGEST_PAUSE: Duration = Duration::from_secs(1);

impl Janitor {
    pub(super) fn start(mut caretaker: impl Caretaker + 'static) -> Result<Janitor> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let work = move || {
            let mut pause = JANITOR_PAUSE;
            while !stopped.load(Ordering::Acquire) {
                pause = match caretaker.tend() {
                    Rest::None => continue,
                    Rest::Short => JANITOR_PAUSE,
                    Rest::Long => (pause * 2).min(JANITOR_LONGEST_PAUSE),
                };
                crate::sync::park_timeout(pause);
            }
        };
        let thread = crate::sync::spawn("hyades-janitor".to_owned(), work)
            .map_err(|error| Error::io("cannot start the janitor thread", &error))?;
        Ok(Janitor { stop, thread })
    }

    pub(super) fn stop(self) {
        self.stop.store(true, Ordering::Release);
        self.thread.thread().unpark();
        if self.thread.join().is_err() {
            tracing::error!("the janitor thread panicked");
        }
    }
}

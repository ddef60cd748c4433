//! Does the same work on each log, on several at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hyades_types::error::{Error, Result, sqlstate};
use parking_lot::Mutex;

/// Logs that are read at the same time, even with fewer workers: each log may be on a device of its own and
/// wait for it.
const LOGS_AT_ONCE: usize = 32;

/// The result of the work for each log, in their order, or the error of the first log that has one.
pub(super) fn for_each_log<T: Send + 'static>(
    logs: usize,
    workers: usize,
    work: impl Fn(usize) -> Result<T> + Send + Sync + 'static,
) -> Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let results = Arc::new(Mutex::new((0..logs).map(|_| None).collect::<Vec<_>>()));
    let work = {
        let results = Arc::clone(&results);
        Arc::new(move || {
            loop {
                let log = next.fetch_add(1, Ordering::Relaxed);
                if log >= logs {
                    break;
                }
                let result = work(log);
                results.lock()[log] = Some(result);
            }
        })
    };
    let mut threads = Vec::new();
    for number in 1..logs.min(workers.max(LOGS_AT_ONCE)) {
        let work = Arc::clone(&work);
        let started = crate::sync::spawn(format!("hyades-logs-{number}"), move || work());
        threads.push(started.map_err(|error| Error::io("could not start a recovery thread", &error))?);
    }
    work();
    for thread in threads {
        // A panic leaves its log without a result.
        drop(thread.join());
    }
    let results = std::mem::take(&mut *results.lock());
    let panicked = || Error::fatal(sqlstate::INTERNAL_ERROR, "a recovery thread panicked");
    results.into_iter().map(|result| result.unwrap_or_else(|| Err(panicked()))).collect()
}

//! The threads of a replay.

#[cfg(all(test, not(loom)))]
mod tests;

use std::sync::Arc;

use hyades_types::error::{Error, Result, sqlstate};

/// What the workers of a replay share.
pub(super) trait Shared: Send + Sync + 'static {
    /// Ends the replay: no worker waits any more, and all end soon. The first error is the outcome.
    fn fail(&self, error: Error);
}

/// The outcome when a worker has panicked.
pub(super) fn panicked() -> Error {
    Error::fatal(sqlstate::INTERNAL_ERROR, "a replay thread panicked")
}

/// Fails the replay if its worker panics, for the others would wait for it.
struct FailOnPanic<'s, S: Shared>(&'s S);

impl<S: Shared> Drop for FailOnPanic<'_, S> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail(panicked());
        }
    }
}

/// Runs one worker here and the others in threads, until all have ended.
///
/// # Errors
/// A thread could not be started, or has panicked. The replay has failed then.
pub(super) fn run<S: Shared, W: FnOnce(&S) + Send + 'static>(
    shared: &Arc<S>,
    others: impl Iterator<Item = W>,
    own: impl FnOnce(&S),
) -> Result<()> {
    let mut threads = Vec::new();
    let mut done = Ok(());
    for (number, work) in (1..).zip(others) {
        let shared_too = Arc::clone(shared);
        let started = crate::sync::spawn(format!("hyades-replay-{number}"), move || {
            let _guard = FailOnPanic(&*shared_too);
            work(&shared_too);
        });
        match started {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                let error = Error::io("could not start a replay thread", &error);
                shared.fail(error.clone());
                done = Err(error);
                break;
            }
        }
    }
    if done.is_ok() {
        let _guard = FailOnPanic(&**shared);
        own(shared);
    }
    for thread in threads {
        done = thread.join().map_err(|_| panicked()).and(done);
    }
    done
}

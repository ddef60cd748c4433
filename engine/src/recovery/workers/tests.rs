//! Tests of the threads of a replay.

use std::sync::Arc;

use hyades_types::error::Error;

use super::{Shared, run};
use crate::sync::{Condvar, LongLock};

/// Workers that wait until the replay fails.
struct Waiting {
    error: LongLock<Option<Error>>,
    changed: Condvar,
}

impl Shared for Waiting {
    fn fail(&self, error: Error) {
        self.error.lock().get_or_insert(error);
        self.changed.notify_all();
    }
}

impl Waiting {
    fn wait(&self) {
        let mut error = self.error.lock();
        while error.is_none() {
            self.changed.wait(&mut error);
        }
    }
}

#[test]
fn a_worker_that_panics_ends_the_others() {
    let shared = Arc::new(Waiting { error: LongLock::new(None), changed: Condvar::new() });
    let others = (1..4).map(|number| {
        move |waiting: &Waiting| if number == 2 { panic!("as the test wants") } else { waiting.wait() }
    });
    let error = run(&shared, others, Waiting::wait).expect_err("a worker panicked");
    assert!(error.to_string().contains("a replay thread panicked"), "{error}");
}

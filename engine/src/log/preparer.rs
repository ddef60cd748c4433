//! The thread that prepares segments of all logs ahead of need.
//!
//! It sleeps until a logger has taken a segment. After a failure (a full disk) it tries again on its own from time to
//! time, so that commits work again soon after space has come back, without anybody's help.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::store::segment::SegmentSupply;

/// How long to wait before trying again to make a segment.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Default)]
struct State {
    has_rung: bool,
    is_stopping: bool,
}

/// See the file head.
pub(crate) struct Preparer {
    supplies: Vec<Arc<SegmentSupply>>,
    state: Mutex<State>,
    wake: Condvar,
}

impl Preparer {
    pub(crate) fn new(supplies: Vec<Arc<SegmentSupply>>) -> Preparer {
        Preparer { supplies, state: Mutex::new(State::default()), wake: Condvar::new() }
    }

    /// A segment has been taken, or somebody needs one.
    pub(crate) fn ring(&self) {
        self.state.lock().has_rung = true;
        self.wake.notify_one();
    }

    pub(crate) fn stop(&self) {
        self.state.lock().is_stopping = true;
        self.wake.notify_one();
    }

    pub(crate) fn run(&self) {
        loop {
            for supply in &self.supplies {
                while !self.state.lock().is_stopping && supply.prepare() {}
            }
            let has_failed = self.supplies.iter().any(|supply| supply.failure().is_some());
            let mut state = self.state.lock();
            if has_failed && !state.is_stopping {
                // Ringing does not hurry this: a full disk must not make a busy loop.
                state.has_rung = false;
                self.wake.wait_for(&mut state, RETRY_INTERVAL);
            }
            while !has_failed && !state.has_rung && !state.is_stopping {
                self.wake.wait(&mut state);
            }
            state.has_rung = false;
            if state.is_stopping {
                return;
            }
        }
    }
}

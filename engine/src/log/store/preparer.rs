//! The thread that prepares segments of all logs ahead of need.
//!
//! It sleeps until a logger has begun a segment, then writes pieces of the next one at their pace, for all
//! logs in turn. After a failure (a full disk) it tries again on its own from time to time, so that commits
//! work again soon after space has become available, without intervention.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::segment::{Prepared, SegmentSupply};
use crate::sync::{Condvar, now};

/// How long to wait before trying again to make a segment.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Default)]
struct State {
    has_rung: bool,
    is_stopping: bool,
}

/// See the module documentation.
pub(crate) struct Preparer {
    supplies: Vec<Arc<SegmentSupply>>,
    state: Mutex<State>,
    wake: Condvar,
}

impl Preparer {
    pub(crate) fn new(supplies: Vec<Arc<SegmentSupply>>) -> Preparer {
        Preparer { supplies, state: Mutex::new(State::default()), wake: Condvar::new() }
    }

    /// A segment has been begun, or one is needed.
    pub(crate) fn ring(&self) {
        self.state.lock().has_rung = true;
        self.wake.notify_one();
    }

    pub(crate) fn stop(&self) {
        self.state.lock().is_stopping = true;
        self.wake.notify_one();
    }

    pub(crate) fn run(&self) {
        while !self.state.lock().is_stopping {
            let prepared: Vec<Prepared> = self.supplies.iter().map(|supply| supply.prepare()).collect();
            if prepared.contains(&Prepared::Piece) {
                continue;
            }
            let due = prepared.iter().filter_map(|prepared| match prepared {
                Prepared::Later(pause) => Some(*pause),
                Prepared::Failed => Some(RETRY_INTERVAL),
                Prepared::Enough | Prepared::Piece => None,
            });
            self.pause(due.min());
        }
    }

    /// Sleeps for this time, or, if there is none, until [`Preparer::ring`]. Ringing does not shorten a time,
    /// because a full disk must not make a busy loop.
    fn pause(&self, pause: Option<Duration>) {
        let mut state = self.state.lock();
        match pause {
            Some(pause) => {
                let until = now() + pause;
                while !state.is_stopping && self.wake.wait_until(&mut state, until) {}
            }
            None => {
                while !state.has_rung && !state.is_stopping {
                    self.wake.wait(&mut state);
                }
            }
        }
        state.has_rung = false;
    }
}

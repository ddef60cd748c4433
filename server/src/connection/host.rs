//! The worker as the host of a session that computes (`hyades::types::guest`).
//!
//! A statement starts in place on its worker. If it takes longer than a quantum, the worker moves to another
//! thread, with its queue and the sockets that it may have to poll. The statement continues where it is, on
//! what is then a thread of its own.
//!
//! `block_in_place` gives a worker away for the time of a closure, and takes it back if no thread has picked
//! it up by then. So the closure waits until another thread works, by spawning a task. If another worker ran
//! that task, this one may stay here: then that worker polls the sockets, and the next call, soon, tries
//! again. Decision: docs/decisions/2026-11-22-guests.md.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hyades::session::Controller;
use hyades::types::guest;
use tokio::runtime::Handle;

use crate::registry::Control;

/// A statement that takes no longer than this is completed for a client that has left. More than a quantum: a
/// busy machine may keep a thread waiting as long.
const SHORT: Duration = Duration::from_millis(30);

/// How long another thread may take to start before the statement goes on.
const PATIENCE: Duration = Duration::from_micros(200);

#[derive(Clone)]
pub(super) struct WorkerHost {
    pub(super) control: Arc<Control>,
}

impl guest::Host for WorkerHost {
    fn overstayed(&mut self, time: Duration) {
        if time >= SHORT && self.control.is_gone() {
            // What it has done must still be taken back.
            self.control.end_computing();
        }
        hand_over_worker();
    }
}

/// Requests of other sessions to this one.
impl Controller for WorkerHost {
    fn stop(&self, stop: guest::Stop) {
        match stop {
            guest::Stop::Cancel => self.control.cancel(),
            guest::Stop::TimedOut => self.control.time_out(),
            guest::Stop::End => self.control.terminate(),
        }
    }

    fn wake(&self) {
        self.control.wake.notify_one();
    }
}

fn hand_over_worker() {
    // A session may be dropped after its runtime is gone.
    let Ok(runtime) = Handle::try_current() else { return };
    let somebody_works = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&somebody_works);
    runtime.spawn(async move { flag.store(true, Ordering::Release) });
    tokio::task::block_in_place(|| {
        let end = Instant::now() + PATIENCE;
        while !somebody_works.load(Ordering::Acquire) && Instant::now() < end {
            std::thread::yield_now();
        }
    });
}

#[cfg(test)]
mod tests {
    use hyades::types::guest::Host;

    use super::*;
    use crate::registry::Registry;

    /// The session of a client that has left may have much to take back.
    #[test]
    fn the_worker_of_a_client_that_has_left_goes_to_others_too() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let registry = Arc::new(Registry::new(1, 0));
        let registration = registry.register(false).unwrap();
        registry.mark_gone(registration.control().process_id);
        let mut host = WorkerHost { control: Arc::clone(registration.control()) };
        let is_served = runtime.block_on(runtime.spawn(async move {
            let served = Arc::new(AtomicBool::new(false));
            let flag = Arc::clone(&served);
            tokio::spawn(async move { flag.store(true, Ordering::Release) });
            let end = Instant::now() + Duration::from_secs(10);
            while !served.load(Ordering::Acquire) && Instant::now() < end {
                host.overstayed(guest::QUANTUM);
            }
            served.load(Ordering::Acquire)
        }));
        assert!(is_served.unwrap());
    }

    #[test]
    fn a_session_outside_of_a_runtime_has_nothing_to_hand_over() {
        let registry = Arc::new(Registry::new(1, 0));
        let registration = registry.register(false).unwrap();
        WorkerHost { control: Arc::clone(registration.control()) }.overstayed(guest::QUANTUM);
    }
}

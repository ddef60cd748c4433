//! The interface to a simulation: it decides which thread runs, what time it is, and what chance brings.
//!
//! A [`Conductor`] lets one of its threads run at a time. The others stay where they wait (`sync`: parked,
//! asleep, joining) or where they yielded. So a run is determined by the conductor's choices alone, and the
//! same choices give the same run. A thread belongs to a conductor from `enter` on, and so do the threads
//! that the engine starts from it. Nothing else in the engine knows about conductors.
//!
//! Without the feature `simulation` there is no conductor, and [`of_this_thread`] is the constant `None`.
//!
//! Reference: deterministic simulation as in FoundationDB (Zhou et al., SIGMOD 2021), with threads in place
//! of its actors.

use std::time::Duration;

/// Decides which thread runs, what time it is, and what chance brings. Threads are numbers.
pub trait Conductor: Send + Sync {
    /// Starts a new thread. The calling one goes on.
    fn spawn(&self, name: String, run: Box<dyn FnOnce() + Send>) -> u64;
    /// The calling thread.
    fn current(&self) -> u64;
    /// Waits until this thread has ended. False if it panicked.
    fn join(&self, thread: u64) -> bool;
    /// As `std::thread::park_timeout`.
    fn park(&self, limit: Option<Duration>);
    fn unpark(&self, thread: u64);
    /// Lets other threads run.
    fn give_way(&self);
    /// The monotonic clock.
    fn elapsed(&self) -> Duration;
    /// The wall clock.
    fn microseconds_since_1970(&self) -> u64;
    fn random(&self) -> u64;
}

#[cfg(feature = "simulation")]
mod entered {
    use std::cell::RefCell;
    use std::sync::Arc;

    use super::Conductor;

    thread_local! {
        static CONDUCTOR: RefCell<Option<Arc<dyn Conductor>>> = const { RefCell::new(None) };
    }

    /// From now on the calling thread belongs to this conductor, or to none.
    pub fn enter(conductor: Option<Arc<dyn Conductor>>) {
        CONDUCTOR.with(|entered| *entered.borrow_mut() = conductor);
    }

    /// The conductor of the calling thread.
    pub fn of_this_thread() -> Option<Arc<dyn Conductor>> {
        CONDUCTOR.try_with(|entered| entered.borrow().clone()).ok().flatten()
    }
}

#[cfg(feature = "simulation")]
pub use entered::{enter, of_this_thread};

/// The conductor of the calling thread: there is none in this build.
#[cfg(not(feature = "simulation"))]
#[inline(always)]
pub fn of_this_thread() -> Option<std::sync::Arc<dyn Conductor>> {
    None
}

//! Threads of the tests themselves: real ones, or those of the caller's scheduler.

use std::sync::Arc;
use std::time::Duration;

use hyades_engine::conductor::{self, Conductor};
use parking_lot::Mutex;

/// A thread with a result.
pub enum Handle<T> {
    Real(std::thread::JoinHandle<T>),
    Conducted(Arc<dyn Conductor>, u64, Arc<Mutex<Option<T>>>),
}

/// Starts a thread.
pub fn spawn<T: Send + 'static>(name: &str, run: impl FnOnce() -> T + Send + 'static) -> Handle<T> {
    match conductor::of_this_thread() {
        None => Handle::Real(std::thread::spawn(run)),
        Some(conductor) => {
            let result = Arc::new(Mutex::new(None));
            let into = Arc::clone(&result);
            let run = move || {
                let value = run();
                *into.lock() = Some(value);
            };
            let thread = conductor.spawn(name.to_owned(), Box::new(run));
            Handle::Conducted(conductor, thread, result)
        }
    }
}

impl<T> Handle<T> {
    /// Waits for its result. `None` if it has panicked.
    pub fn join(self) -> Option<T> {
        match self {
            Handle::Real(thread) => thread.join().ok(),
            Handle::Conducted(conductor, thread, result) => {
                conductor.join(thread);
                result.lock().take()
            }
        }
    }
}

/// Lets time pass.
pub fn sleep(time: Duration) {
    match conductor::of_this_thread() {
        None => std::thread::sleep(time),
        Some(conductor) => {
            let until = conductor.elapsed() + time;
            while conductor.elapsed() < until {
                conductor.park(Some(until - conductor.elapsed()));
            }
        }
    }
}

/// Lets other threads run.
pub fn give_way() {
    match conductor::of_this_thread() {
        None => std::thread::yield_now(),
        Some(conductor) => conductor.give_way(),
    }
}

/// A number for the simulation's choices. `None` outside a simulation.
pub fn random() -> Option<u64> {
    conductor::of_this_thread().map(|conductor| conductor.random())
}

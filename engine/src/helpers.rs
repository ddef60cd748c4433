//! Threads that work ahead for sessions.
//!
//! A session that has much to compute before it can change rows (COPY reads texts) offers parts of that work
//! as tasks. There are few helpers, shared by all sessions of a database, and none before the first task is
//! offered. A session never waits for one: what no helper has done when it is needed, the session does
//! itself. So neither a machine without a free processor nor a helper that is slow or has panicked can hold
//! a session up, and nothing has to be cancelled: a task whose result is no longer wanted is expected to
//! notice that and to end.
//!
//! Tasks wait in one queue, in the order in which they were offered. A task is short, a few milliseconds at
//! most, so that a session that offers many leaves room for the others.

#[cfg(all(test, not(loom)))]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;

use hyades_types::memory;
use parking_lot::Mutex;

use crate::sync::{Condvar, JoinHandle, spawn};

/// Tasks beyond these are not taken. Most of those that wait have been done by their sessions already.
const MOST_WAITING: usize = 1024;

/// Something that a helper can do for a session.
pub trait Task: Send + Sync {
    fn run(&self);
}

#[derive(Default)]
struct State {
    tasks: VecDeque<Arc<dyn Task>>,
    /// How many helpers wait for a task.
    idle: usize,
    /// How many have been started and have not ended.
    running: usize,
    is_over: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    has_tasks: Condvar,
}

/// The helpers of a database. They end when this is dropped; tasks that have not begun are forgotten.
pub struct Helpers {
    shared: Arc<Shared>,
    most: usize,
    is_at_once: bool,
    threads: Mutex<Vec<JoinHandle>>,
}

impl Helpers {
    /// Up to this many threads.
    pub fn new(most: usize) -> Helpers {
        Helpers { shared: Arc::default(), most, is_at_once: false, threads: Mutex::default() }
    }

    /// Helpers without threads, for tests: each task is run when it is offered.
    pub fn at_once(most: usize) -> Helpers {
        let mut helpers = Helpers::new(most);
        helpers.is_at_once = true;
        helpers
    }

    /// One less than this machine has processors: the session that is helped takes the other.
    pub fn for_this_machine() -> Helpers {
        Helpers::new(std::thread::available_parallelism().map_or(1, usize::from) - 1)
    }

    /// How many threads there are at most.
    pub fn most(&self) -> usize {
        self.most
    }

    /// Offers a task. It may never be run.
    pub fn offer(&self, task: Arc<dyn Task>) {
        if self.is_at_once {
            return task.run();
        }
        let number = {
            let mut state = self.shared.state.lock();
            if state.tasks.len() >= MOST_WAITING {
                return;
            }
            state.tasks.push_back(task);
            if state.idle >= state.tasks.len() || state.running >= self.most {
                self.shared.has_tasks.notify_one();
                return;
            }
            state.running += 1;
            state.running
        };
        let shared = Arc::clone(&self.shared);
        match spawn(format!("hyades-helper-{number}"), move || shared.work()) {
            Ok(thread) => self.threads.lock().push(thread),
            Err(error) => {
                tracing::warn!(%error, "there is no thread for a helper");
                self.shared.state.lock().running -= 1;
            }
        }
    }
}

impl Drop for Helpers {
    fn drop(&mut self) {
        {
            let mut state = self.shared.state.lock();
            state.is_over = true;
            state.tasks.clear();
        }
        self.shared.has_tasks.notify_all();
        for thread in self.threads.get_mut().drain(..) {
            // The session of a task that has panicked meets the same panic when it does the task itself.
            drop(thread.join());
        }
    }
}

/// One helper less when it ends, also by a panic.
struct Leaves<'s>(&'s Shared);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        memory::tell_total();
        self.0.state.lock().running -= 1;
    }
}

impl Shared {
    /// The life of a helper.
    fn work(&self) {
        let _leaves = Leaves(self);
        while let Some(task) = self.next() {
            task.run();
        }
    }

    /// The next task, or `None` at the end.
    fn next(&self) -> Option<Arc<dyn Task>> {
        let mut state = self.state.lock();
        state.idle += 1;
        while !state.is_over && state.tasks.is_empty() {
            self.has_tasks.wait(&mut state);
        }
        state.idle -= 1;
        state.tasks.pop_front()
    }
}

//! Helpers do what they are offered, and no failure of one is felt by others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use parking_lot::Mutex;

use super::{Helpers, Task};

const PATIENCE: Duration = Duration::from_secs(30);

/// Says that it has begun, and ends when it is let go.
struct Held {
    begun: Mutex<Sender<usize>>,
    let_go: Mutex<Receiver<()>>,
    number: usize,
}

impl Task for Held {
    fn run(&self) {
        self.begun.lock().send(self.number).expect("the test waits for it");
        let _ = self.let_go.lock().recv();
    }
}

struct Panics;

impl Task for Panics {
    fn run(&self) {
        panic!("a task that fails, as the test wants it");
    }
}

struct Counts(Sender<()>, Arc<AtomicUsize>);

impl Task for Counts {
    fn run(&self) {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.send(()).expect("the test waits for it");
    }
}

#[test]
fn there_are_no_more_helpers_than_allowed_and_tasks_keep_their_order() {
    let helpers = Helpers::new(2);
    let (begun, begins) = channel();
    let ends: Vec<Sender<()>> = (0..3)
        .map(|number| {
            let (end, let_go) = channel();
            let (begun, let_go) = (Mutex::new(begun.clone()), Mutex::new(let_go));
            helpers.offer(Arc::new(Held { begun, let_go, number }));
            end
        })
        .collect();
    let mut first = [begins.recv_timeout(PATIENCE).unwrap(), begins.recv_timeout(PATIENCE).unwrap()];
    first.sort_unstable();
    assert_eq!(first, [0, 1]);
    assert_eq!(helpers.shared.state.lock().running, 2);
    assert_eq!(helpers.shared.state.lock().tasks.len(), 1);
    ends[1].send(()).unwrap();
    assert_eq!(begins.recv_timeout(PATIENCE).unwrap(), 2);
}

#[test]
fn a_helper_that_has_panicked_is_replaced() {
    let helpers = Helpers::new(1);
    helpers.offer(Arc::new(Panics));
    while helpers.shared.state.lock().running > 0 {
        std::thread::yield_now();
    }
    let (done, is_done) = channel();
    let count = Arc::new(AtomicUsize::new(0));
    helpers.offer(Arc::new(Counts(done, Arc::clone(&count))));
    is_done.recv_timeout(PATIENCE).unwrap();
    assert_eq!(count.load(Ordering::Relaxed), 1);
}

#[test]
fn helpers_end_with_their_database() {
    let helpers = Helpers::new(3);
    let (done, is_done) = channel();
    let count = Arc::new(AtomicUsize::new(0));
    for _ in 0..20 {
        helpers.offer(Arc::new(Counts(done.clone(), Arc::clone(&count))));
        is_done.recv_timeout(PATIENCE).unwrap();
    }
    let shared = Arc::clone(&helpers.shared);
    drop(helpers);
    assert_eq!(shared.state.lock().running, 0);
    assert_eq!(count.load(Ordering::Relaxed), 20);
}

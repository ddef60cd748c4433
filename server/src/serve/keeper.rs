//! Keeps sockets polled whatever workers do.
//!
//! In tokio the worker that ran out of work first polls the sockets of all; when they bring it work it
//! computes, and the others that sleep do not take its place until somebody wakes them. Statements hand their
//! worker over when they take long (`connection::host`). This is for what takes long without knowing it: a
//! worker that has neither slept nor been replaced since the last look is taken to be stuck, and another is
//! woken, which goes back to sleep on the sockets.
//!
//! Runs on the listening thread, which computes nothing.

use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::{MissedTickBehavior, interval};

const INTERVAL: Duration = Duration::from_millis(10);

pub(super) async fn keep_polled(workers: Handle) {
    let mut ticks = interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let metrics = workers.metrics();
    let mut before = vec![0; metrics.num_workers()];
    loop {
        ticks.tick().await;
        let mut is_stuck = false;
        for (worker, before) in before.iter_mut().enumerate() {
            // Odd while it sleeps.
            let count = metrics.worker_park_unpark_count(worker);
            is_stuck |= count.is_multiple_of(2) && count == *before;
            *before = count;
        }
        if is_stuck {
            drop(workers.spawn(async {}));
        }
    }
}

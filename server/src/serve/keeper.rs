//! Keeps sockets polled whatever the workers do.
//!
//! In tokio the worker that first runs out of work polls the sockets for all of them. When they bring it work
//! it computes, and the workers that sleep do not take over the polling until something wakes them.
//! Statements that take long hand their worker over (`connection::host`). This module covers work that takes
//! long without knowing it: a worker that has neither slept nor been replaced since the last look is taken to
//! be stuck, and another one is woken, which goes back to sleep on the sockets.
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

//! The threads on which sessions run.
//!
//! A *crew* is a runtime of tokio: a few workers and the sockets that they poll. Normally there is one crew,
//! with as many workers as `--workers` says. Statements that take long hand their worker over
//! (`connection::host`). This module deals with statements that do not notice how long they take, so
//! that other sessions run even then:
//!
//! * **A worker that computes polls no sockets.** In tokio the worker that first runs out of work polls them
//!   for all workers. When they bring it work it computes, and the workers that sleep do not take over the
//!   polling until something wakes them. A worker that has neither slept nor been replaced since the last
//!   look is taken to be stuck, and another one is woken, which goes back to sleep on the sockets.
//! * **All workers of a crew may be stuck.** Each connection is offered to the first crew, then to the
//!   others if there are any. If no worker has taken it in time, a new crew of one worker gets it. So an
//!   operator can always connect, look around, and end the sessions at fault. The sessions that a stuck crew
//!   has already stay with it, because their sockets do.
//!
//! Everything here runs on the listening thread, which computes nothing.
//!
//! Invariant: a connection is taken by one crew at most.
//!
//! Decision: docs/decisions/2026-11-27-relief-crews.md.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Notify;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

/// How often workers are looked at.
const INTERVAL: Duration = Duration::from_millis(10);
/// How long a crew has to take a connection. Long enough for a crew that has much to do, but does it.
const PATIENCE: Duration = Duration::from_millis(200);
/// A crew that was late is offered nothing for this long.
const SHUNNED: Duration = Duration::from_secs(1);

/// All crews. See the module head.
pub(super) struct Workers {
    crews: Mutex<Vec<Crew>>,
    /// As many as there may be connections: more cannot be stuck.
    most_crews: usize,
    /// Makes the runtime of another crew, with this many workers.
    make: Box<dyn Fn(usize) -> std::io::Result<Runtime> + Send + Sync>,
}

struct Crew {
    runtime: Runtime,
    /// When it last failed to take a connection in time.
    late: Option<Instant>,
}

/// A task for the first worker that comes.
struct Offer<W> {
    work: Arc<Mutex<Option<W>>>,
    taken: Arc<Notify>,
}

impl<W, F> Offer<W>
where
    W: FnOnce() -> F + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    fn new(work: W) -> Offer<W> {
        Offer { work: Arc::new(Mutex::new(Some(work))), taken: Arc::default() }
    }

    /// Offers it to these crews, too.
    fn make_to<'c>(&self, crews: impl IntoIterator<Item = &'c Handle>) {
        for crew in crews {
            let (work, taken) = (Arc::clone(&self.work), Arc::clone(&self.taken));
            crew.spawn(async move {
                let work = work.lock().take();
                if let Some(work) = work {
                    taken.notify_one();
                    work().await;
                }
            });
        }
    }

    /// Whether a worker takes it in time.
    async fn is_taken(&self) -> bool {
        timeout(PATIENCE, self.taken.notified()).await.is_ok()
    }
}

impl Workers {
    /// One crew with this many workers. Further ones are made when needed.
    pub(super) fn start(workers: usize, connections: usize, spare: usize) -> std::io::Result<Workers> {
        // Each connection may run a statement that computes for long, on a thread of its own.
        let threads = workers + connections + spare;
        let make = move |workers| {
            let mut builder = Builder::new_multi_thread();
            builder.on_thread_stop(hyades::types::memory::tell_total);
            builder.worker_threads(workers).max_blocking_threads(threads).thread_name("hyades-worker");
            builder.enable_all().build()
        };
        let crews = Mutex::new(vec![Crew { runtime: make(workers)?, late: None }]);
        Ok(Workers { crews, most_crews: connections.max(1), make: Box::new(make) })
    }

    /// Lets a worker do this, of a new crew if no worker comes in time.
    pub(super) async fn run<W, F>(&self, work: W)
    where
        W: FnOnce() -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let offer = Offer::new(work);
        let (first, others): (Vec<_>, Vec<_>) =
            self.on_time().into_iter().partition(|(number, _)| *number == 0);
        for crews in [first, others].into_iter().filter(|crews| !crews.is_empty()) {
            offer.make_to(crews.iter().map(|(_, crew)| crew));
            if offer.is_taken().await {
                return;
            }
            self.note_late(crews.iter().map(|(number, _)| *number));
        }
        match self.relief() {
            Some(crew) => offer.make_to([&crew]),
            // It stays offered to those that were late.
            None => offer.make_to(&self.all()),
        }
    }

    /// The crews that have not been late recently.
    fn on_time(&self) -> Vec<(usize, Handle)> {
        let crews = self.crews.lock();
        let is_on_time = |crew: &Crew| crew.late.is_none_or(|late| late.elapsed() >= SHUNNED);
        let on_time = crews.iter().enumerate().filter(|(_, crew)| is_on_time(crew));
        on_time.map(|(number, crew)| (number, crew.runtime.handle().clone())).collect()
    }

    fn all(&self) -> Vec<Handle> {
        self.crews.lock().iter().map(|crew| crew.runtime.handle().clone()).collect()
    }

    fn note_late(&self, numbers: impl Iterator<Item = usize>) {
        let mut crews = self.crews.lock();
        for number in numbers {
            if let Some(crew) = crews.get_mut(number) {
                crew.late = Some(Instant::now());
            }
        }
    }

    /// A new crew of one worker, if there may be one more.
    fn relief(&self) -> Option<Handle> {
        let mut crews = self.crews.lock();
        if crews.len() >= self.most_crews {
            return None;
        }
        let made = (self.make)(1);
        let runtime = made.inspect_err(|error| tracing::warn!(%error, "no more threads")).ok()?;
        tracing::warn!(
            crews = crews.len(),
            "no worker has taken a new connection in time: it gets a worker of its own"
        );
        let handle = runtime.handle().clone();
        crews.push(Crew { runtime, late: None });
        Some(handle)
    }

    /// Keeps the sockets of all crews polled.
    pub(super) async fn keep_polled(self: Arc<Workers>) {
        let mut ticks = interval(INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut before: Vec<Vec<u64>> = Vec::new();
        loop {
            ticks.tick().await;
            let crews = self.all();
            before.resize_with(crews.len(), Vec::new);
            for (crew, before) in crews.iter().zip(&mut before) {
                if is_stuck(crew, before) {
                    drop(crew.spawn(async {}));
                }
            }
        }
    }

    /// Ends all workers without waiting for them.
    pub(super) fn shut_down(&self) {
        for crew in self.crews.lock().drain(..) {
            crew.runtime.shutdown_background();
        }
    }
}

/// Whether a worker of the crew has neither slept nor been replaced since these counts were noted.
fn is_stuck(crew: &Handle, before: &mut Vec<u64>) -> bool {
    let metrics = crew.metrics();
    before.resize(metrics.num_workers(), 0);
    let mut is_stuck = false;
    for (worker, before) in before.iter_mut().enumerate() {
        // Odd while it sleeps.
        let count = metrics.worker_park_unpark_count(worker);
        is_stuck |= count.is_multiple_of(2) && count == *before;
        *before = count;
    }
    is_stuck
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use tokio::sync::oneshot;

    use super::*;

    /// Runs `body` on a listening thread beside workers of which `stuck` do not come back before they are
    /// released.
    fn beside<F: Future<Output = ()>>(
        (workers, connections, stuck): (usize, usize, usize),
        body: impl FnOnce(Arc<Workers>, Arc<AtomicBool>) -> F,
    ) {
        let released = Arc::new(AtomicBool::new(false));
        let listening = Builder::new_current_thread().enable_all().build().unwrap();
        let crews = Arc::new(Workers::start(workers, connections, 4).unwrap());
        listening.block_on(async {
            for _ in 0..stuck {
                let (began, begins) = oneshot::channel();
                let released = Arc::clone(&released);
                let spin = move || async move {
                    began.send(()).unwrap();
                    while !released.load(Ordering::Relaxed) {
                        std::thread::yield_now();
                    }
                };
                crews.run(spin).await;
                begins.await.unwrap();
            }
            body(Arc::clone(&crews), Arc::clone(&released)).await;
        });
        released.store(true, Ordering::Relaxed);
        crews.shut_down();
    }

    #[test]
    fn a_connection_is_served_whatever_all_workers_do() {
        for stuck in [0, 1, 2, 5] {
            beside((2, 100, stuck), |workers, _| async move {
                let (done, waits) = oneshot::channel();
                workers.run(|| async { done.send(()).unwrap() }).await;
                waits.await.unwrap();
                let crews = workers.all().len();
                assert!(crews <= 1 + stuck, "{crews} crews beside {stuck} stuck workers");
            });
        }
    }

    #[test]
    fn connections_not_taken_stay_offered() {
        beside((1, 1, 1), |workers, released| async move {
            let (done, waits) = oneshot::channel();
            workers.run(|| async { done.send(()).unwrap() }).await;
            assert_eq!(workers.all().len(), 1);
            released.store(true, Ordering::Relaxed);
            waits.await.unwrap();
        });
    }
}

//! Tickets: waiting made explicit.
//!
//! The engine starts no runtime and blocks no thread on another transaction. An operation that must wait
//! returns a [`Ticket`]. The caller either blocks on it ([`Ticket::wait`], an embedded call) or awaits it (it
//! is a `Future`, a connection task of the server), and then continues. A ticket fires once. Dropping it
//! forgets the wait but does not cancel the request: cancelling is up to the issuer of the ticket.
//!
//! A thread that blocks polls for [`SPIN`] before it parks
//! (docs/decisions/2026-11-22-spin-before-parking.md).

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::sync::threads::{Condvar, LongLock, Thread, current, others_run, park, spawn};

/// The approximate cost of parking and being woken. Most locks of procedures are released sooner.
const SPIN: Duration = Duration::from_micros(20);
/// Polls between two readings of the clock.
const LOOKS_PER_TURN: u32 = 8;

#[derive(Default)]
struct State {
    fired: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

/// The waiting side.
#[derive(Clone)]
pub struct Ticket(Arc<State>);

/// The firing side. Dropping it fires too, so that no thread waits for something that can no longer happen.
pub struct Signal(Arc<State>);

/// A new pair. The ticket is not ready.
pub fn ticket() -> (Ticket, Signal) {
    let state = Arc::new(State::default());
    (Ticket(Arc::clone(&state)), Signal(state))
}

/// Tickets that fire at a time, the next one at the top, and the thread that fires them.
#[derive(Default)]
struct Alarms {
    waiting: BinaryHeap<Alarm>,
    is_running: bool,
}

struct Alarm {
    at: Instant,
    _signal: Signal,
}

impl PartialEq for Alarm {
    fn eq(&self, other: &Alarm) -> bool {
        self.at == other.at
    }
}

impl Eq for Alarm {}

impl PartialOrd for Alarm {
    fn partial_cmp(&self, other: &Alarm) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Alarm {
    /// The earlier one is the greater one.
    fn cmp(&self, other: &Alarm) -> Ordering {
        other.at.cmp(&self.at)
    }
}

static ALARMS: LazyLock<(LongLock<Alarms>, Condvar)> = LazyLock::new(Default::default);

/// A ticket that fires after this time. It fires at once if no thread can be started.
pub fn after(delay: Duration) -> Ticket {
    let (ticket, signal) = ticket();
    let (alarms, is_new) = &*ALARMS;
    let mut alarms = alarms.lock();
    alarms.waiting.push(Alarm { at: Instant::now() + delay, _signal: signal });
    if !alarms.is_running {
        match spawn("hyades-alarms".to_owned(), ring_alarms) {
            Ok(_) => alarms.is_running = true,
            Err(error) => {
                tracing::warn!(%error, "there is no thread for timers");
                alarms.waiting.clear();
            }
        }
    }
    is_new.notify_one();
    ticket
}

/// Fires tickets in their time, until there is none.
fn ring_alarms() {
    let (alarms, is_new) = &*ALARMS;
    let mut alarms = alarms.lock();
    while let Some(next) = alarms.waiting.peek().map(|alarm| alarm.at) {
        if next <= Instant::now() {
            drop(alarms.waiting.pop());
        } else {
            is_new.wait_until(&mut alarms, next);
        }
    }
    alarms.is_running = false;
}

impl Ticket {
    pub fn is_ready(&self) -> bool {
        self.0.fired.load(Acquire)
    }

    /// Blocks the calling thread until the ticket fires.
    pub fn wait(self) {
        if !self.fires_soon() {
            block_on(self);
        }
    }

    /// Polls for [`SPIN`] whether the ticket fires.
    fn fires_soon(&self) -> bool {
        if !others_run() {
            return self.is_ready();
        }
        let end = Instant::now() + SPIN;
        loop {
            for _ in 0..LOOKS_PER_TURN {
                if self.is_ready() {
                    return true;
                }
                std::hint::spin_loop();
            }
            if Instant::now() >= end {
                return false;
            }
        }
    }
}

impl Future for Ticket {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.is_ready() {
            return Poll::Ready(());
        }
        *self.0.waker.lock() = Some(context.waker().clone());
        // The signal may have fired between the first check and the waker's arrival.
        if self.is_ready() { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Signal {
    /// Fires the ticket and wakes its waiter.
    pub fn fire(self) {
        drop(self);
    }
}

impl Drop for Signal {
    fn drop(&mut self) {
        self.0.fired.store(true, Release);
        if let Some(waker) = self.0.waker.lock().take() {
            waker.wake();
        }
    }
}

/// Drives one future on the calling thread, parked while it waits: the blocking interface for embedded
/// callers.
pub fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(current())));
    let mut context = Context::from_waker(&waker);
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => park(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_waiting_thread_is_released_by_the_signal() {
        let (ticket, signal) = ticket();
        assert!(!ticket.is_ready());
        let waiter = std::thread::spawn({
            let ticket = ticket.clone();
            move || ticket.wait()
        });
        signal.fire();
        waiter.join().expect("the waiter returns");
        assert!(ticket.is_ready());
    }

    #[test]
    fn a_thread_that_has_parked_is_woken() {
        let (ticket, signal) = ticket();
        let waiter = std::thread::spawn({
            let ticket = ticket.clone();
            move || ticket.wait()
        });
        // It stores its waker once it has stopped polling.
        while ticket.0.waker.lock().is_none() {
            std::thread::yield_now();
        }
        signal.fire();
        waiter.join().expect("the waiter returns");
    }

    #[test]
    fn tickets_fire_in_their_time() {
        let begun = Instant::now();
        let (late, early) = (after(Duration::from_millis(40)), after(Duration::from_millis(10)));
        early.wait();
        assert!(begun.elapsed() >= Duration::from_millis(10));
        late.wait();
        assert!(begun.elapsed() >= Duration::from_millis(40));
    }

    #[test]
    fn a_dropped_signal_releases_its_waiter() {
        let (ticket, signal) = ticket();
        drop(signal);
        ticket.wait();
    }
}

//! Durable positions and the answers that wait for them.
//!
//! Workers never block on a sync: a transaction releases its locks when it is precommitted, and its answer
//! goes out when every log is durable up to the entries of its LSN vector. [`DurableWatch`] holds those
//! positions (paper: PLV) and the waiters. [`Durability`] is what an answer carries.
//!
//! A protocol whose records have *stamps* (`protocol::FieldReader`) has one more position: the stamp up to
//! which all logs are complete. An answer that waits for a stamp waits for that alone.
//!
//! There is one heap of waiters for each log, ordered by the position they need there. A waiter is only
//! in the heap of the first log that does not cover it: an advance touches only the waiters that it releases
//! (or moves to the next log they need). A logger whose heap is empty pays one fence and one load.
//!
//! Invariants:
//! 1. A position only grows, and only after everything below it is durable (pitfall 9).
//! 2. No wake-up is lost: the waiter enters the heap and then checks the position, the logger raises the
//!    position and then checks the heap, with a full fence in between (checked by loom).
//! 3. After poisoning no wait succeeds that had not succeeded before.

mod wait_list;

#[cfg(all(test, not(loom)))]
mod tests;

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use crossbeam_utils::CachePadded;
use hyades_types::error::{Error, FatalError, Result};
use smallvec::SmallVec;
use wait_list::WaitList;

use crate::local_arc::LocalArc;
use crate::lsn::{Lsn, LsnVector, logs_in};
use crate::sync::{AtomicU64, Bell, Ordering};
use crate::ticket::{Signal, Ticket, ticket};

/// The positions that an answer waits for, by log, in the order of the logs. Mostly it is one: an LSN vector
/// names many, but most are durable by the time the answer could leave.
#[derive(Clone, Debug, Default)]
struct Needed(SmallVec<[(usize, Lsn); 1]>);

impl Needed {
    /// Also waits for this position.
    fn raise(&mut self, log: usize, to: Lsn) {
        match self.0.binary_search_by_key(&log, |(log, _)| *log) {
            Ok(at) => self.0[at].1 = self.0[at].1.max(to),
            Err(at) => self.0.insert(at, (log, to)),
        }
    }
}

struct Waiter {
    needed: Needed,
    /// Fires when dropped.
    _signal: Signal,
}

/// The durable positions of all logs, and the waiters. With stamps, the entry after that of the last log is
/// that of the stamp.
pub struct DurableWatch {
    durable: Box<[CachePadded<AtomicU64>]>,
    /// How often each has moved.
    advances: Box<[CachePadded<AtomicU64>]>,
    waiters: Box<[CachePadded<WaitList<Waiter>>]>,
    /// The bells of the loggers, which need not hurry while there are no waiters.
    bells: Box<[Arc<CachePadded<Bell>>]>,
    /// Whether all of them ring for an answer that waits for a stamp.
    stamps_hurry: bool,
    poison: OnceLock<Arc<FatalError>>,
}

impl DurableWatch {
    /// For one log per bell. With stamps: whether all loggers hurry when an answer waits for one.
    pub(crate) fn new(bells: Box<[Arc<CachePadded<Bell>>]>, stamps: Option<bool>) -> Arc<DurableWatch> {
        let entries = bells.len() + usize::from(stamps.is_some());
        Arc::new(DurableWatch {
            bells,
            stamps_hurry: stamps == Some(true),
            durable: (0..entries).map(|_| CachePadded::new(AtomicU64::new(0))).collect(),
            advances: (0..entries).map(|_| CachePadded::new(AtomicU64::new(0))).collect(),
            waiters: (0..entries).map(|_| CachePadded::default()).collect(),
            poison: OnceLock::new(),
        })
    }

    pub fn logs(&self) -> usize {
        self.bells.len()
    }

    /// The stamp up to which all logs are durable and complete, with a protocol that has stamps.
    #[inline]
    pub fn durable_stamp(&self) -> u64 {
        self.durable(self.logs()).0
    }

    /// All logs are durable and complete up to this stamp. One thread at a time calls this.
    pub fn advance_stamp(&self, to: u64) {
        self.advance(self.logs(), Lsn(to));
    }

    /// Up to where the log is durable.
    #[inline]
    pub fn durable(&self, log: usize) -> Lsn {
        Lsn(self.durable[log].load(Ordering::Acquire))
    }

    /// How often that position has advanced.
    pub fn advances(&self, log: usize) -> u64 {
        self.advances[log].load(Ordering::Relaxed)
    }

    /// Whether every log is durable up to the vector's entry.
    #[inline]
    pub fn covers(&self, vector: &LsnVector) -> bool {
        let mut entries = vector.entries().iter().zip(&self.durable);
        entries.all(|(needed, durable)| *needed <= durable.load(Ordering::Acquire))
    }

    /// The positions that are not durable, of logs from this one on.
    fn uncovered<'n>(&'n self, needed: &'n Needed, from: usize) -> impl Iterator<Item = (usize, Lsn)> + 'n {
        let later = needed.0.iter().copied().filter(move |(log, _)| *log >= from);
        later.filter(|(log, needed)| *needed > self.durable(*log))
    }

    /// Whether there is a waiter for any log.
    pub(crate) fn has_waiters(&self) -> bool {
        self.waiters.iter().any(|list| list.may_have_waiters())
    }

    /// Everything in `log` below `to` is durable. Only the log's logger calls this, after a successful sync.
    pub fn advance(&self, log: usize, to: Lsn) {
        if self.poison.get().is_some() {
            return;
        }
        let before = self.durable[log].load(Ordering::Relaxed);
        assert!(to.0 >= before, "durable position of log {log} would fall from {before} to {to}");
        self.durable[log].store(to.0, Ordering::Release);
        // No other thread writes it.
        self.advances[log].store(self.advances[log].load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        if self.waiters[log].may_have_waiters() {
            self.release(log);
        }
    }

    /// Nothing becomes durable any more: every wait that is not over fails with this error. The first error
    /// is kept.
    pub fn poison(&self, error: Arc<FatalError>) {
        let _ = self.poison.set(error);
        for list in &self.waiters {
            drop(list.take_all());
        }
    }

    /// Why the database is poisoned, if it is.
    #[inline]
    pub fn failure(&self) -> Option<&Arc<FatalError>> {
        self.poison.get()
    }

    /// An error if the database is poisoned.
    #[inline]
    pub fn check(&self) -> Result<()> {
        match self.failure() {
            None => Ok(()),
            Some(error) => Err(Error::Fatal(Arc::clone(error))),
        }
    }

    /// A ticket that fires when the vector is covered or the database poisoned.
    fn wait_for(&self, needed: &Needed) -> Ticket {
        let (ticket, signal) = ticket();
        let uncovered: SmallVec<[(usize, Lsn); 4]> = self.uncovered(needed, 0).collect();
        if let Some((log, until)) = uncovered.first() {
            self.enter((*log, *until), Waiter { needed: needed.clone(), _signal: signal });
            // All that it waits for, one after another.
            for (log, _) in &uncovered {
                match self.bells.get(*log) {
                    Some(bell) => bell.ring_urgently(),
                    None if self.stamps_hurry => self.bells.iter().for_each(|bell| bell.ring_urgently()),
                    None => {}
                }
            }
        }
        ticket
    }

    fn enter(&self, (log, until): (usize, Lsn), waiter: Waiter) {
        self.waiters[log].insert(until.0, waiter);
        if self.poison.get().is_some() {
            drop(self.waiters[log].take_all());
        }
        // The position may have risen before the waiter was visible.
        self.release(log);
    }

    /// Releases the waiters that `log` no longer holds up. They may have to wait for a later log.
    fn release(&self, log: usize) {
        let mut log = log;
        let mut released = self.waiters[log].take_up_to(|| self.durable[log].load(Ordering::Acquire));
        // Earlier logs cover them for ever (invariant 1), so each waiter moves upwards at most once for each
        // log.
        let mut moved: Vec<((usize, Lsn), Waiter)> = Vec::new();
        loop {
            for waiter in released.drain(..) {
                let next = self.uncovered(&waiter.needed, log + 1).next();
                moved.extend(next.map(|next| (next, waiter)));
            }
            let Some(((next, until), waiter)) = moved.pop() else {
                return;
            };
            log = next;
            self.waiters[log].insert(until.0, waiter);
            if self.poison.get().is_some() {
                drop(self.waiters[log].take_all());
            }
            released = self.waiters[log].take_up_to(|| self.durable[log].load(Ordering::Acquire));
        }
    }
}

/// What an answer must wait for. Cheap to clone and to merge. Resolves with a fatal error if the database is
/// poisoned first.
#[derive(Default)]
pub struct Durability {
    /// `None`: already durable.
    watch: Option<LocalArc<DurableWatch>>,
    needed: Needed,
    /// Present once the future has been polled and was not ready.
    ticket: Option<Ticket>,
}

impl Clone for Durability {
    /// The copy waits on its own, because a ticket wakes only one task.
    fn clone(&self) -> Durability {
        Durability { watch: self.watch.clone(), needed: self.needed.clone(), ticket: None }
    }
}

impl Durability {
    /// Already durable.
    pub fn immediate() -> Durability {
        Durability::default()
    }

    /// Durable when `watch` covers `needed`. `open`: one bit for each log that may not cover it. Only what it
    /// does not cover now is kept: one log, mostly.
    #[inline]
    pub fn new(watch: &LocalArc<DurableWatch>, needed: &LsnVector, open: u64) -> Durability {
        let (entries, logs) = (needed.entries(), logs_in(open));
        let mut open = SmallVec::new();
        for (log, needed) in logs.map_while(|log| Some((log, *entries.get(log)?))) {
            if needed > watch.durable(log).0 {
                open.push((log, Lsn(needed)));
            }
        }
        if open.is_empty() {
            return Durability::default();
        }
        Durability { watch: Some(watch.clone()), needed: Needed(open), ticket: None }
    }

    /// Durable when one log is durable up to `needed`.
    pub fn in_log(watch: &LocalArc<DurableWatch>, log: usize, needed: Lsn) -> Durability {
        if watch.durable(log) >= needed {
            return Durability::default();
        }
        let mut needs = Needed::default();
        needs.raise(log, needed);
        Durability { watch: Some(watch.clone()), needed: needs, ticket: None }
    }

    /// Durable when all logs are complete up to this stamp.
    pub fn of_stamp(watch: &LocalArc<DurableWatch>, stamp: u64) -> Durability {
        Durability::in_log(watch, watch.logs(), Lsn(stamp))
    }

    pub fn is_durable(&self) -> bool {
        self.watch.as_ref().is_none_or(|watch| watch.uncovered(&self.needed, 0).next().is_none())
    }

    /// Both must be durable. They must be of the same database.
    pub fn merge(&mut self, other: Durability) {
        let Some(others) = &other.watch else {
            return;
        };
        match &self.watch {
            None => *self = other,
            Some(watch) => {
                assert!(watch.is(others.shared()), "durability of two databases cannot be merged");
                other.needed.0.iter().for_each(|(log, to)| self.needed.raise(*log, *to));
                self.ticket = None;
            }
        }
    }

    /// Blocks the calling thread.
    pub fn wait(self) -> Result<()> {
        crate::ticket::block_on(self)
    }
}

impl Future for Durability {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let this = &mut *self;
        let Some(watch) = &this.watch else {
            return Poll::Ready(Ok(()));
        };
        loop {
            if watch.uncovered(&this.needed, 0).next().is_none() {
                this.watch = None;
                this.ticket = None;
                return Poll::Ready(Ok(()));
            }
            if let Err(error) = watch.check() {
                return Poll::Ready(Err(error));
            }
            let ticket = this.ticket.get_or_insert_with(|| watch.wait_for(&this.needed));
            match Pin::new(ticket).poll(context) {
                Poll::Pending => return Poll::Pending,
                // Covered or poisoned: the next iteration finds out which.
                Poll::Ready(()) => this.ticket = None,
            }
        }
    }
}

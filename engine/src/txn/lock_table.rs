//! The lock table: which transactions hold or await which resource, and what was left there (`trace`).
//!
//! A resource is a 64-bit hash of what it stands for (a row's key, the gap before a key, a stripe of a table;
//! see [`Resource`]). Two things that hash alike share a lock: an unnecessary conflict, never a missed one.
//! Only resources in use have an entry, and those whose trace cannot be forgotten yet: the paper's "tuple
//! LVs only for active tuples" (Taurus, section 4.1) is the lifetime of these entries.
//!
//! **Granting.** Modes are those of multi-granularity locking ([`LockMode`]). A request is granted at once
//! when it is compatible with every other holder and with all waiters; an upgrade passes the queue. Otherwise
//! it joins a FIFO queue and its caller gets a ticket. A transaction that releases a lock grants from the
//! head of the queue, and after that whatever hinders no waiter ahead of it, so a resumed caller finds its
//! lock held. A request that does not want to wait still waits for *brief* transactions, those of the
//! janitor: they wait for nothing, are over in a moment, and users should not notice them. An onlooker, which
//! waits only until others are gone ([`LockTable::outlast`]), is passed by every request.
//!
//! **Deadlock.** A transaction that is about to wait looks for a cycle in the waits-for graph (`waits`). The
//! request that would close one is refused (40P01). If it is granted while the search runs, it stays granted.
//!
//! Files:
//! * `identity`: resources and owners of locks; `bucket`: the grants and waiters of a few of them;
//! * `waits`: the waits-for graph; `trace`: what a released lock leaves for the next.
//!
//! **Invariants.**
//! 1. Two grants of one entry by different transactions are compatible.
//! 2. A trace is collected and left under the entry's latch, and left before the grant disappears (pitfall
//!    3).
//! 3. An entry is dropped only without holders and waiters, and when its trace is forgettable (pitfall 19).
//! 4. Latch order: the mutex of victims, then one shard of `waits` or one bucket; never two of these.
//! 5. A grant that its transaction has not seen gives it nothing. When it is given up, it goes back to the
//!    mode that was seen, and the trace left is that of this mode: only seeing a grant collects the trace
//!    that a stronger mode replaces.

mod bucket;
mod identity;
mod trace;
mod waits;

use std::marker::PhantomData;

use crossbeam_utils::CachePadded;
use smallvec::SmallVec;

use self::bucket::{Bucket, Entry, Grant, Waiter};
use self::waits::Waits;
use crate::mutant::{self, Mutant};
use crate::storage::history::Handle;
use crate::storage::prefetch::prefetch;
use crate::sync::{Mutex, MutexGuard};
use crate::ticket::{Ticket, ticket};
use crate::txn::lock_mode::LockMode;

pub(crate) use self::identity::{Resource, TransactionId};
pub(crate) use self::trace::Trail;

/// The outcome of a request.
pub(crate) enum Acquired {
    /// Held, and it was not held before: release it later.
    New(LockMode),
    /// Held already, perhaps in a stronger mode now.
    Held(LockMode),
    Wait(Ticket),
    Deadlock,
}

/// On cache lines of its own, so that neighbours do not slow each other down.
type PaddedBucket = CachePadded<Mutex<Bucket>>;

/// See the module head.
pub(crate) struct LockTable<T: Trail> {
    buckets: Box<[PaddedBucket]>,
    waits: Waits,
    trail: PhantomData<fn(&T)>,
}

impl<T: Trail> LockTable<T> {
    /// `buckets` is a power of two.
    pub(crate) fn new(buckets: usize) -> LockTable<T> {
        assert!(buckets.is_power_of_two(), "the bucket number is taken from bits of a hash");
        let buckets = (0..buckets).map(|_| CachePadded::default()).collect();
        LockTable { buckets, waits: Waits::default(), trail: PhantomData }
    }

    #[inline]
    fn bucket(&self, resource: Resource) -> MutexGuard<'_, Bucket> {
        let mask = self.buckets.len() - 1;
        self.buckets[(resource.0 >> 20) as usize & mask].lock()
    }

    /// Prefetches the memory of the bucket, ahead of a call that needs it.
    #[inline]
    pub(crate) fn prefetch(&self, resource: Resource) {
        let mask = self.buckets.len() - 1;
        let bucket = &raw const self.buckets[(resource.0 >> 20) as usize & mask];
        prefetch(bucket, size_of::<PaddedBucket>());
    }

    #[inline(always)]
    fn entry<'b>(bucket: &'b mut Bucket, resource: Resource, trail: &T) -> &'b mut Entry {
        bucket.find_or_insert(resource, trail)
    }

    /// Asks for `resource` in `mode`. After `Wait`, ask again with the same arguments once the ticket fires.
    ///
    /// What most requests need, from here to [`Entry`], becomes one function, so that the result never
    /// travels through memory.
    #[inline(always)]
    pub(crate) fn acquire(
        &self,
        trail: &T,
        dependencies: &mut T::Dependencies,
        transaction: TransactionId,
        resource: Resource,
        mode: LockMode,
    ) -> Acquired {
        match self.try_acquire(trail, dependencies, transaction, resource, mode) {
            Some(answer) => answer,
            None => self.wait(trail, dependencies, transaction, resource, mode),
        }
    }

    /// Like [`LockTable::acquire`], but gives up instead of waiting.
    #[inline(always)]
    pub(crate) fn try_acquire(
        &self,
        trail: &T,
        dependencies: &mut T::Dependencies,
        transaction: TransactionId,
        resource: Resource,
        mode: LockMode,
    ) -> Option<Acquired> {
        let mut bucket = self.bucket(resource);
        let entry = Self::entry(&mut bucket, resource, trail);
        Self::try_grant(entry, trail, dependencies, transaction, mode)
    }

    /// Like [`LockTable::try_acquire`], but waits for brief transactions.
    pub(crate) fn acquire_at_once(
        &self,
        trail: &T,
        dependencies: &mut T::Dependencies,
        transaction: TransactionId,
        resource: Resource,
        mode: LockMode,
    ) -> Option<Acquired> {
        let answer = {
            let mut bucket = self.bucket(resource);
            let entry = Self::entry(&mut bucket, resource, trail);
            if let Some(answer) = Self::try_grant(entry, trail, dependencies, transaction, mode) {
                return Some(answer);
            }
            if !entry.is_hindered_briefly(transaction, mode) || mutant::is_active(Mutant::HinderedByJanitor) {
                return None;
            }
            Self::enqueue(entry, transaction, mode)
        };
        Some(self.look_round(trail, dependencies, transaction, resource, mode, answer))
    }

    #[inline(always)]
    fn try_grant(
        entry: &mut Entry,
        trail: &T,
        dependencies: &mut T::Dependencies,
        transaction: TransactionId,
        mode: LockMode,
    ) -> Option<Acquired> {
        let Some(place) = entry.granted.iter().position(|grant| grant.transaction == transaction) else {
            if !entry.is_beside_waiters(mode) || !entry.is_grantable(transaction, mode) {
                return None;
            }
            entry.granted.push(Grant::seen(transaction, mode));
            entry.trace.collect(entry.resource, mode, trail, dependencies);
            return Some(Acquired::New(mode));
        };
        let (held, seen) = (entry.granted[place].mode, entry.granted[place].seen_mode);
        let joined = held.join(mode);
        if joined != held && !entry.is_grantable(transaction, joined) {
            return None;
        }
        if seen != Some(joined) {
            entry.granted[place] = Grant::seen(transaction, joined);
            entry.trace.collect(entry.resource, joined, trail, dependencies);
        }
        entry.granted[place].is_used_again = seen.is_some();
        Some(if seen.is_some() { Acquired::Held(joined) } else { Acquired::New(joined) })
    }

    /// The slow path: joins the queue.
    #[cold]
    #[inline(never)]
    fn wait(
        &self,
        trail: &T,
        dependencies: &mut T::Dependencies,
        transaction: TransactionId,
        resource: Resource,
        mode: LockMode,
    ) -> Acquired {
        let answer = {
            let mut bucket = self.bucket(resource);
            let entry = Self::entry(&mut bucket, resource, trail);
            if let Some(answer) = Self::try_grant(entry, trail, dependencies, transaction, mode) {
                return answer;
            }
            Self::enqueue(entry, transaction, mode)
        };
        self.look_round(trail, dependencies, transaction, resource, mode, answer)
    }

    /// Whether another transaction waits for this one to give up a lock.
    pub(crate) fn is_waited_for(&self, transaction: TransactionId) -> bool {
        self.waits.all().into_iter().any(|(waiter, resource)| {
            let bucket = self.bucket(resource);
            bucket.get(resource).is_some_and(|entry| entry.is_hindered_by(waiter, transaction))
        })
    }

    /// The transactions that the transaction of a worker waits for.
    pub(crate) fn hindering(&self, worker: u64) -> Vec<TransactionId> {
        let waiting = self.waits.all().into_iter().filter(|(waiter, _)| waiter.worker() == worker);
        let others = |(waiter, resource): (TransactionId, Resource)| {
            self.bucket(resource).get(resource).map(|entry| entry.hindering(waiter)).unwrap_or_default()
        };
        waiting.flat_map(others).collect()
    }

    /// The transactions that hold a resource, with their modes.
    pub(crate) fn holders(&self, resource: Resource) -> Vec<(TransactionId, LockMode)> {
        self.bucket(resource).get(resource).map(|entry| entry.line().holders).unwrap_or_default()
    }

    /// Waits until none of these transactions holds the resource. Meanwhile every other request is granted as
    /// if this one did not exist. `None` if none of them holds it. After `Wait`, ask again once the ticket
    /// fires.
    pub(crate) fn outlast(
        &self,
        transaction: TransactionId,
        resource: Resource,
        others: &[TransactionId],
    ) -> Option<Acquired> {
        let look_on = || self.bucket(resource).get_mut(resource)?.look_on(transaction, others);
        let answer = look_on()?;
        self.waits.enter(transaction, resource);
        if !self.search(transaction).0 {
            return Some(Acquired::Wait(answer));
        }
        let _one_victim = self.waits.one_victim();
        if !self.search(transaction).0 {
            return Some(Acquired::Wait(answer));
        }
        self.waits.forget(transaction);
        if answer.is_ready() {
            return None;
        }
        self.withdraw(transaction, resource);
        Some(Acquired::Deadlock)
    }

    fn enqueue(entry: &mut Entry, transaction: TransactionId, mode: LockMode) -> Ticket {
        let held = entry.granted.iter().find(|grant| grant.transaction == transaction);
        let (answer, signal) = ticket();
        let waiter = Waiter {
            transaction,
            mode: held.map_or(mode, |grant| grant.mode.join(mode)),
            is_upgrade: held.is_some(),
            signal,
        };
        entry.enqueue(waiter);
        answer
    }

    /// Looks for a cycle after a transaction has joined a queue.
    fn look_round(
        &self,
        trail: &T,
        dependencies: &mut T::Dependencies,
        transaction: TransactionId,
        resource: Resource,
        mode: LockMode,
        answer: Ticket,
    ) -> Acquired {
        self.waits.enter(transaction, resource);
        if !self.search(transaction).0 {
            return Acquired::Wait(answer);
        }
        let _one_victim = self.waits.one_victim();
        if !self.search(transaction).0 {
            return Acquired::Wait(answer);
        }
        self.waits.forget(transaction);
        let mut fired = SmallVec::new();
        let mut bucket = self.bucket(resource);
        let entry = Self::entry(&mut bucket, resource, trail);
        if !entry.leave_queue(transaction) {
            // Another transaction has given up: the lock is granted.
            let granted = Self::try_grant(entry, trail, dependencies, transaction, mode);
            return granted.unwrap_or(Acquired::Deadlock);
        }
        entry.grant_waiters(&mut fired);
        drop(bucket);
        drop(fired);
        Acquired::Deadlock
    }

    /// See [`Waits::search`].
    fn search(&self, start: TransactionId) -> (bool, usize) {
        self.waits.search(start, |resource| {
            let bucket = self.bucket(resource);
            bucket.get(resource).map(Entry::line).unwrap_or_default()
        })
    }

    /// Gives up a wait, or a grant that arrived unseen.
    pub(crate) fn withdraw(&self, transaction: TransactionId, resource: Resource) {
        let mut fired = SmallVec::new();
        let mut bucket = self.bucket(resource);
        if let Some(entry) = bucket.get_mut(resource) {
            entry.withdraw(transaction);
            entry.grant_waiters(&mut fired);
        }
        drop(bucket);
        drop(fired);
    }

    /// Settles a wait whose caller now wants something else: true if the resource was granted meanwhile, and
    /// is held from now on; otherwise the wait is withdrawn.
    pub(crate) fn claim(
        &self,
        trail: &T,
        dependencies: &mut T::Dependencies,
        transaction: TransactionId,
        resource: Resource,
    ) -> bool {
        let mut bucket = self.bucket(resource);
        let entry = Self::entry(&mut bucket, resource, trail);
        if let Some(grant) = entry.granted.iter_mut().find(|grant| grant.transaction == transaction)
            && grant.seen_mode.is_none()
        {
            grant.seen_mode = Some(grant.mode);
            entry.trace.collect(resource, grant.mode, trail, dependencies);
            return true;
        }
        drop(bucket);
        self.withdraw(transaction, resource);
        false
    }

    /// Gives up a held resource; what must be left there is left first. `mark`: where the mark of a
    /// transaction that has written something is found.
    #[inline]
    pub(crate) fn release(
        &self,
        trail: &T,
        transaction: TransactionId,
        resource: Resource,
        mark: Option<Handle>,
    ) {
        let mut bucket = self.bucket(resource);
        let Some(entry) = bucket.get_mut(resource) else { return };
        let Some(grant) = entry.granted.iter().position(|grant| grant.transaction == transaction) else {
            return;
        };
        let mode = entry.granted[grant].seen_mode;
        if let Some(mode) = mode {
            entry.trace.leave::<T>(resource, mode, mark);
        }
        entry.granted.swap_remove(grant);
        if entry.has_waiters() {
            Self::hand_over(bucket, resource);
        } else {
            if entry.granted.is_empty() && entry.trace.is_forgettable(trail) {
                bucket.remove(resource);
            }
            drop(bucket);
        }
    }

    /// Gives up a resource that its transaction has requested only once, and leaves no trace; false if it
    /// stays held, because something else relies on it.
    pub(crate) fn release_unused(&self, trail: &T, transaction: TransactionId, resource: Resource) -> bool {
        let is_used_again = {
            let bucket = self.bucket(resource);
            let granted = bucket.get(resource).map(|entry| entry.granted.as_slice()).unwrap_or_default();
            granted.iter().any(|grant| grant.transaction == transaction && grant.is_used_again)
        };
        if is_used_again && !mutant::is_active(Mutant::LetGoOfUsedLock) {
            return false;
        }
        self.release(trail, transaction, resource, None);
        true
    }

    /// Gives a resource to its waiters.
    #[cold]
    #[inline(never)]
    fn hand_over(mut bucket: MutexGuard<'_, Bucket>, resource: Resource) {
        let mut fired = SmallVec::new();
        if let Some(entry) = bucket.get_mut(resource) {
            entry.grant_waiters(&mut fired);
        }
        drop(bucket);
        drop(fired);
    }

    /// Called when a transaction that has waited has ended.
    pub(crate) fn forget_waits(&self, transaction: TransactionId) {
        self.waits.forget(transaction);
    }

    #[cfg(all(test, not(loom)))]
    pub(crate) fn entries(&self) -> usize {
        self.buckets.iter().map(|bucket| bucket.lock().len()).sum()
    }
}

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(test)]
mod model;
#[cfg(all(test, not(loom)))]
mod tests;
#[cfg(all(test, not(loom)))]
mod trace_tests;

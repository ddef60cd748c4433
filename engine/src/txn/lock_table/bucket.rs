//! One bucket of the lock table, and the entries in it.
//!
//! Most buckets hold one entry at most, most entries one holder and no waiter. So the first entry is in the
//! bucket itself, and everything rare is behind a pointer: a lock costs one cache miss, and all buckets
//! together (8 MiB) stay small enough for a processor's last-level cache.

use smallvec::SmallVec;

use super::identity::{Resource, TransactionId};
use super::trace::{Trace, Trail};
use super::waits::Line;
use crate::ticket::{Signal, Ticket, ticket};
use crate::txn::lock_mode::LockMode;

/// A lock that is held. For others it counts as `mode`; its holder has collected what it must follow only for
/// `seen_mode`.
///
/// The two differ after a grant to a waiter, until the waiter comes back and sees it. If it never does, only
/// what it has seen may count: it gives up the rest as if that had not been granted, and what it leaves in
/// the end replaces no trace that it does not follow.
pub(super) struct Grant {
    pub(super) transaction: TransactionId,
    pub(super) mode: LockMode,
    /// `None`: the transaction did not hold the resource before.
    pub(super) seen_mode: Option<LockMode>,
    /// Whether its transaction has requested the resource again since.
    pub(super) is_used_again: bool,
}

impl Grant {
    pub(super) fn seen(transaction: TransactionId, mode: LockMode) -> Grant {
        Grant { transaction, mode, seen_mode: Some(mode), is_used_again: false }
    }
}

pub(super) struct Waiter {
    pub(super) transaction: TransactionId,
    /// The mode it will hold, joined with what it holds already.
    pub(super) mode: LockMode,
    pub(super) is_upgrade: bool,
    pub(super) signal: Signal,
}

/// A transaction that waits until others have given up the resource, and does not want it.
struct Onlooker {
    transaction: TransactionId,
    others: Vec<TransactionId>,
    signal: Signal,
}

/// First come, first served.
#[derive(Default)]
struct Queue {
    waiters: Vec<Waiter>,
    /// No other request waits for them.
    onlookers: Vec<Onlooker>,
}

/// One resource in use.
pub(super) struct Entry {
    pub(super) resource: Resource,
    pub(super) trace: Trace,
    pub(super) granted: SmallVec<[Grant; 1]>,
    /// Created by the first waiter.
    waiting: Option<Box<Queue>>,
}

impl Entry {
    #[inline]
    fn new(resource: Resource) -> Entry {
        Entry { resource, trace: Trace::default(), granted: SmallVec::new(), waiting: None }
    }

    fn is_idle(&self) -> bool {
        self.granted.is_empty() && !self.has_waiters()
    }

    #[inline]
    pub(super) fn has_waiters(&self) -> bool {
        let is_used = |queue: &Queue| !queue.waiters.is_empty() || !queue.onlookers.is_empty();
        self.waiting.as_deref().is_some_and(is_used)
    }

    /// The queue, unless it is empty.
    #[inline]
    fn queue(&self) -> Option<&[Waiter]> {
        self.waiting.as_ref().map(|queue| queue.waiters.as_slice()).filter(|waiting| !waiting.is_empty())
    }

    /// Upgrades go before all others.
    pub(super) fn enqueue(&mut self, waiter: Waiter) {
        let waiting = &mut self.waiting.get_or_insert_default().waiters;
        let place = if waiter.is_upgrade {
            waiting.iter().take_while(|other| other.is_upgrade).count()
        } else {
            waiting.len()
        };
        waiting.insert(place, waiter);
    }

    /// Makes the transaction wait until none of the others holds the resource; `None` if none does.
    pub(super) fn look_on(&mut self, transaction: TransactionId, others: &[TransactionId]) -> Option<Ticket> {
        let is_left = |other: &&TransactionId| self.granted.iter().any(|grant| grant.transaction == **other);
        let others: Vec<TransactionId> = others.iter().filter(is_left).copied().collect();
        if others.is_empty() {
            return None;
        }
        let (answer, signal) = ticket();
        let onlookers = &mut self.waiting.get_or_insert_default().onlookers;
        onlookers.retain(|onlooker| onlooker.transaction != transaction);
        onlookers.push(Onlooker { transaction, others, signal });
        Some(answer)
    }

    /// Takes the transaction out of the queue; false if it is not in it.
    pub(super) fn leave_queue(&mut self, transaction: TransactionId) -> bool {
        let Some(queue) = &mut self.waiting else { return false };
        queue.onlookers.retain(|onlooker| onlooker.transaction != transaction);
        let length = queue.waiters.len();
        queue.waiters.retain(|waiter| waiter.transaction != transaction);
        queue.waiters.len() < length
    }

    /// Takes away the transaction's wait, or as much of its grant as it has not seen.
    pub(super) fn withdraw(&mut self, transaction: TransactionId) {
        self.leave_queue(transaction);
        let Some(place) = self.granted.iter().position(|grant| grant.transaction == transaction) else {
            return;
        };
        let grant = &mut self.granted[place];
        match grant.seen_mode {
            Some(mode) => grant.mode = mode,
            None => drop(self.granted.swap_remove(place)),
        }
    }

    #[inline]
    pub(super) fn is_grantable(&self, transaction: TransactionId, mode: LockMode) -> bool {
        self.granted.iter().all(|grant| grant.transaction == transaction || grant.mode.is_compatible(mode))
    }

    /// Whether a waiter waits for this holder.
    pub(super) fn is_hindered_by(&self, waiter: TransactionId, holder: TransactionId) -> bool {
        let Some(grant) = self.granted.iter().find(|grant| grant.transaction == holder) else { return false };
        let Some(queue) = &self.waiting else { return false };
        let is_refused = |wait: &Waiter| wait.transaction == waiter && !grant.mode.is_compatible(wait.mode);
        let looks_on = |wait: &Onlooker| wait.transaction == waiter && wait.others.contains(&holder);
        waiter != holder && (queue.waiters.iter().any(is_refused) || queue.onlookers.iter().any(looks_on))
    }

    /// The transactions that a waiter waits for: those that hold the resource, and those ahead of it in the
    /// queue, in modes that conflict with its own.
    pub(super) fn hindering(&self, waiter: TransactionId) -> Vec<TransactionId> {
        let Some(queue) = &self.waiting else { return Vec::new() };
        if let Some(onlooker) = queue.onlookers.iter().find(|onlooker| onlooker.transaction == waiter) {
            return onlooker.others.clone();
        }
        let Some(own) = queue.waiters.iter().find(|other| other.transaction == waiter) else {
            return Vec::new();
        };
        let holders = self.granted.iter().map(|grant| (grant.transaction, grant.mode));
        let ahead = queue.waiters.iter().take_while(|other| other.transaction != waiter);
        let others = holders.chain(ahead.map(|other| (other.transaction, other.mode)));
        let hinders =
            |(other, mode): &(TransactionId, LockMode)| *other != waiter && !mode.is_compatible(own.mode);
        others.filter(hinders).map(|(other, _)| other).collect()
    }

    /// Whether a request in this mode hinders no waiter.
    #[inline]
    pub(super) fn is_beside_waiters(&self, mode: LockMode) -> bool {
        let waiting = self.queue().unwrap_or_default();
        waiting.iter().all(|waiter| waiter.mode.is_compatible(mode))
    }

    /// Whether only brief transactions hinder the request, which wait for nothing and will be gone in a
    /// moment.
    pub(super) fn is_hindered_briefly(&self, transaction: TransactionId, mode: LockMode) -> bool {
        let own = self.granted.iter().find(|grant| grant.transaction == transaction);
        let wanted = own.map_or(mode, |grant| grant.mode.join(mode));
        self.is_beside_waiters(wanted)
            && self.granted.iter().all(|grant| {
                grant.transaction == transaction
                    || grant.transaction.is_brief()
                    || grant.mode.is_compatible(wanted)
            })
    }

    /// Grants from the head of the queue as far as possible, and after that whatever is compatible with all
    /// waiters ahead. The signals are fired after the latch is dropped.
    pub(super) fn grant_waiters(&mut self, fired: &mut SmallVec<[Signal; 2]>) {
        // How many waiters stay ahead, and their modes, one bit for each.
        let (mut at, mut ahead) = (0, 0);
        while let Some(waiter) = self.queue().and_then(|waiting| waiting.get(at)) {
            let is_next = waiter.mode.is_compatible_with_all(ahead);
            if !is_next || !self.is_grantable(waiter.transaction, waiter.mode) {
                at += 1;
                ahead |= 1 << waiter.mode as u8;
                continue;
            }
            let Some(queue) = &mut self.waiting else { return };
            let waiter = queue.waiters.remove(at);
            match self.granted.iter_mut().find(|grant| grant.transaction == waiter.transaction) {
                Some(grant) => grant.mode = waiter.mode,
                None => self.granted.push(Grant {
                    transaction: waiter.transaction,
                    mode: waiter.mode,
                    seen_mode: None,
                    is_used_again: false,
                }),
            }
            fired.push(waiter.signal);
        }
        self.tell_onlookers(fired);
    }

    fn tell_onlookers(&mut self, fired: &mut SmallVec<[Signal; 2]>) {
        let Some(queue) = &mut self.waiting else { return };
        let granted = &self.granted;
        let mut at = 0;
        while let Some(onlooker) = queue.onlookers.get_mut(at) {
            onlooker.others.retain(|other| granted.iter().any(|grant| grant.transaction == *other));
            if onlooker.others.is_empty() {
                fired.push(queue.onlookers.swap_remove(at).signal);
            } else {
                at += 1;
            }
        }
    }

    /// The holders of the resource and its waiters, in order.
    pub(super) fn line(&self) -> Line {
        let waiting = self.queue().unwrap_or_default();
        let onlookers = self.waiting.as_ref().map(|queue| queue.onlookers.as_slice()).unwrap_or_default();
        Line {
            holders: self.granted.iter().map(|grant| (grant.transaction, grant.mode)).collect(),
            waiters: waiting.iter().map(|waiter| (waiter.transaction, waiter.mode)).collect(),
            onlookers: onlookers
                .iter()
                .map(|onlooker| (onlooker.transaction, onlooker.others.clone()))
                .collect(),
        }
    }
}

/// Besides the first entry, this many are searched at a time.
const SHORT: usize = 8;

/// The entries whose resources hash alike.
#[derive(Default)]
pub(super) struct Bucket {
    /// Empty only if `others` is.
    first: Option<Entry>,
    others: Vec<Entry>,
}

impl Bucket {
    #[cfg(all(test, not(loom)))]
    pub(super) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.others.len()
    }

    pub(super) fn get(&self, resource: Resource) -> Option<&Entry> {
        self.first.iter().chain(&self.others).find(|entry| entry.resource == resource)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, resource: Resource) -> Option<&mut Entry> {
        match &mut self.first {
            Some(first) if first.resource == resource => Some(first),
            _ => self.others.iter_mut().find(|entry| entry.resource == resource),
        }
    }

    /// The entry of the resource. A new one takes the place of an idle one whose trace is forgettable, if
    /// there is one.
    #[inline(always)]
    pub(super) fn find_or_insert<T: Trail>(&mut self, resource: Resource, trail: &T) -> &mut Entry {
        let place = match &self.first {
            Some(first) if first.resource == resource => None,
            Some(_) => match self.others.iter().position(|entry| entry.resource == resource) {
                Some(place) => Some(place),
                None => self.insert(Entry::new(resource), trail),
            },
            None => {
                self.first = Some(Entry::new(resource));
                None
            }
        };
        match place {
            Some(place) => &mut self.others[place],
            None => self.first.as_mut().expect("just found or put there"),
        }
    }

    /// Returns its place among the others. Redundant entries are removed first, because searching a long
    /// bucket costs more. Of very many others only a few are checked, chosen by chance: if they are in use,
    /// checking all of them each time would cost too much.
    #[inline(never)]
    fn insert<T: Trail>(&mut self, entry: Entry, trail: &T) -> Option<usize> {
        let is_redundant = |entry: &Entry| entry.is_idle() && entry.trace.is_forgettable(trail);
        let mut place = entry.resource.0 as usize % (self.others.len().saturating_sub(SHORT) + 1);
        for _ in 0..SHORT.min(self.others.len()) {
            if is_redundant(&self.others[place]) {
                self.others.swap_remove(place);
            } else {
                place += 1;
            }
        }
        self.give_memory_back();
        if self.first.as_ref().is_none_or(is_redundant) {
            self.first = Some(entry);
            return None;
        }
        self.others.push(entry);
        Some(self.others.len() - 1)
    }

    #[inline]
    pub(super) fn remove(&mut self, resource: Resource) {
        if !self.others.is_empty() || self.others.capacity() > 2 * SHORT {
            self.remove_of_several(resource);
        } else if self.first.as_ref().is_some_and(|first| first.resource == resource) {
            self.first = None;
        }
    }

    #[inline(never)]
    fn remove_of_several(&mut self, resource: Resource) {
        if self.first.as_ref().is_some_and(|first| first.resource == resource) {
            self.first = self.others.pop();
        } else if let Some(place) = self.others.iter().position(|entry| entry.resource == resource) {
            self.others.swap_remove(place);
        }
        self.give_memory_back();
    }

    /// Makes the buckets small again after a transaction with very many locks.
    #[inline]
    fn give_memory_back(&mut self) {
        if self.others.capacity() > 2 * SHORT && self.others.len() < self.others.capacity() / 4 {
            self.others.shrink_to(self.others.capacity() / 2);
        }
    }
}

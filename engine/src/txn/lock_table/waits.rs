//! Which transaction waits for which resource, and whether there is a cycle.
//!
//! A transaction waits for one resource at a time: for the holders with which it conflicts, and for all
//! waiters ahead of it in the queue. It first joins the queue, then enters itself here, then checks whether
//! those it waits for wait for it. Of the transactions in a cycle, the last one to enter itself sees all the
//! others, so no cycle is missed, and waits that are in no cycle share no latch. Only a transaction that has
//! found a cycle looks again, under one mutex: of two that close the same cycle at once, one goes on.
//!
//! **The search is linear.** The queue of a resource is looked at once, and from its head only as far as
//! there is a transaction that is reached: all those ahead of it are reached, too. Holders are compared once
//! with each mode that is waited for, not with each waiter.
//!
//! What is read of one queue may be old when the next one is read. A cycle does not dissolve by itself, so
//! none is missed. If a cycle was seen that does not exist, a transaction that gave up has dissolved it
//! meanwhile.

use crossbeam_utils::CachePadded;
use foldhash::fast::FixedState;

use super::identity::{Resource, TransactionId};
use crate::sync::{Mutex, MutexGuard};
use crate::txn::lock_mode::LockMode;

type HashMap<K, V> = std::collections::HashMap<K, V, FixedState>;

/// The number of maps over which transactions are spread.
const SHARDS: usize = if cfg!(loom) { 2 } else { 16 };

/// What each waiting transaction waits for; entries may be stale, the queues decide.
type Shard = CachePadded<Mutex<HashMap<TransactionId, Resource>>>;

pub(super) struct Waits {
    shards: [Shard; SHARDS],
    victims: Mutex<()>,
}

impl Default for Waits {
    fn default() -> Waits {
        Waits {
            shards: std::array::from_fn(|_| CachePadded::new(Mutex::new(HashMap::default()))),
            victims: Mutex::new(()),
        }
    }
}

/// The holders and the queue of one resource.
#[derive(Default)]
pub(super) struct Line {
    pub(super) holders: Vec<(TransactionId, LockMode)>,
    pub(super) waiters: Vec<(TransactionId, LockMode)>,
    /// Transactions that wait for some of the holders, and for nothing else.
    pub(super) onlookers: Vec<(TransactionId, Vec<TransactionId>)>,
}

/// How far a search has come with one resource.
struct Visited {
    line: Line,
    places: HashMap<TransactionId, usize>,
    /// The mode in which the start of the search holds the resource.
    held: Option<LockMode>,
    /// This many waiters from the head of the queue have been reached.
    reached: usize,
    /// Their modes, one bit for each.
    modes: u8,
    is_holder_reached: Vec<bool>,
}

impl Visited {
    fn new(line: Line, start: TransactionId) -> Visited {
        let places = line.waiters.iter().enumerate().map(|(place, (waiter, _))| (*waiter, place)).collect();
        let held = line.holders.iter().find(|(holder, _)| *holder == start).map(|(_, mode)| *mode);
        let is_holder_reached = vec![false; line.holders.len()];
        Visited { line, places, held, reached: 0, modes: 0, is_holder_reached }
    }
}

impl Waits {
    fn shard(&self, transaction: TransactionId) -> MutexGuard<'_, HashMap<TransactionId, Resource>> {
        let TransactionId(id) = transaction;
        self.shards[(id ^ (id >> 32)) as usize % SHARDS].lock()
    }

    pub(super) fn enter(&self, transaction: TransactionId, resource: Resource) {
        self.shard(transaction).insert(transaction, resource);
    }

    pub(super) fn forget(&self, transaction: TransactionId) {
        self.shard(transaction).remove(&transaction);
    }

    /// All of them, as they are at some time in between. Some may be over.
    pub(super) fn all(&self) -> Vec<(TransactionId, Resource)> {
        let shard = |shard: &Shard| -> Vec<_> { shard.lock().iter().map(|(one, at)| (*one, *at)).collect() };
        self.shards.iter().flat_map(shard).collect()
    }

    /// Held while it is decided whether a wait ends as a deadlock.
    pub(super) fn one_victim(&self) -> MutexGuard<'_, ()> {
        self.victims.lock()
    }

    /// Whether a transaction that `start` waits for waits for `start`, and how many waiters and holders were
    /// looked at to find out. `line` reads a resource.
    pub(super) fn search(&self, start: TransactionId, line: impl Fn(Resource) -> Line) -> (bool, usize) {
        let mut visited: HashMap<Resource, Visited> = HashMap::default();
        let mut stack = vec![start];
        let mut steps = 0;
        while let Some(transaction) = stack.pop() {
            let waits_for = self.shard(transaction).get(&transaction).copied();
            let Some(resource) = waits_for else { continue };
            let visit = visited.entry(resource).or_insert_with(|| Visited::new(line(resource), start));
            if reach(visit, transaction, start, &mut stack, &mut steps) {
                return (true, steps);
            }
        }
        (false, steps)
    }
}

/// Follows the wait of `transaction` at its resource: puts on the stack the holders with which it or a
/// waiter ahead of it conflicts. True if `start` is one of those that are reached.
fn reach(
    visit: &mut Visited,
    transaction: TransactionId,
    start: TransactionId,
    stack: &mut Vec<TransactionId>,
    steps: &mut usize,
) -> bool {
    if let Some((_, others)) = visit.line.onlookers.iter().find(|(onlooker, _)| *onlooker == transaction) {
        *steps += others.len();
        stack.extend(others);
        return others.contains(&start);
    }
    // Not there: its lock has been granted meanwhile.
    let Some(&place) = visit.places.get(&transaction) else { return false };
    // A transaction after `start` in its queue waits for it.
    if transaction != start && visit.places.get(&start).is_some_and(|&own| own < place) {
        return true;
    }
    for at in visit.reached..=place {
        *steps += 1;
        let (waiter, mode) = visit.line.waiters[at];
        if waiter != start && visit.held.is_some_and(|held| !held.is_compatible(mode)) {
            return true;
        }
        if visit.modes & (1 << mode as u8) != 0 {
            continue;
        }
        visit.modes |= 1 << mode as u8;
        for (holder, is_reached) in visit.line.holders.iter().zip(&mut visit.is_holder_reached) {
            *steps += 1;
            if holder.0 != start && !*is_reached && !holder.1.is_compatible(mode) {
                *is_reached = true;
                stack.push(holder.0);
            }
        }
    }
    visit.reached = visit.reached.max(place + 1);
    false
}

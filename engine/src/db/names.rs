//! What must be durable before a client may be told what names mean.
//!
//! Tables and routines are looked up in the committed catalog without a lock, so no trace at a lock says
//! which transaction an answer about them depends on: "relation does not exist" after a DROP, "already
//! exists" after a CREATE, the result of a function that touches no table. A schema change is committed, and
//! seen, before it is durable. So, before its names are published, it notes here what it waits for. A session
//! that has looked up a name asks here afterwards and waits for that as well (pitfall 7).
//!
//! Nearly always all of it is durable already, and asking costs one load.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::log::durable::Durability;

/// See the module documentation.
#[derive(Default)]
pub(super) struct NamesDurability {
    is_pending: AtomicBool,
    /// Needed by all changes so far.
    needed: Mutex<Durability>,
}

impl NamesDurability {
    /// A schema change that waits for this is about to be published.
    pub(super) fn note(&self, change: Durability) {
        if change.is_durable() {
            return;
        }
        let mut needed = self.needed.lock();
        needed.merge(change);
        self.is_pending.store(true, Ordering::Release);
    }

    /// Adds what an answer must wait for if it depends on names looked up until now.
    #[inline]
    pub(super) fn add_to(&self, answer: &mut Durability) {
        if self.is_pending.load(Ordering::Acquire) {
            self.add_pending_to(answer);
        }
    }

    #[cold]
    fn add_pending_to(&self, answer: &mut Durability) {
        let mut needed = self.needed.lock();
        if needed.is_durable() {
            *needed = Durability::immediate();
            self.is_pending.store(false, Ordering::Release);
        }
        answer.merge(needed.clone());
    }
}

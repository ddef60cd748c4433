//! What the catalogs of all databases share: the numbers of objects, and whether they may change.

use std::sync::atomic::{AtomicU32, Ordering};

use super::opening::Opening;

/// Ids below this one are reserved for system tables and functions.
pub(crate) const FIRST_ID: u32 = 16_384;

/// What the catalogs of all databases share.
pub(crate) struct Common {
    /// For all kinds of objects, so that ids tell which object is older.
    next_id: AtomicU32,
    next_temporary: AtomicU32,
    /// Closed to schema changes while a restart goes on: logged calls are still being run again, with the
    /// routines and tables as they are.
    pub(crate) changes: Opening,
}

impl Default for Common {
    fn default() -> Common {
        Common {
            next_id: AtomicU32::new(FIRST_ID),
            next_temporary: AtomicU32::new(0),
            changes: Opening::default(),
        }
    }
}

impl Common {
    pub(crate) fn new_id(&self) -> u32 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// All ids below this one have been given out.
    pub(crate) fn next_id(&self) -> u32 {
        self.next_id.load(Ordering::Relaxed)
    }

    pub(crate) fn new_temporary(&self) -> u32 {
        self.next_temporary.fetch_add(1, Ordering::Relaxed)
    }

    /// Keeps ids below this one from being given out.
    pub(crate) fn reserve_ids_below(&self, id: u32) {
        self.next_id.fetch_max(id, Ordering::Relaxed);
    }

    /// Keeps this id, which was read from a log or a checkpoint, from being given out.
    pub(crate) fn reserve_id(&self, id: u32) {
        self.reserve_ids_below(id.saturating_add(1));
    }
}

//! Keeps compilations and changes of the catalog apart.
//!
//! A compilation asks for a table's definition many times, and for those of other tables, routines and types.
//! The column and index numbers of one definition mean something else, or nothing, in another. Definitions
//! are exchanged at once, even in the middle of a transaction (`storage::catalog`), and a compilation holds
//! no table locks. So all compilations share a lock, which a change of the catalog takes exclusively for a
//! moment: a compilation sees one state of the catalog. Whether that is still the current state when the
//! procedure runs is checked then, by the versions that the procedure notes
//! (`procedure::ir::TableReference`).
//!
//! Compiling a large statement takes seconds. So compilations do not queue for a thread that waits for the
//! exclusive lock until it has waited for [`PATIENCE`]: otherwise one large statement and one change of the
//! catalog would keep all others waiting. A thread that waits lets its other sessions go on
//! (`hyades_types::guest`).
//!
//! Invariants:
//! 1. A compilation waits for no transaction and changes nothing in the catalog.
//! 2. The holder of the exclusive lock takes no other lock but that of the snapshot of names, so there is no
//!    deadlock.
//! 3. A nested compilation, such as a routine's within a statement's, never queues: a thread that waits for
//!    the exclusive lock waits for the outer one.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hyades_types::guest;
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// For this long compilations go ahead of a thread that wants the exclusive lock.
const PATIENCE: Duration = Duration::from_secs(1);

thread_local! {
    /// The compilations that this thread is in.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// The compilations of one database.
#[derive(Debug, Default)]
pub struct Compilations {
    lock: RwLock<()>,
    /// The number of threads that want the exclusive lock and have lost their patience.
    impatient: AtomicUsize,
}

/// While it lives, the catalog does not change. Belongs to the thread that compiles.
#[must_use]
#[derive(Debug)]
pub struct Compilation<'a> {
    _shared: RwLockReadGuard<'a, ()>,
}

impl Compilations {
    /// Waits for a change of the catalog that is going on.
    pub fn begin(&self) -> Compilation<'_> {
        let queues = || DEPTH.get() == 0 && self.impatient.load(Ordering::Relaxed) > 0;
        let shared = loop {
            let taken = match queues() {
                true => self.lock.try_read_for(guest::QUANTUM),
                false => self.lock.try_read_recursive_for(guest::QUANTUM),
            };
            match taken {
                Some(shared) => break shared,
                None => guest::pass(guest::QUANTUM_UNITS),
            }
        };
        DEPTH.set(DEPTH.get() + 1);
        Compilation { _shared: shared }
    }

    /// Waits for running compilations. Held by a change of the catalog for as long as the change takes.
    pub(super) fn exclude(&self) -> RwLockWriteGuard<'_, ()> {
        debug_assert_eq!(DEPTH.get(), 0, "a compilation changes nothing");
        for _ in 0..PATIENCE.as_millis() / guest::QUANTUM.as_millis() {
            if let Some(alone) = self.lock.try_write_for(guest::QUANTUM) {
                return alone;
            }
            guest::pass(guest::QUANTUM_UNITS);
        }
        self.impatient.fetch_add(1, Ordering::Relaxed);
        let alone = self.lock.write();
        self.impatient.fetch_sub(1, Ordering::Relaxed);
        alone
    }
}

impl Drop for Compilation<'_> {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn who_changes_the_catalog_waits_for_a_compilation_and_for_those_within_it() {
        let compilations = Compilations::default();
        let is_changed = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let outer = compilations.begin();
            scope.spawn(|| {
                let _alone = compilations.exclude();
                is_changed.store(true, Ordering::SeqCst);
            });
            // Others go ahead of it as long as it is patient.
            let other = scope.spawn(|| drop(compilations.begin()));
            other.join().expect("it need not wait");
            while compilations.impatient.load(Ordering::Relaxed) == 0 {
                std::thread::yield_now();
            }
            // Then only nested ones do.
            drop(compilations.begin());
            let other = scope.spawn(|| {
                let _compilation = compilations.begin();
                assert!(is_changed.load(Ordering::SeqCst), "it queues");
            });
            std::thread::sleep(Duration::from_millis(20));
            assert!(!is_changed.load(Ordering::SeqCst), "the change waits for the outer one");
            drop(outer);
            other.join().expect("it goes on after the change");
        });
        assert!(is_changed.load(Ordering::SeqCst));
        assert_eq!(compilations.impatient.load(Ordering::Relaxed), 0);
    }
}

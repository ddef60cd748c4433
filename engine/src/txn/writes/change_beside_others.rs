//! The state of changes that do not lock others out of a table: an index that is being built (`index_build`),
//! a lock that is waited for (`patient_lock`), commits that are closed (`unlocked_change`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::RwLock;

use super::resource::Resource;
use crate::protocol::Protocol;
use crate::storage::scan_batch::ScanBatch;
use crate::storage::table::{Table, TableState};
use crate::txn::lock_table::TransactionId;

/// An index that a transaction is building.
pub(super) struct IndexBuild {
    pub(super) table: Arc<Table>,
    /// The table's state, with the index.
    pub(super) state: Arc<TableState>,
    /// The transactions that must have given up a resource before it goes on.
    pub(super) awaited: Vec<(Resource, Vec<TransactionId>)>,
    /// Columns that several rows may have.
    pub(super) doubtful: Vec<Box<[u8]>>,
    /// How often another transaction held the last of them, or one of its rows.
    pub(super) tries: u32,
    /// Rows that it has requested because another transaction held one in each of many tries.
    pub(super) rows: Vec<Resource>,
    pub(super) stage: Stage,
    pub(super) batch: ScanBatch,
}

/// How far a build has come.
pub(super) enum Stage {
    /// The walk has passed the records up to this key.
    Walk {
        after: Option<Vec<u8>>,
    },
    /// The check has passed the entries up to this one.
    Check {
        after: Option<Vec<u8>>,
    },
    Finish,
}

/// How far a transaction that waits for a table has come (`patient_lock`).
#[derive(Default)]
pub(super) struct Patience {
    pub(super) tries: u32,
    /// The transactions that must have given up a resource before the next try.
    pub(super) awaited: Vec<(Resource, Vec<TransactionId>)>,
}

/// The mark that changes have left for transactions that commit later, until it is forgettable.
#[derive(Default)]
pub(super) struct LastingMark {
    is_left: AtomicBool,
    mark: RwLock<Box<[AtomicU64]>>,
}

impl LastingMark {
    /// To be called while commits are closed.
    pub(super) fn leave<P: Protocol>(&self, protocol: &P, dependencies: &P::Dependencies) {
        let own = protocol.new_mark();
        protocol.write_mark(dependencies, &own);
        let mut mark = self.mark.write();
        if mark.is_empty() {
            *mark = own;
        } else {
            protocol.join(&own, &mark);
        }
        self.is_left.store(true, Ordering::SeqCst);
    }

    #[inline]
    pub(super) fn follow<P: Protocol>(&self, protocol: &P, dependencies: &mut P::Dependencies) {
        if self.is_left.load(Ordering::SeqCst) {
            self.follow_what_is_left(protocol, dependencies);
        }
    }

    #[cold]
    fn follow_what_is_left<P: Protocol>(&self, protocol: &P, dependencies: &mut P::Dependencies) {
        let is_forgettable = {
            let mark = self.mark.read();
            protocol.follow(&mark, dependencies);
            protocol.is_forgettable(&mark)
        };
        if is_forgettable {
            let mark = self.mark.write();
            if protocol.is_forgettable(&mark) {
                self.is_left.store(false, Ordering::SeqCst);
            }
        }
    }
}

/// State that every commit checks (`unlocked_change`).
#[derive(Default)]
pub(super) struct UnlockedChanges {
    pub(super) is_closed: AtomicBool,
    /// Of tables with writers: all transactions follow them.
    pub(super) of_tables: LastingMark,
    /// Of what names mean: calls that are logged as commands follow them.
    pub(super) of_names: LastingMark,
    /// How often a committed transaction has changed what names mean.
    pub(super) meaning: AtomicU64,
}

impl UnlockedChanges {
    /// Whether another transaction keeps commits away.
    #[inline]
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }

    #[inline]
    pub(super) fn meaning(&self) -> u64 {
        self.meaning.load(Ordering::SeqCst)
    }

    pub(super) fn open(&self) {
        self.is_closed.store(false, Ordering::SeqCst);
    }
}

//! What changes of a table that keep nobody out are in the middle of: an index that is being built
//! (`index_build`), a lock that is waited for (`patient_lock`), commits that are closed (`unlocked_change`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::RwLock;

use super::resource::Resource;
use crate::storage::scan_batch::ScanBatch;
use crate::storage::table::{Table, TableState};
use crate::txn::lock_table::TransactionId;

/// An index that a transaction is building.
pub(super) struct IndexBuild {
    pub(super) table: Arc<Table>,
    /// The table's state, with the index.
    pub(super) state: Arc<TableState>,
    /// Who must have given what up before it goes on.
    pub(super) awaited: Vec<(Resource, Vec<TransactionId>)>,
    /// Columns that several rows may have.
    pub(super) doubtful: Vec<Box<[u8]>>,
    /// How often somebody else had the last of them, or one of its rows.
    pub(super) tries: u32,
    /// Rows that it has asked for because somebody had one in each of so many tries.
    pub(super) rows: Vec<Resource>,
    pub(super) stage: Stage,
    pub(super) batch: ScanBatch,
}

/// How far a build has come.
pub(super) enum Stage {
    /// Through the records behind this key.
    Walk {
        behind: Option<Vec<u8>>,
    },
    /// Through the entries behind this one.
    Check {
        behind: Option<Vec<u8>>,
    },
    Finish,
}

/// How far a transaction has come that waits for a table (`patient_lock`).
#[derive(Default)]
pub(super) struct Patience {
    pub(super) tries: u32,
    /// Who must have given what up before the next try.
    pub(super) awaited: Vec<(Resource, Vec<TransactionId>)>,
}

/// What all who commit look at (`unlocked_change`).
#[derive(Default)]
pub(super) struct UnlockedChanges {
    pub(super) is_closed: AtomicBool,
    pub(super) is_marked: AtomicBool,
    pub(super) mark: RwLock<Box<[AtomicU64]>>,
}

impl UnlockedChanges {
    /// Whether somebody else keeps commits away.
    #[inline]
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }

    pub(super) fn open(&self) {
        self.is_closed.store(false, Ordering::SeqCst);
    }
}

//! What a transaction knows of a table it is in.

use std::sync::Arc;

use crate::log::record::command::WriteChain;
use crate::storage::table::Table;
use crate::txn::lock_mode::LockMode;

/// A table that this worker has met; `mode` is what the running transaction holds of it.
pub(super) struct TableUse {
    pub(super) table: Arc<Table>,
    pub(super) mode: Option<LockMode>,
    /// Whether its definition is locked for reading at snapshots.
    pub(super) is_defined: bool,
    /// The version of the definition that the running transaction found first.
    pub(super) entered: u64,
    /// The value of `Table::rewritten_at` at that time.
    pub(super) rewritten_at: u64,
    pub(super) countdown: Countdown,
    /// Covers what a call has written to it.
    pub(super) write_chain: WriteChain,
}

/// Later than every version: the transaction is not in the table.
const NOT_ENTERED: u64 = u64::MAX;

impl TableUse {
    pub(super) fn new(table: &Arc<Table>, row_locks: u32) -> TableUse {
        TableUse {
            table: Arc::clone(table),
            mode: None,
            is_defined: false,
            entered: NOT_ENTERED,
            rewritten_at: 0,
            countdown: Countdown::new(row_locks),
            write_chain: WriteChain::default(),
        }
    }

    /// Called when the transaction has ended.
    pub(super) fn leave(&mut self, row_locks: u32) {
        self.mode = None;
        self.is_defined = false;
        self.entered = NOT_ENTERED;
        self.rewritten_at = 0;
        self.countdown = Countdown::new(row_locks);
        self.write_chain = WriteChain::default();
    }

    /// Called when it has got its first lock of the table, or another one.
    #[inline]
    pub(super) fn note_entered(&mut self) {
        if self.entered == NOT_ENTERED {
            self.entered = self.table.version();
            self.rewritten_at = self.table.rewritten_at();
        }
    }

    /// Whether the running transaction has a lock on it.
    pub(super) fn is_entered(&self) -> bool {
        self.entered != NOT_ENTERED
    }

    /// The transaction is about to lock the definition against others, which do not wait for it from then on.
    /// Until it has done so, a plan must be as new as the table.
    pub(super) fn give_up_plans(&mut self) {
        self.entered = NOT_ENTERED;
    }

    /// The transaction itself has changed the definition: earlier plans do not fit it.
    pub(super) fn note_own_change(&mut self) {
        self.entered = self.table.version();
    }
}

/// When a transaction that uses a table will try to lock it as a whole.
pub(super) struct Countdown {
    /// Accesses until then.
    pub(super) left: u32,
    /// How often the count has run out.
    pub(super) rounds: u32,
}

impl Countdown {
    pub(super) fn new(row_locks: u32) -> Countdown {
        Countdown { left: row_locks, rounds: 0 }
    }
}

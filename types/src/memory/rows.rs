//! What the rows of a session's temporary tables hold. No other session can see them or remove them, so they
//! count as the session's memory for as long as they are there, not as the server's.
//!
//! The bytes are estimated: the average of the rows that were written, times the number of rows that are
//! there. So rows that are deleted or taken back, and versions that replace others, need not be told one by
//! one.

use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, AtomicU64, Ordering};

use super::{Account, signed, with_book};

/// An account that can be charged for longer than a transaction.
#[derive(Clone, Debug)]
pub struct Keeper(Arc<AtomicIsize>);

/// The charge for some rows. It is given back when it is dropped, in any thread.
#[derive(Debug)]
pub struct RowCharge {
    keeper: Keeper,
    charged: AtomicIsize,
    written_rows: AtomicU64,
    written_bytes: AtomicU64,
}

impl Account {
    pub fn keeper(&self) -> Keeper {
        Keeper(Arc::clone(&self.kept))
    }
}

impl RowCharge {
    pub fn new(keeper: &Keeper) -> RowCharge {
        let none = AtomicU64::new;
        RowCharge {
            keeper: keeper.clone(),
            charged: AtomicIsize::new(0),
            written_rows: none(0),
            written_bytes: none(0),
        }
    }

    /// The charge for a copy of the rows, or for other rows like them: none so far.
    #[must_use]
    pub fn anew(&self) -> RowCharge {
        let copied = |number: &AtomicU64| AtomicU64::new(number.load(Ordering::Relaxed));
        RowCharge {
            keeper: self.keeper.clone(),
            charged: AtomicIsize::new(0),
            written_rows: copied(&self.written_rows),
            written_bytes: copied(&self.written_bytes),
        }
    }

    /// A row of this many bytes was written. Now there are this many.
    pub fn wrote(&self, bytes: usize, rows: u64) {
        self.written_rows.fetch_add(1, Ordering::Relaxed);
        self.written_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.resize(rows);
    }

    /// Now there are this many rows. The computing session, which is the owner, notices at its next check.
    pub fn resize(&self, rows: u64) {
        let (written, bytes) =
            (self.written_rows.load(Ordering::Relaxed), self.written_bytes.load(Ordering::Relaxed));
        let wanted = u128::from(rows) * u128::from(bytes) / u128::from(written.max(1));
        let wanted = signed(usize::try_from(wanted).unwrap_or(usize::MAX));
        let more = wanted - self.charged.swap(wanted, Ordering::Relaxed);
        self.keeper.0.fetch_add(more, Ordering::Relaxed);
        with_book(|book| {
            if !book.owner.get().is_null() {
                book.floor.set(book.floor.get() + more);
            }
        });
    }
}

impl Drop for RowCharge {
    fn drop(&mut self) {
        self.keeper.0.fetch_sub(*self.charged.get_mut(), Ordering::Relaxed);
    }
}

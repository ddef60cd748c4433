//! What an account pays for longer than a transaction: cursors, prepared statements, advisory locks, and the
//! rows and definitions of a session's temporary tables. No other session can see those or remove them, so
//! they count as the session's memory for as long as they are there, not as the server's.

use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering};

use super::{Account, in_database, signed, with_book};

/// An account that can be charged for longer than a statement, from any thread.
#[derive(Clone, Debug, Default)]
pub struct Keeper(Arc<Kept>);

/// What an account is charged for in addition to what its session allocates.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// For longer than the transaction.
    bytes: AtomicIsize,
    /// Until the transaction ends.
    of_transaction: AtomicIsize,
}

/// A part of an account's use that outlives a transaction; given back when dropped, in any thread.
#[derive(Debug)]
pub struct Charge {
    keeper: Keeper,
    bytes: AtomicIsize,
}

impl Account {
    pub fn keeper(&self) -> Keeper {
        self.kept.clone()
    }

    /// Charges the account for longer than a transaction for bytes that it has spent.
    pub fn keep(&self, bytes: usize) -> Charge {
        let charge = Charge::none(&self.kept);
        charge.count(signed(bytes));
        charge
    }
}

impl Keeper {
    /// What is kept.
    pub(super) fn bytes(&self) -> isize {
        self.0.bytes.load(Ordering::Relaxed)
    }

    /// By which a thread knows its account. Never null while the account lives.
    pub(super) fn address(&self) -> *const Kept {
        Arc::as_ptr(&self.0)
    }

    /// Charges the account until the end of its transaction for bytes that count as the server's
    /// ([`in_database`]), or gives some of them back.
    pub fn charge_transaction(&self, more: isize) {
        self.0.of_transaction.fetch_add(more, Ordering::Relaxed);
        self.count_here(more);
    }

    /// The transaction has ended.
    pub fn end_transaction(&self) {
        let bytes = self.0.of_transaction.swap(0, Ordering::Relaxed);
        self.count_here(-bytes);
    }

    /// Changes what this thread may still take, if it computes for the account.
    fn count_here(&self, more: isize) {
        with_book(|book| {
            if std::ptr::eq(book.owner.get(), self.address()) {
                book.floor.set(book.floor.get() + more);
            }
        });
    }
}

impl Charge {
    /// A charge of nothing yet.
    pub fn none(keeper: &Keeper) -> Charge {
        Charge { keeper: keeper.clone(), bytes: AtomicIsize::new(0) }
    }

    /// A charge for a value that counts as the server's, and for `more`: what a copy of the value takes.
    pub fn for_value<T: Clone>(keeper: &Keeper, value: &T, more: usize) -> Charge {
        let charge = Charge::none(keeper);
        let left = || with_book(|book| book.left.get());
        let bytes = in_database(|| {
            let before = left();
            let copy = value.clone();
            let bytes = before - left();
            drop(copy);
            bytes
        });
        charge.add(bytes + signed(more));
        charge
    }

    /// Who pays.
    pub fn keeper(&self) -> &Keeper {
        &self.keeper
    }

    /// How many bytes it charges; 0 if what it stands for has given back more than it took.
    pub fn bytes(&self) -> usize {
        usize::try_from(self.bytes.load(Ordering::Relaxed)).unwrap_or(0)
    }

    /// Charges for more bytes that count as the server's ([`in_database`]), or gives some of them back. The
    /// account's session, if this thread computes for it, notices at its next check.
    pub fn add(&self, more: isize) {
        self.count(more);
        self.keeper.count_here(more);
    }

    /// Gives everything back: what it stands for is about to be freed.
    pub fn clear(&self) {
        let bytes = self.bytes.swap(0, Ordering::Relaxed);
        self.keeper.0.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.keeper.count_here(-bytes);
    }

    fn count(&self, more: isize) {
        self.bytes.fetch_add(more, Ordering::Relaxed);
        self.keeper.0.bytes.fetch_add(more, Ordering::Relaxed);
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.keeper.0.bytes.fetch_sub(*self.bytes.get_mut(), Ordering::Relaxed);
    }
}

//! Advisory locks as functions see them: locks on numbers whose meaning is up to the application.
//!
//! A function that must wait fails with [`Abort::MustWait`](crate::error::Abort::MustWait), and its
//! instruction runs again when the lock has been granted.

use crate::error::Result;

/// The key of a lock: one number of 64 bits, or two of 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AdvisoryKey {
    /// The first number, or the upper half.
    pub class: u32,
    /// The second number, or the lower half.
    pub object: u32,
    pub is_pair: bool,
}

/// A requested lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AdvisoryRequest {
    pub key: AdvisoryKey,
    pub is_shared: bool,
    /// Held until it is released or the session ends; otherwise until the transaction ends.
    pub is_of_session: bool,
}

/// The advisory locks of a database, for one session.
pub trait AdvisoryLocks: Send + Sync + std::fmt::Debug {
    /// Takes a lock once more; false if it is not available and `waits` is not set.
    ///
    /// # Errors
    /// [`Abort::MustWait`](crate::error::Abort::MustWait) if it waits; 40P01 if it would wait for itself.
    fn acquire(&self, request: AdvisoryRequest, waits: bool) -> Result<bool>;
    /// Releases a lock of the session once; false if the session does not hold it.
    fn release(&self, key: AdvisoryKey, is_shared: bool) -> bool;
    /// Releases all locks of the session; those of the transaction stay.
    fn release_all(&self);
    /// Calls `wake` when the lock that is waited for has been granted, or at once if it already was.
    fn when_granted(&self, wake: Box<dyn FnOnce() + Send>);
    /// The number of locks that the transaction has taken.
    fn mark(&self) -> usize;
    /// Releases those taken since the mark, and stops waiting.
    fn go_back(&self, mark: usize);
    /// Another statement begins, which may have to run again. Returns the mark.
    fn begin_statement(&self) -> usize;
    /// The statement runs again: locks of the session that it has taken are released, and those that it has
    /// released are taken. One that another session has by now can only be released once more.
    fn repeat_statement(&self);
    /// Releases everything at the end of the session.
    fn end(&self);
}

//! Advisory locks as functions see them: locks on numbers, which mean what their users agree on.
//!
//! Whoever must wait is told so by [`Abort::MustWait`](crate::error::Abort::MustWait): the instruction that
//! asked runs again when the lock has been granted.

use crate::error::Result;

/// What is locked: one number of 64 bits, or two of 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AdvisoryKey {
    /// The first number, or the upper half.
    pub class: u32,
    /// The second number, or the lower half.
    pub object: u32,
    pub is_pair: bool,
}

/// A lock that somebody wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdvisoryRequest {
    pub key: AdvisoryKey,
    pub is_shared: bool,
    /// Until it is given up or the session ends; otherwise until the transaction ends.
    pub is_of_session: bool,
}

/// The advisory locks of a database, as one session has them.
pub trait AdvisoryLocks: Send + Sync + std::fmt::Debug {
    /// Takes a lock once more; false if it is not to be had and `waits` is not set.
    ///
    /// # Errors
    /// [`Abort::MustWait`](crate::error::Abort::MustWait) if it waits; 40P01 if that would be for itself.
    fn acquire(&self, request: AdvisoryRequest, waits: bool) -> Result<bool>;
    /// Gives up a lock of the session once; false if it has none.
    fn release(&self, key: AdvisoryKey, is_shared: bool) -> bool;
    /// Gives up all locks of the session; those of the transaction stay.
    fn release_all(&self);
    /// Calls this when the lock that is waited for has been granted, or at once if it was.
    fn when_granted(&self, wake: Box<dyn FnOnce() + Send>);
    /// How many locks the transaction has taken.
    fn mark(&self) -> usize;
    /// Gives up those that it has taken since, and stops waiting.
    fn go_back(&self, mark: usize);
    /// Gives up everything: the session ends.
    fn end(&self);
}

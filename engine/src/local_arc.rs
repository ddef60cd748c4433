//! A counted reference whose count is one thread's own.
//!
//! Cloning an `Arc` that all sessions share writes to the cache line of its count, and processors that do it
//! for every call take turns at that line. A [`LocalArc`] is an `Arc` of an `Arc`: who uses it clones and
//! drops the outer one, which nobody else does, at the cost of one small allocation when it is made.

use std::ops::Deref;
use std::sync::Arc;

/// A counted reference whose count is one thread's own, so that threads which clone often do not meet at one.
#[derive(Debug)]
#[allow(clippy::redundant_allocation)] // The outer count is the point.
pub struct LocalArc<T>(Arc<Arc<T>>);

impl<T> LocalArc<T> {
    pub fn shared(&self) -> &Arc<T> {
        &self.0
    }

    pub fn is(&self, other: &Arc<T>) -> bool {
        Arc::ptr_eq(self.shared(), other)
    }
}

impl<T> From<Arc<T>> for LocalArc<T> {
    fn from(shared: Arc<T>) -> LocalArc<T> {
        LocalArc(Arc::new(shared))
    }
}

impl<T> Clone for LocalArc<T> {
    #[inline]
    fn clone(&self) -> LocalArc<T> {
        LocalArc(Arc::clone(&self.0))
    }
}

impl<T> Deref for LocalArc<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

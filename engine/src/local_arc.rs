//! A reference whose count belongs to one thread.
//!
//! Cloning an `Arc` that all sessions share writes to the cache line of its count, and processors that do so
//! for every call contend for that line. A [`LocalArc`] is an `Arc` of an `Arc`: its user clones and drops
//! the outer one, which no other thread does, at the cost of one small allocation when it is made.

use std::ops::Deref;
use std::sync::Arc;

/// A reference whose count belongs to one thread, so that threads that clone often do not contend for it.
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

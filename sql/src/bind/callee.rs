//! Routines that a statement calls.

use std::sync::Arc;

use hyades_engine::procedure::ir::Callee;

/// A routine that is called.
#[derive(Clone, Debug)]
pub(crate) struct CalleeEntry {
    pub(crate) callee: Callee,
    /// A NULL argument gives NULL without a call.
    pub(crate) is_strict: bool,
}

impl CalleeEntry {
    pub(crate) fn is_same(&self, other: &CalleeEntry) -> bool {
        match (&self.callee, &other.callee) {
            (Callee::Current, Callee::Current) => true,
            (Callee::Procedure { procedure: own, .. }, Callee::Procedure { procedure: other, .. }) => {
                Arc::ptr_eq(own, other)
            }
            _ => false,
        }
    }
}

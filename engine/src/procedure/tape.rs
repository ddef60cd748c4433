//! What the slices of a call pass to each other.

use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::value::Value;

/// Values in the order in which one slice of a call has put them, and how many of them another has taken.
#[derive(Debug, Default)]
pub(crate) struct Tape {
    values: Vec<Value>,
    taken: usize,
}

impl Tape {
    /// Back to its beginning, for the next slice that takes from it. Returns whether a slice has taken
    /// something, but not all.
    pub(crate) fn rewind(&mut self) -> bool {
        let taken = std::mem::take(&mut self.taken);
        taken > 0 && taken < self.values.len()
    }

    pub(crate) fn put(&mut self, value: Value) {
        self.values.push(value);
    }

    /// The next value.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn take(&mut self) -> Result<Value> {
        let next = self.values.get(self.taken).cloned();
        self.taken += 1;
        next.ok_or_else(|| Error::input(sqlstate::INTERNAL_ERROR, "a slice takes more than another has put"))
    }
}

//! Rows told apart by their values, as DISTINCT, GROUP BY and set operations do.
//!
//! Only a key that is new is allocated: most rows of a grouping bring one that is there.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use hyades_types::key;
use hyades_types::value::Value;

/// The places of rows, by keys that are equal when SQL calls their values not distinct.
#[derive(Debug, Default)]
pub(super) struct RowKeys {
    places: HashMap<Box<[u8]>, usize, RandomState>,
    /// The key that is being made.
    key: Vec<u8>,
}

impl RowKeys {
    /// Begins a key; those of different sets are never the same.
    pub(super) fn begin(&mut self, set: usize) {
        self.key.clear();
        self.key.extend_from_slice(&set.to_le_bytes());
    }

    pub(super) fn push(&mut self, value: &Value) {
        match value.sql_type() {
            None => self.key.push(0),
            Some(sql_type) => {
                self.key.push(1);
                key::encode(value, sql_type, &mut self.key);
            }
        }
    }

    /// The place of the row with the key that was made; `next` becomes that of a new one.
    pub(super) fn place(&mut self, next: usize) -> usize {
        match self.places.get(self.key.as_slice()) {
            Some(place) => *place,
            None => {
                self.places.insert(self.key.as_slice().into(), next);
                next
            }
        }
    }

    /// The same for values that are the whole key.
    pub(super) fn place_of<'a>(&mut self, values: impl IntoIterator<Item = &'a Value>, next: usize) -> usize {
        self.begin(0);
        values.into_iter().for_each(|value| self.push(value));
        self.place(next)
    }

    /// Whether no row before had these values.
    pub(super) fn is_new<'a>(&mut self, values: impl IntoIterator<Item = &'a Value>) -> bool {
        let next = self.places.len();
        self.place_of(values, next) == next
    }
}

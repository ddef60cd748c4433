//! Rows told apart by their values, as DISTINCT, GROUP BY and set operations do it.
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

    /// The same for a `character` if it is one: its trailing blanks do not count.
    pub(super) fn push_perhaps_char(&mut self, value: &Value, is_char: bool) {
        match value.as_str() {
            Some(text) if is_char => self.push(&Value::text(text.trim_end_matches(' '))),
            _ => self.push(value),
        }
    }

    /// The place of the row with the key that was made.
    pub(super) fn place(&self) -> Option<usize> {
        self.places.get(self.key.as_slice()).copied()
    }

    /// Gives the key that was made this place.
    pub(super) fn add(&mut self, place: usize) {
        self.places.insert(self.key.as_slice().into(), place);
    }

    /// The key that was made.
    pub(super) fn key(&self) -> &[u8] {
        &self.key
    }

    /// Whether no row before had these values, all of them of type `character` or none.
    pub(super) fn is_new<'a>(&mut self, values: impl IntoIterator<Item = &'a Value>, is_char: bool) -> bool {
        self.begin(0);
        values.into_iter().for_each(|value| self.push_perhaps_char(value, is_char));
        let is_new = self.place().is_none();
        if is_new {
            self.add(0);
        }
        is_new
    }
}

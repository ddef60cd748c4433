//! Rows told apart by their values, as DISTINCT, GROUP BY and set operations do it.
//!
//! Most rows of a grouping bring a key that is there. The keys stand in one buffer, and beside the place of
//! each its hash, so finding one looks at one entry and then at the bytes of the key.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hyades_types::key;
use hyades_types::value::Value;

/// The places of rows, by keys that are equal when SQL calls their values not distinct.
#[derive(Debug, Default)]
pub(super) struct RowKeys {
    entries: HashTable<Entry>,
    /// Those keys, one after the other.
    bytes: Vec<u8>,
    hasher: RandomState,
    /// The key that is being made.
    key: Vec<u8>,
}

#[derive(Debug)]
struct Entry {
    hash: u64,
    /// Where the key begins and ends in the buffer.
    start: usize,
    end: usize,
    place: usize,
}

impl RowKeys {
    /// Begins a key.
    pub(super) fn begin(&mut self) {
        self.key.clear();
    }

    /// Keys that begin with different sets are never the same.
    pub(super) fn push_set(&mut self, set: usize) {
        self.key.extend_from_slice(&set.to_le_bytes());
    }

    pub(super) fn push(&mut self, value: &Value) {
        key::encode_distinct(value, &mut self.key);
    }

    /// The same for a `character` if it is one: its trailing blanks do not count.
    pub(super) fn push_perhaps_char(&mut self, value: &Value, is_char: bool) {
        match value.as_str() {
            Some(text) if is_char => {
                key::encode_distinct_text(Some(text.trim_end_matches(' ').as_bytes()), &mut self.key);
            }
            _ => self.push(value),
        }
    }

    /// The key is this one, made of values that none of them is a `character`.
    pub(super) fn set(&mut self, key: &[u8]) {
        self.key.clear();
        self.key.extend_from_slice(key);
    }

    fn hash(&self) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(&self.key);
        hasher.finish()
    }

    /// The place of the row with the key that was made.
    pub(super) fn place(&self) -> Option<usize> {
        let hash = self.hash();
        let is_it = |entry: &Entry| entry.hash == hash && self.bytes[entry.start..entry.end] == self.key;
        self.entries.find(hash, is_it).map(|entry| entry.place)
    }

    /// Gives the key that was made, which has none, this place.
    pub(super) fn add(&mut self, place: usize) {
        let (hash, start) = (self.hash(), self.bytes.len());
        self.bytes.extend_from_slice(&self.key);
        let entry = Entry { hash, start, end: self.bytes.len(), place };
        self.entries.insert_unique(hash, entry, |entry| entry.hash);
    }

    /// The key that was made.
    pub(super) fn key(&self) -> &[u8] {
        &self.key
    }

    /// Whether no row before had these values, all of them of type `character` or none.
    pub(super) fn is_new<'a>(&mut self, values: impl IntoIterator<Item = &'a Value>, is_char: bool) -> bool {
        self.begin();
        values.into_iter().for_each(|value| self.push_perhaps_char(value, is_char));
        let is_new = self.place().is_none();
        if is_new {
            self.add(0);
        }
        is_new
    }
}

//! Distinguishes rows by their values, as in DISTINCT, GROUP BY and set operations.
//!
//! Most rows of a grouping have a known key. The keys are in one buffer, and an entry holds the position of a
//! key and its hash, so finding one reads one entry and then the bytes of the key.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hyades_types::error::Result;
use hyades_types::key;
use hyades_types::memory;
use hyades_types::value::Value;

/// Positions of rows by their keys, which are equal if the values are not distinct in SQL.
#[derive(Debug, Default)]
pub(super) struct RowKeys {
    entries: HashTable<Entry>,
    /// The keys, one after the other.
    bytes: Vec<u8>,
    hasher: RandomState,
    /// The key that is being built.
    key: Vec<u8>,
}

#[derive(Debug)]
struct Entry {
    hash: u64,
    /// The range of the key in the buffer.
    start: usize,
    end: usize,
    place: usize,
}

impl RowKeys {
    /// Asks for the room for the key of these values, which is encoded without asking.
    ///
    /// # Errors
    /// 53200.
    pub(super) fn ask_for<'a>(values: impl IntoIterator<Item = &'a Value>) -> Result<()> {
        let bytes = |value: &Value| match value {
            Value::Array(array) => array.heap_bytes(),
            other => other.heap_bytes(),
        };
        // A byte may become two, and the buffer doubles.
        memory::check(values.into_iter().map(bytes).sum::<usize>().saturating_mul(3))
    }

    /// Begins a key.
    pub(super) fn begin(&mut self) {
        self.key.clear();
    }

    /// Keys that begin with different sets are never equal.
    pub(super) fn push_set(&mut self, set: usize) {
        self.key.extend_from_slice(&set.to_le_bytes());
    }

    pub(super) fn push(&mut self, value: &Value) {
        key::encode_distinct(value, &mut self.key);
    }

    /// The same for a `character`, if it is one: trailing blanks do not count.
    pub(super) fn push_perhaps_char(&mut self, value: &Value, is_char: bool) {
        match value.as_str() {
            Some(text) if is_char => {
                key::encode_distinct_text(Some(text.trim_end_matches(' ').as_bytes()), &mut self.key);
            }
            _ => self.push(value),
        }
    }

    /// Sets the key to this one, which contains no value of type `character`.
    pub(super) fn set(&mut self, key: &[u8]) {
        self.key.clear();
        self.key.extend_from_slice(key);
    }

    fn hash(&self) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(&self.key);
        hasher.finish()
    }

    /// The position of the row with the key just built.
    pub(super) fn place(&self) -> Option<usize> {
        let hash = self.hash();
        let is_it = |entry: &Entry| entry.hash == hash && self.bytes[entry.start..entry.end] == self.key;
        self.entries.find(hash, is_it).map(|entry| entry.place)
    }

    /// Assigns this position to the key just built, which has none.
    ///
    /// # Errors
    /// 53200, before the buffer grows.
    pub(super) fn add(&mut self, place: usize) -> Result<()> {
        let (hash, start) = (self.hash(), self.bytes.len());
        memory::check_growth::<u8>(self.bytes.capacity(), start + self.key.len())?;
        memory::check_growth::<Entry>(self.entries.capacity(), self.entries.len() + 1)?;
        self.bytes.extend_from_slice(&self.key);
        let entry = Entry { hash, start, end: self.bytes.len(), place };
        self.entries.insert_unique(hash, entry, |entry| entry.hash);
        Ok(())
    }

    /// The key just built.
    pub(super) fn key(&self) -> &[u8] {
        &self.key
    }

    /// Whether no earlier row had these values. Either all or none of them are of type `character`.
    ///
    /// # Errors
    /// As [`RowKeys::add`].
    pub(super) fn is_new<'a>(
        &mut self,
        values: impl IntoIterator<Item = &'a Value, IntoIter: Clone>,
        is_char: bool,
    ) -> Result<bool> {
        let values = values.into_iter();
        RowKeys::ask_for(values.clone())?;
        self.begin();
        values.for_each(|value| self.push_perhaps_char(value, is_char));
        let is_new = self.place().is_none();
        if is_new {
            self.add(0)?;
        }
        Ok(is_new)
    }
}

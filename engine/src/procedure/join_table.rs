//! Join tables: rows of one side of a join, found again by the values that they are joined on.
//!
//! The hash table of a hash join (Shapiro, "Join Processing in Database Systems with Large Main Memories",
//! TODS 1986). Rows under one key come in the order in which they were kept. For a full join each row notes
//! whether it has found a match on the other side. Beyond `work_mem` all rows go to a file (`spilled_join`).
//!
//! A row costs no allocation of its own: its key and its bytes are in one buffer with those of all others.
//! Look-ups use a *word*: the key itself if that is one scalar, as most are. The word of any other key is a
//! hash of its encoding, which is kept with each row under it and is compared too. Which row is the first
//! under a word (`join_heads`) is computed at the first look-up: all rows have been kept by then, so nothing
//! grows or moves afterwards. In a file all keys are looked up by a hash of their bytes.
//!
//! Invariant: the keys of one table are all single scalars, or none is. Each part of the keys has one type.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashSet;
use hyades_types::environment::WorkMemory;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::guest;
use hyades_types::key;
use hyades_types::scalar::Scalar;
use hyades_types::value::Value;

use super::join_heads::{JoinHeads, KeyWord};
use super::joined_row::JoinedRow;
use super::spilled_join::SpilledJoin;
use crate::spill::held_bytes;

/// The key under which a row is kept.
#[derive(Clone, Copy)]
pub(crate) enum JoinKey<'k> {
    Scalar(Scalar),
    Values(&'k [Value]),
}

/// Where a row's parts are, one after the other.
struct Kept {
    start: usize,
    /// The word by which its key is looked up.
    word: u64,
    key_bytes: u32,
    row_key_bytes: u32,
    row_bytes: u32,
    /// The next one under the same key, once the heads are known. [`NO_ROW`] after the last.
    next: u32,
    is_joined: bool,
    /// Whether its key has no NULL.
    is_found: bool,
}

const NO_ROW: u32 = u32::MAX;

/// A key, prepared for a look-up.
#[derive(Clone, Copy)]
struct Sought {
    word: u64,
    /// The word is a hash of what is encoded in [`JoinTable::key`].
    is_encoded: bool,
}

#[derive(Default)]
pub(crate) struct JoinTable {
    rows: Vec<Kept>,
    bytes: Vec<u8>,
    /// Of all rows, this many for each.
    values: Vec<Value>,
    width: usize,
    /// `None` until the first look-up.
    heads: Option<JoinHeads>,
    /// Words are hashes of the encoded keys.
    is_encoded: bool,
    hasher: RandomState,
    /// Values of [`JoinTable::keep_new`].
    known: HashSet<Box<[u8]>, RandomState>,
    /// For the bytes of the current key.
    key: Vec<u8>,
    /// Estimated bytes of the rows.
    held: usize,
    /// All rows, once they have become too many.
    spilled: Option<Box<SpilledJoin>>,
}

/// The memory of a row besides its bytes and values.
const ROW_BYTES: usize = size_of::<Kept>() + JoinHeads::ROW_BYTES;

impl JoinTable {
    pub(crate) fn len(&self) -> usize {
        self.spilled.as_ref().map_or(self.rows.len(), |spilled| spilled.len())
    }

    pub(crate) fn clear(&mut self) {
        self.rows.clear();
        self.bytes.clear();
        self.values.clear();
        self.heads = None;
        self.is_encoded = false;
        self.known.clear();
        self.held = 0;
        self.spilled = None;
    }

    /// Frees all memory.
    pub(crate) fn put_away(&mut self) {
        *self = JoinTable::default();
    }

    /// Keeps a row. With a NULL in its key it is never found, but it is there for a full join.
    ///
    /// # Errors
    /// 54000 beyond 2^32 - 1 rows, and for a row of 4 GiB.
    pub(crate) fn keep(
        &mut self,
        key: JoinKey<'_>,
        (row_key, row): (&[u8], &[u8]),
        values: &[Value],
        work: &WorkMemory,
    ) -> Result<()> {
        if self.len() >= NO_ROW as usize {
            return Err(too_large("a join can keep at most 4294967295 rows"));
        }
        let sought = self.sought(key);
        sought.inspect(|sought| self.complete_key(*sought));
        let is_found = sought.is_some();
        let length = |bytes: &[u8]| {
            u32::try_from(bytes.len()).map_err(|_| too_large("a join can keep rows of at most 4 GiB"))
        };
        let (key_bytes, row_key_bytes, row_bytes) = (length(&self.key)?, length(row_key)?, length(row)?);
        if let Some(spilled) = &mut self.spilled {
            let hash = is_found.then(|| self.hasher.hash_one(self.key.as_slice()));
            return spilled.keep(hash, (&self.key, row_key, row), values);
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&self.key);
        self.bytes.extend_from_slice(row_key);
        self.bytes.extend_from_slice(row);
        self.values.extend_from_slice(values);
        self.width = values.len();
        let next = NO_ROW;
        let word = sought.map_or(0, |sought| sought.word);
        let kept =
            Kept { start, word, key_bytes, row_key_bytes, row_bytes, next, is_joined: false, is_found };
        self.rows.push(kept);
        self.heads = None;
        self.is_encoded |= sought.is_some_and(|sought| sought.is_encoded);
        let of_values = if values.is_empty() { 0 } else { held_bytes(values) };
        self.held += ROW_BYTES + self.bytes.len() - start + of_values;
        if self.held > work.bytes { self.spill(work) } else { Ok(()) }
    }

    /// Determines which rows are the first ones under their keys, and which ones follow each.
    #[cold]
    fn link(&mut self) -> Result<JoinHeads> {
        guest::spend_for(self.rows.len())?;
        let words = self.rows.iter().filter(|kept| kept.is_found).map(|kept| kept.word);
        let mut heads = JoinHeads::create(words, self.is_encoded)?;
        for number in (0..self.rows.len()).rev() {
            let kept = &self.rows[number];
            if kept.is_found {
                let key = self.is_encoded.then(|| key_of(kept, &self.bytes));
                let is_same =
                    |first: u32| key.is_none_or(|key| key_of(&self.rows[first as usize], &self.bytes) == key);
                // `keep` has ensured that the numbers fit.
                let before = heads.put(KeyWord(kept.word), number as u32, is_same);
                self.rows[number].next = before.unwrap_or(NO_ROW);
            }
        }
        Ok(heads)
    }

    /// Moves all rows into a file.
    #[cold]
    fn spill(&mut self, work: &WorkMemory) -> Result<()> {
        let mut spilled = SpilledJoin::create(work)?;
        for (number, kept) in self.rows.iter().enumerate() {
            let key = key_of(kept, &self.bytes);
            let hash = kept.is_found.then(|| self.hasher.hash_one(key));
            let row_key = &self.bytes[kept.start + key.len()..][..kept.row_key_bytes as usize];
            let row = &self.bytes[kept.start + key.len() + row_key.len()..][..kept.row_bytes as usize];
            spilled.keep(hash, (key, row_key, row), &self.values[number * self.width..][..self.width])?;
        }
        self.spilled = Some(Box::new(spilled));
        self.rows = Vec::new();
        self.bytes = Vec::new();
        self.values = Vec::new();
        self.heads = None;
        Ok(())
    }

    /// Keeps values. `false` if they are kept already. NULLs are equal to each other here.
    pub(crate) fn keep_new(&mut self, values: &[Value]) -> bool {
        self.key.clear();
        values.iter().for_each(|value| key::encode_distinct(value, &mut self.key));
        if self.known.contains(self.key.as_slice()) {
            return false;
        }
        self.known.insert(self.key.as_slice().into())
    }

    /// The number of the first row under this key.
    #[inline]
    pub(crate) fn first(&mut self, key: JoinKey<'_>) -> Result<Option<u32>> {
        let Some(sought) = self.sought(key) else { return Ok(None) };
        if self.spilled.is_some() {
            return self.first_spilled(sought);
        }
        if self.heads.is_none() {
            self.heads = Some(self.link()?);
        }
        let Some(heads) = &self.heads else { return Ok(None) };
        let is_it = |first: u32| {
            !sought.is_encoded || key_of(&self.rows[first as usize], &self.bytes) == self.key.as_slice()
        };
        Ok(heads.find(KeyWord(sought.word), is_it))
    }

    #[cold]
    fn first_spilled(&mut self, sought: Sought) -> Result<Option<u32>> {
        self.complete_key(sought);
        let hash = self.hasher.hash_one(self.key.as_slice());
        self.spilled.as_mut().map_or(Ok(None), |spilled| spilled.find(hash, &self.key, 0))
    }

    /// The word of this key. `None` if a part of it is NULL.
    #[inline]
    fn sought(&mut self, key: JoinKey<'_>) -> Option<Sought> {
        self.key.clear();
        let scalar = match key {
            JoinKey::Scalar(scalar) => Some(scalar),
            JoinKey::Values([value]) => Scalar::of(value),
            JoinKey::Values(_) => None,
        };
        match (scalar, key) {
            (Some(scalar), _) => {
                (!scalar.is_null()).then_some(Sought { word: scalar.number as u64, is_encoded: false })
            }
            (None, JoinKey::Values(values)) if encode(values, &mut self.key) => {
                Some(Sought { word: self.hasher.hash_one(self.key.as_slice()), is_encoded: true })
            }
            _ => None,
        }
    }

    /// Encodes a key that is its own word.
    fn complete_key(&mut self, sought: Sought) {
        if !sought.is_encoded {
            self.key.extend_from_slice(&sought.word.to_be_bytes());
        }
    }

    /// The number of the next row under the same key.
    pub(crate) fn following(&mut self, number: u32) -> Result<Option<u32>> {
        if let Some(spilled) = &mut self.spilled {
            let Some(key) = spilled.key_of(number)? else { return Ok(None) };
            let hash = self.hasher.hash_one(key.as_slice());
            return number.checked_add(1).map_or(Ok(None), |next| spilled.find(hash, &key, next));
        }
        let kept = self.rows.get(number as usize);
        Ok(kept.map(|kept| kept.next).filter(|next| *next != NO_ROW))
    }

    /// The first row from this number on that has no match on the other side.
    pub(crate) fn unjoined(&self, from: u32) -> Option<u32> {
        if let Some(spilled) = &self.spilled {
            return spilled.unjoined(from);
        }
        let found = self.rows.get(from as usize..)?.iter().position(|row| !row.is_joined)?;
        u32::try_from(found).ok().and_then(|found| from.checked_add(found))
    }

    pub(crate) fn note_joined(&mut self, number: u32) {
        if let Some(spilled) = &mut self.spilled {
            spilled.note_joined(number);
        } else if let Some(row) = self.rows.get_mut(number as usize) {
            row.is_joined = true;
        }
    }

    pub(crate) fn forget_joined(&mut self) {
        if let Some(spilled) = &mut self.spilled {
            spilled.forget_joined();
        }
        self.rows.iter_mut().for_each(|row| row.is_joined = false);
    }

    pub(crate) fn row(&mut self, number: u32) -> Result<Option<JoinedRow<'_>>> {
        if let Some(spilled) = &mut self.spilled {
            return spilled.row(number);
        }
        let Some(kept) = self.rows.get(number as usize) else { return Ok(None) };
        let row_key = kept.start + kept.key_bytes as usize;
        let row = row_key + kept.row_key_bytes as usize;
        let first = number as usize * self.width;
        Ok(Some(JoinedRow {
            row_key: &self.bytes[row_key..row],
            row: &self.bytes[row..row + kept.row_bytes as usize],
            values: &self.values[first..first + self.width],
        }))
    }
}

/// The encoded key of a row. Empty if it is its own word and no row is in a file.
#[inline]
fn key_of<'b>(kept: &Kept, bytes: &'b [u8]) -> &'b [u8] {
    &bytes[kept.start..][..kept.key_bytes as usize]
}

#[cold]
fn too_large(message: &str) -> Error {
    Error::input(sqlstate::PROGRAM_LIMIT_EXCEEDED, message)
}

/// Writes a key so that equal values have equal bytes. `false` if one of them is NULL.
fn encode(values: &[Value], key: &mut Vec<u8>) -> bool {
    key.clear();
    values.iter().all(|value| match value.sql_type() {
        None => false,
        Some(sql_type) => {
            key::encode(value, sql_type, key);
            true
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory for everything, for some rows, for none.
    const SIZES: [usize; 4] = [usize::MAX, 100_000, 3000, 1];

    fn work(bytes: usize) -> WorkMemory {
        WorkMemory { bytes, ..WorkMemory::default() }
    }

    fn numbers(table: &mut JoinTable, key: &[Value]) -> Vec<u32> {
        let mut found = Vec::new();
        let mut next = table.first(JoinKey::Values(key)).unwrap();
        while let Some(number) = next {
            found.push(number);
            next = table.following(number).unwrap();
        }
        found
    }

    fn unjoined(table: &JoinTable) -> Vec<u32> {
        let mut unjoined = Vec::new();
        let mut next = table.unjoined(0);
        while let Some(number) = next {
            unjoined.push(number);
            next = table.unjoined(number + 1);
        }
        unjoined
    }

    #[test]
    fn rows_come_in_order_and_null_finds_nothing() {
        for bytes in SIZES {
            let mut table = JoinTable::default();
            let keys = [Value::Integer(1), Value::Null, Value::Integer(2), Value::Integer(1), Value::Null];
            for (at, key) in keys.iter().enumerate() {
                let row = [u8::try_from(at).unwrap()];
                let key = std::slice::from_ref(key);
                table.keep(JoinKey::Values(key), (&[], &row), key, &work(bytes)).unwrap();
            }
            assert_eq!(table.spilled.is_some(), bytes == 1);
            assert_eq!(numbers(&mut table, &[Value::Integer(1)]), [0, 3]);
            assert_eq!(numbers(&mut table, &[Value::Integer(2)]), [2]);
            assert!(numbers(&mut table, &[Value::Integer(3)]).is_empty());
            assert!(numbers(&mut table, &[Value::Null]).is_empty());
            let found = table.row(3).unwrap().unwrap();
            assert_eq!((found.row, found.values), (&[3_u8][..], &[Value::Integer(1)][..]));
            assert!(table.row(5).unwrap().is_none());
            table.note_joined(0);
            table.note_joined(2);
            assert_eq!(unjoined(&table), [1, 3, 4]);
            table.forget_joined();
            assert_eq!(unjoined(&table), [0, 1, 2, 3, 4]);
            table.clear();
            assert_eq!(table.first(JoinKey::Values(&[Value::Integer(1)])).unwrap(), None);
        }
    }

    #[test]
    fn all_rows_stand_under_no_key() {
        for bytes in SIZES {
            let mut table = JoinTable::default();
            let count: u32 = 2000;
            for number in 0..count {
                let row_key = number.to_be_bytes();
                table.keep(JoinKey::Values(&[]), (&row_key, &[]), &[], &work(bytes)).unwrap();
            }
            assert_eq!(table.spilled.is_some(), bytes < usize::MAX);
            assert_eq!(numbers(&mut table, &[]), (0..count).collect::<Vec<u32>>());
            for number in (0..count).rev() {
                let found = table.row(number).unwrap().unwrap();
                assert_eq!((found.row_key, found.row), (&number.to_be_bytes()[..], &[][..]));
            }
        }
    }

    /// Many rows under many keys, a few of them under one, and rows of all lengths.
    #[test]
    fn what_is_found_does_not_depend_on_memory() {
        let key = |at: usize| match at % 10 {
            0 => Value::Null,
            1..=3 => Value::text("often"),
            _ => Value::text(format!("key {}", at * 7919 % 1500)),
        };
        let row = |at: usize| vec![at as u8; at * 31 % 5000 / (1 + at % 17)];
        let values = |at: usize| [key(at), Value::BigInt(at as i64)];
        let tables = SIZES.map(|bytes| {
            let mut table = JoinTable::default();
            for at in 0..6000 {
                let key = [key(at)];
                table.keep(JoinKey::Values(&key), (&[], &row(at)), &values(at), &work(bytes)).unwrap();
            }
            table
        });
        let [mut in_memory, spilled @ ..] = tables;
        assert!(in_memory.spilled.is_none());
        for mut table in spilled {
            assert!(table.spilled.is_some());
            for wanted in (0..1500).map(|at| Value::text(format!("key {at}"))).chain([Value::text("often")]) {
                let wanted = [wanted];
                let found = numbers(&mut table, &wanted);
                assert_eq!(found, numbers(&mut in_memory, &wanted));
                for number in found {
                    let at = number as usize;
                    let shown = table.row(number).unwrap().unwrap();
                    assert_eq!((shown.row, shown.values), (&row(at)[..], &values(at)[..]));
                }
            }
            for number in [5999, 0, 17, 16, 4000] {
                table.note_joined(number);
                assert_eq!(table.row(number).unwrap().unwrap().row, row(number as usize));
            }
            let left = unjoined(&table);
            assert_eq!((left.len(), left.contains(&17), left.contains(&18)), (5995, false, true));
        }
    }

    /// A scalar finds what was kept under its value, and keys of several parts are told apart by all of them.
    #[test]
    fn keys_are_what_they_are_made_of() {
        for bytes in SIZES {
            let mut table = JoinTable::default();
            for number in [-1_i32, 0, 1, 0] {
                let key = [Value::Integer(number)];
                table.keep(JoinKey::Values(&key), (&[], &[]), &[], &work(bytes)).unwrap();
            }
            let of = |number: i32| JoinKey::Scalar(Scalar::of(&Value::Integer(number)).unwrap());
            let found = [-1, 0, 1, 2].map(|number| table.first(of(number)).unwrap());
            assert_eq!(found, [Some(0), Some(1), Some(2), None]);
            assert_eq!(table.following(1).unwrap(), Some(3));
            assert_eq!(table.first(JoinKey::Scalar(Scalar::NULL)).unwrap(), None);
            table.clear();
            let keys = [("a", 1), ("a", 2), ("b", 1), ("", 1)];
            let key = |(text, number)| [Value::text(text), Value::Integer(number)];
            for pair in keys {
                table.keep(JoinKey::Values(&key(pair)), (&[], &[]), &[], &work(bytes)).unwrap();
            }
            assert_eq!(keys.map(|pair| numbers(&mut table, &key(pair))), [[0], [1], [2], [3]]);
            assert!(numbers(&mut table, &[Value::text("a"), Value::Null]).is_empty());
        }
    }
}

//! Join tables: rows of one side of a join, found again by the values that they are joined on.
//!
//! The hash table of a hash join (Shapiro, "Join Processing in Database Systems with Large Main Memories",
//! TODS 1986), held in memory as a whole. Rows under one key come in the order in which they were kept. For a
//! full join each row says whether it has found one of the other side.
//!
//! A row costs no allocation of its own: its key and its bytes stand in one buffer with those of all
//! others, and what is looked up is the hash of the key, then the key of the first row under it.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::{HashSet, HashTable};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::key;
use hyades_types::value::Value;

/// What is kept of a row.
pub(crate) struct JoinedRow<'t> {
    /// The key in storage of the row in its row slot, if that row is to be changed.
    pub(crate) row_key: &'t [u8],
    /// The bytes of its row slot.
    pub(crate) row: &'t [u8],
    /// The values of its registers.
    pub(crate) values: &'t [Value],
}

/// Where a row's parts are, one after the other.
struct Kept {
    start: usize,
    key_bytes: u32,
    row_key_bytes: u32,
    row_bytes: u32,
    /// The next one under the same key; [`NO_ROW`] after the last.
    next: u32,
    is_joined: bool,
}

const NO_ROW: u32 = u32::MAX;

/// The rows under one key.
struct Chain {
    hash: u64,
    first: u32,
    last: u32,
}

#[derive(Default)]
pub(crate) struct JoinTable {
    rows: Vec<Kept>,
    bytes: Vec<u8>,
    /// Of all rows, this many of each.
    values: Vec<Value>,
    width: usize,
    chains: HashTable<Chain>,
    hasher: RandomState,
    /// Values kept for their own sake.
    known: HashSet<Box<[u8]>, RandomState>,
    /// For keys that are looked up.
    key: Vec<u8>,
}

impl JoinTable {
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn clear(&mut self) {
        self.rows.clear();
        self.bytes.clear();
        self.values.clear();
        self.chains.clear();
        self.known.clear();
    }

    /// Holds no memory any more.
    pub(crate) fn put_away(&mut self) {
        *self = JoinTable::default();
    }

    /// Keeps a row. With a NULL in its key it is never found, though it is there for a full join.
    ///
    /// # Errors
    /// 54000 beyond 2^32 - 1 rows, and for a row of 4 GiB.
    pub(crate) fn keep(
        &mut self,
        key: &[Value],
        (row_key, row): (&[u8], &[u8]),
        values: &[Value],
    ) -> Result<()> {
        let number = self.rows.len().try_into().ok().filter(|number| *number != NO_ROW);
        let number = number.ok_or_else(|| too_large("a join can keep at most 4294967295 rows"))?;
        let is_found = encode(key, &mut self.key);
        let length = |bytes: &[u8]| {
            u32::try_from(bytes.len()).map_err(|_| too_large("a join can keep rows of at most 4 GiB"))
        };
        let start = self.bytes.len();
        let (key_bytes, row_key_bytes, row_bytes) = (length(&self.key)?, length(row_key)?, length(row)?);
        self.bytes.extend_from_slice(&self.key);
        self.bytes.extend_from_slice(row_key);
        self.bytes.extend_from_slice(row);
        self.values.extend_from_slice(values);
        self.width = values.len();
        self.rows.push(Kept { start, key_bytes, row_key_bytes, row_bytes, next: NO_ROW, is_joined: false });
        if !is_found {
            return Ok(());
        }
        let hash = self.hasher.hash_one(self.key.as_slice());
        let (rows, bytes) = (&self.rows, &self.bytes);
        match self.chains.find_mut(hash, |chain| chain.is_of(hash, &self.key, rows, bytes)) {
            Some(chain) => {
                let last = std::mem::replace(&mut chain.last, number);
                self.rows[last as usize].next = number;
            }
            None => {
                let chain = Chain { hash, first: number, last: number };
                self.chains.insert_unique(hash, chain, |chain| chain.hash);
            }
        }
        Ok(())
    }

    /// Keeps values; `false` if they are kept already. NULLs are equal to each other here.
    pub(crate) fn keep_new(&mut self, values: &[Value]) -> bool {
        self.key.clear();
        for value in values {
            self.key.push(u8::from(!value.is_null()));
            if let Some(sql_type) = value.sql_type() {
                key::encode(value, sql_type, &mut self.key);
            }
        }
        if self.known.contains(self.key.as_slice()) {
            return false;
        }
        self.known.insert(self.key.as_slice().into())
    }

    /// The number of the first row under this key.
    pub(crate) fn first(&mut self, key: &[Value]) -> Option<u32> {
        if !encode(key, &mut self.key) {
            return None;
        }
        let hash = self.hasher.hash_one(self.key.as_slice());
        let is_it = |chain: &Chain| chain.is_of(hash, &self.key, &self.rows, &self.bytes);
        self.chains.find(hash, is_it).map(|chain| chain.first)
    }

    /// The number of the row under the same key that comes after this one.
    pub(crate) fn following(&self, number: u32) -> Option<u32> {
        Some(self.rows.get(number as usize)?.next).filter(|next| *next != NO_ROW)
    }

    /// The first row from this number on that has found none of the other side.
    pub(crate) fn unjoined(&self, from: u32) -> Option<u32> {
        let found = self.rows.get(from as usize..)?.iter().position(|row| !row.is_joined)?;
        u32::try_from(found).ok().and_then(|found| from.checked_add(found))
    }

    pub(crate) fn note_joined(&mut self, number: u32) {
        if let Some(row) = self.rows.get_mut(number as usize) {
            row.is_joined = true;
        }
    }

    pub(crate) fn forget_joined(&mut self) {
        self.rows.iter_mut().for_each(|row| row.is_joined = false);
    }

    pub(crate) fn row(&self, number: u32) -> Option<JoinedRow<'_>> {
        let kept = self.rows.get(number as usize)?;
        let row_key = kept.start + kept.key_bytes as usize;
        let row = row_key + kept.row_key_bytes as usize;
        let first = number as usize * self.width;
        Some(JoinedRow {
            row_key: &self.bytes[row_key..row],
            row: &self.bytes[row..row + kept.row_bytes as usize],
            values: &self.values[first..first + self.width],
        })
    }
}

impl Chain {
    #[inline]
    fn is_of(&self, hash: u64, key: &[u8], rows: &[Kept], bytes: &[u8]) -> bool {
        let first = &rows[self.first as usize];
        self.hash == hash && bytes[first.start..first.start + first.key_bytes as usize] == *key
    }
}

#[cold]
fn too_large(message: &str) -> Error {
    Error::input(sqlstate::PROGRAM_LIMIT_EXCEEDED, message)
}

/// Writes a key so that equal values have equal bytes; `false` if one of them is NULL.
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

    fn numbers(table: &mut JoinTable, key: &[Value]) -> Vec<u32> {
        let mut found = Vec::new();
        let mut next = table.first(key);
        while let Some(number) = next {
            found.push(number);
            next = table.following(number);
        }
        found
    }

    #[test]
    fn rows_come_in_order_and_null_finds_nothing() {
        let mut table = JoinTable::default();
        let keys = [Value::Integer(1), Value::Null, Value::Integer(2), Value::Integer(1), Value::Null];
        for (at, key) in keys.iter().enumerate() {
            let row = [u8::try_from(at).unwrap()];
            table.keep(std::slice::from_ref(key), (&[], &row), std::slice::from_ref(key)).unwrap();
        }
        assert_eq!(numbers(&mut table, &[Value::Integer(1)]), [0, 3]);
        assert_eq!(numbers(&mut table, &[Value::Integer(2)]), [2]);
        assert!(numbers(&mut table, &[Value::Integer(3)]).is_empty());
        assert!(numbers(&mut table, &[Value::Null]).is_empty());
        let found = table.row(3).unwrap();
        assert_eq!((found.row, found.values), (&[3_u8][..], &[Value::Integer(1)][..]));
        table.note_joined(0);
        table.note_joined(2);
        let mut unjoined = Vec::new();
        let mut next = table.unjoined(0);
        while let Some(number) = next {
            unjoined.push(number);
            next = table.unjoined(number + 1);
        }
        assert_eq!(unjoined, [1, 3, 4]);
        table.clear();
        assert_eq!(table.first(&[Value::Integer(1)]), None);
    }

    #[test]
    fn all_rows_stand_under_no_key() {
        let mut table = JoinTable::default();
        for _ in 0..3 {
            table.keep(&[], (&[], &[]), &[]).unwrap();
        }
        assert_eq!(numbers(&mut table, &[]), [0, 1, 2]);
    }
}

//! Join tables: rows of one side of a join, found again by the values that they are joined on.
//!
//! The hash table of a hash join (Shapiro, "Join Processing in Database Systems with Large Main Memories",
//! TODS 1986), held in memory as a whole. Rows under one key come in the order in which they were kept. For a
//! full join each row says whether it has found one of the other side.

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::key;
use hyades_types::value::Value;

/// What is kept of a row.
pub(crate) struct JoinedRow {
    /// The key in storage of the row in its row slot, if that row is to be changed.
    pub(crate) row_key: Box<[u8]>,
    /// The bytes of its row slot.
    pub(crate) row: Box<[u8]>,
    /// The values of its registers.
    pub(crate) values: Box<[Value]>,
    /// The next one under the same key.
    next: Option<u32>,
    is_joined: bool,
}

/// The rows under one key.
#[derive(Clone, Copy)]
struct Chain {
    first: u32,
    last: u32,
}

#[derive(Default)]
pub(crate) struct JoinTable {
    rows: Vec<JoinedRow>,
    chains: HashMap<Box<[u8]>, Chain, RandomState>,
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
    /// 54000 beyond 2^32 rows.
    pub(crate) fn keep(
        &mut self,
        key: &[Value],
        (row_key, row): (&[u8], &[u8]),
        values: &[Value],
    ) -> Result<()> {
        let number = u32::try_from(self.rows.len()).map_err(|_| {
            Error::input(sqlstate::PROGRAM_LIMIT_EXCEEDED, "a join can keep at most 4294967296 rows")
        })?;
        self.rows.push(JoinedRow {
            row_key: row_key.into(),
            row: row.into(),
            values: values.into(),
            next: None,
            is_joined: false,
        });
        if encode(key, &mut self.key) {
            match self.chains.get_mut(self.key.as_slice()) {
                Some(chain) => {
                    self.rows[chain.last as usize].next = Some(number);
                    chain.last = number;
                }
                None => {
                    let chain = Chain { first: number, last: number };
                    self.chains.insert(self.key.as_slice().into(), chain);
                }
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
        self.chains.get(self.key.as_slice()).map(|chain| chain.first)
    }

    /// The number of the row under the same key that comes after this one.
    pub(crate) fn following(&self, number: u32) -> Option<u32> {
        self.rows.get(number as usize)?.next
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

    pub(crate) fn row(&self, number: u32) -> Option<&JoinedRow> {
        self.rows.get(number as usize)
    }
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
        assert_eq!((&*found.row, &*found.values), (&[3_u8][..], &[Value::Integer(1)][..]));
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

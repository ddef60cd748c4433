//! The cursors of a session: their rows, where they stand, and the row that `CURRENT OF` means.
//!
//! The query of a cursor runs to its end when it is declared, because nothing may wait for a client while
//! locks are held; its rows are kept, on the session's account, and FETCH hands them out. Portals of the
//! protocol with a row limit do the same.
//!
//! Reference: PostgreSQL's pquery.c (PortalRunFetch) for where a cursor stands after what.

use std::collections::BTreeMap;

use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::memory::{self, Charge};
use hyades_types::value::Value;

use crate::answer::ResultColumn;
use crate::statement::FetchDirection;
use crate::system::snapshot::ShownCursor;

/// Of a row that is kept, besides its values.
const ROW_BYTES: usize = 32;

/// The rows of a query that runs for a cursor.
#[derive(Default)]
pub(super) struct KeptRows {
    pub(super) rows: Vec<Box<[Value]>>,
}

impl KeptRows {
    pub(super) fn push(&mut self, values: &[Value]) -> Result<()> {
        self.rows.push(values.into());
        memory::check(0)
    }

    pub(super) fn bytes(&self) -> usize {
        let beside = |value: &Value| match value {
            Value::Array(array) => array.heap_bytes(),
            value => value.heap_bytes(),
        };
        let of_row = |row: &[Value]| row.iter().map(beside).sum::<usize>() + size_of_val(row) + ROW_BYTES;
        self.rows.iter().map(|row| of_row(row)).sum()
    }
}

/// An open cursor.
pub(super) struct Cursor {
    /// The text of its declaration.
    pub(super) statement: String,
    pub(super) columns: Vec<ResultColumn>,
    pub(super) rows: Vec<Box<[Value]>>,
    /// 0: before the first row; one more than there are rows: behind the last.
    pub(super) position: usize,
    pub(super) is_binary: bool,
    pub(super) is_scrollable: bool,
    pub(super) is_holdable: bool,
    /// Its transaction has committed.
    pub(super) is_held: bool,
    /// How many savepoints there were.
    pub(super) level: usize,
    /// The table whose rows it shows.
    pub(super) table: Option<u32>,
    pub(super) created: i64,
    pub(super) _charge: Charge,
}

fn forward_only() -> Error {
    Error::input(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, "cursor can only scan forward")
        .with_hint("Declare it with SCROLL option to enable backward scan.")
}

fn state_error(message: String) -> Error {
    Error::input(sqlstate::INVALID_CURSOR_STATE, message)
}

/// `None` is ALL.
type Count = Option<usize>;

impl Cursor {
    fn is_on_row(&self) -> bool {
        (1..=self.rows.len()).contains(&self.position)
    }

    fn rewind(&mut self) -> Result<()> {
        if self.position > 0 && !self.is_scrollable {
            return Err(forward_only());
        }
        self.position = 0;
        Ok(())
    }

    /// Goes on by so many rows; gives the places of those it has passed.
    fn forward(&mut self, count: Count) -> std::ops::Range<usize> {
        let from = self.position.min(self.rows.len());
        let left = self.rows.len() - from;
        let passed = count.map_or(left, |count| count.min(left));
        let is_beyond = count.is_none_or(|count| count > left);
        self.position = if is_beyond { self.rows.len() + 1 } else { from + passed };
        from..from + passed
    }

    /// The same back; the places in ascending order.
    fn backward(&mut self, count: Count) -> Result<std::ops::Range<usize>> {
        if !self.is_scrollable {
            return Err(forward_only());
        }
        let before = self.position.saturating_sub(1);
        let passed = count.map_or(before, |count| count.min(before));
        let is_beyond = count.is_none_or(|count| count > before);
        self.position = if is_beyond { 0 } else { self.position - passed };
        Ok(before - passed..before)
    }

    /// Moves; gives the places of the rows to be shown, and whether they come in descending order.
    pub(super) fn go(
        &mut self,
        direction: FetchDirection,
        is_move: bool,
    ) -> Result<(std::ops::Range<usize>, bool)> {
        let size = |count: i64| usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
        match direction {
            FetchDirection::Absolute(count) if count > 0 => {
                self.go_before(size(count) - 1)?;
                Ok((self.forward(Some(1)), false))
            }
            FetchDirection::Absolute(0) => {
                self.rewind()?;
                Ok((0..0, false))
            }
            FetchDirection::Absolute(count) => {
                self.forward(None);
                if count < -1 {
                    self.backward(Some(size(count) - 1))?;
                }
                Ok((self.backward(Some(1))?, true))
            }
            FetchDirection::Relative(count) if count > 0 => {
                if count > 1 {
                    self.forward(Some(size(count) - 1));
                }
                Ok((self.forward(Some(1)), false))
            }
            FetchDirection::Relative(count) if count < 0 => {
                if count < -1 {
                    self.backward(Some(size(count) - 1))?;
                }
                Ok((self.backward(Some(1))?, true))
            }
            FetchDirection::Relative(_)
            | FetchDirection::Forward(Some(0))
            | FetchDirection::Backward(Some(0)) => self.again(is_move),
            FetchDirection::Forward(Some(count)) if count < 0 => {
                Ok((self.backward(Some(size(count)))?, true))
            }
            FetchDirection::Forward(count) => Ok((self.forward(count.map(size)), false)),
            FetchDirection::Backward(Some(count)) if count < 0 => {
                Ok((self.forward(Some(size(count))), false))
            }
            FetchDirection::Backward(None) if is_move => {
                let passed = self.position.saturating_sub(1);
                self.rewind()?;
                Ok((0..passed, true))
            }
            FetchDirection::Backward(count) => Ok((self.backward(count.map(size))?, true)),
        }
    }

    /// To where the row behind so many comes next: as PostgreSQL does it, so that a cursor that only goes
    /// forward refuses the same.
    fn go_before(&mut self, rows: usize) -> Result<()> {
        if rows <= self.position.min(self.rows.len()) / 2 {
            self.rewind()?;
            self.forward(Some(rows));
        } else if rows < self.position {
            self.backward(Some(self.position - rows))?;
        } else if rows > self.position {
            self.forward(Some(rows - self.position));
        }
        Ok(())
    }

    /// The row on which it stands.
    fn again(&self, is_move: bool) -> Result<(std::ops::Range<usize>, bool)> {
        if !self.is_on_row() {
            return Ok((0..0, false));
        }
        if !is_move && !self.is_scrollable {
            return Err(forward_only());
        }
        Ok((self.position - 1..self.position, false))
    }
}

/// The cursors of a session.
#[derive(Default)]
pub(super) struct Cursors {
    pub(super) by_name: BTreeMap<String, Cursor>,
}

impl Cursors {
    fn get(&self, name: &str) -> Result<&Cursor> {
        self.by_name.get(name).ok_or_else(|| missing(name))
    }

    pub(super) fn columns(&self, name: &str) -> Result<&[ResultColumn]> {
        Ok(&self.get(name)?.columns)
    }

    pub(super) fn is_binary(&self, name: &str) -> bool {
        self.by_name.get(name).is_some_and(|cursor| cursor.is_binary)
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// The transaction ends: what it has declared goes, or is held.
    pub(super) fn end_transaction(&mut self, is_committed: bool) {
        if self.by_name.is_empty() {
            return;
        }
        self.by_name.retain(|_, cursor| cursor.is_held || is_committed && cursor.is_holdable);
        for cursor in self.by_name.values_mut() {
            cursor.is_held = true;
            cursor.level = 0;
        }
    }

    /// Goes back to the savepoint of this number.
    pub(super) fn roll_back_to(&mut self, savepoint: usize) {
        self.by_name.retain(|_, cursor| cursor.level <= savepoint);
    }

    /// The savepoint of this number is gone, and those behind it.
    pub(super) fn release(&mut self, savepoint: usize) {
        for cursor in self.by_name.values_mut() {
            cursor.level = cursor.level.min(savepoint);
        }
    }

    pub(super) fn clear(&mut self) {
        self.by_name.clear();
    }

    pub(super) fn shown(&self) -> Vec<ShownCursor> {
        let shown = |(name, cursor): (&String, &Cursor)| ShownCursor {
            name: name.clone(),
            statement: cursor.statement.clone(),
            is_holdable: cursor.is_holdable,
            is_binary: cursor.is_binary,
            is_scrollable: cursor.is_scrollable,
            created: cursor.created,
        };
        self.by_name.iter().map(shown).collect()
    }

    /// The value of the primary key, by its place there, of the row on which a cursor stands.
    pub(super) fn key(&self, name: &str, (table, table_name): (u32, &str), place: usize) -> Result<Value> {
        let cursor = self.get(name)?;
        if cursor.is_held {
            return Err(state_error(format!("cursor \"{name}\" is held from a previous transaction")));
        }
        if cursor.table != Some(table) {
            return Err(state_error(format!(
                "cursor \"{name}\" is not a simply updatable scan of table \"{table_name}\""
            )));
        }
        if !cursor.is_on_row() {
            return Err(state_error(format!("cursor \"{name}\" is not positioned on a row")));
        }
        let row = cursor.rows.get(cursor.position - 1);
        Ok(row.and_then(|row| row.get(cursor.columns.len() + place)).cloned().unwrap_or(Value::Null))
    }
}

pub(super) fn missing(name: &str) -> Error {
    Error::input(sqlstate::INVALID_CURSOR_NAME, format!("cursor \"{name}\" does not exist"))
}

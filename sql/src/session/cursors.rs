//! The cursors of a session: their rows, their positions, and the row that `CURRENT OF` means.
//!
//! The query of a cursor runs to its end when the cursor is declared, because nothing may wait for a client
//! while locks are held. Its rows are kept on the session's account, and FETCH returns them. Portals of the
//! protocol with a row limit do the same.
//!
//! Reference: PostgreSQL's pquery.c (PortalRunFetch) for the position of a cursor after each operation.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use compact_str::CompactString;
use hyades_types::cursors::{FetchDirection, FetchedRows, NewCursor, SessionCursors};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::memory::{self, Account, Charge};
use hyades_types::value::{SqlType, Value};
use parking_lot::{Mutex, MutexGuard};

use crate::answer::ResultColumn;
use crate::system::snapshot::ShownCursor;

/// The cost of a kept row besides its values.
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
        bytes_of(&self.rows)
    }
}

fn bytes_of(rows: &[Box<[Value]>]) -> usize {
    let beside = |value: &Value| match value {
        Value::Array(array) => array.heap_bytes(),
        value => value.heap_bytes(),
    };
    let of_row = |row: &[Value]| row.iter().map(beside).sum::<usize>() + size_of_val(row) + ROW_BYTES;
    rows.iter().map(|row| of_row(row)).sum()
}

/// An open cursor.
pub(super) struct Cursor {
    /// The text of its declaration.
    pub(super) statement: String,
    pub(super) columns: Vec<ResultColumn>,
    pub(super) rows: Vec<Box<[Value]>>,
    /// 0 is before the first row, and the number of rows plus 1 is after the last.
    pub(super) position: usize,
    pub(super) is_binary: bool,
    pub(super) is_scrollable: bool,
    pub(super) is_holdable: bool,
    /// Whether its transaction has committed.
    pub(super) is_held: bool,
    /// The number of savepoints when it was declared.
    pub(super) level: usize,
    /// The table whose rows it returns.
    pub(super) table: Option<u32>,
    pub(super) created: i64,
    /// The number, from 1, among the cursors opened by routines. 0 if it was declared.
    pub(super) number: usize,
    pub(super) _charge: Charge,
}

fn forward_only() -> Error {
    Error::input(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, "cursor can only scan forward")
        .with_hint("Declare it with SCROLL option to enable backward scan.")
}

fn state_error(message: String) -> Error {
    Error::input(sqlstate::INVALID_CURSOR_STATE, message)
}

/// `None` means ALL.
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

    /// Moves forward by `count` rows. Returns the indexes of the rows passed.
    fn forward(&mut self, count: Count) -> std::ops::Range<usize> {
        let from = self.position.min(self.rows.len());
        let left = self.rows.len() - from;
        let passed = count.map_or(left, |count| count.min(left));
        let is_beyond = count.is_none_or(|count| count > left);
        self.position = if is_beyond { self.rows.len() + 1 } else { from + passed };
        from..from + passed
    }

    /// Moves backward by `count` rows. Returns the indexes in ascending order.
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

    /// Moves. Returns the indexes of the rows to be returned, and whether they come in descending order.
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

    /// Moves so that `rows` rows are before the position. It moves the way PostgreSQL does, so that a
    /// forward-only cursor refuses the same cases.
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

    /// The row at the current position.
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

/// The cursors of a session, shared by the session and the routines that it runs.
pub(super) struct OpenCursors {
    cursors: Mutex<Cursors>,
    /// Whether there may be any, or something to restore: few sessions ever use one.
    may_be_any: AtomicBool,
    account: Arc<Account>,
}

impl std::fmt::Debug for OpenCursors {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_list().entries(self.lock().by_name.keys()).finish()
    }
}

impl OpenCursors {
    pub(super) fn new(account: &Arc<Account>) -> OpenCursors {
        let account = Arc::clone(account);
        OpenCursors { cursors: Mutex::default(), may_be_any: AtomicBool::new(false), account }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Cursors> {
        // Only the session's own thread, which runs its routines, comes here.
        self.may_be_any.store(true, Ordering::Relaxed);
        self.cursors.lock()
    }

    #[inline]
    fn may_be_any(&self) -> bool {
        self.may_be_any.load(Ordering::Relaxed)
    }

    /// At the end of the transaction its cursors are closed, or held.
    #[inline]
    pub(super) fn end_transaction(&self, is_committed: bool) {
        if self.may_be_any() {
            let is_any = self.lock().end_transaction(is_committed);
            self.may_be_any.store(is_any, Ordering::Relaxed);
        }
    }
}

impl SessionCursors for OpenCursors {
    fn is_open(&self, name: &str) -> bool {
        self.lock().contains(name)
    }

    fn open(&self, new: NewCursor) -> Result<CompactString> {
        let mut cursors = self.lock();
        let name = match new.name {
            Some(name) => name,
            None => cursors.new_name(),
        };
        if cursors.contains(&name) {
            let message = format!("cursor \"{name}\" already in use");
            return Err(Error::input(sqlstate::DUPLICATE_CURSOR, message));
        }
        let column = |(name, sql_type)| ResultColumn { name, sql_type, source: None };
        let opened = Cursor {
            statement: new.text,
            columns: new.columns.into_iter().map(column).collect(),
            position: 0,
            is_binary: false,
            is_scrollable: new.is_scrollable,
            is_holdable: false,
            is_held: false,
            level: 0,
            table: None,
            created: new.created,
            number: cursors.numbered + 1,
            _charge: self.account.keep(bytes_of(&new.rows)),
            rows: new.rows,
        };
        cursors.numbered += 1;
        cursors.by_name.insert(name.to_string(), opened);
        Ok(name)
    }

    fn fetch(&self, name: &str, direction: FetchDirection) -> Result<FetchedRows> {
        let mut cursors = self.lock();
        let (places, is_descending) = cursors.go(name, direction, false)?;
        let cursor = cursors.get(name)?;
        let columns: Vec<(String, SqlType)> =
            cursor.columns.iter().map(|column| (column.name.clone(), column.sql_type)).collect();
        let shown = |row: &[Value]| row.get(..columns.len()).unwrap_or_default().to_vec();
        let mut rows: Vec<Vec<Value>> =
            cursor.rows.get(places).unwrap_or_default().iter().map(|row| shown(row)).collect();
        if is_descending {
            rows.reverse();
        }
        Ok(FetchedRows { columns, rows })
    }

    fn go(&self, name: &str, direction: FetchDirection) -> Result<usize> {
        let (places, _) = self.lock().go(name, direction, true)?;
        Ok(places.len())
    }

    fn close(&self, name: &str) -> Result<()> {
        self.lock().close(name)
    }

    fn mark(&self) -> usize {
        if self.may_be_any() { self.lock().numbered } else { 0 }
    }

    fn go_back(&self, mark: usize) {
        if self.may_be_any() {
            self.lock().by_name.retain(|_, cursor| cursor.number <= mark);
        }
    }

    fn begin_statement(&self) -> usize {
        if self.may_be_any() { self.lock().begin_statement() } else { 0 }
    }

    fn repeat_statement(&self) {
        if self.may_be_any() {
            self.lock().repeat_statement();
        }
    }
}

/// How to undo what the running statement has done to an older cursor, in case the statement runs again.
enum Undo {
    Position(String, usize),
    Closed(String, Cursor),
}

/// The cursors of a session.
#[derive(Default)]
pub(super) struct Cursors {
    pub(super) by_name: BTreeMap<String, Cursor>,
    /// How many cursors routines have opened.
    numbered: usize,
    /// That number when the statement began.
    numbered_before: usize,
    undo: Vec<Undo>,
    /// How many names have been generated, now and when the statement began.
    made_up: u64,
    made_up_before: u64,
}

impl Cursors {
    /// Prepares for a new statement. Returns how many cursors routines have opened.
    fn begin_statement(&mut self) -> usize {
        self.undo.clear();
        self.numbered_before = self.numbered;
        self.made_up_before = self.made_up;
        self.numbered
    }

    /// Restores the older cursors before the statement runs again.
    fn repeat_statement(&mut self) {
        self.made_up = self.made_up_before;
        while let Some(undo) = self.undo.pop() {
            match undo {
                Undo::Position(name, position) => {
                    if let Some(cursor) = self.by_name.get_mut(&name) {
                        cursor.position = position;
                    }
                }
                Undo::Closed(name, cursor) => {
                    self.by_name.insert(name, cursor);
                }
            }
        }
    }

    fn new_name(&mut self) -> CompactString {
        loop {
            self.made_up += 1;
            let name = format!("<unnamed portal {}>", self.made_up);
            if !self.contains(&name) {
                return name.into();
            }
        }
    }

    /// Moves a cursor, like [`Cursor::go`].
    pub(super) fn go(
        &mut self,
        name: &str,
        direction: FetchDirection,
        is_move: bool,
    ) -> Result<(std::ops::Range<usize>, bool)> {
        let cursor = self.by_name.get_mut(name).ok_or_else(|| missing(name))?;
        let is_noted = |undo: &Undo| matches!(undo, Undo::Position(noted, _) if noted == name);
        if cursor.number <= self.numbered_before && !self.undo.iter().any(is_noted) {
            self.undo.push(Undo::Position(name.to_owned(), cursor.position));
        }
        cursor.go(direction, is_move)
    }

    pub(super) fn close(&mut self, name: &str) -> Result<()> {
        let cursor = self.by_name.remove(name).ok_or_else(|| missing(name))?;
        if cursor.number <= self.numbered_before {
            self.undo.push(Undo::Closed(name.to_owned(), cursor));
        }
        Ok(())
    }

    pub(super) fn get(&self, name: &str) -> Result<&Cursor> {
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

    /// Returns whether any is left.
    fn end_transaction(&mut self, is_committed: bool) -> bool {
        // The next statement finds nothing to restore, even if it does not ask.
        self.begin_statement();
        self.by_name.retain(|_, cursor| cursor.is_held || is_committed && cursor.is_holdable);
        for cursor in self.by_name.values_mut() {
            cursor.is_held = true;
            cursor.level = 0;
        }
        !self.by_name.is_empty()
    }

    /// Closes the cursors declared after the savepoint with this index.
    pub(super) fn roll_back_to(&mut self, savepoint: usize) {
        self.by_name.retain(|_, cursor| cursor.level <= savepoint);
    }

    /// The savepoint with this index is released, and all later ones.
    pub(super) fn release(&mut self, savepoint: usize) {
        for cursor in self.by_name.values_mut() {
            cursor.level = cursor.level.min(savepoint);
        }
    }

    pub(super) fn clear(&mut self) {
        self.undo.clear();
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

    /// One value of the primary key, given by its place in the key, of the row at a cursor's position.
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

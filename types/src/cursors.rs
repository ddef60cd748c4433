//! Cursors as routines see them: results of queries that remain in the session after the routine has ended.
//!
//! A routine opens one on rows that it has already read, and refers to it by its name, which is the value of
//! a variable of type `refcursor`. The client, or another routine of the same transaction, fetches from it.

use compact_str::CompactString;

use crate::error::Result;
use crate::value::{SqlType, Value};

/// The direction of FETCH; `None` is ALL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchDirection {
    Forward(Option<i64>),
    Backward(Option<i64>),
    Absolute(i64),
    Relative(i64),
}

/// A cursor to be opened.
#[derive(Debug)]
pub struct NewCursor {
    /// If there is none, a name is generated.
    pub name: Option<CompactString>,
    pub columns: Vec<(String, SqlType)>,
    pub rows: Vec<Box<[Value]>>,
    pub is_scrollable: bool,
    /// The text of its query.
    pub text: String,
    /// When the statement that opens it began.
    pub created: i64,
}

/// The result of FETCH.
#[derive(Debug)]
pub struct FetchedRows {
    pub columns: Vec<(String, SqlType)>,
    pub rows: Vec<Vec<Value>>,
}

/// The cursors of a session.
pub trait SessionCursors: Send + Sync + std::fmt::Debug {
    fn is_open(&self, name: &str) -> bool;
    /// Returns the cursor's name.
    ///
    /// # Errors
    /// 42P03 if a cursor of this name exists, 53200 if there is no memory for its rows.
    fn open(&self, cursor: NewCursor) -> Result<CompactString>;
    /// # Errors
    /// 34000 if there is no such cursor, 55000 if it cannot move in that direction.
    fn fetch(&self, name: &str, direction: FetchDirection) -> Result<FetchedRows>;
    /// The same without returning rows: only their number.
    ///
    /// # Errors
    /// As those of [`SessionCursors::fetch`].
    fn go(&self, name: &str, direction: FetchDirection) -> Result<usize>;
    /// # Errors
    /// 34000 if there is no such cursor.
    fn close(&self, name: &str) -> Result<()>;
    /// The number of cursors that routines have opened in this transaction.
    fn mark(&self) -> usize;
    /// Closes those opened since the mark.
    fn go_back(&self, mark: usize);
    /// Another statement begins, which may have to run again. Returns the mark.
    fn begin_statement(&self) -> usize;
    /// The statement runs again: older cursors are as they were, and names are generated once more.
    fn repeat_statement(&self);
}

//! What a procedure leaves to the front end to do to its rows.

use std::fmt;
use std::sync::Arc;

use hyades_types::environment::Environment;
use hyades_types::error::Result;
use hyades_types::value::Value;

/// What procedures cannot do to rows themselves (grouping, sorting): given by the front end.
pub trait Stage: fmt::Debug + Send + Sync {
    /// For one run of the query. `registers` are those of the frame now.
    fn start(self: Arc<Self>, registers: &[Value], environment: &Environment) -> Box<dyn StageRun>;
}

/// One run of a [`Stage`].
pub trait StageRun: Send {
    /// Takes a row; the values may be taken.
    ///
    /// # Errors
    /// The user's, as overflow in a sum.
    fn feed(&mut self, values: &mut [Value]) -> Result<()>;

    /// So many values, the first ones, make a key under which rows are made one; 0 if there is none, or none
    /// that [`StageRun::knows`] can be asked about.
    fn key_width(&self) -> usize {
        0
    }

    /// Whether a row with this key, of [`key::encode_distinct`](hyades_types::key::encode_distinct), has come
    /// before. The row follows; if so, the values of its key need not be there.
    fn knows(&mut self, _key: &[u8]) -> bool {
        false
    }

    /// All rows that come out.
    ///
    /// # Errors
    /// The user's, as an overflow in an average; those of temporary files.
    fn finish(self: Box<Self>) -> Result<StageRows>;
}

/// Rows that come out of a [`Stage`].
pub enum StageRows {
    InMemory(Vec<Vec<Value>>),
    /// More than it may hold in memory: made one by one.
    Later(LaterRows),
}

/// Makes rows one by one.
pub type LaterRows = Box<dyn Iterator<Item = Result<Vec<Value>>> + Send>;

//! Operations on rows that a procedure leaves to the front end.

use std::fmt;
use std::sync::Arc;

use hyades_types::environment::Environment;
use hyades_types::error::Result;
use hyades_types::value::Value;

use super::slots::Register;

/// What procedures cannot do to rows themselves (grouping, sorting), provided by the front end.
pub trait Stage: fmt::Debug + Send + Sync {
    /// The registers that [`Stage::start`] looks at.
    fn registers(&self) -> Vec<Register>;

    /// Starts it for one run of the query. `registers` are those of the frame now.
    fn start(self: Arc<Self>, registers: &[Value], environment: &Environment) -> Box<dyn StageRun>;
}

/// One run of a [`Stage`].
pub trait StageRun: Send {
    /// Receives a row. The values may be taken.
    ///
    /// # Errors
    /// Errors of the user's data, such as overflow in a sum.
    fn feed(&mut self, values: &mut [Value]) -> Result<()>;

    /// This many of the first values make a key under which rows are combined into one. 0 if there is no such
    /// key, or none that can be passed to [`StageRun::knows`].
    fn key_width(&self) -> usize {
        0
    }

    /// Whether a row with this key, from [`key::encode_distinct`](hyades_types::key::encode_distinct), has
    /// been fed before. The row follows. If it is known, the values of its key may be missing.
    fn knows(&mut self, _key: &[u8]) -> bool {
        false
    }

    /// All result rows.
    ///
    /// # Errors
    /// Errors of the user's data, such as an overflow in an average, and errors of temporary files.
    fn finish(self: Box<Self>) -> Result<StageRows>;
}

/// The result rows of a [`Stage`].
pub enum StageRows {
    InMemory(Vec<Vec<Value>>),
    /// More than it may hold in memory: made one by one.
    Later(LaterRows),
}

/// Makes rows one by one.
pub type LaterRows = Box<dyn Iterator<Item = Result<Vec<Value>>> + Send>;

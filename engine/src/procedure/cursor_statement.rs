//! A routine's operations on a cursor that the session keeps (`hyades_types::cursors`): the operands of
//! [`Instruction::Cursor`](super::ir::Instruction::Cursor).

use hyades_types::value::SqlType;

use super::expression::Expr;
use super::slots::{Register, SpoolSlot};

/// An operation on a cursor of the session.
#[derive(Clone, Debug, PartialEq)]
pub struct CursorStatement {
    pub action: CursorAction,
    /// The cursor's name. NULL: it has none yet.
    pub name: Expr,
    /// The name of the routine's cursor variable.
    pub variable: String,
}

#[derive(Clone, Debug, PartialEq)]
pub enum CursorAction {
    /// Fails if the cursor is open.
    Refuse,
    Open {
        /// Its rows.
        spool: SpoolSlot,
        /// `None`: those of an EXECUTE, which the spool knows.
        columns: Option<Vec<(String, SqlType)>>,
        is_scrollable: bool,
        text: Expr,
        /// Receives the name of the opened cursor.
        into: Register,
    },
    Fetch {
        way: FetchWay,
        /// `None`: ALL.
        steps: Option<Expr>,
        /// `None`: MOVE.
        rows: Option<CursorRows>,
        /// Receives the number of rows.
        count: Register,
    },
    Close,
}

/// Which way [`CursorAction::Fetch`] goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchWay {
    Forward,
    Backward,
    Absolute,
    Relative,
}

/// Where the rows of a cursor go.
#[derive(Clone, Debug, PartialEq)]
pub struct CursorRows {
    pub spool: SpoolSlot,
    /// Their columns, with the types that the values are converted to.
    pub columns: Vec<(String, SqlType)>,
    /// The cursor must have just these columns.
    pub is_exact: bool,
}

impl CursorStatement {
    /// The register that it sets.
    pub fn sets(&self) -> Option<Register> {
        match &self.action {
            CursorAction::Open { into, .. } => Some(*into),
            CursorAction::Fetch { count, .. } => Some(*count),
            CursorAction::Refuse | CursorAction::Close => None,
        }
    }
}

//! What a statement knows of a trigger that it calls, and the rows that it passes.

use hyades_engine::procedure::ir::{CalleeIndex, Expr, TableIndex};
use hyades_types::definition::TriggerEvent;

/// The procedure of a trigger, as a statement calls it.
#[derive(Debug)]
pub(super) struct TriggerCall {
    pub(super) callee: CalleeIndex,
    /// For each parameter, whether it is read: the columns of the old row, then those of the new one.
    pub(super) reads: Vec<bool>,
    /// For each column of the new row, whether it may get another value.
    pub(super) sets: Vec<bool>,
    /// Whether it may change rows of the table itself.
    pub(super) disturbs: bool,
}

/// A trigger on an occasion: the table, the trigger's position among those of the table, the event.
pub(crate) type Occasion = (TableIndex, u16, TriggerEvent);

/// The rows before and after a change: an expression for each column that statements see. Empty: there is no
/// such row.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    pub(super) old: Vec<Expr>,
    pub(super) new: Vec<Expr>,
}

impl Rows {
    pub(super) fn all(&self) -> impl Iterator<Item = &Expr> {
        self.old.iter().chain(&self.new)
    }
}

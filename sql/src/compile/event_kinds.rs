//! What a statement has to look at when it is done, by kind: see `referential_events`.

use hyades_engine::procedure::ir::{Expr, Register, SpoolSlot, TableIndex};
use hyades_types::definition::TableId;

/// A kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// Of a row of this table with this foreign key; carries the key under which the row is stored, and the
    /// values of the columns.
    Missing { table: TableIndex, number: usize },
    /// Of a row of this table that this foreign key references; carries the key.
    Removed { table: TableIndex, child: TableId, number: usize },
    /// The same; carries the old key and the new one.
    Moved { table: TableIndex, child: TableId, number: usize },
    /// Of a row of this table whose values another one may have in the index of this number; carries the key
    /// under which the row is stored.
    Twin { table: TableIndex, index: u16 },
}

/// What carries the events of one kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    pub(crate) event: Event,
    pub(crate) spool: SpoolSlot,
    /// Where an event is put when it is looked at.
    pub(crate) first: Register,
    pub(crate) width: u16,
}

impl Kind {
    pub(crate) fn carried(&self) -> Vec<Expr> {
        (self.first..self.first.saturating_add(self.width)).map(Expr::Register).collect()
    }
}

/// The events of the statement that is being compiled.
#[derive(Debug, Default)]
pub(crate) struct Events {
    /// The kinds in the order in which the events came.
    pub(crate) order: Option<SpoolSlot>,
    pub(crate) kinds: Vec<Kind>,
}

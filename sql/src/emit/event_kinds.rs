//! What a statement has to check and to run when it is done, by kind: see `referential_events` and
//! `triggers`.

use hyades_engine::procedure::ir::{Expr, Register, SpoolSlot, TableIndex};
use hyades_types::definition::{TableId, TriggerEvent};

use super::trigger_call::Occasion;

/// A kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// For a row of this table with this foreign key. Carries the key under which the row is stored, and the
    /// values of the columns.
    Missing { table: TableIndex, number: usize },
    /// For a row of this table that this foreign key references. Carries the key.
    Removed { table: TableIndex, child: TableId, number: usize },
    /// The same. Carries the old key and the new one.
    Moved { table: TableIndex, child: TableId, number: usize },
    /// For a row of this table whose values another one may have in the index of this number. Carries the key
    /// under which the row is stored.
    Twin { table: TableIndex, index: u16 },
    /// A trigger after a row was written. Carries the columns that it reads.
    Row(Occasion),
    /// A trigger after the statement.
    Statement(Occasion),
}

/// The spool that carries the events of one kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    pub(crate) event: Event,
    pub(crate) spool: SpoolSlot,
    /// The first of the registers into which an event is read.
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
    /// The kinds in the order in which the events occurred.
    pub(crate) order: Option<SpoolSlot>,
    pub(crate) kinds: Vec<Kind>,
    pub(crate) transitions: Vec<Transition>,
    /// For each table that actions of foreign keys change, and the kind of change: the register that says
    /// whether the triggers before and after the statement have been seen to. NULL: not yet.
    pub(crate) begun: Vec<((TableIndex, TriggerEvent), Register)>,
}

/// The spools of the rows that a statement has changed in one way in one table, for triggers that read them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transition {
    pub(crate) table: TableIndex,
    pub(crate) event: TriggerEvent,
    pub(crate) old: Option<SpoolSlot>,
    pub(crate) new: Option<SpoolSlot>,
}

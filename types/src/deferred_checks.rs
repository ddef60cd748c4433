//! Constraint checks that are deferred to the end of a transaction, and the settings of SET CONSTRAINTS.
//!
//! A check consists only of a constraint and the key or values to look at. When it is made, the current state
//! of the rows is read. The session keeps the checks, since a statement that fails discards only those that
//! it added itself: see [`DeferredChecks::mark`].

use crate::definition::{TableId, TriggerEvent};
use crate::guest;
use crate::value::Value;

/// Checks that are dropped or marked as not done in about ten nanoseconds.
const CHECKS_PER_UNIT: usize = 8;

/// The subject of a deferred check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckKind {
    /// A referencing row, by the key under which it is stored, and the values of its columns.
    Missing,
    /// A key that was removed.
    Removed,
    /// A key that was changed: the old one, then the new one.
    Moved,
    /// A row, by the key under which it is stored, whose values another row may also have in a unique index.
    Twin,
    /// A constraint trigger to be run: the values of the old row, then those of the new one.
    Trigger(TriggerEvent),
}

/// A constraint that can be deferred, and a kind of check of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeferrableCheck {
    /// The table that has the constraint.
    pub table: TableId,
    pub constraint: String,
    pub kind: CheckKind,
    pub is_initially_deferred: bool,
}

/// A deferred check.
#[derive(Clone, Debug)]
pub struct DeferredCheck {
    pub check: DeferrableCheck,
    pub values: Vec<Value>,
    is_done: bool,
}

/// The settings of SET CONSTRAINTS in this transaction, the latest last, for one constraint or for all.
type Modes = Vec<(Option<(TableId, String)>, bool)>;

/// The state of a transaction's constraints.
#[derive(Clone, Debug, Default)]
pub struct DeferredChecks {
    modes: Modes,
    checks: Vec<DeferredCheck>,
    /// All checks before this one are done.
    first: usize,
    /// The numbers of those that are done, in the order in which they were.
    done: Vec<usize>,
}

/// A point to go back to.
#[derive(Clone, Debug, Default)]
pub struct DeferredMark {
    modes: Modes,
    checks: usize,
    done: usize,
}

impl DeferredChecks {
    /// Whether this check is deferred.
    pub fn is_deferred(&self, check: &DeferrableCheck) -> bool {
        let said = self.modes.iter().rev().find(|(constraint, _)| match constraint {
            Some((table, name)) => *table == check.table && *name == check.constraint,
            None => true,
        });
        said.map_or(check.is_initially_deferred, |(_, is_deferred)| *is_deferred)
    }

    /// SET CONSTRAINTS, for one deferrable constraint, or (`None`) for all.
    pub fn set(&mut self, constraint: Option<(TableId, String)>, is_deferred: bool) {
        match &constraint {
            None => self.modes.clear(),
            Some(_) => self.modes.retain(|(known, _)| *known != constraint),
        }
        self.modes.push((constraint, is_deferred));
    }

    pub fn add(&mut self, check: DeferrableCheck, values: Vec<Value>) {
        self.checks.push(DeferredCheck { check, values, is_done: false });
    }

    /// Whether a deferred check is waiting.
    pub fn is_pending(&self) -> bool {
        self.next(0, true).is_some()
    }

    /// The waiting checks.
    pub fn waiting(&self) -> impl Iterator<Item = &DeferrableCheck> {
        self.checks[self.first..].iter().filter(|check| !check.is_done).map(|check| &check.check)
    }

    /// The first waiting check whose number is at least `from`, and its number. Before the end of the
    /// transaction, only checks that are no longer deferred are considered.
    pub fn next(&self, from: usize, is_end: bool) -> Option<(usize, &DeferredCheck)> {
        let from = from.max(self.first);
        let mut waiting = self.checks.iter().enumerate().skip(from).filter(|(_, check)| !check.is_done);
        waiting.find(|(_, check)| is_end || !self.is_deferred(&check.check))
    }

    /// The check with this number has been made.
    pub fn finish(&mut self, number: usize) {
        if let Some(check) = self.checks.get_mut(number) {
            check.is_done = true;
            self.done.push(number);
        }
        let done = self.checks[self.first..].iter().take_while(|check| check.is_done);
        self.first += done.count();
    }

    pub fn mark(&self) -> DeferredMark {
        DeferredMark { modes: self.modes.clone(), checks: self.checks.len(), done: self.done.len() }
    }

    /// Discards the checks added since the mark. Those that were made since are to be made once more, for
    /// what they saw and did is rolled back. Those that were made before are not: triggers would run twice.
    pub fn go_back(&mut self, mark: &DeferredMark) {
        // Most statements have none.
        if self.checks.is_empty() && self.modes.is_empty() && mark.modes.is_empty() {
            self.first = 0;
            return;
        }
        let undone = self.done.split_off(mark.done.min(self.done.len()));
        let dropped = self.checks.len().saturating_sub(mark.checks);
        guest::pass_for((dropped + undone.len()) / CHECKS_PER_UNIT);
        self.checks.truncate(mark.checks);
        self.first = self.first.min(self.checks.len());
        for number in undone {
            if let Some(check) = self.checks.get_mut(number) {
                check.is_done = false;
                self.first = self.first.min(number);
            }
        }
        self.modes.clone_from(&mark.modes);
    }

    /// The transaction is over.
    pub fn clear(&mut self) {
        self.checks.clear();
        self.checks.shrink_to(64);
        self.done.clear();
        self.done.shrink_to(64);
        self.first = 0;
        self.modes.clear();
    }
}

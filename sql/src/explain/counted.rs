//! EXPLAIN ANALYZE: how many rows each node returned, and how often it began.
//!
//! A plan becomes one procedure, in which a node is not a unit that could be observed. So the compiler adds
//! counters where rows pass ([`Counted`]), each a register that stays NULL until the first row. Nodes refer
//! to their counters. Times are reported only for the whole: a pipeline of operators is one loop.

use super::PlanNode;
use crate::bind::tree::Source;
use hyades_engine::procedure::ir::Register;
use hyades_types::value::Value;

/// What is counted while a statement runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    /// A loop over a relation begins.
    Opened(LoopName),
    /// It has found a row, and not yet checked whether the row is wanted.
    Read(LoopName),
    /// The row is wanted.
    Found(LoopName),
    /// An outer join has a row. Its inner side begins with this loop.
    Joined(LoopName),
    /// The SELECT of this number begins.
    Began(u16),
    /// It has a wanted group.
    Grouped(u16),
    /// It has a row of its result.
    Answered(u16),
    /// The statement begins.
    Started,
    /// The statement has returned a row.
    Told,
    /// A fixed number of times that follows from the statement.
    Times(usize),
}

/// One of the loops of a procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LoopName {
    /// The relation's row slot or first register.
    slot: Register,
    is_row: bool,
    /// It iterates over the rows that a join table has found, not over the relation's.
    is_kept: bool,
}

impl LoopName {
    /// No loop.
    pub(crate) const NONE: LoopName = LoopName { slot: Register::MAX, is_row: true, is_kept: true };

    pub(crate) fn of(source: &Source, is_kept: bool) -> LoopName {
        match source {
            Source::Table { row, .. } => LoopName { slot: *row, is_row: true, is_kept },
            other => {
                let slot = other.registers().first().copied().unwrap_or(Register::MAX);
                LoopName { slot, is_row: false, is_kept }
            }
        }
    }
}

/// The counters of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeCounts {
    pub(crate) loops: Counted,
    pub(crate) rows: Counted,
    /// Rows before its filter.
    pub(crate) read: Option<Counted>,
}

/// The registers that hold the counts of a plan.
pub(crate) type Counters = Vec<(Counted, Register)>;

/// What a run has counted.
pub(crate) struct Counts<'r> {
    pub(crate) counters: &'r Counters,
    pub(crate) registers: &'r [Value],
    /// Rows returned.
    pub(crate) told: u64,
}

impl Counts<'_> {
    /// How often it happened. `None` if nothing counts it.
    fn of(&self, wanted: Counted) -> Option<u64> {
        match wanted {
            Counted::Started => Some(1),
            Counted::Told => Some(self.told),
            Counted::Times(times) => u64::try_from(times).ok(),
            _ => {
                let (_, register) = self.counters.iter().find(|(counted, _)| *counted == wanted)?;
                let count = self.registers.get(usize::from(*register)).and_then(Value::as_i64);
                Some(count.and_then(|count| u64::try_from(count).ok()).unwrap_or(0))
            }
        }
    }
}

/// What EXPLAIN ANALYZE reports for a node, in PostgreSQL's units: rows of one loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Actual {
    pub(super) loops: u64,
    pub(super) rows: f64,
}

impl PlanNode {
    /// This node with the counters of its rows and loops.
    #[must_use]
    pub(crate) fn counted(mut self, loops: Counted, rows: Counted) -> PlanNode {
        self.events = Some(NodeCounts { loops, rows, read: None });
        self
    }

    /// The same with the counter of the rows before its filter.
    #[must_use]
    pub(crate) fn reading(mut self, read: Counted) -> PlanNode {
        if let Some(events) = &mut self.events {
            events.read = Some(read);
        }
        self
    }

    /// Records what was counted, in this node and those below.
    pub(crate) fn measure(&mut self, counts: &Counts<'_>) {
        if let Some(events) = self.events
            && let (Some(loops), Some(rows)) = (counts.of(events.loops), counts.of(events.rows))
        {
            // Counts of rows in memory are far below 2^52.
            #[allow(clippy::cast_precision_loss)]
            let of_one_loop = |count: u64| count as f64 / loops.max(1) as f64;
            self.actual = Some(Actual { loops, rows: of_one_loop(rows) });
            let read = events.read.and_then(|read| counts.of(read)).filter(|read| *read > rows);
            if let Some(read) = read {
                let removed = format!("{:.0}", of_one_loop(read - rows));
                self.details.push(("Rows Removed by Filter", removed));
            }
        }
        let subplans = self.subplans.iter_mut().map(|(_, plan)| plan);
        self.children.iter_mut().chain(subplans).for_each(|child| child.measure(counts));
    }
}

impl Actual {
    /// As printed after a title.
    pub(super) fn shown(self) -> String {
        match self.loops {
            0 => " (never executed)".to_owned(),
            loops => format!(" (actual rows={:.0} loops={loops})", self.rows),
        }
    }
}

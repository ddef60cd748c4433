//! *Steps*: the nested loops that FROM becomes.
//!
//! Each level finds the rows of one relation, given those of the levels before it. Where neither a key nor a
//! range leads to them but they are equal to something known, they are read once, before the loops, into a
//! join table that finds them by that value (a hash join). `lasting_join` describes those of subqueries. An
//! outer join is a step whose inner loops run for every row of the steps before it. Where they find nothing,
//! the steps after it see a row of NULLs instead.

use hyades_engine::procedure::ir::{Expr, Intent, Register};

use super::access::{Access, Choice, Kept};
use crate::bind::tree::Source;
use crate::explain::counted::LoopName;

/// One part of the nest, inside the parts before it.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Loop(Box<Level>),
    Left(LeftJoin),
    Full(Box<FullJoin>),
}

/// One loop.
#[derive(Clone, Debug)]
pub(crate) struct Level {
    pub(crate) source: Source,
    pub(crate) choice: Choice,
    pub(crate) intent: Intent,
    /// Whether the rows that pass are locked, and a scan that skips locked rows keeps their locks. Otherwise
    /// they are locked later.
    pub(crate) is_kept: bool,
    /// Gets the key under which each row is stored.
    pub(crate) key_into: Option<Register>,
    /// `table` or `table alias`, for EXPLAIN.
    pub(crate) label: String,
}

/// The nullable side of a left join.
#[derive(Clone, Debug)]
pub(crate) struct LeftJoin {
    /// Conditions of the join that do not read this side.
    pub(crate) gate: Vec<Expr>,
    pub(crate) steps: Vec<Step>,
    /// Conditions from outside the join, also checked where nothing was found.
    pub(crate) after: Vec<Expr>,
}

/// Both sides of a full join.
#[derive(Clone, Debug)]
pub(crate) struct FullJoin {
    pub(crate) left: Vec<Step>,
    /// Kept in a join table. Its filter holds the remaining conditions of the join.
    pub(crate) right: Level,
    pub(crate) after: Vec<Expr>,
}

impl Level {
    /// Whether it is a lookup by the whole primary key.
    pub(crate) fn is_point(&self) -> bool {
        matches!(self.choice.access, Access::Point { .. })
    }

    pub(crate) fn name(&self) -> LoopName {
        LoopName::of(&self.source, self.kept().is_some())
    }

    pub(crate) fn kept(&self) -> Option<&Kept> {
        match &self.choice.access {
            Access::Kept(kept) => Some(kept),
            _ => None,
        }
    }
}

/// Visits all levels, in the order of the loops.
pub(crate) fn for_each_level<'s>(steps: &'s [Step], visit: &mut dyn FnMut(&'s Level)) {
    for step in steps {
        match step {
            Step::Loop(level) => visit(level),
            Step::Left(join) => for_each_level(&join.steps, visit),
            Step::Full(join) => {
                for_each_level(&join.left, visit);
                visit(&join.right);
            }
        }
    }
}

/// The outermost loop.
pub(crate) fn first_level(steps: &[Step]) -> Option<&Level> {
    let mut first = None;
    for_each_level(steps, &mut |level| first = first.or(Some(level)));
    first
}

/// Whether a level passes the test.
pub(crate) fn any_level(steps: &[Step], test: impl Fn(&Level) -> bool) -> bool {
    let mut found = false;
    for_each_level(steps, &mut |level| found |= test(level));
    found
}

/// The only level, if there is exactly one.
pub(crate) fn only_level(steps: &[Step]) -> Option<&Level> {
    match steps {
        [Step::Loop(level)] => Some(level),
        _ => None,
    }
}

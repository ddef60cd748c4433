//! What a query or a change compiles to: one procedure that emits its result.

use std::sync::Arc;
use std::time::Duration;

use hyades_engine::procedure::ir::Procedure;

use crate::bind::session_function::SessionCall;
use crate::explain::PlanNode;
use crate::explain::counted::Counters;
use crate::plan::judged_size::JudgedSize;
use crate::statement::ExplainOptions;

/// What the command tag counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tag {
    Select,
    Insert,
    Update,
    Delete,
    /// DO has no count.
    Do,
}

#[derive(Debug)]
pub(crate) struct RunPlan {
    pub(crate) session_calls: Vec<SessionCall>,
    pub(crate) procedure: Arc<Procedure>,
    /// Whether it changes no rows and locks none.
    pub(crate) only_looks: bool,
    pub(crate) tag: Tag,
    /// Only for EXPLAIN.
    pub(crate) explain: Option<PlanNode>,
    /// Only for EXPLAIN ANALYZE.
    pub(crate) counters: Counters,
    /// Set if the answer is this analysis instead of the rows.
    pub(crate) analysis: Option<Analysis>,
    /// The sizes of the tables that it joins.
    pub(crate) judged: Vec<JudgedSize>,
}

impl RunPlan {
    pub(crate) fn new(procedure: Arc<Procedure>, tag: Tag) -> RunPlan {
        RunPlan {
            session_calls: Vec::new(),
            only_looks: procedure.only_looks(),
            procedure,
            tag,
            explain: None,
            counters: Counters::new(),
            analysis: None,
            judged: Vec::new(),
        }
    }

    /// Whether it should be compiled again: a view or a type in it has changed since, or a table has grown
    /// or shrunk so much that another join order may be better.
    pub(crate) fn is_outdated(&self) -> bool {
        (self.procedure.uses_unopened && !self.procedure.is_current())
            || self.judged.iter().any(JudgedSize::is_outdated)
    }
}

/// What EXPLAIN ANALYZE reports.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Analysis {
    pub(crate) options: ExplainOptions,
    /// How long planning took.
    pub(crate) planning: Duration,
}

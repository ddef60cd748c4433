//! Emitting instructions: from a bound query or change to a procedure.
//!
//! What is decided about joins and access paths comes from `plan`.
//!
//! Files:
//! * the assembler: `code` (instructions, labels, slots), `row_sink` (where rows go), `output` (descriptions
//!   of results), `optimize` (what shortens the finished procedure), `run_plan` (the result);
//! * queries: `select` (SELECT), `loops` (nested loops over FROM), `outer_join`, `lasting_join` (join tables
//!   of subqueries), `subquery`, `recursion`, `grouping` (GROUP BY), `windows` (window functions), `stages`
//!   (what the executor does after the procedure), `locking` (FOR UPDATE and the like), `explained`,
//!   `explained_rows` (for EXPLAIN);
//! * changes: `insert` and `inserted_elements` (what its values go to), `arbiter` (the index of ON CONFLICT),
//!   `change` and `collected_change` (UPDATE and DELETE), `current_of` (WHERE CURRENT OF), `instead_of`
//!   (views with such triggers), `changing_with` (changes in WITH), `refill` (materialized views);
//! * what a change of a row carries: `row_write` (all of it, in order), `triggers` and `trigger_call` (what
//!   is known of a trigger), `generated` (generated columns), `check` (CHECK), `domain`, `foreign_key`,
//!   `deferred_unique` (keys that can be deferred), `event_kinds` and `referential_events` (what is done when
//!   the statement is over).

mod arbiter;
pub(crate) mod change;
pub(crate) mod changing_with;
pub(crate) mod check;
pub(crate) mod code;
mod collected_change;
mod current_of;
mod deferred_unique;
mod domain;
mod event_kinds;
pub(crate) mod explained;
mod explained_rows;
pub(crate) mod foreign_key;
pub(crate) mod generated;
mod grouping;
pub(crate) mod insert;
mod inserted_elements;
mod instead_of;
mod lasting_join;
pub(crate) mod locking;
pub(crate) mod loops;
pub(crate) mod optimize;
mod outer_join;
pub(crate) mod output;
mod recursion;
pub(crate) mod referential_events;
mod refill;
pub(crate) mod row_sink;
mod row_write;
pub(crate) mod run_plan;
pub(crate) mod select;
pub(crate) mod stages;
mod subquery;
mod trigger_call;
pub(crate) mod triggers;
mod windows;

use std::rc::Rc;
use std::sync::Arc;

use hyades_engine::procedure::ir::{Procedure, Register, RowSlot, TableIndex};
use hyades_engine::storage::table::Table;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::{Missing, refused};
use hyades_types::value::SqlType;

use crate::answer::ResultColumn;
use crate::bind::view_target::ThroughView;
use crate::bind::{BindContext, Binder, Place};
use crate::explain::PlanNode;
use crate::explain::counted::Counters;
use crate::expr::{Draft, NamedConditions};
use crate::plan::judged_size::JudgedSize;
use crate::statement::QualifiedName;
use code::Code;
use event_kinds::Events;
use row_sink::{Nested, Sink};
use run_plan::{RunPlan, Tag};
use trigger_call::{Occasion, TriggerCall};

/// What a plan is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Run,
    /// To run, and to describe the plan.
    Explain,
    /// The same, and to count what it does.
    Analyze,
}

/// Compiles one statement.
pub(crate) struct Compiler<'a> {
    pub(crate) binder: Binder<'a>,
    pub(crate) code: Code,
    /// The destination of rows.
    pub(crate) sink: Sink,
    /// In a routine: what is known about the statement that is compiled into it.
    pub(crate) nested: Option<Nested>,
    pub(crate) purpose: Purpose,
    /// The registers that hold the sequence numbers drawn for rows to be inserted.
    pub(crate) draw_registers: Vec<Register>,
    /// The view that is changed, if the target is a view.
    through: Option<ThroughView>,
    /// CHECK constraints of the tables whose rows are written, with their conditions, by table and row slot.
    pub(crate) checks: Vec<((TableIndex, RowSlot), NamedConditions)>,
    /// The drafts of these rows, and what the generated columns of their tables compute from them.
    pub(crate) computed: Vec<((TableIndex, RowSlot), Draft)>,
    /// What the statement has to check when it is done.
    pub(crate) events: Events,
    /// The triggers that the code calls.
    trigger_calls: Vec<(Occasion, Rc<TriggerCall>)>,
    /// The registers that hold a row to be inserted while triggers may change it, by table.
    fresh_rows: Vec<(TableIndex, Vec<Register>)>,
    /// In a subquery that runs for every row of the enclosing query: the registers with the values of that
    /// row.
    outer: Vec<Register>,
    /// Registers that must be NULL when the statement begins.
    marks: Vec<Register>,
    /// The tables whose sizes influence the plan.
    judged: Vec<JudgedSize>,
    is_in_subquery: bool,
    /// Descriptions of the subqueries so far, for EXPLAIN.
    subplans: Vec<(String, PlanNode)>,
    /// The same for subqueries whose rows are kept, by number.
    kept_plans: Vec<(usize, PlanNode)>,
    /// For EXPLAIN ANALYZE.
    counters: Counters,
    /// How many SELECTs have been planned.
    selects: u16,
    /// Whether the result has another column, with the keys under which the rows are stored.
    pub(crate) keeps_row_keys: bool,
}

impl<'a> Compiler<'a> {
    pub(crate) fn new(
        sql: &'a str,
        context: BindContext<'a>,
        declared: &[Option<SqlType>],
        parameters: u16,
    ) -> Result<Compiler<'a>> {
        let binder = Binder::new(sql, context, declared, parameters)?;
        let code = Code::new(&binder);
        let purpose = Purpose::Run;
        let draw_registers = Vec::new();
        let (nested, through, events) = (None, None, Events::default());
        let (checks, computed) = (Vec::new(), Vec::new());
        let sink = Sink::Answer;
        Ok(Compiler {
            binder,
            code,
            sink,
            nested,
            purpose,
            draw_registers,
            through,
            checks,
            computed,
            events,
            trigger_calls: Vec::new(),
            fresh_rows: Vec::new(),
            outer: Vec::new(),
            marks: Vec::new(),
            judged: Vec::new(),
            is_in_subquery: false,
            subplans: Vec::new(),
            kept_plans: Vec::new(),
            counters: Counters::new(),
            selects: 0,
            keeps_row_keys: false,
        })
    }

    /// The table of a name that Hyades' own parser has read.
    pub(crate) fn named_table(&self, name: &QualifiedName) -> Result<Arc<Table>> {
        if let Some(schema) = &name.schema {
            self.binder.need_schema(schema, Place::Unknown);
        }
        let context = &self.binder.context;
        match context.tables.table(&context.meant(name.schema.as_deref(), &name.name)) {
            Some(table) => Ok(table),
            None => Err(no_table(name)),
        }
    }

    /// The procedure assembled so far. In a routine, and while the rows go to a spool, the code continues,
    /// and there is no procedure yet.
    pub(crate) fn finish_code(&mut self, name: &str, output: Vec<SqlType>) -> Result<Arc<Procedure>> {
        if self.is_part() {
            return Ok(Arc::default());
        }
        let before = self.end_events()?;
        self.code.put_first(before);
        let parameters = self.binder.finished_parameters()?;
        let registers = self.binder.register_count();
        self.code.add_views(std::mem::take(&mut self.binder.views));
        self.code.add_rights(self.binder.rights.take());
        let code = std::mem::replace(&mut self.code, Code::new(&self.binder));
        code.finish(name, parameters, registers, output).map(Arc::new)
    }

    /// Whether a part of a procedure is being compiled, and the rest of the procedure is still to come.
    fn is_part(&self) -> bool {
        self.nested.is_some() || !matches!(self.sink, Sink::Answer)
    }

    /// The plan of the procedure that emits the result. It takes over what its parts need.
    pub(crate) fn direct_run(
        &mut self,
        procedure: Arc<Procedure>,
        tag: Tag,
        explain: Option<PlanNode>,
    ) -> RunPlan {
        let run = RunPlan { explain, ..RunPlan::new(procedure, tag) };
        if self.is_part() {
            return run;
        }
        RunPlan {
            session_calls: std::mem::take(&mut self.binder.session_calls),
            judged: std::mem::take(&mut self.judged),
            counters: self.counters.clone(),
            ..run
        }
    }
}

/// A compiled query or change.
pub(crate) struct CompiledQuery {
    pub(crate) run: RunPlan,
    /// `None`: it returns no rows.
    pub(crate) columns: Option<Vec<ResultColumn>>,
}

/// Moves the position of an error in a text that is part of a larger one.
pub(crate) fn shifted(error: Error, offset: u32) -> Error {
    match &error {
        Error::Input(input) => match input.position {
            Some(position) => error.clone().with_position(position + offset),
            None => error,
        },
        _ => error,
    }
}

/// Refuses what Hyades lacks. `what` ends in a verb.
pub(crate) fn unsupported<T>(missing: Missing, what: &str) -> Result<T> {
    Err(refused(missing, what))
}

/// Refuses what PostgreSQL refuses too, with 0A000.
pub(crate) fn impossible<T>(sentence: impl Into<String>) -> Result<T> {
    Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, sentence))
}

/// 42P01. PostgreSQL gives no position for commands that are not queries.
pub(crate) fn no_table(name: &QualifiedName) -> Error {
    Error::input(sqlstate::UNDEFINED_TABLE, format!("relation \"{}\" does not exist", name.shown()))
}

//! Compiling: from a parsed statement to a [`Plan`].
//!
//! Files:
//! * `code`: the assembler;
//! * queries: `select`, with `level` (the relations of FROM and what each needs), `order` (of the loops),
//!   `loops` (their code), `access` (how a table is read), `implication` (whether an index on some rows
//!   serves), `outer_join`, `lasting_join` (join tables of subqueries), `subquery`, `recursion`, `locking`
//!   (rows skipped), `cursors`;
//! * after the loops: `grouping`, `stages` (what the executor does), `output` (descriptions of results),
//!   `row_sink` (where rows go);
//! * changes: `insert` with `arbiter` (the index of ON CONFLICT), `change` (UPDATE and DELETE),
//!   `collected_change` (those that find all rows first), `changing_with` (in WITH), `copy`;
//! * what changes carry: `generated` (columns), `check`, `foreign_key`, `deferred_unique`, and
//!   `referential_events` with `event_kinds` (what is left to the end of a statement);
//! * DDL: `schema` (tables), `alter_table`, `table_as`, `table_like`, `storage_parameter`,
//!   `index_statements`, `index_expressions`, `sequence_statements`, `views`, `routine_statements`,
//!   `schema_statements`;
//! * `utility`: statements that run no procedure; `explained` and `explained_rows`: what EXPLAIN says of
//!   loops and of queries in FROM;
//! * `optimize`: the code of routines made shorter.

pub(crate) mod access;
mod alter_table;
mod arbiter;
pub(crate) mod change;
mod changing_with;
pub(crate) mod check;
pub(crate) mod code;
mod collected_change;
pub(crate) mod copy;
mod cursors;
mod deferred_unique;
mod event_kinds;
pub(crate) mod explained;
mod explained_rows;
pub(crate) mod foreign_key;
pub(crate) mod generated;
mod grouping;
mod implication;
pub(crate) mod index_expressions;
mod index_statements;
pub(crate) mod insert;
mod lasting_join;
pub(crate) mod level;
pub(crate) mod locking;
pub(crate) mod loops;
pub(crate) mod optimize;
pub(crate) mod order;
mod outer_join;
pub(crate) mod output;
mod recursion;
pub(crate) mod referential_events;
pub(crate) mod routine_statements;
pub(crate) mod row_sink;
pub(crate) mod schema;
pub(crate) mod schema_statements;
pub(crate) mod select;
mod sequence_statements;
pub(crate) mod stages;
mod storage_parameter;
mod subquery;
pub(crate) mod table_as;
mod table_like;
pub(crate) mod utility;
pub(crate) mod views;

use std::rc::Rc;
use std::sync::Arc;

use hyades_engine::procedure::ir::{Procedure, Register, RowSlot, TableIndex};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::value::SqlType;
use sqlparser::ast;

use crate::answer::{Response, ResultColumn};
use crate::bind::view_target::ThroughView;
use crate::bind::{BindContext, Binder};
use crate::explain::PlanNode;
use crate::explain::counted::Counters;
use crate::expr::{Draft, NamedConditions};
use crate::plan::{Action, JudgedSize, Plan, RunPlan, SchemaCommand, Tag};
use crate::statement::deep_text::with_stack_for;
use crate::statement::{self, AlterType, Owned, Statement, TypeAction, split};
use changing_with::changes_rows;
use code::Code;
use event_kinds::Events;
use row_sink::{Nested, Sink};

/// Compiles the statement of a text. `declared` gives the types of the first parameters that the client has
/// specified. `truncated` gets the names that are too long, and their truncated forms.
pub(crate) fn compile(
    sql: &str,
    context: BindContext<'_>,
    declared: &[Option<SqlType>],
    truncated: &mut Vec<(String, String)>,
) -> Result<Plan> {
    compile_for(sql, context, declared, truncated, Purpose::Run)
}

/// What a plan is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Run,
    /// To run, and to describe the plan.
    Explain,
    /// The same, and to count what it does.
    Analyze,
}

/// As [`compile`], for this purpose.
pub(crate) fn compile_for(
    sql: &str,
    context: BindContext<'_>,
    declared: &[Option<SqlType>],
    truncated: &mut Vec<(String, String)>,
    purpose: Purpose,
) -> Result<Plan> {
    with_stack_for(sql, || compile_here(sql, context, declared, truncated, purpose))
}

fn compile_here(
    sql: &str,
    context: BindContext<'_>,
    declared: &[Option<SqlType>],
    truncated: &mut Vec<(String, String)>,
    purpose: Purpose,
) -> Result<Plan> {
    split::check_memory(sql)?;
    let survey = split::survey(sql)?;
    *truncated = survey.truncated;
    let statement = statement::parse(sql)?;
    let mut compiler = Compiler::new(sql, context, declared, survey.parameters)?;
    compiler.purpose = purpose;
    compiler.statement(&statement)
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
}

impl<'a> Compiler<'a> {
    pub(crate) fn new(
        sql: &'a str,
        context: BindContext<'a>,
        declared: &[Option<SqlType>],
        parameters: u16,
    ) -> Result<Compiler<'a>> {
        let binder = Binder::new(sql, context, declared, parameters)?;
        let code = Code::new(binder.slots(), Rc::clone(&binder.callees), Rc::clone(&binder.types));
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
            outer: Vec::new(),
            marks: Vec::new(),
            judged: Vec::new(),
            is_in_subquery: false,
            subplans: Vec::new(),
            kept_plans: Vec::new(),
            counters: Counters::new(),
            selects: 0,
        })
    }

    pub(crate) fn statement(&mut self, statement: &Statement) -> Result<Plan> {
        match statement {
            Statement::Query(query) => self.query_statement(query),
            Statement::Copy(copy) => self.copy(copy),
            Statement::Explain { options, body, body_offset } => self.explain(*options, body, *body_offset),
            Statement::CreateView(create) => self.create_view(create),
            Statement::DropView(drop) => Ok(self.drop_view(drop)),
            Statement::CreateTableAs(create) => self.create_table_as(create),
            Statement::CreateTableLike(create) => self.create_table_like(create),
            Statement::Do(block) => self.anonymous_block(block),
            Statement::CreateRoutine(create) => self.create_routine(create),
            Statement::DropRoutine(drop) => self.drop_routine(drop),
            Statement::CreateSchema(create) => self.create_schema(create),
            Statement::DropSchema(drop) => Ok(self.drop_schema(drop)),
            Statement::AlterSchema(alter) => Ok(self.alter_schema(alter)),
            Statement::Access(command) => self.access(command),
            Statement::Move(change) => self.moved(change),
            Statement::CreateSequence(create) => self.create_sequence(create),
            Statement::AlterSequence(alter) => Ok(self.alter_sequence(alter)),
            Statement::DropSequence(drop) => Ok(self.drop_sequence(drop)),
            Statement::Comment(comment) => self.comment(comment),
            Statement::CreateType(create) => {
                let name = self.created_name(&create.name, None)?;
                let labels = create.labels.clone();
                Ok(self.schema_plan("CREATE TYPE", SchemaCommand::CreateType { name, labels }))
            }
            Statement::AlterType(AlterType { name, action: TypeAction::SetOwner(to) }) => {
                Ok(self.owned("ALTER TYPE", Owned::Type(name.clone()), to.clone()))
            }
            Statement::AlterType(alter) => {
                Ok(self.schema_plan("ALTER TYPE", SchemaCommand::AlterType(alter.clone())))
            }
            Statement::DropType(drop) => {
                Ok(self.schema_plan("DROP TYPE", SchemaCommand::DropType(drop.clone())))
            }
            Statement::CreateIndex(create) => self.create_index(create),
            Statement::DropIndex(drop) => self.drop_index(drop),
            Statement::RenameIndex(rename) => Ok(self.rename_index(rename)),
            Statement::ReindexIndex(name, is_concurrent) => Ok(self.reindex(name, *is_concurrent)),
            Statement::Call => self.call(self.binder.sql),
            other => self.utility(other),
        }
    }

    fn query_statement(&mut self, query: &ast::Statement) -> Result<Plan> {
        match query {
            ast::Statement::Query(query) => {
                let compiled = self.query(query)?;
                let is_read_only = query.locks.is_empty() && !changes_rows(query);
                let command = match compiled.run.tag {
                    Tag::Insert => "INSERT",
                    Tag::Update => "UPDATE",
                    Tag::Delete => "DELETE",
                    Tag::Select | Tag::Do => "SELECT",
                };
                self.plan(compiled, command, is_read_only)
            }
            ast::Statement::Insert(insert) => {
                let compiled = self.insert(insert)?;
                self.plan(compiled, "INSERT", false)
            }
            ast::Statement::Update(update) => {
                let compiled = self.update(update)?;
                self.plan(compiled, "UPDATE", false)
            }
            ast::Statement::Delete(delete) => {
                let compiled = self.delete(delete)?;
                self.plan(compiled, "DELETE", false)
            }
            other => self.schema(other),
        }
    }

    fn plan(&mut self, compiled: CompiledQuery, command: &'static str, is_read_only: bool) -> Result<Plan> {
        let response = match compiled.columns {
            Some(columns) => Response::Rows(columns),
            None => Response::NoData,
        };
        Ok(Plan {
            parameters: self.binder.finished_parameters()?,
            response,
            action: Action::Run(Box::new(compiled.run)),
            command,
            is_read_only,
        })
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
        let code = std::mem::replace(
            &mut self.code,
            Code::new(self.binder.slots(), Rc::clone(&self.binder.callees), Rc::clone(&self.binder.types)),
        );
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

/// Refuses a feature that Hyades lacks.
pub(crate) fn unsupported<T>(sentence: impl Into<String>) -> Result<T> {
    Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, sentence))
}

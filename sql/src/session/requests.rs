//! Requests that a procedure makes of its session in the middle of its run: to compile the text of an
//! EXECUTE, to change the schema, to end the transaction and begin the next.
//!
//! A routine and the statement that calls it use tables as they were when they were compiled, and do not
//! check again once they have begun. So a routine cannot change these tables (55006), just as in PostgreSQL
//! it cannot change a table that an active query uses.

use std::sync::Arc;

use hyades_engine::db::{Flow, Interrupt};
use hyades_engine::procedure::frame::{Frame, Request};
use hyades_engine::procedure::ir::{Instruction, Procedure};
use hyades_types::definition::CatalogChange;
use hyades_types::error::{Abort, Error, Result, sqlstate};
use hyades_types::refusal::{Missing, refused_in};
use hyades_types::value::Value;

use super::running::SchemaRun;
use super::state::State;
use super::{Notice, Output, Session};
use crate::compile::action::Action;
use crate::ddl::command::SchemaCommand;
use crate::ddl::databases::is_alone;
use crate::statement::tokens::Tokens;

/// The first words of statements that change the schema.
const SCHEMA_WORDS: [&str; 7] = ["create", "alter", "drop", "truncate", "comment", "reindex", "refresh"];

/// Schema changes that routines make within the running statement.
#[derive(Default)]
pub(super) struct SchemaRequests {
    /// The change that waits.
    run: Option<SchemaRun>,
    /// What it has told so far.
    told: Told,
    has_changed: bool,
}

impl SchemaRequests {
    /// Forgets the change that waits, because the statement starts again.
    pub(super) fn withdraw(&mut self) {
        self.run = None;
        self.told = Told::default();
    }
}

/// The messages of a schema change, which are passed on once it is made or has failed: if it starts again, it
/// tells them again.
#[derive(Default)]
struct Told(Vec<Notice>);

impl Output for Told {
    fn row(&mut self, _values: &mut [Value]) -> Result<()> {
        Ok(())
    }

    fn copy_data(&mut self, _bytes: &[u8]) -> Result<()> {
        Ok(())
    }

    fn notice(&mut self, notice: Notice) {
        self.0.push(notice);
    }

    fn restart(&mut self) {
        self.0.clear();
    }
}

/// Whether the first word of a text is one of those that change the schema.
fn may_change_schema(text: &str) -> bool {
    let first = Tokens::new(text).map(|tokens| tokens.peek());
    first.is_ok_and(|first| SCHEMA_WORDS.iter().any(|known| first.is_word(known)))
}

/// Whether the procedure has stopped to change the schema.
pub(super) fn asks_for_schema_change(frame: &Frame) -> bool {
    matches!(&frame.request, Some(Request::Compile { text, .. }) if may_change_schema(text))
}

/// Commands that end their transaction cannot run in the middle of one.
fn refuse_concurrent(command: &SchemaCommand) -> Result<()> {
    if let SchemaCommand::Database(command) = command
        && let Some(name) = is_alone(command)
    {
        let message = format!("{name} cannot be executed from a function");
        return Err(Error::input(sqlstate::ACTIVE_SQL_TRANSACTION, message));
    }
    let what = match command {
        SchemaCommand::CreateIndex(wanted) if wanted.is_concurrent => "CREATE INDEX",
        SchemaCommand::DropIndex(drop) if drop.is_concurrent => "DROP INDEX",
        SchemaCommand::Reindex(_, true) => "REINDEX",
        _ => return Ok(()),
    };
    let message = format!("{what} CONCURRENTLY cannot be executed from a function");
    Err(Error::input(sqlstate::ACTIVE_SQL_TRANSACTION, message))
}

/// A procedure to call instead of a statement that has been carried out.
fn done() -> Arc<Procedure> {
    Arc::new(Procedure { code: vec![Instruction::Return], ..Procedure::default() })
}

impl Session {
    /// Handles the request for which the procedure has stopped, if any. Returns true if this has replaced
    /// the transaction. It is called again after a wait.
    pub(super) fn attend(&mut self, frame: &mut Frame, output: &mut dyn Output) -> Flow<bool> {
        let Some(request) = frame.request.clone() else { return Ok(false) };
        let has_ended = match request {
            Request::Compile { text, rows, .. } if may_change_schema(&text) => {
                let changed = match rows {
                    None => self.change_schema_within(&text, frame, output)?,
                    Some(_) => Err(Error::input(
                        sqlstate::SYNTAX_ERROR,
                        "INTO used with a command that cannot return data",
                    )),
                };
                frame.compiled = Some(changed.map(|()| done()));
                false
            }
            Request::Compile { text, types, rows } => {
                let compiled = self.compile_dynamic(&text, &types, rows.as_ref()).map(Arc::new);
                if let Ok(procedure) = &compiled
                    && procedure.asks_catalog
                {
                    self.show_catalog(procedure)?;
                }
                frame.compiled = Some(compiled);
                false
            }
            Request::EndTransaction { commits } => {
                if commits {
                    // The first part can still run again, if that is outdated.
                    self.commit_checked()?;
                    if self.state != State::Idle {
                        self.commit_transaction()?;
                    }
                } else {
                    self.roll_back();
                }
                if let Some(locks) = &self.view.environment.advisory_locks {
                    // What has come to an end is not repeated.
                    locks.begin_statement();
                }
                self.begin();
                self.state = State::Implicit;
                self.implicit.statements = 0;
                self.implicit.attempts_left = 0;
                self.isolate(false, false);
                true
            }
        };
        frame.request = None;
        Ok(has_ended)
    }

    /// Runs a schema change. The inner error is for the routine to handle.
    fn change_schema_within(
        &mut self,
        text: &str,
        frame: &Frame,
        output: &mut dyn Output,
    ) -> Flow<Result<()>> {
        let mut told = std::mem::take(&mut self.schema_requests.told);
        let outcome = self.make_change_within(text, frame, &mut told);
        if let Err(Interrupt::Wait(ticket)) = outcome {
            self.schema_requests.told = told;
            return Err(Interrupt::Wait(ticket));
        }
        told.0.into_iter().for_each(|notice| output.notice(notice));
        outcome
    }

    fn make_change_within(&mut self, text: &str, frame: &Frame, output: &mut Told) -> Flow<Result<()>> {
        let begun = match self.schema_requests.run.take() {
            Some(run) => Ok(run),
            None => self.begin_change_within(text, output),
        };
        let mut run = match begun {
            Ok(run) => run,
            Err(error) => return Ok(Err(error)),
        };
        loop {
            if let Some(error) = self.in_use(&run, frame) {
                drop(self.view.worker.rollback_to(run.savepoint));
                return Ok(Err(error));
            }
            match self.schema_step(&mut run, output) {
                Ok(true) => {}
                Ok(false) => break,
                Err(Interrupt::Wait(ticket)) => {
                    self.schema_requests.run = Some(run);
                    return Err(Interrupt::Wait(ticket));
                }
                Err(Interrupt::Failed(Error::Abort(Abort::StalePlan))) => {
                    self.note_stale_plan()?;
                    output.restart();
                    drop(self.view.worker.rollback_to(run.savepoint));
                    run = match self.begin_change_within(text, output) {
                        Ok(run) => run,
                        Err(error) => return Ok(Err(error)),
                    };
                }
                Err(Interrupt::Failed(error @ Error::Input(_))) => {
                    drop(self.view.worker.rollback_to(run.savepoint));
                    return Ok(Err(error));
                }
                Err(failed) => return Err(failed),
            }
        }
        self.schema_requests.has_changed = true;
        self.view.note_own_change();
        Ok(Ok(()))
    }

    /// Error 55006 if the next change affects a table that is in use by the statement or by a routine that
    /// it runs: their plans hold the table as it was, and do not check again once they have begun.
    fn in_use(&self, run: &SchemaRun, frame: &Frame) -> Option<Error> {
        let change = run.changes.get(run.done)?;
        let mut changed = change.changed_tables();
        if let CatalogChange::AlterType { definition } = change {
            let tables = self.view.visible_tables();
            let users = tables.iter().filter(|one| one.definition().uses_type(definition.id));
            changed.extend(users.map(|one| one.id()));
        }
        let used = changed.into_iter().find(|table| frame.uses_table(*table))?;
        let name = self.view.table_by_id(used).map(|table| table.definition().name.name.clone());
        let message = format!(
            "cannot change table \"{}\" because it is being used by active queries in this session",
            name.unwrap_or_default()
        );
        Some(Error::input(sqlstate::OBJECT_IN_USE, message).with_hint(
            "A routine uses every table that its body names outside of EXECUTE, from its beginning to its end.",
        ))
    }

    fn begin_change_within(&mut self, text: &str, output: &mut dyn Output) -> Result<SchemaRun> {
        let plan = self.compile(text, &[], &mut Vec::new())?;
        match &plan.action {
            Action::Schema(command @ SchemaCommand::CreateAs { definition, query: Some(_), .. })
                if definition.materialized.is_some() =>
            {
                let run = self.start_schema(command, output)?;
                let created = run.changes.first().and_then(|change| match change {
                    CatalogChange::CreateTable { id, .. } => Some(*id),
                    _ => None,
                });
                Ok(SchemaRun { created, ..run })
            }
            Action::Schema(SchemaCommand::CreateAs { query: Some(_), .. }) => {
                Err(refused_in(Missing::DefinedInRoutine, "CREATE TABLE AS in a routine is", "PL/pgSQL"))
            }
            Action::Schema(command) => {
                refuse_concurrent(command)?;
                self.start_schema(command, output)
            }
            _ => Err(refused_in(Missing::StatementsInRoutines, "EXECUTE of this statement is", "PL/pgSQL")),
        }
    }

    /// Resets the requests for a new statement.
    pub(super) fn forget_schema_requests(&mut self) {
        if self.schema_requests.has_changed {
            // A handler may have undone the change.
            self.view.note_taken_back();
        }
        self.schema_requests = SchemaRequests::default();
    }
}

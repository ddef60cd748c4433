//! What a procedure asks of its session in the middle of its run: to compile the text of an EXECUTE, to
//! change the schema, to end the transaction and begin the next.
//!
//! A routine knows the tables that it uses as they were when it was compiled. If it changes one itself and
//! goes on to use it, its plan is stale, and what is stale is done again from the beginning, where it would
//! become stale again: the second time that is an error.

use std::sync::Arc;

use hyades_engine::db::{Flow, Interrupt};
use hyades_engine::procedure::frame::{Frame, Request};
use hyades_engine::procedure::ir::{Instruction, Procedure};
use hyades_types::error::{Abort, Error, Result, sqlstate};

use super::running::SchemaRun;
use super::state::State;
use super::{Output, Session};
use crate::plan::{Action, SchemaCommand};

/// The first words of statements that change the schema.
const SCHEMA_WORDS: [&str; 6] = ["create", "alter", "drop", "truncate", "comment", "reindex"];

/// What the statement that runs has done to the schema from within routines.
#[derive(Default)]
pub(super) struct SchemaRequests {
    /// The one that waits.
    run: Option<SchemaRun>,
    has_changed: bool,
    was_stale: bool,
}

/// A text's first word is one of those that change the schema.
fn may_change_schema(text: &str) -> bool {
    let word: String = text.trim_start().chars().take_while(char::is_ascii_alphabetic).collect();
    SCHEMA_WORDS.iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// What is called in place of a statement that is done.
fn done() -> Arc<Procedure> {
    Arc::new(Procedure { code: vec![Instruction::Return], ..Procedure::default() })
}

impl Session {
    /// Does what the procedure has stopped for, if it has; true if its transaction is another one now.
    /// It is called again after a wait.
    pub(super) fn attend(&mut self, frame: &mut Frame, output: &mut dyn Output) -> Flow<bool> {
        let Some(request) = frame.request.clone() else { return Ok(false) };
        let has_ended = match request {
            Request::Compile { text, .. } if may_change_schema(&text) => {
                let changed = self.change_schema_within(&text, output)?;
                frame.compiled = Some(changed.map(|()| done()));
                false
            }
            Request::Compile { text, types, rows } => {
                let compiled = self.compile_dynamic(&text, &types, rows.as_ref()).map(Arc::new);
                if let Ok(procedure) = &compiled
                    && procedure.asks_catalog
                {
                    self.show_catalog(procedure);
                }
                frame.compiled = Some(compiled);
                false
            }
            Request::EndTransaction { commits } => {
                if commits {
                    self.commit_transaction()?;
                } else {
                    self.roll_back();
                }
                self.begin();
                self.state = State::Implicit;
                self.implicit_statements = 0;
                self.isolate(false);
                true
            }
        };
        frame.request = None;
        Ok(has_ended)
    }

    /// Runs a change of the schema; the inner error is the routine's to handle.
    fn change_schema_within(&mut self, text: &str, output: &mut dyn Output) -> Flow<Result<()>> {
        let begun = match self.schema_requests.run.take() {
            Some(run) => Ok(run),
            None => self.begin_change_within(text, output),
        };
        let mut run = match begun {
            Ok(run) => run,
            Err(error) => return Ok(Err(error)),
        };
        loop {
            match self.schema_step(&mut run, output) {
                Ok(true) => {}
                Ok(false) => break,
                Err(Interrupt::Wait(ticket)) => {
                    self.schema_requests.run = Some(run);
                    return Err(Interrupt::Wait(ticket));
                }
                Err(Interrupt::Failed(Error::Abort(Abort::StalePlan))) => {
                    self.environment.stop.check()?;
                    drop(self.worker.rollback_to(run.savepoint));
                    run = match self.begin_change_within(text, output) {
                        Ok(run) => run,
                        Err(error) => return Ok(Err(error)),
                    };
                }
                Err(Interrupt::Failed(error @ Error::Input(_))) => {
                    drop(self.worker.rollback_to(run.savepoint));
                    return Ok(Err(error));
                }
                Err(failed) => return Err(failed),
            }
        }
        self.schema_requests.has_changed = true;
        self.note_own_change();
        Ok(Ok(()))
    }

    fn begin_change_within(&mut self, text: &str, output: &mut dyn Output) -> Result<SchemaRun> {
        let plan = self.compile(text, &[], &mut Vec::new())?;
        match &plan.action {
            Action::Schema(SchemaCommand::CreateAs { query: Some(_), .. }) => {
                let message = "CREATE TABLE AS in a routine is not supported yet in PL/pgSQL";
                Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message)
                    .with_hint("Use CREATE TABLE, and EXECUTE of INSERT ... SELECT."))
            }
            Action::Schema(command) => self.start_schema(command, output),
            _ => {
                let message = "EXECUTE of this statement is not supported yet in PL/pgSQL";
                Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message))
            }
        }
    }

    /// A new statement begins.
    pub(super) fn forget_schema_requests(&mut self) {
        if self.schema_requests.has_changed {
            // A handler may have taken the change back.
            self.note_taken_back();
        }
        self.schema_requests = SchemaRequests::default();
    }

    /// The statement is to be done again, its plan being stale.
    ///
    /// # Errors
    /// 0A000 if it makes its plan stale itself.
    pub(super) fn check_own_staleness(&mut self) -> Result<()> {
        // What is done again begins anew.
        self.schema_requests.run = None;
        if !std::mem::take(&mut self.schema_requests.has_changed) {
            return Ok(());
        }
        if !std::mem::replace(&mut self.schema_requests.was_stale, true) {
            return Ok(());
        }
        let message =
            "a routine that changes a table and uses it afterwards is not supported yet in PL/pgSQL";
        Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message)
            .with_hint("Use EXECUTE for the statements that follow the change."))
    }
}

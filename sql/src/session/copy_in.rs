//! COPY FROM STDIN in a session.
//!
//! Each row that the data yields (`crate::copy`) goes through the insert procedure. When that waits for
//! another transaction, the caller repeats the call with the same chunk. The chunk has been taken by then,
//! and only the row that waits runs on.
//!
//! Between two rows, the function of a trigger may be replaced. The row that finds its plan stale is undone
//! and inserted by a new plan; the rows before it stay.

use std::sync::Arc;

use hyades_engine::db::{Flow, Interrupt};
use hyades_engine::procedure::frame::Frame;
use hyades_engine::procedure::ir::Procedure;
use hyades_types::error::{Abort, Error, Result, sqlstate};
use hyades_types::memory;

use super::deferred::Kept;
use super::run::unattended;
use super::running::CopyIn;
use super::transaction::failed;
use super::{Completion, Prepared, Session};
use crate::compile::action::{Action, Plan};
use crate::copy::copy_plan::CopyInPlan;
use crate::copy::intake::Intake;

fn copy_plan(plan: &Plan) -> Result<&Arc<CopyInPlan>> {
    match &plan.action {
        Action::CopyIn(copy) => Ok(copy),
        _ => Err(Error::input(sqlstate::INTERNAL_ERROR, "the statement is no COPY")),
    }
}

impl Session {
    pub(super) fn start_copy_in(&mut self, statement: &Arc<Prepared>, plan: Arc<Plan>) -> Flow<Completion> {
        self.isolate(false, false);
        let mut plan = plan;
        let copy = copy_plan(&plan)?;
        let is_stale =
            copy.insert.tables.iter().any(|reference| {
                reference.table.is_dropped() || reference.table.version() != reference.version
            });
        if is_stale {
            plan = self.recompile(statement)?;
        }
        let copy = copy_plan(&plan)?;
        self.copy = Some(Box::new(CopyIn {
            statement: Arc::clone(statement),
            intake: Intake::new(copy, &self.shared.sharing),
            savepoint: self.view.worker.savepoint(),
            is_taken: false,
            is_row_pending: false,
            rows: 0,
            has_begun: false,
            notices: self.notices.len(),
            around: None,
            plan,
        }));
        Ok(Completion::CopyIn)
    }

    /// Takes data of COPY FROM STDIN, in chunks of any size.
    ///
    /// # Errors
    /// Those of bad data (22P04) and of inserting it. The transaction has failed then.
    pub fn copy_feed(&mut self, bytes: &[u8]) -> Flow<()> {
        let Some(mut copy) = self.copy.take() else {
            return failed(sqlstate::PROTOCOL_VIOLATION, "unexpected message type 0x64 outside COPY");
        };
        if !copy.is_taken {
            if let Err(error) = memory::check(bytes.len() * 2) {
                return self.copy_interrupted(copy, error.into());
            }
            copy.intake.take(bytes);
            copy.is_taken = true;
            if let Ok(plan) = copy_plan(&copy.plan) {
                let memory = (&*self.view.account, self.shared.memory);
                copy.intake.divide(plan, self.view.reading(), memory);
            }
        }
        match self.as_guest(|session| session.copy_rows(&mut copy, false)) {
            Ok(()) => {
                copy.is_taken = false;
                self.copy = Some(copy);
                Ok(())
            }
            Err(interrupt) => self.copy_interrupted(copy, interrupt),
        }
    }

    /// Ends the data.
    ///
    /// # Errors
    /// As [`Session::copy_feed`].
    pub fn copy_finish(&mut self) -> Flow<Completion> {
        let Some(mut copy) = self.copy.take() else {
            return failed(sqlstate::PROTOCOL_VIOLATION, "unexpected message type 0x63 outside COPY");
        };
        match self.as_guest(|session| session.copy_rows(&mut copy, true)) {
            Ok(()) => {
                self.implicit.statements += 1;
                Ok(Completion::Tag(format!("COPY {}", copy.rows).into()))
            }
            Err(interrupt) => self.copy_interrupted(copy, interrupt),
        }
    }

    /// Handles a COPY that the client gave up.
    pub fn copy_fail(&mut self, message: &str) -> Error {
        self.abandon(Error::input(sqlstate::QUERY_CANCELED, message))
    }

    fn copy_interrupted<T>(&mut self, copy: Box<CopyIn>, interrupt: Interrupt) -> Flow<T> {
        match interrupt {
            Interrupt::Wait(ticket) => {
                self.copy = Some(copy);
                Err(Interrupt::Wait(ticket))
            }
            Interrupt::Failed(error) => {
                let error = copy.intake.placed(copy_plan(&copy.plan).ok().map(|plan| &**plan), error);
                self.fail_transaction();
                Err(Interrupt::Failed(error))
            }
        }
    }

    /// Inserts all complete rows, and with `is_last` also the rest.
    fn copy_rows(&mut self, copy: &mut CopyIn, is_last: bool) -> Flow<()> {
        let mut plan = Arc::clone(&copy.plan);
        while !copy.has_begun {
            match self.run_around(copy, copy_plan(&plan)?.before.as_ref()) {
                Err(Interrupt::Failed(Error::Abort(Abort::StalePlan))) => plan = self.copy_again(copy)?,
                outcome => {
                    outcome?;
                    copy.has_begun = true;
                    self.next_step(copy);
                }
            }
        }
        loop {
            if copy.is_row_pending {
                let (frame, mut messages) = (&mut copy.intake.frame, Kept(&mut self.notices));
                let outcome = self.view.worker.run(frame, &mut self.view.environment, &mut messages);
                match outcome.map_err(unattended) {
                    Ok(()) => {}
                    Err(Interrupt::Failed(Error::Abort(Abort::StalePlan))) => {
                        plan = self.copy_again(copy)?;
                        copy.intake.repeat_row(copy_plan(&plan)?, self.view.reading())?;
                        continue;
                    }
                    Err(interrupt) => return Err(interrupt),
                }
                copy.is_row_pending = false;
                copy.rows += copy.intake.frame.affected;
                self.next_step(copy);
            }
            if !copy.intake.next_row(copy_plan(&plan)?, is_last, self.view.reading())? {
                break;
            }
            (copy.is_row_pending, copy.notices) = (true, self.notices.len());
        }
        if !is_last {
            return Ok(());
        }
        loop {
            match self.run_around(copy, copy_plan(&plan)?.after.as_ref()) {
                Err(Interrupt::Failed(Error::Abort(Abort::StalePlan))) => plan = self.copy_again(copy)?,
                outcome => return outcome,
            }
        }
    }

    /// What was done so far stays if the next row is undone.
    fn next_step(&mut self, copy: &mut CopyIn) {
        copy.savepoint = self.view.worker.savepoint();
        self.begin_attempts();
    }

    /// Undoes what the current row or trigger has done, and compiles the statement again.
    fn copy_again(&mut self, copy: &mut CopyIn) -> Result<Arc<Plan>> {
        self.note_stale_plan()?;
        // They will be told again.
        self.notices.truncate(copy.notices);
        drop(self.view.worker.rollback_to(copy.savepoint));
        self.forget_attempt();
        let plan = self.recompile(&copy.statement)?;
        (copy.plan, copy.around) = (Arc::clone(&plan), None);
        Ok(plan)
    }

    /// Runs the triggers before or after the statement.
    fn run_around(&mut self, copy: &mut CopyIn, triggers: Option<&Arc<Procedure>>) -> Flow<()> {
        let Some(triggers) = triggers else { return Ok(()) };
        let mut frame = copy.around.take().unwrap_or_else(|| {
            copy.notices = self.notices.len();
            Box::new(Frame::new(Arc::clone(triggers)))
        });
        let mut messages = Kept(&mut self.notices);
        let outcome = self.view.worker.run(&mut frame, &mut self.view.environment, &mut messages);
        let outcome = outcome.map_err(unattended);
        if let Err(Interrupt::Wait(_)) = outcome {
            copy.around = Some(frame);
        }
        outcome
    }
}

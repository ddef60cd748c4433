//! CALL in a session, and what EXPLAIN says of it.

use std::sync::Arc;

use hyades_engine::db::{ARGUMENTS_DRAW, Flow, Interrupt, Logging, LoggingChoice};
use hyades_engine::procedure::frame::{Frame, Message, RowSink};
use hyades_engine::procedure::ir::{Expr, Replayability};
use hyades_engine::storage::stored_routine::Routine;
use hyades_types::error::{Abort, Error, Result, sqlstate};
use hyades_types::text::DateStyles;
use hyades_types::value::Value;

use super::run::check_parameters;
use super::running::{CallRun, Running};
use super::state::State;
use super::{Completion, Notice, Output, Prepared, Session};
use crate::compile::action::{Action, CallPlan, Plan};
use crate::evaluation;
use crate::explain::PlanNode;
use crate::statement::ExplainFormat;

struct CallSink<'a>(&'a mut dyn Output);

impl RowSink for CallSink<'_> {
    fn row(&mut self, values: &mut [Value]) -> Result<()> {
        self.0.row(values)
    }

    fn message(&mut self, message: Message) {
        self.0.notice(Notice::of(message));
    }
}

fn call_plan(plan: &Plan) -> Result<&CallPlan> {
    match &plan.action {
        Action::Call(call) => Ok(call),
        _ => Err(Error::input(sqlstate::INTERNAL_ERROR, "the statement calls nothing")),
    }
}

/// Passes on what the routine returns.
fn show_results(frame: &mut Frame, output: &mut dyn Output) -> Result<()> {
    let procedure = frame.procedure.clone();
    if procedure.results.is_empty() {
        return Ok(());
    }
    let results = procedure.results.iter().map(|result| usize::from(*result));
    let mut row: Vec<Value> = results.map(|result| std::mem::take(&mut frame.registers[result])).collect();
    output.row(&mut row)
}

impl Session {
    pub(super) fn start_call(&mut self, plan: Arc<Plan>, parameters: &[Value]) -> Flow<CallRun> {
        check_parameters(&plan, parameters)?;
        let call = call_plan(&plan)?;
        if call.routine.is_dropped() {
            return Err(Error::Abort(Abort::StalePlan).into());
        }
        self.isolate(false, true);
        let savepoint = self.view.worker.savepoint();
        let mut frame = self.take_call_frame(&call.routine)?;
        self.show_catalog(&frame.procedure)?;
        for (at, argument) in call.arguments.iter().enumerate() {
            // Most arguments are parameters, unchanged.
            if let Expr::Register(parameter) = argument
                && let Some(value) = parameters.get(usize::from(*parameter))
            {
                frame.set_register(at, value.clone());
            } else {
                frame.set_register(at, evaluation::evaluate(argument, parameters, &self.view.environment)?);
            }
        }
        // A value bound by a client or computed by EXECUTE may be of an earlier version of its type.
        for at in 0..frame.procedure.parameters.len() {
            let sql_type = frame.procedure.parameters[at];
            if sql_type.has_definition() {
                let value = std::mem::take(&mut frame.registers[at]).with_current_type(sql_type);
                frame.set_register(at, value);
            }
        }
        if self.is_alone() {
            // A replay formats floats with the default digits, and reads and writes dates in the default
            // styles.
            let settings = &self.view.settings;
            let logging = match (settings.float_digits(), settings.styles() == DateStyles::default()) {
                (1.., true) => settings.logging(),
                _ => Logging::Data,
            };
            self.view.worker.begin_call(&call.routine, &mut frame, &self.view.environment, logging);
        }
        self.view.environment.may_end_transactions = self.is_alone() && !self.is_in_list;
        Ok(CallRun { plan, frame, savepoint, is_past_end: false, has_run: false })
    }

    /// Starts a call, and starts it again with a new plan when the old plan is stale.
    pub(super) fn execute_call(
        &mut self,
        statement: &Arc<Prepared>,
        plan: Arc<Plan>,
        parameters: &[Value],
        output: &mut dyn Output,
    ) -> Flow<Completion> {
        let mut plan = plan;
        loop {
            match self.start_call(Arc::clone(&plan), parameters) {
                Ok(run) => return self.continue_call(statement, parameters, run, output),
                Err(Interrupt::Failed(Error::Abort(Abort::StalePlan))) => {
                    self.note_stale_plan()?;
                    plan = self.recompile(statement)?;
                }
                Err(other) => return Err(other),
            }
        }
    }

    pub(super) fn continue_call(
        &mut self,
        statement: &Arc<Prepared>,
        parameters: &[Value],
        mut run: CallRun,
        output: &mut dyn Output,
    ) -> Flow<Completion> {
        let outcome = match self.run_call(&mut run, output).and_then(|()| self.commit_checked()) {
            // The part of a routine that follows a COMMIT cannot start again.
            Err(Interrupt::Failed(Error::Abort(abort))) if run.is_past_end => {
                return Err(Error::Abort(abort).into());
            }
            outcome => outcome,
        };
        match outcome {
            Ok(()) => {
                self.implicit.statements += 1;
                self.keep_frame(run.frame);
                Ok(Completion::Tag("CALL".into()))
            }
            Err(Interrupt::Wait(ticket)) => {
                self.running = Some(Running::Call(Box::new(run)));
                Err(Interrupt::Wait(ticket))
            }
            Err(Interrupt::Failed(Error::Abort(abort))) if self.may_retry(abort) => {
                let plan = self.undo_for_retry(statement, abort, run.savepoint, output)?;
                let plan = plan.unwrap_or(run.plan);
                self.execute_call(statement, plan, parameters, output)
            }
            Err(failed) => Err(failed),
        }
    }

    /// Runs the procedure and handles its requests.
    fn run_call(&mut self, run: &mut CallRun, output: &mut dyn Output) -> Flow<()> {
        while !run.has_run {
            if self.attend(&mut run.frame, output)? {
                (run.is_past_end, run.savepoint) = (true, self.view.worker.savepoint());
            }
            match self.view.worker.run(
                &mut run.frame,
                &mut self.view.environment,
                &mut CallSink(&mut *output),
            ) {
                Err(Interrupt::Failed(Error::Abort(Abort::Suspended))) => {}
                outcome => {
                    outcome?;
                    run.has_run = true;
                    show_results(&mut run.frame, output)?;
                }
            }
        }
        Ok(())
    }

    /// EXPLAIN of a CALL: how it would be logged now, and why.
    pub(super) fn explain_call(
        &self,
        routine: &Routine,
        draws: bool,
        is_verbose: bool,
        format: ExplainFormat,
    ) -> Result<Vec<String>> {
        let is_alone = matches!(self.state, State::Idle | State::Implicit);
        let logging = match self.view.worker.logging_choice(routine, self.view.settings.logging()) {
            LoggingChoice::Command if !is_alone => {
                "data (in a transaction block it is not all of the transaction)".to_owned()
            }
            LoggingChoice::Command if draws => format!("data ({ARGUMENTS_DRAW})"),
            LoggingChoice::Command => format!("command ({})", self.captures(routine)),
            LoggingChoice::Data(reason) => format!("data ({reason})"),
        };
        let node = PlanNode::new(format!("Call {}", routine.definition.signature()));
        let mut node = node.with("Logging", Some(logging));
        if is_verbose {
            node = node.running(&*self.view.worker.procedure(routine)?);
        }
        Ok(node.texts(format, None))
    }

    /// What is logged of a call besides its arguments.
    fn captures(&self, routine: &Routine) -> String {
        let procedure = self.view.worker.procedure(routine);
        let Ok(Replayability::Deterministic { uses_clock, uses_random, uses_identity }) =
            procedure.map(|procedure| procedure.replay.clone())
        else {
            return String::new();
        };
        let captured: Vec<&str> = [
            (uses_clock, "the time"),
            (uses_random, "a seed of random numbers"),
            (uses_identity, "user, database and time zone"),
        ]
        .into_iter()
        .filter_map(|(is_used, what)| is_used.then_some(what))
        .collect();
        let with =
            if captured.is_empty() { String::new() } else { format!(", with {}", captured.join(", ")) };
        format!("the call and its arguments{with}; replay repeats the run")
    }
}

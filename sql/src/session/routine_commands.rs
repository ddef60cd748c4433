//! Routines in a session: changes to them, and CALL.

use std::sync::Arc;

use hyades_engine::db::{ARGUMENTS_DRAW, Flow, Interrupt, Logging, LoggingChoice};
use hyades_engine::procedure::frame::{Message, RowSink};
use hyades_engine::procedure::ir::{Expr, Replayability};
use hyades_engine::storage::catalog::duplicate_routine;
use hyades_engine::storage::stored_routine::Routine;
use hyades_types::definition::{CatalogChange, RoutineDefinition, RoutineKind, TableName};
use hyades_types::error::{Abort, Error, Result, sqlstate};
use hyades_types::value::{SqlType, Value};

use super::dependents::Object;
use super::run::check_parameters;
use super::running::{CallRun, Running};
use super::schema_commands::no_schema;
use super::state::State;
use super::{Completion, Notice, Output, Prepared, Session};
use crate::compile::action::{Action, CallPlan, Plan};
use crate::evaluation;
use crate::explain::PlanNode;
use crate::statement::QualifiedName;

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

/// A routine that does not exist.
pub(super) struct MissingRoutine {
    word: &'static str,
    name: String,
    /// The types of its arguments, if they are given.
    types: Option<Vec<&'static str>>,
}

impl MissingRoutine {
    fn shown(&self) -> String {
        let types = self.types.as_ref().map_or(String::new(), |types| types.join(", "));
        format!("{} {}({types})", self.word, self.name)
    }

    pub(super) fn error(&self) -> Error {
        let message = match self.types {
            Some(_) => format!("{} does not exist", self.shown()),
            None => format!("could not find a {} named \"{}\"", self.word, self.name),
        };
        Error::input(sqlstate::UNDEFINED_FUNCTION, message)
    }
}

impl Session {
    pub(super) fn start_call(&mut self, plan: Arc<Plan>, parameters: &[Value]) -> Flow<CallRun> {
        check_parameters(&plan, parameters)?;
        let call = call_plan(&plan)?;
        if call.routine.is_dropped() {
            return Err(Error::Abort(Abort::StalePlan).into());
        }
        self.isolate(false);
        let savepoint = self.worker.savepoint();
        let mut frame = self.take_call_frame(&call.routine)?;
        self.show_catalog(&frame.procedure)?;
        for (at, argument) in call.arguments.iter().enumerate() {
            // Most arguments are parameters, unchanged.
            if let Expr::Register(parameter) = argument
                && let Some(value) = parameters.get(usize::from(*parameter))
            {
                frame.set_register(at, value.clone());
            } else {
                frame.set_register(at, evaluation::evaluate(argument, parameters, &self.environment)?);
            }
        }
        // A value bound by a client or computed by EXECUTE may be of an earlier version of its type.
        for at in 0..frame.procedure.parameters.len() {
            let sql_type = frame.procedure.parameters[at];
            if sql_type.enum_type().is_some() {
                let value = std::mem::take(&mut frame.registers[at]).with_current_enum(sql_type);
                frame.set_register(at, value);
            }
        }
        if self.is_alone() {
            let arguments = &frame.registers[..call.arguments.len()];
            // A replay formats floats with the default digits.
            let logging = match self.settings.float_digits() {
                1.. => self.settings.logging(),
                _ => Logging::Data,
            };
            self.worker.begin_call(&call.routine, &frame.procedure, arguments, &self.environment, logging);
        }
        self.environment.may_end_transactions = self.is_alone() && !self.is_in_list;
        Ok(CallRun { plan, frame, savepoint, is_past_end: false })
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
                Err(Interrupt::Failed(Error::Abort(Abort::StalePlan))) => plan = self.recompile(statement)?,
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
        let outcome = match self.run_call(&mut run, output) {
            // The part of a routine that follows a COMMIT cannot start again.
            Err(Interrupt::Failed(Error::Abort(abort))) if run.is_past_end => {
                return Err(Error::Abort(abort).into());
            }
            outcome => outcome,
        };
        match outcome {
            Ok(()) => {
                self.implicit_statements += 1;
                let procedure = run.frame.procedure.clone();
                if !procedure.results.is_empty() {
                    let mut row: Vec<Value> = procedure
                        .results
                        .iter()
                        .map(|result| std::mem::take(&mut run.frame.registers[usize::from(*result)]))
                        .collect();
                    output.row(&mut row)?;
                }
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
        loop {
            if self.attend(&mut run.frame, output)? {
                (run.is_past_end, run.savepoint) = (true, self.worker.savepoint());
            }
            match self.worker.run(&mut run.frame, &mut self.environment, &mut CallSink(&mut *output)) {
                Err(Interrupt::Failed(Error::Abort(Abort::Suspended))) => {}
                outcome => return outcome,
            }
        }
    }

    /// EXPLAIN of a CALL: how it would be logged now, and why.
    pub(super) fn explain_call(
        &self,
        routine: &Routine,
        draws: bool,
        is_verbose: bool,
        is_json: bool,
    ) -> Result<Vec<String>> {
        let is_alone = matches!(self.state, State::Idle | State::Implicit);
        let logging = match self.worker.logging_choice(routine, self.settings.logging()) {
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
            node = node.running(&*self.worker.procedure(routine)?);
        }
        Ok(node.texts(is_json, None))
    }

    /// What is logged of a call besides its arguments.
    fn captures(&self, routine: &Routine) -> String {
        let procedure = self.worker.procedure(routine);
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

    /// The changes of CREATE for a routine.
    pub(super) fn created_routine(
        &mut self,
        definition: &RoutineDefinition,
        or_replace: bool,
    ) -> Result<Vec<CatalogChange>> {
        let known = self.worker.routines_named(&definition.name);
        let existing = known.iter().find(|routine| routine.definition.is_same_routine(definition));
        if let Some(existing) = existing {
            let old = &existing.definition;
            if !or_replace {
                return Err(duplicate_routine(definition));
            }
            if old.kind != definition.kind {
                return Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, "cannot change routine kind")
                    .with_detail(format!("\"{}\" is a {}.", old.name.name, old.kind.word())));
            }
            if old.returns != definition.returns {
                let message = "cannot change return type of existing function";
                return Err(Error::input(sqlstate::INVALID_PARAMETER_DEFINITION, message)
                    .with_hint(format!("Use DROP FUNCTION {} first.", old.signature().replace(", ", ","))));
            }
            let renamed = old
                .inputs()
                .zip(definition.inputs())
                .find_map(|(old, new)| old.name.as_ref().filter(|name| new.name.as_ref() != Some(name)));
            if let Some(name) = renamed {
                let word = old.kind.word().to_ascii_uppercase();
                let message = format!("cannot change name of input parameter \"{name}\"");
                return Err(Error::input(sqlstate::INVALID_PARAMETER_DEFINITION, message)
                    .with_hint(format!("Use DROP {word} {} first.", old.signature().replace(", ", ","))));
            }
        }
        let replaces = existing.map(|existing| existing.id);
        let id = self.worker.new_routine_id();
        Ok(vec![CatalogChange::CreateRoutine { id, definition: definition.clone(), replaces }])
    }

    /// The routines of this name along the search path, without those that earlier schemas hide.
    fn routines_meant(&self, name: &QualifiedName) -> Vec<Arc<Routine>> {
        let path = self.search_path();
        let schemas: Vec<&str> = match &name.schema {
            Some(schema) => vec![path.schema(schema)],
            None => path.searched_for_routines().collect(),
        };
        let mut known: Vec<Arc<Routine>> = Vec::new();
        for schema in schemas {
            let name = TableName { schema: schema.to_owned(), name: name.name.clone() };
            for routine in self.worker.routines_named(&name) {
                if !known.iter().any(|other| other.definition.identity() == routine.definition.identity()) {
                    known.push(routine);
                }
            }
        }
        known
    }

    /// The only routine that a statement can mean. The inner error is for one that does not exist.
    pub(super) fn find_routine(
        &self,
        (kind, types): (Option<RoutineKind>, Option<&[SqlType]>),
        name: &QualifiedName,
    ) -> Result<std::result::Result<Arc<Routine>, MissingRoutine>> {
        let word = kind.map_or("routine", RoutineKind::word);
        let known = self.routines_meant(name);
        let fitting: Vec<&Arc<Routine>> = known
            .iter()
            .filter(|routine| match types {
                Some(types) => routine.definition.identity() == *types,
                None => kind.is_none_or(|kind| routine.definition.kind == kind),
            })
            .collect();
        match fitting.as_slice() {
            [only] if kind.is_some_and(|kind| only.definition.kind != kind) => {
                let message = format!("{} is not a {word}", only.definition.signature());
                Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, message))
            }
            [only] => Ok(Ok(Arc::clone(only))),
            [] => {
                let name = name.shown();
                let types = types.map(|types| types.iter().map(|one| one.base_name()).collect());
                Ok(Err(MissingRoutine { word, name, types }))
            }
            _ => {
                let message = format!("{word} name \"{}\" is not unique", name.shown());
                Err(Error::input(sqlstate::AMBIGUOUS_FUNCTION, message)
                    .with_hint(format!("Specify the argument list to select the {word} unambiguously.")))
            }
        }
    }

    /// The changes of DROP for routines.
    pub(super) fn dropped_routines(
        &mut self,
        (kind, if_exists): (Option<RoutineKind>, bool),
        names: &[(QualifiedName, Option<Vec<SqlType>>)],
        cascades: bool,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        let mut dropped: Vec<Arc<Routine>> = Vec::with_capacity(names.len());
        for (name, types) in names {
            if let Some(schema) = name.schema.as_deref().filter(|schema| !self.has_schema(schema)) {
                if !if_exists {
                    return Err(no_schema(schema));
                }
                self.note(output, "00000", format!("schema \"{schema}\" does not exist, skipping"));
                continue;
            }
            match self.find_routine((kind, types.as_deref()), name)? {
                Ok(routine) => dropped.push(routine),
                Err(missing) if if_exists => {
                    self.note(output, "00000", format!("{} does not exist, skipping", missing.shown()));
                }
                Err(missing) => return Err(missing.error()),
            }
        }
        let dropped: Vec<Object> = dropped.into_iter().map(Object::Routine).collect();
        self.dropped_objects(&dropped, cascades, output)
    }
}

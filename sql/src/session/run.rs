//! Running procedures for queries and changes.
//!
//! A statement in progress is a [`Running`], which survives waits. After a conflict the statement runs
//! again if its plan was stale, or, after a rollback, if it is alone in its transaction.

use std::sync::Arc;
use std::time::Instant;

use hyades_engine::db::{Flow, Interrupt, Savepoint};
use hyades_engine::procedure::frame::{Frame, Message, RowSink};
use hyades_engine::procedure::ir::Procedure;
use hyades_engine::storage::stored_routine::Routine;
use hyades_types::error::{Abort, Error, Result, sqlstate};
use hyades_types::memory;
use hyades_types::text::{self, Reading};
use hyades_types::value::{ArrayElement, Value};

use super::analysis::tell_counts;
use super::cursors::KeptRows;
use super::prepared::NamedStatement;
use super::running::{QueryRun, Running};
use super::state::State;
use super::{Before, Completion, MOST_ATTEMPTS, Notice, Output, Prepared, Session};
use crate::bind::session_function::{SessionCall, SessionFunction};
use crate::compile::action::{Action, Plan};
use crate::copy::writer::CopyWriter;
use crate::emit::run_plan::{RunPlan, Tag};
use crate::evaluation;
use crate::statement::deep_text::with_deep_stack;
use crate::system::snapshot::{Facts, SessionRows, ShownLock, ShownStatement, System};

/// The number of frames that a session keeps.
const MOST_SPARE_FRAMES: usize = 8;

/// Passes the procedure's rows on.
struct Direct<'a> {
    output: &'a mut dyn Output,
    /// Set under EXPLAIN ANALYZE, where the rows are dropped.
    is_silent: bool,
    copy: Option<&'a mut CopyWriter>,
    kept: Option<&'a mut KeptRows>,
    rows: &'a mut u64,
}

impl RowSink for Direct<'_> {
    fn row(&mut self, values: &mut [Value]) -> Result<()> {
        *self.rows += 1;
        if self.is_silent {
            return Ok(());
        }
        match (&mut self.copy, &mut self.kept) {
            (Some(copy), _) => copy.row(values, self.output)?,
            (_, Some(kept)) => kept.push(values)?,
            _ => self.output.row(values)?,
        }
        memory::check(0)
    }

    fn message(&mut self, message: Message) {
        tell(message, self.output);
    }
}

/// Passes on a message of a routine.
fn tell(message: Message, output: &mut dyn Output) {
    output.notice(Notice::of(message));
}

/// The part of a plan that runs its procedure.
fn run_plan(plan: &Plan) -> Result<&RunPlan> {
    match &plan.action {
        Action::Run(run) => Ok(run),
        Action::CopyOut(copy) => Ok(&copy.run),
        Action::Declare(declare) => Ok(&declare.run),
        _ => Err(Error::input(sqlstate::INTERNAL_ERROR, "the statement runs no procedure")),
    }
}

/// Refuses a wrong number of parameter values.
pub(super) fn check_parameters(plan: &Plan, parameters: &[Value]) -> Result<()> {
    if parameters.is_empty() && !plan.parameters.is_empty() {
        return Err(Error::input(sqlstate::UNDEFINED_PARAMETER, "there is no parameter $1"));
    }
    if parameters.len() != plan.parameters.len() {
        return Err(Error::input(
            sqlstate::PROTOCOL_VIOLATION,
            format!(
                "bind message supplies {} parameters, but prepared statement \"\" requires {}",
                parameters.len(),
                plan.parameters.len()
            ),
        ));
    }
    Ok(())
}

fn command_tag(tag: Tag, rows: u64, affected: u64) -> String {
    let (word, count) = match tag {
        Tag::Select => ("SELECT ", rows),
        Tag::Insert => ("INSERT 0 ", affected),
        Tag::Update => ("UPDATE ", affected),
        Tag::Delete => ("DELETE ", affected),
        Tag::Do => return "DO".to_owned(),
    };
    let mut bytes = Vec::with_capacity(24);
    bytes.extend_from_slice(word.as_bytes());
    text::write_integer(i64::try_from(count).unwrap_or(i64::MAX), &mut bytes);
    String::from_utf8(bytes).unwrap_or_default()
}

impl Session {
    /// Continues a statement that had to wait.
    fn go_on(
        &mut self,
        running: Running,
        statement: &Arc<Prepared>,
        parameters: &[Value],
        output: &mut dyn Output,
    ) -> Flow<Completion> {
        match running {
            Running::Query(run) => self.continue_query(statement, parameters, *run, output),
            Running::Call(run) => self.continue_call(statement, parameters, *run, output),
            Running::Filling(run) => self.continue_filling(statement, *run, output),
            Running::Lock(plan) => self.lock_tables(&plan),
            Running::Checkpoint(request) => self.wait_for_checkpoint(request),
            Running::Schema(run) => self.continue_schema(statement, run, output),
        }
    }

    pub(super) fn execute_inner(
        &mut self,
        statement: &Arc<Prepared>,
        parameters: &[Value],
        output: &mut dyn Output,
    ) -> Flow<Completion> {
        if let Some((prepared, values)) = self.executing.take() {
            return self.execute_prepared(prepared, values, output);
        }
        if let Some(running) = self.running.take() {
            return self.go_on(running, statement, parameters, output);
        }
        self.begin_statement()?;
        let (mut plan, is_fresh) = statement.plan_under(self.view.stamp());
        self.check_state(&plan)?;
        if !is_fresh || matches!(&plan.action, Action::Run(run) if run.is_outdated()) {
            plan = self.recompile(statement)?;
        }
        self.check_rights(&plan)?;
        self.copy = None;
        self.forget_schema_requests();
        self.note_query(&plan);
        match &plan.action {
            Action::Empty => Ok(Completion::Tag("".into())),
            Action::Run(_) | Action::CopyOut(_) => {
                self.open_transaction()?;
                let run = self.start_query(plan, parameters)?;
                self.continue_query(statement, parameters, run, output)
            }
            Action::Declare(declare) => {
                self.check_declaration(declare)?;
                self.open_transaction()?;
                let run = self.start_query(Arc::clone(&plan), parameters)?;
                self.continue_query(statement, parameters, run, output)
            }
            Action::Lock(_) => self.lock_command(&plan),
            Action::Checkpoint => self.checkpoint_command(),
            Action::Listen(listen) => self.listen_command(listen),
            Action::Fetch(fetch) => self.fetch(fetch, &plan, output),
            Action::CloseCursor(name) => self.close_cursor(name.as_deref()),
            Action::Call(_) => {
                self.open_transaction()?;
                self.execute_call(statement, plan, parameters, output)
            }
            Action::Transaction(command) => self.transaction_command(command, plan.command, output),
            Action::Settings(command) => self.settings_command(command, output),
            Action::Schema(command) => {
                self.open_transaction()?;
                let run = self.start_statement(command, output)?;
                self.continue_schema(statement, run, output)
            }
            Action::CopyIn(_) => {
                self.open_transaction()?;
                self.start_copy_in(statement, plan)
            }
            Action::Execute { name, arguments } => self.execute_named(name, arguments, output),
            _ => self.utility_command(statement, &plan, output),
        }
    }

    /// Prepares the session for a new statement.
    fn begin_statement(&mut self) -> Result<()> {
        self.activity.counters.statements.count();
        self.begin_attempts();
        self.implicit.attempts_left = if self.implicit.ends { MOST_ATTEMPTS } else { 0 };
        self.settle_identity();
        self.settle_names();
        self.view.worker.show_sequences(&mut self.view.environment);
        // A short statement might never check while it runs.
        self.view.environment.stop.check()
    }

    /// What runs from here on can be undone and run again.
    pub(super) fn begin_attempts(&mut self) {
        let is_read_only = self.view.settings.is_read_only();
        let gathered = self.view.environment.begin_statement(is_read_only);
        self.before = Before { gathered, notices: self.notices.len() };
        self.stale_plans = 0;
    }

    /// Undoes what an attempt has left in the session. What it did in the transaction, a rollback undoes.
    pub(super) fn forget_attempt(&mut self) {
        self.view.environment.repeat_statement(&self.before.gathered);
        self.notices.truncate(self.before.notices);
    }

    pub(super) fn start_query(&mut self, plan: Arc<Plan>, parameters: &[Value]) -> Result<QueryRun> {
        let run = run_plan(&plan)?;
        check_parameters(&plan, parameters)?;
        self.isolate(run.only_looks, true);
        let mut frame = self.take_frame(&run.procedure);
        for (register, value) in frame.registers.iter_mut().zip(parameters) {
            register.clone_from(value);
        }
        self.show_catalog(&run.procedure)?;
        for call in &run.session_calls {
            let value = self.session_call(call, &frame.registers)?;
            frame.registers[usize::from(call.into)] = value;
        }
        let copy = match &plan.action {
            Action::CopyOut(copy) => Some(CopyWriter::new(copy, self.view.environment.text_form())),
            _ => None,
        };
        let kept = matches!(plan.action, Action::Declare(_)).then(KeptRows::default);
        self.view.environment.may_end_transactions =
            run.tag == Tag::Do && self.is_alone() && !self.is_in_list;
        let savepoint = self.view.worker.savepoint();
        let analyzed = run.analysis.is_some().then(Instant::now);
        Ok(QueryRun { frame, copy, kept, analyzed, rows: 0, savepoint, is_past_end: false, tag: None, plan })
    }

    /// Provides the system catalog, as the transaction sees it now, for a procedure that reads it.
    pub(super) fn show_catalog(&mut self, procedure: &Procedure) -> Result<()> {
        self.view.environment.catalog = match procedure.asks_catalog {
            true => Some(Arc::new(self.system()?)),
            false => None,
        };
        Ok(())
    }

    /// The system catalog, as the transaction sees it now.
    fn system(&self) -> Result<System> {
        let (casts, routines) =
            self.view.worker.routines().into_iter().partition(|routine| routine.definition.cast.is_some());
        Ok(System::new(Facts {
            tables: self
                .view
                .worker
                .tables()
                .into_iter()
                .filter(|table| self.view.shows(&table.definition().name))
                .collect(),
            sequences: self
                .view
                .worker
                .sequences()
                .into_iter()
                .filter(|sequence| self.view.shows(&sequence.definition.name))
                .collect(),
            routines,
            casts,
            types: self.view.worker.types(),
            comments: self.view.worker.catalog_view().comments(),
            settings: self.view.settings.show_all(),
            locks: self.shown_locks()?,
            cursors: self.cursors.lock().shown(),
            prepared_statements: self.shown_statements(),
            sessions: Arc::clone(&self.shared.activities) as Arc<dyn SessionRows>,
            path: Arc::clone(&self.view.meaning.path),
            schemas: self.view.schemas(),
            engine: Arc::clone(&self.view.engine),
            databases: self.view.worker.databases(),
            own_database: self.view.database,
            user: self.view.first_owner().to_owned(),
            access: Arc::clone(self.view.access()),
            role: self.view.role(),
            database: self.view.environment.database.clone(),
        }))
    }

    /// Provides the names of objects, if values of the statement's parameters are read as such:
    /// [`Session::reading_of_parameters`] knows them then.
    ///
    /// # Errors
    /// 25P02 in a failed transaction.
    pub fn show_names(&mut self, prepared: &Prepared) -> Result<()> {
        self.view.environment.catalog = None;
        if prepared.parameter_types().iter().any(|sql_type| sql_type.names_objects()) {
            self.settle_identity();
            self.settle_names();
            self.open_transaction()?;
            self.view.environment.catalog = Some(Arc::new(self.system()?));
        }
        Ok(())
    }

    /// How values of parameters are read.
    pub fn reading_of_parameters(&self) -> Reading<'_> {
        Reading { catalog: self.view.environment.catalog.as_deref(), ..self.view.reading() }
    }

    /// The statements of PREPARE.
    fn shown_statements(&self) -> Vec<ShownStatement> {
        let shown = |(name, named): (&String, &NamedStatement)| ShownStatement {
            name: name.clone(),
            statement: named.text.clone(),
            prepared: named.time,
            parameter_types: named.prepared.parameter_types.clone(),
        };
        let mut all: Vec<ShownStatement> = self.named.iter().map(shown).collect();
        all.sort_by(|left, right| left.name.cmp(&right.name));
        all
    }

    /// A frame at the start of this procedure.
    pub(super) fn take_frame(&mut self, procedure: &Arc<Procedure>) -> Box<Frame> {
        let known = self.spare_frames.iter().rposition(|frame| frame.procedure.is(procedure));
        let at = known.or((self.spare_frames.len() >= MOST_SPARE_FRAMES).then_some(0));
        match at {
            Some(at) => {
                let mut frame = self.spare_frames.remove(at);
                if known.is_none() {
                    frame.switch(procedure);
                }
                frame
            }
            None => Box::new(Frame::new(Arc::clone(procedure))),
        }
    }

    /// The same for the procedure of a routine.
    pub(super) fn take_call_frame(&mut self, routine: &Routine) -> Result<Box<Frame>> {
        let would_run = |frame: &Frame| self.view.worker.would_run(routine, &frame.procedure);
        match self.spare_frames.iter().rposition(|frame| would_run(frame)) {
            Some(at) => Ok(self.spare_frames.remove(at)),
            None => {
                let procedure = self.view.worker.procedure(routine)?;
                Ok(self.take_frame(&procedure))
            }
        }
    }

    pub(super) fn keep_frame(&mut self, mut frame: Box<Frame>) {
        if self.spare_frames.len() < MOST_SPARE_FRAMES {
            frame.put_away();
            self.spare_frames.push(frame);
        }
    }

    fn session_call(&mut self, call: &SessionCall, registers: &[Value]) -> Result<Value> {
        let arguments = call
            .arguments
            .iter()
            .map(|argument| evaluation::evaluate(argument, registers, &self.view.environment))
            .collect::<Result<Vec<Value>>>()?;
        match (call.function, arguments.as_slice()) {
            (SessionFunction::BackendProcess, _) => Ok(Value::Integer(self.process)),
            (SessionFunction::SerialSequence, [Value::Text(table), Value::Text(column)]) => {
                self.view.serial_sequence(table, column)
            }
            (SessionFunction::CurrentTransaction, _) => Ok(Value::BigInt(self.current_transaction())),
            (SessionFunction::LastCommit, _) => {
                Ok(self.view.worker.last_commit().map_or(Value::Null, |place| Value::text(place.to_string())))
            }
            (SessionFunction::CurrentSetting, [Value::Text(name), rest @ ..]) => {
                let missing_is_null = rest.first().and_then(Value::as_bool) == Some(true);
                match self.view.settings.show(name) {
                    Ok((_, value)) => Ok(Value::text(value)),
                    Err(_) if missing_is_null => Ok(Value::Null),
                    Err(error) => Err(error),
                }
            }
            (SessionFunction::SetConfig, [Value::Text(name), value, is_local]) => {
                let new = self.set_setting(name, value.as_str(), is_local.as_bool() == Some(true))?;
                Ok(Value::text(new))
            }
            (
                SessionFunction::CursorKey,
                [Value::Text(cursor), Value::Oid(table), Value::Text(name), Value::Integer(place)],
            ) => self.cursors.lock().key(cursor, (*table, name), usize::try_from(*place).unwrap_or(0)),
            (SessionFunction::ListeningChannels, _) => {
                let channels = self.listening_channels().into_iter().map(Value::text);
                Ok(Value::array(ArrayElement::Text, channels.collect()))
            }
            _ => Ok(Value::Null),
        }
    }

    /// The advisory locks of all sessions.
    fn shown_locks(&self) -> Result<Vec<ShownLock>> {
        let shown = self.neighbours.advisory_locks.shown()?.into_iter();
        let shown =
            shown.map(|lock| ShownLock { session: self.shared.activities.process(lock.session), ..lock });
        Ok(shown.collect())
    }

    /// Runs until the statement is done, fails or waits.
    fn continue_query(
        &mut self,
        statement: &Arc<Prepared>,
        parameters: &[Value],
        mut run: QueryRun,
        output: &mut dyn Output,
    ) -> Flow<Completion> {
        loop {
            match self.advance_query(statement, &mut run, output) {
                Ok(()) => {
                    self.implicit.statements += 1;
                    self.keep_frame(run.frame);
                    return Ok(Completion::Tag(run.tag.unwrap_or_default().into()));
                }
                Err(Interrupt::Wait(ticket)) => {
                    self.running = Some(Running::Query(Box::new(run)));
                    return Err(Interrupt::Wait(ticket));
                }
                Err(Interrupt::Failed(Error::Abort(Abort::Suspended))) => {}
                Err(Interrupt::Failed(Error::Abort(abort))) if !run.is_past_end && self.may_retry(abort) => {
                    let plan = self.undo_for_retry(statement, abort, run.savepoint, output)?;
                    run = self.start_query(plan.unwrap_or(run.plan), parameters)?;
                }
                Err(failed) => return Err(failed),
            }
        }
    }

    /// Runs the procedure and, if it ends its transaction, that to its end.
    fn advance_query(
        &mut self,
        statement: &Arc<Prepared>,
        run: &mut QueryRun,
        output: &mut dyn Output,
    ) -> Flow<()> {
        if run.tag.is_none() {
            if self.attend(&mut run.frame, output)? {
                (run.is_past_end, run.savepoint) = (true, self.view.worker.savepoint());
            }
            let mut sink = Direct {
                output: &mut *output,
                is_silent: run.analyzed.is_some(),
                copy: run.copy.as_mut(),
                kept: run.kept.as_mut(),
                rows: &mut run.rows,
            };
            self.view.worker.run(&mut run.frame, &mut self.view.environment, &mut sink)?;
            run.tag = Some(match (&run.plan.action, run.kept.take()) {
                (Action::Declare(declare), Some(rows)) => {
                    self.open_cursor(declare, &statement.text, rows);
                    "DECLARE CURSOR".to_owned()
                }
                _ => finish(run, output)?,
            });
        }
        self.commit_checked()
    }

    /// CREATE TABLE AS once the table exists: inserts its rows.
    pub(super) fn continue_filling(
        &mut self,
        statement: &Arc<Prepared>,
        mut run: QueryRun,
        output: &mut dyn Output,
    ) -> Flow<Completion> {
        let mut sink =
            Direct { output: &mut *output, is_silent: false, copy: None, kept: None, rows: &mut run.rows };
        let outcome = self.view.worker.run(&mut run.frame, &mut self.view.environment, &mut sink);
        match outcome.map_err(unattended) {
            Ok(()) => {
                self.implicit.statements += 1;
                let completion = match run.analyzed {
                    Some(_) => finish(&mut run, output)?,
                    None => command_tag(Tag::Select, run.frame.affected, 0),
                };
                self.keep_frame(run.frame);
                Ok(Completion::Tag(completion.into()))
            }
            Err(Interrupt::Wait(ticket)) => {
                self.running = Some(Running::Filling(Box::new(run)));
                Err(Interrupt::Wait(ticket))
            }
            Err(Interrupt::Failed(Error::Abort(abort))) if self.may_retry(abort) => {
                self.undo_for_retry(statement, abort, run.savepoint, output)?;
                self.begin_schema(statement, output)
            }
            Err(failed) => Err(failed),
        }
    }

    /// Whether a conflict can be hidden from the client.
    pub(super) fn may_retry(&self, abort: Abort) -> bool {
        abort == Abort::StalePlan || (self.is_alone() && abort != Abort::Suspended)
    }

    /// Whether the running statement is the whole of its implicit transaction so far.
    pub(super) fn is_alone(&self) -> bool {
        self.state == State::Implicit && self.implicit.statements == 0
    }

    /// Undoes what the statement did, so that it can run again. A stale plan is compiled again.
    pub(super) fn undo_for_retry(
        &mut self,
        statement: &Arc<Prepared>,
        abort: Abort,
        savepoint: Savepoint,
        output: &mut dyn Output,
    ) -> Result<Option<Arc<Plan>>> {
        output.restart();
        match abort {
            Abort::StalePlan => self.note_stale_plan()?,
            _ => self.view.environment.stop.check()?,
        }
        if abort == Abort::Serialization {
            self.implicit.attempts_left = self.implicit.attempts_left.saturating_sub(1);
        }
        self.schema_requests.withdraw();
        self.forget_attempt();
        // Nothing of this attempt has been sent to a client, so its durability does not matter.
        if self.is_alone() {
            drop(self.view.worker.rollback());
            self.begin();
        } else {
            drop(self.view.worker.rollback_to(savepoint));
        }
        match abort {
            Abort::StalePlan => self.recompile(statement).map(Some),
            _ => Ok(None),
        }
    }
}

/// Error 0A000 for a run that makes a request of its session where requests are not handled: computing rows
/// for DDL, COPY and deferred constraints.
pub(super) fn unattended(interrupt: Interrupt) -> Interrupt {
    match interrupt {
        Interrupt::Failed(Error::Abort(Abort::Suspended)) => {
            let message = "routines that run dynamic statements are not supported here";
            Interrupt::Failed(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message))
        }
        other => other,
    }
}

/// The command tag of a completed statement.
fn finish(run: &mut QueryRun, output: &mut dyn Output) -> Result<String> {
    let plan = Arc::clone(&run.plan);
    let ran = run_plan(&plan)?;
    if let (Some(start), Some(analysis)) = (run.analyzed, ran.analysis) {
        let (counts, elapsed) = ((&run.frame.registers[..], run.rows), start.elapsed());
        with_deep_stack(|| tell_counts(ran, analysis, counts, elapsed, output))?;
        return Ok("EXPLAIN".to_owned());
    }
    match &mut run.copy {
        None => Ok(command_tag(ran.tag, run.rows, run.frame.affected)),
        Some(copy) => {
            copy.finish(output)?;
            Ok(format!("COPY {}", run.rows))
        }
    }
}

//! Errors: raising them, blocks that handle them, messages in addition to the rows.
//!
//! An error looks for a handler in the active procedure, then in its callers. The handler's block is rolled
//! back to the savepoint that was taken when it was entered. Registers keep their values, as PL/pgSQL's
//! variables do. A run that continues after an error from outside (no memory, a lock that it did not wait
//! for) is logged as data. Conflicts ([`Error::Abort`]) are never handled: the whole transaction must run
//! again, and the outcome of handling them would depend on chance, which replay cannot repeat. Nor is the end
//! of memory ([`hyades_types::memory`]), for the same reason. Fatal errors are not handled either, and no
//! error is handled in a session that was told to end.

use hyades_types::environment::Severity;
use hyades_types::error::{Error, InputError, Result, SqlState, sqlstate};
use hyades_types::guest::Stop;
use hyades_types::memory;
use hyades_types::value::Value;

use crate::mutant::{self, Mutant};
use crate::procedure::conditions;
use crate::procedure::evaluate::evaluate;
use crate::procedure::frame::{Frame, Handler, Message};
use crate::procedure::interpret::{Next, Run};
use crate::procedure::ir::{
    Condition, ErrorField, Expr, Instruction, Label, Register, Report, SQL_STATEMENT, Violation,
};
use crate::txn::{Access, Flow};

/// The most calls that an error reports one by one while it leaves them.
const MOST_CONTEXT_LINES: usize = 50;

impl<T: Access> Run<'_, T> {
    /// A fixed error, or a broken constraint.
    #[inline(never)]
    pub(crate) fn raise(&self, instruction: &Instruction) -> Flow<Next> {
        let (state, message) = match instruction {
            Instruction::Raise { state, message } => (*state, message),
            Instruction::RaiseViolation(violation) => return self.raise_violation(violation),
            Instruction::Trap { line, routine } if !mutant::is_active(Mutant::TrapsIgnored) => {
                let of = routine.as_ref().map(|routine| format!(" of {routine}")).unwrap_or_default();
                let message = format!("a check in line {line}{of} fails, which held when it ran");
                return Err(Error::input(sqlstate::INTERNAL_ERROR, message).into());
            }
            _ => return Ok(Next::Following),
        };
        let message = match evaluate(message, &self.context())? {
            Value::Text(text) => text.to_string(),
            other => format!("{other:?}"),
        };
        Err(Error::input(SqlState(state), message).into())
    }

    fn raise_violation(&self, violation: &Violation) -> Flow<Next> {
        let error = Error::input(SqlState(violation.state), &violation.message);
        let hidden = violation.hidden.as_ref().filter(|(table, _)| !self.environment.shows_rows_of(*table));
        let error = match (hidden, evaluate(&violation.detail, &self.context())?.as_str()) {
            (Some((_, detail)), _) => error.with_detail(detail),
            (None, Some(detail)) => error.with_detail(detail),
            (None, None) => error,
        };
        Err(error
            .with_table(&violation.table.schema, &violation.table.name)
            .with_constraint(&violation.constraint)
            .into())
    }

    #[inline(never)]
    pub(crate) fn report(&mut self, report: &Report) -> Flow<Next> {
        let text = |expr: &Expr| -> Result<String> {
            let value = evaluate(expr, &self.context())?;
            Ok(value.as_str().unwrap_or_default().to_owned())
        };
        let state = text(&report.state)?;
        let state = match conditions::states(&state).next() {
            Some(named) => named,
            None if SqlState::is_code(&state) => SqlState::named(&state),
            None => {
                let message = format!("unrecognized exception condition \"{state}\"");
                return Err(Error::input(sqlstate::UNDEFINED_OBJECT, message).into());
            }
        };
        let message = text(&report.message)?;
        let mut error = InputError::new(state, message);
        for (field, value) in &report.fields {
            let value = Some(text(value)?);
            match field {
                ErrorField::Detail => error.detail = value,
                ErrorField::Hint => error.hint = value,
                ErrorField::Table => error.table = value,
                ErrorField::Column => error.column = value,
                ErrorField::Constraint => error.constraint = value,
                ErrorField::Schema => error.schema = value,
                ErrorField::DataType => error.data_type = value,
                ErrorField::State | ErrorField::Message | ErrorField::Context => {}
            }
        }
        if report.severity == Severity::Exception {
            return Err(Error::Input(Box::new(error)).into());
        }
        if !self.environment.wants(report.severity) {
            return Ok(Next::Following);
        }
        self.sink.message(Message {
            severity: report.severity,
            state,
            text: error.message,
            detail: error.detail,
            hint: error.hint,
        });
        memory::check(0)?;
        Ok(Next::Following)
    }

    #[inline(never)]
    pub(crate) fn enter_block(&mut self, handler: Label) -> Flow<Next> {
        let savepoint = self.transaction.savepoint();
        let (gathered, errors) = (self.environment.mark(), self.frame.errors.len());
        self.frame.handlers.push(Handler { label: handler, savepoint, gathered, errors });
        Ok(Next::Following)
    }

    #[inline(never)]
    pub(crate) fn leave_block(&mut self) -> Flow<Next> {
        self.frame.handlers.pop();
        Ok(Next::Following)
    }

    #[inline(never)]
    pub(crate) fn match_error(&mut self, conditions: &[Condition], otherwise: Label) -> Flow<Next> {
        let state = self.frame.errors.last().map_or(sqlstate::INTERNAL_ERROR, Error::sqlstate);
        if !conditions.iter().any(|condition| matches(*condition, state)) {
            return Ok(Next::Label(otherwise));
        }
        if comes_from_outside(state) {
            self.transaction.cannot_be_repeated();
        }
        Ok(Next::Following)
    }

    #[inline(never)]
    pub(crate) fn error_field(&mut self, field: ErrorField, into: Register) -> Flow<Next> {
        if field == ErrorField::Detail && self.environment.may_hide_rows() {
            // What a detail shows depends on rights, of which a replay knows nothing.
            self.transaction.cannot_be_repeated();
        }
        let value = self.frame.errors.last().map_or(Value::Null, |error| field_of(error, field));
        self.frame.registers[usize::from(into)] = value;
        Ok(Next::Following)
    }

    #[inline(never)]
    pub(crate) fn rethrow(&mut self) -> Flow<Next> {
        let none = || Error::input(sqlstate::STACKED_DIAGNOSTICS, NO_ERROR);
        self.frame.is_rethrowing = true;
        Err(self.frame.errors.last().cloned().unwrap_or_else(none).into())
    }

    #[inline(never)]
    pub(crate) fn forget_error(&mut self) -> Flow<Next> {
        self.frame.errors.pop();
        Ok(Next::Following)
    }

    /// Goes to the innermost handler of an error, or passes it on.
    #[inline(never)]
    pub(crate) fn handle(&mut self, error: Error) -> Result<()> {
        let Error::Input(mut error) = error else { return Err(error) };
        if self.environment.stop.is_end() {
            // Not the error that happened to be next.
            return Err(Stop::End.refusal());
        }
        let mut lines = 0;
        loop {
            let is_told = std::mem::take(&mut self.frame.is_rethrowing);
            if let Some(line) = line_of(self.frame).filter(|_| !is_told) {
                lines += 1;
                if lines <= MOST_CONTEXT_LINES {
                    add_line(&mut error, &line);
                }
            }
            let handler = self.frame.handlers.pop().filter(|_| !error.is_uncatchable);
            let is_outermost = handler.is_none() && self.leave().is_none();
            if (handler.is_some() || is_outermost) && lines > MOST_CONTEXT_LINES {
                add_line(&mut error, &format!("(and {} more)", lines - MOST_CONTEXT_LINES));
            }
            if let Some(handler) = handler {
                if error.state == sqlstate::QUERY_CANCELED {
                    self.environment.stop.withdraw();
                }
                (self.undo)(self.transaction, handler.savepoint, self.environment);
                self.environment.go_back(&handler.gathered);
                self.frame.errors.truncate(handler.errors);
                self.frame.errors.push(Error::Input(error));
                self.frame.next = handler.label;
                return Ok(());
            }
            if is_outermost {
                return Err(Error::Input(error));
            }
        }
    }
}

const NO_ERROR: &str = "GET STACKED DIAGNOSTICS cannot be used outside an exception handler";

fn add_line(error: &mut InputError, line: &str) {
    let context = error.context.get_or_insert_default();
    if !context.is_empty() {
        context.push('\n');
    }
    context.push_str(line);
}

/// The position of a frame, in PostgreSQL's words.
fn line_of(frame: &Frame) -> Option<String> {
    let procedure = &frame.procedure;
    let at = procedure.lines.partition_point(|line| line.from <= frame.next);
    let line = procedure.lines.get(at.checked_sub(1)?)?;
    let (name, number, kind) = (&procedure.name, line.line, line.kind);
    if kind == SQL_STATEMENT {
        return Some(format!("SQL function \"{name}\" statement {number}"));
    }
    Some(match (number, kind.starts_with("during")) {
        (0, _) => format!("PL/pgSQL function {name} {kind}").trim_end().to_owned(),
        (_, true) => format!("PL/pgSQL function {name} line {number} {kind}"),
        (_, false) => format!("PL/pgSQL function {name} line {number} at {kind}"),
    })
}

fn matches(condition: Condition, state: SqlState) -> bool {
    match condition {
        Condition::Others => state != sqlstate::QUERY_CANCELED && state != sqlstate::ASSERT_FAILURE,
        Condition::State(wanted) if wanted.0.ends_with("000") => state.0[..2] == wanted.0[..2],
        Condition::State(wanted) => state == wanted,
    }
}

/// Whether the error reflects circumstances outside of the run (memory, locks of others, time), which a
/// replay cannot reproduce.
fn comes_from_outside(state: SqlState) -> bool {
    let class = &state.0[..2];
    matches!(class, "53" | "57" | "58") || state == sqlstate::LOCK_NOT_AVAILABLE
}

fn field_of(error: &Error, field: ErrorField) -> Value {
    let Error::Input(input) = error else { return Value::Null };
    let optional = |text: &Option<String>| Value::text(text.as_deref().unwrap_or_default());
    match field {
        ErrorField::State => Value::text(input.state.0),
        ErrorField::Message => Value::text(input.message.as_str()),
        ErrorField::Detail => optional(&input.detail),
        ErrorField::Hint => optional(&input.hint),
        ErrorField::Table => optional(&input.table),
        ErrorField::Column => optional(&input.column),
        ErrorField::Constraint => optional(&input.constraint),
        ErrorField::Schema => optional(&input.schema),
        ErrorField::DataType => optional(&input.data_type),
        ErrorField::Context => optional(&input.context),
    }
}

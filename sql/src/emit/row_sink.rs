//! Where the rows of a query or of RETURNING go.
//!
//! A statement's rows are its result. In a routine the same code is compiled into the middle of another
//! procedure, and its rows are assigned to variables, drive a loop, or are kept in a spool. Only this file
//! knows the difference: all other code calls [`Compiler::describe`] when it knows the columns and
//! [`Compiler::emit`] for each row.

use hyades_engine::procedure::ir::{
    ErrorField, Expr, Instruction, JoinStep, Label, Register, Report, SpoolSlot, StageIndex,
};
use hyades_types::environment::Severity;
use hyades_types::error::{Result, SqlState, sqlstate};
use hyades_types::operator::BinaryOperator;
use hyades_types::refusal::Missing;
use hyades_types::value::composite::CompositeType;
use hyades_types::value::{SqlType, Value};

use sqlparser::ast;

use super::Compiler;
use crate::bind::made_rows::made_row;
use crate::bind::tree::Recursion;
use crate::bind::visible_variables::RecordState;
use crate::bind::{Bound, Place};
use crate::expr;

/// What a routine does with the rows of a query. Given before the columns are known.
#[derive(Clone, Debug)]
pub(crate) enum Wanted {
    /// Assigns them to these variables.
    Variables(Vec<(Register, SqlType)>),
    Record(usize),
    /// A row of this type, in a register: the columns are its fields, or the only column is the row.
    Row(Register, CompositeType),
    /// RETURN QUERY: rows of these types.
    Returned(Vec<SqlType>),
    /// EXECUTE: rows converted to these types. Missing columns are NULL.
    Converted(Vec<SqlType>),
    /// OPEN FOR EXECUTE: rows of any types.
    Emitted,
    /// PERFORM.
    Nothing,
    Spool(SpoolSlot),
    /// The first column of a single row, in a register of its own.
    Value,
}

/// What follows the assignment of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// The next row.
    Continue,
    /// Leaves: one row is enough.
    Leave(Label),
    /// At most one row is allowed: the query continues, to see whether there is another.
    Once { flag: Register, done: Label, is_subquery: bool },
    /// The body of a loop, which jumps back to `resume`.
    Body { body: Label, resume: Label },
}

/// The destination of rows.
#[derive(Clone, Debug, Default)]
pub(crate) enum Sink {
    /// To the client.
    #[default]
    Answer,
    /// The columns are not known yet.
    Pending(Wanted),
    Assign {
        slots: Vec<(Register, SqlType)>,
        types: Vec<SqlType>,
    },
    /// To a row of this type.
    Row {
        register: Register,
        row_type: CompositeType,
        types: Vec<SqlType>,
    },
    Returned,
    /// Converted from the first types to the second.
    Converted(Vec<SqlType>, Vec<SqlType>),
    Discard(Register),
    Spool(SpoolSlot),
    /// The same, where these rows are all that it will ever have.
    Filled(SpoolSlot),
    Stage(StageIndex),
    /// To the rows of a recursive query.
    Recursive(Recursion),
    /// To a stage that combines two queries. The flag: from the second query.
    Side(StageIndex, bool),
}

/// A statement compiled into a routine.
#[derive(Clone, Debug)]
pub(crate) struct Nested {
    pub(crate) then: Then,
    /// Whether there is at most one row.
    pub(crate) is_single: bool,
    /// The columns of its rows.
    pub(crate) columns: Vec<(String, SqlType)>,
    /// The register of [`Wanted::Value`].
    pub(crate) value: Option<(Register, SqlType)>,
}

/// The number in a register plus one.
fn one_more(register: Register) -> Expr {
    Expr::Binary {
        operator: BinaryOperator::Add,
        left: Box::new(Expr::Register(register)),
        right: Box::new(Expr::Const(Value::BigInt(1))),
    }
}

/// An error raised by a routine.
pub(crate) fn report(state: SqlState, message: &str, hint: Option<&str>) -> Instruction {
    let text = |text: &str| Expr::Const(Value::text(text));
    Instruction::Report(Box::new(Report {
        severity: Severity::Exception,
        state: text(state.0),
        message: text(message),
        fields: hint.map(|hint| (ErrorField::Hint, text(hint))).into_iter().collect(),
    }))
}

/// The error of a function that ends the transaction, or calls a routine that does.
pub(crate) fn invalid_termination() -> Instruction {
    let message = "invalid transaction termination";
    report(sqlstate::INVALID_TRANSACTION_TERMINATION, message, None)
}

impl Compiler<'_> {
    /// Declares the columns of the rows that will be emitted, and whether there is at most one row.
    pub(crate) fn describe(&mut self, columns: Vec<(String, SqlType)>, is_single: bool) -> Result<()> {
        let Sink::Pending(wanted) = &self.sink else { return Ok(()) };
        let wanted = wanted.clone();
        let types: Vec<SqlType> = columns.iter().map(|(_, sql_type)| *sql_type).collect();
        self.sink = match wanted {
            Wanted::Variables(slots) => Sink::Assign { slots, types },
            Wanted::Record(record) => Sink::Assign { slots: self.record_slots(record, &columns)?, types },
            Wanted::Row(register, row_type) => match types.as_slice() {
                [own] if *own == SqlType::Composite(row_type) => {
                    Sink::Assign { slots: vec![(register, *own)], types }
                }
                _ => Sink::Row { register, row_type, types },
            },
            Wanted::Returned(wanted) => {
                self.check_returned(&wanted, &types)?;
                Sink::Returned
            }
            Wanted::Emitted => Sink::Returned,
            Wanted::Converted(wanted) => Sink::Converted(types, wanted),
            Wanted::Nothing => Sink::Discard(self.binder.new_register()?),
            Wanted::Spool(spool) => Sink::Spool(spool),
            Wanted::Value => {
                let [(_, sql_type), ..] = columns.as_slice() else {
                    return self.binder.fail(
                        sqlstate::SYNTAX_ERROR,
                        "query returned no column",
                        Place::Unknown,
                    );
                };
                if columns.len() > 1 {
                    let message = "subquery must return only one column";
                    return self.binder.fail(sqlstate::SYNTAX_ERROR, message, Place::Unknown);
                }
                let slot = (self.binder.new_register()?, *sql_type);
                if let Some(nested) = &mut self.nested {
                    nested.value = Some(slot);
                }
                Sink::Assign { slots: vec![slot], types }
            }
        };
        let Some(nested) = &mut self.nested else { return Ok(()) };
        nested.columns = columns;
        nested.is_single = is_single;
        if let Then::Once { flag, .. } = nested.then
            && !is_single
        {
            self.code.evaluate(flag, Expr::Const(Value::Boolean(false)));
        }
        Ok(())
    }

    /// The registers of a record that takes these columns.
    pub(crate) fn record_slots(
        &mut self,
        record: usize,
        columns: &[(String, SqlType)],
    ) -> Result<Vec<(Register, SqlType)>> {
        let Some(names) = &self.binder.names else { return Ok(Vec::new()) };
        let known = match &names.records[record].state {
            RecordState::Known(known)
                if names.records[record].is_fixed
                    || known
                        .iter()
                        .map(|(name, sql_type, _)| (name, sql_type))
                        .eq(columns.iter().map(|(name, sql_type)| (name, sql_type))) =>
            {
                Some(known.clone())
            }
            _ => None,
        };
        if let Some(known) = known {
            return Ok(known.iter().map(|(_, sql_type, register)| (*register, *sql_type)).collect());
        }
        let mut slots = Vec::with_capacity(columns.len());
        let mut state = Vec::with_capacity(columns.len());
        for (name, sql_type) in columns {
            let register = self.binder.new_register()?;
            slots.push((register, *sql_type));
            state.push((name.clone(), *sql_type, register));
        }
        if let Some(names) = &mut self.binder.names {
            names.records[record].state = RecordState::Known(state);
        }
        Ok(slots)
    }

    /// Compiles a statement in the middle of a routine.
    pub(crate) fn nested_statement(&mut self, statement: &ast::Statement) -> Result<()> {
        match statement {
            ast::Statement::Query(query) => self.query(query).map(drop),
            ast::Statement::Insert(insert) => self.insert(insert).map(drop),
            ast::Statement::Update(update) => self.update(update).map(drop),
            ast::Statement::Delete(delete) => self.delete(delete).map(drop),
            _ => self.binder.lacks(Missing::StatementsInRoutines, "this statement in a routine is"),
        }
    }

    fn check_returned(&self, wanted: &[SqlType], types: &[SqlType]) -> Result<()> {
        let mismatch = |detail: String| {
            let message = "structure of query does not match function result type";
            Err(hyades_types::error::Error::input(sqlstate::DATATYPE_MISMATCH, message).with_detail(detail))
        };
        if wanted.len() != types.len() {
            return mismatch(format!(
                "Number of returned columns ({}) does not match expected column count ({}).",
                types.len(),
                wanted.len()
            ));
        }
        for (at, (wanted, given)) in wanted.iter().zip(types).enumerate() {
            if !wanted.is_same_base(*given) {
                return mismatch(format!(
                    "Returned type {} does not match expected type {} in column {}.",
                    given.name(),
                    wanted.name(),
                    at + 1
                ));
            }
        }
        Ok(())
    }

    /// Passes a row on.
    pub(crate) fn emit(&mut self, values: Vec<Expr>) -> Result<()> {
        match self.sink.clone() {
            Sink::Answer | Sink::Pending(_) => self.code.push(Instruction::Emit { values }),
            Sink::Returned => {
                self.code.push(Instruction::Emit { values });
                self.code.push(Instruction::CountRow);
            }
            Sink::Converted(types, wanted) => {
                let mut values = values.into_iter().zip(types);
                let mut converted = Vec::with_capacity(wanted.len());
                for to in wanted {
                    converted.push(match values.next() {
                        Some((value, from)) => self.assigned(value, from, to)?,
                        None => Expr::Const(Value::Null),
                    });
                }
                self.code.push(Instruction::Emit { values: converted });
            }
            Sink::Spool(spool) | Sink::Filled(spool) => self.code.push(Instruction::Spool { spool, values }),
            Sink::Stage(stage) => self.code.push(Instruction::FeedStage { stage, values }),
            Sink::Side(stage, is_second) => {
                let mut values = values;
                values.push(Expr::Const(Value::Boolean(is_second)));
                self.code.push(Instruction::FeedStage { stage, values });
            }
            Sink::Recursive(recursion) => self.add_found(recursion, values)?,
            Sink::Discard(register) => {
                for value in values {
                    if !matches!(value, Expr::Const(_) | Expr::Register(_) | Expr::Column { .. }) {
                        self.code.evaluate(register, value);
                    }
                }
                self.code.push(Instruction::CountRow);
            }
            Sink::Row { register, row_type, types } => {
                let row = self.row_of_columns(row_type, values, &types)?;
                let of_row = SqlType::Composite(row_type);
                self.assign_row(vec![row], &[(register, of_row)], &[of_row])?;
            }
            Sink::Assign { slots, types } => self.assign_row(values, &slots, &types)?,
        }
        Ok(())
    }

    /// A row of these columns, each converted to the type of its field.
    pub(crate) fn row_of_columns(
        &mut self,
        row_type: CompositeType,
        values: Vec<Expr>,
        types: &[SqlType],
    ) -> Result<Expr> {
        let columns = values.into_iter().zip(types).zip(row_type.fields());
        let fields = columns.map(|((value, from), field)| self.assigned(value, *from, field.sql_type));
        Ok(made_row(row_type, fields.collect::<Result<Vec<Expr>>>()?))
    }

    /// A row of a recursive query, if it is new or if duplicates are kept.
    fn add_found(&mut self, recursion: Recursion, values: Vec<Expr>) -> Result<()> {
        let Recursion { working, count, seen, .. } = recursion;
        let known = self.code.label();
        let mut values = values;
        if let Some(join) = seen {
            for value in &mut values {
                let register = self.binder.new_register()?;
                self.code.evaluate(register, std::mem::replace(value, Expr::Register(register)));
            }
            let step = JoinStep::KeepNew { key: values.clone(), known };
            self.code.push(Instruction::Join { join, step });
        }
        self.code.push(Instruction::Spool { spool: working.spool, values });
        self.code.evaluate(count, one_more(count));
        self.code.place(known);
        Ok(())
    }

    fn assign_row(
        &mut self,
        values: Vec<Expr>,
        slots: &[(Register, SqlType)],
        types: &[SqlType],
    ) -> Result<()> {
        let Some(Nested { then, is_single, .. }) = self.nested.clone() else { return Ok(()) };
        if let Then::Once { flag, is_subquery, .. } = then
            && !is_single
        {
            let first = self.code.label();
            self.code.jump_unless(Expr::Register(flag), first);
            self.code.push(if is_subquery {
                let message = "more than one row returned by a subquery used as an expression";
                report(sqlstate::CARDINALITY_VIOLATION, message, None)
            } else {
                report(
                    sqlstate::TOO_MANY_ROWS,
                    "query returned more than one row",
                    Some("Make sure the query returns a single row, or use LIMIT 1."),
                )
            });
            self.code.place(first);
        }
        let mut values = values.into_iter();
        let mut assigned = Vec::with_capacity(slots.len());
        for (at, (register, sql_type)) in slots.iter().enumerate() {
            let value = match (values.next(), types.get(at)) {
                (Some(value), Some(from)) => self.assigned(value, *from, *sql_type)?,
                _ => Expr::Const(Value::Null),
            };
            assigned.push((*register, value));
        }
        self.assign_all(assigned)?;
        match then {
            Then::Continue => {}
            Then::Leave(done) => self.code.jump(done),
            Then::Once { done, .. } if is_single => self.code.jump(done),
            Then::Once { flag, .. } => self.code.evaluate(flag, Expr::Const(Value::Boolean(true))),
            Then::Body { body, resume } => {
                self.code.jump(body);
                self.code.place(resume);
            }
        }
        Ok(())
    }

    /// Assigns several values at once: none of them sees the new value of another.
    pub(crate) fn assign_all(&mut self, assigned: Vec<(Register, Expr)>) -> Result<()> {
        let collides = assigned.iter().enumerate().any(|(at, (register, _))| {
            assigned[at + 1..].iter().any(|(_, value)| expr::reads(value, u16::MAX, &[*register]))
        });
        if !collides {
            for (register, value) in assigned {
                self.code.evaluate(register, value);
            }
            return Ok(());
        }
        let mut moves = Vec::with_capacity(assigned.len());
        for (register, value) in assigned {
            let temporary = self.binder.new_register()?;
            self.code.evaluate(temporary, value);
            moves.push((register, temporary));
        }
        for (register, temporary) in moves {
            self.code.evaluate(register, Expr::Register(temporary));
        }
        Ok(())
    }

    /// A value as assigned to a variable of this type: PL/pgSQL converts through text where SQL would refuse.
    pub(crate) fn assigned(&mut self, value: Expr, from: SqlType, to: SqlType) -> Result<Expr> {
        use crate::bind::coerce::Context;
        let bound = Bound::typed(value.clone(), from, Place::Unknown);
        if let Some(expr) = self.binder.try_coerce(bound, to, Context::Assignment)? {
            return Ok(expr);
        }
        let text = crate::bind::coerce::cast(value, from, SqlType::Text, true)?;
        Ok(Expr::Cast { operand: Box::new(text), to, explicit: false })
    }
}

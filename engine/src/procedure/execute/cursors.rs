//! Cursors of the session: a spool becomes a cursor, and rows of a cursor go into a spool.
//!
//! Reference: exec_stmt_open and exec_stmt_fetch of PostgreSQL's pl_exec.c.

use compact_str::CompactString;
use hyades_types::cast::cast;
use hyades_types::cursors::{FetchDirection, NewCursor, SessionCursors};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::memory;
use hyades_types::refusal::{Missing, refused};
use hyades_types::value::{SqlType, Value};

use crate::procedure::cursor_statement::{CursorAction, CursorRows, CursorStatement, FetchWay};
use crate::procedure::evaluate::evaluate;
use crate::procedure::interpret::{Next, Run};
use crate::procedure::ir::{Expr, SpoolSlot};
use crate::txn::{Access, Flow};

fn internal<T>(message: &str) -> Result<T> {
    Err(Error::input(sqlstate::INTERNAL_ERROR, message))
}

impl<T: Access> Run<'_, T> {
    #[inline(never)]
    pub(crate) fn cursor(&mut self, statement: &CursorStatement) -> Flow<Next> {
        let Some(cursors) = self.environment.cursors.clone() else {
            return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, "cursors cannot be used here").into());
        };
        let name = match evaluate(&statement.name, &self.context())? {
            Value::Null => None,
            Value::Text(name) => Some(name),
            _ => internal("the name of a cursor is no text")?,
        };
        let variable = &statement.variable;
        let named = |name: Option<CompactString>| {
            let message = format!("cursor variable \"{variable}\" is null");
            name.ok_or_else(|| Error::input(sqlstate::NULL_VALUE_NOT_ALLOWED, message))
        };
        match &statement.action {
            CursorAction::Refuse => {
                if let Some(name) = name.filter(|name| cursors.is_open(name)) {
                    let message = format!("cursor \"{name}\" already in use");
                    return Err(Error::input(sqlstate::DUPLICATE_CURSOR, message).into());
                }
            }
            CursorAction::Open { spool, columns, is_scrollable, text, into } => {
                let text = match evaluate(text, &self.context())? {
                    Value::Text(text) => text.to_string(),
                    _ => String::new(),
                };
                let columns = columns.clone().unwrap_or_else(|| self.emitted_columns(*spool));
                let (rows, is_scrollable) = (self.taken_rows(*spool)?, *is_scrollable);
                let created = self.environment.statement_time;
                let name = cursors.open(NewCursor { name, columns, rows, is_scrollable, text, created })?;
                self.frame.registers[usize::from(*into)].put(Value::Text(name));
            }
            CursorAction::Fetch { way, steps, rows, count } => {
                let (name, direction) = (named(name)?, self.direction(*way, steps.as_ref())?);
                let passed = match rows {
                    Some(rows) => self.fetch_rows(cursors.as_ref(), (&name, direction), rows)?,
                    None => cursors.go(&name, direction)?,
                };
                let passed = i64::try_from(passed).unwrap_or(i64::MAX);
                self.frame.registers[usize::from(*count)].put(Value::BigInt(passed));
            }
            CursorAction::Close => cursors.close(&named(name)?)?,
        }
        Ok(Next::Following)
    }

    /// The columns of the rows that the procedure that filled a spool has emitted.
    fn emitted_columns(&self, spool: SpoolSlot) -> Vec<(String, SqlType)> {
        let Some(source) = &self.frame.spools[usize::from(spool)].source else { return Vec::new() };
        source.output_names.iter().cloned().zip(source.output.iter().copied()).collect()
    }

    /// Takes the rows out of a spool.
    fn taken_rows(&mut self, spool: SpoolSlot) -> Result<Vec<Box<[Value]>>> {
        let spool = &mut self.frame.spools[usize::from(spool)];
        let mut rows = Vec::new();
        while let Some(row) = spool.take_next()? {
            rows.push(std::mem::take(row).into_boxed_slice());
            memory::check(0)?;
        }
        spool.clear();
        Ok(rows)
    }

    fn direction(&self, way: FetchWay, steps: Option<&Expr>) -> Result<FetchDirection> {
        let steps = match steps.map(|steps| evaluate(steps, &self.context())).transpose()? {
            None => None,
            Some(Value::Null) => {
                let message = "relative or absolute cursor position is null";
                return Err(Error::input(sqlstate::NULL_VALUE_NOT_ALLOWED, message));
            }
            Some(value) => value.as_i64(),
        };
        Ok(match way {
            FetchWay::Forward => FetchDirection::Forward(steps),
            FetchWay::Backward => FetchDirection::Backward(steps),
            FetchWay::Absolute => FetchDirection::Absolute(steps.unwrap_or(0)),
            FetchWay::Relative => FetchDirection::Relative(steps.unwrap_or(0)),
        })
    }

    fn fetch_rows(
        &mut self,
        cursors: &dyn SessionCursors,
        (name, direction): (&str, FetchDirection),
        wanted: &CursorRows,
    ) -> Result<usize> {
        let fetched = cursors.fetch(name, direction)?;
        let is_same = |(own, own_type): &(String, SqlType), (other, other_type): &(String, SqlType)| {
            own == other && own_type.is_same_base(*other_type)
        };
        let is_exact = fetched.columns.len() == wanted.columns.len()
            && fetched.columns.iter().zip(&wanted.columns).all(|(own, other)| is_same(own, other));
        if wanted.is_exact && !is_exact {
            let what = format!(
                "cursor \"{name}\" has other columns than the record had when the routine was compiled, which is"
            );
            return Err(refused(Missing::CursorColumns, &what));
        }
        let count = fetched.rows.len();
        for row in fetched.rows {
            let mut values = row.into_iter();
            let mut converted = Vec::with_capacity(wanted.columns.len());
            for (_, to) in &wanted.columns {
                let value = values.next().unwrap_or_default();
                converted.push(cast(value, *to, false, self.environment.reading())?);
            }
            let spool = &mut self.frame.spools[usize::from(wanted.spool)];
            spool.push(converted, &self.environment.work_memory)?;
        }
        memory::check(0)?;
        Ok(count)
    }
}

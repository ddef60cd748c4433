//! Functions in SQL: a sequence of statements, of which the last gives the result.
//!
//! They become procedures like routines in PL/pgSQL. A function of one value takes the first row of its
//! last statement, or NULL if there is none. A set-returning function keeps the rows and then returns them.

use hyades_engine::procedure::ir::{Expr, Instruction, Register, SQL_STATEMENT};
use hyades_types::definition::{Returns, RoutineKind};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::value::{SqlType, Value};
use sqlparser::ast;

use super::query::{has_returning, is_select};
use super::routine_body::Routine;
use super::tree::Fragment;
use crate::bind::coerce::Context;
use crate::bind::{Bound, Place};
use crate::emit::row_sink::{Then, Wanted};

impl<'a> Routine<'a> {
    pub(super) fn sql_body(&mut self, statements: &'a [Fragment], results: &[Register]) -> Result<()> {
        self.names().yields_to_columns = true;
        let types = self.wanted_types();
        let Some((last, before)) = statements.split_last() else {
            return if types.is_empty() { Ok(()) } else { Err(self.no_result()) };
        };
        for (number, fragment) in (1u32..).zip(before) {
            self.begin_statement(number);
            let statement = self.parsed(fragment)?;
            self.nested(fragment, &statement, Wanted::Nothing, Then::Continue)?;
        }
        self.begin_statement(u32::try_from(statements.len()).unwrap_or(u32::MAX));
        let statement = self.parsed(last)?;
        if types.is_empty() {
            return self.nested(last, &statement, Wanted::Nothing, Then::Continue).map(drop);
        }
        if !has_returning(&statement) {
            return Err(self.no_result());
        }
        if !self.is_set() && is_select(&statement) {
            self.first_row(last, &statement, (results, &types))
        } else {
            self.kept_rows(last, &statement, (results, &types))
        }
    }

    fn begin_statement(&mut self, number: u32) {
        self.at = (number, SQL_STATEMENT);
        self.compiler.code.line(number, SQL_STATEMENT);
    }

    /// The types of the columns that the last statement must return. `None` if its rows are ignored.
    fn wanted_types(&self) -> Vec<SqlType> {
        match &self.definition.returns {
            _ if self.is_set() => self.returned_types(),
            Returns::Value(sql_type) if self.definition.kind == RoutineKind::Function => vec![*sql_type],
            _ => {
                let outputs =
                    self.definition.parameters.iter().filter(|parameter| parameter.mode.is_output());
                outputs.map(|parameter| parameter.sql_type).collect()
            }
        }
    }

    fn first_row(
        &mut self,
        text: &'a Fragment,
        statement: &ast::Statement,
        (results, types): (&[Register], &[SqlType]),
    ) -> Result<()> {
        let found = self.compiler.code.label();
        let slots = results.iter().copied().zip(types.iter().copied()).collect();
        let place = self.compiler.code.reserve();
        let nested = self.nested(text, statement, Wanted::Variables(slots), Then::Leave(found))?;
        self.check_columns(&nested.columns, types)?;
        for register in results {
            self.compiler.code.evaluate(*register, Expr::Const(Value::Null));
        }
        self.compiler.code.place(found);
        let before = self.compiler.end_events()?;
        self.compiler.code.fill(place, before);
        Ok(())
    }

    fn kept_rows(
        &mut self,
        text: &'a Fragment,
        statement: &ast::Statement,
        (results, types): (&[Register], &[SqlType]),
    ) -> Result<()> {
        let spool = self.compiler.code.new_spool()?;
        self.compiler.code.push(Instruction::OpenSpool { spool });
        let nested = self.nested(text, statement, Wanted::Spool(spool), Then::Continue)?;
        self.check_columns(&nested.columns, types)?;
        let found = self.compiler.code.label();
        let is_set = self.is_set();
        self.compiler.for_spooled(spool, types.len(), &mut |compiler, row, _| {
            let pairs = row.into_iter().zip(&nested.columns).zip(types);
            let values = pairs
                .map(|((value, (_, from)), to)| compiler.assigned(value, *from, *to))
                .collect::<Result<Vec<Expr>>>()?;
            if is_set {
                compiler.code.push(Instruction::Emit { values });
                return Ok(());
            }
            for (register, value) in results.iter().zip(values) {
                compiler.code.evaluate(*register, value);
            }
            compiler.code.jump(found);
            Ok(())
        })?;
        if !is_set {
            for register in results {
                self.compiler.code.evaluate(*register, Expr::Const(Value::Null));
            }
        }
        self.compiler.code.place(found);
        Ok(())
    }

    /// Checks that the last statement returns the function's result types, or something assignable to them.
    fn check_columns(&mut self, columns: &[(String, SqlType)], types: &[SqlType]) -> Result<()> {
        let is_one = matches!(self.definition.returns, Returns::Value(_) | Returns::SetOf(_));
        if columns.len() != types.len() {
            return Err(self.mismatch(match columns.len() < types.len() {
                _ if is_one => "Final statement must return exactly one column.",
                true => "Final statement returns too few columns.",
                false => "Final statement returns too many columns.",
            }));
        }
        for (at, ((_, from), to)) in columns.iter().zip(types).enumerate() {
            let bound = Bound::typed(Expr::Register(0), *from, Place::Unknown);
            if self.compiler.binder.try_coerce(bound, *to, Context::Assignment)?.is_none() {
                let (from, to) = (from.base_name(), to.base_name());
                return Err(self.mismatch(&match is_one {
                    true => format!("Actual return type is {from}."),
                    false => {
                        format!("Final statement returns {from} instead of {to} at column {}.", at + 1)
                    }
                }));
            }
        }
        Ok(())
    }

    fn no_result(&self) -> Error {
        self.mismatch("Function's final statement must be SELECT or INSERT/UPDATE/DELETE RETURNING.")
    }

    fn mismatch(&self, detail: &str) -> Error {
        let declared = match &self.definition.returns {
            Returns::Value(sql_type) | Returns::SetOf(sql_type) => sql_type.base_name(),
            _ => "record",
        };
        let message = format!("return type mismatch in function declared to return {declared}");
        Error::input(sqlstate::INVALID_PARAMETER_DEFINITION, message).with_detail(detail)
    }
}

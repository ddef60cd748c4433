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
use crate::bind::made_rows::field_expr;
use crate::bind::{Bound, Place};
use crate::emit::row_sink::{Then, Wanted};
use crate::statement;

/// Whether the only column is a row of the type that is wanted, or has its fields.
fn is_one_row(columns: &[(String, SqlType)], types: &[SqlType]) -> bool {
    let [(_, SqlType::Composite(own))] = columns else { return false };
    match types {
        [SqlType::Composite(row_type)] => own == row_type,
        types => types.len() > 1 && own.fields().iter().map(|field| field.sql_type).eq(types.iter().copied()),
    }
}

fn is_call(fragment: &Fragment) -> bool {
    matches!(statement::parse(&fragment.text), Ok(statement::Statement::Call))
}

/// The fields of the only column.
fn taken_apart(row: &[Expr], sql_type: SqlType) -> Vec<Expr> {
    let (Some(row), SqlType::Composite(row_type)) = (row.first(), sql_type) else { return Vec::new() };
    row_type.fields().iter().map(|field| field_expr(row.clone(), field)).collect()
}

impl<'a> Routine<'a> {
    pub(super) fn sql_body(&mut self, statements: &'a [Fragment], results: &[Register]) -> Result<()> {
        self.names().yields_to_columns = true;
        let types = self.wanted_types();
        let Some((last, before)) = statements.split_last() else {
            return if types.is_empty() { Ok(()) } else { Err(self.no_result()) };
        };
        for (number, fragment) in (1u32..).zip(before) {
            self.begin_statement(number);
            self.without_result(fragment)?;
        }
        self.begin_statement(u32::try_from(statements.len()).unwrap_or(u32::MAX));
        if types.is_empty() {
            return self.without_result(last);
        }
        if is_call(last) {
            return Err(self.no_result());
        }
        let statement = self.parsed(last)?;
        if !has_returning(&statement) {
            return Err(self.no_result());
        }
        if !self.is_set() && is_select(&statement) {
            self.first_row(last, &statement, (results, &types))
        } else {
            self.kept_rows(last, &statement, (results, &types))
        }
    }

    /// A statement whose rows are ignored.
    fn without_result(&mut self, fragment: &'a Fragment) -> Result<()> {
        if is_call(fragment) {
            return self.call(fragment);
        }
        let statement = self.parsed(fragment)?;
        self.nested(fragment, &statement, Wanted::Nothing, Then::Continue).map(drop)
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
        let wanted = match (results, types) {
            ([register], [SqlType::Composite(row_type)]) => Wanted::Row(*register, *row_type),
            _ => Wanted::Variables(results.iter().copied().zip(types.iter().copied()).collect()),
        };
        let place = self.compiler.code.reserve();
        let nested = self.nested(text, statement, wanted, Then::Leave(found))?;
        self.check_result(&nested.columns, types)?;
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
        self.check_result(&nested.columns, types)?;
        let found = self.compiler.code.label();
        let is_set = self.is_set();
        let columns: Vec<SqlType> = nested.columns.iter().map(|(_, sql_type)| *sql_type).collect();
        let is_whole = is_one_row(&nested.columns, types);
        self.compiler.for_spooled(spool, columns.len(), &mut |compiler, row, _| {
            let row = match types {
                [SqlType::Composite(row_type)] if !is_whole => {
                    vec![compiler.row_of_columns(*row_type, row, &columns)?]
                }
                _ if is_set && is_whole && types.len() > 1 => taken_apart(&row, columns[0]),
                _ => row,
            };
            if let ([register], [SqlType::Composite(_)]) = (results, types) {
                row.into_iter().for_each(|row| compiler.code.evaluate(*register, row));
                compiler.code.jump(found);
                return Ok(());
            }
            let own = if is_whole { types } else { columns.as_slice() };
            let pairs = row.into_iter().zip(own).zip(types);
            let values = pairs
                .map(|((value, from), to)| compiler.assigned(value, *from, *to))
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

    /// Checks that the last statement returns the function's result, which may be a row.
    fn check_result(&mut self, columns: &[(String, SqlType)], types: &[SqlType]) -> Result<()> {
        match types {
            _ if is_one_row(columns, types) => Ok(()),
            [SqlType::Composite(row_type)] => {
                let fields: Vec<SqlType> = row_type.fields().iter().map(|field| field.sql_type).collect();
                self.check_columns(columns, &fields)
            }
            types => self.check_columns(columns, types),
        }
    }

    /// Checks that the last statement returns the function's result types, or something assignable to them.
    fn check_columns(&mut self, columns: &[(String, SqlType)], types: &[SqlType]) -> Result<()> {
        let is_one = matches!(
            self.definition.returns,
            Returns::Value(own) | Returns::SetOf(own) if !matches!(own, SqlType::Composite(_))
        );
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

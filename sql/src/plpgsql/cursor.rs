//! Bound cursors: `c CURSOR FOR query`, OPEN, FETCH, MOVE, CLOSE, FOR over one.
//!
//! OPEN runs the query and keeps its rows in a spool, and FETCH takes the next one. So a cursor sees the
//! rows as they were when it was opened, which is what PostgreSQL promises, and a COMMIT does not affect
//! it.
//!
//! A cursor may become known outside of the body, because the body uses its name as a value or moves it
//! otherwise than to the next row. Such a cursor belongs to the session while it is open, and the body
//! keeps its name in a variable (`shared_cursor`).

use super::restrictions::Targets;
use hyades_engine::procedure::cursor_statement::CursorAction;
use hyades_engine::procedure::ir::{Expr, Instruction, Register};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::Missing;
use hyades_types::value::{SqlType, Value};
use sqlparser::ast;

use super::routine_body::Routine;
use super::tree::{BoundCursor, CursorDeclaration, CursorName, FetchSteps, Fragment, Path, Statement};
use crate::bind::types;
use crate::bind::visible_variables::{RecordState, Scalar, Scope, Variable};
use crate::emit::Compiler;
use crate::emit::row_sink::{Nested, Then, Wanted, report};
use crate::statement::query as parser;

impl<'a> Routine<'a> {
    pub(super) fn declare_cursor(&mut self, name: &str, declaration: &'a CursorDeclaration) -> Result<()> {
        let mut parameters = Vec::new();
        for (name, type_name) in &declaration.parameters {
            let sql_type = parser::parse_type(&type_name.text)
                .and_then(|parsed| types::resolve_stored(&parsed, &self.compiler.binder))
                .map_err(|error| self.placed(error, type_name))?;
            parameters.push((name.clone(), self.compiler.binder.new_register()?, sql_type));
        }
        let query = &declaration.query;
        self.see_parameters(&parameters);
        let columns = self.cursor_columns(query);
        self.names().scopes.pop();
        let is_open = self.compiler.binder.new_register()?;
        self.compiler.code.evaluate(is_open, Expr::Const(Value::Boolean(false)));
        let spool = self.compiler.code.new_spool()?;
        let name_in = if declaration.is_shared { Some(self.declare_shared(name)?) } else { None };
        let (name, columns, scrolls) = (name.to_owned(), columns?, declaration.scrolls);
        let cursor = BoundCursor { name, query, parameters, columns, spool, is_open, scrolls, name_in };
        self.cursors.push(cursor);
        Ok(())
    }

    /// Makes a cursor's parameters visible to its query, before all other names.
    fn see_parameters(&mut self, parameters: &[(String, Register, SqlType)]) {
        let variable = |(name, register, sql_type): &(String, Register, SqlType)| {
            (name.clone(), Variable::Scalar(Scalar::new(*register, *sql_type)))
        };
        let variables = parameters.iter().map(variable).collect();
        self.names().scopes.push(Scope { label: None, variables });
    }

    /// The columns of a cursor's query, which is compiled here only to learn them.
    fn cursor_columns(&mut self, query: &'a Fragment) -> Result<Vec<(String, SqlType)>> {
        let ast::Statement::Query(select) = self.parsed(query)? else {
            return self.unsupported(
                Missing::OtherForms,
                "a cursor for a statement that is no query is",
                query.start,
            );
        };
        let binder = &self.compiler.binder;
        let (names, current) = (binder.names.clone(), binder.current.clone());
        let mut inner = Compiler::new(&query.text, binder.context, &[], 0)?;
        (inner.binder.names, inner.binder.current) = (names, current);
        let compiled = inner.query(&select).map_err(|error| self.placed(error, query))?;
        let columns = compiled.columns.unwrap_or_default();
        Ok(columns.into_iter().map(|column| (column.name, column.sql_type)).collect())
    }

    pub(super) fn bound_cursor(&self, name: &str) -> Option<BoundCursor<'a>> {
        self.cursors.iter().rev().find(|cursor| cursor.name == name).cloned()
    }

    /// Emits an error unless the cursor is open, or closed, as required.
    fn expect_cursor(&mut self, cursor: &BoundCursor<'a>, is_open: bool) {
        if let Some(name_in) = cursor.name_in {
            return self.cursor(CursorAction::Refuse, name_in, &cursor.name);
        }
        let fine = self.compiler.code.label();
        let flag = Expr::Register(cursor.is_open);
        let is_wrong = if is_open { Expr::Not(Box::new(flag)) } else { flag };
        self.compiler.code.jump_unless(is_wrong, fine);
        let name = &cursor.name;
        self.compiler.code.push(match is_open {
            true => {
                let message = format!("cursor \"{name}\" does not exist");
                report(sqlstate::INVALID_CURSOR_NAME, &message, None)
            }
            false => {
                let message = format!("cursor \"{name}\" already in use");
                report(sqlstate::DUPLICATE_CURSOR, &message, None)
            }
        });
        self.compiler.code.place(fine);
    }

    fn set_open(&mut self, cursor: &BoundCursor<'a>, is_open: bool) {
        self.compiler.code.evaluate(cursor.is_open, Expr::Const(Value::Boolean(is_open)));
    }

    pub(super) fn open_cursor(&mut self, named: &CursorName, arguments: &'a [Fragment]) -> Result<()> {
        let Some(cursor) = self.bound_cursor(&named.name) else {
            self.cursor_variable(named)?;
            let end = self.statement_end(named.start);
            let message = "syntax error, expected \"FOR\" at or near \";\"";
            return self.fail(sqlstate::SYNTAX_ERROR, message, end);
        };
        self.open_bound(&cursor, arguments, named.start)?;
        match cursor.name_in {
            Some(name_in) => self.share(&cursor, name_in),
            None => Ok(()),
        }
    }

    fn open_bound(
        &mut self,
        cursor: &BoundCursor<'a>,
        arguments: &'a [Fragment],
        start: usize,
    ) -> Result<()> {
        let name = &cursor.name;
        self.expect_cursor(cursor, false);
        if arguments.len() != cursor.parameters.len() {
            let message = match (arguments.len(), cursor.parameters.len()) {
                (_, 0) => format!("cursor \"{name}\" has no arguments"),
                (0, _) => format!("cursor \"{name}\" has arguments"),
                (given, wanted) if given < wanted => format!("not enough arguments for cursor \"{name}\""),
                _ => format!("too many arguments for cursor \"{name}\""),
            };
            return self.fail(sqlstate::SYNTAX_ERROR, message, start);
        }
        for (argument, (_, register, sql_type)) in arguments.iter().zip(&cursor.parameters) {
            let value = self.value(argument, *sql_type)?;
            self.compiler.code.evaluate(*register, value);
        }
        let statement = self.parsed(cursor.query)?;
        self.compiler.code.push(Instruction::OpenSpool { spool: cursor.spool });
        self.see_parameters(&cursor.parameters);
        let opened = self.nested(cursor.query, &statement, Wanted::Spool(cursor.spool), Then::Continue);
        self.names().scopes.pop();
        opened?;
        self.set_open(cursor, true);
        Ok(())
    }

    /// FETCH, or MOVE if there are no targets.
    pub(super) fn fetch(
        &mut self,
        named: &CursorName,
        steps: &'a FetchSteps,
        targets: Option<&'a [Path]>,
    ) -> Result<()> {
        let cursor = match self.bound_cursor(&named.name) {
            Some(cursor) if cursor.name_in.is_none() => cursor,
            _ => return self.fetch_shared(named, steps, targets),
        };
        self.expect_cursor(&cursor, true);
        let targets = match targets {
            Some(targets) => self.destinations(targets)?,
            None => Targets { wanted: Wanted::Variables(Vec::new()), restricted: Vec::new() },
        };
        self.take_row(targets, (cursor.spool, &cursor.columns))
    }

    /// Assigns the next row of a spool to these variables, or NULL if there is none.
    pub(super) fn take_row(
        &mut self,
        Targets { wanted, restricted }: Targets,
        (spool, columns): (u16, &[(String, SqlType)]),
    ) -> Result<()> {
        let (found, done) = (self.compiler.code.label(), self.compiler.code.label());
        let taken = wanted.clone();
        self.open(wanted, Then::Leave(found));
        let width = columns.len();
        self.compiler.describe(columns.to_vec(), false)?;
        self.compiler.for_spooled(spool, width, &mut |compiler, values, _| compiler.emit(values))?;
        self.close();
        for register in self.slots_of(&taken) {
            self.compiler.code.evaluate(register, Expr::Const(Value::Null));
        }
        self.set_found(false);
        self.compiler.code.jump(done);
        self.compiler.code.place(found);
        self.set_found(true);
        self.compiler.code.place(done);
        self.store_restricted(&restricted)
    }

    pub(super) fn close_cursor(&mut self, named: &CursorName) -> Result<()> {
        let cursor = match self.bound_cursor(&named.name) {
            Some(cursor) if cursor.name_in.is_none() => cursor,
            _ => return self.close_shared(named),
        };
        self.expect_cursor(&cursor, true);
        self.compiler.code.push(Instruction::OpenSpool { spool: cursor.spool });
        self.set_open(&cursor, false);
        Ok(())
    }

    /// FOR over a cursor. The record belongs to the loop.
    pub(super) fn for_cursor(
        &mut self,
        label: Option<&String>,
        targets: &'a [Path],
        (named, arguments): (&CursorName, &'a [Fragment]),
        body: &'a [Statement],
    ) -> Result<()> {
        let start = named.start;
        let [Path { parts, .. }] = targets else {
            let message = "cursor FOR loop must have only one target variable";
            let start = targets.first().map_or(0, |target| target.start);
            return self.fail(sqlstate::SYNTAX_ERROR, message, start);
        };
        let Some(record_name) = parts.first() else {
            return Err(Error::input(sqlstate::SYNTAX_ERROR, "FOR"));
        };
        let Some(cursor) = self.bound_cursor(&named.name) else {
            self.cursor_variable(named)?;
            let message = "cursor FOR loop must use a bound cursor variable";
            return self.fail(sqlstate::SYNTAX_ERROR, message, start);
        };
        self.open_bound(&cursor, arguments, start)?;
        self.names().scopes.push(Scope::default());
        let record = self.names().new_record(RecordState::Unassigned, false, None);
        self.names().add(record_name, Variable::Record(record));
        let targets = Targets { wanted: Wanted::Record(record), restricted: Vec::new() };
        self.compiler.record_slots(record, &cursor.columns)?;
        let flag = self.compiler.binder.new_register()?;
        self.compiler.code.evaluate(flag, Expr::Const(Value::Boolean(false)));
        let columns = cursor.columns.clone();
        let nested = Nested { then: Then::Continue, is_single: false, columns, value: None };
        self.for_spool(label, targets, (cursor.spool, nested), body, Some(flag))?;
        self.take_loop_flag(Some(flag));
        self.names().scopes.pop();
        self.compiler.code.push(Instruction::OpenSpool { spool: cursor.spool });
        self.set_open(&cursor, false);
        Ok(())
    }
}

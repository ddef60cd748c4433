//! Cursors that the session keeps: variables of type refcursor, and bound cursors that may be known
//! outside.
//!
//! A variable holds the cursor's name. OPEN runs the query as for any bound cursor (`cursor`) and hands the
//! rows to the session. They stay there until the transaction ends or the cursor is closed. The client can
//! FETCH from it, and so can another routine that is given its name.
//!
//! The columns of a RECORD are those of the last OPEN before it in the text. If the cursor has other
//! columns at run time, it is refused then.
//!
//! Reference: exec_stmt_open, exec_stmt_fetch and exec_stmt_close of PostgreSQL's pl_exec.c.

use hyades_engine::procedure::cursor_statement::{CursorAction, CursorRows, CursorStatement};
use hyades_engine::procedure::ir::{DynamicRows, Expr, Instruction, Register};
use hyades_types::error::{Result, sqlstate};
use hyades_types::operator::BinaryOperator;
use hyades_types::refusal::Missing;
use hyades_types::system_type::SystemType;
use hyades_types::value::{SqlType, Value};
use sqlparser::ast;

use super::assignment::Destination;
use super::dynamic::no_query_for_cursor;
use super::routine_body::Routine;
use super::tree::{BoundCursor, Columns, CursorName, FetchSteps, OpenQuery, OpenedFor, Path, Steps};
use crate::bind::visible_variables::{Found, RecordState, Scalar, Variable};
use crate::emit::row_sink::{Then, Wanted};

const REFCURSOR: SqlType = SqlType::System(SystemType::RefCursor);

impl<'a> Routine<'a> {
    pub(super) fn cursor(&mut self, action: CursorAction, name_in: Register, variable: &str) {
        let (name, variable) = (Expr::Register(name_in), variable.to_owned());
        self.compiler.code.push(Instruction::Cursor(Box::new(CursorStatement { action, name, variable })));
    }

    /// Declares the variable of a bound cursor, which holds the cursor's own name.
    pub(super) fn declare_shared(&mut self, name: &str) -> Result<Register> {
        let register = self.compiler.binder.new_register()?;
        self.compiler.code.evaluate(register, Expr::Const(Value::text(name)));
        self.names().add(name, Variable::Scalar(Scalar::new(register, REFCURSOR)));
        Ok(register)
    }

    /// The variable of this name, which must be of a cursor type.
    pub(super) fn cursor_variable(&mut self, named: &CursorName) -> Result<Scalar> {
        let CursorName { name, start } = named;
        let (name, start) = (name.as_str(), *start);
        let path = Path { parts: vec![name.to_owned()], start };
        if self.names().find(&path.parts).is_none() {
            return self.fail(sqlstate::SYNTAX_ERROR, format!("\"{name}\" is not a known variable"), start);
        }
        match self.target(&path)? {
            Destination::Scalar(scalar) if scalar.sql_type == REFCURSOR => Ok(scalar),
            _ => {
                let message = format!("variable \"{name}\" must be of type cursor or refcursor");
                self.fail(sqlstate::DATATYPE_MISMATCH, message, start)
            }
        }
    }

    /// Hands the rows of a bound cursor to the session.
    pub(super) fn share(&mut self, cursor: &BoundCursor<'a>, name_in: Register) -> Result<()> {
        let ast::Statement::Query(query) = self.parsed(cursor.query)? else { return Ok(()) };
        let (spool, columns) = (cursor.spool, Some(cursor.columns.clone()));
        let is_scrollable = cursor.scrolls != Some(false) && query.locks.is_empty();
        let text = Expr::Const(Value::text(cursor.query.text.trim()));
        self.cursor(
            CursorAction::Open { spool, columns, is_scrollable, text, into: name_in },
            name_in,
            &cursor.name,
        );
        Ok(())
    }

    /// OPEN ... FOR.
    pub(super) fn open_for(&mut self, named: &CursorName, open: &'a OpenQuery) -> Result<()> {
        let name = named.name.as_str();
        if self.bound_cursor(name).is_some() {
            let place = open.query.start;
            return self.fail(sqlstate::SYNTAX_ERROR, "syntax error at or near \"FOR\"", place);
        }
        let name_in = self.cursor_variable(named)?.register;
        self.cursor(CursorAction::Refuse, name_in, name);
        let spool = self.compiler.code.new_spool()?;
        self.compiler.code.push(Instruction::OpenSpool { spool });
        let mut is_scrollable = open.scrolls != Some(false);
        let (columns, text) = match &open.dynamic {
            Some(using) => {
                let text = self.value(&open.query, SqlType::Text)?;
                let kept = self.compiler.binder.new_register()?;
                self.compiler.code.evaluate(kept, text);
                self.dynamic(&open.query, using, Some((spool, DynamicRows::Any)))?;
                (None, Expr::Register(kept))
            }
            None => {
                let statement = self.parsed(&open.query)?;
                let ast::Statement::Query(query) = &statement else {
                    let error = no_query_for_cursor(&statement);
                    return Err(self.placed(error.with_position(1), &open.query));
                };
                is_scrollable &= query.locks.is_empty();
                let nested = self.nested(&open.query, &statement, Wanted::Spool(spool), Then::Continue)?;
                (Some(nested.columns), Expr::Const(Value::text(open.query.text.trim())))
            }
        };
        self.opened.retain(|opened| opened.name_in != name_in);
        if let Some(columns) = columns.clone() {
            self.opened.push(OpenedFor { name_in, columns });
        }
        self.cursor(CursorAction::Open { spool, columns, is_scrollable, text, into: name_in }, name_in, name);
        Ok(())
    }

    /// The register that holds the name of such a cursor, and its columns if they are known from the text.
    fn shared_cursor(&mut self, named: &CursorName) -> Result<(Register, Option<Columns>)> {
        if let Some(BoundCursor { name_in: Some(name_in), columns, .. }) = self.bound_cursor(&named.name) {
            return Ok((name_in, Some(columns)));
        }
        let name_in = match self.names().find(std::slice::from_ref(&named.name)) {
            Some(Found::Scalar(scalar)) if scalar.sql_type == REFCURSOR => scalar.register,
            _ => self.cursor_variable(named)?.register,
        };
        let known = self.opened.iter().find(|opened| opened.name_in == name_in);
        Ok((name_in, known.map(|opened| opened.columns.clone())))
    }

    pub(super) fn fetch_shared(
        &mut self,
        named: &CursorName,
        steps: &'a FetchSteps,
        targets: Option<&'a [Path]>,
    ) -> Result<()> {
        let (name_in, known) = self.shared_cursor(named)?;
        let (name, start) = (named.name.as_str(), named.start);
        let way = steps.way;
        let steps = match &steps.steps {
            Steps::All => None,
            Steps::Number(number) => Some(Expr::Const(Value::BigInt(*number))),
            Steps::Value(value) => Some(self.value(value, SqlType::Integer)?),
        };
        let count = self.compiler.binder.new_register()?;
        let Some(targets) = targets else {
            self.cursor(CursorAction::Fetch { way, steps, rows: None, count }, name_in, name);
            self.note_moved(count);
            return Ok(());
        };
        let targets = self.destinations(targets)?;
        let (columns, is_exact) = self.fetched_columns(&targets.wanted, known, start)?;
        let spool = self.compiler.code.new_spool()?;
        self.compiler.code.push(Instruction::OpenSpool { spool });
        let rows = Some(CursorRows { spool, columns: columns.clone(), is_exact });
        self.cursor(CursorAction::Fetch { way, steps, rows, count }, name_in, name);
        self.take_row(targets, (spool, &columns))
    }

    /// The columns that the targets of FETCH accept, and whether the cursor must have exactly these.
    fn fetched_columns(
        &mut self,
        wanted: &Wanted,
        known: Option<Columns>,
        start: usize,
    ) -> Result<(Columns, bool)> {
        let record = match wanted {
            Wanted::Record(record) => *record,
            Wanted::Variables(slots) => {
                return Ok((slots.iter().map(|(_, sql_type)| (String::new(), *sql_type)).collect(), false));
            }
            _ => return Ok((Vec::new(), false)),
        };
        let record = &self.names().records[record];
        match (&record.state, known) {
            (RecordState::Known(columns), known) if record.is_fixed || known.is_none() => {
                let named = columns.iter().map(|(name, sql_type, _)| (name.clone(), *sql_type));
                Ok((named.collect(), !record.is_fixed))
            }
            (_, Some(known)) => Ok((known, true)),
            _ => {
                let what = "FETCH into a record without columns of its own, from a cursor that is opened elsewhere, is";
                self.unsupported(Missing::CursorColumns, what, start)
            }
        }
    }

    /// Sets FOUND and the row count after MOVE.
    fn note_moved(&mut self, count: Register) {
        if let Some(found) = self.found {
            let is_any = Expr::Binary {
                operator: BinaryOperator::Greater,
                left: Box::new(Expr::Register(count)),
                right: Box::new(Expr::Const(Value::BigInt(0))),
            };
            self.compiler.code.evaluate(found, is_any);
        }
        if let Some(row_count) = self.row_count {
            self.compiler.code.evaluate(row_count, Expr::Register(count));
        }
    }

    pub(super) fn close_shared(&mut self, named: &CursorName) -> Result<()> {
        let (name_in, _) = self.shared_cursor(named)?;
        self.cursor(CursorAction::Close, name_in, &named.name);
        Ok(())
    }
}

//! EXECUTE, which runs statements whose text is known only at run time; COMMIT and ROLLBACK.
//!
//! The session compiles the text as a small procedure of its own, which the routine then calls. The
//! parameters are the values of USING, and the rows go to a spool of the routine. So the text sees none of
//! the routine's variables. What the text does is unknown when the call is logged. Schema changes are also
//! run by the session from their text (`session::requests`).

use super::restrictions::Targets;
use hyades_engine::procedure::ir::{DynamicRows, DynamicStatement, Expr, Instruction, Procedure, Register};
use hyades_types::definition::{
    ParameterMode, Returns, RoutineDefinition, RoutineKind, RoutineParameter, TableName,
};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::operator::BinaryOperator;
use hyades_types::refusal::{Missing, refused_in};
use hyades_types::value::{SqlType, Value};

use super::query::is_select;
use super::routine_body::Routine;
use super::tree::{Fragment, Into, Path, Statement};
use crate::bind::Tables;
use crate::bind::visible_variables::RecordState;
use crate::emit::row_sink::{Nested, Then, Wanted, invalid_termination, report};
use crate::statement;
use crate::statement::deep_text::with_stack_for;
use sqlparser::ast;

/// Compiles the text of an EXECUTE.
///
/// # Errors
/// Those of the statement, and 0A000 for statements that EXECUTE does not run.
pub(crate) fn compile(
    text: &str,
    types: &[SqlType],
    rows: Option<&DynamicRows>,
    (tables, path): (&dyn Tables, Vec<String>),
) -> Result<Procedure> {
    let parameter = |sql_type: &SqlType| RoutineParameter {
        name: None,
        mode: ParameterMode::In,
        sql_type: *sql_type,
        default: None,
    };
    let columns = |rows: &DynamicRows| match rows {
        DynamicRows::Exact(types) | DynamicRows::Converted(types) => {
            types.iter().map(|own| (String::new(), *own)).collect()
        }
        DynamicRows::Any => Vec::new(),
    };
    let definition = RoutineDefinition {
        name: TableName { schema: "pg_catalog".to_owned(), name: "execute".to_owned() },
        kind: RoutineKind::Procedure,
        language: "plpgsql".to_owned(),
        parameters: types.iter().map(parameter).collect(),
        returns: rows.map_or(Returns::Nothing, |rows| Returns::SetOfRow(columns(rows))),
        path: Some(path),
        is_strict: false,
        traits: Default::default(),
        uses: None,
        aggregate: None,
        cast: None,
        declared: None,
        body: text.to_owned(),
    };
    let wanted = || match rows {
        None => Wanted::Nothing,
        Some(DynamicRows::Exact(types)) => Wanted::Returned(types.clone()),
        Some(DynamicRows::Converted(types)) => Wanted::Converted(types.clone()),
        Some(DynamicRows::Any) => Wanted::Emitted,
    };
    let is_for_cursor = rows == Some(&DynamicRows::Any);
    let mut emitted = Vec::new();
    let compile = || {
        Routine::of_statement(&definition, tables, |routine, definition| {
            let statement = match statement::parse(text)? {
                statement::Statement::Query(statement) => *statement,
                other => return Err(refused(&other)),
            };
            if is_for_cursor && !is_select(&statement) {
                return Err(no_query_for_cursor(&statement));
            }
            if rows.is_some() && !is_select(&statement) && !super::query::has_returning(&statement) {
                let message = "INTO used with a command that cannot return data";
                return Err(Error::input(sqlstate::SYNTAX_ERROR, message));
            }
            emitted = routine.nested_text(&definition.body, &statement, wanted())?;
            Ok(())
        })
    };
    let mut procedure = with_stack_for(text, compile).map_err(Error::without_position)?;
    if is_for_cursor {
        (procedure.output_names, procedure.output) = emitted.into_iter().unzip();
    }
    Ok(procedure)
}

/// Error 42P11 for a statement that cannot be opened as a cursor.
pub(super) fn no_query_for_cursor(statement: &ast::Statement) -> Error {
    let shown = statement.to_string();
    let word = shown.split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
    Error::input(sqlstate::INVALID_CURSOR_DEFINITION, format!("cannot open {word} query as cursor"))
}

fn refused(statement: &statement::Statement) -> Error {
    use statement::Statement;
    let message = match statement {
        Statement::Begin { .. }
        | Statement::Commit { .. }
        | Statement::Rollback { .. }
        | Statement::Savepoint(_)
        | Statement::Release(_)
        | Statement::RollbackTo(_) => "EXECUTE of transaction commands is not implemented",
        Statement::CreateTableAs(create) if create.is_into => "EXECUTE of SELECT ... INTO is not implemented",
        _ => return refused_in(Missing::StatementsInRoutines, "EXECUTE of this statement is", "PL/pgSQL"),
    };
    Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message)
}

impl<'a> Routine<'a> {
    /// EXECUTE up to its rows. Returns the register that holds their number.
    pub(super) fn dynamic(
        &mut self,
        query: &'a Fragment,
        using: &'a [Fragment],
        rows: Option<(u16, DynamicRows)>,
    ) -> Result<Register> {
        let text = self.value(query, SqlType::Text)?;
        let (mut arguments, mut types) = (Vec::new(), Vec::new());
        for value in using {
            let bound = self.bind(value)?;
            let sql_type = bound.known_type().unwrap_or(SqlType::Text).without_modifier();
            types.push(sql_type);
            let value = self.converted(bound, sql_type).map_err(|error| self.placed(error, value))?;
            arguments.push(value);
        }
        let count = self.compiler.binder.new_register()?;
        let dynamic = DynamicStatement { text, arguments, types, rows, count };
        self.compiler.code.push(Instruction::Dynamic(Box::new(dynamic)));
        if let Some(row_count) = self.row_count {
            self.compiler.code.evaluate(row_count, Expr::Register(count));
        }
        Ok(count)
    }

    /// The types of the columns that variables or a record accept.
    fn columns_of(&mut self, wanted: &Wanted, targets: &[Path]) -> Result<Vec<(String, SqlType)>> {
        match wanted {
            Wanted::Variables(slots) => {
                Ok(slots.iter().map(|(_, sql_type)| (String::new(), *sql_type)).collect())
            }
            Wanted::Record(record) => match &self.names().records[*record].state {
                RecordState::Known(columns) => {
                    Ok(columns.iter().map(|(name, sql_type, _)| (name.clone(), *sql_type)).collect())
                }
                _ => {
                    let start = targets.first().map_or(0, |target| target.start);
                    self.unsupported(
                        Missing::ChangingRecords,
                        "a record without columns of its own as the target of EXECUTE is",
                        start,
                    )
                }
            },
            _ => Ok(Vec::new()),
        }
    }

    pub(super) fn execute(
        &mut self,
        query: &'a Fragment,
        into: Option<&'a Into>,
        using: &'a [Fragment],
    ) -> Result<()> {
        let Some(into) = into else { return self.dynamic(query, using, None).map(drop) };
        let Targets { wanted, restricted } = self.destinations(&into.targets)?;
        let columns = self.columns_of(&wanted, &into.targets)?;
        let spool = self.compiler.code.new_spool()?;
        self.compiler.code.push(Instruction::OpenSpool { spool });
        let types = columns.iter().map(|(_, sql_type)| *sql_type).collect();
        let count = self.dynamic(query, using, Some((spool, DynamicRows::Converted(types))))?;
        if into.is_strict {
            let is = |operator, number| Expr::Binary {
                operator,
                left: Box::new(Expr::Register(count)),
                right: Box::new(Expr::Const(Value::BigInt(number))),
            };
            let (some, one) = (self.compiler.code.label(), self.compiler.code.label());
            self.compiler.code.jump_unless(is(BinaryOperator::Equal, 0), some);
            self.compiler.code.push(report(sqlstate::NO_DATA_FOUND, "query returned no rows", None));
            self.compiler.code.place(some);
            self.compiler.code.jump_unless(is(BinaryOperator::Greater, 1), one);
            self.compiler.code.push(report(
                sqlstate::TOO_MANY_ROWS,
                "query returned more than one row",
                None,
            ));
            self.compiler.code.place(one);
        }
        let done = self.compiler.code.label();
        let slots = self.slots_of(&wanted);
        self.open(wanted, Then::Leave(done));
        let width = columns.len();
        self.compiler.describe(columns, false)?;
        self.compiler.for_spooled(spool, width, &mut |compiler, values, _| compiler.emit(values))?;
        self.close();
        for register in slots {
            self.compiler.code.evaluate(register, Expr::Const(Value::Null));
        }
        self.compiler.code.place(done);
        self.store_restricted(&restricted)
    }

    pub(super) fn for_execute(
        &mut self,
        label: Option<&String>,
        targets: &'a [Path],
        (query, using): (&'a Fragment, &'a [Fragment]),
        body: &'a [Statement],
    ) -> Result<()> {
        let taken = self.destinations(targets)?;
        let columns = self.columns_of(&taken.wanted, targets)?;
        let flag = self.compiler.binder.new_register()?;
        self.compiler.code.evaluate(flag, Expr::Const(Value::Boolean(false)));
        let spool = self.compiler.code.new_spool()?;
        self.compiler.code.push(Instruction::OpenSpool { spool });
        let types = columns.iter().map(|(_, sql_type)| *sql_type).collect();
        self.dynamic(query, using, Some((spool, DynamicRows::Converted(types))))?;
        let nested = Nested { then: Then::Continue, is_single: false, columns, value: None };
        self.for_spool(label, taken.clone(), (spool, nested), body, Some(flag))?;
        self.after_loop(&taken, Some(flag))
    }

    pub(super) fn return_execute(
        &mut self,
        query: &'a Fragment,
        using: &'a [Fragment],
        start: usize,
    ) -> Result<()> {
        if !self.is_set() {
            let message = "cannot use RETURN QUERY in a non-SETOF function";
            return self.fail(sqlstate::DATATYPE_MISMATCH, message, start);
        }
        let types = self.returned_types();
        let width = types.len();
        let spool = self.compiler.code.new_spool()?;
        self.compiler.code.push(Instruction::OpenSpool { spool });
        let count = self.dynamic(query, using, Some((spool, DynamicRows::Exact(types))))?;
        self.compiler.for_spooled(spool, width, &mut |compiler, values, _| {
            compiler.code.push(Instruction::Emit { values });
            Ok(())
        })?;
        if let Some(found) = self.found {
            self.compiler.code.evaluate(
                found,
                Expr::Binary {
                    operator: BinaryOperator::Greater,
                    left: Box::new(Expr::Register(count)),
                    right: Box::new(Expr::Const(Value::BigInt(0))),
                },
            );
        }
        Ok(())
    }

    /// A schema change. The session runs its text, which has no variables.
    ///
    /// # Errors
    /// Those of its syntax. All other errors are raised when it runs.
    pub(super) fn change_schema(&mut self, text: &Fragment) -> Result<()> {
        statement::parse(&text.text).map_err(|error| self.placed(error, text))?;
        let count = self.compiler.binder.new_register()?;
        let text = Expr::Const(Value::text(text.text.as_str()));
        let dynamic = DynamicStatement { text, arguments: Vec::new(), types: Vec::new(), rows: None, count };
        self.compiler.code.push(Instruction::Dynamic(Box::new(dynamic)));
        Ok(())
    }

    /// COMMIT and ROLLBACK.
    pub(super) fn end_transaction(&mut self, commits: bool) {
        self.compiler.code.push(match self.is_atomic {
            false => Instruction::EndTransaction { commits },
            true => invalid_termination(),
        });
    }
}

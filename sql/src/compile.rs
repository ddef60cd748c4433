//! Compiling: from a text to a [`Plan`].
//!
//! This room only decides whose statement it is. Queries and changes of rows go to `emit`, COPY to `copy`,
//! changes of the catalog to `ddl`.
//!
//! Files:
//! * `action`: the result, what runs;
//! * statements of its own: `call` (CALL and DO), `cursors` (DECLARE), `explain_statement` (EXPLAIN),
//!   `utility` (those that run no procedure).

pub(crate) mod action;
mod call;
mod cursors;
mod explain_statement;
mod utility;

use hyades_types::error::Result;
use hyades_types::value::SqlType;
use sqlparser::ast;

use crate::answer::Response;
use crate::bind::BindContext;
use crate::compile::action::{Action, Plan};
use crate::emit::changing_with::changes_rows;
use crate::emit::run_plan::Tag;
use crate::emit::{CompiledQuery, Compiler, Purpose};
use crate::statement::deep_text::with_stack_for;
use crate::statement::{self, Statement, split};

/// Compiles the statement of a text. `declared` gives the types of the first parameters that the client has
/// specified. `truncated` gets the names that are too long, and their truncated forms.
pub(crate) fn compile(
    sql: &str,
    context: BindContext<'_>,
    declared: &[Option<SqlType>],
    truncated: &mut Vec<(String, String)>,
) -> Result<Plan> {
    compile_for(sql, context, declared, truncated, Purpose::Run)
}

/// As [`compile`], for this purpose.
pub(crate) fn compile_for(
    sql: &str,
    context: BindContext<'_>,
    declared: &[Option<SqlType>],
    truncated: &mut Vec<(String, String)>,
    purpose: Purpose,
) -> Result<Plan> {
    with_stack_for(sql, || compile_here(sql, context, declared, truncated, purpose))
}

fn compile_here(
    sql: &str,
    context: BindContext<'_>,
    declared: &[Option<SqlType>],
    truncated: &mut Vec<(String, String)>,
    purpose: Purpose,
) -> Result<Plan> {
    split::check_memory(sql)?;
    let survey = split::survey(sql)?;
    *truncated = survey.truncated;
    let statement = statement::parse(sql)?;
    let mut compiler = Compiler::new(sql, context, declared, survey.parameters)?;
    compiler.purpose = purpose;
    compiler.statement(&statement)
}

impl Compiler<'_> {
    pub(crate) fn statement(&mut self, statement: &Statement) -> Result<Plan> {
        statement.check_databases(self.binder.context.database)?;
        match statement {
            Statement::Query(query) => self.query_statement(query),
            Statement::Copy(copy) => self.copy(copy).map(Plan::of_copy),
            Statement::Explain { options, body, body_offset } => self.explain(*options, body, *body_offset),
            // Only the query is described.
            Statement::CreateTableAs(create) if self.purpose == Purpose::Explain => {
                let (_, query) = self.table_of_query(create)?;
                Ok(Plan::of_run("EXPLAIN", query))
            }
            Statement::Do(block) => self.anonymous_block(block),
            Statement::Call => self.call(self.binder.sql),
            other => match self.catalog_statement(other)? {
                Some(statement) => Ok(Plan::of_catalog(statement)),
                None => self.utility(other),
            },
        }
    }

    fn query_statement(&mut self, query: &ast::Statement) -> Result<Plan> {
        match query {
            ast::Statement::Query(query) => {
                let compiled = self.query(query)?;
                let is_read_only = query.locks.is_empty() && !changes_rows(query);
                let command = match compiled.run.tag {
                    Tag::Insert => "INSERT",
                    Tag::Update => "UPDATE",
                    Tag::Delete => "DELETE",
                    Tag::Select | Tag::Do => "SELECT",
                };
                self.plan(compiled, command, is_read_only)
            }
            ast::Statement::Insert(insert) => {
                let compiled = self.insert(insert)?;
                self.plan(compiled, "INSERT", false)
            }
            ast::Statement::Update(update) => {
                let compiled = self.update(update)?;
                self.plan(compiled, "UPDATE", false)
            }
            ast::Statement::Delete(delete) => {
                let compiled = self.delete(delete)?;
                self.plan(compiled, "DELETE", false)
            }
            other => self.schema(other).map(Plan::of_catalog),
        }
    }

    fn plan(&mut self, compiled: CompiledQuery, command: &'static str, is_read_only: bool) -> Result<Plan> {
        let response = match compiled.columns {
            Some(columns) => Response::Rows(columns),
            None => Response::NoData,
        };
        Ok(Plan {
            parameters: self.binder.finished_parameters()?,
            response,
            action: Action::Run(Box::new(compiled.run)),
            command,
            is_read_only,
        })
    }
}

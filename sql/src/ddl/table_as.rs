//! CREATE TABLE ... AS and SELECT ... INTO: the columns of a query become those of a table.

use std::sync::Arc;

use hyades_engine::storage::table::Table;
use hyades_types::definition::{ColumnDefinition, TableDefinition};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::Missing;
use hyades_types::value::SqlType;
use sqlparser::ast;

use super::command::{CatalogStatement, SchemaCommand};
use super::storage_parameter::{Holder, new_parameters};
use crate::answer::ResultColumn;
use crate::bind::{BindContext, Place};
use crate::emit::run_plan::{Analysis, RunPlan};
use crate::emit::{Compiler, Purpose, shifted, unsupported};
use crate::statement::deep_text::with_stack_for;
use crate::statement::{CreateTableAs, Statement, query};

/// Compiles the query whose rows fill a table, for the table that now exists.
pub(crate) fn compile_filling(
    sql: &str,
    context: BindContext<'_>,
    table: &Arc<Table>,
    analysis: Option<Analysis>,
) -> Result<RunPlan> {
    with_stack_for(sql, || {
        let mut compiler = Compiler::new(sql, context, &[], 0)?;
        if analysis.is_some() {
            compiler.purpose = Purpose::Analyze;
        }
        let mut run = compiler.fill(&parsed_query(sql)?, table)?;
        // Only the query is described.
        run.explain = run.explain.and_then(|mut filling| filling.children.pop());
        run.analysis = analysis;
        Ok(run)
    })
}

fn parsed_query(text: &str) -> Result<ast::Query> {
    match query::parse(text)? {
        Statement::Query(statement) => match *statement {
            ast::Statement::Query(query) => Ok(*query),
            _ => unsupported(Missing::ExecutedQueries, "CREATE TABLE AS of this statement is"),
        },
        Statement::CreateTableAs(inner) if inner.is_into => {
            Err(Error::input(sqlstate::SYNTAX_ERROR, "SELECT ... INTO is not allowed here"))
        }
        _ => unsupported(Missing::ExecutedQueries, "CREATE TABLE AS of this statement is"),
    }
}

impl Compiler<'_> {
    pub(super) fn create_table_as(&mut self, create: &CreateTableAs) -> Result<CatalogStatement> {
        if create.is_materialized {
            return self.create_materialized(create);
        }
        let (definition, _) = self.table_of_query(create)?;
        let definition = Box::new(definition);
        let query = create.is_filled.then(|| create.query.clone());
        let (if_not_exists, on_commit) = (create.if_not_exists, create.on_commit);
        let analysis = None;
        let schema = SchemaCommand::CreateAs { definition, if_not_exists, query, on_commit, analysis };
        let command = if create.is_into { "SELECT INTO" } else { "CREATE TABLE AS" };
        Ok(CatalogStatement::new(command, schema))
    }

    /// The table, and the query whose rows go into it.
    pub(crate) fn table_of_query(&mut self, create: &CreateTableAs) -> Result<(TableDefinition, RunPlan)> {
        let name = self.created_relation(&create.name, None, create.is_temporary)?;
        let text = create.query.as_str();
        let context = self.binder.context;
        let compiled = with_stack_for(text, || {
            let mut inner = Compiler::new(text, context, &[], 0)?;
            inner.purpose = self.purpose;
            inner.query(&parsed_query(text)?)
        });
        let compiled = compiled.map_err(|error| shifted(error, create.query_offset))?;
        let columns = self.columns_as(&create.columns, compiled.columns.unwrap_or_default())?;
        let parameters = new_parameters(Holder::Table, &create.parameters)?;
        let definition = TableDefinition { parameters, ..TableDefinition::of_columns(name, columns) };
        Ok((definition, compiled.run))
    }

    /// The columns of the table. The first ones have the given names.
    fn columns_as(&self, names: &[String], columns: Vec<ResultColumn>) -> Result<Vec<ColumnDefinition>> {
        if names.len() > columns.len() {
            let message = "too many column names were specified";
            return self.binder.fail(sqlstate::SYNTAX_ERROR, message, Place::Unknown);
        }
        let is_refused = |column: &ResultColumn| match column.sql_type {
            SqlType::System(system_type) if !system_type.is_stored() => Some(system_type.catalog_name()),
            _ => None,
        };
        if let Some(name) = columns.iter().find_map(is_refused) {
            return unsupported(Missing::ColumnTypes, &format!("columns of type {name} are"));
        }
        let defined = named_results(names, columns)?;
        if defined.is_empty() {
            return unsupported(Missing::TablesWithoutColumns, "tables without columns are");
        }
        Ok(defined)
    }
}

/// Columns like those of a query. The first ones have the given names.
pub(super) fn named_results(names: &[String], columns: Vec<ResultColumn>) -> Result<Vec<ColumnDefinition>> {
    let mut defined: Vec<ColumnDefinition> = Vec::with_capacity(columns.len());
    for (at, column) in columns.into_iter().enumerate() {
        let name = names.get(at).cloned().unwrap_or(column.name);
        if defined.iter().any(|known| known.name == name) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(Error::input(sqlstate::DUPLICATE_COLUMN, message));
        }
        defined.push(ColumnDefinition::new(name, column.sql_type));
    }
    Ok(defined)
}

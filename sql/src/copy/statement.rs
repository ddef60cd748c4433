//! COPY: the insert procedure of COPY FROM and the query of COPY TO.

use std::sync::Arc;

use hyades_engine::procedure::ir::Procedure;
use hyades_engine::storage::table::Table;
use hyades_types::access::Privileges;
use hyades_types::definition::{TriggerDefinition, TriggerEvent, TriggerTiming};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::{Missing, refused};
use hyades_types::value::SqlType;
use sqlparser::ast;

use super::copy_plan::{CopyInPlan, CopyOutPlan, CopyPlan, ForcedField};
use crate::bind::Place;
use crate::emit::changing_with::changes_rows;
use crate::emit::{CompiledQuery, Compiler, shifted};
use crate::statement::{
    CopyOptions, CopySource, CopyStatement, ForceQuote, QualifiedName, SqlPart, Statement, query,
};

impl Compiler<'_> {
    pub(crate) fn copy(&mut self, copy: &CopyStatement) -> Result<CopyPlan> {
        match &copy.source {
            CopySource::Table { name, columns } if copy.is_from => self.copy_in(copy, name, columns),
            CopySource::Table { name, columns } => {
                let table = self.named_table(name)?;
                // Below, the name stands at another place.
                self.binder.check_schemas()?;
                if table.definition().source().is_some() {
                    let word = table.definition().word();
                    let message = format!("cannot copy from {word} \"{}\"", name.name);
                    return Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, message)
                        .with_hint("Try the COPY (SELECT ...) TO variant."));
                }
                let numbers = self.copied_columns(&table, columns)?;
                let text = select_text(name, &table, &numbers);
                self.copy_out(&text, 0, &copy.options)
            }
            CopySource::Query(SqlPart { text, offset }) => self.copy_out(text, *offset, &copy.options),
        }
    }

    fn copied_columns(&self, table: &Arc<Table>, columns: &[(String, u32)]) -> Result<Vec<usize>> {
        let definition = table.definition();
        if columns.is_empty() {
            let is_given = |at: &usize| definition.columns[*at].generation.is_none();
            return Ok((0..definition.columns.len()).filter(is_given).collect());
        }
        let mut numbers = Vec::with_capacity(columns.len());
        for (name, _) in columns {
            let Some(at) = definition.column_index(name) else {
                let message =
                    format!("column \"{name}\" of relation \"{}\" does not exist", definition.name.name);
                return self.binder.fail(sqlstate::UNDEFINED_COLUMN, message, Place::Unknown);
            };
            if definition.columns[at].generation.is_some() {
                let message = format!("column \"{name}\" is a generated column");
                return Err(Error::input(sqlstate::INVALID_COLUMN_REFERENCE, message)
                    .with_detail("Generated columns cannot be used in COPY."));
            }
            if numbers.contains(&at) {
                let message = format!("column \"{name}\" specified more than once");
                return self.binder.fail(sqlstate::DUPLICATE_COLUMN, message, Place::Unknown);
            }
            numbers.push(at);
        }
        Ok(numbers)
    }

    fn copy_in(
        &mut self,
        copy: &CopyStatement,
        name: &QualifiedName,
        columns: &[(String, u32)],
    ) -> Result<CopyPlan> {
        let options = &copy.options;
        let table = self.named_table(name)?;
        if table.definition().view.is_some() {
            let message = format!("cannot copy to view \"{}\"", name.name);
            return Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, message)
                .with_hint("To enable copying to a view, provide an INSTEAD OF INSERT trigger."));
        }
        if table.definition().materialized.is_some() {
            let message = format!("cannot copy to materialized view \"{}\"", name.name);
            return Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, message));
        }
        let numbers = self.copied_columns(&table, columns)?;
        let definition = table.definition();
        let insert = self.insert_of_copy(&table, &numbers, copy.condition.as_ref())?;
        let (before, after) = self.triggers_of_copy(&table)?;
        let columns: Vec<(String, SqlType)> = numbers
            .iter()
            .map(|at| (definition.columns[*at].name.clone(), definition.columns[*at].sql_type))
            .collect();
        for (option, names) in
            [("FORCE_NOT_NULL", &options.force_not_null), ("FORCE_NULL", &options.force_null)]
        {
            let unread = names.iter().find(|name| !columns.iter().any(|(column, _)| column == *name));
            let Some(name) = unread else { continue };
            return Err(match definition.column_index(name) {
                Some(_) => {
                    let message = format!("{option} column \"{name}\" not referenced by COPY");
                    Error::input(sqlstate::INVALID_COLUMN_REFERENCE, message)
                }
                None => {
                    let table = &definition.name.name;
                    let message = format!("column \"{name}\" of relation \"{table}\" does not exist");
                    Error::input(sqlstate::UNDEFINED_COLUMN, message)
                }
            });
        }
        let forced = columns.iter().map(|(name, _)| ForcedField {
            to_null: options.force_null.contains(name),
            to_text: options.force_not_null.contains(name),
        });
        let forced = forced.collect();
        let options = options.clone();
        Ok(CopyPlan::In(Arc::new(CopyInPlan { table, columns, options, forced, insert, before, after })))
    }

    /// The procedures that run the triggers for the statement.
    fn triggers_of_copy(&self, table: &Arc<Table>) -> Result<AroundCopy> {
        let definition = table.definition();
        let is_of_rows = |trigger: &&TriggerDefinition| {
            trigger.events.contains(&TriggerEvent::Insert) && trigger.has_transition_tables()
        };
        if let Some(trigger) = definition.triggers.iter().find(is_of_rows) {
            let what = format!(
                "COPY into table \"{}\" with trigger \"{}\", which has transition tables, is",
                definition.name.name, trigger.name
            );
            return Err(refused(Missing::TransitionsInCopy, &what));
        }
        let compiled = |timing| {
            let mut inner = Compiler::new(self.binder.sql, self.binder.context, &[], 0)?;
            inner.statement_triggers(table, (timing, TriggerEvent::Insert))
        };
        Ok((compiled(TriggerTiming::Before)?, compiled(TriggerTiming::After)?))
    }

    fn insert_of_copy(
        &mut self,
        table: &Arc<Table>,
        columns: &[usize],
        condition: Option<&SqlPart>,
    ) -> Result<Arc<Procedure>> {
        let (text, offset) =
            condition.map_or((self.binder.sql, 0), |condition| (&condition.text, condition.offset));
        let compile = || {
            let mut inner = Compiler::new(text, self.binder.context, &[], 0)?;
            let condition = condition.map(|_| query::parse_expression(text)).transpose()?;
            inner.binder.need_on_table(table, Privileges::INSERT);
            inner.insert_procedure(table, columns, condition.as_ref())
        };
        compile().map_err(|error| shifted(error, offset))
    }

    fn copy_out(&mut self, text: &str, offset: u32, options: &CopyOptions) -> Result<CopyPlan> {
        let mut inner = Compiler::new(text, self.binder.context, &[], 0)?;
        let (compiled, is_read_only) = inner.copied_query(text).map_err(|error| shifted(error, offset))?;
        let Some(columns) = compiled.columns else {
            return self.binder.fail(
                sqlstate::FEATURE_NOT_SUPPORTED,
                "COPY query must have a RETURNING clause",
                Place::Unknown,
            );
        };
        let columns: Vec<(String, SqlType)> =
            columns.into_iter().map(|column| (column.name, column.sql_type)).collect();
        let force_quote = columns
            .iter()
            .map(|(name, _)| match &options.force_quote {
                ForceQuote::None => false,
                ForceQuote::All => true,
                ForceQuote::Columns(names) => names.contains(name),
            })
            .collect();
        let (run, options) = (compiled.run, options.clone());
        let copy = CopyOutPlan { run, columns, options, force_quote };
        Ok(CopyPlan::Out(Box::new(copy), is_read_only))
    }

    /// The query, and whether it leaves the database unchanged.
    fn copied_query(&mut self, text: &str) -> Result<(CompiledQuery, bool)> {
        let Statement::Query(statement) = query::parse(text)? else {
            return self.binder.lacks(Missing::OtherForms, "COPY of this statement is");
        };
        match statement.as_ref() {
            ast::Statement::Query(query) => Ok((self.query(query)?, !changes_rows(query))),
            ast::Statement::Insert(insert) => Ok((self.insert(insert)?, false)),
            ast::Statement::Update(update) => Ok((self.update(update)?, false)),
            ast::Statement::Delete(delete) => Ok((self.delete(delete)?, false)),
            _ => self.binder.lacks(Missing::OtherForms, "COPY of this statement is"),
        }
    }
}

/// The triggers before and after the statement.
type AroundCopy = (Option<Arc<Procedure>>, Option<Arc<Procedure>>);

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// COPY t (a, b) TO is COPY (SELECT a, b FROM t) TO.
fn select_text(name: &QualifiedName, table: &Arc<Table>, numbers: &[usize]) -> String {
    let definition = table.definition();
    let columns: Vec<String> = numbers.iter().map(|at| quoted(&definition.columns[*at].name)).collect();
    let schema = name.schema.as_deref().map_or_else(String::new, |schema| format!("{}.", quoted(schema)));
    format!("select {} from {schema}{}", columns.join(", "), quoted(&name.name))
}

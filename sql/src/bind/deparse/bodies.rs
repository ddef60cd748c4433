//! Printing of statements in the body of a routine, and of the parameters that they name.
//!
//! Reference: get_parameter, get_insert_query_def and print_function_sqlbody of PostgreSQL's ruleutils.c.

use hyades_engine::procedure::ir::Register;
use hyades_types::definition::ColumnDefinition;
use hyades_types::error::{Result, sqlstate};
use hyades_types::refusal::Missing;
use sqlparser::ast::{self, Query, SetExpr, TableObject};

use super::super::select::clause_around;
use super::super::visible_variables::{Found, Variable};
use super::super::{Binder, Place};
use super::expressions::Shown;
use super::{Deparser, Level, STEP, Uses, quoted};
use crate::bind::scope::Scope;
use crate::statement::element_target;
use crate::statement::kept_names::full_name;
use crate::statement::names::fold;

/// How far statements between BEGIN ATOMIC and END are indented.
const IN_ATOMIC: i32 = 1;

impl Binder<'_> {
    /// A query in a body. `is_return`: with RETURN in the place of SELECT. Outside of BEGIN ATOMIC it is
    /// printed on one line.
    pub(crate) fn shown_body_query(
        &mut self,
        query: &Query,
        is_return: bool,
        is_in_atomic: bool,
    ) -> Result<(String, Uses)> {
        let mut deparser = Deparser::new(self, false, true);
        (deparser.is_on_one_line, deparser.is_return) = (!is_in_atomic, is_return);
        let text = deparser.query(query, if is_in_atomic { IN_ATOMIC } else { 0 }, false)?;
        Ok((text, deparser.uses))
    }

    /// An INSERT in a body.
    pub(crate) fn shown_body_insert(&mut self, insert: &ast::Insert) -> Result<(String, Uses)> {
        let mut deparser = Deparser::new(self, false, true);
        deparser.indent = IN_ATOMIC;
        let text = deparser.insert(insert)?;
        Ok((text, deparser.uses))
    }
}

impl Deparser<'_, '_> {
    /// A parameter of the routine whose body is printed.
    pub(super) fn parameter(&self, names: &[String]) -> Option<Shown> {
        match self.binder.names.as_ref()?.find(names)? {
            Found::Scalar(scalar) => self.parameter_in(scalar.register),
            _ => None,
        }
    }

    /// `$1` and the like.
    pub(super) fn numbered_parameter(&self, name: &str) -> Option<Shown> {
        let number: usize = name.strip_prefix('$')?.parse().ok()?;
        let (register, _) = self.binder.names.as_ref()?.parameters.get(number.checked_sub(1)?)?;
        self.parameter_in(*register)
    }

    fn parameter_in(&self, register: Register) -> Option<Shown> {
        let names = self.binder.names.as_ref()?;
        let scope = names.scopes.last()?;
        let is_it =
            |own: &&(String, Variable)| matches!(&own.1, Variable::Scalar(one) if one.register == register);
        let text = match scope.variables.iter().find(is_it) {
            // The name of the routine is left out where no relation can have the same column.
            Some((name, _)) if self.levels.iter().all(|level| level.names.is_empty()) => quoted(name),
            Some((name, _)) => format!("{}.{}", quoted(scope.label.as_deref()?), quoted(name)),
            None => format!("${}", names.parameters.iter().position(|(own, _)| *own == register)? + 1),
        };
        Some(Shown { is_word: true, ..Shown::simple(text) })
    }

    fn insert(&mut self, insert: &ast::Insert) -> Result<String> {
        let is_plain = insert.on.is_none()
            && insert.returning.is_none()
            && insert.table_alias.is_none()
            && !insert.overwrite;
        let (TableObject::TableName(name), Some(source), true) = (&insert.table, &insert.source, is_plain)
        else {
            return self.binder.lacks(Missing::StandardBodies, "this form of INSERT in such a body is");
        };
        let table = self.binder.table(name)?;
        let definition = table.definition();
        self.uses.tables.insert(table.id());
        let visible = definition.visible_columns();
        let mut columns: Vec<&ColumnDefinition> = Vec::new();
        for written in &insert.columns {
            let own = element_target::column(written).map(fold).unwrap_or_default();
            let Some(at) = visible.iter().position(|column| column.name == own) else {
                let relation = &definition.name.name;
                let message = format!("column \"{own}\" of relation \"{relation}\" does not exist");
                return self.binder.fail(sqlstate::UNDEFINED_COLUMN, message, Place::of(written));
            };
            columns.push(&visible[at]);
        }
        if columns.is_empty() {
            columns.extend(visible);
        }
        for (at, column) in (0u16..).zip(visible) {
            if columns.iter().any(|own| own.name == column.name) {
                self.uses.columns.insert((table.id(), at));
            }
        }
        let names = vec![definition.name.name.clone()];
        self.levels.push(Level { scope: Scope::default(), names, items: Vec::new() });
        self.indent += STEP;
        let (width, source) = self.inserted(source, &columns)?;
        self.levels.pop();
        let shown: Vec<String> = columns[..width].iter().map(|column| quoted(&column.name)).collect();
        let name = full_name(&definition.name);
        // VALUES with one row begins a line.
        let blank = if source.starts_with('\n') { "" } else { " " };
        Ok(format!(" INSERT INTO {name} ({}){blank}{source}", shown.join(", ")))
    }

    /// The rows of an INSERT, and how many columns they have.
    fn inserted(&mut self, source: &Query, columns: &[&ColumnDefinition]) -> Result<(usize, String)> {
        let SetExpr::Values(values) = source.body.as_ref() else {
            let width = self.binder.columns_of_body(&source.body)?.len().min(columns.len());
            return Ok((width, self.nested(source, false, false)?));
        };
        if clause_around(source).is_some() {
            return self.binder.lacks(Missing::StandardBodies, "this form of VALUES in such a body is");
        }
        let mut width = 0;
        let is_one = values.rows.len() == 1;
        let mut rows = Vec::with_capacity(values.rows.len());
        for row in &values.rows {
            width = row.content.len().min(columns.len());
            let items = row.content.iter().zip(columns);
            let items = items.map(|(item, column)| {
                Ok(self.expression_as_written(item, column.sql_type.without_modifier())?.text)
            });
            rows.push(format!(
                "({})",
                items.collect::<Result<Vec<String>>>()?.join(if is_one { ", " } else { "," })
            ));
        }
        let mut text = String::new();
        if is_one {
            self.clause(&mut text, "VALUES ", 2);
        } else {
            text.push_str("VALUES ");
        }
        text.push_str(&rows.join(", "));
        Ok((width, text))
    }
}

//! Renames an enum type or one of its labels in stored texts.
//!
//! A condition is stored as it was written and as it is shown. The shown form has every literal with its
//! type, so that a label can be told from a text that reads the same. If the written form leaves the type
//! out, the shown form replaces it.

use hyades_types::definition::{
    Generation, Indexed, RoutineDefinition, TableDefinition, TableName, ViewDefinition,
};
use hyades_types::enumeration::EnumType;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::value::SqlType;

use crate::bind::deparse::expressions::quoted_literal;
use crate::compile::index_expressions::only_where;
use crate::statement::kept_names::{Retyping, retyped_expression, retyped_query};
use crate::statement::names::quoted;

/// Recomputes the expressions of index columns from the indexes' conditions and keys.
fn compute_anew(definition: &mut TableDefinition) {
    for index in definition.indexes.clone() {
        for key in definition.computed_for(&index) {
            let names: Vec<String> =
                definition.visible_columns().iter().map(|column| quoted(&column.name)).collect();
            let Some(generation) = &mut definition.columns[usize::from(key)].generation else { continue };
            let value = match &generation.indexed {
                Some(Indexed::Column(column)) => names[usize::from(*column)].clone(),
                Some(Indexed::Expression(expression)) => expression.clone(),
                None => continue,
            };
            generation.expression = match &index.predicate {
                Some(predicate) => only_where(predicate, &value),
                None => value,
            };
        }
    }
}

/// A change of names.
pub(super) struct Respelling<'a> {
    pub(super) from: &'a TableName,
    pub(super) to: &'a TableName,
    /// The old and the new label.
    pub(super) label: Option<(&'a str, &'a str)>,
    /// The type after the change.
    pub(super) enum_type: EnumType,
}

impl Respelling<'_> {
    fn retyping(&self) -> Retyping<'_> {
        Retyping { from: self.from, to: self.to, label: self.label }
    }

    /// Renames in the texts of a table or view. Returns whether anything has changed.
    pub(super) fn table(&self, definition: &mut TableDefinition) -> Result<bool> {
        if let Some(view) = definition.view.as_deref_mut() {
            return self.view(view);
        }
        let mut is_changed = false;
        for column in &mut definition.columns {
            if let Some(default) = &mut column.default {
                is_changed |= self.default(default, column.sql_type)?;
            }
            match &mut column.generation {
                Some(Generation { indexed: Some(Indexed::Expression(expression)), shown, .. }) => {
                    is_changed |= self.pair(expression, shown)?;
                }
                Some(Generation { indexed: None, expression, shown, .. }) => {
                    is_changed |= self.pair(expression, shown)?;
                }
                _ => {}
            }
        }
        for check in &mut definition.checks {
            is_changed |= self.pair(&mut check.expression, &mut check.shown)?;
        }
        for predicate in definition.indexes.iter_mut().filter_map(|index| index.predicate.as_mut()) {
            is_changed |= self.pair(&mut predicate.expression, &mut predicate.shown)?;
        }
        if is_changed {
            compute_anew(definition);
        }
        Ok(is_changed)
    }

    /// Renames in the defaults of a routine's parameters. Returns whether anything has changed.
    pub(super) fn routine(&self, definition: &mut RoutineDefinition) -> Result<bool> {
        let mut is_changed = false;
        for parameter in &mut definition.parameters {
            if let Some(default) = &mut parameter.default {
                is_changed |= self.default(default, parameter.sql_type)?;
            }
        }
        Ok(is_changed)
    }

    fn view(&self, view: &mut ViewDefinition) -> Result<bool> {
        if !view.query.contains(&self.from.name) {
            return Ok(false);
        }
        let query = retyped_query(&view.query, &self.retyping())?;
        let pretty = retyped_query(&view.pretty, &self.retyping())?;
        let is_changed = query.is_some() || pretty.is_some();
        view.query = query.unwrap_or_else(|| std::mem::take(&mut view.query));
        view.pretty = pretty.unwrap_or_else(|| std::mem::take(&mut view.pretty));
        self.refuse_left(&view.query)?;
        Ok(is_changed)
    }

    /// A default that is only a label has no type in its text.
    fn default(&self, default: &mut String, sql_type: SqlType) -> Result<bool> {
        if let Some((from, to)) = self.label
            && *default == quoted_literal(from)
        {
            if sql_type != SqlType::Enum(self.enum_type) {
                return Ok(false);
            }
            *default = quoted_literal(to);
            return Ok(true);
        }
        let Some(other) = retyped_expression(default, &self.retyping())? else { return Ok(false) };
        *default = other;
        Ok(true)
    }

    fn pair(&self, expression: &mut String, shown: &mut String) -> Result<bool> {
        let new_shown = retyped_expression(shown, &self.retyping())?;
        let new = retyped_expression(expression, &self.retyping())?;
        if new.is_none() && new_shown.is_none() {
            return Ok(false);
        }
        *shown = new_shown.unwrap_or_else(|| std::mem::take(shown));
        *expression = new.unwrap_or_else(|| std::mem::take(expression));
        self.refuse_left(shown)?;
        if self.is_left(expression) {
            expression.clone_from(shown);
        }
        Ok(true)
    }

    /// Whether a text contains the label as a literal without a type.
    fn is_left(&self, text: &str) -> bool {
        let Some((from, _)) = self.label else { return false };
        let literal = quoted_literal(from);
        text.match_indices(&literal).any(|(at, _)| !text[at + literal.len()..].starts_with("::"))
    }

    fn refuse_left(&self, text: &str) -> Result<()> {
        if !self.is_left(text) {
            return Ok(());
        }
        let (from, _) = self.label.unwrap_or_default();
        let message = format!(
            "ALTER TYPE ... RENAME VALUE is not supported yet where a definition says '{from}' and not of which type"
        );
        Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message)
            .with_hint("Drop the constraint, index or view first, and make it again afterwards."))
    }
}

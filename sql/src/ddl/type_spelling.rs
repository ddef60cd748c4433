//! Renames a type, or a label of an enum, in stored texts.
//!
//! A label is a literal that gets the type when its expression is bound: the text alone does not tell it from
//! another text that reads the same. The queries of views have every literal with its type.

use std::sync::Arc;

use hyades_engine::storage::table::Table;
use hyades_types::definition::{
    Generation, Indexed, RoutineDefinition, TableDefinition, TableName, ViewDefinition,
};
use hyades_types::enumeration::EnumType;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::value::SqlType;

use super::index_expressions::only_where;
use crate::statement::kept_names::{
    Retyping, quoted_literal, relabelled_array, retyped_expression, retyped_query, with_literals,
};
use crate::statement::names::quoted;
use crate::statement::query::parse_expression;
use crate::viewpoint::Viewpoint;

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
pub(crate) struct Respelling<'a> {
    /// Before the change.
    pub(super) session: &'a Viewpoint,
    pub(super) from: &'a TableName,
    pub(super) to: &'a TableName,
    pub(super) label: Option<Relabelling<'a>>,
}

/// The new name of a label.
#[derive(Clone, Copy)]
pub(super) struct Relabelling<'a> {
    /// The type before the change.
    pub(super) enum_type: EnumType,
    pub(super) from: &'a str,
    pub(super) to: &'a str,
}

impl Respelling<'_> {
    fn retyping(&self) -> Retyping<'_> {
        Retyping { from: self.from, to: self.to, label: self.label.map(|label| (label.from, label.to)) }
    }

    /// Renames in the texts of a table or view. `definition` is that of the table with the changed type.
    /// Returns whether anything has changed.
    pub(super) fn table(&self, table: &Arc<Table>, definition: &mut TableDefinition) -> Result<bool> {
        if let Some(view) = definition.view.as_deref_mut() {
            return self.view(view);
        }
        let mut is_changed = false;
        let over = Some(table);
        for column in &mut definition.columns {
            if let Some(default) = &mut column.default {
                is_changed |= self.text(default, None, column.sql_type)?;
            }
            match &mut column.generation {
                Some(Generation { indexed: Some(Indexed::Expression(expression)), shown, .. })
                | Some(Generation { indexed: None, expression, shown, .. }) => {
                    is_changed |= self.text(expression, over, column.sql_type)?;
                    is_changed |= self.text(shown, over, column.sql_type)?;
                }
                _ => {}
            }
        }
        let predicates = definition.indexes.iter_mut().filter_map(|index| index.predicate.as_mut());
        let conditions = predicates
            .map(|predicate| (&mut predicate.expression, &mut predicate.shown))
            .chain(definition.checks.iter_mut().map(|check| (&mut check.expression, &mut check.shown)));
        for (expression, shown) in conditions {
            is_changed |= self.text(expression, over, SqlType::Boolean)?;
            is_changed |= self.text(shown, over, SqlType::Boolean)?;
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
                is_changed |= self.text(default, None, parameter.sql_type)?;
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

    /// Renames in an expression that is used as a value of this type. With a table, it may use its columns.
    pub(super) fn text(&self, text: &mut String, table: Option<&Arc<Table>>, to: SqlType) -> Result<bool> {
        let other = match self.label {
            Some(label) => self.relabelled(text, table, to, label)?,
            None => retyped_expression(text, &self.retyping())?,
        };
        let is_changed = other.is_some();
        *text = other.unwrap_or_else(|| std::mem::take(text));
        Ok(is_changed)
    }

    fn relabelled(
        &self,
        text: &str,
        table: Option<&Arc<Table>>,
        to: SqlType,
        Relabelling { enum_type, from, to: new }: Relabelling<'_>,
    ) -> Result<Option<String>> {
        let is_plain = !from.contains(['\'', '"', '\\']);
        if is_plain && !text.contains(from) {
            return Ok(None);
        }
        let parsed = parse_expression(text)?;
        let meanings = self.session.meanings(&parsed, table, to.with_enum_type(enum_type))?;
        with_literals(text, &parsed, &mut |at, label| {
            let exchanged = |sql_type: SqlType| match sql_type.element() {
                Some(element) if element.sql_type() == SqlType::Enum(enum_type) => {
                    relabelled_array(label, from, new)
                }
                None if sql_type == SqlType::Enum(enum_type) && label == from => Some(new.to_owned()),
                _ => None,
            };
            let mut found = meanings.types_at(at).map(exchanged);
            let Some(first) = found.next() else { return Ok(None) };
            match found.all(|other| other == first) {
                true => Ok(first),
                false => Err(refused(from)),
            }
        })
    }

    /// Whether a text contains the label as a literal without a type.
    fn is_left(&self, text: &str) -> bool {
        let Some(label) = self.label else { return false };
        let literal = quoted_literal(label.from);
        text.match_indices(&literal).any(|(at, _)| !text[at + literal.len()..].starts_with("::"))
    }

    fn refuse_left(&self, text: &str) -> Result<()> {
        if !self.is_left(text) {
            return Ok(());
        }
        Err(refused(self.label.map_or("", |label| label.from)))
    }
}

fn refused(label: &str) -> Error {
    let message = format!(
        "ALTER TYPE ... RENAME VALUE is not supported yet where a definition says '{label}' and not of which type"
    );
    Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message)
        .with_hint("Drop the constraint, index or view first, and make it again afterwards.")
}

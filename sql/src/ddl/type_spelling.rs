//! Renames a type, or a label of an enum, in stored texts.
//!
//! A label is a literal that gets the type when its expression is bound: the text alone does not tell it from
//! another text that reads the same. The queries of views have every literal with its type.

use std::sync::Arc;

use hyades_engine::storage::table::Table;
use hyades_types::definition::{RoutineDefinition, TableDefinition, TableName, ViewDefinition};
use hyades_types::enumeration::EnumType;
use hyades_types::error::{Error, Result};
use hyades_types::refusal::{Missing, refusal};
use hyades_types::value::SqlType;

use super::stored_texts::{Reads, rewrite};
use crate::statement::kept_names::{
    Retyping, quoted_literal, relabelled_array, retyped_expression, retyped_query, with_literals,
};
use crate::statement::query::parse_expression;
use crate::viewpoint::Viewpoint;

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
        let in_query = match definition.source_mut() {
            Some(view) => self.view(view)?,
            None => false,
        };
        Ok(rewrite(table, definition, |text, reads, to| self.text(text, reads, to))? | in_query)
    }

    /// Renames in the defaults of a routine's parameters. Returns whether anything has changed.
    pub(super) fn routine(&self, definition: &mut RoutineDefinition) -> Result<bool> {
        let mut is_changed = false;
        for parameter in &mut definition.parameters {
            if let Some(default) = &mut parameter.default {
                is_changed |= self.text(default, Reads::Nothing, parameter.sql_type)?;
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

    /// Renames in an expression that is used as a value of this type.
    pub(super) fn text(&self, text: &mut String, reads: Reads<'_>, to: SqlType) -> Result<bool> {
        let other = match self.label {
            Some(label) => self.relabelled(text, reads, to, label)?,
            None => retyped_expression(text, &self.retyping())?,
        };
        let is_changed = other.is_some();
        *text = other.unwrap_or_else(|| std::mem::take(text));
        Ok(is_changed)
    }

    fn relabelled(
        &self,
        text: &str,
        reads: Reads<'_>,
        to: SqlType,
        Relabelling { enum_type, from, to: new }: Relabelling<'_>,
    ) -> Result<Option<String>> {
        let is_plain = !from.contains(['\'', '"', '\\']);
        if is_plain && !text.contains(from) {
            return Ok(None);
        }
        let parsed = parse_expression(text)?;
        let meanings = self.session.meanings(&parsed, reads, to.with_type(SqlType::Enum(enum_type)))?;
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
    refusal(Missing::Dependents, message)
}

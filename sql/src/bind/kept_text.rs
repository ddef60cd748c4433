//! Expressions in the form in which the catalog keeps them: their text, with what it leaves open.
//!
//! What calls and literals mean is noted while the expression is bound ([`Meanings`]). The names of types and
//! relations are looked up again in the finished text.

use hyades_engine::procedure::ir::Expr;
use hyades_types::definition::TableName;
use hyades_types::error::Result;
use hyades_types::value::SqlType;
use sqlparser::ast;

use super::coerce::Context;
use super::meanings::Meanings;
use super::types::{self, Named, NamedTypes, written_type};
use super::{Binder, Place};
use crate::statement::kept_names::{NameOf, full_name, respelled_expression};

impl Binder<'_> {
    /// Binds something, and returns also what its parts meant.
    pub(crate) fn noting<T>(&mut self, bind: impl FnOnce(&mut Self) -> T) -> (T, Meanings) {
        let around = self.meanings.replace(Meanings::default());
        let bound = bind(self);
        let meanings = std::mem::replace(&mut self.meanings, around).unwrap_or_default();
        (bound, meanings.sorted())
    }

    /// Binds another text, whose places are not those of the expression that is being noted.
    pub(super) fn without_noting<T>(&mut self, bind: impl FnOnce(&mut Self) -> T) -> T {
        let around = self.meanings.take();
        let bound = bind(self);
        self.meanings = around;
        bound
    }

    pub(super) fn note_routine(&mut self, place: Place, name: &TableName) {
        if let (Some(meanings), Place::At(at)) = (&mut self.meanings, place) {
            meanings.note_routine(at, name);
        }
    }

    pub(super) fn note_literal(&mut self, place: Place, to: SqlType) {
        if let (Some(meanings), Place::At(at)) = (&mut self.meanings, place) {
            meanings.note_literal(at, to);
        }
    }

    /// The text of an expression as it is kept: with the schemas of everything that it names, so that it
    /// means the same for every user.
    pub(crate) fn kept(&self, expr: &ast::Expr, meanings: &Meanings) -> String {
        self.kept_text(&meanings.fixed(expr, self.reading()).to_string())
    }

    /// The same for the default of a parameter, which is kept as it was written if that is possible.
    pub(crate) fn kept_default(&self, text: &str, parsed: &ast::Expr, meanings: &Meanings) -> String {
        let fixed = meanings.fixed(parsed, self.reading());
        if fixed == *parsed { self.kept_text(text) } else { self.kept_text(&fixed.to_string()) }
    }

    /// A default as a value of this type, if it can be one, and the name of its own type.
    pub(crate) fn default_value(
        &mut self,
        expr: &ast::Expr,
        to: SqlType,
    ) -> Result<(Option<Expr>, &'static str)> {
        let bound = self.expression(expr)?;
        let from = bound.type_name();
        if to.is_polymorphic() {
            return Ok((Some(bound.expr), from));
        }
        Ok((self.try_coerce(bound, to, Context::Assignment)?, from))
    }

    /// The text of an expression as it is kept: the types and relations that it was bound to are qualified
    /// with their schemas. Those of routines are in it already (`meanings`).
    pub(crate) fn kept_text(&self, text: &str) -> String {
        let respell = |of: NameOf, schema: Option<&str>, name: &str| match (of, schema) {
            (NameOf::Type, schema) => {
                let placed = schema.map(|schema| (schema, Place::Unknown));
                match types::of_name(placed, name, self)? {
                    Named::Type(meant) if let Some(own) = meant.extension_type() => {
                        let stored = self.named_type(placed, own.name())?;
                        let brackets = if matches!(meant, SqlType::Array(_)) { "[]" } else { "" };
                        Some(format!("{}{brackets}", full_name(&stored.name())))
                    }
                    Named::Type(meant) => meant.has_definition().then(|| written_type(meant).into_owned()),
                    Named::Domain(stored) => Some(full_name(&stored.name())),
                }
            }
            (NameOf::Routine, _) => None,
            (NameOf::Relation, schema) => {
                let full = self.meant(schema, name, Place::Unknown);
                let tables = self.context.tables;
                let is_there = tables.sequence(&full).is_some() || tables.table(&full).is_some();
                is_there.then(|| full_name(&full))
            }
        };
        respelled_expression(text, &respell).ok().flatten().unwrap_or_else(|| text.to_owned())
    }
}

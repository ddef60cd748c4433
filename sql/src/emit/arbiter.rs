//! Which unique index ON CONFLICT refers to.
//!
//! ON CONFLICT names a constraint, or describes the index: columns and expressions in any order, and a
//! condition from which that of the index must follow. An index on all rows serves every condition, so it
//! takes precedence over those on some rows.
//!
//! Reference: infer_arbiter_indexes of PostgreSQL's plancat.c.

use std::sync::Arc;

use hyades_engine::procedure::ir::{Arbiter, Expr, RowSlot};
use hyades_engine::storage::table::Table;
use hyades_types::definition::{IndexDefinition, TableDefinition};
use hyades_types::error::{Error, Result, sqlstate};
use sqlparser::ast::{self, ConflictTarget};

use super::Compiler;
use crate::bind::Place;
use crate::bind::aggregation::AggregateMode;
use crate::expr::{self, Computed};
use crate::plan::implication::is_implied;
use crate::statement::conflict_syntax;
use crate::statement::names::fold;
use crate::statement::query::{parse_expression, words_position};

impl Compiler<'_> {
    /// The keys that ON CONFLICT refers to.
    pub(super) fn arbiter(
        &mut self,
        on: &ast::OnConflict,
        (table, row): (&Arc<Table>, RowSlot),
    ) -> Result<Arbiter> {
        let definition = table.definition();
        match &on.conflict_target {
            None => Ok(Arbiter::Any),
            Some(ConflictTarget::Columns(idents)) => {
                let columns = self.named_key(idents, &definition)?;
                let later = definition.deferrable_key_on(&columns);
                let key = later.map(Some).or_else(|| definition.key_on(&columns).map(|(index, _)| index));
                key.map(Arbiter::Index).ok_or_else(|| self.no_arbiter(on))
            }
            Some(ConflictTarget::OnConstraint(name)) => match conflict_syntax::unpack(name) {
                Some(written) => self.inferred(written, table, row)?.ok_or_else(|| self.no_arbiter(on)),
                None => named_constraint(name, &definition),
            },
        }
    }

    /// The numbers of these columns, each once.
    fn named_key(&self, idents: &[ast::Ident], definition: &TableDefinition) -> Result<Vec<u16>> {
        let mut columns: Vec<u16> = Vec::new();
        for ident in idents {
            let name = fold(ident);
            let at = definition.column_index(&name).and_then(|at| u16::try_from(at).ok());
            let Some(at) = at else {
                let place = Place::at(ident.span.start);
                let message = format!("column \"{name}\" does not exist");
                return self.binder.fail(sqlstate::UNDEFINED_COLUMN, message, place);
            };
            columns.push(at);
        }
        columns.sort_unstable();
        columns.dedup();
        Ok(columns)
    }

    /// The index on these keys and at most on the rows of the condition, both of which name the target by its
    /// alias.
    fn inferred(
        &mut self,
        (keys, predicate): (&str, &str),
        table: &Arc<Table>,
        row: RowSlot,
    ) -> Result<Option<Arbiter>> {
        let written = match parse_expression(keys)? {
            ast::Expr::Tuple(keys) => keys,
            ast::Expr::Nested(key) => vec![*key],
            key => vec![key],
        };
        let mode = self.binder.aggregate_mode;
        self.binder.aggregate_mode = AggregateMode::Forbidden("in index expressions");
        let mut keys = Vec::new();
        for key in &written {
            self.binder.refuse_queries(key, "index expression")?;
            keys.push(self.binder.index_key(key)?);
        }
        let mut conditions = Vec::new();
        if !predicate.is_empty() {
            let predicate = &parse_expression(predicate)?;
            self.binder.refuse_queries(predicate, "index predicate")?;
            self.binder.aggregate_mode = AggregateMode::Forbidden("in index predicates");
            expr::conjuncts(self.binder.condition_of(predicate, "WHERE")?, &mut conditions);
        }
        self.binder.aggregate_mode = mode;
        let computed = self.binder.computed_for_indexes(table, row)?;
        let definition = table.definition();
        if let Some(key) = &definition.primary_key
            && are_same(&keys, &values_of(key.columns.iter().copied(), row, &computed))
        {
            return Ok(Some(Arbiter::Index(None)));
        }
        let is_on_keys = |index: &IndexDefinition| {
            index.is_unique && are_same(&keys, &values_of(index.key_columns(), row, &computed))
        };
        let serves = |index: &IndexDefinition| {
            let wanted = computed.iter().find(|own| index.has_column(own.column));
            wanted.is_none_or(|own| own.conditions.iter().all(|wanted| is_implied(wanted, &conditions)))
        };
        let fitting =
            (0u16..).zip(&definition.indexes).filter(|(_, index)| is_on_keys(index) && serves(index));
        let best = fitting.min_by_key(|(_, index)| index.predicate.is_some());
        Ok(best.map(|(number, _)| Arbiter::Index(Some(number))))
    }

    /// ON CONFLICT names no constraint.
    pub(super) fn no_arbiter(&self, on: &ast::OnConflict) -> Error {
        if on.conflict_target.is_some() {
            return Error::input(
                sqlstate::INVALID_COLUMN_REFERENCE,
                "there is no unique or exclusion constraint matching the ON CONFLICT specification",
            );
        }
        let error = Error::input(
            sqlstate::SYNTAX_ERROR,
            "ON CONFLICT DO UPDATE requires inference specification or constraint name",
        )
        .with_hint("For example, ON CONFLICT (column_name).");
        match words_position(self.binder.sql, &["on", "conflict"], 0) {
            Some(position) => error.with_position(position),
            None => error,
        }
    }
}

/// The index of a constraint.
fn named_constraint(name: &ast::ObjectName, definition: &TableDefinition) -> Result<Arbiter> {
    let name = name.0.last().and_then(|part| part.as_ident()).map(fold).unwrap_or_default();
    if definition.primary_key.as_ref().is_some_and(|key| key.name == name) {
        return Ok(Arbiter::Index(None));
    }
    let mut indexes = (0u16..).zip(&definition.indexes);
    let index = indexes.find(|(_, index)| index.is_constraint && index.name == name);
    index.map(|(index, _)| Arbiter::Index(Some(index))).ok_or_else(|| {
        if definition.foreign_key(&name).is_some() || definition.check(&name).is_some() {
            let message = "constraint in ON CONFLICT clause has no associated index";
            return Error::input(sqlstate::WRONG_OBJECT_TYPE, message);
        }
        let table = &definition.name.name;
        let message = format!("constraint \"{name}\" for table \"{table}\" does not exist");
        Error::input(sqlstate::UNDEFINED_OBJECT, message)
    })
}

/// The values that an index is on: a computed column is replaced by its expression.
fn values_of(columns: impl Iterator<Item = u16>, row: RowSlot, computed: &[Computed]) -> Vec<Expr> {
    let value = |column: u16| {
        let own = computed.iter().find(|own| own.column == column);
        own.map_or(Expr::Column { row, column }, |own| own.value.clone())
    };
    columns.map(value).collect()
}

/// Whether each list contains the other.
fn are_same(left: &[Expr], right: &[Expr]) -> bool {
    left.iter().all(|value| right.contains(value)) && right.iter().all(|value| left.contains(value))
}

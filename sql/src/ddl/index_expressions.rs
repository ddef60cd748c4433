//! Indexes on something computed from rows: their expressions and conditions, and CREATE INDEX on them, where
//! the columns are added first, then their values, then the index.

use std::sync::Arc;

use hyades_engine::storage::stored_routine::Routine;
use hyades_engine::storage::table::Table;
use hyades_types::definition::{
    CatalogChange, ColumnDefinition, ColumnSource, DeclaredVolatility, Generation, IndexPredicate, Indexed,
    TableDefinition,
};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::{Missing, refused};
use hyades_types::value::SqlType;
use sqlparser::ast;

use super::alteration_steps::{AlterStep, Alteration};
use super::column_changes::{rewritten, unchanged};
use super::filling::Filling;
use super::index_changes::named_column;
use super::renames::with_renamed_column;
use super::stored_texts::only_where;
use super::wanted::{WantedIndex, WantedIndexed};
use crate::bind::Binder;
use crate::bind::aggregation::AggregateMode;
use crate::bind::row_expression::{columns_of, is_immutable, row_type, unqualified};
use crate::statement::names::quoted;
use crate::viewpoint::Viewpoint;

/// A value that an index may compute from a row.
pub(crate) struct IndexedValue {
    pub(crate) sql_type: SqlType,
    pub(crate) expression: String,
    pub(crate) shown: String,
    pub(crate) pretty: String,
    pub(crate) columns: Vec<u16>,
}

impl IndexedValue {
    /// A column itself.
    pub(crate) fn of_column(name: &str, number: u16, sql_type: SqlType) -> IndexedValue {
        let (expression, shown, pretty) = (quoted(name), quoted(name), quoted(name));
        IndexedValue { sql_type, expression, shown, pretty, columns: vec![number] }
    }
}

impl Binder<'_> {
    /// An expression for an index to be created.
    pub(crate) fn indexed_value(&mut self, table: &Arc<Table>, written: &ast::Expr) -> Result<IndexedValue> {
        self.refuse_queries(written, "index expression")?;
        let row = self.new_row()?;
        let before = self.called.len();
        let (bound, meanings) = self.noting(|binder| {
            binder.over_row(table, row, |binder| {
                binder.aggregate_mode = AggregateMode::Forbidden("in index expressions");
                let bound = binder.expression(written)?;
                let sql_type = bound.known_type().unwrap_or(SqlType::Text);
                Ok((binder.coerce(bound, sql_type)?, sql_type))
            })
        });
        let (value, sql_type) = bound?;
        if !is_immutable(&value, &table.definition(), row) || self.called.len() > before {
            return Err(self.not_immutable("index expression"));
        }
        let [shown, pretty] = self.kept_expression(table, row, written)?;
        Ok(IndexedValue {
            sql_type,
            expression: self.kept(&unqualified(written), &meanings),
            shown,
            pretty,
            columns: columns_of(&value, row),
        })
    }

    /// The error for an expression that is no function of the row alone, as far as is known: what a routine
    /// does is not looked into.
    fn not_immutable(&self, place: &str) -> Error {
        let is_immutable =
            |routine: &Arc<Routine>| routine.definition.traits.volatility == DeclaredVolatility::Immutable;
        if !self.called.is_empty() && self.called.iter().all(is_immutable) {
            let what = format!("functions created by users in an {place} are");
            return refused(Missing::IndexedFunctions, &what);
        }
        let message = format!("functions in {place} must be marked IMMUTABLE");
        Error::input(sqlstate::INVALID_OBJECT_DEFINITION, message)
    }

    /// The WHERE of an index.
    pub(crate) fn index_predicate(
        &mut self,
        table: &Arc<Table>,
        written: &ast::Expr,
    ) -> Result<IndexPredicate> {
        self.refuse_queries(written, "index predicate")?;
        let row = self.new_row()?;
        let before = self.called.len();
        let (condition, meanings) = self.noting(|binder| {
            binder.over_row(table, row, |binder| {
                binder.aggregate_mode = AggregateMode::Forbidden("in index predicates");
                binder.condition_of(written, "WHERE")
            })
        });
        let condition = condition?;
        if !is_immutable(&condition, &table.definition(), row) || self.called.len() > before {
            return Err(self.not_immutable("index predicate"));
        }
        let [shown, pretty] = self.kept_expression(table, row, written)?;
        Ok(IndexPredicate {
            expression: self.kept(&unqualified(written), &meanings),
            shown,
            pretty,
            columns: columns_of(&condition, row),
        })
    }
}

impl Viewpoint {
    /// Adds the columns that the index is on. The rest follows in steps.
    pub(super) fn added_index(
        &self,
        alteration: &mut Alteration,
        wanted: &WantedIndex,
    ) -> Result<Vec<CatalogChange>> {
        let table = Arc::clone(&alteration.table);
        let old = table.definition();
        let predicate =
            wanted.predicate.as_ref().map(|predicate| self.bound_predicate(&table, predicate)).transpose()?;
        let mut definition = TableDefinition::clone(&old);
        let mut keys = Vec::with_capacity(wanted.keys.len());
        for key in &wanted.keys {
            let column = match (&key.indexed, &predicate) {
                (WantedIndexed::Column(name), None) => {
                    keys.push(named_column(&old, name)?);
                    continue;
                }
                (WantedIndexed::Column(name), Some(predicate)) => {
                    let number = named_column(&old, name)?;
                    let sql_type = old.columns[usize::from(number)].sql_type;
                    let value = IndexedValue::of_column(name, number, sql_type);
                    computed_column(name, value, Some(predicate), Some(number))
                }
                (WantedIndexed::Expression(expr, name), _) => {
                    computed_column(name, self.bound_indexed(&table, expr)?, predicate.as_ref(), None)
                }
            };
            keys.push(u16::try_from(definition.columns.len()).unwrap_or(u16::MAX));
            definition.columns.push(column);
        }
        let mut index = self.new_index(&definition, wanted, &keys)?;
        index.predicate = predicate;
        let mut columns = unchanged(&old);
        columns.resize(definition.columns.len(), ColumnSource::Null);
        alteration.steps.push_front(AlterStep::Index(Box::new(index)));
        for column in old.columns.len()..definition.columns.len() {
            let column = u16::try_from(column).unwrap_or(u16::MAX);
            alteration.steps.push_front(AlterStep::Fill(Filling::Generated(column)));
        }
        Ok(vec![rewritten(&table, definition, columns)])
    }

    /// Renames a column in everything that indexes compute from it.
    pub(super) fn rename_in_indexes(
        &self,
        definition: &mut TableDefinition,
        renamed: u16,
        (from, to): (&str, &str),
    ) -> Result<()> {
        let row = row_type(definition);
        let names_it: Vec<usize> = (0..definition.indexes.len())
            .filter(|at| definition.is_read_by(&definition.indexes[*at], renamed))
            .collect();
        for at in names_it {
            let index = definition.indexes[at].clone();
            let predicate = match &index.predicate {
                Some(old) => {
                    let written = with_renamed_column(&old.expression, from, to)?;
                    Some(self.bound_predicate(&row, &written)?)
                }
                None => None,
            };
            for key in definition.computed_for(&index) {
                let old = &definition.columns[usize::from(key)];
                let column = match old.indexed() {
                    Some(Indexed::Column(number)) => {
                        let name = &definition.columns[usize::from(*number)].name;
                        let value = IndexedValue::of_column(name, *number, old.sql_type);
                        computed_column(name, value, predicate.as_ref(), Some(*number))
                    }
                    Some(Indexed::Expression(text)) => {
                        let value = self.bound_indexed(&row, &with_renamed_column(text, from, to)?)?;
                        computed_column(&old.name, value, predicate.as_ref(), None)
                    }
                    None => continue,
                };
                definition.columns[usize::from(key)] = column;
            }
            definition.indexes[at].predicate = predicate;
        }
        Ok(())
    }

    fn bound_indexed(&self, table: &Arc<Table>, expr: &ast::Expr) -> Result<IndexedValue> {
        self.with_binder(|binder| binder.indexed_value(table, expr))
    }

    fn bound_predicate(&self, table: &Arc<Table>, expr: &ast::Expr) -> Result<IndexPredicate> {
        self.with_binder(|binder| binder.index_predicate(table, expr))
    }
}

/// A column that exists only for an index. `column` is set if the index is on that column as it stands.
fn computed_column(
    name: &str,
    value: IndexedValue,
    predicate: Option<&IndexPredicate>,
    column: Option<u16>,
) -> ColumnDefinition {
    let IndexedValue { sql_type, expression, shown, pretty, mut columns } = value;
    let computed = match predicate {
        Some(predicate) => {
            columns.extend(&predicate.columns);
            columns.sort_unstable();
            columns.dedup();
            only_where(predicate, &expression)
        }
        None => expression.clone(),
    };
    let indexed = Some(column.map_or(Indexed::Expression(expression), Indexed::Column));
    ColumnDefinition {
        generation: Some(Generation { expression: computed, shown, pretty, columns, indexed }),
        ..ColumnDefinition::new(name, sql_type)
    }
}

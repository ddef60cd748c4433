//! What indexes compute from a row: the expressions that are their keys, and their conditions.

use crate::bind::Binder;
use crate::bind::aggregation::AggregateMode;
use crate::bind::row_expression::is_immutable;
use crate::bind::row_expression::{columns_of, unqualified};
use crate::statement::names::quoted;
use hyades_engine::storage::table::Table;
use hyades_types::definition::IndexPredicate;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::value::SqlType;
use sqlparser::ast;
use std::sync::Arc;

/// A value that an index may compute from a row.
pub(crate) struct IndexedValue {
    pub(crate) sql_type: SqlType,
    pub(crate) expression: String,
    pub(crate) shown: String,
    pub(crate) columns: Vec<u16>,
}

impl IndexedValue {
    /// A column itself.
    pub(crate) fn of_column(name: &str, number: u16, sql_type: SqlType) -> IndexedValue {
        let (expression, shown) = (quoted(name), quoted(name));
        IndexedValue { sql_type, expression, shown, columns: vec![number] }
    }
}

impl Binder<'_> {
    /// An expression for an index to be created.
    pub(crate) fn indexed_value(&mut self, table: &Arc<Table>, written: &ast::Expr) -> Result<IndexedValue> {
        self.refuse_queries(written, "index expression")?;
        let row = self.new_row()?;
        let (bound, meanings) = self.noting(|binder| {
            binder.over_row(table, row, |binder| {
                binder.aggregate_mode = AggregateMode::Forbidden("in index expressions");
                let bound = binder.expression(written)?;
                let sql_type = bound.known_type().unwrap_or(SqlType::Text);
                Ok((binder.coerce(bound, sql_type)?, sql_type))
            })
        });
        let (value, sql_type) = bound?;
        if !is_immutable(&value, &table.definition(), row) {
            let message = "functions in index expression must be marked IMMUTABLE";
            return Err(Error::input(sqlstate::INVALID_OBJECT_DEFINITION, message));
        }
        Ok(IndexedValue {
            sql_type,
            expression: self.kept(&unqualified(written), &meanings),
            shown: self.kept_expression(table, row, written)?,
            columns: columns_of(&value, row),
        })
    }

    /// The WHERE of an index.
    pub(crate) fn index_predicate(
        &mut self,
        table: &Arc<Table>,
        written: &ast::Expr,
    ) -> Result<IndexPredicate> {
        self.refuse_queries(written, "index predicate")?;
        let row = self.new_row()?;
        let (condition, meanings) = self.noting(|binder| {
            binder.over_row(table, row, |binder| {
                binder.aggregate_mode = AggregateMode::Forbidden("in index predicates");
                binder.condition_of(written, "WHERE")
            })
        });
        let condition = condition?;
        if !is_immutable(&condition, &table.definition(), row) {
            let message = "functions in index predicate must be marked IMMUTABLE";
            return Err(Error::input(sqlstate::INVALID_OBJECT_DEFINITION, message));
        }
        Ok(IndexPredicate {
            expression: self.kept(&unqualified(written), &meanings),
            shown: self.kept_expression(table, row, written)?,
            columns: columns_of(&condition, row),
        })
    }
}

/// The text of a column that is NULL in the rows that an index leaves out.
pub(crate) fn only_where(predicate: &IndexPredicate, value: &str) -> String {
    format!("CASE WHEN {} THEN {value} END", predicate.expression)
}

//! Indexes on expressions, and indexes on some of the rows.
//!
//! Both are indexes on columns that are computed from the row (`hyades_types::definition::Indexed`):
//! `lower(name)` for an expression, `CASE WHEN condition THEN name END` where the index has a WHERE. A
//! statement's conditions are searched for the expressions of such columns:
//!
//! ```text
//! lower(name) = 'x'             becomes   column = 'x'
//! name = 'x' AND condition      becomes   name = 'x' AND condition AND column = 'x'
//! ```
//!
//! From then on the index is found like any other. The second form needs the index's condition among those of
//! the statement.

use std::sync::Arc;

use hyades_engine::procedure::ir::{Expr, RowSlot};
use hyades_engine::storage::table::Table;
use hyades_types::definition::Indexed;
use hyades_types::error::Result;
use hyades_types::value::SqlType;
use sqlparser::ast;

use super::implication::is_implied;
use crate::bind::Binder;
use crate::expr::{self, Computed};
use crate::statement::query::parse_expression;

impl Binder<'_> {
    /// The values that columns which exist only for indexes compute from the row in a slot.
    pub(crate) fn computed_for_indexes(
        &mut self,
        table: &Arc<Table>,
        row: RowSlot,
    ) -> Result<Arc<[Computed]>> {
        let definition = table.definition();
        let mut computed = Vec::new();
        for index in &definition.indexes {
            for column in definition.computed_for(index) {
                let value = match definition.columns[usize::from(column)].indexed() {
                    Some(Indexed::Column(column)) => Expr::Column { row, column: *column },
                    Some(Indexed::Expression(text)) => self.value_over(table, row, text)?,
                    None => continue,
                };
                let conditions = match &index.predicate {
                    Some(predicate) => {
                        let mut conditions = Vec::new();
                        let whole = self.value_over(table, row, &predicate.expression)?;
                        expr::conjuncts(whole, &mut conditions);
                        conditions
                    }
                    None => Vec::new(),
                };
                computed.push(Computed { column, value, conditions });
            }
        }
        Ok(computed.into())
    }

    fn value_over(&mut self, table: &Arc<Table>, row: RowSlot, text: &str) -> Result<Expr> {
        let written = parse_expression(text)?;
        self.of_kept(|binder| binder.over_row(table, row, |binder| binder.index_key(&written)))
    }

    /// The value of a key of an index.
    pub(crate) fn index_key(&mut self, written: &ast::Expr) -> Result<Expr> {
        let bound = self.expression(written)?;
        let sql_type = bound.known_type().unwrap_or(SqlType::Text);
        self.coerce(bound, sql_type)
    }
}

/// Conditions on a row in terms of the columns that indexes are on.
pub(super) fn with_computed(conditions: &[Expr], row: RowSlot, computed: &[Computed]) -> Vec<Expr> {
    let mut all = conditions.to_vec();
    for Computed { column, value, conditions: wanted } in computed {
        if wanted.is_empty() || !wanted.iter().all(|wanted| is_implied(wanted, conditions)) {
            continue;
        }
        for condition in conditions {
            let mut other = condition.clone();
            read_instead(&mut other, value, &Expr::Column { row, column: *column });
            if other != *condition && !wanted.contains(condition) {
                all.push(other);
            }
        }
    }
    for Computed { column, value, .. } in computed.iter().filter(|one| one.conditions.is_empty()) {
        for condition in &mut all {
            read_instead(condition, value, &Expr::Column { row, column: *column });
        }
    }
    all
}

fn read_instead(condition: &mut Expr, value: &Expr, column: &Expr) {
    expr::replace(condition, &mut |part| (part == value).then(|| column.clone()));
}

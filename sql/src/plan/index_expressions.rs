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

use hyades_engine::procedure::ir::{Expr, RowSlot};

use super::implication::is_implied;
use crate::expr::{self, Computed};

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

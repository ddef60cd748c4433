//! UNION, INTERSECT and EXCEPT: rows of two queries, told apart by a last value that says whether a row is
//! the second one's.

use std::sync::Arc;

use hyades_engine::procedure::ir::{Stage, StageRun};
use hyades_types::environment::Environment;
use hyades_types::error::Result;
use hyades_types::guest;
use hyades_types::value::Value;
use sqlparser::ast::SetOperator;

use super::Row;
use super::row_keys::RowKeys;
use crate::plan::Combination;

/// A row, and how often each of the queries has it.
struct Counted {
    row: Row,
    counts: [usize; 2],
}

struct Combining {
    operation: Arc<Combination>,
    /// In the order in which they came.
    rows: Vec<Counted>,
    places: RowKeys,
}

impl Stage for Combination {
    fn start(self: Arc<Self>, _registers: &[Value]) -> Box<dyn StageRun> {
        Box::new(Combining { operation: self, rows: Vec::new(), places: RowKeys::default() })
    }
}

impl StageRun for Combining {
    fn feed(&mut self, values: &mut [Value]) -> Result<()> {
        let Some((side, row)) = values.split_last_mut() else { return Ok(()) };
        let side = usize::from(side.as_bool() == Some(true));
        let next = self.rows.len();
        let place = self.places.place_of(row.iter(), next);
        if place == next {
            self.rows.push(Counted { row: row.iter_mut().map(std::mem::take).collect(), counts: [0, 0] });
        }
        self.rows[place].counts[side] += 1;
        Ok(())
    }

    fn finish(&mut self, _environment: &Environment) -> Result<Vec<Row>> {
        let mut found = Vec::new();
        for Counted { row, counts: [left, right] } in std::mem::take(&mut self.rows) {
            let all = match self.operation.operator {
                SetOperator::Union => left + right,
                SetOperator::Intersect => left.min(right),
                // EXCEPT without ALL drops what the right side has, however often.
                _ if self.operation.is_all => left.saturating_sub(right),
                _ if right > 0 => 0,
                _ => left,
            };
            let count = if self.operation.is_all { all } else { all.min(1) };
            for _ in 0..count {
                guest::spend(1)?;
                found.push(row.clone());
            }
        }
        Ok(found)
    }
}

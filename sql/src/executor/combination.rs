//! UNION, INTERSECT and EXCEPT: rows of two queries, marked by a last value that says whether a row is from
//! the second query.

use std::sync::Arc;

use hyades_engine::procedure::ir::{Register, Stage, StageRows, StageRun};
use hyades_types::environment::Environment;
use hyades_types::error::Result;
use hyades_types::guest;
use hyades_types::value::Value;
use sqlparser::ast::SetOperator;

use super::folding::{Fold, Folding};
use super::row_keys::RowKeys;
use super::staged_row::{Row, held_bytes};
use crate::plan::stage::Combination;

/// A row, and how often each of the queries returned it.
pub(super) struct Counted {
    row: Row,
    counts: [usize; 2],
}

struct Combining(Folding<Combination>);

impl Stage for Combination {
    fn registers(&self) -> Vec<Register> {
        Vec::new()
    }

    fn start(self: Arc<Self>, _registers: &[Value], environment: &Environment) -> Box<dyn StageRun> {
        Box::new(Combining(Folding::new(self, environment.work_memory.clone())))
    }
}

impl StageRun for Combining {
    fn feed(&mut self, values: &mut [Value]) -> Result<()> {
        self.0.feed(values)
    }

    fn finish(self: Box<Self>) -> Result<StageRows> {
        self.0.finish()
    }
}

impl Fold for Combination {
    type State = Counted;

    fn push_key(&self, _set: usize, values: &[Value], key: &mut RowKeys) {
        if let [row @ .., _side] = values {
            let values = row.iter().enumerate();
            values.for_each(|(at, value)| key.push_perhaps_char(value, self.chars.contains(&at)));
        }
    }

    fn state(&self, _set: usize, values: &mut [Value]) -> (Counted, usize) {
        let (_side, row) = values.split_last_mut().unwrap_or((&mut Value::Null, &mut []));
        let row: Row = row.iter_mut().map(std::mem::take).collect();
        let bytes = held_bytes(&row) + size_of::<Counted>();
        (Counted { row, counts: [0, 0] }, bytes)
    }

    fn add(&self, counted: &mut Counted, values: &mut [Value]) -> Result<usize> {
        let is_second = values.last().and_then(Value::as_bool) == Some(true);
        counted.counts[usize::from(is_second)] += 1;
        Ok(0)
    }

    fn finish(&self, Counted { row, counts: [left, right] }: Counted, rows: &mut Vec<Row>) -> Result<()> {
        let all = match self.operator {
            SetOperator::Union => left + right,
            SetOperator::Intersect => left.min(right),
            // EXCEPT without ALL drops a row that the right side has, however often.
            _ if self.is_all => left.saturating_sub(right),
            _ if right > 0 => 0,
            _ => left,
        };
        let count = if self.is_all { all } else { all.min(1) };
        for _ in 1..count {
            guest::spend(1)?;
            rows.push(row.clone());
        }
        if count > 0 {
            rows.push(row);
        }
        Ok(())
    }
}

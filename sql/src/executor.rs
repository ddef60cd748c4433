//! What procedures feed rows to and read them from: grouping, DISTINCT, sorting, LIMIT.
//!
//! Rows are pushed in one by one ([`StageRun::feed`]) and come out all at once ([`StageRun::finish`]):
//! answers are buffered completely before locks are released anyway. The state outlives waits of the
//! procedure. Everything is held in memory, but of a sort with LIMIT only what is wanted. What they get are
//! ready values: the procedure evaluates, so subqueries and functions may stand anywhere. Files: `aggregate`,
//! `combination` (UNION and its like), `array_of`, `row_keys` (what tells rows apart).

mod accumulator;
mod aggregate;
mod array_of;
mod combination;
mod moments;
mod ordered_set;
mod row_keys;

use std::cmp::Ordering;
use std::sync::Arc;

use hyades_engine::procedure::ir::{Register, Stage, StageRun};
use hyades_types::compare;
use hyades_types::environment::Environment;
use hyades_types::error::Result;
use hyades_types::guest;
use hyades_types::memory;
use hyades_types::value::Value;

use crate::plan::{Distinct, SortKey, Sorting};

use row_keys::RowKeys;

/// One row between stages.
pub(crate) type Row = Vec<Value>;

/// The rows on their way. See the module head.
struct SortingRun {
    sorting: Arc<Sorting>,
    limit: Option<usize>,
    offset: usize,
    rows: Vec<Row>,
    seen: RowKeys,
}

impl Stage for Sorting {
    fn start(self: Arc<Self>, registers: &[Value]) -> Box<dyn StageRun> {
        Box::new(SortingRun::begin(self, registers))
    }
}

impl SortingRun {
    fn begin(sorting: Arc<Sorting>, registers: &[Value]) -> SortingRun {
        let count = |register: Register| {
            let number = registers.get(usize::from(register)).and_then(Value::as_i64);
            number.and_then(|number| usize::try_from(number).ok())
        };
        let (limit, offset) = (sorting.limit.and_then(count), sorting.offset.and_then(count).unwrap_or(0));
        SortingRun { sorting, limit, offset, rows: Vec::new(), seen: RowKeys::default() }
    }

    /// How many rows of those that have come are wanted, if that is known before they have all come.
    fn wanted(&self) -> Option<usize> {
        let comes_late = matches!(self.sorting.distinct, Distinct::On(_));
        let limit = self.limit.filter(|_| !comes_late)?;
        limit.checked_add(self.offset)
    }

    /// Keeps the first rows of those that have come. Of equal rows these are the ones that came first, and
    /// they stay before those that are still to come.
    fn forget_last(&mut self, wanted: usize) -> Result<()> {
        sort(&mut self.rows, &self.sorting.sort)?;
        self.rows.truncate(wanted);
        Ok(())
    }
}

impl StageRun for SortingRun {
    fn feed(&mut self, values: &mut [Value]) -> Result<()> {
        if let Distinct::Rows(width) = self.sorting.distinct
            && !self.seen.is_new(&values[..width])
        {
            return Ok(());
        }
        self.rows.push(values.iter_mut().map(std::mem::take).collect());
        match self.wanted() {
            Some(wanted) if self.rows.len() >= wanted.saturating_mul(2).max(RUN_ROWS) => {
                self.forget_last(wanted)
            }
            _ => Ok(()),
        }
    }

    /// The state is empty afterwards.
    fn finish(&mut self, _environment: &Environment) -> Result<Vec<Row>> {
        let sorting = Arc::clone(&self.sorting);
        let mut rows = std::mem::take(&mut self.rows);
        // Sorting takes as much again as the places of the rows.
        memory::check(size_of_val(rows.as_slice()))?;
        sort(&mut rows, &sorting.sort)?;
        if let Distinct::On(columns) = &sorting.distinct {
            let mut seen = RowKeys::default();
            let mut outcome = Ok(());
            rows.retain(|row| {
                outcome.is_ok() && {
                    outcome = guest::spend(UNITS_PER_ROW);
                    seen.is_new(columns.iter().map(|column| &row[*column]))
                }
            });
            outcome?;
        }
        rows.drain(..self.offset.min(rows.len()));
        if let Some(limit) = self.limit {
            rows.truncate(limit);
        }
        for row in &mut rows {
            guest::spend(1)?;
            row.truncate(sorting.width);
        }
        Ok(rows)
    }
}

/// What a row costs a stage.
const UNITS_PER_ROW: u32 = 10;
/// Bytes of texts that are compared in about ten nanoseconds.
const BYTES_PER_UNIT: usize = 64;
/// Rows sorted without a look at whether the statement is to stop.
const RUN_ROWS: usize = 512;

fn order(left: &Value, right: &Value, key: &SortKey) -> Ordering {
    let nulls = if key.nulls_first { Ordering::Less } else { Ordering::Greater };
    match (left.is_null(), right.is_null()) {
        (true, true) => Ordering::Equal,
        (true, false) => nulls,
        (false, true) => nulls.reverse(),
        (false, false) => {
            let ordering = match (left.as_str(), right.as_str()) {
                (Some(left), Some(right)) if key.is_char => {
                    compare::char_order(left.as_bytes(), right.as_bytes())
                }
                _ => compare::total(left, right),
            };
            if key.is_descending { ordering.reverse() } else { ordering }
        }
    }
}

fn compare_rows(left: &Row, right: &Row, keys: &[SortKey]) -> Ordering {
    guest::pass(2);
    keys.iter()
        .map(|key| {
            let (left, right) = (&left[key.value], &right[key.value]);
            if let Some(text) = left.as_str() {
                guest::pass_for(text.len() / BYTES_PER_UNIT);
            }
            order(left, right, key)
        })
        .find(|ordering| ordering.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// Sorts stably: short runs first, which are then merged two by two. A sort of the library could not be left
/// before its end.
fn sort(rows: &mut Vec<Row>, keys: &[SortKey]) -> Result<()> {
    if keys.is_empty() {
        return Ok(());
    }
    for run in rows.chunks_mut(RUN_ROWS) {
        run.sort_by(|left, right| compare_rows(left, right, keys));
        guest::spend(UNITS_PER_ROW)?;
    }
    let mut width = RUN_ROWS;
    while width < rows.len() {
        let mut merged = Vec::with_capacity(rows.len());
        let mut rest = std::mem::take(rows).into_iter();
        while rest.len() > 0 {
            let left: Vec<Row> = rest.by_ref().take(width).collect();
            let right: Vec<Row> = rest.by_ref().take(width).collect();
            merge(left, right, keys, &mut merged)?;
        }
        *rows = merged;
        width *= 2;
    }
    Ok(())
}

fn merge(left: Vec<Row>, right: Vec<Row>, keys: &[SortKey], merged: &mut Vec<Row>) -> Result<()> {
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    while let (Some(first), Some(second)) = (left.peek(), right.peek()) {
        guest::spend(1)?;
        let is_left_first = compare_rows(first, second, keys).is_le();
        merged.extend(if is_left_first { left.next() } else { right.next() });
    }
    merged.extend(left);
    merged.extend(right);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_keeps_few_rows_and_the_right_ones() {
        let key = |value, is_descending| SortKey { value, is_descending, nulls_first: false, is_char: false };
        let row = |at: i32| vec![Value::Integer(at * 7919 % 101), Value::Integer(at)];
        for (limit, offset) in [(0, 0), (1, 0), (3, 5), (300, 700)] {
            let sorting = Arc::new(Sorting {
                sort: vec![key(0, true)],
                limit: Some(0),
                offset: Some(1),
                width: 2,
                ..Sorting::default()
            });
            let registers = [Value::BigInt(limit), Value::BigInt(offset)];
            let mut run = SortingRun::begin(sorting, &registers);
            for at in 0..20_000 {
                run.feed(&mut row(at)).unwrap();
                assert!(run.rows.len() < RUN_ROWS.max(2000), "{limit}: {} rows", run.rows.len());
            }
            let mut expected: Vec<Row> = (0..20_000).map(row).collect();
            expected.sort_by(|left, right| compare_rows(left, right, &[key(0, true)]));
            let expected = expected.into_iter().skip(usize::try_from(offset).unwrap());
            let expected: Vec<Row> = expected.take(usize::try_from(limit).unwrap()).collect();
            assert_eq!(run.finish(&Environment::default()).unwrap(), expected);
        }
    }

    #[test]
    fn long_inputs_are_sorted_as_the_library_does() {
        let key = |value, is_descending| SortKey { value, is_descending, nulls_first: false, is_char: false };
        let keys = [key(0, true), key(1, false)];
        for count in [0, 1, RUN_ROWS, RUN_ROWS + 1, 7 * RUN_ROWS + 3] {
            // The third value shows whether equal rows keep their order.
            let mut rows: Vec<Row> = (0..count)
                .map(|at| {
                    let number = i32::try_from(at * 7919 % 1009).unwrap_or(0);
                    let last = Value::BigInt(i64::try_from(at).unwrap_or(0));
                    vec![Value::Integer(number % 10), Value::Integer(number % 7), last]
                })
                .collect();
            let mut expected = rows.clone();
            expected.sort_by(|left, right| compare_rows(left, right, &keys));
            sort(&mut rows, &keys).unwrap();
            assert_eq!(rows, expected, "{count}");
        }
    }
}

//! The stages that procedures feed with rows and read rows from: grouping, window functions, DISTINCT,
//! sorting, LIMIT.
//!
//! Rows are fed one by one ([`StageRun::feed`]) and come out after the last one ([`StageRun::finish`]). The
//! state survives waits of the procedure. Stages receive computed values: the procedure evaluates, so
//! subqueries and functions are allowed everywhere. A sort with LIMIT holds only the wanted rows.
//!
//! A sort and a grouping each hold `work_mem` in memory (`held_bytes` estimates that). The rest goes to
//! temporary files. The output and its order do not depend on it.
//!
//! Files:
//! * `staged_row`: a row on its way between stages;
//! * `sorter`: ORDER BY, in memory and in runs on disk; `packed_keys`: its keys in few bits;
//! * `folding`: rows with equal keys become one, for `aggregate` (GROUP BY) and `combination` (UNION and the
//!   like); `row_keys`: which rows count as equal;
//! * aggregates of a group: `accumulator` (their state), `moments` (of statistics), `ordered_set`
//!   (percentiles, the mode);
//! * `window`: window functions;
//! * `array_of`: ARRAY of a subquery.

mod accumulator;
mod aggregate;
mod array_of;
mod combination;
mod folding;
mod moments;
mod ordered_set;
mod packed_keys;
mod row_keys;
mod sorter;
mod staged_row;
mod window;

use std::sync::Arc;

use hyades_engine::procedure::ir::{Register, Stage, StageRows, StageRun};
use hyades_types::environment::Environment;
use hyades_types::error::Result;
use hyades_types::guest;
use hyades_types::value::Value;

use crate::plan::stage::{Distinct, SortKey, Sorting};

use folding::{Fold, Folding};
use row_keys::RowKeys;
use sorter::{Sorted, Sorter, compare_rows};
pub(crate) use staged_row::Row;
use staged_row::held_bytes;

/// A sort in progress. See the module head.
struct SortingRun {
    sorting: Arc<Sorting>,
    limit: Option<usize>,
    offset: usize,
    /// The step before sorting: DISTINCT, and DISTINCT ON without an order.
    distinct: Option<Folding<FirstRows>>,
    sorter: Sorter,
}

/// Keeps the first of the rows that are equal in these columns.
struct FirstRows {
    columns: Vec<usize>,
    /// The columns of type `character`.
    chars: Vec<usize>,
}

fn push_columns(values: &[Value], columns: &[usize], chars: &[usize], key: &mut RowKeys) {
    columns.iter().for_each(|column| key.push_perhaps_char(&values[*column], chars.contains(column)));
}

impl Fold for FirstRows {
    type State = Row;

    fn push_key(&self, _set: usize, values: &[Value], key: &mut RowKeys) {
        push_columns(values, &self.columns, &self.chars, key);
    }

    fn state(&self, _set: usize, values: &mut [Value]) -> (Row, usize) {
        let row: Row = values.iter_mut().map(std::mem::take).collect();
        let bytes = held_bytes(&row);
        (row, bytes)
    }

    fn add(&self, _row: &mut Row, _values: &mut [Value]) -> Result<usize> {
        Ok(0)
    }

    fn finish(&self, row: Row, rows: &mut Vec<Row>) -> Result<()> {
        rows.push(row);
        Ok(())
    }
}

impl Stage for Sorting {
    fn registers(&self) -> Vec<Register> {
        self.limit.into_iter().chain(self.offset).collect()
    }

    fn start(self: Arc<Self>, registers: &[Value], environment: &Environment) -> Box<dyn StageRun> {
        Box::new(SortingRun::begin(self, registers, environment))
    }
}

impl SortingRun {
    fn begin(sorting: Arc<Sorting>, registers: &[Value], environment: &Environment) -> SortingRun {
        let count = |register: Register| {
            let number = registers.get(usize::from(register)).and_then(Value::as_i64);
            number.and_then(|number| usize::try_from(number).ok())
        };
        let (limit, offset) = (sorting.limit.and_then(count), sorting.offset.and_then(count).unwrap_or(0));
        let columns = match &sorting.distinct {
            Distinct::Rows(width) => Some((0..*width).collect()),
            Distinct::On(columns) if sorting.sort.is_empty() => Some(columns.clone()),
            Distinct::On(_) | Distinct::Sorted | Distinct::No => None,
        };
        let work = &environment.work_memory;
        let distinct = columns.map(|columns| {
            Folding::new(Arc::new(FirstRows { columns, chars: sorting.chars.clone() }), work.clone())
        });
        let comes_late = distinct.is_none() && matches!(sorting.distinct, Distinct::On(_));
        let wanted = limit.filter(|_| !comes_late).and_then(|limit| limit.checked_add(offset));
        let mut keys = sorting.sort.clone();
        if let (None, Distinct::On(columns)) = (&distinct, &sorting.distinct) {
            // Equal rows become neighbours.
            let missing =
                columns.iter().filter(|column| !sorting.sort.iter().any(|key| key.value == **column));
            keys.extend(missing.map(|column| SortKey {
                is_char: sorting.chars.contains(column),
                ..SortKey::ascending(*column)
            }));
        }
        let is_distinct = sorting.distinct == Distinct::Sorted;
        let sorter = Sorter::new(keys.into(), (wanted, sorting.with_ties), is_distinct, work.clone());
        SortingRun { sorting, limit, offset, distinct, sorter }
    }
}

impl StageRun for SortingRun {
    fn feed(&mut self, values: &mut [Value]) -> Result<()> {
        match &mut self.distinct {
            Some(distinct) => distinct.feed(values),
            None => self.sorter.push(values.iter_mut().map(std::mem::take).collect()),
        }
    }

    fn finish(mut self: Box<Self>) -> Result<StageRows> {
        match self.distinct.take().map(Folding::finish).transpose()? {
            Some(StageRows::InMemory(rows)) => {
                rows.into_iter().try_for_each(|row| self.sorter.push(row))?;
            }
            Some(StageRows::Later(mut rows)) => rows.try_for_each(|row| self.sorter.push(row?))?,
            None => {}
        }
        let sorted = self.sorter.finish()?;
        let columns = match &self.sorting.distinct {
            // The sort has made equal rows neighbours.
            Distinct::On(columns) if !self.sorting.sort.is_empty() => columns.clone(),
            Distinct::Sorted => (0..self.sorting.width).collect(),
            _ => Vec::new(),
        };
        let sorted = match sorted {
            Sorted::InMemory(rows)
                if !self.sorting.with_ties
                    && (columns.is_empty() || self.sorting.distinct == Distinct::Sorted) =>
            {
                let limits = (self.offset, self.limit);
                return limited(rows.collect(), limits, self.sorting.width).map(StageRows::InMemory);
            }
            other => other,
        };
        let is_in_memory = matches!(sorted, Sorted::InMemory(_));
        let answer = Answered {
            rows: sorted,
            columns,
            chars: self.sorting.chars.clone(),
            last: RowKeys::default(),
            key: RowKeys::default(),
            offset: self.offset,
            rest: self.limit,
            width: self.sorting.width,
            ties: self.sorting.with_ties.then(|| (self.sorting.sort.clone(), None)),
        };
        if is_in_memory {
            return Ok(StageRows::InMemory(answer.collect::<Result<Vec<Row>>>()?));
        }
        Ok(StageRows::Later(Box::new(answer)))
    }
}

/// Applies OFFSET and LIMIT to sorted rows without repetitions.
fn limited(mut rows: Vec<Row>, (offset, limit): (usize, Option<usize>), width: usize) -> Result<Vec<Row>> {
    guest::spend_for(rows.len())?;
    if offset > 0 {
        rows.drain(..offset.min(rows.len()));
    }
    rows.truncate(limit.unwrap_or(usize::MAX));
    if rows.first().is_some_and(|row| row.len() > width) {
        rows.iter_mut().for_each(|row| row.truncate(width));
    }
    Ok(rows)
}

/// Sorted rows after DISTINCT ON, OFFSET and LIMIT.
struct Answered {
    rows: Sorted,
    /// The columns of DISTINCT ON.
    columns: Vec<usize>,
    chars: Vec<usize>,
    /// The key of the previous row, for these columns. Empty before the first.
    last: RowKeys,
    key: RowKeys,
    offset: usize,
    rest: Option<usize>,
    width: usize,
    /// For WITH TIES: the keys, and the last row within the limit once it was returned.
    ties: Option<(Vec<SortKey>, Option<Row>)>,
}

impl Answered {
    fn is_repeated(&mut self, row: &Row) -> bool {
        if self.columns.is_empty() {
            return false;
        }
        self.key.begin();
        push_columns(row, &self.columns, &self.chars, &mut self.key);
        let is_repeated = self.last.key() == self.key.key();
        std::mem::swap(&mut self.last, &mut self.key);
        is_repeated
    }

    /// Whether a row past the limit is returned.
    fn is_tie(&self, row: &Row) -> bool {
        match &self.ties {
            Some((keys, Some(last))) => compare_rows(last, row, keys).is_eq(),
            _ => false,
        }
    }

    fn next_row(&mut self) -> Result<Option<Row>> {
        if self.rest == Some(0) && !matches!(self.ties, Some((_, Some(_)))) {
            return Ok(None);
        }
        while let Some(row) = self.rows.next() {
            guest::spend(1)?;
            let mut row = row?;
            if self.is_repeated(&row) {
                continue;
            }
            if self.offset > 0 {
                self.offset -= 1;
                continue;
            }
            if self.rest == Some(0) {
                if !self.is_tie(&row) {
                    self.ties = None;
                    return Ok(None);
                }
            } else {
                self.rest = self.rest.map(|rest| rest - 1);
                if let Some((_, last)) = self.ties.as_mut().filter(|_| self.rest == Some(0)) {
                    *last = Some(row.clone());
                }
            }
            row.truncate(self.width);
            return Ok(Some(row));
        }
        Ok(None)
    }
}

impl Iterator for Answered {
    type Item = Result<Row>;

    fn next(&mut self) -> Option<Result<Row>> {
        self.next_row().transpose()
    }
}

#[cfg(test)]
mod tests;

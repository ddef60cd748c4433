//! What procedures feed rows to and read them from: grouping, DISTINCT, sorting, LIMIT.
//!
//! Rows are pushed in one by one ([`StageRun::feed`]) and come out all at once ([`StageRun::finish`]):
//! answers are buffered completely before locks are released anyway. The state outlives waits of the
//! procedure. Everything is held in memory. Aggregates get ready values.

pub(crate) mod aggregate;
mod array_of;
mod combination;

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

use hyades_engine::procedure::ir::{Expr, Stage, StageRun};
use hyades_types::environment::Environment;
use hyades_types::error::{Error, Result, SqlState, sqlstate};
use hyades_types::guest;
use hyades_types::memory;
use hyades_types::value::Value;
use hyades_types::{compare, key};

use crate::evaluation;
use crate::plan::{AggregateStage, Distinct, SortKey, Stages};
use aggregate::Groups;

/// One row between stages.
pub(crate) type Row = Vec<Value>;

/// The rows on their way. See the module head.
struct StageState {
    stages: Arc<Stages>,
    /// What expressions see: parameters and results of session calls, then the row's values from
    /// `Stages::base` on.
    registers: Vec<Value>,
    groups: Option<Groups>,
    rows: Vec<Row>,
    seen: HashSet<Vec<u8>>,
}

impl Stage for Stages {
    fn start(self: Arc<Self>, registers: &[Value]) -> Box<dyn StageRun> {
        let mut own = registers.to_vec();
        own.resize(usize::from(self.base), Value::Null);
        let groups = self.aggregate.as_ref().map(|_| Groups::default());
        Box::new(StageState { stages: self, registers: own, groups, rows: Vec::new(), seen: HashSet::new() })
    }

    fn expressions(&self) -> Vec<&Expr> {
        // Whatever a stage is given to evaluate must be named here: a field that is new does not compile
        // without its place.
        let Stages { base: _, aggregate, having, project, distinct, sort, limit, offset, width: _ } = self;
        // These work on values that the procedure has computed.
        let (_, _, _): (&Option<AggregateStage>, &Distinct, &Vec<SortKey>) = (aggregate, distinct, sort);
        having.iter().chain(project.iter().flatten()).chain(offset).chain(limit).collect()
    }
}

/// Values as bytes that are equal when SQL calls them not distinct.
pub(crate) fn grouping_bytes(values: &[Value], out: &mut Vec<u8>) {
    for value in values {
        match value.sql_type() {
            None => out.push(0),
            Some(sql_type) => {
                out.push(1);
                key::encode(value, sql_type, out);
            }
        }
    }
}

impl StageRun for StageState {
    fn feed(&mut self, values: &mut [Value]) -> Result<()> {
        if let (Some(groups), Some(aggregate)) = (&mut self.groups, &self.stages.aggregate) {
            return groups.add(aggregate, values);
        }
        if let Distinct::Rows(width) = self.stages.distinct
            && !self.is_new(&values[..width])
        {
            return Ok(());
        }
        self.rows.push(values.iter_mut().map(std::mem::take).collect());
        Ok(())
    }

    /// The state is empty afterwards.
    fn finish(&mut self, environment: &Environment) -> Result<Vec<Row>> {
        let stages = Arc::clone(&self.stages);
        let mut rows = std::mem::take(&mut self.rows);
        if let (Some(groups), Some(aggregate)) = (self.groups.take(), &stages.aggregate) {
            for row in groups.finish(aggregate)? {
                guest::spend(UNITS_PER_ROW)?;
                if let Some(row) = self.project(&stages, row, environment)? {
                    rows.push(row);
                }
                memory::check(0)?;
            }
        }
        // Sorting takes as much again as the places of the rows.
        memory::check(size_of_val(rows.as_slice()))?;
        sort(&mut rows, &stages.sort)?;
        if let Distinct::On(columns) = &stages.distinct {
            self.seen.clear();
            let mut outcome = Ok(());
            rows.retain(|row| {
                outcome.is_ok() && {
                    outcome = guest::spend(UNITS_PER_ROW);
                    let keys: Row = columns.iter().map(|column| row[*column].clone()).collect();
                    self.is_new(&keys)
                }
            });
            outcome?;
        }
        self.cut(&stages, &mut rows, environment)?;
        for row in &mut rows {
            guest::spend(1)?;
            row.truncate(stages.width);
        }
        Ok(rows)
    }
}

impl StageState {
    fn is_new(&mut self, values: &[Value]) -> bool {
        let mut bytes = Vec::new();
        grouping_bytes(values, &mut bytes);
        self.seen.insert(bytes)
    }

    /// HAVING and the select list over a group.
    fn project(&mut self, stages: &Stages, row: Row, environment: &Environment) -> Result<Option<Row>> {
        self.registers.truncate(usize::from(stages.base));
        self.registers.extend(row);
        if let Some(having) = &stages.having {
            let truth = evaluation::evaluate(having, &self.registers, environment)?;
            if truth.as_bool() != Some(true) {
                return Ok(None);
            }
        }
        let row = match &stages.project {
            None => self.registers[usize::from(stages.base)..].to_vec(),
            Some(exprs) => exprs
                .iter()
                .map(|expr| evaluation::evaluate(expr, &self.registers, environment))
                .collect::<Result<Row>>()?,
        };
        if let Distinct::Rows(width) = stages.distinct
            && !self.is_new(&row[..width])
        {
            return Ok(None);
        }
        Ok(Some(row))
    }

    /// OFFSET and LIMIT.
    fn cut(&self, stages: &Stages, rows: &mut Vec<Row>, environment: &Environment) -> Result<()> {
        let count = |expr: &Option<Expr>, state: SqlState, clause: &str| -> Result<Option<usize>> {
            let Some(expr) = expr else { return Ok(None) };
            let Some(number) = evaluation::evaluate(expr, &self.registers, environment)?.as_i64() else {
                return Ok(None);
            };
            match usize::try_from(number) {
                Ok(number) => Ok(Some(number)),
                Err(_) => Err(Error::input(state, format!("{clause} must not be negative"))),
            }
        };
        let offset = count(&stages.offset, sqlstate::INVALID_ROW_COUNT_IN_OFFSET_CLAUSE, "OFFSET")?;
        let limit = count(&stages.limit, sqlstate::INVALID_ROW_COUNT_IN_LIMIT_CLAUSE, "LIMIT")?;
        if let Some(offset) = offset {
            rows.drain(..offset.min(rows.len()));
        }
        if let Some(limit) = limit {
            rows.truncate(limit);
        }
        Ok(())
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

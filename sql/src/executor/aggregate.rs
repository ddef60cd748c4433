//! Aggregation: one [`Group`] for each distinct key, one [`Accumulator`] for each aggregate of a group.
//!
//! Result types are PostgreSQL's: sums of integers do not overflow their own type (`sum(integer)` is
//! `bigint`, `sum(bigint)` and averages of integers are `numeric`). Groups come out in the order in which
//! their first row came in.

use std::collections::{HashMap, HashSet};

use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::guest;
use hyades_types::interval::Interval;
use hyades_types::value::{BigDecimal, SqlType, Value};
use hyades_types::{compare, numeric};

use super::{Row, grouping_bytes};
use crate::bind::aggregation::AggregateKind;
use crate::plan::{AggregateCall, AggregateStage};

/// What has been seen so far.
#[derive(Debug)]
enum Accumulator {
    Count(i64),
    /// Integers: sum and how many.
    Whole(i128, i64),
    Decimal(Option<BigDecimal>, i64),
    /// A sum begins with the first number, not with 0: it may be -0.
    Double(f64, i64),
    Real(f32, i64),
    Interval(Interval, i64),
    Extreme(Value),
    Truth(Option<bool>),
}

#[derive(Debug)]
struct Group {
    keys: Row,
    accumulators: Vec<Accumulator>,
    /// For DISTINCT aggregates: the arguments seen.
    seen: Vec<HashSet<Vec<u8>>>,
}

#[derive(Debug, Default)]
pub(crate) struct Groups {
    groups: Vec<Group>,
    by_key: HashMap<Vec<u8>, usize>,
    key_bytes: Vec<u8>,
}

fn overflow(sql_type: SqlType) -> Error {
    Error::input(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, format!("{} out of range", sql_type.base_name()))
}

impl Accumulator {
    fn new(call: &AggregateCall) -> Accumulator {
        match call.kind {
            AggregateKind::CountRows | AggregateKind::Count => Accumulator::Count(0),
            AggregateKind::Sum | AggregateKind::Average => match call.argument_type {
                SqlType::SmallInt | SqlType::Integer | SqlType::BigInt => Accumulator::Whole(0, 0),
                SqlType::Real => Accumulator::Real(0.0, 0),
                SqlType::DoublePrecision => Accumulator::Double(0.0, 0),
                SqlType::Interval(_) => Accumulator::Interval(Interval::default(), 0),
                _ => Accumulator::Decimal(None, 0),
            },
            AggregateKind::Minimum | AggregateKind::Maximum => Accumulator::Extreme(Value::Null),
            AggregateKind::BoolAnd | AggregateKind::BoolOr => Accumulator::Truth(None),
        }
    }

    /// Takes an argument that is not NULL (or a row, for `count(*)`).
    fn add(&mut self, kind: AggregateKind, value: &Value) -> Result<()> {
        match self {
            Accumulator::Count(count) => *count += 1,
            Accumulator::Whole(sum, count) => {
                // 2^63 values of 2^63 stay far below 2^127.
                *sum += i128::from(value.as_i64().unwrap_or(0));
                *count += 1;
            }
            Accumulator::Decimal(sum, count) => {
                if let Value::Numeric(number) = value {
                    let total = match sum.take() {
                        Some(total) => numeric::add(&total, number)?,
                        None => number.as_ref().clone(),
                    };
                    *sum = Some(total);
                    *count += 1;
                }
            }
            Accumulator::Double(sum, count) => {
                if let Value::Double(number) = value {
                    let is_first = *count == 0 && kind == AggregateKind::Sum;
                    let total = if is_first { *number } else { *sum + number };
                    if total.is_infinite() && sum.is_finite() && number.is_finite() {
                        return Err(float_overflow());
                    }
                    *sum = total;
                    *count += 1;
                }
            }
            Accumulator::Real(sum, count) => {
                if let Value::Real(number) = value {
                    let is_first = *count == 0 && kind == AggregateKind::Sum;
                    let total = if is_first { *number } else { *sum + number };
                    if total.is_infinite() && sum.is_finite() && number.is_finite() {
                        return Err(float_overflow());
                    }
                    *sum = total;
                    *count += 1;
                }
            }
            Accumulator::Interval(sum, count) => {
                if let Value::Interval(interval) = value {
                    *sum = sum.plus(*interval)?;
                    *count += 1;
                }
            }
            Accumulator::Extreme(best) => {
                // Of equal numbers (0 and -0, 1.0 and 1.00) the last.
                let is_better = best.is_null()
                    || if kind == AggregateKind::Minimum {
                        compare::total(value, best).is_le()
                    } else {
                        compare::total(value, best).is_ge()
                    };
                if is_better {
                    *best = value.clone();
                }
            }
            Accumulator::Truth(truth) => {
                let new = value.as_bool().unwrap_or(false);
                *truth = Some(match (kind, *truth) {
                    (_, None) => new,
                    (AggregateKind::BoolAnd, Some(old)) => old && new,
                    (_, Some(old)) => old || new,
                });
            }
        }
        Ok(())
    }

    fn result(self, call: &AggregateCall) -> Result<Value> {
        let is_average = call.kind == AggregateKind::Average;
        Ok(match self {
            Accumulator::Count(count) => Value::BigInt(count),
            Accumulator::Whole(_, 0)
            | Accumulator::Double(_, 0)
            | Accumulator::Real(_, 0)
            | Accumulator::Interval(_, 0) => Value::Null,
            Accumulator::Whole(sum, count) if is_average => {
                Value::numeric(numeric::divide(&numeric::from_i128(sum), &numeric::from_i64(count))?)
            }
            Accumulator::Whole(sum, _) if call.argument_type == SqlType::BigInt => {
                Value::numeric(numeric::from_i128(sum))
            }
            Accumulator::Whole(sum, _) => {
                Value::BigInt(i64::try_from(sum).map_err(|_| overflow(SqlType::BigInt))?)
            }
            Accumulator::Decimal(None, _) => Value::Null,
            Accumulator::Decimal(Some(sum), count) if is_average => {
                Value::numeric(numeric::divide(&sum, &numeric::from_i64(count))?)
            }
            Accumulator::Decimal(Some(sum), _) => Value::numeric(sum),
            // A count of rows in memory is far below 2^52.
            #[allow(clippy::cast_precision_loss)]
            Accumulator::Double(sum, count) if is_average => Value::Double(sum / count as f64),
            Accumulator::Double(sum, _) => Value::Double(sum),
            Accumulator::Real(sum, _) => Value::Real(sum),
            #[allow(clippy::cast_precision_loss)]
            Accumulator::Interval(sum, count) if is_average => Value::Interval(sum.divide(count as f64)?),
            Accumulator::Interval(sum, _) => Value::Interval(sum),
            Accumulator::Extreme(best) => best,
            Accumulator::Truth(truth) => truth.map_or(Value::Null, Value::Boolean),
        })
    }
}

fn float_overflow() -> Error {
    Error::input(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow")
}

impl Group {
    fn new(stage: &AggregateStage, keys: Row) -> Group {
        Group {
            keys,
            accumulators: stage.calls.iter().map(Accumulator::new).collect(),
            seen: stage.calls.iter().map(|_| HashSet::new()).collect(),
        }
    }

    fn add(&mut self, stage: &AggregateStage, values: &[Value]) -> Result<()> {
        for (at, call) in stage.calls.iter().enumerate() {
            if call.filter.is_some_and(|filter| values[filter].as_bool() != Some(true)) {
                continue;
            }
            let value = match call.argument {
                None => &Value::Null,
                Some(argument) if values[argument].is_null() => continue,
                Some(argument) => &values[argument],
            };
            if call.is_distinct {
                let mut bytes = Vec::new();
                grouping_bytes(std::slice::from_ref(value), &mut bytes);
                if !self.seen[at].insert(bytes) {
                    continue;
                }
            }
            self.accumulators[at].add(call.kind, value)?;
        }
        Ok(())
    }
}

impl Groups {
    /// Takes a row: its first values are the keys.
    pub(crate) fn add(&mut self, stage: &AggregateStage, values: &mut [Value]) -> Result<()> {
        let at = if stage.keys == 0 {
            if self.groups.is_empty() {
                self.groups.push(Group::new(stage, Row::new()));
            }
            0
        } else {
            self.key_bytes.clear();
            grouping_bytes(&values[..stage.keys], &mut self.key_bytes);
            match self.by_key.get(&self.key_bytes) {
                Some(at) => *at,
                None => {
                    let keys = values[..stage.keys].iter_mut().map(std::mem::take).collect();
                    self.groups.push(Group::new(stage, keys));
                    self.by_key.insert(self.key_bytes.clone(), self.groups.len() - 1);
                    self.groups.len() - 1
                }
            }
        };
        self.groups[at].add(stage, values)
    }

    /// One row for each group: keys, then results.
    pub(crate) fn finish(mut self, stage: &AggregateStage) -> Result<Vec<Row>> {
        if self.groups.is_empty() && !stage.is_grouped {
            self.groups.push(Group::new(stage, Row::new()));
        }
        self.groups
            .into_iter()
            .map(|group| {
                guest::spend(4)?;
                let mut row = group.keys;
                for (accumulator, call) in group.accumulators.into_iter().zip(&stage.calls) {
                    row.push(accumulator.result(call)?);
                }
                Ok(row)
            })
            .collect()
    }
}

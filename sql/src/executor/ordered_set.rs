//! Aggregates WITHIN GROUP: percentiles, the mode, and the rank of a hypothetical row. They receive their
//! values in order.
//!
//! Reference: PostgreSQL 15's `orderedsetaggs.c`.

use std::cmp::Ordering;

use hyades_types::collect;
use hyades_types::compare;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::memory;
use hyades_types::text;
use hyades_types::value::Value;

use super::sorter::compare_rows;
use crate::bind::aggregation::OrderedSet;
use crate::plan::stage::SortKey;

/// How the rows of a group, which come in order, compare with a hypothetical one.
#[derive(Clone, Debug, Default)]
pub(super) struct Hypothetical {
    /// Compare the first values of a row, its keys, with the others.
    keys: Vec<SortKey>,
    /// The keys of the last row, for the dense rank.
    last: Vec<Value>,
    rows: i64,
    before: i64,
    /// Rows before it that differ from the row in front of them.
    distinct_before: i64,
    equal: i64,
}

impl Hypothetical {
    pub(super) fn new(order: &[SortKey]) -> Hypothetical {
        let keys = order.iter().enumerate().map(|(at, key)| SortKey { value: at, ..*key });
        Hypothetical { keys: keys.collect(), ..Hypothetical::default() }
    }

    pub(super) fn add(&mut self, kind: OrderedSet, arguments: &[Value]) -> Result<()> {
        let (row, hypothetical) = arguments.split_at(self.keys.len().min(arguments.len()));
        self.rows += 1;
        match compare_rows(row, hypothetical, &self.keys) {
            Ordering::Less => self.before += 1,
            Ordering::Equal => self.equal += 1,
            Ordering::Greater => {}
        }
        if kind == OrderedSet::DenseRank && self.before == self.rows {
            let is_new = self.before == 1 || compare_rows(row, &self.last, &self.keys).is_ne();
            self.distinct_before += i64::from(is_new);
            self.last = collect::try_list(row.iter().map(collect::values::copy))?;
        }
        Ok(())
    }

    // A count of rows in memory is far below 2^52.
    #[allow(clippy::cast_precision_loss)]
    pub(super) fn result(&self, kind: OrderedSet) -> Value {
        match kind {
            OrderedSet::Rank => Value::BigInt(self.before + 1),
            OrderedSet::DenseRank => Value::BigInt(self.distinct_before + 1),
            OrderedSet::PercentRank if self.rows == 0 => Value::Double(0.0),
            OrderedSet::PercentRank => Value::Double(self.before as f64 / self.rows as f64),
            OrderedSet::CumeDist => {
                Value::Double((self.before + self.equal + 1) as f64 / (self.rows + 1) as f64)
            }
            _ => Value::Null,
        }
    }
}

/// The values in order, and the requested fraction.
#[derive(Clone, Debug, Default)]
pub(super) struct Ordered {
    values: Vec<Value>,
    fraction: Value,
}

impl Ordered {
    pub(super) fn add(&mut self, arguments: &[Value]) -> Result<()> {
        if let [value, fraction @ ..] = arguments {
            memory::check_growth::<Value>(self.values.capacity(), self.values.len() + 1)?;
            self.values.push(collect::values::copy(value)?);
            self.fraction = fraction.first().cloned().unwrap_or_default();
        }
        Ok(())
    }

    pub(super) fn result(self, kind: OrderedSet) -> Result<Value> {
        if self.values.is_empty() {
            return Ok(Value::Null);
        }
        if kind == OrderedSet::Mode {
            return Ok(self.most_frequent());
        }
        match &self.fraction {
            Value::Array(fractions) => {
                let found = fractions.values.iter().map(|fraction| self.percentile(kind, fraction));
                let found = collect::try_list(found)?;
                let element = found.iter().find_map(Value::sql_type).or_else(|| self.values[0].sql_type());
                let element = element.and_then(hyades_types::value::ArrayElement::of);
                Ok(element.map_or(Value::Null, |element| Value::array(element, found)))
            }
            fraction => self.percentile(kind, fraction),
        }
    }

    fn percentile(&self, kind: OrderedSet, fraction: &Value) -> Result<Value> {
        let Value::Double(fraction) = fraction else { return Ok(Value::Null) };
        if !(0.0..=1.0).contains(fraction) {
            let shown = text::format(&Value::Double(*fraction), &jiff::tz::TimeZone::UTC);
            let message = format!("percentile value {shown} is not between 0 and 1");
            return Err(Error::input(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, message));
        }
        let count = self.values.len() as f64;
        if kind == OrderedSet::PercentileDiscrete {
            let row = (count * fraction).ceil().max(1.0) as usize;
            return Ok(self.values.get(row - 1).cloned().unwrap_or_default());
        }
        let exact = fraction * (count - 1.0);
        let (low, high) = (exact.floor(), exact.ceil());
        let (Some(from), Some(to)) = (self.values.get(low as usize), self.values.get(high as usize)) else {
            return Ok(Value::Null);
        };
        let share = exact - low;
        match (from, to) {
            (from, _) if low == high => Ok(from.clone()),
            (Value::Double(from), Value::Double(to)) => Ok(Value::Double(from + share * (to - from))),
            (Value::Interval(from), Value::Interval(to)) => {
                let whole = to.plus(from.negate()?)?;
                Ok(Value::Interval(from.plus(whole.multiply(share)?)?))
            }
            _ => Ok(Value::Null),
        }
    }

    /// Of equally frequent values the first one.
    fn most_frequent(&self) -> Value {
        let (mut best, mut most) = (0, 0);
        let mut start = 0;
        for at in 0..=self.values.len() {
            let is_same =
                self.values.get(at).is_some_and(|value| compare::total(value, &self.values[start]).is_eq());
            if !is_same {
                if at - start > most {
                    (best, most) = (start, at - start);
                }
                start = at;
            }
        }
        self.values[best].clone()
    }
}

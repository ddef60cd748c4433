//! Aggregates WITHIN GROUP: percentiles and the mode. They receive their values in order.
//!
//! Reference: PostgreSQL 15's `orderedsetaggs.c`.

use hyades_types::collect;
use hyades_types::compare;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::memory;
use hyades_types::text;
use hyades_types::value::Value;

use crate::bind::aggregation::OrderedSet;

/// The values in order, and the requested fraction.
#[derive(Debug, Default)]
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

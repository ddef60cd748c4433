//! The state of an aggregate in a group, and its result.
//!
//! Result types are PostgreSQL's: sums of integers do not overflow their own type (`sum(integer)` is
//! `bigint`, `sum(bigint)` and averages of integers are `numeric`).

use hyades_types::collect;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::function::accumulated;
use hyades_types::interval::Interval;
use hyades_types::system_type::SystemType;
use hyades_types::value::{ArrayElement, Numeric, SqlType, Value};
use hyades_types::{compare, memory, numeric};

use super::moments::{FloatSums, Moments};
use super::ordered_set::{Hypothetical, Ordered};
use crate::bind::aggregation::AggregateKind;
use crate::plan::stage::AggregateCall;

/// The values aggregated so far.
#[derive(Clone, Debug)]
pub(super) enum Accumulator {
    Count(i64),
    /// Integers: sum and count.
    Whole(i128, i64),
    Decimal(Option<Numeric>, i64),
    /// A sum begins with the first number, not with 0: it may be -0.
    Double(f64, i64),
    Real(f32, i64),
    Interval(Interval, i64),
    Extreme(Value),
    Truth(Option<bool>),
    Bits(Option<i64>),
    Text(Option<String>),
    Bytes(Option<Vec<u8>>),
    Elements(Vec<Value>),
    Moments(Moments),
    Ordered(Ordered),
    Hypothetical(Hypothetical),
}

/// Bytes of a text that are copied in about ten nanoseconds.
const BYTES_PER_STEP: usize = 64;

fn overflow(sql_type: SqlType) -> Error {
    Error::input(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, format!("{} out of range", sql_type.base_name()))
}

impl Accumulator {
    pub(super) fn new(call: &AggregateCall) -> Accumulator {
        match call.kind {
            AggregateKind::CountRows | AggregateKind::Count | AggregateKind::Grouping => {
                Accumulator::Count(0)
            }
            AggregateKind::Sum | AggregateKind::Average => match call.argument_type {
                SqlType::SmallInt | SqlType::Integer | SqlType::BigInt => Accumulator::Whole(0, 0),
                SqlType::Real => Accumulator::Real(0.0, 0),
                SqlType::DoublePrecision => Accumulator::Double(0.0, 0),
                SqlType::Interval(_) => Accumulator::Interval(Interval::default(), 0),
                _ => Accumulator::Decimal(None, 0),
            },
            AggregateKind::Minimum | AggregateKind::Maximum => Accumulator::Extreme(Value::Null),
            AggregateKind::BoolAnd | AggregateKind::BoolOr => Accumulator::Truth(None),
            AggregateKind::BitAnd | AggregateKind::BitOr | AggregateKind::BitXor => Accumulator::Bits(None),
            AggregateKind::StringAgg if call.argument_type == SqlType::Bytea => Accumulator::Bytes(None),
            AggregateKind::StringAgg => Accumulator::Text(None),
            AggregateKind::ArrayAgg(_) | AggregateKind::ArrayOfArrays(_) | AggregateKind::Collect => {
                Accumulator::Elements(Vec::new())
            }
            AggregateKind::Statistic(_) => Accumulator::Moments(match call.argument_type {
                SqlType::Numeric(_) => Moments::exact(),
                _ => Moments::Float(FloatSums::default()),
            }),
            AggregateKind::OrderedSet(set) if set.is_hypothetical() => {
                Accumulator::Hypothetical(Hypothetical::new(&call.order))
            }
            AggregateKind::OrderedSet(_) => Accumulator::Ordered(Ordered::default()),
        }
    }

    /// Bytes of the text, or a similar value, that it holds.
    pub(super) fn text_bytes(&self) -> usize {
        match self {
            Accumulator::Extreme(best) => best.heap_bytes(),
            Accumulator::Text(Some(text)) => text.len(),
            Accumulator::Bytes(Some(bytes)) => bytes.len(),
            _ => 0,
        }
    }

    /// Takes a row of which this is the first argument, if the aggregate is one of the most common ones:
    /// counts and sums of numbers. Returns `false` if nothing was done.
    #[inline]
    pub(super) fn add_plain(&mut self, kind: AggregateKind, argument: Option<&Value>) -> bool {
        match (self, argument) {
            (Accumulator::Count(count), None) => *count += 1,
            (Accumulator::Count(count), Some(value)) => {
                *count += i64::from(kind.takes_null() || !value.is_null())
            }
            (Accumulator::Whole(..), Some(Value::Null)) => {}
            (Accumulator::Whole(sum, count), Some(Value::Integer(number))) => {
                *sum += i128::from(*number);
                *count += 1;
            }
            (Accumulator::Whole(sum, count), Some(Value::BigInt(number))) => {
                *sum += i128::from(*number);
                *count += 1;
            }
            _ => return false,
        }
        true
    }

    /// Takes the arguments of a row. The first is NULL only for aggregates that take NULL.
    pub(super) fn add(&mut self, kind: AggregateKind, arguments: &[Value]) -> Result<()> {
        let value = arguments.first().unwrap_or(&Value::Null);
        match self {
            Accumulator::Count(count) => *count += 1,
            Accumulator::Whole(..)
            | Accumulator::Decimal(..)
            | Accumulator::Double(..)
            | Accumulator::Real(..)
            | Accumulator::Interval(..) => self.add_number(kind == AggregateKind::Sum, value)?,
            Accumulator::Extreme(best) => {
                // Of equal numbers (0 and -0, 1.0 and 1.00) the last one is kept.
                let is_better = best.is_null()
                    || if kind == AggregateKind::Minimum {
                        compare::total(value, best).is_le()
                    } else {
                        compare::total(value, best).is_ge()
                    };
                if is_better {
                    *best = collect::values::copy(value)?;
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
            Accumulator::Bits(bits) => {
                let new = value.as_i64().unwrap_or(0);
                *bits = Some(match (kind, *bits) {
                    (_, None) => new,
                    (AggregateKind::BitAnd, Some(old)) => old & new,
                    (AggregateKind::BitOr, Some(old)) => old | new,
                    (_, Some(old)) => old ^ new,
                });
            }
            Accumulator::Text(text) => add_text(text, value, arguments.get(1))?,
            Accumulator::Bytes(bytes) => add_bytes(bytes, value, arguments.get(1))?,
            Accumulator::Elements(elements) => {
                let kept =
                    if kind == AggregateKind::Collect { arguments } else { std::slice::from_ref(value) };
                memory::check_growth::<Value>(elements.capacity(), elements.len() + kept.len())?;
                for value in kept {
                    elements.push(collect::values::copy(value)?);
                }
            }
            Accumulator::Moments(moments) => moments.add(arguments)?,
            Accumulator::Ordered(ordered) => ordered.add(arguments)?,
            Accumulator::Hypothetical(row) => {
                if let AggregateKind::OrderedSet(kind) = kind {
                    row.add(kind, arguments)?;
                }
            }
        }
        Ok(())
    }

    /// Whether values can be taken away again, with the same results as if they had never been added.
    pub(super) fn can_give_back(&self) -> bool {
        matches!(self, Accumulator::Count(_) | Accumulator::Whole(..))
    }

    /// Takes away a value that was added, or a row if the aggregate has no argument.
    pub(super) fn give_back(&mut self, value: Option<&Value>) {
        match self {
            Accumulator::Count(count) => *count -= 1,
            Accumulator::Whole(sum, count) => {
                *sum -= i128::from(value.and_then(Value::as_i64).unwrap_or(0));
                *count -= 1;
            }
            _ => {}
        }
    }

    /// How many steps a copy of it takes.
    pub(super) fn steps(&self) -> usize {
        match self {
            Accumulator::Elements(elements) => elements.len(),
            other => other.text_bytes() / BYTES_PER_STEP,
        }
    }

    fn add_number(&mut self, is_sum: bool, value: &Value) -> Result<()> {
        match self {
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
                    let is_first = *count == 0 && is_sum;
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
                    let is_first = *count == 0 && is_sum;
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
            _ => {}
        }
        Ok(())
    }

    pub(super) fn result(self, call: &AggregateCall) -> Result<Value> {
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
            Accumulator::Bits(bits) => bits.map_or(Value::Null, |bits| integer(call.argument_type, bits)),
            Accumulator::Text(text) => text.map_or(Value::Null, Value::text),
            Accumulator::Bytes(bytes) => bytes.map_or(Value::Null, |bytes| Value::Bytea(bytes.into())),
            Accumulator::Moments(moments) => match call.kind {
                AggregateKind::Statistic(statistic) => moments.result(statistic)?,
                _ => Value::Null,
            },
            Accumulator::Ordered(ordered) => match call.kind {
                AggregateKind::OrderedSet(kind) => ordered.result(kind)?,
                _ => Value::Null,
            },
            Accumulator::Hypothetical(row) => match call.kind {
                AggregateKind::OrderedSet(kind) => row.result(kind),
                _ => Value::Null,
            },
            Accumulator::Elements(elements) => match call.kind {
                AggregateKind::ArrayAgg(element) if !elements.is_empty() => Value::array(element, elements),
                AggregateKind::Collect => Value::array(ArrayElement::System(SystemType::Record), elements),
                AggregateKind::ArrayOfArrays(element) if !elements.is_empty() => {
                    accumulated(element, &elements)?
                }
                _ => Value::Null,
            },
        })
    }
}

fn float_overflow() -> Error {
    Error::input(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow")
}

/// An integer of this type from its bits.
#[allow(clippy::cast_possible_truncation)]
fn integer(sql_type: SqlType, number: i64) -> Value {
    match sql_type {
        SqlType::SmallInt => Value::SmallInt(number as i16),
        SqlType::Integer => Value::Integer(number as i32),
        _ => Value::BigInt(number),
    }
}

fn add_text(text: &mut Option<String>, value: &Value, delimiter: Option<&Value>) -> Result<()> {
    let value = value.as_str().unwrap_or_default();
    match text {
        None => {
            memory::check(value.len())?;
            *text = Some(value.to_owned());
        }
        Some(text) => {
            let delimiter = delimiter.and_then(Value::as_str).unwrap_or_default();
            let more = delimiter.len() + value.len();
            memory::check_growth::<u8>(text.capacity(), text.len() + more)?;
            text.reserve(more);
            text.push_str(delimiter);
            text.push_str(value);
        }
    }
    Ok(())
}

fn add_bytes(bytes: &mut Option<Vec<u8>>, value: &Value, delimiter: Option<&Value>) -> Result<()> {
    fn of(value: &Value) -> &[u8] {
        if let Value::Bytea(bytes) = value { bytes } else { &[] }
    }
    match bytes {
        None => {
            memory::check(of(value).len())?;
            *bytes = Some(of(value).to_vec());
        }
        Some(bytes) => {
            let (delimiter, value) = (delimiter.map_or(&[][..], of), of(value));
            let more = delimiter.len() + value.len();
            memory::check_growth::<u8>(bytes.capacity(), bytes.len() + more)?;
            bytes.reserve(more);
            bytes.extend_from_slice(delimiter);
            bytes.extend_from_slice(value);
        }
    }
    Ok(())
}

//! The window functions.
//!
//! An aggregate whose frame only grows adds the rows that are new. Counts and sums of integers also take
//! away the rows that a frame leaves behind. All others are computed anew when their frame begins elsewhere,
//! as floating-point sums are in PostgreSQL.
//!
//! Reference: PostgreSQL 15's `windowfuncs.c`.

use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::guest;
use hyades_types::value::Value;

use super::super::accumulator::Accumulator;
use super::frame_bounds::{FrameBounds, Segment};
use super::window_rows::{Peers, WindowRows};
use crate::bind::windowing::{Exclusion, WindowFunction};
use crate::plan::stage::AggregateCall;
use crate::plan::window_stage::StagedCall;

/// The current row, its peers and its frame.
type Place<'p> = (usize, &'p mut Peers, &'p FrameBounds);

/// The state of a call in a partition.
#[derive(Default)]
pub(super) struct CallRun {
    /// For ntile: the number of buckets.
    buckets: Option<i64>,
    aggregate: Option<RunningAggregate>,
}

/// An aggregate over the rows of a frame.
struct RunningAggregate {
    accumulator: Accumulator,
    /// The rows that it has taken, if none of these is excluded.
    taken: Segment,
    /// The result for exactly these rows.
    result: Option<Value>,
}

impl CallRun {
    /// Begins a partition.
    pub(super) fn restart(&mut self) {
        *self = CallRun::default();
    }

    /// The result for the current row.
    pub(super) fn value(
        &mut self,
        call: &StagedCall,
        rows: &mut WindowRows,
        (current, peers, frame): Place<'_>,
    ) -> Result<Value> {
        let argument = |number: usize| call.arguments.get(number).copied().unwrap_or_default();
        let found = match call.function {
            WindowFunction::RowNumber => return Ok(number(current + 1)),
            WindowFunction::Rank => return Ok(number(peers.start + 1)),
            WindowFunction::DenseRank => return Ok(number(peers.number + 1)),
            WindowFunction::PercentRank => {
                let others = rows.complete()? - 1;
                return Ok(Value::Double(if others == 0 { 0.0 } else { share(peers.start, others) }));
            }
            WindowFunction::CumeDist => {
                let (end, count) = (peers.end(current, rows)?, rows.complete()?);
                return Ok(Value::Double(share(end, count)));
            }
            WindowFunction::Ntile => return self.bucket(argument(0), current, rows),
            WindowFunction::Lag | WindowFunction::Lead => return shifted(call, current, rows),
            WindowFunction::Aggregate(_) => match &call.aggregate {
                Some(aggregate) => return self.aggregate(aggregate, rows, frame),
                None => None,
            },
            WindowFunction::FirstValue => frame.nth(0),
            WindowFunction::LastValue => frame.last(),
            WindowFunction::NthValue => match rows.row(current)?[argument(1)].as_i64() {
                None => None,
                Some(place) if place <= 0 => {
                    let message = "argument of nth_value must be greater than zero";
                    return Err(Error::input(sqlstate::INVALID_ARGUMENT_FOR_NTH_VALUE, message));
                }
                Some(place) => usize::try_from(place - 1).ok().and_then(|place| frame.nth(place)),
            },
        };
        match found {
            Some(found) => Ok(rows.row(found)?[argument(0)].clone()),
            None => Ok(Value::Null),
        }
    }

    /// The rows from this one on that the function may still look at when `next` is the current row.
    pub(super) fn needed(&self, call: &StagedCall, next: usize, frame: &FrameBounds) -> usize {
        match call.function {
            WindowFunction::Lag | WindowFunction::Lead => {
                let is_lag = call.function == WindowFunction::Lag;
                let back = call.distance.map(|distance| if is_lag { distance } else { -distance });
                match back {
                    None => 0,
                    Some(back) => next.saturating_sub(usize::try_from(back).unwrap_or(0)),
                }
            }
            WindowFunction::FirstValue | WindowFunction::NthValue => frame.start,
            WindowFunction::LastValue if frame.frame.exclusion == Exclusion::NoOthers => {
                frame.end.saturating_sub(1).max(frame.start)
            }
            WindowFunction::LastValue => frame.start,
            WindowFunction::Aggregate(_) => match &self.aggregate {
                Some(aggregate) if frame.frame.only_grows() => aggregate.taken.1,
                _ => frame.start,
            },
            _ => next,
        }
    }

    fn bucket(&mut self, argument: usize, current: usize, rows: &mut WindowRows) -> Result<Value> {
        let buckets = match self.buckets {
            Some(buckets) => buckets,
            None => match rows.row(current)?[argument].as_i64() {
                None => return Ok(Value::Null),
                Some(buckets) if buckets <= 0 => {
                    let message = "argument of ntile must be greater than zero";
                    return Err(Error::input(sqlstate::INVALID_ARGUMENT_FOR_NTILE, message));
                }
                Some(buckets) => *self.buckets.insert(buckets),
            },
        };
        let count = i64::try_from(rows.complete()?).unwrap_or(i64::MAX);
        let current = i64::try_from(current).unwrap_or(i64::MAX);
        // The first buckets have one row more than the others.
        let (size, larger) = (count / buckets, count % buckets);
        let in_larger = larger * (size + 1);
        let bucket = match current < in_larger {
            true => current / (size + 1),
            false => larger + (current - in_larger) / size.max(1),
        };
        Ok(Value::Integer(i32::try_from(bucket + 1).unwrap_or(i32::MAX)))
    }

    fn aggregate(
        &mut self,
        call: &AggregateCall,
        rows: &mut WindowRows,
        frame: &FrameBounds,
    ) -> Result<Value> {
        let aggregate = self.aggregate.get_or_insert_with(|| RunningAggregate {
            accumulator: Accumulator::new(call),
            taken: (0, 0),
            result: None,
        });
        if frame.frame.exclusion != Exclusion::NoOthers {
            let mut accumulator = Accumulator::new(call);
            for segment in frame.segments() {
                take(&mut accumulator, call, segment, rows)?;
            }
            return accumulator.result(call);
        }
        aggregate.go_to((frame.start, frame.end), call, rows)?;
        if aggregate.result.is_none() {
            guest::spend_for(aggregate.accumulator.steps())?;
            aggregate.result = Some(aggregate.accumulator.clone().result(call)?);
        }
        Ok(aggregate.result.clone().unwrap_or_default())
    }
}

impl RunningAggregate {
    /// Takes the rows of the frame, and no others.
    fn go_to(&mut self, frame: Segment, call: &AggregateCall, rows: &mut WindowRows) -> Result<()> {
        if self.taken == frame {
            return Ok(());
        }
        self.result = None;
        let (start, end) = frame;
        let (from, mut to) = self.taken;
        let overlaps = from <= start && start <= to && to <= end;
        if overlaps && start > from && self.accumulator.can_give_back() {
            for at in from..start {
                give_back(&mut self.accumulator, call, rows.row(at)?)?;
            }
        } else if !overlaps || start > from {
            self.accumulator = Accumulator::new(call);
            to = start;
        }
        self.taken = frame;
        take(&mut self.accumulator, call, (to, end), rows)
    }
}

/// Whether the filter lets the row through, and its first argument counts.
fn counts(call: &AggregateCall, row: &[Value]) -> bool {
    let passes = call.filter.is_none_or(|filter| row[filter].as_bool() == Some(true));
    passes && (call.kind.takes_null() || call.arguments.first().is_none_or(|first| !row[*first].is_null()))
}

/// Adds the rows of a segment.
fn take(
    accumulator: &mut Accumulator,
    call: &AggregateCall,
    (from, to): Segment,
    rows: &mut WindowRows,
) -> Result<()> {
    let mut arguments = Vec::new();
    for at in from..to {
        guest::spend(1)?;
        let row = rows.row(at)?;
        if !counts(call, row) {
            continue;
        }
        match call.arguments.as_slice() {
            [] => accumulator.add(call.kind, &[])?,
            [argument] => {
                let value = &row[*argument];
                if !accumulator.add_plain(call.kind, Some(value)) {
                    accumulator.add(call.kind, std::slice::from_ref(value))?;
                }
            }
            several => {
                arguments.clear();
                arguments.extend(several.iter().map(|argument| row[*argument].clone()));
                accumulator.add(call.kind, &arguments)?;
            }
        }
    }
    Ok(())
}

/// Takes a row away that was added before.
fn give_back(accumulator: &mut Accumulator, call: &AggregateCall, row: &[Value]) -> Result<()> {
    guest::spend(1)?;
    if counts(call, row) {
        accumulator.give_back(call.arguments.first().map(|argument| &row[*argument]));
    }
    Ok(())
}

/// The value of lag or lead: in a row before or after the current one, or the default.
fn shifted(call: &StagedCall, current: usize, rows: &mut WindowRows) -> Result<Value> {
    let value = call.arguments.first().copied().unwrap_or_default();
    let distance = match (call.distance, call.arguments.get(1)) {
        (Some(distance), _) => distance,
        (None, Some(argument)) => match rows.row(current)?[*argument].as_i64() {
            Some(distance) => distance,
            None => return Ok(Value::Null),
        },
        (None, None) => 1,
    };
    let ahead = if call.function == WindowFunction::Lag { -distance } else { distance };
    let target = i64::try_from(current).ok().and_then(|current| current.checked_add(ahead));
    if let Some(target) = target.and_then(|target| usize::try_from(target).ok())
        && rows.has(target)?
    {
        return Ok(rows.row(target)?[value].clone());
    }
    match call.arguments.get(2) {
        Some(otherwise) => Ok(rows.row(current)?[*otherwise].clone()),
        None => Ok(Value::Null),
    }
}

fn number(number: usize) -> Value {
    Value::BigInt(i64::try_from(number).unwrap_or(i64::MAX))
}

// A count of rows is far below 2^52.
#[allow(clippy::cast_precision_loss)]
fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

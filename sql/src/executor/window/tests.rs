//! Windows in memory and on disk, against a definition without cleverness.

use std::sync::Arc;

use hyades_engine::procedure::ir::{Stage, StageRows};
use hyades_types::environment::{Environment, WorkMemory};
use hyades_types::value::{SqlType, Value};

use super::super::staged_row::Row;
use crate::bind::aggregation::AggregateKind;
use crate::bind::windowing::{Exclusion, FrameUnit, WindowFunction};
use crate::plan::stage::{AggregateCall, SortKey};
use crate::plan::window_stage::{
    StagedBound, StagedCall, StagedFrame, StagedWindow, WindowPass, WindowStage,
};

const ROWS: i64 = 400;

/// Rows of a partition (7 of different sizes), a key with peers, and a number.
fn input() -> Vec<[i64; 3]> {
    let mut state = 42_u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % below) as i64
    };
    (0..ROWS).map(|_| [next(49).isqrt(), next(12) + 1, next(1000) - 500]).collect()
}

fn sum() -> StagedCall {
    let aggregate = AggregateCall {
        kind: AggregateKind::Sum,
        arguments: vec![2],
        argument_type: SqlType::BigInt,
        filter: None,
        is_distinct: false,
        order: Vec::new(),
    };
    StagedCall {
        function: WindowFunction::Aggregate(AggregateKind::Sum),
        arguments: Vec::new(),
        distance: None,
        aggregate: Some(aggregate),
    }
}

fn call(function: WindowFunction, arguments: &[usize], distance: Option<i64>) -> StagedCall {
    StagedCall { function, arguments: arguments.to_vec(), distance, aggregate: None }
}

/// Each row with the results, in the order of the output.
fn results(frame: StagedFrame, registers: &[Value], work: usize) -> Vec<Row> {
    let (partition, order) = (vec![SortKey::ascending(0)], vec![SortKey::ascending(1)]);
    let calls = vec![
        sum(),
        call(WindowFunction::FirstValue, &[2], None),
        call(WindowFunction::LastValue, &[2], None),
        call(WindowFunction::NthValue, &[2, 1], None),
        call(WindowFunction::Lag, &[2], Some(3)),
        call(WindowFunction::Rank, &[], None),
        call(WindowFunction::CumeDist, &[], None),
    ];
    let stage = WindowStage {
        fed: 3,
        carried: 3,
        output: None,
        passes: vec![WindowPass {
            sort: [partition.clone(), order.clone()].concat(),
            partition,
            order,
            windows: vec![StagedWindow { frame, calls }],
        }],
    };
    let environment = Environment {
        work_memory: WorkMemory { bytes: work, ..WorkMemory::default() },
        ..Environment::default()
    };
    let mut run = Arc::new(stage).start(registers, &environment);
    for row in input() {
        run.feed(&mut row.map(Value::BigInt)).unwrap();
    }
    match run.finish().unwrap() {
        StageRows::InMemory(rows) => rows,
        StageRows::Later(rows) => rows.collect::<hyades_types::error::Result<Vec<Row>>>().unwrap(),
    }
}

/// The rows of one partition that the frame of a row has, by the definition.
fn framed(partition: &[[i64; 3]], current: usize, frame: StagedFrame, offset: i64) -> Vec<usize> {
    let group =
        |at: usize| partition[..at].iter().map(|row| row[1]).collect::<std::collections::BTreeSet<_>>();
    let groups_before = |at: usize| group(at).iter().filter(|key| **key < partition[at][1]).count() as i64;
    let place = |at: usize| match frame.unit {
        FrameUnit::Rows => at as i64,
        FrameUnit::Range => partition[at][1],
        FrameUnit::Groups => groups_before(at),
    };
    let bound = |bound: StagedBound| match bound {
        StagedBound::UnboundedPreceding => i64::MIN,
        StagedBound::Preceding(_) => place(current) - offset,
        StagedBound::CurrentRow => place(current),
        StagedBound::Following(_) => place(current) + offset,
        StagedBound::UnboundedFollowing => i64::MAX,
    };
    let is_peer = |at: usize| partition[at][1] == partition[current][1];
    let is_excluded = |at: usize| match frame.exclusion {
        Exclusion::NoOthers => false,
        Exclusion::CurrentRow => at == current,
        Exclusion::Group => is_peer(at),
        Exclusion::Ties => is_peer(at) && at != current,
    };
    (0..partition.len())
        .filter(|at| (bound(frame.start)..=bound(frame.end)).contains(&place(*at)) && !is_excluded(*at))
        .collect()
}

#[test]
fn all_frames_are_those_of_the_definition_in_memory_and_on_disk() {
    let mut sorted = input();
    sorted.sort_by_key(|row| (row[0], row[1]));
    let bounds = [
        StagedBound::UnboundedPreceding,
        StagedBound::Preceding(0),
        StagedBound::CurrentRow,
        StagedBound::Following(0),
        StagedBound::UnboundedFollowing,
    ];
    let exclusions = [Exclusion::NoOthers, Exclusion::CurrentRow, Exclusion::Group, Exclusion::Ties];
    for unit in [FrameUnit::Rows, FrameUnit::Range, FrameUnit::Groups] {
        for (at, start) in bounds[..4].iter().enumerate() {
            for end in &bounds[at.max(1)..] {
                for exclusion in exclusions {
                    let frame = StagedFrame { unit, start: *start, end: *end, exclusion };
                    for offset in [0, 2] {
                        check(&sorted, frame, offset);
                    }
                }
            }
        }
    }
}

fn check(sorted: &[[i64; 3]], frame: StagedFrame, offset: i64) {
    let registers = [Value::BigInt(offset)];
    let found = results(frame, &registers, usize::MAX);
    for work in [2_000, 1] {
        assert_eq!(results(frame, &registers, work), found, "{frame:?} {offset}");
    }
    let mut at = 0;
    while at < sorted.len() {
        let end = sorted[at..].iter().position(|row| row[0] != sorted[at][0]);
        let partition = &sorted[at..end.map_or(sorted.len(), |end| at + end)];
        for (current, row) in partition.iter().enumerate() {
            let rows = framed(partition, current, frame, offset);
            let value = |at: Option<&usize>| at.map_or(Value::Null, |at| Value::BigInt(partition[*at][2]));
            let nth = match usize::try_from(row[1]) {
                Ok(place) => value(rows.get(place - 1)),
                Err(_) => Value::Null,
            };
            let total: i64 = rows.iter().map(|at| partition[*at][2]).sum();
            let total = if rows.is_empty() {
                Value::Null
            } else {
                Value::numeric(hyades_types::numeric::from_i64(total))
            };
            let expected =
                [total, value(rows.first()), value(rows.last()), nth, value(current.checked_sub(3).as_ref())];
            let shown = format!("{frame:?} {offset} {row:?} {current}");
            assert_eq!(found[at + current][..3], row.map(Value::BigInt), "{shown}");
            assert_eq!(found[at + current][3..8], expected, "{shown}");
        }
        at += partition.len();
    }
}

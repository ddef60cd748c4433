//! Groups and set operations with less memory than they need.

use hyades_engine::procedure::ir::{Stage, StageRun};
use hyades_types::environment::Environment;
use hyades_types::value::SqlType;
use sqlparser::ast::SetOperator;

use super::*;
use crate::bind::aggregation::AggregateKind;
use crate::plan::stage::{AggregateCall, Combination, Grouping};

fn collected(rows: StageRows) -> (Vec<Row>, bool) {
    match rows {
        StageRows::InMemory(rows) => (rows, false),
        StageRows::Later(rows) => (rows.collect::<Result<Vec<Row>>>().unwrap(), true),
    }
}

/// The output of a stage for these rows with this much memory, and whether it needed the disk.
fn answer(stage: &Arc<impl Stage + 'static>, rows: &[Row], bytes: usize) -> (Vec<Row>, bool) {
    let mut environment = Environment::default();
    environment.work_memory.bytes = bytes;
    let mut run: Box<dyn StageRun> = (Arc::clone(stage) as Arc<dyn Stage>).start(&[], &environment);
    rows.iter().for_each(|row| run.feed(&mut row.clone()).unwrap());
    collected(run.finish().unwrap())
}

fn agrees_with_less_memory(stage: &Arc<impl Stage + 'static>, rows: &[Row]) {
    let (expected, is_spilled) = answer(stage, rows, usize::MAX);
    assert!(!is_spilled && !expected.is_empty());
    for bytes in [100_000, 1] {
        let (found, is_spilled) = answer(stage, rows, bytes);
        assert!(is_spilled, "{stage:?} in {bytes}");
        assert!(found == expected, "{stage:?} in {bytes}");
    }
}

fn call(kind: AggregateKind, argument: usize) -> AggregateCall {
    AggregateCall {
        kind,
        arguments: vec![argument],
        argument_type: SqlType::Integer,
        filter: None,
        is_distinct: false,
        order: Vec::new(),
    }
}

/// Keys with few and with many rows, NULLs, and partitions of partitions.
fn keyed_rows() -> Vec<Row> {
    (0..20_000_i32)
        .map(|at| {
            let key =
                if at % 11 == 0 { Value::Null } else { Value::text(format!("key {}", at * 7919 % 9973)) };
            vec![key, Value::Integer(at % 3), Value::Integer(at)]
        })
        .collect()
}

#[test]
fn groups_and_their_order_do_not_depend_on_memory() {
    let calls = vec![call(AggregateKind::CountRows, 2), call(AggregateKind::Sum, 2)];
    let grouping = Grouping { keys: 2, chars: Vec::new(), is_grouped: true, sets: Vec::new(), calls };
    agrees_with_less_memory(&Arc::new(grouping.clone()), &keyed_rows());
    let sets = vec![vec![0, 1], vec![1], vec![], vec![0]];
    agrees_with_less_memory(&Arc::new(Grouping { sets, ..grouping }), &keyed_rows());
}

#[test]
fn set_operations_do_not_depend_on_memory() {
    let rows: Vec<Row> = keyed_rows()
        .into_iter()
        .map(|mut row| {
            let side = row[2].as_i64().unwrap() % 3 == 0;
            row[2] = Value::Boolean(side);
            row
        })
        .collect();
    for operator in [SetOperator::Union, SetOperator::Intersect, SetOperator::Except] {
        for is_all in [false, true] {
            let rows = if operator == SetOperator::Intersect {
                // Both sides have the same rows.
                rows.iter()
                    .flat_map(|row| {
                        let mut other = row.clone();
                        other[2] = Value::Boolean(row[2].as_bool() == Some(false));
                        [row.clone(), other]
                    })
                    .collect()
            } else {
                rows.clone()
            };
            agrees_with_less_memory(&Arc::new(Combination { chars: Vec::new(), operator, is_all }), &rows);
        }
    }
}

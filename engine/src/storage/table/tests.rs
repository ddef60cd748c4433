//! Installing rows, counting them, numbering them, exchanging states.

use std::sync::Arc;
use std::thread;

use crossbeam_epoch::pin;
use hyades_types::definition::{
    ColumnDefinition, IndexKind, PrimaryKey, TableDefinition, TableId, TableName,
};
use hyades_types::error::Error;
use hyades_types::value::{SqlType, Value};

use super::{Table, TableState};

/// `create table t (a integer, b text)`, with a primary key on these columns unless there are none.
pub(crate) fn definition(key: &[u16], index: IndexKind) -> TableDefinition {
    let column = |name: &str, sql_type| ColumnDefinition::new(name, sql_type);
    TableDefinition {
        name: TableName { schema: "public".into(), name: "t".into() },
        columns: vec![column("a", SqlType::Integer), column("b", SqlType::Text)],
        primary_key: (!key.is_empty()).then(|| PrimaryKey {
            name: "t_pkey".into(),
            columns: key.to_vec(),
            index,
            parameters: Vec::new(),
        }),
        indexes: Vec::new(),
        foreign_keys: Vec::new(),
        referenced_by: Vec::new(),
        view: None,
        materialized: None,
        checks: Vec::new(),
        triggers: Vec::new(),
        dropped: Vec::new(),
        parameters: Vec::new(),
    }
}

/// The row of `(a, b)`; `None` stands for NULL.
pub(crate) fn row(state: &TableState, a: Option<i32>, b: &str) -> Vec<u8> {
    let values = [a.map_or(Value::Null, Value::Integer), Value::Text(b.into())];
    let mut row = Vec::new();
    state.layout().encode(&values, &mut row);
    row
}

/// Installs `(a, b)` under its key, or under a new row number.
pub(crate) fn install(table: &Table, a: Option<i32>, b: &str) {
    let guard = pin();
    let state = table.state(&guard);
    let row = row(state, a, b);
    let mut key = Vec::new();
    if state.has_hidden_key() {
        key.extend_from_slice(&state.new_row_number().to_be_bytes());
    } else {
        state.encode_key(&row, &mut key);
    }
    state.install(&key, Some(&row), &guard).expect("the row is one of the table");
}

/// All `a`, in the order of the index.
pub(crate) fn numbers(state: &TableState) -> Vec<Value> {
    let mut numbers = Vec::new();
    let collected = state.for_each_row(&pin(), |row| {
        numbers.push(state.layout().value(row, 0));
        Ok(())
    });
    collected.expect("nothing fails");
    numbers
}

#[test]
fn after_images_are_installed_and_counted() {
    for kind in [IndexKind::Ordered, IndexKind::Hash] {
        let table = Table::new(TableId(1), definition(&[0], kind));
        let guard = pin();
        let state = table.state(&guard);
        for number in [3, 1, 2, 3] {
            install(&table, Some(number), "x");
        }
        assert_eq!(table.row_count(), 3);
        let mut key = Vec::new();
        state.encode_key(&row(state, Some(1), ""), &mut key);
        for _ in 0..2 {
            table.install(&key, None, &guard).expect("deleting twice is once");
        }
        assert_eq!(table.row_count(), 2);
        assert!(state.index().get(&key, &guard).is_none(), "replay leaves no tombstones");
        let mut numbers = numbers(state);
        numbers.sort_by_key(|number| format!("{number:?}"));
        assert_eq!(numbers, [Value::Integer(2), Value::Integer(3)]);
    }
}

#[test]
fn racing_installs_and_deletions_of_one_key_lose_no_row() {
    for kind in [IndexKind::Ordered, IndexKind::Hash] {
        let table = Arc::new(Table::new(TableId(1), definition(&[0], kind)));
        let threads: Vec<_> = (0..3_i32)
            .map(|own| {
                let table = Arc::clone(&table);
                thread::spawn(move || {
                    let guard = pin();
                    let row = row(table.state(&guard), Some(0), "x");
                    let mut key = Vec::new();
                    table.state(&guard).encode_key(&row, &mut key);
                    for step in 0..4000 {
                        let row = ((step + own) % 2 == 0).then_some(&row[..]);
                        table.install(&key, row, &guard).expect("the row is one of the table");
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().expect("a thread failed"));
        assert_eq!(table.row_count(), numbers(&table.shared_state()).len() as u64);
    }
}

#[test]
fn foreign_keys_and_rows_are_refused_as_corruption() {
    let table = Table::new(TableId(1), definition(&[0], IndexKind::Ordered));
    let guard = pin();
    let row = row(table.state(&guard), Some(1), "x");
    for (key, row) in [(&[1, 2, 3][..], &row[..]), (&[1, 2, 3, 4], &row[1..])] {
        assert!(matches!(table.install(key, Some(row), &guard), Err(Error::Fatal(_))));
    }
    assert_eq!(table.row_count(), 0);
}

#[test]
fn row_numbers_continue_above_what_was_installed() {
    let table = Table::new(TableId(1), definition(&[], IndexKind::Ordered));
    let guard = pin();
    let row = row(table.state(&guard), None, "x");
    for number in [5_u64, 700, 20] {
        table.install(&number.to_be_bytes(), Some(&row), &guard).expect("the row is one of the table");
    }
    assert_eq!((table.new_row_number(), table.new_row_number()), (701, 702));
    table.install(&900_u64.to_be_bytes(), Some(&row), &guard).expect("the row is one of the table");
    assert_eq!(table.new_row_number(), 901);
    let truncated = Arc::new(table.state(&guard).truncated());
    assert_eq!(truncated.new_row_number(), 1);
}

#[test]
fn row_numbers_are_unique_over_threads() {
    let table = Arc::new(Table::new(TableId(1), definition(&[], IndexKind::Ordered)));
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let table = Arc::clone(&table);
            thread::spawn(move || (0..500).for_each(|_| install(&table, Some(1), "x")))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("a thread failed"));
    assert_eq!((table.row_count(), numbers(&table.shared_state()).len()), (1500, 1500));
}

#[test]
fn exchanged_states_keep_their_rows_and_go_back() {
    let table = Table::new(TableId(1), definition(&[0], IndexKind::Ordered));
    install(&table, Some(1), "x");
    let guard = pin();
    let before = table.state(&guard);
    let old = table.replace_state(Arc::new(before.truncated()), &guard);
    assert_eq!((table.row_count(), table.version()), (0, 0));
    assert_eq!((before.row_count(), old.row_count()), (1, 1));
    install(&table, Some(2), "x");
    table.replace_state(old, &guard);
    assert_eq!(numbers(table.state(&guard)), [Value::Integer(1)]);

    let other = TableState::new(Arc::new(definition(&[1], IndexKind::Ordered)));
    let old = table.replace_state(Arc::new(other), &guard);
    assert_eq!(
        (table.version(), table.definition().primary_key.as_ref().map(|key| &key.columns[..])),
        (1, Some(&[1][..]))
    );
    table.replace_state(old, &guard);
    assert_eq!(table.version(), 2, "a version never comes back");
    table.mark_dropped();
    assert!(table.is_dropped());
}

#[test]
fn a_state_read_under_a_guard_outlives_its_exchange() {
    let table = Arc::new(Table::new(TableId(1), definition(&[0], IndexKind::Ordered)));
    let writer = thread::spawn({
        let table = Arc::clone(&table);
        move || {
            for _ in 0..300 {
                let guard = pin();
                let next = Arc::new(table.state(&guard).truncated());
                drop(table.replace_state(next, &guard));
                install(&table, Some(1), "x");
                guard.flush();
            }
        }
    });
    while !writer.is_finished() {
        let guard = pin();
        let state = table.state(&guard);
        assert!(state.row_count() <= 1 && numbers(state).len() <= 1);
        drop(table.shared_state());
    }
    writer.join().expect("the writer failed");
}

//! A bulk load gives the same result as installing the rows one by one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_epoch::pin;
use hyades_types::definition::{Deferral, IndexColumn, IndexDefinition, IndexKind, TableDefinition, TableId};
use hyades_types::error::Result;

use super::TableLoad;
use crate::storage::catalog::for_each_record;
use crate::storage::primary_index::PrimaryIndex;
use crate::storage::table::tests::{definition, numbers, row};
use crate::storage::table::{Table, TableState};

type Row = (Vec<u8>, Vec<u8>);

/// With an index on the text, one on both columns in reverse order, and one on the number.
pub(crate) fn indexed(kind: IndexKind, key: &[u16]) -> TableDefinition {
    let index = |id: u32, columns: &[(u16, bool)]| IndexDefinition {
        columns: columns
            .iter()
            .map(|(column, is_descending)| IndexColumn {
                column: *column,
                is_descending: *is_descending,
                nulls_first: *is_descending,
                operator_class: None,
            })
            .collect(),
        id: TableId(id),
        name: format!("index_{id}"),
        included: Vec::new(),
        is_unique: false,
        nulls_are_equal: false,
        predicate: None,
        is_constraint: false,
        deferral: Deferral::Never,
        is_primary: false,
        kind: IndexKind::Ordered,
        parameters: Vec::new(),
    };
    let indexes =
        vec![index(11, &[(1, false)]), index(12, &[(0, true), (1, true)]), index(13, &[(0, false)])];
    TableDefinition { indexes, ..definition(key, kind) }
}

/// Rows of a table whose key is its number; the text has few values.
fn rows(state: &TableState, count: i32) -> Vec<Row> {
    let made = (0..count).map(|number| {
        let row =
            row(state, Some(number * 7919 % 10_007), ["", "a", "text", "longer text"][number as usize % 4]);
        let mut key = Vec::new();
        state.encode_key(&row, &mut key);
        (key, row)
    });
    let mut rows: Vec<Row> = made.collect();
    rows.sort();
    rows
}

/// Loads the rows in this many ranges, each by a thread of its own.
fn load(table: &Table, rows: &[Row], ranges: usize) -> Result<()> {
    let load = Arc::new(TableLoad::new(table.shared_state(), ranges, rows.len() as u64));
    let threads: Vec<_> = (0..ranges)
        .map(|place| {
            let load = Arc::clone(&load);
            let range = rows[rows.len() * place / ranges..rows.len() * (place + 1) / ranges].to_vec();
            std::thread::spawn(move || {
                let mut loading = load.range(place, range.len());
                range.iter().try_for_each(|(key, row)| loading.add(key, row))?;
                loading.finish();
                Ok(())
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("it does not panic")?;
    }
    load.divide().into_iter().try_for_each(|piece| load.build(piece))?;
    load.conclude(&pin())
}

/// Keys, and the rows under them.
fn content(index: &PrimaryIndex) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
    let (guard, mut content) = (pin(), Vec::new());
    let collected = for_each_record(index, &guard, |key, record| {
        content.push((key.to_vec(), record.row(&guard).map(<[u8]>::to_vec)));
        Ok(())
    });
    collected.expect("nothing fails");
    content
}

fn check(definition: &TableDefinition, rows_of: impl Fn(&TableState) -> Vec<Row>, ranges: usize) {
    let [table, expected] = [1, 2].map(|id| Table::new(TableId(id), definition.clone()));
    let rows = rows_of(&table.shared_state());
    load(&table, &rows, ranges).expect("nothing is wrong");
    let guard = pin();
    rows.iter().for_each(|(key, row)| expected.install(key, Some(row), &guard).expect("nothing is wrong"));
    assert_eq!(table.row_count(), rows.len() as u64);
    let (state, expected) = (table.shared_state(), expected.shared_state());
    assert_eq!(content(state.index()), content(expected.index()));
    for (index, expected) in state.indexes().iter().zip(expected.indexes()) {
        assert_eq!(content(index.entries()), content(expected.entries()));
        assert_eq!(content(index.entries()).len(), rows.len());
    }
    // It behaves as any other: all rows can be deleted.
    rows.iter().for_each(|(key, _)| table.install(key, None, &guard).expect("nothing is wrong"));
    assert_eq!(table.row_count(), 0);
    assert!(state.indexes().iter().all(|index| content(index.entries()).is_empty()));
}

#[test]
fn rows_and_entries_are_as_if_they_had_come_one_by_one() {
    for kind in [IndexKind::Ordered, IndexKind::Hash] {
        for (count, ranges) in [(0, 1), (1, 1), (1, 4), (63, 1), (64, 2), (9_000, 1), (9_000, 5)] {
            check(&indexed(kind, &[0]), |state| rows(state, count), ranges);
            check(&definition(&[0], kind), |state| rows(state, count), ranges);
        }
    }
    // Keys of any length, and both columns.
    check(&indexed(IndexKind::Ordered, &[1, 0]), |state| rows(state, 5_000), 3);
}

#[test]
fn rows_without_a_primary_key_may_have_nulls_and_be_the_same() {
    let rows = |state: &TableState| -> Vec<Row> {
        let row = |number: u64| {
            let column = (!number.is_multiple_of(3)).then_some((number % 5) as i32);
            (number.to_be_bytes().to_vec(), row(state, column, "the same"))
        };
        (10..3_000).map(row).collect()
    };
    check(&indexed(IndexKind::Ordered, &[]), rows, 4);
    let table = Table::new(TableId(1), definition(&[], IndexKind::Ordered));
    load(&table, &rows(&table.shared_state()), 2).expect("nothing is wrong");
    assert_eq!(table.new_row_number(), 3_000, "numbers continue after those that were loaded");
    assert_eq!(numbers(&table.shared_state()).len(), 2_990);
}

#[test]
fn what_was_loaded_is_unchanged_since_the_checkpoint() {
    let table = Table::new(TableId(1), definition(&[0], IndexKind::Ordered));
    let rows = rows(&table.shared_state(), 100);
    load(&table, &rows, 1).expect("nothing is wrong");
    let (guard, state) = (pin(), table.shared_state());
    let record = |key: &[u8]| state.index().get(key, &guard).expect("nothing is wrong");
    assert!(rows.iter().all(|(key, _)| record(key).writer().is_before(&[])));
    let (key, row) = &rows[7];
    table.install(key, Some(row), &guard).expect("nothing is wrong");
    assert!(!record(key).writer().is_before(&[]), "the replay has written it");
}

#[test]
fn rows_that_come_twice_or_do_not_fit_are_refused() {
    for kind in [IndexKind::Ordered, IndexKind::Hash] {
        let rows_twice = |place: usize, ranges: usize| {
            let table = Table::new(TableId(1), indexed(kind, &[0]));
            let mut rows = rows(&table.shared_state(), 500);
            rows.insert(place, rows[place].clone());
            load(&table, &rows, ranges)
        };
        assert!(rows_twice(100, 1).is_err());
        // The second one is the first of its range.
        assert!(rows_twice(250, 501).is_err());
        let table = Table::new(TableId(1), definition(&[0], kind));
        let mut rows = rows(&table.shared_state(), 5);
        rows[3].1.pop();
        assert!(load(&table, &rows, 1).is_err());
        let mut rows = self::rows(&table.shared_state(), 5);
        rows[4].0.push(0);
        assert!(load(&Table::new(TableId(1), definition(&[0], kind)), &rows, 1).is_err());
    }
}

/// A range that is loaded again has its last rows, and others are not disturbed.
#[test]
fn a_range_can_be_loaded_again_and_found_before_the_others() {
    for key in [&[0][..], &[1, 0]] {
        let table = Table::new(TableId(1), definition(key, IndexKind::Ordered));
        let state = table.shared_state();
        let rows = rows(&state, 1_000);
        let load = TableLoad::new(Arc::clone(&state), 2, 1_000);
        let mut first = load.range(0, 500);
        rows[..500].iter().for_each(|(key, row)| first.add(key, row).expect("nothing is wrong"));
        first.finish();
        let guard = pin();
        assert!(state.index().get(&rows[7].0, &guard).is_none() && !state.index().is_being_loaded());
        let mut again = load.range(0, 499);
        for (place, (key, row)) in rows[..500].iter().enumerate() {
            match place {
                3 => again.leave_out(key),
                _ => again.add_changed(key, row).expect("nothing is wrong"),
            }
        }
        again.publish(&[]);
        assert_eq!((state.row_count(), state.index().is_being_loaded()), (499, true));
        let found =
            |place: usize| state.index().get(&rows[place].0, &guard).and_then(|record| record.row(&guard));
        for place in [0, 2, 4, 62, 63, 64, 499] {
            assert_eq!(found(place), Some(&*rows[place].1), "{place}");
        }
        assert!(found(3).is_none() && found(500).is_none());
        let mut second = load.range(1, 500);
        rows[500..].iter().for_each(|(key, row)| second.add(key, row).expect("nothing is wrong"));
        second.finish();
        load.conclude(&guard).expect("nothing is wrong");
        assert_eq!((found(4), found(500)), (Some(&*rows[4].1), Some(&*rows[500].1)));
        assert_eq!((state.row_count(), content(state.index()).len()), (999, 999));
    }
}

/// Threads find and change the rows of a range, without a gap, while the index takes it over.
#[test]
fn rows_that_were_published_are_found_while_the_index_takes_them_over() {
    for _ in 0..20 {
        let table = Table::new(TableId(1), definition(&[0], IndexKind::Ordered));
        let state = table.shared_state();
        let rows = rows(&state, 4_000);
        let load = TableLoad::new(Arc::clone(&state), 2, 4_000);
        let (mut first, mut second) = (load.range(0, 2_000), load.range(1, 2_000));
        rows[..2_000].iter().for_each(|(key, row)| first.add(key, row).expect("nothing is wrong"));
        rows[2_000..].iter().for_each(|(key, row)| second.add(key, row).expect("nothing is wrong"));
        first.publish(&[]);
        second.finish();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for number in 0..2 {
                let (state, rows, is_over) = (&state, &rows, &is_over);
                scope.spawn(move || {
                    let mut passes = 0;
                    while passes < 2 || !is_over.load(Ordering::Relaxed) {
                        for (key, row) in rows[..2_000].iter().skip(number).step_by(2) {
                            let guard = pin();
                            let record = state.index().get(key, &guard).expect("it was published");
                            assert_eq!(record.row(&guard), Some(&**row));
                            let old = record.try_replace(Some(row), &guard).expect("it stays in its index");
                            old.into_iter().for_each(|old| old.retire(&guard));
                        }
                        passes += 1;
                    }
                });
            }
            load.conclude(&pin()).expect("nothing is wrong");
            is_over.store(true, Ordering::Relaxed);
        });
        assert_eq!(content(state.index()).len(), 4_000);
        while state.index().is_being_loaded() {
            pin().flush();
        }
    }
}

#[test]
fn ranges_that_overlap_are_refused_although_one_was_published() {
    let table = Table::new(TableId(1), definition(&[0], IndexKind::Ordered));
    let state = table.shared_state();
    let rows = rows(&state, 100);
    let load = TableLoad::new(Arc::clone(&state), 2, 100);
    let (mut first, mut second) = (load.range(0, 60), load.range(1, 50));
    rows[..60].iter().for_each(|(key, row)| first.add(key, row).expect("nothing is wrong"));
    rows[50..].iter().for_each(|(key, row)| second.add(key, row).expect("nothing is wrong"));
    first.publish(&[]);
    second.finish();
    let guard = pin();
    let record = state.index().get(&rows[5].0, &guard).expect("it was published");
    assert!(load.conclude(&guard).is_err());
    assert_eq!(record.row(&guard), Some(&*rows[5].1), "it is there as long as the thread is pinned");
}

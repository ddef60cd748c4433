//! Replayed accesses alone: what is rolled back leaves neither rows nor traces in the hash.

use std::sync::Arc;

use crossbeam_epoch as epoch;
use hyades_types::definition::{IndexKind, TableId};

use super::ReplayAccess;
use crate::storage::table::Table;
use crate::storage::table::tests::{definition, install};
use crate::txn::{Access, Duplicate, Found, Insertion, Intent, NewRow, Writable};

/// A key and a row of the test table, made by the table itself.
fn stored(a: i32, b: &str) -> (Vec<u8>, Vec<u8>) {
    let table = Table::new(TableId(1), definition(&[0], IndexKind::Ordered));
    install(&table, Some(a), b);
    let guard = crossbeam_epoch::pin();
    let mut found = None;
    table
        .state(&guard)
        .for_each_row(&guard, |row| {
            let mut key = Vec::new();
            table.state(&guard).encode_key(row, &mut key);
            found = Some((key, row.to_vec()));
            Ok(())
        })
        .expect("nothing fails");
    found.expect("it was installed")
}

fn insert(access: &mut ReplayAccess, table: &Arc<Table>, (key, row): &(Vec<u8>, Vec<u8>)) -> Insertion {
    access.insert(table, NewRow::new(key, row)).unwrap_or_else(|_| panic!("replay neither waits nor fails"))
}

fn admitted<'a>(access: &mut ReplayAccess, table: &'a Arc<Table>, key: &'a [u8]) -> Writable<'a> {
    access.admit_write(table, key, None).unwrap_or_else(|_| panic!("replay neither waits nor fails"))
}

fn read(access: &mut ReplayAccess, table: &Arc<Table>, key: &[u8]) -> Option<Vec<u8>> {
    let guard = epoch::pin();
    let found = access.read_point(table, key, Intent::READ, None, &mut Vec::new(), &guard);
    match found.unwrap_or_else(|_| panic!("replay neither waits nor fails")) {
        Found::InPlace(row) => Some(row.bytes.to_vec()),
        Found::Nothing | Found::Copied => None,
    }
}

#[test]
fn what_is_rolled_back_leaves_nothing() {
    let table = Arc::new(Table::new(TableId(1), definition(&[0], IndexKind::Ordered)));
    let (one, two, other_one) = (stored(1, "one"), stored(2, "two"), stored(1, "uno"));
    let mut access = ReplayAccess::default();
    access.begin();
    assert_eq!(insert(&mut access, &table, &one), Insertion::Done);
    assert_eq!(
        insert(&mut access, &table, &one),
        Insertion::Duplicate(Duplicate { index: None, is_seen: true })
    );
    let hash = access.write_set();
    let savepoint = access.savepoint();
    let written = admitted(&mut access, &table, &one.0);
    access.update(written, &other_one.1, None);
    assert_eq!(insert(&mut access, &table, &two), Insertion::Done);
    let deleted = admitted(&mut access, &table, &one.0);
    access.delete(deleted);
    assert_eq!(read(&mut access, &table, &one.0), None);
    access.rollback_to(savepoint);
    assert_eq!(access.write_set(), hash);
    assert_eq!(read(&mut access, &table, &one.0), Some(one.1));
    assert_eq!(read(&mut access, &table, &two.0), None);
    assert_eq!(table.row_count(), 1);
}

#[test]
fn row_numbers_are_those_that_were_drawn() {
    let table = Arc::new(Table::new(TableId(1), definition(&[], IndexKind::Ordered)));
    let mut access = ReplayAccess { row_numbers: vec![7, 3], ..ReplayAccess::default() };
    access.begin();
    let mut draw = || access.new_row_number(&table).ok();
    assert_eq!((draw(), draw(), draw()), (Some(7), Some(3), None));
    assert!(!access.has_used_row_numbers());
    access.row_numbers = vec![1];
    access.begin();
    assert!(!access.has_used_row_numbers());
    assert!(access.new_row_number(&table).is_ok_and(|number| number == 1));
    assert!(access.has_used_row_numbers());
}

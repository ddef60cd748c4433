//! Replayed accesses alone: what is rolled back leaves neither rows nor traces in the hash, and a call sees
//! the rows of its time.

use std::sync::Arc;

use crossbeam_epoch as epoch;
use hyades_types::definition::{IndexKind, TableId};

use super::ReplayAccess;
use crate::log::record::command::{HashForm, WriteChain, WriteSetHash};
use crate::storage::databases::Databases;
use crate::storage::row::RowCopy;
use crate::storage::table::Table;
use crate::storage::table::tests::{definition, install};
use crate::txn::replay_versions::{ReplayVersions, VersionWriter};
use crate::txn::{Access, Duplicate, Found, Insertion, Intent, NewRow, Writable};

type Stored = (Vec<u8>, Vec<u8>);

/// A key and a row of the test table, made by the table itself.
fn stored(a: i32, b: &str) -> Stored {
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

fn insert(access: &mut ReplayAccess<'_>, table: &Arc<Table>, (key, row): &Stored) -> Insertion {
    access.insert(table, NewRow::new(key, row)).unwrap_or_else(|_| panic!("replay neither waits nor fails"))
}

fn admitted<'a>(access: &mut ReplayAccess<'_>, table: &'a Arc<Table>, key: &'a [u8]) -> Writable<'a> {
    access.admit_write(table, key, None).unwrap_or_else(|_| panic!("replay neither waits nor fails"))
}

fn read(access: &mut ReplayAccess<'_>, table: &Arc<Table>, key: &[u8]) -> Option<Vec<u8>> {
    let (guard, mut row) = (epoch::pin(), Vec::new());
    let found = access.read_point(table, key, Intent::READ, None, RowCopy::whole(&mut row), &guard);
    match found.unwrap_or_else(|_| panic!("replay neither waits nor fails")) {
        Found::InPlace(row) => Some(row.bytes.to_vec()),
        Found::Copied => Some(row),
        Found::Nothing => None,
    }
}

/// Replays a call of this time.
fn at(writer: &mut VersionWriter, time: u64, call: impl FnOnce(&mut ReplayAccess<'_>)) {
    let done: Result<(), ()> = writer.at(Some(time), |writer| {
        call(&mut ReplayAccess::new(writer, &[], HashForm::ByTable));
        Ok(())
    });
    done.expect("nothing fails");
}

#[test]
fn what_is_rolled_back_leaves_nothing() {
    let table = Arc::new(Table::new(TableId(1), definition(&[0], IndexKind::Ordered)));
    let (one, two, other_one) = (stored(1, "one"), stored(2, "two"), stored(1, "uno"));
    let mut writer = VersionWriter::new(&ReplayVersions::new(&Databases::new(), true));
    at(&mut writer, 5, |access| {
        assert_eq!(insert(access, &table, &one), Insertion::Done);
        let duplicate = Insertion::Duplicate(Duplicate { index: None, is_seen: true });
        assert_eq!(insert(access, &table, &one), duplicate);
        let hash = access.write_set().ok();
        let savepoint = access.savepoint();
        let written = admitted(access, &table, &one.0);
        access.update(written, &other_one.1, None);
        assert_eq!(insert(access, &table, &two), Insertion::Done);
        let deleted = admitted(access, &table, &one.0);
        access.delete(deleted);
        assert_eq!(read(access, &table, &one.0), None);
        access.rollback_to(savepoint);
        assert_eq!(access.write_set().ok(), hash);
        assert_eq!(read(access, &table, &one.0), Some(one.1.clone()));
        assert_eq!(read(access, &table, &two.0), None);
    });
    assert_eq!(table.row_count(), 1);
}

#[test]
fn row_numbers_are_those_that_were_drawn() {
    let table = Arc::new(Table::new(TableId(1), definition(&[], IndexKind::Ordered)));
    let mut writer = VersionWriter::new(&ReplayVersions::new(&Databases::new(), true));
    let mut access = ReplayAccess::new(&mut writer, &[7, 3], HashForm::ByTable);
    let mut draw = || access.new_row_number(&table).ok();
    assert_eq!((draw(), draw(), draw()), (Some(7), Some(3), None));
    assert!(!access.has_used_row_numbers());
    let mut access = ReplayAccess::new(&mut writer, &[1], HashForm::ByTable);
    assert!(!access.has_used_row_numbers());
    assert!(access.new_row_number(&table).is_ok_and(|number| number == 1));
    assert!(access.has_used_row_numbers());
}

#[test]
fn writes_are_hashed_as_they_were_when_the_call_ran() {
    let ids = [TableId(1), TableId(2)];
    let rows = [stored(1, "one"), stored(2, "two"), stored(3, "three")];
    let written = [(0, &rows[0]), (1, &rows[1]), (0, &rows[2])];
    let (mut one, mut each) = (WriteChain::default(), [WriteChain::default(); 2]);
    for (table, (key, row)) in written {
        one.add(ids[table], key, Some(row));
        each[table].add(ids[table], key, Some(row));
    }
    for (form, chains) in [(HashForm::OneChain, vec![one]), (HashForm::ByTable, each.to_vec())] {
        let mut expected = WriteSetHash::default();
        chains.into_iter().for_each(|chain| expected.exchange(WriteChain::default(), chain));
        let tables = ids.map(|id| Arc::new(Table::new(id, definition(&[0], IndexKind::Ordered))));
        let mut writer = VersionWriter::new(&ReplayVersions::new(&Databases::new(), false));
        let done: Result<(), ()> = writer.at(Some(5), |writer| {
            let mut access = ReplayAccess::new(writer, &[], form);
            for (table, row) in written {
                assert_eq!(insert(&mut access, &tables[table], row), Insertion::Done);
            }
            let savepoint = access.savepoint();
            assert_eq!(insert(&mut access, &tables[1], &stored(4, "four")), Insertion::Done);
            access.rollback_to(savepoint);
            assert_eq!(access.write_set().ok(), Some(expected), "{form:?}");
            Ok(())
        });
        done.expect("nothing fails");
    }
}

#[test]
fn a_call_sees_the_rows_of_its_time() {
    let table = Arc::new(Table::new(TableId(1), definition(&[0], IndexKind::Ordered)));
    let (one, other_one, two) = (stored(1, "one"), stored(1, "uno"), stored(2, "two"));
    let versions = ReplayVersions::new(&Databases::new(), true);
    let (mut writer, mut late) = (VersionWriter::new(&versions), VersionWriter::new(&versions));
    at(&mut writer, 5, |access| assert_eq!(insert(access, &table, &one), Insertion::Done));
    at(&mut writer, 9, |access| {
        let written = admitted(access, &table, &one.0);
        access.update(written, &other_one.1, None);
        assert_eq!(insert(access, &table, &two), Insertion::Done);
    });
    at(&mut writer, 12, |access| {
        for key in [&one.0, &two.0] {
            let written = admitted(access, &table, key);
            access.delete(written);
        }
    });
    let mut seen = |time| {
        let mut rows = (None, None);
        at(&mut late, time, |access| rows = (read(access, &table, &one.0), read(access, &table, &two.0)));
        rows
    };
    let (first, second) = (Some(one.1.clone()), Some(other_one.1.clone()));
    assert_eq!(seen(4), (None, None));
    assert_eq!(seen(7), (first.clone(), None));
    assert_eq!(seen(10), (second.clone(), Some(two.1.clone())));
    assert_eq!(seen(13), (None, None));
    versions.raise_low(6);
    assert_eq!(seen(7), (first, None));
    versions.raise_low(9);
    assert_eq!(seen(10), (second, Some(two.1.clone())));
    versions.finish();
    let guard = epoch::pin();
    assert!(table.state(&guard).index().get(&one.0, &guard).is_none(), "the key has gone");
}

/// More than are looked through at once have been deleted since, and there may still be a call that sees
/// them.
#[test]
fn what_a_late_call_may_see_is_kept_however_much_it_is() {
    const ROWS: i32 = 5000;
    let table = Arc::new(Table::new(TableId(1), definition(&[0], IndexKind::Ordered)));
    let rows: Vec<Stored> = (0..ROWS).map(|number| stored(number, "row")).collect();
    let versions = ReplayVersions::new(&Databases::new(), true);
    let (mut writer, mut late) = (VersionWriter::new(&versions), VersionWriter::new(&versions));
    at(&mut writer, 5, |access| {
        rows.iter().for_each(|row| assert_eq!(insert(access, &table, row), Insertion::Done));
    });
    at(&mut writer, 9, |access| {
        for (key, _) in &rows {
            let written = admitted(access, &table, key);
            access.delete(written);
        }
    });
    let mut seen = |time| {
        let mut count = 0;
        at(&mut late, time, |access| {
            count = rows.iter().filter(|(key, _)| read(access, &table, key).is_some()).count();
        });
        count
    };
    versions.raise_low(6);
    assert_eq!((seen(7), seen(10)), (rows.len(), 0));
    versions.raise_low(9);
    assert_eq!(seen(10), 0);
    versions.finish();
    let guard = epoch::pin();
    assert!(table.state(&guard).index().get(&rows[0].0, &guard).is_none(), "the keys have gone");
}

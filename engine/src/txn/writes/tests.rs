//! Tests of what shows only inside: the numbers of transactions, and when a table is locked as a whole.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hyades_types::definition::{
    CatalogChange, ColumnDefinition, IndexKind, PrimaryKey, TableDefinition, TableName,
};
use hyades_types::value::{SqlType, Value};

use self::world::{Worker, World};
use super::purge::Purger;
use super::resource::Resource;
use crate::config::{Config, ControlKind};
use crate::protocol::AppendProgress;
use crate::protocol::none::NoLog;
use crate::storage::table::Table;
use crate::txn::lock_mode::LockMode;
use crate::txn::lock_table::TransactionId;
use crate::txn::writes::Transactions;
use crate::txn::{
    Access, Cursor, Direction, Ending, Found, Impatience, Insertion, Intent, Interrupt, Isolation, KeyRange,
    NewRow, Strength, Transaction,
};

pub(super) mod world;

fn shared_with(config: &Config) -> World {
    World::new(config)
}

fn shared() -> World {
    shared_with(&Config::new("data"))
}

fn next_number(transaction: &mut Worker) -> TransactionId {
    transaction.begin();
    let number = transaction.id;
    transaction.rollback();
    number
}

#[test]
fn a_worker_never_uses_the_numbers_of_another_one() {
    let shared = shared();
    let [mut old, mut neighbour] = [shared.transaction(), shared.transaction()];
    let neighbours: Vec<TransactionId> = (0..8).map(|_| next_number(&mut neighbour)).collect();
    // All but the last four of its 2^32.
    old.id.0 |= u64::from(u32::MAX - 4);
    let mut seen = Vec::new();
    for _ in 0..8 {
        let number = next_number(&mut old);
        assert!(!neighbours.contains(&number), "{number:?} is a number of the next worker");
        assert!(!seen.contains(&number), "{number:?} comes twice");
        seen.push(number);
    }
    let mut newcomer = shared.transaction();
    assert!((0..8).all(|_| !seen.contains(&next_number(&mut newcomer))));
}

/// As after a panic between the beginning of a commit and the place in a log. (The next transaction asserts
/// it; a checkpoint would wait for ever.)
#[test]
fn who_is_rolled_back_in_the_middle_of_a_commit_commits_no_more() {
    let shared = shared();
    let table = create_table(&shared, "t", IndexKind::Ordered);
    let mut transaction = shared.transaction();
    transaction.begin();
    insert(&mut transaction, &table, 0..1);
    assert!(transaction.complete_payload(Ending::default(), &mut AppendProgress::default()).is_some());
    transaction.rollback();
    transaction.begin();
    transaction.rollback();
}

/// A table `(key bigint primary key)`.
fn create_table(shared: &World, name: &str, index: IndexKind) -> Arc<Table> {
    let column = ColumnDefinition { is_nullable: false, ..ColumnDefinition::new("key", SqlType::BigInt) };
    let definition = TableDefinition {
        name: TableName { schema: "public".to_owned(), name: name.to_owned() },
        columns: vec![column],
        primary_key: Some(PrimaryKey {
            name: format!("{name}_pkey"),
            columns: vec![0],
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
    };
    let mut transaction = shared.transaction();
    transaction.begin();
    let id = transaction.new_table_id();
    done(transaction.change_catalog(CatalogChange::CreateTable { id, definition: definition.clone() }));
    transaction.commit();
    shared.catalog.by_name(&definition.name).expect("just created")
}

fn done<T>(flow: Result<T, Interrupt>) -> T {
    match flow {
        Ok(done) => done,
        Err(Interrupt::Wait(_)) => panic!("it waits"),
        Err(Interrupt::Failed(error)) => panic!("{error}"),
    }
}

/// Deletes a row that was read.
fn delete(transaction: &mut Worker, table: &Arc<Table>, number: u64) {
    let key = key(number);
    let deleted = done(transaction.admit_write(table, &key, None));
    transaction.delete(deleted);
}

fn waits<T>(flow: Result<T, Interrupt>) -> bool {
    matches!(flow, Err(Interrupt::Wait(_)))
}

fn key(number: u64) -> [u8; 8] {
    (number | 1 << 63).to_be_bytes()
}

fn is_there(found: Found<'_>) -> bool {
    !matches!(found, Found::Nothing)
}

/// The row of one bigint column, in the table's layout.
fn row(table: &Table, number: u64) -> Vec<u8> {
    let guard = crossbeam_epoch::pin();
    let mut row = Vec::new();
    table.state(&guard).layout().encode(&[Value::BigInt(number as i64)], &mut row);
    row
}

fn insert(transaction: &mut Worker, table: &Arc<Table>, numbers: std::ops::Range<u64>) {
    done(transaction.enter(table, table.version(), Intent::newest(Strength::Write)));
    for number in numbers {
        assert_eq!(
            done(transaction.insert(table, NewRow::new(&key(number), &row(table, number)))),
            Insertion::Done
        );
    }
}

fn reads(transaction: &mut Worker, table: &Arc<Table>, number: u64) -> Result<bool, Interrupt> {
    let guard = crossbeam_epoch::pin();
    transaction.enter(table, table.version(), Intent::READ)?;
    transaction.read_row(table, &key(number), Intent::READ, &guard).map(is_there)
}

fn entries(shared: &Transactions<NoLog>) -> usize {
    shared.locks.entries()
}

fn few_row_locks() -> Config {
    Config { row_locks_before_table: 10, ..Config::new("data") }
}

#[test]
fn many_row_locks_become_one_table_lock_without_other_users() {
    let shared = shared_with(&few_row_locks());
    let table = create_table(&shared, "t", IndexKind::Ordered);
    let [mut bulk, mut other] = [shared.transaction(), shared.transaction()];
    bulk.begin();
    insert(&mut bulk, &table, 0..1000);
    assert!(entries(&shared) < 100, "{} entries for one table", entries(&shared));
    other.begin();
    assert!(waits(reads(&mut other, &table, 5000)), "the table is not locked");
    bulk.commit();
    assert!(done(reads(&mut other, &table, 999)));
    assert!(!done(reads(&mut other, &table, 5000)));
    other.commit();
    assert_eq!(entries(&shared), 0);
}

#[test]
fn a_table_in_use_is_not_locked_as_a_whole() {
    let shared = shared_with(&few_row_locks());
    let table = create_table(&shared, "t", IndexKind::Ordered);
    let [mut bulk, mut other, mut third] = [shared.transaction(), shared.transaction(), shared.transaction()];
    other.begin();
    assert!(!done(reads(&mut other, &table, 5000)));
    bulk.begin();
    insert(&mut bulk, &table, 0..1000);
    // `other` goes on, and a new transaction comes, on whatever stripe.
    assert!(!done(reads(&mut other, &table, 5001)));
    third.begin();
    assert!(!done(reads(&mut third, &table, 5002)));
    assert!(waits(reads(&mut third, &table, 500)), "a row was not locked");
    third.rollback();
    other.commit();
    // Now `other` has ended, and the next attempts succeed.
    let before = entries(&shared);
    insert(&mut bulk, &table, 1000..2000);
    assert!(entries(&shared) < before + 100);
    other.begin();
    assert!(waits(reads(&mut other, &table, 5000)));
    other.rollback();
    bulk.rollback();
    assert_eq!((entries(&shared), table.row_count()), (0, 0));
}

#[test]
fn a_scan_gets_the_table_on_its_way() {
    let shared = shared_with(&few_row_locks());
    let table = create_table(&shared, "t", IndexKind::Ordered);
    let [mut scanning, mut other] = [shared.transaction(), shared.transaction()];
    scanning.begin();
    insert(&mut scanning, &table, 0..1000);
    scanning.commit();
    for (intent, most_entries) in [(Intent::newest(Strength::Write), 100), (Intent::READ, 400)] {
        for direction in [Direction::Forward, Direction::Backward] {
            scanning.begin();
            done(scanning.enter(&table, table.version(), intent));
            let mut cursor = Cursor::default();
            let range = KeyRange { lower: Some(key(100).to_vec()), upper: Some(key(900).to_vec()) };
            cursor.open(None, range, (direction, intent));
            done(scanning.open_scan(&table, &mut cursor));
            let guard = crossbeam_epoch::pin();
            let mut found = 0;
            while is_there(done(scanning.next_row(&table, &mut cursor, &mut Vec::new(), &guard))) {
                found += 1;
            }
            assert_eq!(found, 800, "{intent:?}, {direction:?}");
            assert!(entries(&shared) < most_entries, "{intent:?}: {} entries", entries(&shared));
            other.begin();
            let is_kept_out = waits(reads(&mut other, &table, 5));
            assert_eq!(is_kept_out, intent == Intent::newest(Strength::Write), "{intent:?}");
            other.rollback();
            other.begin();
            assert!(waits(other.enter(&table, table.version(), Intent::newest(Strength::Write))));
            other.rollback();
            scanning.commit();
        }
    }
}

#[test]
fn one_row_that_is_read_many_times_is_one_row() {
    let shared = shared_with(&few_row_locks());
    let table = create_table(&shared, "t", IndexKind::Ordered);
    let [mut busy, mut other] = [shared.transaction(), shared.transaction()];
    busy.begin();
    insert(&mut busy, &table, 0..2);
    for _ in 0..1000 {
        assert!(done(reads(&mut busy, &table, 1)));
    }
    other.begin();
    assert!(!done(reads(&mut other, &table, 5000)));
    busy.commit();
}

const AT_ONCE: Intent = Intent::chosen(Strength::Write, Some(Impatience::NoWait));
const SKIPPING: Intent = Intent::chosen(Strength::Write, Some(Impatience::SkipLocked));

#[test]
fn a_row_that_is_skipped_but_was_changed_stays_locked() {
    let shared = shared();
    let table = create_table(&shared, "t", IndexKind::Ordered);
    let [mut worker, mut other] = [shared.transaction(), shared.transaction()];
    worker.begin();
    insert(&mut worker, &table, 0..3);
    worker.commit();
    worker.begin();
    let guard = crossbeam_epoch::pin();
    let mut cursor = Cursor::default();
    cursor.open(None, KeyRange::default(), (Direction::Forward, SKIPPING));
    assert!(done(worker.enter(&table, table.version(), SKIPPING)));
    done(worker.open_scan(&table, &mut cursor));
    for number in 0..3 {
        assert!(is_there(done(worker.next_row(&table, &mut cursor, &mut Vec::new(), &guard))));
        if number == 1 {
            // What the condition calls.
            done(worker.enter(&table, table.version(), Intent::newest(Strength::Write)));
            assert!(
                is_there(done(worker.read_row(&table, &key(1), Intent::newest(Strength::Write), &guard))),
                "row 1"
            );
            delete(&mut worker, &table, 1);
        }
    }
    assert!(!is_there(done(worker.next_row(&table, &mut cursor, &mut Vec::new(), &guard))));
    other.begin();
    assert!(done(reads(&mut other, &table, 0)));
    assert!(done(reads(&mut other, &table, 2)));
    assert!(waits(reads(&mut other, &table, 1)), "a deleted row is not locked");
    worker.rollback();
    assert!(done(reads(&mut other, &table, 1)));
    other.commit();
}

/// As the janitor is while it purges a key.
fn brief(shared: &World) -> Worker {
    let mut transaction = shared.transaction();
    transaction.id.0 |= TransactionId::BRIEF;
    transaction.begin();
    transaction
}

#[test]
fn nowait_waits_for_the_janitor_alone() {
    let shared = shared();
    let table = create_table(&shared, "t", IndexKind::Ordered);
    let [mut worker, mut other] = [shared.transaction(), shared.transaction()];
    worker.begin();
    insert(&mut worker, &table, 0..3);
    worker.commit();
    let guard = crossbeam_epoch::pin();
    let row = Resource::row(table.id(), &key(1));
    for (intent, others_get) in [(AT_ONCE, None), (SKIPPING, Some(false))] {
        // A row.
        let mut janitor = brief(&shared);
        assert!(janitor.lock_without_waiting(row, LockMode::Write));
        worker.begin();
        done(worker.enter(&table, table.version(), intent));
        assert!(waits(worker.read_row(&table, &key(1), intent, &guard)));
        // To another transaction it looks like a lock of the worker's.
        other.begin();
        done(other.enter(&table, table.version(), intent));
        let found = other.read_row(&table, &key(1), intent, &guard);
        assert_eq!(found.ok().map(is_there), others_get);
        janitor.rollback();
        assert!(is_there(done(worker.read_row(&table, &key(1), intent, &guard))));
        let found = other.read_row(&table, &key(1), intent, &guard);
        assert_eq!(found.ok().map(is_there), others_get);
        worker.rollback();
        other.rollback();

        // The whole table. While the worker waits it has no part of it.
        let mut janitor = brief(&shared);
        let stripe = Resource::table_stripe(table.id(), janitor.worker);
        assert!(janitor.lock_without_waiting(stripe, LockMode::IntentWrite));
        worker.begin();
        assert!(waits(worker.lock_table_for(&table, LockMode::Write, intent)));
        for _ in 0..16 {
            let mut third = shared.transaction();
            third.begin();
            let is_own = Resource::table_stripe(table.id(), third.worker) == stripe;
            assert_eq!(waits(third.enter(&table, table.version(), Intent::newest(Strength::Write))), is_own);
            third.rollback();
        }
        janitor.rollback();
        assert!(done(worker.lock_table_for(&table, LockMode::Write, intent)));
        worker.rollback();
        drop(janitor);
    }
    assert_eq!(entries(&shared), 0);
}

/// Works off what is left to the janitor, except for this many states. Returns the number of calls.
fn freed(purger: &mut Purger<NoLog>, shared: &Transactions<NoLog>, left: usize) -> usize {
    let end = Instant::now() + Duration::from_secs(60);
    let mut goes = 0;
    loop {
        // The epoch advances when no thread is pinned, including those of other tests.
        match purger.free_some() {
            true => goes += 1,
            false if shared.purge.states() == left => return goes,
            false => std::thread::sleep(Duration::from_millis(1)),
        }
        assert!(Instant::now() < end, "{} states are left", shared.purge.states());
    }
}

#[test]
fn what_a_table_leaves_behind_is_freed_by_the_janitor_a_little_at_a_time() {
    for index in [IndexKind::Ordered, IndexKind::Hash] {
        let shared = shared();
        let mut purger = Purger::new(&shared);
        let mut transaction = shared.transaction();
        let fill = |transaction: &mut Worker, table: &Arc<Table>| {
            transaction.begin();
            insert(transaction, table, 0..50_000);
        };
        let discarded = || shared.purge.states();
        let change = |transaction: &mut Worker, change: CatalogChange| {
            done(transaction.change_catalog(change));
        };
        let table = create_table(&shared, "t", index);
        fill(&mut transaction, &table);
        transaction.commit();
        assert_eq!(freed(&mut purger, &shared, 0), 0);

        // TRUNCATE; a plan that still uses the old state keeps it.
        let used = table.shared_state();
        transaction.begin();
        change(&mut transaction, CatalogChange::Truncate { id: table.id() });
        transaction.commit();
        assert_eq!((table.row_count(), discarded()), (0, 1));
        assert_eq!(freed(&mut purger, &shared, 1), 0);
        assert_eq!(used.row_count(), 50_000);
        drop(used);
        assert!(freed(&mut purger, &shared, 0) > 5, "{index:?}: freed at once");
        assert_eq!(discarded(), 0);

        // A TRUNCATE that is rolled back leaves what came after it.
        fill(&mut transaction, &table);
        transaction.commit();
        transaction.begin();
        change(&mut transaction, CatalogChange::Truncate { id: table.id() });
        insert(&mut transaction, &table, 0..50_000);
        transaction.rollback();
        assert_eq!((table.row_count(), discarded()), (50_000, 1));
        assert!(freed(&mut purger, &shared, 0) > 5);

        // DROP, although the table is still referred to.
        transaction.begin();
        change(&mut transaction, CatalogChange::DropTable { id: table.id() });
        transaction.commit();
        assert_eq!((table.row_count(), discarded()), (0, 2));
        assert!(freed(&mut purger, &shared, 0) > 5);
        assert_eq!(discarded(), 0);
    }
}

/// The versions that an old snapshot sees are given up, and with them the tombstones.
#[test]
fn a_snapshot_that_was_given_up_misses_no_rows_silently() {
    let config = Config { version_bytes: 0, ..Config::new("data") };
    let shared = World::new(&config);
    let table = create_table(&shared, "t", IndexKind::Ordered);
    let mut writer = shared.transaction();
    writer.begin();
    insert(&mut writer, &table, 0..10);
    writer.commit();
    let mut reader = shared.transaction();
    reader.begin();
    reader.isolate(Isolation::RepeatableRead);
    reader.resume_statement();
    assert!(done(reads(&mut reader, &table, 5)));
    writer.begin();
    let guard = crossbeam_epoch::pin();
    let intent = Intent::newest(Strength::Write);
    done(writer.enter(&table, table.version(), intent));
    for number in 0..10 {
        let row = writer.read_row(&table, &key(number), intent, &guard);
        assert!(is_there(done(row)));
        delete(&mut writer, &table, number);
    }
    writer.commit();
    let mut purger = Purger::new(&shared);
    assert_eq!(purger.run(100), 0, "the snapshot sees their rows");
    purger.forget();
    assert_eq!(purger.run(100), 10);
    let is_too_old = |outcome: Interrupt| match outcome {
        Interrupt::Failed(error) => assert_eq!(error.sqlstate().0, "72000"),
        Interrupt::Wait(_) => panic!("nobody is there"),
    };
    is_too_old(reads(&mut reader, &table, 5).expect_err("the row is gone"));
    let mut cursor = Cursor::default();
    cursor.open(None, KeyRange::default(), (Direction::Forward, Intent::READ));
    let row = reader.next_row(&table, &mut cursor, &mut Vec::new(), &guard);
    is_too_old(row.map(is_there).expect_err("the rows are gone"));
    let wanted = Intent::chosen(Strength::Write, None).decided();
    done(reader.enter(&table, table.version(), wanted));
    let row = reader.read_row(&table, &key(5), wanted, &guard);
    is_too_old(row.map(is_there).expect_err("the row is gone"));
    reader.rollback();
}

/// At a snapshot it learns without the lock that its key is taken, and then ends.
#[test]
fn an_insert_that_waits_and_then_finds_a_duplicate_leaves_no_lock() {
    let shared = shared();
    let table = create_table(&shared, "t", IndexKind::Ordered);
    let [mut first, mut second] = [shared.transaction(), shared.transaction()];
    first.begin();
    insert(&mut first, &table, 1..2);
    second.begin();
    second.isolate(Isolation::ReadCommitted);
    done(second.enter(&table, table.version(), Intent::newest(Strength::Write)));
    let (key, row) = (key(1), row(&table, 1));
    assert!(waits(second.insert(&table, NewRow::new(&key, &row))));
    first.commit();
    assert!(matches!(done(second.insert(&table, NewRow::new(&key, &row))), Insertion::Duplicate(_)));
    second.commit();
    first.begin();
    assert!(done(reads(&mut first, &table, 1)));
    first.commit();
}

/// Reads a row under a lock and deletes it.
fn find_and_delete(writer: &mut Worker, table: &Arc<Table>, number: u64) {
    let (guard, intent) = (crossbeam_epoch::pin(), Intent::newest(Strength::Write));
    done(writer.enter(table, table.version(), intent));
    let found = writer.read_row(table, &key(number), intent, &guard);
    assert!(is_there(done(found)));
    delete(writer, table, number);
}

fn begin_serializable(reader: &mut Worker) {
    reader.begin();
    reader.isolate(Isolation::Serializable);
}

/// Reads all rows of a table.
fn scan(reader: &mut Worker, table: &Arc<Table>) {
    done(reader.enter(table, table.version(), Intent::READ));
    let (guard, mut cursor) = (crossbeam_epoch::pin(), Cursor::default());
    cursor.open(None, KeyRange::default(), (Direction::Forward, Intent::READ));
    while is_there(done(reader.next_row(table, &mut cursor, &mut Vec::new(), &guard))) {}
}

fn optimistic() -> Config {
    Config { control: ControlKind::Optimistic, ..Config::new("data") }
}

/// What they have read is written by another one, which has not drawn its time: they come before it.
#[test]
fn readers_beside_a_writer_fail_by_the_rule_of_silo_alone() {
    for fails_beside_writers in [false, true] {
        let shared = World::new(&Config { fails_beside_writers, ..optimistic() });
        let table = create_table(&shared, "t", IndexKind::Ordered);
        let [mut writer, mut of_row, mut of_range] = std::array::from_fn(|_| shared.transaction());
        writer.begin();
        insert(&mut writer, &table, 0..3);
        writer.commit();
        begin_serializable(&mut of_row);
        assert!(done(reads(&mut of_row, &table, 1)));
        begin_serializable(&mut of_range);
        scan(&mut of_range, &table);
        writer.begin();
        find_and_delete(&mut writer, &table, 1);
        assert_eq!(of_row.prepare(true).is_err(), fails_beside_writers);
        assert_eq!(of_range.prepare(true).is_err(), fails_beside_writers);
        writer.rollback();
        assert!(of_row.prepare(true).is_ok(), "nothing was written");
        assert!(of_range.prepare(true).is_ok(), "nothing was written");
        // A key that the reader of the range has not seen.
        writer.begin();
        insert(&mut writer, &table, 7..8);
        assert!(of_row.prepare(true).is_ok(), "it has not read that");
        assert_eq!(of_range.prepare(true).is_err(), fails_beside_writers);
        writer.commit();
        assert!(of_range.prepare(true).is_err(), "by both rules");
        of_row.rollback();
        of_range.rollback();
    }
}

/// A row that was rolled back to, and a key that was absent, is there and is absent again: what has happened
/// to them is known until the reader has looked.
#[test]
fn what_an_optimistic_reader_looks_at_again_is_kept() {
    let shared = World::new(&optimistic());
    let table = create_table(&shared, "t", IndexKind::Ordered);
    let [mut writer, mut of_row, mut of_absent] = std::array::from_fn(|_| shared.transaction());
    writer.begin();
    insert(&mut writer, &table, 0..3);
    writer.commit();
    begin_serializable(&mut of_row);
    assert!(done(reads(&mut of_row, &table, 1)));
    begin_serializable(&mut of_absent);
    assert!(!done(reads(&mut of_absent, &table, 9)));
    let mut purger = Purger::new(&shared);
    writer.begin();
    find_and_delete(&mut writer, &table, 1);
    writer.rollback();
    writer.begin();
    insert(&mut writer, &table, 9..10);
    writer.commit();
    writer.begin();
    find_and_delete(&mut writer, &table, 9);
    writer.commit();
    let has_record = |purger: &mut Purger<NoLog>| {
        purger.forget();
        purger.run(100);
        let guard = crossbeam_epoch::pin();
        table.state(&guard).index().get(&key(9), &guard).is_some()
    };
    assert!(has_record(&mut purger), "readers look at it again");
    assert!(of_row.prepare(true).is_ok());
    assert!(of_absent.prepare(true).is_err());
    of_row.rollback();
    of_absent.rollback();
    assert!(!has_record(&mut purger));
}

/// Others wait for who looks, so a long look is made under a lock on the table.
#[test]
fn a_long_look_is_made_under_a_lock_on_the_table() {
    for (rows, is_locked) in [(4000, false), (5000, true)] {
        let shared = World::new(&optimistic());
        let [table, other_table] = ["t", "u"].map(|name| create_table(&shared, name, IndexKind::Ordered));
        let [mut reader, mut other] = std::array::from_fn(|_| shared.transaction());
        reader.begin();
        insert(&mut reader, &table, 0..rows);
        reader.commit();
        begin_serializable(&mut reader);
        scan(&mut reader, &table);
        insert(&mut reader, &other_table, 0..1);
        let write = Intent::newest(Strength::Write);
        other.begin();
        done(other.enter(&table, table.version(), write));
        assert_eq!(waits(reader.prepare(true)), is_locked, "a writer is in the table");
        other.rollback();
        done(reader.prepare(true));
        other.begin();
        assert_eq!(waits(other.enter(&table, table.version(), write)), is_locked);
        other.rollback();
        reader.commit();
    }
}

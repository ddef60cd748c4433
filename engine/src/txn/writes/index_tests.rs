//! Secondary indexes inside transactions: which rows are found, which transaction waits, what is left behind.
//!
//! One table `(key bigint primary key, a bigint)` with a unique index and one that is not, both on `a`.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crossbeam_epoch as epoch;
use hyades_types::definition::{
    CatalogChange, ColumnDefinition, Deferral, IndexColumn, IndexDefinition, IndexKind, PrimaryKey,
    TableDefinition, TableId, TableName,
};
use hyades_types::error::{Abort, Error, sqlstate};
use hyades_types::value::{SqlType, Value};
use proptest::prelude::*;

use super::purge::Purger;
use super::tests::world::{Worker, World};
use crate::config::Config;
use crate::storage::table::Table;
use crate::txn::{
    Access, Cursor, Direction, Duplicate, Flow, Found, Insertion, Intent, Interrupt, Isolation, KeyRange,
    NewRow, Strength, Transaction,
};

pub(super) const PLAIN: Option<u16> = Some(0);
const UNIQUE: Option<u16> = Some(1);

pub(super) fn index(id: u32, is_unique: bool) -> IndexDefinition {
    IndexDefinition {
        id: TableId(id),
        name: format!("i{id}"),
        columns: vec![IndexColumn::ascending(1)],
        included: Vec::new(),
        is_unique,
        nulls_are_equal: false,
        predicate: None,
        is_constraint: false,
        deferral: Deferral::Never,
        is_primary: false,
        kind: IndexKind::Ordered,
        parameters: Vec::new(),
    }
}

pub(super) fn shared() -> World {
    World::new(&Config::new("data"))
}

pub(super) fn create(shared: &World, indexes: Vec<IndexDefinition>) -> Arc<Table> {
    let column = |name: &str, is_nullable| ColumnDefinition {
        is_nullable,
        ..ColumnDefinition::new(name, SqlType::BigInt)
    };
    let name = TableName { schema: "public".to_owned(), name: "t".to_owned() };
    let primary_key = PrimaryKey {
        name: "t_pkey".to_owned(),
        columns: vec![0],
        index: IndexKind::Ordered,
        parameters: Vec::new(),
    };
    let definition = TableDefinition {
        name: name.clone(),
        columns: vec![column("key", false), column("a", true)],
        primary_key: Some(primary_key),
        indexes,
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
    done(transaction.change_catalog(CatalogChange::CreateTable { id, definition }));
    transaction.commit();
    shared.catalog.by_name(&name).expect("just created")
}

fn both() -> Vec<IndexDefinition> {
    vec![index(900, false), index(901, true)]
}

pub(super) fn done<T>(flow: Flow<T>) -> T {
    match flow {
        Ok(done) => done,
        Err(Interrupt::Wait(_)) => panic!("it waits"),
        Err(Interrupt::Failed(error)) => panic!("{error}"),
    }
}

pub(super) fn waits<T>(flow: Flow<T>) -> bool {
    matches!(flow, Err(Interrupt::Wait(_)))
}

pub(super) fn key(number: i64) -> [u8; 8] {
    (number as u64 ^ 1 << 63).to_be_bytes()
}

pub(super) fn row(table: &Table, number: i64, a: Option<i64>) -> Vec<u8> {
    let mut row = Vec::new();
    let values = [Value::BigInt(number), a.map_or(Value::Null, Value::BigInt)];
    table.state(&epoch::pin()).layout().encode(&values, &mut row);
    row
}

const DUPLICATE: Insertion = Insertion::Duplicate(Duplicate { index: UNIQUE, is_seen: true });

pub(super) fn insert(
    worker: &mut Worker,
    table: &Arc<Table>,
    number: i64,
    a: Option<i64>,
) -> Flow<Insertion> {
    worker.enter(table, table.version(), Intent::newest(Strength::Write))?;
    worker.insert(table, NewRow::new(&key(number), &row(table, number, a)))
}

/// Gives an existing row another `a`; false if another row has it.
pub(super) fn update(worker: &mut Worker, table: &Arc<Table>, number: i64, a: Option<i64>) -> Flow<bool> {
    let guard = epoch::pin();
    let intent = Intent::newest(Strength::Write);
    worker.enter(table, table.version(), intent)?;
    let found = worker.read_row(table, &key(number), intent, &guard)?;
    if matches!(found, Found::Nothing) {
        return Ok(false);
    }
    let new = row(table, number, a);
    if worker.index_row(table, &key(number), &new)?.is_some() {
        return Ok(false);
    }
    let key = key(number);
    let written = worker.admit_write(table, &key, None)?;
    worker.update(written, &new, None);
    Ok(true)
}

pub(super) fn delete(worker: &mut Worker, table: &Arc<Table>, number: i64) -> Flow<bool> {
    let guard = epoch::pin();
    let intent = Intent::newest(Strength::Write);
    worker.enter(table, table.version(), intent)?;
    let found = worker.read_row(table, &key(number), intent, &guard)?;
    let is_there = !matches!(found, Found::Nothing);
    if is_there {
        let key = key(number);
        let deleted = worker.admit_write(table, &key, None)?;
        worker.delete(deleted);
    }
    Ok(is_there)
}

/// Keys of the rows with `a` from `low` up to `high`, by an index.
pub(super) fn find(
    worker: &mut Worker,
    table: &Arc<Table>,
    number: Option<u16>,
    range: (i64, i64),
) -> Flow<Vec<i64>> {
    find_for(worker, table, number, range, Intent::READ)
}

fn find_for(
    worker: &mut Worker,
    table: &Arc<Table>,
    number: Option<u16>,
    (low, high): (i64, i64),
    intent: Intent,
) -> Flow<Vec<i64>> {
    let bound = |a: i64| {
        let guard = epoch::pin();
        let state = table.state(&guard);
        let mut bound = Vec::new();
        state.indexes()[usize::from(number.unwrap_or(0))].append_value(0, &mut bound, |out| {
            hyades_types::key::encode(&Value::BigInt(a), SqlType::BigInt, out);
        });
        bound
    };
    let mut upper = bound(high);
    assert!(hyades_types::key::successor(&mut upper));
    let range = KeyRange { lower: Some(bound(low)), upper: Some(upper) };
    let mut cursor = Cursor::default();
    worker.enter(table, table.version(), intent)?;
    cursor.open(number, range, (Direction::Forward, intent));
    worker.open_scan(table, &mut cursor)?;
    let mut found = Vec::new();
    loop {
        let guard = epoch::pin();
        if matches!(worker.next_row(table, &mut cursor, &mut Vec::new(), &guard)?, Found::Nothing) {
            return Ok(found);
        }
        let number = u64::from_be_bytes(cursor.row_key().try_into().expect("a key")) ^ 1 << 63;
        found.push(number as i64);
    }
}

pub(super) fn purge(shared: &World) {
    let mut purger = Purger::new(shared);
    for _ in 0..8 {
        purger.forget();
        purger.run(10_000);
    }
}

pub(super) fn check(shared: &World, table: &Table) {
    purge(shared);
    if let Err(wrong) = table.shared_state().check_indexes() {
        panic!("{wrong}");
    }
}

#[test]
fn rows_are_found_by_their_values_of_the_moment() {
    let shared = shared();
    let table = create(&shared, both());
    let mut worker = shared.transaction();
    worker.begin();
    for number in 0..10 {
        assert_eq!(done(insert(&mut worker, &table, number, Some(number * 10))), Insertion::Done);
    }
    assert!(done(update(&mut worker, &table, 3, Some(71))));
    assert!(done(update(&mut worker, &table, 4, None)));
    assert!(done(delete(&mut worker, &table, 5)));
    assert_eq!(done(find(&mut worker, &table, PLAIN, (0, 75))), [0, 1, 2, 6, 7, 3]);
    worker.commit();
    for isolation in [Isolation::ReadCommitted, Isolation::Serializable] {
        worker.begin();
        worker.isolate(isolation);
        assert_eq!(done(find(&mut worker, &table, UNIQUE, (20, 80))), [2, 6, 7, 3, 8]);
        assert_eq!(done(find(&mut worker, &table, UNIQUE, (71, 71))), [3]);
        assert_eq!(done(find(&mut worker, &table, PLAIN, (30, 30))), [0; 0]);
        worker.commit();
    }
    check(&shared, &table);
}

#[test]
fn an_older_snapshot_finds_the_row_where_it_was() {
    let shared = shared();
    let table = create(&shared, both());
    let [mut reader, mut writer] = [shared.transaction(), shared.transaction()];
    writer.begin();
    done(insert(&mut writer, &table, 1, Some(10)));
    done(insert(&mut writer, &table, 2, Some(20)));
    writer.commit();
    reader.begin();
    reader.isolate(Isolation::RepeatableRead);
    assert_eq!(done(find(&mut reader, &table, PLAIN, (0, 99))), [1, 2]);
    writer.begin();
    assert!(done(update(&mut writer, &table, 1, Some(30))));
    assert!(done(delete(&mut writer, &table, 2)));
    done(insert(&mut writer, &table, 3, Some(20)));
    writer.commit();
    purge(&shared);
    assert_eq!(done(find(&mut reader, &table, PLAIN, (0, 99))), [1, 2]);
    assert_eq!(done(find(&mut reader, &table, UNIQUE, (20, 20))), [2]);
    reader.commit();
    reader.begin();
    reader.isolate(Isolation::RepeatableRead);
    assert_eq!(done(find(&mut reader, &table, PLAIN, (0, 99))), [3, 1]);
    reader.commit();
    check(&shared, &table);
}

/// A search for the newest rows may find one that the snapshot does not see, but the transaction cannot write
/// it.
#[test]
fn the_first_updater_wins_however_the_second_finds_the_row() {
    let shared = shared();
    let table = create(&shared, both());
    let [mut first, mut second] = [shared.transaction(), shared.transaction()];
    first.begin();
    done(insert(&mut first, &table, 1, Some(10)));
    first.commit();
    second.begin();
    second.isolate(Isolation::RepeatableRead);
    second.resume_statement();
    first.begin();
    assert!(done(update(&mut first, &table, 1, Some(10))));
    first.commit();
    fn state<T>(flow: Flow<T>) -> Option<&'static str> {
        match flow {
            Err(Interrupt::Failed(error)) => Some(error.sqlstate().0),
            _ => None,
        }
    }
    let refused = Some(sqlstate::SERIALIZATION_FAILURE.0);
    for number in [PLAIN, UNIQUE] {
        let in_the_way = find_for(&mut second, &table, number, (10, 10), Intent::IN_THE_WAY);
        assert_eq!(state(in_the_way), refused);
        let newest = Intent::newest(Strength::Write);
        assert_eq!(done(find_for(&mut second, &table, number, (10, 10), newest)), [1]);
    }
    assert_eq!(state(second.admit_write(&table, &key(1), None)), refused);
    assert_eq!(state(delete(&mut second, &table, 1)), refused);
    second.rollback();
    second.begin();
    second.isolate(Isolation::RepeatableRead);
    assert!(done(delete(&mut second, &table, 1)));
    second.commit();
    check(&shared, &table);
}

/// An older snapshot than CREATE INDEX finds older versions by the new index, too.
#[test]
fn a_new_index_leads_older_snapshots_to_what_they_see() {
    let shared = shared();
    let table = create(&shared, Vec::new());
    let [mut reader, mut writer] = [shared.transaction(), shared.transaction()];
    writer.begin();
    done(insert(&mut writer, &table, 1, Some(10)));
    done(insert(&mut writer, &table, 2, Some(20)));
    writer.commit();
    reader.begin();
    reader.isolate(Isolation::RepeatableRead);
    reader.resume_statement();
    for a in [11, 12] {
        writer.begin();
        assert!(done(update(&mut writer, &table, 1, Some(a))));
        writer.commit();
    }
    writer.begin();
    assert!(done(delete(&mut writer, &table, 2)));
    let change = CatalogChange::CreateIndex { table: table.id(), index: index(900, true) };
    done(writer.change_catalog(change));
    writer.commit();
    purge(&shared);
    assert_eq!(done(find(&mut reader, &table, PLAIN, (0, 99))), [1, 2]);
    assert_eq!(done(find(&mut reader, &table, PLAIN, (12, 12))), [0; 0]);
    reader.commit();
    check(&shared, &table);
}

#[test]
fn of_two_writers_of_one_value_the_second_waits() {
    for isolation in [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable] {
        for commits in [true, false] {
            let shared = shared();
            let table = create(&shared, both());
            let [mut first, mut second] = [shared.transaction(), shared.transaction()];
            for worker in [&mut first, &mut second] {
                worker.begin();
                worker.isolate(isolation);
                worker.resume_statement();
            }
            done(insert(&mut first, &table, 1, Some(5)));
            assert!(waits(insert(&mut second, &table, 2, Some(5))));
            if commits {
                first.commit()
            } else {
                first.rollback()
            }
            let is_seen = isolation != Isolation::RepeatableRead;
            let duplicate = Insertion::Duplicate(Duplicate { index: UNIQUE, is_seen });
            let expected = if commits { duplicate } else { Insertion::Done };
            assert_eq!(done(insert(&mut second, &table, 2, Some(5))), expected, "{isolation:?}");
            second.commit();
            check(&shared, &table);
        }
    }
}

#[test]
fn a_value_being_taken_away_is_waited_for() {
    for is_deleted in [true, false] {
        for commits in [true, false] {
            let shared = shared();
            let table = create(&shared, both());
            let [mut first, mut second] = [shared.transaction(), shared.transaction()];
            first.begin();
            done(insert(&mut first, &table, 1, Some(5)));
            first.commit();
            first.begin();
            assert!(if is_deleted {
                done(delete(&mut first, &table, 1))
            } else {
                done(update(&mut first, &table, 1, Some(6)))
            });
            // The same transaction may have the value again.
            let savepoint = first.savepoint();
            assert_eq!(done(insert(&mut first, &table, 3, Some(5))), Insertion::Done);
            first.rollback_to(savepoint);
            second.begin();
            second.isolate(Isolation::ReadCommitted);
            assert!(waits(insert(&mut second, &table, 2, Some(5))));
            if commits {
                first.commit()
            } else {
                first.rollback()
            }
            let expected = if commits { Insertion::Done } else { DUPLICATE };
            assert_eq!(done(insert(&mut second, &table, 2, Some(5))), expected);
            second.commit();
            check(&shared, &table);
        }
    }
}

#[test]
fn nulls_are_distinct_and_values_may_be_exchanged() {
    let shared = shared();
    let table = create(&shared, both());
    let mut worker = shared.transaction();
    worker.begin();
    for number in 0..3 {
        assert_eq!(done(insert(&mut worker, &table, number, None)), Insertion::Done);
    }
    assert!(done(update(&mut worker, &table, 0, Some(1))));
    assert!(!done(update(&mut worker, &table, 1, Some(1))));
    assert!(done(update(&mut worker, &table, 0, Some(2))));
    assert!(done(update(&mut worker, &table, 1, Some(1))));
    assert!(done(delete(&mut worker, &table, 1)));
    assert_eq!(done(insert(&mut worker, &table, 4, Some(1))), Insertion::Done);
    assert_eq!(done(insert(&mut worker, &table, 5, Some(2))), DUPLICATE);
    worker.commit();
    check(&shared, &table);
}

#[test]
fn nothing_appears_among_values_that_a_serializable_transaction_has_read() {
    let shared = shared();
    let table = create(&shared, both());
    let [mut reader, mut writer] = [shared.transaction(), shared.transaction()];
    writer.begin();
    for (number, a) in [(1, 10), (2, 20), (3, 30), (4, 90)] {
        done(insert(&mut writer, &table, number, Some(a)));
    }
    writer.commit();
    for number in [PLAIN, UNIQUE] {
        reader.begin();
        assert_eq!(done(find(&mut reader, &table, number, (15, 40))), [2, 3]);
        writer.begin();
        assert!(waits(insert(&mut writer, &table, 5, Some(25))), "a new row");
        writer.rollback();
        writer.begin();
        assert!(waits(update(&mut writer, &table, 4, Some(35))), "a row from elsewhere");
        writer.rollback();
        writer.begin();
        assert!(waits(update(&mut writer, &table, 2, Some(95))), "a row that leaves");
        writer.rollback();
        writer.begin();
        assert_eq!(done(insert(&mut writer, &table, 6, Some(91))), Insertion::Done);
        writer.rollback();
        assert_eq!(done(find(&mut reader, &table, number, (15, 40))), [2, 3]);
        reader.commit();
    }
    check(&shared, &table);
}

/// A search for one value of a unique index leaves its neighbours alone.
#[test]
fn a_search_for_a_unique_value_locks_just_that() {
    let shared = shared();
    let table = create(&shared, both());
    let [mut reader, mut writer] = [shared.transaction(), shared.transaction()];
    writer.begin();
    done(insert(&mut writer, &table, 1, Some(10)));
    writer.commit();
    reader.begin();
    assert_eq!(done(find(&mut reader, &table, UNIQUE, (5, 5))), [0; 0]);
    writer.begin();
    assert_eq!(done(insert(&mut writer, &table, 2, Some(6))), Insertion::Done);
    assert!(waits(insert(&mut writer, &table, 3, Some(5))));
    writer.rollback();
    reader.commit();
    check(&shared, &table);
}

#[test]
fn a_schema_change_that_is_rolled_back_leaves_the_indexes_as_they_were() {
    let shared = shared();
    let table = create(&shared, both());
    let mut worker = shared.transaction();
    worker.begin();
    done(insert(&mut worker, &table, 1, Some(10)));
    worker.commit();
    worker.begin();
    done(worker.change_catalog(CatalogChange::DropIndex { table: table.id(), index: TableId(901) }));
    assert_eq!(done(insert(&mut worker, &table, 2, Some(10))), Insertion::Done);
    let again = CatalogChange::CreateIndex { table: table.id(), index: index(902, true) };
    assert!(matches!(worker.change_catalog(again), Err(Interrupt::Failed(Error::Input(_)))));
    done(worker.change_catalog(CatalogChange::Truncate { id: table.id() }));
    done(insert(&mut worker, &table, 7, Some(70)));
    assert_eq!(done(find(&mut worker, &table, PLAIN, (0, 99))), [7]);
    worker.rollback();
    worker.begin();
    assert_eq!(done(find(&mut worker, &table, UNIQUE, (0, 99))), [1]);
    assert_eq!(done(insert(&mut worker, &table, 2, Some(10))), DUPLICATE);
    worker.commit();
    check(&shared, &table);
}

/// The entries it has put into indexes before it had to wait would otherwise belong to another row.
#[test]
fn an_insert_that_is_begun_again_has_its_row_number() {
    let shared = shared();
    let table = create(&shared, both());
    let mut worker = shared.transaction();
    worker.begin();
    let number = done(worker.new_row_number(&table));
    assert_eq!(done(worker.new_row_number(&table)), number);
    done(insert(&mut worker, &table, number as i64, Some(1)));
    assert_ne!(done(worker.new_row_number(&table)), number);
    worker.rollback();
}

/// Does one thing as a transaction, again and again until it is done; false if it was refused.
pub(super) fn alone(worker: &mut Worker, mut step: impl FnMut(&mut Worker) -> Flow<bool>) -> bool {
    loop {
        match step(worker) {
            Ok(is_done) => return is_done,
            Err(Interrupt::Wait(ticket)) => ticket.wait(),
            Err(Interrupt::Failed(Error::Abort(Abort::Deadlock))) => return false,
            Err(Interrupt::Failed(error)) if error.sqlstate() == sqlstate::SERIALIZATION_FAILURE => {
                return false;
            }
            Err(Interrupt::Failed(error)) => panic!("{error}"),
        }
    }
}

/// Threads give rows values of a small domain, take them away, roll back; readers see no value twice. At the
/// end the indexes hold what the rows hold.
#[test]
fn many_threads_share_few_values() {
    const THREADS: i64 = 4;
    const ROUNDS: i64 = 1500;
    const VALUES: i64 = 8;
    let shared = shared();
    let table = create(&shared, both());
    /// Also counts a thread off that panics.
    struct Running<'r>(&'r AtomicI64);
    impl Drop for Running<'_> {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }
    let running = AtomicI64::new(THREADS);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (shared, table, running) = (&shared, &table, &running);
            scope.spawn(move || {
                let levels = [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable];
                let _running = Running(running);
                let mut worker = shared.transaction();
                let mut random = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(thread as u64 + 1);
                let mut next = |most: i64| {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040);
                    (random >> 33) as i64 % most
                };
                for round in 0..ROUNDS {
                    worker.begin();
                    worker.isolate(levels[next(3) as usize]);
                    let mut is_over = false;
                    for _ in 0..=next(3) {
                        if is_over {
                            break;
                        }
                        let number = if next(4) == 0 { round * THREADS + thread + 100 } else { next(12) };
                        let a = (next(6) > 0).then(|| next(VALUES));
                        let what = next(3);
                        is_over = !alone(&mut worker, |worker| match what {
                            0 => insert(worker, table, number, a).map(|_| true),
                            1 => update(worker, table, number, a).map(|_| true),
                            _ => delete(worker, table, number).map(|_| true),
                        });
                    }
                    if is_over || next(4) == 0 { worker.rollback() } else { worker.commit() }
                }
            });
        }
        let (shared, table, running) = (&shared, &table, &running);
        scope.spawn(move || {
            let mut reader = shared.transaction();
            let mut purger = Purger::new(shared);
            while running.load(Ordering::SeqCst) > 0 {
                reader.begin();
                reader.isolate(Isolation::RepeatableRead);
                let mut by_unique = done(find(&mut reader, table, UNIQUE, (0, VALUES)));
                let mut by_plain = done(find(&mut reader, table, PLAIN, (0, VALUES)));
                assert!(by_unique.len() <= VALUES as usize, "a value is there twice: {by_unique:?}");
                by_unique.sort_unstable();
                by_plain.sort_unstable();
                assert_eq!(by_unique, by_plain);
                by_plain.dedup();
                assert_eq!(by_unique, by_plain, "a row is found twice");
                reader.commit();
                purger.forget();
                purger.run(100);
            }
        });
    });
    check(&shared, &table);
}

proptest! {
    /// Entries of any columns are in the order of the columns, and lead back to the row's key.
    #[test]
    fn entries_are_in_the_order_of_their_columns(
        rows in proptest::collection::vec((any::<Option<i16>>(), any::<Option<String>>(), any::<String>()), 2..20),
        is_descending: [bool; 2],
        nulls_first: [bool; 2],
    ) {
        use crate::storage::row::RowLayout;
        use crate::storage::secondary_index::SecondaryIndex;
        let layout = RowLayout::new(&[SqlType::SmallInt, SqlType::Text, SqlType::Text]);
        let columns = [0_u16, 1].map(|column| IndexColumn {
            column,
            is_descending: is_descending[usize::from(column)],
            nulls_first: nulls_first[usize::from(column)],
            operator_class: None,
        });
        let definition = IndexDefinition { columns: columns.to_vec(), ..index(1, false) };
        let index = SecondaryIndex::new(&definition, &layout, None);
        let mut entries = Vec::new();
        for (number, text, key) in rows {
            let key_value = Value::text(&key);
            let values = [
                number.map_or(Value::Null, Value::SmallInt),
                text.as_deref().map_or(Value::Null, Value::text),
                key_value.clone(),
            ];
            let (mut row, mut key, mut entry) = (Vec::new(), Vec::new(), Vec::new());
            layout.encode(&values, &mut row);
            hyades_types::key::encode(&key_value, SqlType::Text, &mut key);
            index.encode(&layout, &row, &key, &mut entry);
            prop_assert_eq!(&entry[index.key_start(&entry)..], key.as_slice());
            entries.push((entry, number, text));
        }
        entries.sort();
        for pair in entries.windows(2) {
            let compare = |place: usize, one: Option<&[u8]>, other: Option<&[u8]>| {
                let order = match (one, other) {
                    (None, None) => std::cmp::Ordering::Equal,
                    (None, Some(_)) | (Some(_), None) => {
                        return if one.is_none() == nulls_first[place] {
                            std::cmp::Ordering::Less
                        } else {
                            std::cmp::Ordering::Greater
                        };
                    }
                    (Some(one), Some(other)) => one.cmp(other),
                };
                if is_descending[place] { order.reverse() } else { order }
            };
            let number = |of: &Option<i16>| of.map(|number| (number as u16 ^ 1 << 15).to_be_bytes());
            let (one, other) = (number(&pair[0].1), number(&pair[1].1));
            let order = compare(0, one.as_ref().map(|bytes| &bytes[..]), other.as_ref().map(|bytes| &bytes[..]));
            let texts = (pair[0].2.as_deref(), pair[1].2.as_deref());
            let order =
                order.then_with(|| compare(1, texts.0.map(str::as_bytes), texts.1.map(str::as_bytes)));
            prop_assert_ne!(order, std::cmp::Ordering::Greater);
        }
    }
}

//! An index that is built while others write: each of its steps beside each thing that a writer does, which
//! transaction waits for which, duplicates that come and go, and threads.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crossbeam_epoch as epoch;
use hyades_types::definition::{
    CatalogChange, DatabaseId, IndexDefinition, TableDefinition, TableId, TableName,
};
use hyades_types::error::{Abort, Error, sqlstate};

use super::index_tests::{
    PLAIN, alone, check, create, delete, done, find, index, insert, key, purge, row, shared, update, waits,
};
use super::purge::Purger;
use super::resource::Resource;
use super::tests::world::{Worker, World};

use crate::storage::table::Table;
use crate::ticket::Ticket;
use crate::txn::lock_mode::LockMode;
use crate::txn::{
    Access, Control, Flow, Found, Insertion, Intent, Interrupt, Isolation, NewRow, Object, ObjectAccess,
    ObjectMode, Strength, TableLock, Transaction, Waiting,
};

const ROWS: i64 = 6;

fn filled(shared: &World, indexes: Vec<IndexDefinition>) -> Arc<Table> {
    let table = create(shared, indexes);
    let mut worker = shared.transaction();
    worker.begin();
    for number in 0..ROWS {
        assert_eq!(done(insert(&mut worker, &table, number, Some(number * 10))), Insertion::Done);
    }
    worker.commit();
    table
}

/// A builder and the index that it builds.
struct Builder {
    worker: Worker,
    table: Arc<Table>,
    planned: Arc<TableDefinition>,
    index: IndexDefinition,
}

impl Builder {
    fn new(shared: &World, table: &Arc<Table>, index: IndexDefinition) -> Builder {
        let mut worker = shared.transaction();
        worker.begin();
        Builder { worker, table: Arc::clone(table), planned: table.definition(), index }
    }

    /// The smallest step; true if the index can be committed.
    fn step(&mut self) -> Flow<bool> {
        self.worker.build_step(&self.table, &self.planned, &self.index, 1)
    }

    /// A value that several rows may have, if it knows one.
    fn doubtful(&self) -> Option<&[u8]> {
        self.worker.build.as_ref()?.doubtful.last().map(|columns| &**columns)
    }

    /// Its next steps, for as long as it does not wait and knows such a value.
    fn until_it_waits(&mut self) -> Flow<bool> {
        loop {
            match self.step() {
                Ok(false) if self.doubtful().is_some() => {}
                other => return other,
            }
        }
    }

    fn finish(mut self) {
        while !done(self.step()) {}
        self.worker.commit();
    }
}

/// An update by a plan that knows no index on `a`.
fn update_unaware(worker: &mut Worker, table: &Arc<Table>, version: u64, number: i64, a: i64) -> Flow<()> {
    let guard = epoch::pin();
    let intent = Intent::newest(Strength::NoKeyWrite);
    worker.enter(table, version, intent)?;
    let found = worker.read_row(table, &key(number), intent, &guard)?;
    assert!(!matches!(found, Found::Nothing));
    let new = row(table, number, Some(a));
    let key = key(number);
    let written = worker.admit_write(table, &key, None)?;
    worker.update(written, &new, None);
    Ok(())
}

/// Gives the row another key, as an update does.
fn rename(worker: &mut Worker, table: &Arc<Table>, from: i64, to: i64, a: i64) -> Flow<bool> {
    let guard = epoch::pin();
    let intent = Intent::newest(Strength::Write);
    worker.enter(table, table.version(), intent)?;
    if matches!(worker.read_row(table, &key(from), intent, &guard)?, Found::Nothing) {
        return Ok(false);
    }
    let (from, to, row) = (key(from), key(to), row(table, to, Some(a)));
    let new = NewRow { moved_from: Some(&from), ..NewRow::new(&to, &row) };
    if worker.insert(table, new)? == Insertion::Done {
        let deleted = worker.admit_write(table, &from, None)?;
        worker.delete(deleted);
    }
    Ok(true)
}

/// What one transaction does.
fn write(worker: &mut Worker, table: &Arc<Table>, what: usize) {
    match what {
        0 => assert_eq!(done(insert(worker, table, 100, Some(5))), Insertion::Done),
        1 => assert!(done(update(worker, table, 2, Some(33)))),
        2 => assert!(done(delete(worker, table, 3))),
        3 => {
            assert!(done(update(worker, table, 4, Some(44))));
            assert!(done(update(worker, table, 4, Some(40))));
        }
        4 => assert!(done(rename(worker, table, 1, 50, 11))),
        5 => {
            assert!(done(delete(worker, table, 5)));
            assert_eq!(done(insert(worker, table, 5, Some(55))), Insertion::Done);
        }
        _ => {
            let savepoint = worker.savepoint();
            assert!(done(update(worker, table, 0, Some(77))));
            assert_eq!(done(insert(worker, table, 101, Some(6))), Insertion::Done);
            worker.rollback_to(savepoint);
            assert!(done(update(worker, table, 0, Some(1))));
        }
    }
}

const WRITES: usize = 7;

/// Each write, before each step and over one or three of them, committed and rolled back. Useless entries are
/// removed in between, and a snapshot from the beginning sees the same by the index as without it.
#[test]
fn every_write_beside_every_step() {
    for is_unique in [false, true] {
        for what in 0..WRITES {
            for (stays, commits) in [(0, true), (0, false), (1, true), (1, false), (3, true), (3, false)] {
                let mut at = 1;
                while beside_step(is_unique, what, (at, stays), commits) {
                    at += 1;
                }
                assert!(at > ROWS as usize, "there are steps");
            }
        }
    }
}

/// Returns false if the builder has fewer steps.
fn beside_step(is_unique: bool, what: usize, (at, stays): (usize, usize), commits: bool) -> bool {
    let shared = shared();
    let table = filled(&shared, Vec::new());
    let [mut writer, mut reader] = [shared.transaction(), shared.transaction()];
    reader.begin();
    reader.isolate(Isolation::RepeatableRead);
    reader.resume_statement();
    let mut builder = Builder::new(&shared, &table, index(900, is_unique));
    for _ in 0..at {
        if done(builder.step()) {
            builder.worker.commit();
            reader.commit();
            check(&shared, &table);
            return false;
        }
    }
    writer.begin();
    write(&mut writer, &table, what);
    for _ in 0..stays {
        // When writers look for duplicates, the builder waits for those that have not.
        if waits(builder.step()) {
            assert!(is_unique);
        }
    }
    if commits {
        writer.commit()
    } else {
        writer.rollback()
    }
    purge(&shared);
    // It may have been completed beside the writer.
    if builder.worker.is_unlocked_change {
        builder.worker.commit();
    } else {
        builder.finish();
    }
    let all: Vec<i64> = (0..ROWS).collect();
    assert_eq!(done(find(&mut reader, &table, PLAIN, (-1, 999))), all, "{what} at {at}");
    reader.commit();
    check(&shared, &table);
    true
}

/// A transaction that was in the table before continues with its plans; others do not wait for it.
#[test]
fn the_builder_waits_for_those_who_do_not_know_the_index() {
    for isolation in [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable] {
        let shared = shared();
        let table = filled(&shared, Vec::new());
        let [mut old, mut new] = [shared.transaction(), shared.transaction()];
        let version = table.version();
        old.begin();
        old.isolate(isolation);
        old.resume_statement();
        done(update_unaware(&mut old, &table, version, 1, 15));
        let mut builder = Builder::new(&shared, &table, index(900, false));
        assert!(!done(builder.step()));
        assert!(waits(builder.step()));
        new.begin();
        new.isolate(isolation);
        new.resume_statement();
        let stale = update_unaware(&mut new, &table, version, 3, 35);
        assert!(matches!(stale, Err(Interrupt::Failed(Error::Abort(Abort::StalePlan)))));
        assert!(done(update(&mut new, &table, 3, Some(35))));
        new.commit();
        done(update_unaware(&mut old, &table, version, 2, 25));
        assert!(waits(builder.step()));
        old.commit();
        builder.finish();
        new.begin();
        assert_eq!(done(find(&mut new, &table, PLAIN, (15, 35))), [1, 2, 3]);
        new.commit();
        check(&shared, &table);
    }
}

/// A reader in the table keeps the builder waiting as well, because it may write later.
#[test]
fn a_transaction_that_has_only_read_may_write_by_its_old_plan() {
    let shared = shared();
    let table = filled(&shared, Vec::new());
    let mut old = shared.transaction();
    let version = table.version();
    old.begin();
    old.isolate(Isolation::ReadCommitted);
    done(old.enter(&table, version, Intent::READ).map(drop));
    let mut builder = Builder::new(&shared, &table, index(900, false));
    assert!(!done(builder.step()));
    assert!(waits(builder.step()));
    done(update_unaware(&mut old, &table, version, 1, 15));
    old.commit();
    builder.finish();
    check(&shared, &table);
}

#[test]
fn other_changes_of_the_table_wait_for_the_builder() {
    let shared = shared();
    let table = filled(&shared, vec![index(901, false)]);
    let mut other = shared.transaction();
    let changes = [
        CatalogChange::Truncate { id: table.id() },
        CatalogChange::DropTable { id: table.id() },
        CatalogChange::DropIndex { table: table.id(), index: TableId(901) },
        CatalogChange::CreateIndex { table: table.id(), index: index(902, false) },
    ];
    let mut builder = Builder::new(&shared, &table, index(900, false));
    assert!(!done(builder.step()));
    for change in changes {
        other.begin();
        assert!(waits(other.change_catalog(change.clone())));
        assert!(!done(builder.step()), "{change:?}");
        other.rollback();
    }
    other.begin();
    assert!(waits(other.lock_table(&table, TableLock::AccessExclusive, Waiting::InQueue)));
    other.rollback();
    let mut second = Builder::new(&shared, &table, index(903, false));
    assert!(waits(second.step()));
    builder.finish();
    let stale = second.step();
    assert!(matches!(stale, Err(Interrupt::Failed(Error::Abort(Abort::StalePlan)))));
    second.worker.rollback();
    check(&shared, &table);
}

/// A transaction that queues for another builder's end is no user of the table: no other waits for it.
#[test]
fn three_builders_come_one_after_the_other() {
    for kinds in 0..8 {
        let shared = shared();
        let table = filled(&shared, Vec::new());
        let new =
            |number| Builder::new(&shared, &table, index(900 + number as u32, kinds >> number & 1 == 1));
        let mut builders = [Some(new(0)), Some(new(1)), Some(new(2))];
        let mut tickets = [None, None, None];
        for _ in 0..200 {
            for (number, place) in builders.iter_mut().enumerate() {
                if !tickets[number].as_ref().is_none_or(Ticket::is_ready) {
                    continue;
                }
                while let Some(builder) = place {
                    tickets[number] = None;
                    match builder.step() {
                        Ok(false) => {}
                        Ok(true) => {
                            builder.worker.commit();
                            *place = None;
                        }
                        Err(Interrupt::Failed(Error::Abort(Abort::StalePlan))) => {
                            builder.worker.rollback();
                            *place = Some(new(number));
                            continue;
                        }
                        Err(Interrupt::Wait(ticket)) => tickets[number] = Some(ticket),
                        Err(Interrupt::Failed(error)) => panic!("{error}"),
                    }
                    break;
                }
            }
        }
        assert_eq!(table.definition().indexes.len(), 3, "{kinds}");
        check(&shared, &table);
    }
}

/// A transaction that only reads has nothing to be checked.
#[test]
fn readers_who_know_the_index_are_not_waited_for() {
    let shared = shared();
    let table = filled(&shared, Vec::new());
    let mut reader = shared.transaction();
    let mut builder = Builder::new(&shared, &table, index(900, true));
    assert!(!done(builder.step()));
    reader.begin();
    reader.isolate(Isolation::ReadCommitted);
    done(reader.enter(&table, table.version(), Intent::READ).map(drop));
    builder.finish();
    reader.commit();
    check(&shared, &table);
}

/// A reader that waits to have the table alone is not waited for, and does not come back to its earlier
/// plans.
#[test]
fn who_waits_for_the_whole_table_does_not_write_by_his_old_plan() {
    for gives_up in [false, true] {
        let shared = shared();
        let table = filled(&shared, Vec::new());
        let [mut old, mut other] = [shared.transaction(), shared.transaction()];
        let version = table.version();
        old.begin();
        old.isolate(Isolation::ReadCommitted);
        done(old.enter(&table, version, Intent::READ).map(drop));
        let mut builder = Builder::new(&shared, &table, index(900, false));
        let name = TableName { name: builder.index.name.clone(), ..builder.planned.name.clone() };
        other.begin();
        done(other.lock_object(DatabaseId::FIRST, Object::Relation(&name), ObjectMode::Change));
        assert!(waits(builder.step()));
        let savepoint = old.savepoint();
        let lock = |old: &mut Worker| old.lock_table(&table, TableLock::AccessExclusive, Waiting::InQueue);
        assert!(waits(lock(&mut old)));
        if gives_up {
            old.rollback_to(savepoint);
        }
        other.rollback();
        builder.finish();
        if !gives_up {
            done(lock(&mut old));
        }
        let stale = update_unaware(&mut old, &table, version, 1, 15);
        assert!(matches!(stale, Err(Interrupt::Failed(Error::Abort(Abort::StalePlan)))), "{gives_up}");
        assert!(done(update(&mut old, &table, 1, Some(15))));
        old.commit();
        check(&shared, &table);
    }
}

fn begun(shared: &World) -> Worker {
    let mut worker = shared.transaction();
    worker.begin();
    worker
}

/// A builder that has met two entries of a value, 30, because a reader may still see the row 100 that had it
/// beside the row 3.
fn in_doubt(shared: &World) -> (Arc<Table>, Builder, Worker) {
    let table = filled(shared, Vec::new());
    let mut writer = begun(shared);
    assert_eq!(done(insert(&mut writer, &table, 100, Some(30))), Insertion::Done);
    writer.commit();
    let mut reader = begun(shared);
    reader.isolate(Isolation::RepeatableRead);
    reader.resume_statement();
    writer.begin();
    assert!(done(delete(&mut writer, &table, 100)));
    writer.commit();
    let mut builder = Builder::new(shared, &table, index(900, true));
    while builder.doubtful().is_none() {
        assert!(!done(builder.step()));
    }
    (table, builder, reader)
}

/// Two transactions take turns with a value that two entries have; the builder gets it in the end.
#[test]
fn a_value_in_constant_demand_is_queued_for() {
    let shared = shared();
    let (table, mut builder, reader) = in_doubt(&shared);
    let [mut first, mut second] = [(); 2].map(|()| begun(&shared));
    let value = Resource::value(builder.index.id, builder.doubtful().expect("a value"));
    done(first.lock(value, LockMode::Write));
    for turn in 0.. {
        assert!(turn < 100, "it never gets it");
        assert!(waits(second.lock(value, LockMode::Write)));
        first.rollback();
        first.begin();
        let outcome = builder.until_it_waits();
        done(second.lock(value, LockMode::Write).map(drop));
        if builder.doubtful().is_none() {
            assert!(!done(outcome));
            break;
        }
        assert!(waits(outcome));
        std::mem::swap(&mut first, &mut second);
    }
    for mut worker in [first, second, reader] {
        worker.rollback();
    }
    builder.finish();
    check(&shared, &table);
}

/// A row with a value that two entries have is changed by two transactions in turn, which leave the value as
/// it is.
#[test]
fn a_row_under_constant_change_is_queued_for() {
    let shared = shared();
    let (table, mut builder, reader) = in_doubt(&shared);
    let [mut first, mut second] = [(); 2].map(|()| begun(&shared));
    assert!(done(update(&mut first, &table, 3, Some(30))));
    for turn in 0.. {
        assert!(turn < 100, "it never comes by it");
        let outcome = builder.until_it_waits();
        assert!(waits(outcome));
        assert!(waits(update(&mut second, &table, 3, Some(30))));
        first.commit();
        first.begin();
        match update(&mut second, &table, 3, Some(30)) {
            Ok(is_there) => assert!(is_there),
            // It waits for the builder.
            outcome => {
                assert!(waits(outcome));
                break;
            }
        }
        std::mem::swap(&mut first, &mut second);
    }
    while builder.doubtful().is_some() {
        assert!(!done(builder.step()));
    }
    assert!(done(update(&mut second, &table, 3, Some(30))), "nothing is held any more");
    for mut worker in [first, second, reader] {
        worker.commit();
    }
    builder.finish();
    check(&shared, &table);
}

/// The builder waits for a transaction that then wants to change the table, and so waits for the builder.
#[test]
fn who_closes_a_circle_with_the_builder_learns_it() {
    let shared = shared();
    let table = filled(&shared, Vec::new());
    let mut old = shared.transaction();
    old.begin();
    done(update_unaware(&mut old, &table, table.version(), 1, 15));
    let mut builder = Builder::new(&shared, &table, index(900, false));
    assert!(!done(builder.step()));
    assert!(waits(builder.step()));
    let change = CatalogChange::Truncate { id: table.id() };
    let circle = old.change_catalog(change.clone());
    assert!(matches!(circle, Err(Interrupt::Failed(Error::Abort(Abort::Deadlock)))));
    old.rollback();
    builder.finish();
    // The other way round: that transaction waits already.
    old.begin();
    done(update(&mut old, &table, 1, Some(15)).map(drop));
    let mut builder = Builder::new(&shared, &table, index(901, false));
    assert!(!done(builder.step()));
    assert!(waits(old.change_catalog(change)));
    let circle = builder.step();
    assert!(matches!(circle, Err(Interrupt::Failed(Error::Abort(Abort::Deadlock)))));
    builder.worker.rollback();
    old.rollback();
    check(&shared, &table);
    assert_eq!(table.definition().indexes.len(), 1);
}

#[test]
fn a_build_that_ends_otherwise_leaves_nothing() {
    let shared = shared();
    let table = filled(&shared, Vec::new());
    let mut writer = shared.transaction();
    for steps in 1..10 {
        let mut builder = Builder::new(&shared, &table, index(900 + steps, steps % 2 == 0));
        for _ in 0..steps {
            if done(builder.step()) {
                break;
            }
        }
        writer.begin();
        assert!(done(update(&mut writer, &table, 1, Some(i64::from(steps)))));
        builder.worker.rollback();
        assert!(done(update(&mut writer, &table, 2, Some(i64::from(steps) + 50))));
        writer.commit();
        assert!(table.shared_state().indexes().is_empty());
    }
    check(&shared, &table);
    assert_eq!(shared.tombstones(), 0);
}

fn is_duplicate<T>(flow: Flow<T>) -> bool {
    let Err(Interrupt::Failed(error)) = flow else { return false };
    assert_eq!(error.to_string(), "could not create unique index \"i900\"");
    error.sqlstate() == sqlstate::UNIQUE_VIOLATION
}

#[test]
fn values_that_are_there_twice_are_found() {
    let shared = shared();
    let table = filled(&shared, Vec::new());
    let mut writer = shared.transaction();
    writer.begin();
    // NULL is no value.
    for (number, a) in [(100, None), (101, None), (102, Some(30))] {
        assert_eq!(done(insert(&mut writer, &table, number, a)), Insertion::Done);
    }
    writer.commit();
    let mut builder = Builder::new(&shared, &table, index(900, true));
    let failed = loop {
        match builder.step() {
            Ok(false) => {}
            other => break other,
        }
    };
    assert!(is_duplicate(failed));
    builder.worker.rollback();
    writer.begin();
    assert!(done(delete(&mut writer, &table, 102)));
    writer.commit();
    Builder::new(&shared, &table, index(900, true)).finish();
    check(&shared, &table);
}

/// A writer takes an existing value, before each step. It is not refused: whether the value is a duplicate
/// depends on the outcome of the writer, and the builder waits for that.
#[test]
fn duplicates_of_those_who_have_not_ended_are_waited_for() {
    let (mut refused, mut steps) = (0, 0);
    for commits in [true, false] {
        for at in 1.. {
            let shared = shared();
            let table = filled(&shared, Vec::new());
            let mut writer = shared.transaction();
            let mut builder = Builder::new(&shared, &table, index(900, true));
            if (0..at).any(|_| done(builder.step())) {
                builder.worker.commit();
                break;
            }
            steps += 1;
            writer.begin();
            assert_eq!(done(insert(&mut writer, &table, 100, Some(30))), Insertion::Done, "at {at}");
            let outcome = loop {
                match builder.step() {
                    Ok(false) => {}
                    other => break other,
                }
            };
            assert!(waits(outcome), "at {at}");
            if commits {
                writer.commit();
                let failed = loop {
                    match builder.step() {
                        Ok(false) => {}
                        other => break other,
                    }
                };
                assert!(is_duplicate(failed), "at {at}");
                builder.worker.rollback();
                refused += 1;
            } else {
                writer.rollback();
                builder.finish();
            }
            check(&shared, &table);
        }
    }
    assert!(refused > ROWS && steps == 2 * refused);
}

/// A value that one row gives up for another is not a duplicate.
#[test]
fn values_may_move_while_they_are_looked_at() {
    for at in 1.. {
        let shared = shared();
        let table = filled(&shared, Vec::new());
        let mut writer = shared.transaction();
        let mut builder = Builder::new(&shared, &table, index(900, true));
        if (0..at).any(|_| done(builder.step())) {
            assert!(at > ROWS as usize);
            break;
        }
        writer.begin();
        assert!(done(update(&mut writer, &table, 3, Some(31))));
        assert!(done(update(&mut writer, &table, 4, Some(30))));
        assert!(done(update(&mut writer, &table, 3, Some(40))));
        while matches!(builder.step(), Ok(false)) {}
        writer.commit();
        if builder.worker.is_unlocked_change {
            builder.worker.commit();
        } else {
            builder.finish();
        }
        check(&shared, &table);
    }
}

/// However a transaction ends, others commit.
#[test]
fn commits_are_open_after_the_transaction_that_closed_them() {
    let shared = shared();
    let mut worker = shared.transaction();
    worker.begin();
    shared.unlocked.is_closed.store(true, Ordering::SeqCst);
    worker.has_closed_commits = true;
    worker.rollback();
    assert!(!shared.unlocked.is_closed());
}

/// When the builder has made sure that there are no duplicates, and is about to commit, writers wait for it.
#[test]
fn a_duplicate_at_the_very_end_waits_for_the_builder() {
    for commits in [true, false] {
        let shared = shared();
        let table = filled(&shared, Vec::new());
        let mut writer = shared.transaction();
        let mut builder = Builder::new(&shared, &table, index(900, true));
        while !done(builder.step()) {}
        writer.begin();
        assert!(waits(insert(&mut writer, &table, 100, Some(30))));
        if commits {
            builder.worker.commit();
        } else {
            builder.worker.rollback();
        }
        let inserted = done(insert(&mut writer, &table, 100, Some(30)));
        assert_eq!(inserted == Insertion::Done, !commits);
        writer.commit();
        check(&shared, &table);
    }
}

/// Threads write while one index after another is built, some of them unique, used for searches, and dropped.
#[test]
fn threads_write_while_indexes_are_built() {
    const THREADS: i64 = 3;
    const BUILDS: u32 = 30;
    let shared = shared();
    let table = filled(&shared, Vec::new());
    let (is_over, builds) = (AtomicBool::new(false), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (shared, table, is_over, builds) = (&shared, &table, &is_over, &builds);
            scope.spawn(move || write_randomly(shared, table, thread, (is_over, builds)));
        }
        /// Also when a build panics.
        struct Over<'o>(&'o AtomicBool);
        impl Drop for Over<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::SeqCst);
            }
        }
        let _over = Over(&is_over);
        let (purged, is_purged) = (&shared, &is_over);
        scope.spawn(move || {
            let mut purger = Purger::new(purged);
            while !is_purged.load(Ordering::SeqCst) {
                purger.forget();
                purger.run(1000);
            }
        });
        let mut built = BTreeMap::from([(false, 0), (true, 0)]);
        for number in 0..BUILDS {
            let is_unique = number % 3 == 0;
            let is_built = build_and_look(&shared, &table, index(1000 + number, is_unique));
            *built.entry(is_unique).or_default() += u32::from(is_built);
            builds.fetch_add(1, Ordering::SeqCst);
        }
        assert_eq!(built[&false], BUILDS - BUILDS / 3);
    });
    check(&shared, &table);
}

/// Precedes the builds by only some transactions: a busy machine may leave the builder waiting, and versions
/// that its snapshot needs are given up when there are too many.
fn write_randomly(
    shared: &World,
    table: &Arc<Table>,
    thread: i64,
    (is_over, builds): (&AtomicBool, &AtomicU32),
) {
    const FOR_EACH_BUILD: u32 = 20_000;
    let levels = [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable];
    let mut worker = shared.transaction();
    let mut random = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(thread as u64 + 1);
    let mut next = |most: i64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040);
        (random >> 33) as i64 % most
    };
    let mut count = 0;
    while !is_over.load(Ordering::SeqCst) {
        if count / FOR_EACH_BUILD > builds.load(Ordering::SeqCst) {
            std::thread::yield_now();
            continue;
        }
        count += 1;
        worker.begin();
        worker.isolate(levels[next(3) as usize]);
        worker.resume_statement();
        let mut is_refused = false;
        for _ in 0..=next(3) {
            // Mostly values of its own, so that unique indexes can be built.
            let (number, own) = (next(12) * 3 + thread, next(400) * 3 + thread);
            let a = Some(if next(200) == 0 { next(9) } else { 1000 + own });
            let what = next(3);
            is_refused |= !alone(&mut worker, |worker| match what {
                0 => insert(worker, table, number, a).map(|_| true),
                1 => update(worker, table, number, a).map(|_| true),
                _ => delete(worker, table, number).map(|_| true),
            });
            if is_refused {
                break;
            }
        }
        if is_refused || next(4) == 0 { worker.rollback() } else { worker.commit() }
    }
}

/// Builds an index, compares what it finds with the rows, and drops it; false if it could not be built.
fn build_and_look(shared: &World, table: &Arc<Table>, index: IndexDefinition) -> bool {
    let mut builder = Builder::new(shared, table, index);
    let is_built = loop {
        match builder.step() {
            Ok(true) => break true,
            Ok(false) => {}
            Err(Interrupt::Wait(ticket)) => ticket.wait(),
            Err(Interrupt::Failed(error)) => {
                assert_eq!(error.sqlstate(), sqlstate::UNIQUE_VIOLATION, "{error}");
                break false;
            }
        }
    };
    let mut worker = builder.worker;
    if !is_built {
        worker.rollback();
        assert!(table.shared_state().indexes().is_empty());
        return false;
    }
    worker.commit();
    worker.begin();
    worker.isolate(Isolation::RepeatableRead);
    worker.resume_statement();
    let mut by_index = done(find(&mut worker, table, PLAIN, (i64::MIN + 1, i64::MAX - 1)));
    by_index.sort_unstable();
    assert_eq!(by_index, all_rows(&mut worker, table));
    worker.commit();
    let change = CatalogChange::DropIndex { table: table.id(), index: builder.index.id };
    loop {
        worker.begin();
        let is_dropped = alone(&mut worker, |worker| worker.change_catalog(change.clone()).map(|()| true));
        if is_dropped {
            worker.commit();
            return true;
        }
        worker.rollback();
    }
}

/// Keys of all rows that the transaction sees, by the primary key.
fn all_rows(worker: &mut Worker, table: &Arc<Table>) -> Vec<i64> {
    let guard = epoch::pin();
    let mut keys = Vec::new();
    for number in 0..40 {
        let found = worker.read_row(table, &key(number), Intent::READ, &guard);
        if !matches!(done(found), Found::Nothing) {
            keys.push(number);
        }
    }
    keys
}

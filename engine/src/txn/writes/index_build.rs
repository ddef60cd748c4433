//! CREATE INDEX beside transactions that read and write the table.
//!
//! ```text
//! attach   the table gets a state in which the index comes after the others: writers keep it, no reader
//!          finds rows by it, it is in no definition and in no log (`catalog::change::indexes`)
//! wait     for all that were in the table then: their plans do not know the index
//! walk     through all records, and add entries for every version that may still be seen
//! check    (unique ones) writers look for duplicates from now on; wait for those that have written without
//!          that; check all values that several entries have
//! finish   the change of the catalog is logged, and when it is committed, the definition has the index
//! ```
//!
//! No other transaction waits for any of that. The builder holds a lock that says that the definition stays,
//! as readers at snapshots do, so other changes of the table wait for it. Before that it takes another lock
//! that keeps a second builder away, which waits for it without holding anything of the table that others
//! would wait for in turn. For transactions that were there before, it waits without standing in a queue
//! (`LockTable::outlast`), so that others pass. If the transaction ends in any other way, the index is
//! removed again, and nothing is left.
//!
//! **Entries.** The walk meets each record once, whatever others do to it. It reads the versions, adds their
//! entries, and checks whether the newest version is still the same. If not, its writer may have given up its
//! entry before the entry was there, so the walk gives it up as well, as it does with those of older
//! versions. `purge` knows which are needed. No reader has used a gap of the index yet, so the walk locks
//! none.
//!
//! **Plans.** A transaction that was in the table when the index was attached continues with its plans, and
//! is waited for (`Body::is_as_planned`). All others compile again.
//!
//! **Duplicates** that writers meet before the index is finished are not their errors, because the index may
//! never be finished: `storage::unfinished_index`. The builder locks a value that several entries have before
//! it looks at their rows, so that no other transaction gets it meanwhile, and waits for nothing while it has
//! that lock: it gives it up, waits for the transaction that is changing a row, and looks again. If others
//! use the value or its rows all the time, it requests these locks like any other transaction, in queues, and
//! keeps what it has got until it has looked. A deadlock is then found, and ends as any other.
//!
//! **Replay** makes the index when it comes to the change, in order with all others: `unlocked_change`.
//!
//! Reference: PostgreSQL's CREATE INDEX CONCURRENTLY (indexcmds.c), which needs a third wait, for snapshots
//! from before: here their versions have entries, too; Mohan, Narang: "Algorithms for Creating Indexes for
//! Very Large Tables Without Quiescing Updates", SIGMOD 1992 (NSF).

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use crossbeam_epoch::{self as epoch, Guard};
use hyades_types::definition::IndexDefinition;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::{guest, memory};

use super::Body;
use super::change_beside_others::{IndexBuild, Stage};
use super::patient_lock::TRIES;
use super::purge_queue::Purgeable;
use super::resource::{Resource, TABLE_STRIPES};
use crate::mutant::{self, Mutant};
use crate::protocol::Protocol;
use crate::storage::record::Record;
use crate::storage::scan_batch::{ScanBatch, ScanDirection};
use crate::storage::secondary_index::SecondaryIndex;
use crate::storage::table::{Table, TableState};
use crate::storage::unfinished_index::Doubtful;
use crate::txn::Flow;
use crate::txn::lock_mode::LockMode;
use crate::txn::lock_table::TransactionId;

/// The cost of making the entries of a record, or of checking an entry, as work of a guest.
const UNITS_PER_ENTRY: usize = 50;

impl<P: Protocol> Body<P> {
    /// One step of the build that was begun, through at most this many records or entries; true if the index
    /// can be committed.
    pub(super) fn continue_build(&mut self, index: &IndexDefinition, most: usize) -> Flow<bool> {
        let Some(mut build) = self.build.take() else {
            return Err(Error::fatal(sqlstate::INTERNAL_ERROR, "no index is being built").into());
        };
        let is_done = self.take_step(&mut build, index, most);
        if !matches!(is_done, Ok(true)) {
            self.build = Some(build);
        }
        is_done
    }

    pub(super) fn begin_build(&self, table: &Arc<Table>) -> Box<IndexBuild> {
        Box::new(IndexBuild {
            awaited: self.users_of(table, |_| true),
            table: Arc::clone(table),
            state: table.shared_state(),
            doubtful: Vec::new(),
            tries: 0,
            rows: Vec::new(),
            stage: Stage::Walk { after: None },
            batch: ScanBatch::new(),
        })
    }

    /// The other transactions that have locked the table, or its definition in order to use it, in one of
    /// these modes. Those that want to change the definition are not included: they wait for this
    /// transaction, and compile again if the table has changed by then (`TableUse::give_up_plans`).
    pub(super) fn users_of(
        &self,
        table: &Table,
        counts: impl Fn(LockMode) -> bool,
    ) -> Vec<(Resource, Vec<TransactionId>)> {
        let mut users = Vec::new();
        let uses_definition = |mode| mode != LockMode::Write && counts(mode);
        for stripe in 0..TABLE_STRIPES {
            let of_rows = Resource::table_stripe(table.id(), stripe);
            let of_definition = Resource::definition_stripe(table.id(), stripe);
            users.push((of_rows, self.others_at(of_rows, &counts)));
            users.push((of_definition, self.others_at(of_definition, uses_definition)));
        }
        users.retain(|(_, others)| !others.is_empty());
        users
    }

    pub(super) fn others_at(
        &self,
        resource: Resource,
        counts: impl Fn(LockMode) -> bool,
    ) -> Vec<TransactionId> {
        let mut holders = self.shared.locks.holders(resource);
        holders.retain(|(holder, mode)| *holder != self.id && counts(*mode));
        holders.into_iter().map(|(holder, _)| holder).collect()
    }

    fn take_step(&mut self, build: &mut IndexBuild, index: &IndexDefinition, most: usize) -> Flow<bool> {
        while let Some((resource, others)) = build.awaited.last() {
            if !mutant::is_active(Mutant::BuilderWaitsForNobody) {
                self.outlast(*resource, others)?;
            }
            build.awaited.pop();
        }
        if let Some(columns) = build.doubtful.pop() {
            let is_settled = self.check_value(build, &columns);
            if !matches!(is_settled, Ok(true)) {
                build.doubtful.push(columns);
            }
            is_settled?;
            return Ok(false);
        }
        match build.stage {
            Stage::Walk { .. } => {
                if self.walk(build, most)? {
                    build.stage = self.begin_checks(build, index);
                }
            }
            Stage::Check { .. } => {
                if collect_doubtful(build, most)? {
                    build.stage = Stage::Finish;
                }
            }
            Stage::Finish => return self.finish_build(build),
        }
        Ok(false)
    }

    /// Adds entries for some records; true if those were the last.
    fn walk(&mut self, build: &mut IndexBuild, most: usize) -> Result<bool> {
        let IndexBuild { table, state, stage, batch, .. } = build;
        let Some(index) = state.unfinished_index() else { return Ok(true) };
        let Stage::Walk { after } = stage else { return Ok(true) };
        let guard = epoch::pin();
        let from = after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let page = state.index().scan(from, ScanDirection::Forward, most, batch, &guard);
        for (key, record) in page.iter() {
            guest::spend_for(UNITS_PER_ENTRY)?;
            self.add_versions(table, (state, index), (key, record), &guard)?;
        }
        self.shared.purge.push_all(&mut self.purgeable);
        *after = batch.last_key().map(<[u8]>::to_vec).or(after.take());
        Ok(batch.reaches_end())
    }

    /// Adds entries for all versions of a record; see the module head.
    fn add_versions(
        &mut self,
        table: &Arc<Table>,
        (state, index): (&TableState, &SecondaryIndex),
        (key, record): (&[u8], &Record),
        guard: &Guard,
    ) -> Result<()> {
        let Self { shared, purgeable, .. } = self;
        let mut give_up = |entry: &[u8]| {
            let index = Some(index.definition().id);
            purgeable.push(Purgeable { table: Arc::clone(table), index, key: entry.into() });
        };
        let mut entry = Vec::new();
        loop {
            let mut newest = None;
            let writer = shared.histories.for_each_version(record, guard, |row, is_newest| {
                index.encode(state.layout(), row, key, &mut entry);
                memory::admit_row(entry.len())?;
                let is_new = index.entries().get_or_insert(&entry, None, guard).1;
                match is_new {
                    true if is_newest => newest = Some(entry.clone()),
                    true => give_up(&entry),
                    false => {}
                }
                Ok(())
            })?;
            // A transaction that announces itself as the next writer from here on finds the entry, and gives
            // it up.
            fence(Ordering::SeqCst);
            match (writer, newest) {
                (Some(writer), _) if record.is_of(writer) => return Ok(()),
                (_, Some(newest)) => give_up(&newest),
                (_, None) => {}
            }
            if writer.is_some() {
                return Ok(());
            }
        }
    }

    /// All records have their entries.
    fn begin_checks(&mut self, build: &mut IndexBuild, index: &IndexDefinition) -> Stage {
        let Some(unfinished) = build.state.unfinished_index().and_then(SecondaryIndex::unfinished) else {
            return Stage::Finish;
        };
        if !index.is_unique {
            return Stage::Finish;
        }
        unfinished.begin_checks();
        let writes = |mode| matches!(mode, LockMode::IntentWrite | LockMode::NoKeyWrite | LockMode::Write);
        build.awaited = self.users_of(&build.table, writes);
        Stage::Check { after: None }
    }

    /// Whether at most one row has these columns; false if it must look again, once another transaction has
    /// ended.
    ///
    /// Fails with 23505 if two rows have them.
    fn check_value(&mut self, build: &mut IndexBuild, columns: &[u8]) -> Flow<bool> {
        let Some(index) = build.state.unfinished_index() else { return Ok(true) };
        let (table, value) = (build.table.id(), Resource::value(index.definition().id, columns));
        // A transaction that has the whole table locks no rows and values.
        let stripe = Resource::table_stripe(table, self.worker);
        let stands_in_queues = build.tries >= TRIES;
        if stands_in_queues {
            for row in &build.rows {
                self.lock(*row, LockMode::Read)?;
            }
            self.lock(value, LockMode::Write)?;
        }
        self.lock(stripe, LockMode::IntentRead)?;
        let hindered = if self.lock_without_waiting(value, LockMode::Write) {
            self.find_two(build, (index, columns))
        } else {
            Ok(Some(value))
        };
        match hindered {
            Ok(Some(row)) if stands_in_queues => {
                build.rows.push(row);
                return Ok(false);
            }
            _ => [value, stripe].into_iter().chain(build.rows.drain(..)).for_each(|held| self.let_go(held)),
        }
        let Some(resource) = hindered? else {
            build.tries = 0;
            return Ok(true);
        };
        build.tries += 1;
        build.awaited.push((resource, self.others_at(resource, |_| true)));
        Ok(false)
    }

    /// Fails if two rows have these columns, which are locked. Returns the lock of a row that another
    /// transaction is changing.
    fn find_two(
        &mut self,
        build: &IndexBuild,
        (index, columns): (&SecondaryIndex, &[u8]),
    ) -> Result<Option<Resource>> {
        let guard = epoch::pin();
        let state = &build.state;
        let (mut row, mut found, mut is_there) = (Vec::new(), Vec::new(), false);
        for key in index.rows_with(columns, &guard) {
            let Some(record) = state.index().get(&key, &guard) else { continue };
            let Self { history, shared, dependencies, .. } = self;
            let follow = |mark: &[_]| shared.protocol.follow(mark, dependencies);
            let settled = shared.histories.read_settled(record, history, &mut row, follow, &guard);
            let Some(has_row) = settled else { return Ok(Some(Resource::row(build.table.id(), &key))) };
            found.clear();
            if !has_row || !index.is_exclusive(index.append_columns(state.layout(), &row, &mut found)) {
                continue;
            }
            if found == columns && std::mem::replace(&mut is_there, true) {
                let definition = index.definition();
                let columns: Vec<u16> = definition.key_columns().collect();
                return Err(state.duplicate_key(&definition.name, &columns, &row));
            }
        }
        Ok(None)
    }

    fn finish_build(&mut self, build: &mut IndexBuild) -> Flow<bool> {
        let unfinished = build.state.unfinished_index().and_then(SecondaryIndex::unfinished);
        match unfinished.map_or(Doubtful::Nothing, |unfinished| unfinished.take_doubts()) {
            Doubtful::Nothing => {}
            Doubtful::These(values) => {
                build.doubtful = values;
                return Ok(false);
            }
            Doubtful::Everything => {
                build.stage = Stage::Check { after: None };
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Checks some entries for values that several have; true if those were the last.
fn collect_doubtful(build: &mut IndexBuild, most: usize) -> Result<bool> {
    let IndexBuild { state, stage, batch, doubtful, .. } = build;
    let Some(index) = state.unfinished_index() else { return Ok(true) };
    let Stage::Check { after } = stage else { return Ok(true) };
    let guard = epoch::pin();
    let from = after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    let page = index.entries().scan(from, ScanDirection::Forward, most, batch, &guard);
    let columns_of = |entry: &[u8]| entry[..index.key_start(entry)].to_vec();
    let mut last = after.as_deref().map(columns_of).unwrap_or_default();
    for (entry, _) in page.iter() {
        guest::spend_for(UNITS_PER_ENTRY)?;
        let columns = &entry[..index.key_start(entry)];
        if columns != last {
            last.clear();
            last.extend_from_slice(columns);
        } else if index.is_exclusive(index.has_null(columns))
            && doubtful.last().is_none_or(|known| **known != *columns)
        {
            doubtful.push(columns.into());
        }
    }
    *after = batch.last_key().map(<[u8]>::to_vec).or(after.take());
    Ok(batch.reaches_end())
}

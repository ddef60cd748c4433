//! Loads a checkpoint into an empty catalog: ranges in parallel, indexes built on the way. What it contains
//! is known at once ([`begin`]). The rows come afterwards ([`Loading::run`]), first those that a session
//! waits for. A restart may pause the loading to replay the logs for what has been loaded
//! (`recovery::passes`).
//!
//! **Ranges that a session waits for.** If a table can be entered range by range ([`Table::ranges`]), what
//! the logs have done to such a range is merged into it (`range_changes`), and it opens as soon as it is
//! there. A range that had been loaded before is loaded once more.
//!
//! Every chunk is checked, and so is the number of rows of each range: a part that is missing, too short,
//! corrupted or from another database is refused by name. Nothing is written.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crossbeam_epoch as epoch;
use hyades_types::definition::TableId;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::memory::Expected;
use parking_lot::Mutex;

use super::contents::{Contents, KeyRange, directory};
use super::merge::{Sections, Spares};
use super::part::PartReader;
use super::range_changes::{Merged, RangeChanges};
use super::schema;
use crate::config::Config;
use crate::log::manifest::{Checkpoint, Manifest};
use crate::storage::bulk_load::{EntryPiece, TableLoad};
use crate::storage::databases::Databases;
use crate::storage::range_notes::RangeNotes;
use crate::storage::table::Table;
use crate::sync::{Condvar, JoinHandle};

/// What a row takes in memory besides its bytes: its record and its place in the primary index.
const RECORD_BYTES: u64 = 64;
/// What it takes in each other index.
const ENTRY_BYTES: u64 = 72;

/// A loaded checkpoint: what the next one builds on.
#[derive(Clone)]
pub(crate) struct Loaded {
    pub(super) contents: Contents,
    /// The index of each table of the contents, before anything was replayed, and notes of what leaves it
    /// from then on.
    pub(super) indexes: Vec<(u64, Arc<RangeNotes>)>,
}

impl Loaded {
    pub(crate) fn rows(&self) -> u64 {
        self.contents.rows()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.contents.bytes()
    }
}

/// A checkpoint whose catalog has been created, and whose rows are still to come.
pub(crate) struct Loading {
    pub(crate) loaded: Loaded,
    reader: PartReader,
    tables: Mutex<Vec<LoadingTable>>,
    /// Signals that there are more jobs, or that there will be none any more.
    has_more: Condvar,
    /// See [`Watching::pauses`].
    is_paused: AtomicBool,
    error: Mutex<Option<Error>>,
    bytes: u64,
    bytes_done: AtomicU64,
    /// Memory for the ranges that have not been loaded.
    expected: Expected,
}

/// A table, the jobs of it that no thread has taken, and how many are not done.
struct LoadingTable {
    table: Arc<Table>,
    /// `None` when it is done.
    load: Option<Arc<TableLoad>>,
    jobs: VecDeque<Job>,
    left: usize,
    /// Bytes of the ranges that have not been loaded.
    bytes_left: u64,
    is_done: bool,
    /// No range is loaded any more.
    is_ending: bool,
    ranges: Vec<KeyRange>,
    /// By range.
    states: Vec<RangeState>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RangeState {
    /// Among the jobs.
    Due,
    /// A thread loads it, or will.
    Taken,
    Loaded,
    /// It need not be loaded again: it has been opened, or cannot be opened before the whole table.
    Settled,
}

/// A piece of work for one thread.
enum Job {
    /// The range at this place.
    Range(usize, KeyRange),
    /// The same, because a session waits for it. It may have been loaded before.
    WantedRange { at: usize, range: KeyRange, is_again: bool },
    /// Entries of a secondary index, when all ranges have been loaded.
    Entries(EntryPiece),
}

/// A job and the table to which it belongs.
struct Taken {
    place: usize,
    table: Arc<Table>,
    load: Arc<TableLoad>,
    job: Job,
}

/// Follows the progress of the loading, and may pause or end it.
pub(crate) trait Watching: Send + Sync {
    /// Called when the rows of this table are there.
    fn is_loaded(&self, table: &Arc<Table>);

    /// Whether the result is not wanted any more.
    fn is_given_up(&self) -> bool;

    /// Whether something else is to be done first. [`Loading::run`] then returns, and goes on when it is
    /// called again.
    fn pauses(&self) -> bool {
        false
    }

    /// What the logs have done to a range that a session waits for. `None` if it is not to be opened before
    /// the whole table.
    ///
    /// # Errors
    /// The logs are damaged. Nothing more is loaded.
    fn changes_of(&self, _table: &Arc<Table>, _range: usize) -> Result<Option<RangeChanges>> {
        Ok(None)
    }

    /// Called when the rows of such a range are there, with the changes.
    fn is_merged(&self, _table: &Arc<Table>, _range: usize) {}

    /// Called when the rows of this table cannot be loaded. Returns whether the other tables are loaded
    /// nevertheless.
    fn goes_on_without(&self, table: &Arc<Table>, error: &Error) -> bool {
        let _ = (table, error);
        false
    }
}

/// A [`Watching`] that does nothing.
pub(crate) struct Nobody;

impl Watching for Nobody {
    fn is_loaded(&self, _table: &Arc<Table>) {}

    fn is_given_up(&self) -> bool {
        false
    }
}

/// Creates the catalog of a checkpoint of this manifest in an empty catalog.
///
/// # Errors
/// A file that is missing, damaged, or of another database or version.
pub(crate) fn begin(
    config: &Config,
    manifest: &Manifest,
    checkpoint: &Checkpoint,
    databases: &Arc<Databases>,
) -> Result<Loading> {
    let directory = directory(&config.data_directory);
    let contents = Contents::load(config.disk.as_ref(), &directory, checkpoint)?;
    if contents.database != manifest.database().to_string() {
        return Err(Error::corrupt(format!("checkpoint {} belongs to another database", checkpoint.number)));
    }
    schema::apply(&contents.schema, databases)?;
    databases.reserve_ids_below(contents.next_id);
    let mut tables = Vec::new();
    let mut indexes = Vec::new();
    let mut expected = 0;
    for loaded in &contents.tables {
        let table = databases.by_id(loaded.id).ok_or_else(|| {
            let number = checkpoint.number;
            Error::corrupt(format!(
                "checkpoint {number} has rows of table {}, which it does not have",
                loaded.id.0
            ))
        })?;
        let state = table.shared_state();
        let starts = loaded.ranges.iter().map(|range| range.from.clone());
        let notes = Arc::new(RangeNotes::new(starts));
        state.index().note_removals(Some(Arc::clone(&notes)));
        indexes.push((state.index().id(), notes));
        let rows = loaded.ranges.iter().map(|range| range.rows).sum();
        expected += loaded.ranges.iter().map(|range| memory_of(range, &table)).sum::<u64>();
        let load = Some(Arc::new(TableLoad::new(state, loaded.ranges.len(), rows)));
        let ranges = loaded.ranges.iter().cloned().enumerate();
        let jobs: VecDeque<Job> = ranges.map(|(place, range)| Job::Range(place, range)).collect();
        let left = jobs.len();
        let bytes_left = loaded.ranges.iter().map(KeyRange::bytes).sum();
        let (ranges, states) = (loaded.ranges.clone(), vec![RangeState::Due; left]);
        tables.push(LoadingTable {
            table,
            load,
            jobs,
            left,
            bytes_left,
            is_done: left == 0,
            is_ending: false,
            ranges,
            states,
        });
    }
    Ok(Loading {
        bytes: contents.bytes(),
        loaded: Loaded { contents, indexes },
        reader: PartReader { disk: Arc::clone(&config.disk), directory, database: manifest.database() },
        tables: Mutex::new(tables),
        has_more: Condvar::new(),
        is_paused: AtomicBool::new(false),
        error: Mutex::new(None),
        bytes_done: AtomicU64::new(0),
        expected: Expected::of(expected),
    })
}

/// Bytes of memory, approximately, that the rows of a range take with their records and index entries.
fn memory_of(range: &KeyRange, table: &Table) -> u64 {
    let indexes = table.definition().indexes.len() as u64;
    range.bytes() + range.rows * (RECORD_BYTES + indexes * ENTRY_BYTES)
}

impl Loading {
    /// The tables that are not loaded yet.
    pub(crate) fn tables(&self) -> Vec<Arc<Table>> {
        let tables = self.tables.lock();
        tables.iter().filter(|one| !one.is_done).map(|one| Arc::clone(&one.table)).collect()
    }

    /// Bytes of all ranges.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes of ranges that have not been loaded.
    pub(crate) fn bytes_left(&self) -> u64 {
        self.bytes.saturating_sub(self.bytes_done())
    }

    /// Bytes of ranges that have been loaded.
    pub(crate) fn bytes_done(&self) -> u64 {
        self.bytes_done.load(Ordering::Relaxed)
    }

    /// Bytes of the ranges of each table, loaded or not.
    pub(crate) fn bytes_by_table(&self) -> HashMap<TableId, u64> {
        let tables = self.loaded.contents.tables.iter();
        tables.map(|one| (one.id, one.ranges.iter().map(|range| range.bytes()).sum())).collect()
    }

    /// Where the ranges of a table begin; empty if it has none.
    pub(crate) fn range_starts(&self, table: TableId) -> Vec<Box<[u8]>> {
        let loaded = self.loaded.contents.tables.iter().find(|one| one.id == table);
        let ranges = loaded.into_iter().flat_map(|one| &one.ranges);
        // Bounded: memory was taken for all of them.
        ranges.map(|range| range.from.clone()).collect()
    }

    /// Loads these tables before all others that no session waits for. To be called before anything is
    /// loaded.
    pub(crate) fn load_first(&self, first: &HashSet<TableId>) {
        self.tables.lock().sort_by_key(|one| !first.contains(&one.table.id()));
    }

    /// Loads all rows with this many threads, first those of tables that a session waits for. Returns early
    /// if it is to pause.
    ///
    /// # Errors
    /// Parts that are missing or damaged; rows that do not fit their tables.
    pub(crate) fn run(self: &Arc<Self>, workers: usize, watching: &Arc<dyn Watching>) -> Result<()> {
        self.is_paused.store(false, Ordering::Relaxed);
        let jobs: usize = self.tables.lock().iter().map(|table| table.jobs.len()).sum();
        let mut threads = Vec::new();
        for number in 1..workers.min(jobs) {
            let (loading, watching) = (Arc::clone(self), Arc::clone(watching));
            let work = move || loading.work(watching.as_ref());
            let started = crate::sync::spawn(format!("hyades-load-{number}"), work);
            threads.push(
                started.map_err(|error| Error::io("could not start a thread for the checkpoint", &error))?,
            );
        }
        self.work(watching.as_ref());
        let joined: Vec<_> = threads.into_iter().map(JoinHandle::join).collect();
        let has_panicked = joined.iter().any(std::result::Result::is_err);
        if !self.is_paused.load(Ordering::Relaxed) {
            // The expected memory was an estimate.
            self.expected.arrived(u64::MAX);
        }
        let error = self.error.lock().take();
        match error {
            Some(error) => Err(error),
            None if has_panicked => {
                Err(Error::fatal(sqlstate::INTERNAL_ERROR, "a thread that loads the checkpoint panicked"))
            }
            None => Ok(()),
        }
    }

    fn work(&self, watching: &dyn Watching) {
        // If this thread panics, the others must not wait for it.
        struct EndOnPanic<'a>(&'a Loading);
        impl Drop for EndOnPanic<'_> {
            fn drop(&mut self) {
                if std::thread::panicking() {
                    self.0.give_up();
                }
            }
        }
        let _end = EndOnPanic(self);
        let mut spares = Spares::new();
        loop {
            if watching.pauses() {
                self.pause();
            }
            let Some(taken) = self.take(watching) else { break };
            let (place, table) = (taken.place, Arc::clone(&taken.table));
            let changes = match &taken.job {
                Job::WantedRange { at, .. } => watching.changes_of(&table, *at),
                _ => Ok(None),
            };
            let changes = match changes {
                Ok(changes) => changes,
                Err(error) => {
                    self.error.lock().get_or_insert(error);
                    self.give_up();
                    continue;
                }
            };
            let merged = changes.is_some().then_some(&taken.job).and_then(Job::range);
            let done = self.do_job(taken, changes, &mut spares);
            if let (Some(range), Ok(_)) = (merged, &done) {
                watching.is_merged(&table, range);
            }
            match done {
                Ok(Some(table)) => watching.is_loaded(&table),
                Ok(None) => {}
                Err(error) if watching.goes_on_without(&table, &error) => self.leave_out(place),
                Err(error) => {
                    self.error.lock().get_or_insert(error);
                    self.give_up();
                }
            }
        }
    }

    /// Ends the loading for good.
    fn give_up(&self) {
        for table in self.tables.lock().iter_mut() {
            table.jobs.clear();
            table.load = None;
            table.is_done = true;
        }
        self.has_more.notify_all();
    }

    /// Ends the loading of one table.
    fn leave_out(&self, place: usize) {
        {
            let table = &mut self.tables.lock()[place];
            table.jobs.clear();
            table.load = None;
            table.is_done = true;
            self.bytes_done.fetch_add(std::mem::take(&mut table.bytes_left), Ordering::Relaxed);
        }
        self.has_more.notify_all();
    }

    /// Makes the threads that take jobs, or wait for some, take no more.
    fn pause(&self) {
        let tables = self.tables.lock();
        self.is_paused.store(true, Ordering::Relaxed);
        drop(tables);
        self.has_more.notify_all();
    }

    /// A job of a table that a session waits for, else of the first table that has one. Waits for a job as
    /// long as other threads may make some; `None` if there will be none any more, or if the loading pauses.
    fn take(&self, watching: &dyn Watching) -> Option<Taken> {
        let mut tables = self.tables.lock();
        loop {
            if watching.is_given_up() {
                drop(tables);
                self.give_up();
                return None;
            }
            if self.is_paused.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(taken) = (0..tables.len()).find_map(|place| tables[place].take_wanted_range(place)) {
                return Some(taken);
            }
            let has_some = |table: &LoadingTable| !table.jobs.is_empty();
            let wanted = tables.iter().position(|one| has_some(one) && one.table.opening().is_wanted());
            let place = wanted.or_else(|| tables.iter().position(has_some));
            if let Some(place) = place {
                let LoadingTable { table, load, jobs, states, .. } = &mut tables[place];
                let (load, job) = (Arc::clone(load.as_ref()?), jobs.pop_front()?);
                if let Some(range) = job.range() {
                    states[range] = RangeState::Taken;
                }
                return Some(Taken { place, table: Arc::clone(table), load, job });
            }
            if tables.iter().all(|table| table.is_done) {
                return None;
            }
            self.has_more.wait(&mut tables);
        }
    }

    /// Does a job and what follows from it. Returns the table if it is loaded now.
    fn do_job(
        &self,
        taken: Taken,
        changes: Option<RangeChanges>,
        spares: &mut Spares,
    ) -> Result<Option<Arc<Table>>> {
        let Taken { place, table, load, job } = taken;
        let range = job.range();
        let (is_range, is_wanted) = (range.is_some(), matches!(job, Job::WantedRange { .. }));
        match job {
            Job::Range(at, range) => {
                self.load_range(&table, &load, (at, &range), None, spares)?;
                self.note_loaded(place, &range, &table);
            }
            Job::WantedRange { at, range, is_again } => {
                if !is_again || changes.is_some() {
                    self.load_range(&table, &load, (at, &range), changes, spares)?;
                }
                if !is_again {
                    self.note_loaded(place, &range, &table);
                }
            }
            Job::Entries(piece) => load.build(piece)?,
        }
        if let Some(range) = range {
            let state = if is_wanted { RangeState::Settled } else { RangeState::Loaded };
            self.tables.lock()[place].states[range] = state;
        }
        let is_last = {
            let table = &mut self.tables.lock()[place];
            table.left = table.left.saturating_sub(1);
            table.is_ending = table.left == 0;
            table.left == 0 && !table.is_done
        };
        if !is_last {
            return Ok(None);
        }
        let pieces = if is_range { load.divide() } else { Vec::new() };
        let is_done = pieces.is_empty();
        if is_done {
            load.conclude(&epoch::pin())?;
        }
        {
            let table = &mut self.tables.lock()[place];
            if !table.is_done {
                table.left = pieces.len();
                table.jobs.extend(pieces.into_iter().map(Job::Entries));
            }
            if is_done {
                table.load = None;
                table.is_done = true;
            }
        }
        self.has_more.notify_all();
        Ok(is_done.then_some(table))
    }

    fn note_loaded(&self, place: usize, range: &KeyRange, table: &Table) {
        self.expected.arrived(memory_of(range, table));
        let left = &mut self.tables.lock()[place].bytes_left;
        // Nothing is left of a table that was left out meanwhile.
        let bytes = range.bytes().min(*left);
        *left -= bytes;
        self.bytes_done.fetch_add(bytes, Ordering::Relaxed);
    }

    /// With changes, the range can be used from now on.
    fn load_range(
        &self,
        table: &Table,
        load: &TableLoad,
        (place, range): (usize, &KeyRange),
        changes: Option<RangeChanges>,
        spares: &mut Spares,
    ) -> Result<()> {
        let sections = Sections::read(&self.reader, range, spares)?;
        let mut loaded = load.range(place, range.rows as usize);
        let mut rows = 0;
        let Some(changes) = changes else {
            sections.for_each(|key, row| {
                rows += 1;
                loaded.add(key, row)
            })?;
            sections.leave(spares);
            self.check_rows(table, range, rows)?;
            loaded.finish();
            return Ok(());
        };
        let mut merging = changes.merging();
        let mut add = |key: &[u8], row: Merged<'_>| match row {
            Merged::Same(row) => loaded.add(key, row),
            Merged::Changed(row) => loaded.add_changed(key, row),
            Merged::Gone => {
                loaded.leave_out(key);
                Ok(())
            }
        };
        sections.for_each(|key, row| {
            rows += 1;
            merging.pass(key, row, &mut add)
        })?;
        merging.finish(&mut add)?;
        sections.leave(spares);
        self.check_rows(table, range, rows)?;
        loaded.publish(table.ranges().map_or(&[], |ranges| ranges.bounds(place).0));
        Ok(())
    }

    fn check_rows(&self, table: &Table, range: &KeyRange, rows: u64) -> Result<()> {
        if rows == range.rows {
            return Ok(());
        }
        let name = &table.definition().name.name;
        Err(Error::corrupt(format!(
            "the checkpoint is damaged: a part of table \"{name}\" has {rows} rows and should have {}",
            range.rows
        )))
    }
}

impl Job {
    /// The range that it loads.
    fn range(&self) -> Option<usize> {
        match self {
            Job::Range(at, _) | Job::WantedRange { at, .. } => Some(*at),
            Job::Entries(_) => None,
        }
    }
}

impl LoadingTable {
    /// A range for which a session waits, unless a thread has it already.
    fn take_wanted_range(&mut self, place: usize) -> Option<Taken> {
        let load = Arc::clone(self.load.as_ref().filter(|_| !self.is_ending)?);
        let is_left = |state: &RangeState| matches!(state, RangeState::Due | RangeState::Loaded);
        let at =
            self.table.ranges()?.waited_for().find(|range| self.states.get(*range).is_some_and(is_left))?;
        let is_again = self.states[at] == RangeState::Loaded;
        self.states[at] = RangeState::Taken;
        let table = Arc::clone(&self.table);
        let job =
            self.jobs.iter().position(|job| job.range() == Some(at)).and_then(|job| self.jobs.remove(job));
        let range = match job {
            Some(Job::Range(_, range)) => range,
            _ => {
                self.left += 1;
                self.ranges.get(at)?.clone()
            }
        };
        Some(Taken { place, table, load, job: Job::WantedRange { at, range, is_again } })
    }
}

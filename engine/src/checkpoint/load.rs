//! Loading a checkpoint into an empty catalog: ranges in parallel, indexes built on the way. What is in it is
//! known at once ([`begin`]); the rows come behind that ([`Loading::run`]), those first that somebody waits
//! for.
//!
//! Every chunk is checked, and so is the number of rows of each range: a part that is missing, short, flipped
//! or of another database is refused by name. Nothing is written.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_epoch as epoch;
use hyades_types::error::{Error, Result, sqlstate};
use parking_lot::Mutex;

use super::contents::{Contents, KeyRange, directory};
use super::merge::Sections;
use super::part::PartReader;
use super::schema;
use crate::config::Config;
use crate::log::manifest::{Checkpoint, Manifest};
use crate::storage::catalog::Catalog;
use crate::storage::range_notes::RangeNotes;
use crate::storage::table::{Table, TableState};
use crate::sync::JoinHandle;

/// A checkpoint that was loaded: what the next one builds on.
#[derive(Clone)]
pub(crate) struct Loaded {
    pub(super) contents: Contents,
    /// The index of each table of the contents, before anything was replayed, and what leaves it from then
    /// on.
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

/// A checkpoint whose catalog has been made, and whose rows are still to come.
pub(crate) struct Loading {
    pub(crate) loaded: Loaded,
    reader: PartReader,
    tables: Mutex<Vec<LoadingTable>>,
    error: Mutex<Option<Error>>,
    bytes_done: AtomicU64,
}

/// A table, the ranges of it that nobody has taken, and how many have not been loaded.
struct LoadingTable {
    table: Arc<Table>,
    ranges: VecDeque<KeyRange>,
    left: usize,
}

/// A range to be loaded, and which table it belongs to.
struct Job {
    place: usize,
    table: Arc<Table>,
    range: KeyRange,
}

/// Who wants to know how far it is.
pub(crate) trait Watching: Send + Sync {
    /// The rows of this table are there.
    fn is_loaded(&self, table: &Arc<Table>);

    /// Whether nothing of it is wanted any more.
    fn is_given_up(&self) -> bool;
}

/// Nobody does.
pub(crate) struct Nobody;

impl Watching for Nobody {
    fn is_loaded(&self, _table: &Arc<Table>) {}

    fn is_given_up(&self) -> bool {
        false
    }
}

/// Makes the catalog of a checkpoint of this manifest in an empty one.
///
/// # Errors
/// A file that is missing, damaged, or of another database or version.
pub(crate) fn begin(
    config: &Config,
    manifest: &Manifest,
    checkpoint: &Checkpoint,
    catalog: &Arc<Catalog>,
) -> Result<Loading> {
    let directory = directory(&config.data_directory);
    let contents = Contents::load(config.disk.as_ref(), &directory, checkpoint)?;
    if contents.database != manifest.database().to_string() {
        return Err(Error::corrupt(format!("checkpoint {} belongs to another database", checkpoint.number)));
    }
    schema::apply(&contents.schema, catalog)?;
    catalog.reserve_ids_below(contents.next_id);
    let mut tables = Vec::new();
    let mut indexes = Vec::new();
    for loaded in &contents.tables {
        let table = catalog.by_id(loaded.id).ok_or_else(|| {
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
        let ranges: VecDeque<KeyRange> = loaded.ranges.iter().cloned().collect();
        let left = ranges.len();
        tables.push(LoadingTable { table, ranges, left });
    }
    Ok(Loading {
        loaded: Loaded { contents, indexes },
        reader: PartReader { disk: Arc::clone(&config.disk), directory, database: manifest.database() },
        tables: Mutex::new(tables),
        error: Mutex::new(None),
        bytes_done: AtomicU64::new(0),
    })
}

impl Loading {
    /// The tables that have ranges to load.
    pub(crate) fn tables(&self) -> Vec<Arc<Table>> {
        let tables = self.tables.lock();
        tables.iter().filter(|one| one.left > 0).map(|one| Arc::clone(&one.table)).collect()
    }

    /// Bytes of ranges that have been loaded.
    pub(crate) fn bytes_done(&self) -> u64 {
        self.bytes_done.load(Ordering::Relaxed)
    }

    /// Loads all rows, by so many threads; those of tables that somebody waits for before others.
    ///
    /// # Errors
    /// Parts that are missing or damaged; rows that do not fit their tables.
    pub(crate) fn run(self: &Arc<Self>, workers: usize, watching: &Arc<dyn Watching>) -> Result<()> {
        let ranges: usize = self.tables.lock().iter().map(|table| table.ranges.len()).sum();
        let mut threads = Vec::new();
        for number in 1..workers.min(ranges) {
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
        while !watching.is_given_up() {
            let Some(job) = self.take() else { return };
            if let Err(error) = self.load_range(&job) {
                self.tables.lock().iter_mut().for_each(|table| table.ranges.clear());
                self.error.lock().get_or_insert(error);
                return;
            }
            self.bytes_done.fetch_add(job.range.bytes(), Ordering::Relaxed);
            let is_last = {
                let left = &mut self.tables.lock()[job.place].left;
                *left -= 1;
                *left == 0
            };
            if is_last {
                watching.is_loaded(&job.table);
            }
        }
    }

    /// A range of a table that somebody waits for, else of the first that has one.
    fn take(&self) -> Option<Job> {
        let mut tables = self.tables.lock();
        let has_some = |table: &LoadingTable| !table.ranges.is_empty();
        let wanted = tables.iter().position(|one| has_some(one) && one.table.opening().is_wanted());
        let place = wanted.or_else(|| tables.iter().position(has_some))?;
        let LoadingTable { table, ranges, .. } = &mut tables[place];
        let range = ranges.pop_front()?;
        Some(Job { place, table: Arc::clone(table), range })
    }

    fn load_range(&self, Job { table, range, .. }: &Job) -> Result<()> {
        let sections = Sections::read(&self.reader, range)?;
        let state = table.shared_state();
        let mut rows = 0;
        sections.for_each(|key, row| {
            rows += 1;
            load_row(&state, key, row)
        })?;
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

fn load_row(state: &TableState, key: &[u8], row: &[u8]) -> Result<()> {
    let guard = epoch::pin();
    if state.load(key, row, &guard)? {
        return Ok(());
    }
    let name = &state.definition().name.name;
    Err(Error::corrupt(format!("the checkpoint is damaged: it has two rows of one key in table \"{name}\"")))
}

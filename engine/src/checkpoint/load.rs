//! Loading a checkpoint into an empty catalog: ranges in parallel, indexes built on the way.
//!
//! Every chunk is checked, and so is the number of rows of each range: a part that is missing, short, flipped
//! or of another database is refused by name. Nothing is written.

use std::collections::VecDeque;
use std::sync::Arc;

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

/// Loads a checkpoint of this manifest.
///
/// # Errors
/// Files that are missing, damaged, or of another database or version; rows that do not fit their tables.
pub(crate) fn load(
    config: &Config,
    manifest: &Manifest,
    checkpoint: &Checkpoint,
    catalog: &Arc<Catalog>,
    workers: usize,
) -> Result<Loaded> {
    let directory = directory(&config.data_directory);
    let contents = Contents::load(config.disk.as_ref(), &directory, checkpoint)?;
    if contents.database != manifest.database().to_string() {
        return Err(Error::corrupt(format!("checkpoint {} belongs to another database", checkpoint.number)));
    }
    schema::apply(&contents.schema, catalog)?;
    catalog.reserve_ids_below(contents.next_id);
    let mut jobs = VecDeque::new();
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
        jobs.extend(loaded.ranges.iter().cloned().map(|range| Job { table: Arc::clone(&table), range }));
    }
    let reader = PartReader { disk: Arc::clone(&config.disk), directory, database: manifest.database() };
    load_all(reader, jobs, workers)?;
    Ok(Loaded { contents, indexes })
}

/// A range to be loaded.
struct Job {
    table: Arc<Table>,
    range: KeyRange,
}

struct Loading {
    reader: PartReader,
    jobs: Mutex<VecDeque<Job>>,
    error: Mutex<Option<Error>>,
}

fn load_all(reader: PartReader, jobs: VecDeque<Job>, workers: usize) -> Result<()> {
    let workers = workers.min(jobs.len()).max(1);
    let loading = Arc::new(Loading { reader, jobs: Mutex::new(jobs), error: Mutex::new(None) });
    let mut threads = Vec::new();
    for number in 1..workers {
        let loading = Arc::clone(&loading);
        let started = crate::sync::spawn(format!("hyades-load-{number}"), move || loading.work());
        threads
            .push(started.map_err(|error| Error::io("could not start a thread for the checkpoint", &error))?);
    }
    loading.work();
    let joined: Vec<_> = threads.into_iter().map(JoinHandle::join).collect();
    let has_panicked = joined.iter().any(std::result::Result::is_err);
    let error = loading.error.lock().take();
    match error {
        Some(error) => Err(error),
        None if has_panicked => {
            Err(Error::fatal(sqlstate::INTERNAL_ERROR, "a thread that loads the checkpoint panicked"))
        }
        None => Ok(()),
    }
}

impl Loading {
    fn work(&self) {
        loop {
            let job = self.jobs.lock().pop_front();
            let Some(job) = job else { return };
            if let Err(error) = self.load_range(&job) {
                self.jobs.lock().clear();
                self.error.lock().get_or_insert(error);
            }
        }
    }

    fn load_range(&self, Job { table, range }: &Job) -> Result<()> {
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

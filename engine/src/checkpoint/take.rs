//! Taking a checkpoint: from a time to the manifest.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyades_types::definition::TableId;
use hyades_types::error::{Error, Result, sqlstate};
use parking_lot::Mutex;

use super::contents::{Contents, PartFile, TableContents, directory, remove_attempt, remove_others};
use super::load::Loaded;
use super::pace::Urgency;
use super::part::{PartNumber, PartReader, PartWriter};
use super::schema;
use super::walk::{Known, RANGE_BYTES, Walk, Walker};
use crate::catalog::Committed;
use crate::config::Config;
use crate::disk::restrict;
use crate::log::manifest::Checkpoint;
use crate::log::record::OperationsWriter;
use crate::log::{Beginning, Logs};
use crate::lsn::LsnVector;
use crate::mutant::{self, Mutant};
use crate::storage::range_notes::RangeNotes;
use crate::sync::Priority;

/// A part file is sparse when less than 1/`SPARSE_SHARE` of its bytes are used.
const SPARSE_SHARE: u64 = 4;
/// A sparse part file has at least this many bytes.
const SPARSE_BYTES: u64 = 16 << 20;
/// A walk does not rest while versions take more than 1/`VERSIONS_SHARE` of the bytes that they may
/// take: otherwise the snapshot that keeps them would be given up.
const VERSIONS_SHARE: u64 = 2;
/// How often it is checked whether the logs are durable, besides being woken.
const LOOK: Duration = Duration::from_millis(1);

/// Takes a time: [`crate::catalog::capture`].
pub(crate) type Capture = Box<dyn Fn(&mut dyn FnMut(), &mut dyn FnMut()) -> Committed + Send + Sync>;

/// The error if a shutdown prevents the checkpoint.
pub(super) fn is_shut_down() -> Error {
    Error::input(sqlstate::ADMIN_SHUTDOWN, "the database is being shut down")
}

/// The outcome of a checkpoint.
#[derive(Clone, Debug)]
pub(super) struct Taken {
    pub(super) number: u64,
    pub(super) taken_at_us: u64,
    pub(super) seconds: f64,
    pub(super) rows: u64,
    pub(super) bytes: u64,
    pub(super) written_bytes: u64,
}

/// What the next checkpoint builds on.
struct Base {
    contents: Contents,
    tables: HashMap<TableId, Known>,
    /// How far the histories had come at its time.
    ended: Vec<u64>,
}

/// Takes one checkpoint after another.
pub(super) struct Taker {
    config: Config,
    logs: Arc<Logs>,
    capture: Capture,
    base: Option<Base>,
    /// Number of the last attempt. A number is used once, whether or not the attempt succeeds.
    last_number: u64,
    directory: PathBuf,
    is_stopping: Arc<AtomicBool>,
}

/// Where the logs stood before the time was taken, and afterwards (`txn::writes::capture`).
struct Positions {
    beginning: Beginning,
    settled: Vec<u64>,
    /// At least as large as the stamps of all that it holds.
    stamp: Option<u64>,
}

impl Taker {
    pub(super) fn new(
        config: &Config,
        logs: &Arc<Logs>,
        capture: Capture,
        loaded: Option<Loaded>,
        is_stopping: Arc<AtomicBool>,
    ) -> Taker {
        Taker {
            directory: directory(&config.data_directory),
            config: config.clone(),
            logs: Arc::clone(logs),
            capture,
            base: loaded.map(Base::of_loaded),
            last_number: logs.manifest().checkpoints_taken,
            is_stopping,
        }
    }

    /// Takes a checkpoint of what is committed now. If no client waits for it, it comes with an
    /// [`Urgency`]: it has a lower priority, and rests as long as it is not urgent.
    pub(super) fn take(&mut self, urgency: Urgency<'_>) -> Result<Taken> {
        let _priority = Priority::lowered(urgency.is_some());
        match self.attempt(urgency) {
            // Versions that it needed were given up: it is taken again, now at full speed.
            Err(error) if error.sqlstate() == sqlstate::SNAPSHOT_TOO_OLD => {
                let _priority = Priority::lowered(false);
                self.attempt(None)
            }
            taken => taken,
        }
    }

    fn attempt(&mut self, urgency: Urgency<'_>) -> Result<Taken> {
        let begun = crate::sync::now();
        self.logs.watch().check()?;
        self.logs.check_files()?;
        self.create_directory()?;
        self.last_number += 1;
        let number = self.last_number;
        let (captured, positions) = self.capture();
        let written = self.write(number, &captured, &positions, urgency);
        if written.is_err() {
            remove_attempt(&self.config.disk, &self.directory, number);
        }
        let (contents, written_bytes, checkpoint) = written?;
        // If this fails, the files stay: the manifest may name them.
        self.logs.publish(checkpoint)?;
        self.count(contents, captured, written_bytes, begun)
    }

    /// Writes all files, and waits until the logs are durable up to what they hold.
    fn write(
        &self,
        number: u64,
        captured: &Committed,
        positions: &Positions,
        urgency: Urgency<'_>,
    ) -> Result<(Contents, u64, Checkpoint)> {
        let mut contents = self.describe(number, captured)?;
        let lengths = self.write_parts(number, captured, &mut contents, urgency)?;
        let written_bytes: u64 = lengths.values().sum();
        contents.set_files(&self.known_lengths(lengths));
        let disk = Arc::clone(&self.config.disk);
        let contents_crc32c = contents.store(disk.as_ref(), &self.directory)?;
        self.wait_for_durable(positions)?;
        let Positions { beginning, settled, stamp } = positions;
        let checkpoint = Checkpoint {
            number,
            incarnation: self.incarnation(),
            from: beginning.from.clone(),
            raised: beginning.reserved.clone(),
            settled: settled.clone(),
            stamp: *stamp,
            time: Some(captured.rows.at.time()),
            is_phase_odd: false,
            contents_crc32c,
        };
        Ok((contents, written_bytes, checkpoint))
    }

    /// The checkpoint counts: later ones build on it.
    fn count(
        &mut self,
        contents: Contents,
        captured: Committed,
        written_bytes: u64,
        begun: std::time::Instant,
    ) -> Result<Taken> {
        let previous = self.base.take().map(|base| base.contents);
        let mut base = Base::of_taken(contents, &captured);
        // From here on, keys that leave the indexes are noted. If the snapshot was given up meanwhile, some
        // keys may have left them before, and the next checkpoint is written whole.
        if captured.rows.at.check().is_err() {
            base.tables.clear();
        }
        drop(captured);
        let kept: Vec<&Contents> = previous.iter().chain([&base.contents]).collect();
        remove_others(&self.config.disk, &self.directory, &kept);
        let taken = Taken {
            number: base.contents.number,
            taken_at_us: base.contents.taken_at_us,
            seconds: crate::sync::now().duration_since(begun).as_secs_f64(),
            rows: base.contents.rows(),
            bytes: base.contents.bytes(),
            written_bytes,
        };
        self.base = Some(base);
        Ok(taken)
    }

    fn incarnation(&self) -> u64 {
        self.logs.manifest().incarnations.last().map_or(0, |running| running.number)
    }

    fn create_directory(&self) -> Result<()> {
        let disk = self.config.disk.as_ref();
        if disk.exists(&self.directory) {
            return Ok(());
        }
        let create = || {
            disk.create_directory(&self.directory)?;
            disk.sync_directory(&self.config.data_directory)
        };
        create().map_err(|error| {
            Error::io(format_args!("could not create \"{}\"", self.directory.display()), &error)
        })?;
        restrict(disk, &self.directory)
    }

    /// Takes a time.
    fn capture(&self) -> (Committed, Positions) {
        let (mut beginning, mut settled) = (None, Vec::new());
        let reserved = || (0..self.logs.count()).map(|log| self.logs.reserved(log).0).collect();
        let captured =
            (self.capture)(&mut || beginning = Some(self.logs.beginning()), &mut || settled = reserved());
        let nothing = Beginning { reserved: vec![0; settled.len()], from: vec![0; settled.len()] };
        let stamp = self.logs.newest_stamp();
        (captured, Positions { beginning: beginning.unwrap_or(nothing), settled, stamp })
    }

    /// The contents without rows.
    fn describe(&self, number: u64, captured: &Committed) -> Result<Contents> {
        let mut operations = OperationsWriter::new();
        let definitions =
            captured.tables.iter().map(|(table, state)| (table.id(), (**state.definition()).clone()));
        schema::write(&captured.databases, definitions, &mut operations)?;
        let database = self.logs.manifest().database().to_string();
        Ok(Contents::new(database, number, captured.databases.next_id(), operations.as_bytes()))
    }

    /// Walks through the tables, several at a time. Returns the lengths of the files that were written.
    fn write_parts(
        &self,
        number: u64,
        captured: &Committed,
        contents: &mut Contents,
        urgency: Urgency<'_>,
    ) -> Result<BTreeMap<PartNumber, u64>> {
        let database = self.logs.manifest().database();
        let disk = Arc::clone(&self.config.disk);
        let reader = PartReader { disk, directory: self.directory.clone(), database };
        let sparse = self.sparse_files();
        let nobody = Vec::new();
        let most_versions = self.config.version_bytes / VERSIONS_SHARE;
        let is_urgent = || {
            urgency.is_some_and(|is_urgent| is_urgent()) || captured.rows.histories.bytes() > most_versions
        };
        let walk = Walk {
            captured,
            ended_before: self.base.as_ref().map_or(&nobody, |base| &base.ended),
            reader: &reader,
            sparse: &sparse,
            is_stopping: &self.is_stopping,
            range_bytes: self.config.checkpoint_range_bytes.unwrap_or(RANGE_BYTES),
            urgency: if urgency.is_some() { Some(&is_urgent) } else { None },
        };
        let places =
            (0..captured.tables.len()).filter(|place| captured.tables[*place].1.definition().view.is_none());
        let work = Work {
            tables: Mutex::new(places.collect()),
            done: Mutex::new(Vec::new()),
            lengths: Mutex::new(BTreeMap::new()),
            error: Mutex::new(None),
        };
        let workers = self.config.checkpoint_workers.clamp(1, captured.tables.len().max(1));
        std::thread::scope(|scope| {
            for writer in 1..workers as u32 {
                let (work, walk) = (&work, &walk);
                let part = PartNumber { checkpoint: number, writer };
                let run = move || self.walk(work, walk, part);
                let name = format!("hyades-checkpoint-{writer}");
                // A walker that cannot be started leaves its share to the others.
                drop(std::thread::Builder::new().name(name).spawn_scoped(scope, run));
            }
            self.walk(&work, &walk, PartNumber { checkpoint: number, writer: 0 });
        });
        if let Some(error) = work.error.into_inner() {
            return Err(error);
        }
        // What was skipped as unchanged was not read, so the snapshot is checked once more.
        captured.rows.at.check()?;
        contents.tables = work.done.into_inner();
        contents.tables.sort_unstable_by_key(|table| table.id);
        Ok(work.lengths.into_inner())
    }

    /// One walker: takes one table after another.
    fn walk(&self, work: &Work, walk: &Walk<'_>, part: PartNumber) {
        if let Err(error) = self.walk_all(work, walk, part) {
            work.tables.lock().clear();
            work.error.lock().get_or_insert(error);
        }
    }

    fn walk_all(&self, work: &Work, walk: &Walk<'_>, part: PartNumber) -> Result<()> {
        let writer = PartWriter::create(&self.config.disk, &self.directory, walk.reader.database, part)?;
        let mut walker = Walker::new(walk, writer);
        loop {
            let place = work.tables.lock().pop_front();
            let Some(place) = place else { break };
            let (table, state) = &walk.captured.tables[place];
            let known = self.base.as_ref().and_then(|base| base.tables.get(&table.id()));
            let done = walker.table(table.id(), state, known)?;
            work.done.lock().push(done);
        }
        let bytes = walker.finish()?;
        if bytes > 0 {
            work.lengths.lock().insert(part, bytes);
        }
        Ok(())
    }

    /// Files of which so little is used that their content is rewritten.
    fn sparse_files(&self) -> BTreeSet<PartNumber> {
        let Some(base) = &self.base else { return BTreeSet::new() };
        let used = base.contents.used_bytes();
        let is_sparse = |file: &&PartFile| {
            let used = used.get(&file.number).copied().unwrap_or(0);
            file.bytes >= SPARSE_BYTES && used < file.bytes / SPARSE_SHARE
        };
        base.contents.files.iter().filter(is_sparse).map(|file| file.number).collect()
    }

    fn known_lengths(&self, written: BTreeMap<PartNumber, u64>) -> BTreeMap<PartNumber, u64> {
        let known = self.base.iter().flat_map(|base| &base.contents.files);
        known.map(|file| (file.number, file.bytes)).chain(written).collect()
    }

    /// Waits until the logs are durable up to what the checkpoint holds (pitfall 27).
    fn wait_for_durable(&self, Positions { settled, stamp, .. }: &Positions) -> Result<()> {
        if mutant::is_active(Mutant::CheckpointBeforeDurable) {
            return Ok(());
        }
        let needed = LsnVector::from_slice(settled);
        let watch = self.logs.watch();
        while !watch.covers(&needed) || stamp.is_some_and(|stamp| watch.durable_stamp() < stamp) {
            watch.check()?;
            if self.is_stopping.load(Ordering::Relaxed) {
                return Err(is_shut_down());
            }
            (0..self.logs.count()).for_each(|log| self.logs.ring(log));
            crate::sync::sleep(LOOK);
        }
        Ok(())
    }
}

/// What the walkers take from and add to.
struct Work {
    /// Indexes into the list of captured tables.
    tables: Mutex<VecDeque<usize>>,
    done: Mutex<Vec<TableContents>>,
    lengths: Mutex<BTreeMap<PartNumber, u64>>,
    error: Mutex<Option<Error>>,
}

impl Base {
    /// The records themselves show that they were loaded, and no transaction had ended.
    fn of_loaded(Loaded { contents, indexes }: Loaded) -> Base {
        let tables = contents.tables.iter().zip(indexes);
        let known = |(table, (index, notes)): (&TableContents, _)| {
            (table.id, Known { index, ranges: table.ranges.clone(), notes })
        };
        Base { tables: tables.map(known).collect(), contents, ended: Vec::new() }
    }

    fn of_taken(contents: Contents, captured: &Committed) -> Base {
        let states: HashMap<TableId, _> =
            captured.tables.iter().map(|(table, state)| (table.id(), state)).collect();
        let mut tables = HashMap::new();
        for table in &contents.tables {
            let Some(state) = states.get(&table.id) else { continue };
            let notes = Arc::new(RangeNotes::new(table.ranges.iter().map(|range| range.from.clone())));
            state.index().note_removals(Some(Arc::clone(&notes)));
            tables.insert(table.id, Known { index: state.index().id(), ranges: table.ranges.clone(), notes });
        }
        Base { contents, tables, ended: captured.rows.ended.clone() }
    }
}

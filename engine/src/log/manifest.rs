//! The manifest: which logs exist, and up to where each incarnation counts.
//!
//! An *incarnation* is one run between two starts. The recovered set is not a prefix of each log:
//! transactions whose LSN vector is not covered by the end of all logs are between acknowledged ones and
//! must stay dead for ever, even when a later incarnation makes the logs longer (zombies, pitfall 15). So
//! each incarnation has its own segment files, and its *frozen ELV* is written here before the first new log
//! record or answer of the next one: by the stop that closed it, which knows that its logs are whole up to
//! there, or by the start after a crash, from what it found.
//!
//! The last two *checkpoints* are listed here as well (`checkpoint`). A start loads the last one and replays
//! what it does not hold. Logs are kept from where the one before it would need them (pitfall 28).
//!
//! The file `manifest` in the data directory is JSON, so that people can read it, and a line with its CRC32C.
//! It is replaced as a whole: temporary file, sync, rename, sync of the directory. Everything unexpected is
//! refused with a plain sentence, and nothing is touched: a damaged manifest, one of another version, a
//! directory with other contents.

#[cfg(all(test, not(loom)))]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::foundations::{Foundations, foundations};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::record::{Commit, MAX_LOGS};
use super::store::{LogFiles, LogIdentity, parse_segment_name};
use crate::config::{Config, ProtocolKind};
use crate::disk::Disk;
use crate::lsn::{Lsn, LsnVector};
use crate::mutant::{self, Mutant};

/// Version of the whole data directory: manifest, segment files and records. Version 2 added checkpoints, and
/// with them logs whose beginning is gone; version 3 the times of checkpoints.
pub const FORMAT_VERSION: u32 = 3;
/// Directories older than this are not understood.
const OLDEST_FORMAT_VERSION: u32 = 1;

const FILE: &str = "manifest";
/// What `Disk::replace` calls it while it is written.
const TEMPORARY_FILE: &str = "manifest.new";
const LOCK_FILE: &str = "lock";
/// Where the logs live unless the configuration names other directories.
pub const DEFAULT_LOG_DIRECTORY: &str = "logs";
/// Where the checkpoints are.
pub const CHECKPOINT_DIRECTORY: &str = "checkpoints";
/// The most directories over which one log can be striped.
pub const MAX_STRIPES: usize = 64;
/// This many checkpoints are kept.
pub const CHECKPOINTS: usize = 2;
/// A file longer than this is not a manifest.
const MAX_BYTES: u64 = 256 << 20;
/// What may be in a data directory that has no manifest: the traces of a first start that was cut short.
const HARMLESS: [&str; 5] =
    [TEMPORARY_FILE, LOCK_FILE, DEFAULT_LOG_DIRECTORY, CHECKPOINT_DIRECTORY, "lost+found"];

/// How the logs of an incarnation are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogShape {
    pub logs: usize,
    /// Each log's blocks are spread over this many directories in turn.
    pub stripes: usize,
}

/// Which incarnations the database has had, with which logs, and up to where each of them counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    format_version: u32,
    /// A UUID, in text.
    database: String,
    /// In order. The last one may be running.
    pub incarnations: Vec<Incarnation>,
    /// In order. A start uses the last one. Two at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checkpoints: Vec<Checkpoint>,
    /// How many checkpoints have been taken: the number of the last one, even if that was given up.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub checkpoints_taken: u64,
    /// The number of the last checkpoint if a restart that had let transactions in has found it damaged. The
    /// next start reads all of it first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspect_checkpoint: Option<u64>,
    /// A new UUID for each time the database was restored. Absent until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<String>,
    /// Set in a backup, which is restored, not opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup: Option<BackupNote>,
    /// Set in a copy of another database that is not complete yet and cannot be opened.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_unfinished_copy: bool,
}

/// What a backup knows of the database that it was made from, and of its own past.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupNote {
    /// The incarnation that had not ended when the backup was made: its logs may have gone on.
    pub unfinished: Option<u64>,
    /// Everything that had been acknowledged by this time is in it, in microseconds since 1970. 0 if the
    /// program that made it did not say.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub to_us: u64,
    /// From when on each checkpoint is held by the logs that had been written, by its number.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub whole_from_us: BTreeMap<u64, u64>,
    /// What older backups into this place have left, in order. The logs do not lead from one to the next.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<EarlierSpan>,
}

/// Checkpoints and logs without a gap, which newer ones do not continue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierSpan {
    pub incarnations: Vec<Incarnation>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checkpoints: Vec<Checkpoint>,
    /// As [`BackupNote::to_us`].
    pub to_us: u64,
}

/// One run of the database between two starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incarnation {
    /// Counts from 1. Never reused.
    pub number: u64,
    /// The name of the protocol that wrote the logs ([`ProtocolKind::name`]).
    pub protocol: String,
    pub logs: usize,
    /// Each log's blocks are spread over this many places in turn (RAID-0).
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub stripes: usize,
    /// Stripe s of log i lives in directory (i * stripes + s) modulo their number, in `log-<i>`, and if it is
    /// not the first in `log-<i>-stripe-<s>`. Relative paths start at the data directory.
    pub directories: Vec<PathBuf>,
    /// Sequence number of the first segment that is still needed, for each stripe of each log.
    pub first_segments: Vec<u64>,
    /// Where the first log record begins that is still needed, for each log. Absent if nothing has been given
    /// up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub starts: Vec<u64>,
    /// The frozen ELV: up to where each log counts. Absent while the incarnation runs. Entered when it is
    /// closed, or else by the next recovery.
    pub end: Option<Vec<u64>>,
    /// Entered together with `end`.
    #[serde(flatten)]
    pub up_to_end: UpToEnd,
    /// What its calls ran with. Empty in manifests from before 2026-11-22.
    #[serde(default)]
    pub foundations: Foundations,
    /// How many segments may be prepared after the last one in use, for each log. Absent if an older program
    /// wrote the manifest: then missing segments cannot be detected from the files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segments_ahead: Option<u64>,
    /// Calls do not come after those that have read what they overwrite: each is replayed on the rows of its
    /// own time (`txn::replay_versions`). Not so in the logs of older programs.
    #[serde(default, skip_serializing_if = "is_false")]
    pub has_times: bool,
}

/// What counts up to the ends of the logs of an incarnation, where the ends alone do not say it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpToEnd {
    /// The last stamp that counts, with a protocol that has stamps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamp: Option<u64>,
    /// The transactions that do not count, with a protocol whose records name others: their logs, and where
    /// their (last) records end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dead: Vec<(usize, u64)>,
    /// The logs say it up to their ends: in a backup, and if something was appended while the database was
    /// closed. Manifests of older programs say nothing of this.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_unknown: bool,
}

impl UpToEnd {
    pub fn unknown() -> UpToEnd {
        UpToEnd { is_unknown: true, ..UpToEnd::default() }
    }
}

/// A checkpoint, as far as the logs are concerned. It holds all transactions up to its time.
///
/// ```text
///    from      raised               settled
/// ----+----------+--------------------+---------------> one log
///      in it      in it if their time   not in it
///                 is not later
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Counts from 1. Its files are named after it.
    pub number: u64,
    /// The incarnation that it was taken in.
    pub incarnation: u64,
    /// Where replay begins to read each log: at the first piece of a large transaction that was being
    /// appended, or at `raised`.
    pub from: Vec<u64>,
    /// Up to where each log had been reserved before the checkpoint waited for the transactions that were
    /// committing, and then took its time.
    pub raised: Vec<u64>,
    /// Up to where each log had been reserved after the time was taken.
    pub settled: Vec<u64>,
    /// With a protocol that has stamps, one at least as large as those of all transactions up to the time.
    /// All logs were complete up to it when the checkpoint began to count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamp: Option<u64>,
    /// The time, in commits of its incarnation. Absent in checkpoints of older programs, which hold the
    /// transactions of a phase and before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<u64>,
    /// The parity of that phase.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_phase_odd: bool,
    /// CRC32C of the contents file.
    pub contents_crc32c: u32,
}

impl Checkpoint {
    /// Whether it holds the transaction of this log whose (last) log record ends here. What has no time is of
    /// no transaction, and may come again.
    pub fn holds(&self, log: usize, end: Lsn, commit: Commit) -> bool {
        let is_not_later = || match self.time {
            Some(time) => commit.time.is_some_and(|own| own <= time),
            None => commit.is_phase_odd == self.is_phase_odd,
        };
        end.0 <= self.raised[log] || (end.0 <= self.settled[log] && is_not_later())
    }
}

fn one() -> usize {
    1
}

fn is_false(flag: &bool) -> bool {
    !*flag
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn new_uuid() -> String {
    let bytes = crate::sync::random_bytes();
    uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
}

fn is_one(stripes: &usize) -> bool {
    *stripes == 1
}

impl Incarnation {
    /// The directory of the segment files of one log's stripe.
    pub fn stripe_directory(&self, data_directory: &Path, log: usize, stripe: usize) -> PathBuf {
        let base = &self.directories[(log * self.stripes + stripe) % self.directories.len()];
        let name = if stripe == 0 { format!("log-{log}") } else { format!("log-{log}-stripe-{stripe}") };
        data_directory.join(base).join(name)
    }

    /// The places of one log's segment files, those of all its stripes.
    pub fn stripe_directories(&self, data_directory: &Path, log: usize) -> Vec<PathBuf> {
        (0..self.stripes).map(|stripe| self.stripe_directory(data_directory, log, stripe)).collect()
    }

    /// Where the first log record of a log begins that is still needed.
    pub fn start(&self, log: usize) -> Lsn {
        Lsn(self.starts.get(log).copied().unwrap_or_default())
    }

    /// The protocol that has written its logs.
    pub fn protocol_kind(&self) -> Result<ProtocolKind> {
        ProtocolKind::named(&self.protocol)
            .filter(|_| self.logs > 0)
            .ok_or_else(|| refused(unknown_protocol(&self.protocol)))
    }

    /// The frozen ELV, if the incarnation has ended.
    pub fn frozen_end(&self) -> Option<LsnVector> {
        self.end.as_deref().map(LsnVector::from_slice)
    }

    /// Freezes the ELV, and what counts up to there: whatever else this incarnation's logs hold never counts
    /// again.
    pub fn freeze(&mut self, end: &LsnVector, up_to_end: UpToEnd) {
        self.end = Some((0..self.logs).map(|log| end.get(log).0).collect());
        self.up_to_end = up_to_end;
    }
}

/// Where the manifest is kept.
pub trait ManifestStore: Send + Sync {
    /// Creates the place for it, unless it exists.
    fn create(&self) -> Result<()>;

    /// Reads and checks it. `None` if there is no database.
    fn load(&self) -> Result<Option<Manifest>>;

    /// Replaces it durably, as a whole.
    fn store(&self, manifest: &Manifest) -> Result<()>;
}

/// A manifest in a file of the data directory.
pub(super) struct ManifestFile {
    disk: Arc<dyn Disk>,
    data_directory: PathBuf,
}

impl ManifestFile {
    pub(super) fn of(config: &Config) -> ManifestFile {
        ManifestFile { disk: Arc::clone(&config.disk), data_directory: config.data_directory.clone() }
    }
}

impl ManifestStore for ManifestFile {
    fn create(&self) -> Result<()> {
        self.disk
            .create_directory(&self.data_directory)
            .map_err(|error| Error::io("could not create the data directory", &error))
    }

    fn load(&self) -> Result<Option<Manifest>> {
        Manifest::load(self.disk.as_ref(), &self.data_directory)
    }

    fn store(&self, manifest: &Manifest) -> Result<()> {
        manifest.store(self.disk.as_ref(), &self.data_directory)
    }
}

impl Manifest {
    /// The manifest of a new, empty database.
    pub fn create() -> Manifest {
        Manifest {
            format_version: FORMAT_VERSION,
            database: new_uuid(),
            incarnations: Vec::new(),
            checkpoints: Vec::new(),
            checkpoints_taken: 0,
            suspect_checkpoint: None,
            timeline: None,
            backup: None,
            is_unfinished_copy: false,
        }
    }

    /// The manifest of a new database that is to be a copy of another one and is marked as unfinished until
    /// [`Manifest::finish_copy`].
    pub fn create_for_copy() -> Manifest {
        Manifest { is_unfinished_copy: true, ..Manifest::create() }
    }

    /// The copy is complete: it can be opened from now on.
    pub fn finish_copy(disk: &dyn Disk, data_directory: &Path) -> Result<()> {
        match Manifest::read(disk, data_directory)? {
            Some(manifest) => Manifest { is_unfinished_copy: false, ..manifest }.store(disk, data_directory),
            None => Err(damaged(&data_directory.join(FILE), "it is gone")),
        }
    }

    /// Reads and checks the manifest. `None` if the directory is empty or does not exist.
    pub fn load(disk: &dyn Disk, data_directory: &Path) -> Result<Option<Manifest>> {
        match Manifest::read(disk, data_directory)? {
            Some(manifest) if manifest.backup.is_some() => Err(refused(format!(
                "directory \"{}\" is a backup: make a database of it with hyades restore, and start that",
                data_directory.display()
            ))),
            Some(manifest) if manifest.is_unfinished_copy => Err(refused(format!(
                "directory \"{}\" holds the beginning of a copy: its creation was cut short; remove \
                 the directory, and make the copy again",
                data_directory.display()
            ))),
            manifest => Ok(manifest),
        }
    }

    /// As [`Manifest::load`], also for backups and unfinished copies.
    pub fn read(disk: &dyn Disk, data_directory: &Path) -> Result<Option<Manifest>> {
        let path = data_directory.join(FILE);
        if !disk.exists(&path) {
            return refuse_foreign_directory(disk, data_directory).map(|()| None);
        }
        let what =
            |error: &io::Error| Error::io(format_args!("could not read \"{}\"", path.display()), error);
        let file = disk.open_read(&path).map_err(|error| what(&error))?;
        let length = file.len().map_err(|error| what(&error))?;
        if length > MAX_BYTES {
            return Err(damaged(&path, "it is too long"));
        }
        let mut bytes = vec![0; length as usize];
        let read = file.read_at(0, &mut bytes).map_err(|error| what(&error))?;
        decode(&path, &bytes[..read]).map(Some)
    }

    /// Replaces the manifest durably (pitfall 15).
    pub fn store(&self, disk: &dyn Disk, data_directory: &Path) -> Result<()> {
        let path = data_directory.join(FILE);
        // What could not be read again must not replace what can.
        self.check().map_err(|reason| {
            let message = format!("\"{}\" is not written, because {reason}", path.display());
            Error::fatal(sqlstate::INTERNAL_ERROR, message)
        })?;
        let write = || -> io::Result<()> {
            let bytes = encode(self)?;
            disk.replace(&path, &mut |file| file.write_at(0, &bytes))?;
            if mutant::is_active(Mutant::ManifestUnsynced) {
                return Ok(());
            }
            disk.sync_directory(data_directory)
        };
        write().map_err(|error| Error::io(format_args!("could not write \"{}\"", path.display()), &error))
    }

    pub fn database(&self) -> Uuid {
        // Checked when the manifest was read.
        Uuid::parse_str(&self.database).unwrap_or_default()
    }

    /// What a reader needs to know of a log of one of the incarnations.
    pub fn log_files(&self, data_directory: &Path, incarnation: &Incarnation, log: usize) -> LogFiles {
        let stripes = log * incarnation.stripes..(log + 1) * incarnation.stripes;
        LogFiles {
            identity: self.identity(incarnation.number, log),
            directories: incarnation.stripe_directories(data_directory, log),
            first_segments: incarnation.first_segments[stripes].to_vec(),
            start: incarnation.start(log),
            prepared_ahead: incarnation.segments_ahead.filter(|_| incarnation.end.is_none()),
        }
    }

    /// The identity of one log of one incarnation.
    pub fn identity(&self, incarnation: u64, log: usize) -> LogIdentity {
        LogIdentity { database: self.database(), incarnation, log: log as u32 }
    }

    pub fn next_number(&self) -> u64 {
        self.incarnations.last().map_or(1, |last| last.number + 1)
    }

    /// The incarnation with these logs that a start with this configuration would begin. Not yet in the
    /// manifest.
    pub fn plan_incarnation(&self, config: &Config, shape: LogShape) -> Incarnation {
        let LogShape { logs, stripes } = shape;
        let directories = if config.log_directories.is_empty() {
            vec![PathBuf::from(DEFAULT_LOG_DIRECTORY)]
        } else {
            config.log_directories.clone()
        };
        let protocol = config.protocol.name().to_owned();
        let first_segments = vec![1; logs * stripes];
        Incarnation {
            number: self.next_number(),
            protocol,
            logs,
            stripes,
            directories,
            first_segments,
            starts: Vec::new(),
            end: None,
            up_to_end: UpToEnd::default(),
            foundations: foundations(),
            segments_ahead: None,
            has_times: config.protocol.has_parallel_logs(),
        }
    }

    fn check(&self) -> std::result::Result<(), &'static str> {
        if Uuid::parse_str(&self.database).is_err() {
            return Err("it names no database");
        }
        check_incarnations(&self.incarnations)?;
        check_checkpoints(&self.checkpoints, &self.incarnations)?;
        for span in self.backup.iter().flat_map(|note| &note.earlier) {
            check_incarnations(&span.incarnations)?;
            check_checkpoints(&span.checkpoints, &span.incarnations)?;
        }
        Ok(())
    }

    /// What a backup consists of, in order: checkpoints and logs without a gap each. Every one is like the
    /// manifest of a backup without a past.
    pub(crate) fn spans(&self) -> Vec<Manifest> {
        let Some(note) = &self.backup else { return Vec::new() };
        let without_past = |to_us| BackupNote { to_us, earlier: Vec::new(), ..note.clone() };
        let earlier = note.earlier.iter().map(|span| Manifest {
            incarnations: span.incarnations.clone(),
            checkpoints: span.checkpoints.clone(),
            backup: Some(without_past(span.to_us)),
            ..self.clone()
        });
        let last = Manifest { backup: Some(without_past(note.to_us)), ..self.clone() };
        earlier.chain([last]).collect()
    }

    /// The manifest of a database that is still empty and cannot be opened.
    #[must_use]
    pub(crate) fn emptied(&self) -> Manifest {
        Manifest {
            incarnations: Vec::new(),
            checkpoints: Vec::new(),
            suspect_checkpoint: None,
            backup: None,
            is_unfinished_copy: true,
            ..self.clone()
        }
    }

    /// From here on the history differs from that of the database that this is a copy of.
    pub(crate) fn begin_timeline(&mut self) {
        self.timeline = Some(new_uuid());
    }

    /// The copy is complete.
    pub(crate) fn finish(&mut self) {
        self.is_unfinished_copy = false;
    }

    /// The checkpoint that a start loads, if there is one.
    pub fn last_checkpoint(&self) -> Option<&Checkpoint> {
        self.checkpoints.last()
    }

    /// The checkpoint that the replay of this incarnation begins with.
    pub fn checkpoint_of(&self, incarnation: &Incarnation) -> Option<&Checkpoint> {
        self.last_checkpoint().filter(|checkpoint| checkpoint.incarnation == incarnation.number)
    }

    /// The incarnations with logs that the last checkpoint does not hold whole.
    pub fn to_replay(&self) -> impl Iterator<Item = &Incarnation> {
        let first = self.last_checkpoint().map_or(0, |checkpoint| checkpoint.incarnation);
        self.incarnations
            .iter()
            .filter(move |incarnation| incarnation.logs > 0 && incarnation.number >= first)
    }

    /// Where the replay of this incarnation begins.
    pub fn replay_from(&self, incarnation: &Incarnation) -> LsnVector {
        match self.checkpoint_of(incarnation) {
            Some(_) if mutant::is_active(Mutant::CheckpointedReplayed) => {
                let starts: Vec<u64> = (0..incarnation.logs).map(|log| incarnation.start(log).0).collect();
                LsnVector::from_slice(&starts)
            }
            Some(checkpoint) => LsnVector::from_slice(&checkpoint.from),
            None => LsnVector::zero(incarnation.logs),
        }
    }

    /// Adds a checkpoint, and gives up all but the one before it.
    pub fn add_checkpoint(&mut self, checkpoint: Checkpoint) {
        self.checkpoints_taken = checkpoint.number;
        self.checkpoints.push(checkpoint);
        let given_up = self.checkpoints.len().saturating_sub(CHECKPOINTS);
        self.checkpoints.drain(..given_up);
        self.suspect_checkpoint = None;
    }

    /// The files of the last checkpoint are unusable: a start begins with the one before, or with the logs
    /// alone if they are all there.
    ///
    /// # Errors
    /// There is none before it, and the beginning of the logs is gone.
    pub(crate) fn give_up_last_checkpoint(&mut self) -> Result<()> {
        if !self.has_beginning_before_last_checkpoint() {
            return Err(refused("there is no checkpoint before the last one".to_owned()));
        }
        self.checkpoints.pop();
        self.suspect_checkpoint = None;
        Ok(())
    }

    /// Whether a start can do without the last checkpoint, because another one or the beginning of all logs
    /// is kept.
    pub fn has_beginning_before_last_checkpoint(&self) -> bool {
        self.checkpoints.len() >= CHECKPOINTS || (self.checkpoints.len() == 1 && self.begins_at_beginning())
    }

    /// Whether the logs are there from the first record on.
    pub(crate) fn begins_at_beginning(&self) -> bool {
        self.incarnations.first().is_some_and(|first| first.number == 1 && first.starts.is_empty())
    }

    /// Gives up the incarnations that no checkpoint needs, and returns them. With only one checkpoint nothing
    /// is given up: the state before it is the empty one, which needs everything (pitfall 28).
    pub fn give_up_incarnations(&mut self) -> Vec<Incarnation> {
        let [oldest, _] = self.checkpoints.as_slice() else { return Vec::new() };
        let first = oldest.incarnation;
        let (gone, kept) = self.incarnations.drain(..).partition(|incarnation| incarnation.number < first);
        self.incarnations = kept;
        gone
    }
}

fn check_incarnations(incarnations: &[Incarnation]) -> std::result::Result<(), &'static str> {
    let mut previous = 0;
    for incarnation in incarnations {
        let logs = incarnation.logs;
        if incarnation.number <= previous {
            return Err("its incarnations are out of order");
        }
        let stripes = incarnation.stripes;
        if logs > MAX_LOGS
            || !(1..=MAX_STRIPES).contains(&stripes)
            || (logs > 0 && incarnation.directories.is_empty())
        {
            return Err("it describes impossible logs");
        }
        let ends = incarnation.end.as_ref().map_or(logs, Vec::len);
        let is_start_known = incarnation.starts.is_empty() || incarnation.starts.len() == logs;
        if incarnation.first_segments.len() != logs * stripes || ends != logs || !is_start_known {
            return Err("it does not describe all its logs");
        }
        previous = incarnation.number;
    }
    Ok(())
}

fn check_checkpoints(
    checkpoints: &[Checkpoint],
    incarnations: &[Incarnation],
) -> std::result::Result<(), &'static str> {
    let mut previous = 0;
    for checkpoint in checkpoints {
        let Checkpoint { number, from, raised, settled, .. } = checkpoint;
        let taken_in = |incarnation: &&Incarnation| incarnation.number == checkpoint.incarnation;
        let Some(incarnation) = incarnations.iter().find(taken_in) else {
            return Err("a checkpoint was taken in an incarnation that is missing");
        };
        let logs = incarnation.logs;
        if *number <= previous || [from, raised, settled].iter().any(|positions| positions.len() != logs) {
            return Err("it describes an impossible checkpoint");
        }
        let is_in_order = |log: usize| {
            incarnation.start(log).0 <= from[log] && from[log] <= raised[log] && raised[log] <= settled[log]
        };
        if !(0..logs).all(is_in_order) {
            return Err("it describes an impossible checkpoint");
        }
        previous = *number;
    }
    Ok(())
}

/// Locks the data directory for this process (creating it if needed) until the guard is dropped. A directory
/// with foreign contents is refused before even the lock file is put there.
pub fn lock_data_directory(disk: &Arc<dyn Disk>, data_directory: &Path) -> Result<Box<dyn Send + Sync>> {
    let name = data_directory.display();
    if !disk.exists(&data_directory.join(FILE)) {
        refuse_foreign_directory(disk.as_ref(), data_directory)?;
    }
    disk.create_directory(data_directory)
        .map_err(|error| Error::io(format_args!("could not create data directory \"{name}\""), &error))?;
    if !disk.exists(&data_directory.join(FILE)) {
        // Before the lock file is there, so that a directory that is not ours stays as it is.
        refuse_foreign_directory(disk.as_ref(), data_directory)?;
    }
    disk.lock(&data_directory.join(LOCK_FILE)).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => {
            refused(format!("data directory \"{name}\" is in use by another process"))
        }
        _ => Error::io(format_args!("could not lock data directory \"{name}\""), &error),
    })
}

fn encode(manifest: &Manifest) -> io::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec_pretty(manifest)?;
    bytes.push(b'\n');
    let checksum = crc32c::crc32c(&bytes);
    bytes.extend_from_slice(format!("crc32c {checksum:08x}\n").as_bytes());
    Ok(bytes)
}

fn decode(path: &Path, bytes: &[u8]) -> Result<Manifest> {
    const TRAILER_BYTES: usize = "crc32c 00000000\n".len();
    let Some((json, trailer)) = bytes.len().checked_sub(TRAILER_BYTES).map(|middle| bytes.split_at(middle))
    else {
        return Err(damaged(path, "it is too short"));
    };
    if trailer != format!("crc32c {:08x}\n", crc32c::crc32c(json)).as_bytes() {
        return Err(damaged(path, "its checksum is wrong"));
    }
    // The version first, because another version may have other fields.
    #[derive(Deserialize)]
    struct Version {
        format_version: u32,
    }
    match serde_json::from_slice::<Version>(json) {
        Ok(Version { format_version: OLDEST_FORMAT_VERSION..=FORMAT_VERSION }) => {}
        Ok(Version { format_version }) => {
            return Err(refused(format!(
                "\"{}\" has data format version {format_version}, this program reads version {FORMAT_VERSION}",
                path.display()
            )));
        }
        Err(_) => return Err(damaged(path, "it is not a manifest")),
    }
    let mut manifest: Manifest =
        serde_json::from_slice(json).map_err(|_| damaged(path, "its fields are not understood"))?;
    manifest.check().map_err(|reason| damaged(path, reason))?;
    // When it is stored again, it is stored in this version.
    manifest.format_version = FORMAT_VERSION;
    // Backups, and databases restored from them, had the number of the first backup here.
    let last = manifest.last_checkpoint().map_or(0, |last| last.number);
    manifest.checkpoints_taken = manifest.checkpoints_taken.max(last);
    Ok(manifest)
}

fn refuse_foreign_directory(disk: &dyn Disk, data_directory: &Path) -> Result<()> {
    let names = match disk.list(data_directory) {
        Ok(names) => names,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => {
            let what = format!("could not read data directory \"{}\"", data_directory.display());
            return Err(Error::io(what, &error));
        }
    };
    refuse_orphaned_logs(disk, data_directory, &[PathBuf::from(DEFAULT_LOG_DIRECTORY)])?;
    match names.iter().find(|name| !HARMLESS.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => Err(refused(format!(
            "directory \"{}\" is not empty and holds no Hyades database (found \"{name}\", but no \"{FILE}\")",
            data_directory.display()
        ))),
    }
}

/// Refuses to begin a database where the logs of another one are: the manifest, which existed before its
/// logs, has been lost. `directories` are those of the logs.
fn refuse_orphaned_logs(disk: &dyn Disk, data_directory: &Path, directories: &[PathBuf]) -> Result<()> {
    for directory in directories {
        let base = data_directory.join(directory);
        // A directory that cannot be listed is no reason to refuse yet: writing there will report it.
        for log in disk.list(&base).unwrap_or_default() {
            let log = base.join(log);
            let names = disk.list(&log).unwrap_or_default();
            if names.iter().any(|name| parse_segment_name(name).is_some()) {
                let (manifest, log) = (data_directory.join(FILE), log.display());
                return Err(Error::fatal(
                    sqlstate::UNDEFINED_FILE,
                    format!(
                        "\"{}\" is missing, although \"{log}\" holds the logs of a database: put the manifest back, or choose other \
                         directories for a new database",
                        manifest.display()
                    ),
                ));
            }
        }
    }
    Ok(())
}

/// Refuses a configuration that does not match the existing files, before anything is touched.
pub fn check_configuration(config: &Config) -> Result<()> {
    let (disk, data_directory) = (config.disk.as_ref(), config.data_directory.as_path());
    match Manifest::load(disk, data_directory)? {
        None => refuse_orphaned_logs(disk, data_directory, &config.log_directories),
        Some(manifest)
            if config.protocol == ProtocolKind::None
                && manifest.incarnations.iter().any(|incarnation| incarnation.logs > 0) =>
        {
            Err(refused(format!(
                "data directory \"{}\" holds a durable database: with the protocol none, whatever is written to it would be lost; \
                 start it with the protocol taurus or serial, or choose another directory",
                data_directory.display()
            )))
        }
        Some(_) => Ok(()),
    }
}

/// The message about logs that this program cannot read.
pub(crate) fn unknown_protocol(name: &str) -> String {
    format!("the logs were written by the unknown protocol \"{name}\"")
}

fn refused(message: String) -> Error {
    Error::fatal(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
}

fn damaged(path: &Path, reason: &str) -> Error {
    Error::corrupt(format!("manifest \"{}\" is damaged: {reason}", path.display()))
}

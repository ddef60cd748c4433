//! Segment files ahead of need: created, or taken from the `spares`, filled with zeroes and synced before the
//! first log record goes into them.
//!
//! Durable writes then overwrite allocated blocks, which costs the file system no metadata, and a full disk
//! is found while there is still room for everything that has been reserved: each finished segment raises the
//! buffer's ceiling, and reservations stop below it. The failure stays visible ([`SegmentSupply::failure`])
//! until a segment can be made.
//!
//! Preparing writes as many bytes of zeroes as the log itself writes, to the same device. So they are written
//! piece by piece (`pace`).
//!
//! Invariants:
//! 1. A segment is handed out only when the whole file and its name are durable.
//! 2. There are never more than `ahead` segments, prepared or in preparation, after the last one whose first
//!    block is durable: usually one. The number is in the manifest. So a file shows that the segment `ahead`
//!    places before it was in use, and a file that was used has its full length until the log is closed.
//!    `reader` detects lost segments by that.
//! 3. Files of a failed attempt never block the next one: they are removed, or made again.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hyades_types::error::{Error, Result, sqlstate};
use parking_lot::Mutex;

use super::block::{MIN_SEGMENT_BYTES, SEGMENT_HEADER_BYTES, SegmentHeader, SegmentHeaderError};
use super::pace::Pace;
use super::room::Room;
use super::spares::{Spares, parse_spare_name};
use super::{LogIdentity, has_gone, parse_segment_name, segment_path};
use crate::disk::{AlignedBuffer, Disk, File, SECTOR_BYTES, restrict};
use crate::log::buffer::SPARE_SECTORS;
use crate::mutant::{self, Mutant};
use crate::sync::LongLock;

/// Zeroes are written in pieces of this size.
const PIECE_BYTES: u64 = 1 << 20;

/// A segment file that holds no log records yet.
pub(crate) struct PreparedSegment {
    pub(crate) file: Box<dyn File>,
    pub(crate) path: PathBuf,
    pub(crate) sequence: u64,
}

/// The segment that is being prepared.
struct Making {
    sequence: u64,
    /// `None`: not begun.
    file: Option<Box<dyn File>>,
    /// Its file name while it is a spare.
    spare: Option<PathBuf>,
    written_bytes: u64,
    pace: Pace,
}

impl Making {
    fn of(sequence: u64) -> Making {
        Making { sequence, file: None, spare: None, written_bytes: 0, pace: Pace::start(0) }
    }
}

/// The result of an attempt to prepare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prepared {
    /// Enough segments are ready.
    Enough,
    /// One piece was written.
    Piece,
    /// The next piece is due after this time.
    Later(Duration),
    Failed,
}

/// Prepares the segments of one log's stripe.
pub(crate) struct SegmentSupply {
    disk: Arc<dyn Disk>,
    directory: PathBuf,
    pub(crate) identity: LogIdentity,
    pub(crate) segment_bytes: u64,
    room: Arc<Room>,
    stripe: usize,
    ahead: u64,
    ready: Mutex<VecDeque<PreparedSegment>>,
    making: LongLock<Making>,
    spares: Spares,
    /// The last segment whose first block is durable.
    in_use: AtomicU64,
    /// Bytes of blocks written so far.
    used_bytes: AtomicU64,
    failure: Mutex<Option<Error>>,
    /// The last segment of a closed log, and where its blocks end.
    last: Mutex<Option<(PreparedSegment, u64)>>,
}

impl SegmentSupply {
    /// `spare_bytes`: how many bytes of segments that are no longer needed may be kept.
    pub(crate) fn new(
        disk: &Arc<dyn Disk>,
        directory: PathBuf,
        identity: LogIdentity,
        (segment_bytes, spare_bytes): (u64, u64),
        room: &Arc<Room>,
        stripe: usize,
    ) -> SegmentSupply {
        let buffer = room.buffer();
        let segment_bytes = segment_bytes.max(MIN_SEGMENT_BYTES).next_multiple_of(SECTOR_BYTES as u64);
        let most_spares = (spare_bytes / segment_bytes).max(1) as usize;
        let spares = Spares::new(disk, &directory, identity.incarnation, most_spares);
        let needed = buffer.capacity_bytes() + buffer.slack_bytes() + SPARE_SECTORS * SECTOR_BYTES;
        SegmentSupply {
            disk: Arc::clone(disk),
            directory,
            identity,
            segment_bytes,
            room: Arc::clone(room),
            stripe,
            ahead: (needed as u64).div_ceil(segment_bytes - SECTOR_BYTES as u64).max(1),
            ready: Mutex::new(VecDeque::new()),
            making: LongLock::new(Making::of(1)),
            spares,
            in_use: AtomicU64::new(0),
            used_bytes: AtomicU64::new(0),
            failure: Mutex::new(None),
            last: Mutex::new(None),
        }
    }

    /// What blocks are padded to. See [`Disk::sector_bytes`].
    pub(crate) fn sector_bytes(&self, wanted: Option<usize>) -> Result<usize> {
        self.disk.sector_bytes(&self.directory, wanted).map_err(|error| {
            Error::input(
                sqlstate::INVALID_PARAMETER_VALUE,
                format!("logs cannot be written to \"{}\": {error}", self.directory.display()),
            )
        })
    }

    /// How many segments may be prepared after the last one in use (invariant 2).
    pub(crate) fn ahead(&self) -> u64 {
        self.ahead
    }

    /// Checks whether the log's directory can be used, and returns the files in it that the manifest does not
    /// know: those of an interrupted start, and those of whole incarnations given up by a checkpoint. Writes
    /// nothing.
    pub(crate) fn examine(&self, is_given_up: impl Fn(u64) -> bool) -> Result<Vec<PathBuf>> {
        let names = match self.disk.list(&self.directory) {
            Ok(names) => names,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => {
                let what = format!("could not read log directory \"{}\"", self.directory.display());
                return Err(Error::io(what, &error));
            }
        };
        let mut leftovers = Vec::new();
        for name in &names {
            leftovers.extend(self.leftover(name, &is_given_up)?);
        }
        Ok(leftovers)
    }

    /// Makes the directory, durably.
    pub(crate) fn create_directory(&self) -> Result<()> {
        let create = || -> io::Result<()> {
            // One at a time: the directory's creator decides who has access to it.
            for directory in self.directory.ancestors().take(2).collect::<Vec<_>>().into_iter().rev() {
                if !directory.as_os_str().is_empty() {
                    self.disk.create_directory(directory)?;
                }
            }
            // The new directory's own entry, and that of the directory all logs are in.
            for ancestor in self.directory.ancestors().skip(1).take(2) {
                if !ancestor.as_os_str().is_empty() {
                    self.disk.sync_directory(ancestor)?;
                }
            }
            Ok(())
        };
        create().map_err(|error| {
            Error::io(format_args!("could not create log directory \"{}\"", self.directory.display()), &error)
        })?;
        restrict(self.disk.as_ref(), &self.directory)
    }

    /// Makes the log's first segment, header included, durable.
    pub(crate) fn prepare_first(&self) -> Result<()> {
        let mut making = self.making.lock();
        while making.sequence == 1 {
            if let Err(error) = self.make_piece(&mut making) {
                return Err(self.give_up(&mut making, &error));
            }
        }
        Ok(())
    }

    /// A start that was interrupted before the manifest knew of it leaves empty segments of this incarnation,
    /// which are removed. Anything else in the directory that is not a segment, or holds unknown log records,
    /// is refused.
    fn leftover(&self, name: &str, is_given_up: impl Fn(u64) -> bool) -> Result<Option<PathBuf>> {
        let path = self.directory.join(name);
        let refuse = |reason: &str| {
            let message = format!("\"{}\" stands in the way of a new log: {reason}", path.display());
            Err(Error::fatal(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message))
        };
        match parse_segment_name(name) {
            // The process that made it a spare has ended.
            None if parse_spare_name(name).is_some() => return Ok(Some(path)),
            None => return refuse("it is not a file of Hyades"),
            Some((incarnation, _)) if incarnation < self.identity.incarnation => {
                return Ok(is_given_up(incarnation).then_some(path));
            }
            Some((incarnation, _)) if incarnation > self.identity.incarnation => {
                return refuse("it is newer than the manifest");
            }
            Some(_) => {}
        }
        let read = || -> io::Result<Vec<u8>> {
            let mut head = vec![0; 2 * SECTOR_BYTES];
            let read = self.disk.open_read(&path)?.read_at(0, &mut head)?;
            head.truncate(read);
            Ok(head)
        };
        let head = read()
            .map_err(|error| Error::io(format_args!("could not read \"{}\"", path.display()), &error))?;
        let is_ours = match SegmentHeader::decode(&head) {
            Ok(header) => header.identity == self.identity,
            Err(SegmentHeaderError::Unused) => true,
            // A header that was torn while it was written: a part of it, and nothing after it.
            Err(SegmentHeaderError::Damaged(_)) => {
                head.iter().skip(SEGMENT_HEADER_BYTES).all(|byte| *byte == 0)
            }
            Err(SegmentHeaderError::Version(..)) => false,
        };
        if !is_ours || head.iter().skip(SECTOR_BYTES).any(|byte| *byte != 0) {
            return refuse("it holds data that the manifest does not know of");
        }
        Ok(Some(path))
    }

    /// Writes the next piece of the next segment, unless enough segments are ready or the piece is not due
    /// yet.
    pub(crate) fn prepare(&self) -> Prepared {
        self.prepare_at(|pace, written, used| pace.pause(written, used))
    }

    fn prepare_at(&self, pause: impl Fn(&Pace, u64, u64) -> Duration) -> Prepared {
        let mut making = self.making.lock();
        let early = u64::from(mutant::is_active(Mutant::PreparedTooEarly));
        if making.sequence > self.in_use.load(Ordering::Acquire) + self.ahead + early {
            return Prepared::Enough;
        }
        let used = self.used_bytes();
        if making.file.is_none() {
            making.pace = Pace::start(used);
        } else if self.failure.lock().is_none() {
            let pause = pause(&making.pace, making.written_bytes, used);
            if !pause.is_zero() {
                return Prepared::Later(pause);
            }
        }
        match self.make_piece(&mut making) {
            Ok(()) => Prepared::Piece,
            Err(error) => {
                let failure = self.give_up(&mut making, &error);
                // Logged once, however often it is tried again.
                if self.failure.lock().replace(failure.clone()).is_none() {
                    tracing::error!(state = %failure.sqlstate(), "{failure}");
                }
                // Waiters learn that waiting is pointless.
                self.room.buffer().wake_waiters();
                Prepared::Failed
            }
        }
    }

    /// Why no further segment can be made at the moment.
    pub(crate) fn failure(&self) -> Option<Error> {
        self.failure.lock().clone()
    }

    /// The next prepared segment, made on the spot if none is ready.
    pub(crate) fn take(&self) -> Result<PreparedSegment> {
        loop {
            if let Some(segment) = self.ready.lock().pop_front() {
                return Ok(segment);
            }
            if self.prepare_at(|_, _, _| Duration::ZERO) == Prepared::Failed
                && let Some(failure) = self.failure()
            {
                return Err(Error::fatal(failure.sqlstate(), failure.to_string()));
            }
        }
    }

    /// A block with this payload and of this many bytes has become durable in this segment.
    pub(crate) fn note_block(&self, sequence: u64, payload_bytes: usize, bytes: u64) {
        self.room.take(self.stripe, payload_bytes, bytes);
        self.in_use.store(sequence, Ordering::Release);
        self.used_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Bytes of the durable blocks.
    pub(crate) fn used_bytes(&self) -> u64 {
        self.used_bytes.load(Ordering::Relaxed)
    }

    /// The first segment from this one on that has durable blocks and has gone.
    pub(crate) fn missing_from(&self, first: u64) -> Option<PathBuf> {
        let used = first..=self.in_use.load(Ordering::Acquire).max(first);
        let mut paths =
            used.map(|sequence| segment_path(&self.directory, self.identity.incarnation, sequence));
        paths.find(|path| has_gone(&*self.disk, path))
    }

    /// The durable manifest no longer names the segments before this one.
    pub(crate) fn give_up_before(&self, first: u64) {
        self.spares.add_before(first);
    }

    /// Writes one piece. The last one makes the segment ready.
    fn make_piece(&self, making: &mut Making) -> io::Result<()> {
        let path = segment_path(&self.directory, self.identity.incarnation, making.sequence);
        let file = match making.file.take() {
            Some(file) => file,
            None => self.begin(making, &path)?,
        };
        let length = PIECE_BYTES.min(self.segment_bytes - making.written_bytes);
        let mut piece = AlignedBuffer::new(length as usize);
        // The manifest names the first segment before anything is in it.
        if making.sequence == 1 && making.written_bytes == 0 {
            let (identity, segment_bytes) = (self.identity, self.segment_bytes);
            SegmentHeader { identity, sequence: 1, position: 0, segment_bytes }.encode(&mut piece);
        }
        file.write_at(making.written_bytes, &piece)?;
        making.written_bytes += length;
        if making.written_bytes < self.segment_bytes {
            making.file = Some(file);
            return Ok(());
        }
        if making.spare.is_none() || !mutant::is_active(Mutant::SpareNamedUnsynced) {
            file.sync()?;
        }
        if let Some(spare) = &making.spare {
            self.disk.rename(spare, &path)?;
        }
        if !mutant::is_active(Mutant::SegmentNameUnsynced) {
            self.disk.sync_directory(&self.directory)?;
        }
        let sequence = making.sequence;
        *making = Making::of(sequence + 1);
        self.ready.lock().push_back(PreparedSegment { file, path, sequence });
        self.room.add(self.stripe, self.segment_bytes - SECTOR_BYTES as u64);
        if self.failure.lock().take().is_some() {
            tracing::info!("a log can be extended again, in \"{}\"", self.directory.display());
        }
        Ok(())
    }

    /// A spare if there is one, else a new file.
    fn begin(&self, making: &mut Making, path: &Path) -> io::Result<Box<dyn File>> {
        let Some(spare) = self.spares.take() else { return self.create(path) };
        match self.disk.open(&spare) {
            Ok(file) => {
                making.spare = Some(spare);
                Ok(file)
            }
            Err(_) => {
                let _ = self.disk.remove(&spare);
                self.create(path)
            }
        }
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn File>> {
        if self.disk.exists(path) {
            // An unfinished segment, which could not be removed at the time. If it cannot be removed now,
            // every byte of it is written again.
            if self.disk.remove(path).is_err() {
                return self.disk.open(path);
            }
        }
        self.disk.create(path)
    }

    /// An unfinished segment is useless, and its space may be needed elsewhere.
    fn give_up(&self, making: &mut Making, error: &io::Error) -> Error {
        let path = segment_path(&self.directory, self.identity.incarnation, making.sequence);
        for path in making.spare.iter().chain([&path]) {
            let _ = self.disk.remove(path);
        }
        *making = Making::of(making.sequence);
        self.describe(error, &path)
    }

    /// In PostgreSQL's words for a table that cannot grow.
    fn describe(&self, error: &io::Error, path: &Path) -> Error {
        let is_full = matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        let (state, reason) = if is_full || error.raw_os_error() == Some(28) {
            (sqlstate::DISK_FULL, "No space left on device".to_owned())
        } else {
            (sqlstate::IO_ERROR, error.to_string())
        };
        let message = format!("could not extend log with file \"{}\": {reason}", path.display());
        let refused = Error::input(state, message);
        if is_full { refused.with_hint("Check free disk space.") } else { refused }
    }

    /// The log has ended. The blocks in its last segment end at this offset.
    pub(crate) fn end(&self, last: PreparedSegment, offset: u64) {
        *self.last.lock() = Some((last, offset));
    }

    /// Gives back the unused space of a closed log: only after the manifest knows where the log ends
    /// (invariant 2). The first segment stays, because the manifest names it, and a log without it is a
    /// missing log. Only space is at stake: what remains is removed by the next start.
    pub(crate) fn give_back_unused(&self) {
        if let Some((segment, offset)) = self.last.lock().take() {
            let _ = segment.file.truncate(offset);
        }
        let mut making = self.making.lock();
        self.spares.remove();
        if making.file.take().is_some() {
            let path = segment_path(&self.directory, self.identity.incarnation, making.sequence);
            let _ = self.disk.remove(making.spare.as_ref().unwrap_or(&path));
        }
        let unused = std::mem::take(&mut *self.ready.lock());
        for segment in unused.into_iter().rev() {
            if segment.sequence == 1 {
                let _ = segment.file.truncate(SECTOR_BYTES as u64);
                continue;
            }
            drop(segment.file);
            let _ = self.disk.remove(&segment.path);
        }
    }
}

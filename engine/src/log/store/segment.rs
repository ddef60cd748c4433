//! Segment files ahead of need: created, filled with zeroes and synced before the first log record goes into them.
//!
//! Durable writes then overwrite allocated blocks, which costs the file system no metadata, and a full disk is found
//! while there is still room for everything that has been reserved: each finished segment raises the buffer's ceiling,
//! and reservations stop below it. The failure stays visible ([`SegmentSupply::failure`]) until a segment could be
//! made.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::block::{MIN_SEGMENT_BYTES, SEGMENT_HEADER_BYTES, SegmentHeader, SegmentHeaderError};
use super::{LogIdentity, parse_segment_name, segment_path};
use crate::disk::{AlignedBuffer, Disk, File, SECTOR_BYTES};
use crate::error::{Error, Result, sqlstate};
use crate::log::buffer::{LogBuffer, SPARE_SECTORS};

/// Zeroes are written in pieces of this size.
const PIECE_BYTES: usize = 1 << 20;

/// A segment file nobody has written log records to yet.
pub(crate) struct PreparedSegment {
    pub(crate) file: Box<dyn File>,
    pub(crate) path: PathBuf,
    pub(crate) sequence: u64,
}

/// Prepares one log's segments.
pub(crate) struct SegmentSupply {
    disk: Arc<dyn Disk>,
    directory: PathBuf,
    pub(crate) identity: LogIdentity,
    pub(crate) segment_bytes: u64,
    buffer: Arc<LogBuffer>,
    /// How many segments should stand ready behind the current one.
    wanted: usize,
    ready: Mutex<VecDeque<PreparedSegment>>,
    /// The next sequence number; locked while a segment is made.
    next_sequence: Mutex<u64>,
    failure: Mutex<Option<Error>>,
}

impl SegmentSupply {
    pub(crate) fn new(
        disk: &Arc<dyn Disk>,
        directory: PathBuf,
        identity: LogIdentity,
        segment_bytes: u64,
        buffer: &Arc<LogBuffer>,
    ) -> SegmentSupply {
        let segment_bytes = segment_bytes.max(MIN_SEGMENT_BYTES).next_multiple_of(SECTOR_BYTES as u64);
        let ahead = buffer.capacity_bytes() + buffer.slack_bytes() + SPARE_SECTORS * SECTOR_BYTES;
        let wanted = (ahead as u64).div_ceil(segment_bytes - SECTOR_BYTES as u64).max(1) as usize;
        SegmentSupply {
            disk: Arc::clone(disk),
            directory,
            identity,
            segment_bytes,
            buffer: Arc::clone(buffer),
            wanted,
            ready: Mutex::new(VecDeque::new()),
            next_sequence: Mutex::new(1),
            failure: Mutex::new(None),
        }
    }

    /// Makes the log's directory and its first segment, header included, durable. Refuses files that it did not make.
    pub(crate) fn prepare_first(&self) -> Result<()> {
        let create = || -> io::Result<()> {
            self.disk.create_directory(&self.directory)?;
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
        let names = self.disk.list(&self.directory).map_err(|error| {
            Error::io(format_args!("could not read log directory \"{}\"", self.directory.display()), &error)
        })?;
        for name in &names {
            self.clear_leftover(name)?;
        }
        let mut next = self.next_sequence.lock();
        self.make(*next, true).map_err(|error| self.describe(&error, *next))?;
        *next += 1;
        Ok(())
    }

    /// A start that was cut short before the manifest knew of it leaves empty segments of this incarnation: they go.
    /// Anything else in the directory that is no segment, or holds log records nobody knows of, is refused.
    fn clear_leftover(&self, name: &str) -> Result<()> {
        let path = self.directory.join(name);
        let refuse = |reason: &str| {
            let message = format!("\"{}\" stands in the way of a new log: {reason}", path.display());
            Err(Error::fatal(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message))
        };
        match parse_segment_name(name) {
            None => return refuse("it is not a file of Hyades"),
            Some((incarnation, _)) if incarnation < self.identity.incarnation => return Ok(()),
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
            // A header that was torn while it was written: a part of it, and nothing behind.
            Err(SegmentHeaderError::Damaged(_)) => {
                head.iter().skip(SEGMENT_HEADER_BYTES).all(|byte| *byte == 0)
            }
            Err(SegmentHeaderError::Version(..)) => false,
        };
        if !is_ours || head.iter().skip(SECTOR_BYTES).any(|byte| *byte != 0) {
            return refuse("it holds data that the manifest does not know of");
        }
        self.disk
            .remove(&path)
            .map_err(|error| Error::io(format_args!("could not remove \"{}\"", path.display()), &error))
    }

    /// Makes one more segment if fewer than wanted stand ready. Says whether it did.
    pub(crate) fn prepare(&self) -> bool {
        let mut next = self.next_sequence.lock();
        if self.ready.lock().len() >= self.wanted {
            return false;
        }
        match self.make(*next, false) {
            Ok(()) => {
                *next += 1;
                if self.failure.lock().take().is_some() {
                    tracing::info!("a log can be extended again, in \"{}\"", self.directory.display());
                }
                true
            }
            Err(error) => {
                let failure = self.describe(&error, *next);
                // Said once, however often it is tried again.
                if self.failure.lock().replace(failure.clone()).is_none() {
                    tracing::error!(state = %failure.sqlstate(), "{failure}");
                }
                // They learn that it is not worth waiting.
                self.buffer.wake_waiters();
                false
            }
        }
    }

    /// Why no further segment can be made at the moment.
    pub(crate) fn failure(&self) -> Option<Error> {
        self.failure.lock().clone()
    }

    /// The next prepared segment; made here and now if none is ready.
    pub(crate) fn take(&self) -> Result<PreparedSegment> {
        loop {
            if let Some(segment) = self.ready.lock().pop_front() {
                return Ok(segment);
            }
            if !self.prepare()
                && let Some(failure) = self.failure()
            {
                return Err(Error::fatal(failure.sqlstate(), failure.to_string()));
            }
        }
    }

    fn make(&self, sequence: u64, with_header: bool) -> io::Result<()> {
        let path = segment_path(&self.directory, self.identity.incarnation, sequence);
        match self.write_segment(&path, sequence, with_header) {
            Ok(file) => {
                self.ready.lock().push_back(PreparedSegment { file, path, sequence });
                self.buffer.move_ceiling(self.segment_bytes as i64 - SECTOR_BYTES as i64);
                Ok(())
            }
            Err(error) => {
                // Half a segment is of no use; its space may be what others need.
                let _ = self.disk.remove(&path);
                Err(error)
            }
        }
    }

    fn write_segment(&self, path: &Path, sequence: u64, with_header: bool) -> io::Result<Box<dyn File>> {
        let file = self.disk.create(path)?;
        let piece_bytes = (PIECE_BYTES as u64).min(self.segment_bytes) as usize;
        let mut piece = AlignedBuffer::new(piece_bytes);
        if with_header {
            let (identity, segment_bytes) = (self.identity, self.segment_bytes);
            SegmentHeader { identity, sequence, position: 0, segment_bytes }.encode(&mut piece);
        }
        let mut offset = 0;
        while offset < self.segment_bytes {
            let length = (self.segment_bytes - offset).min(piece.len() as u64);
            file.write_at(offset, &piece[..length as usize])?;
            if offset == 0 {
                piece[..SECTOR_BYTES].fill(0);
            }
            offset += length;
        }
        file.sync()?;
        self.disk.sync_directory(&self.directory)?;
        Ok(file)
    }

    /// As PostgreSQL says it when a table cannot grow.
    fn describe(&self, error: &io::Error, sequence: u64) -> Error {
        let path = segment_path(&self.directory, self.identity.incarnation, sequence);
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

    /// Removes the segments that were never used, at a clean end. The first one stays: the manifest names it, and a log without
    /// it is a missing log.
    pub(crate) fn remove_unused(&self) {
        let unused = std::mem::take(&mut *self.ready.lock());
        for segment in unused.into_iter().rev().filter(|segment| segment.sequence > 1) {
            drop(segment.file);
            // It holds nothing: if it stays, recovery takes it for unused.
            let _ = self.disk.remove(&segment.path);
        }
    }
}

//! Reads one log of one incarnation back, and says precisely why it ended.
//!
//! Blocks are written one after the other, each only after its predecessor was durable. So a crash leaves
//! whole blocks, then at most one torn one, then prepared zeroes. Every stop is exactly one of the rows of
//! this table:
//!
//! | at the expected place stands | behind it | verdict |
//! |---|---|---|
//! | zeroes, the end of the file, an unused or missing segment | nothing valid | [`Tail::Clean`] |
//! | anything else that is no block of this log | nothing valid | [`Tail::Torn`] |
//! | no block of this log | a valid block or used segment | [`Tail::Hole`]: no crash explains it |
//! | an unused, missing or damaged segment | segments that were prepared only after it was in use | [`Tail::Lost`]: the same |
//! | the end of the file, before the end of the segment | nothing valid | [`Tail::Lost`], unless the log was closed |
//! | a block whose checksum is right, but whose records are not | | an error at once |
//! | a file of another database or version, a missing first segment | | an error at once |
//!
//! Recovery then calls [`LogEnd::check`] with the largest position that any anchor calls durable: an end
//! below that is corruption too (pitfall 14). Memory is bounded: one window and one chunk.
//!
//! The last two rows hold for incarnations whose manifest entry says how many segments are prepared ahead,
//! while they have not been closed: their files are made in full length before they are used, and the one
//! that is so many behind a segment is begun only when the segment's first block is durable (`segment`). So
//! the loss of a whole segment at the end of a log is seen too; that of the last block alone cannot be told
//! from a write that never arrived.

mod beyond_damage;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyades_types::error::{Error, Result, sqlstate};

use super::block::{
    BLOCK_HEADER_BYTES, MAX_BLOCK_BYTES, SegmentHeader, SegmentHeaderError, block_bytes, check_block,
    decode_block_header,
};
use super::{LogIdentity, parse_segment_name, segment_path};
use crate::disk::{Disk, File, SECTOR_BYTES};
use crate::log::record::{Records, record_length};
use crate::lsn::Lsn;
use crate::mutant::{self, Mutant};

const WINDOW_BYTES: usize = 4 * MAX_BLOCK_BYTES;
/// A chunk is handed out when it has this many bytes.
const CHUNK_BYTES: usize = 512 << 10;

const LOST_SEGMENT: &str =
    "the segment is not what was written, although others were prepared behind it when it was";

/// Whole log records in stream order.
#[derive(Clone, Debug, Default)]
pub struct Chunk {
    pub start: Lsn,
    pub bytes: Vec<u8>,
}

impl Chunk {
    pub fn records(&self) -> Records<'_> {
        Records::new(self.start, &self.bytes)
    }

    pub fn end(&self) -> Lsn {
        Lsn(self.start.0 + self.bytes.len() as u64)
    }
}

/// What stands where the next block should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Nothing: the log ends here.
    Clean,
    /// The remains of a write that did not complete.
    Torn(&'static str),
    /// Something invalid, and a valid block or segment behind it, whose stream position is given.
    Hole(&'static str, Lsn),
    /// The files show that more was written, but not what.
    Lost(&'static str),
}

/// Where and why a log ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEnd {
    /// The end of the valid bytes.
    pub position: Lsn,
    /// The end of the last whole record: this log's entry of the ELV.
    pub whole_records: Lsn,
    /// The file and the offset in it where the next block should stand.
    pub path: PathBuf,
    pub offset: u64,
    pub tail: Tail,
    /// Bytes from `offset` to the end of what a torn write has left there.
    pub torn_bytes: u64,
}

impl LogEnd {
    /// Bytes of a record whose end is missing.
    pub fn unfinished_bytes(&self) -> u64 {
        self.position.0 - self.whole_records.0
    }

    /// Whether a crash can explain this end, when the log is known to have been durable up to `durable`.
    pub fn check(&self, durable: Lsn) -> Result<()> {
        let place = format!("log file \"{}\" is damaged at byte {}", self.path.display(), self.offset);
        match self.tail {
            Tail::Hole(reason, next) => Err(Error::corrupt(format!(
                "{place}: {reason}, although the log goes on behind it (position {next})"
            ))),
            Tail::Lost(reason) => Err(Error::corrupt(format!("{place}: {reason}"))),
            _ if self.position >= durable => Ok(()),
            Tail::Torn(reason) => Err(Error::corrupt(format!(
                "{place}: {reason}, although the log was durable up to position {durable} (it ends at {})",
                self.position
            ))),
            Tail::Clean => Err(Error::corrupt(format!(
                "{place}: the log ends at position {}, although it was durable up to {durable}",
                self.position
            ))),
        }
    }
}

/// Syncs all segments of one log, so that what is read afterwards would survive a power cut (pitfall 16).
pub fn sync_log(disk: &dyn Disk, directory: &Path, incarnation: u64, first_segment: u64) -> Result<()> {
    for sequence in segments_from(disk, directory, incarnation, first_segment)? {
        let path = segment_path(directory, incarnation, sequence);
        let sync = || disk.open_read(&path)?.sync();
        sync().map_err(|error| Error::io(format_args!("could not sync \"{}\"", path.display()), &error))?;
    }
    disk.sync_directory(directory)
        .map_err(|error| Error::io(format_args!("could not sync \"{}\"", directory.display()), &error))
}

/// Sequence numbers of the segment files of one incarnation in this directory, from this one on, in order.
/// Some may be missing.
pub(crate) fn segments_from(
    disk: &dyn Disk,
    directory: &Path,
    incarnation: u64,
    first_segment: u64,
) -> Result<Vec<u64>> {
    let names = disk.list(directory).map_err(|error| {
        Error::io(format_args!("could not read log directory \"{}\"", directory.display()), &error)
    })?;
    let numbers = names.iter().filter_map(|name| parse_segment_name(name));
    let ours = numbers.filter(|(number, sequence)| *number == incarnation && *sequence >= first_segment);
    let mut sequences: Vec<u64> = ours.map(|(_, sequence)| sequence).collect();
    sequences.sort_unstable();
    Ok(sequences)
}

struct Segment {
    file: Box<dyn File>,
    path: PathBuf,
    sequence: u64,
    segment_bytes: u64,
    /// Where the next block should stand.
    offset: u64,
}

/// Reads the blocks of one log from its segment files, and judges where and how the log ends.
pub struct LogReader {
    disk: Arc<dyn Disk>,
    directory: PathBuf,
    identity: LogIdentity,
    segment: Segment,
    /// Segments prepared behind the last one in use, if the log says so and was not closed.
    prepared_ahead: Option<u64>,
    /// Nothing is read once all whole records up to here have been.
    stop: u64,
    /// Where the next block stands in the stream is known: at `position`.
    has_begun: bool,
    /// Bytes of the current file from `window_offset` on.
    window: Vec<u8>,
    window_offset: u64,
    /// The end of the valid bytes so far.
    position: u64,
    /// Bytes from `chunk_start` on, of which the first `whole` are whole records.
    pending: Vec<u8>,
    chunk_start: u64,
    whole: usize,
    end: Option<LogEnd>,
}

impl LogReader {
    /// Opens a log at its first segment. A missing or foreign one is an error: segments exist before the
    /// manifest names them.
    pub fn open(
        disk: &Arc<dyn Disk>,
        directory: &Path,
        identity: LogIdentity,
        first_segment: u64,
    ) -> Result<LogReader> {
        let path = segment_path(directory, identity.incarnation, first_segment);
        if !disk.exists(&path) {
            return Err(Error::fatal(
                sqlstate::UNDEFINED_FILE,
                format!(
                    "log {} of incarnation {} is missing: there is no file \"{}\"",
                    identity.log,
                    identity.incarnation,
                    path.display()
                ),
            ));
        }
        let opened = open_segment(disk.as_ref(), &path, &identity, first_segment, None)?;
        let (segment, header) = match opened {
            Ok(opened) => opened,
            Err(SegmentHeaderError::Damaged(reason)) => return Err(foreign(&path, reason)),
            Err(_) => return Err(foreign(&path, "its header is missing")),
        };
        Ok(LogReader::new(disk, directory, identity, segment, header.position))
    }

    fn new(
        disk: &Arc<dyn Disk>,
        directory: &Path,
        identity: LogIdentity,
        segment: Segment,
        position: u64,
    ) -> LogReader {
        LogReader {
            disk: Arc::clone(disk),
            directory: directory.to_owned(),
            identity,
            segment,
            prepared_ahead: None,
            stop: u64::MAX,
            has_begun: true,
            window: Vec::new(),
            window_offset: 0,
            position,
            pending: Vec::new(),
            chunk_start: position,
            whole: 0,
            end: None,
        }
    }

    /// The log was not closed, and its manifest entry says that this many segments are prepared behind the
    /// last one in use: what follows from that is looked at, too.
    #[must_use]
    pub fn expect_prepared(mut self, ahead: Option<u64>) -> LogReader {
        self.prepared_ahead = ahead;
        self
    }

    /// Reads nothing behind the whole records that end here: what stands there may be damaged.
    pub fn stop_at(&mut self, position: Lsn) {
        self.stop = position.0;
    }

    /// The end of the last whole record that was read.
    pub fn whole_records(&self) -> Lsn {
        Lsn(self.chunk_start + self.whole as u64)
    }

    /// The next whole records; `None` at the end, and [`LogReader::end`] then says why. After an error, those
    /// that had been read before it are handed out once [`LogReader::stop_at`] says that they are all.
    pub fn next_chunk(&mut self) -> Result<Option<Chunk>> {
        while self.end.is_none() && self.whole < CHUNK_BYTES && self.whole_records().0 < self.stop {
            self.read_block()?;
            self.find_whole_records()?;
        }
        if self.whole == 0 {
            return Ok(None);
        }
        let rest = self.pending.split_off(self.whole);
        let bytes = std::mem::replace(&mut self.pending, rest);
        let start = Lsn(self.chunk_start);
        self.chunk_start += bytes.len() as u64;
        self.whole = 0;
        Ok(Some(Chunk { start, bytes }))
    }

    /// Reads one more block; `false` at the end. For those who want to know where blocks begin;
    /// [`LogReader::next_chunk`] then hands out what was read.
    pub fn next_block(&mut self) -> Result<bool> {
        let before = self.position;
        while self.end.is_none() && self.position == before {
            self.read_block()?;
            self.find_whole_records()?;
        }
        Ok(self.position > before)
    }

    /// Where and why the log ended, once everything has been read.
    pub fn end(&self) -> Option<&LogEnd> {
        self.end.as_ref()
    }

    /// The end of what has been read so far.
    pub fn position(&self) -> Lsn {
        Lsn(self.position)
    }

    /// Bytes of all files of this log from here on, prepared space included: an upper bound of what will be
    /// read.
    pub fn bytes_total(&self) -> u64 {
        let mut total = 0;
        for sequence in self.segment.sequence.. {
            let path = segment_path(&self.directory, self.identity.incarnation, sequence);
            if !self.disk.exists(&path) {
                break;
            }
            total += self.disk.open_read(&path).and_then(|file| file.len()).unwrap_or(0);
        }
        total
    }

    /// Appends the next block's payload to `pending`, or sets `end`.
    fn read_block(&mut self) -> Result<()> {
        if self.segment.offset + SECTOR_BYTES as u64 > self.segment.segment_bytes {
            return self.next_segment();
        }
        let identity = self.identity;
        let bytes = self.view(self.segment.offset, BLOCK_HEADER_BYTES)?;
        let header = match decode_block_header(bytes, &identity) {
            Ok(header) => header,
            Err(reason) => return self.finish_at_invalid_block(reason),
        };
        if header.position != self.position {
            return self.finish_at_invalid_block("the block is of another position");
        }
        let length = BLOCK_HEADER_BYTES + header.payload_bytes;
        let block = self.view(self.segment.offset, length)?;
        if block.len() < length || !check_block(block) {
            return self.finish_at_invalid_block("the checksum of the block is wrong");
        }
        let payload = self.segment.offset - self.window_offset + BLOCK_HEADER_BYTES as u64;
        let payload = payload as usize..payload as usize + header.payload_bytes;
        self.pending.extend_from_slice(&self.window[payload]);
        self.position += header.payload_bytes as u64;
        self.segment.offset += block_bytes(header.payload_bytes) as u64;
        Ok(())
    }

    /// Steps into the next segment file, or ends the log if there is none in use.
    fn next_segment(&mut self) -> Result<()> {
        let sequence = self.segment.sequence + 1;
        let path = segment_path(&self.directory, self.identity.incarnation, sequence);
        let exists = self.disk.exists(&path);
        let opened = if exists {
            open_segment(self.disk.as_ref(), &path, &self.identity, sequence, Some(self.position))?
        } else {
            Err(SegmentHeaderError::Unused)
        };
        let reason = match opened {
            Ok((segment, _)) => {
                self.segment = segment;
                self.window.clear();
                return Ok(());
            }
            Err(SegmentHeaderError::Unused) if exists => "the segment header is missing",
            Err(SegmentHeaderError::Unused) => "the file is missing",
            Err(SegmentHeaderError::Damaged(reason)) => reason,
            Err(SegmentHeaderError::Version(..)) => "unknown version",
        };
        let mut behind = self.used_segment_behind(sequence)?;
        let is_used = self.is_used(sequence)?;
        let mut remains = 0;
        if exists {
            self.enter_unusable(&path, sequence)?;
            behind = match behind {
                None => self.valid_block_behind(0)?.map(|(_, position)| position),
                found => found,
            };
            remains = self.torn_bytes(0)?;
        }
        let tail = match behind {
            _ if mutant::is_active(Mutant::GapIsTheEnd) => Tail::Clean,
            Some(next) => Tail::Hole(reason, next),
            None if is_used => Tail::Lost(LOST_SEGMENT),
            None if remains > 0 => Tail::Torn(reason),
            None => Tail::Clean,
        };
        self.finish(path, 0, tail, remains);
        Ok(())
    }

    /// Makes a file without a valid header the current one, to look at what stands in it.
    fn enter_unusable(&mut self, path: &Path, sequence: u64) -> Result<()> {
        self.segment = whole_file(&self.disk, path, sequence)?;
        self.window.clear();
        Ok(())
    }

    fn finish(&mut self, path: PathBuf, offset: u64, tail: Tail, torn_bytes: u64) {
        let whole_records = Lsn(self.chunk_start + self.whole as u64);
        let position = Lsn(self.position);
        self.end = Some(LogEnd { position, whole_records, path, offset, tail, torn_bytes });
    }

    /// The block at the current offset is not valid: decides which row of the table this is.
    fn finish_at_invalid_block(&mut self, reason: &'static str) -> Result<()> {
        let (offset, path) = (self.segment.offset, self.segment.path.clone());
        let is_blank = self.view(offset, SECTOR_BYTES)?.iter().all(|byte| *byte == 0);
        let behind = match self.valid_block_behind(offset)? {
            Some((_, position)) => Some(position),
            None => self.used_segment_behind(self.segment.sequence)?,
        };
        let torn_bytes = self.torn_bytes(offset)?;
        // The first segment of which no block has been found.
        let unproven = self.segment.sequence + u64::from(offset > SECTOR_BYTES as u64);
        let tail = match behind {
            Some(next) if is_blank => Tail::Hole("a block is missing", next),
            Some(next) => Tail::Hole(reason, next),
            None if self.is_used(unproven)? => Tail::Lost(LOST_SEGMENT),
            None if self.is_cut_short()? => Tail::Lost("the file is shorter than it was made"),
            None if torn_bytes == 0 => Tail::Clean,
            None => Tail::Torn(reason),
        };
        self.finish(path, offset, tail, torn_bytes);
        Ok(())
    }

    /// Whether the current file lacks bytes that it was given before it was used.
    fn is_cut_short(&self) -> Result<bool> {
        let length = self.segment.file.len().map_err(|error| read_failed(&self.segment.path, &error))?;
        Ok(self.prepared_ahead.is_some() && length < self.segment.segment_bytes)
    }

    /// Whether the files that exist show that a block of this segment was durable.
    fn is_used(&self, sequence: u64) -> Result<bool> {
        let Some(ahead) = self.prepared_ahead else { return Ok(false) };
        let (disk, incarnation) = (self.disk.as_ref(), self.identity.incarnation);
        Ok(!segments_from(disk, &self.directory, incarnation, sequence + ahead)?.is_empty())
    }

    /// How many bytes from `offset` on a write that did not complete has left: up to the last one that is not
    /// zero, within what one block takes.
    fn torn_bytes(&mut self, offset: u64) -> Result<u64> {
        let bytes = self.view(offset, SECTOR_BYTES + MAX_BLOCK_BYTES)?;
        Ok(bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last as u64 + 1))
    }

    /// Offset and position of the first valid later block in the rest of this file, behind the sector at this
    /// offset.
    fn valid_block_behind(&mut self, offset: u64) -> Result<Option<(u64, Lsn)>> {
        self.valid_block_from(offset + SECTOR_BYTES as u64)
    }

    fn valid_block_from(&mut self, offset: u64) -> Result<Option<(u64, Lsn)>> {
        let identity = self.identity;
        let mut offset = offset;
        while offset < self.segment.segment_bytes {
            let bytes = self.view(offset, MAX_BLOCK_BYTES)?;
            if bytes.is_empty() {
                break;
            }
            // Look at the whole window before asking for more of the file.
            let sectors = (bytes.len() / SECTOR_BYTES).max(1);
            let found = (0..sectors).find_map(|sector| {
                let header = decode_block_header(&bytes[sector * SECTOR_BYTES..], &identity).ok()?;
                Some((sector, header))
            });
            match found {
                None => offset += (sectors * SECTOR_BYTES) as u64,
                Some((sector, header)) => {
                    offset += (sector * SECTOR_BYTES) as u64;
                    let length = BLOCK_HEADER_BYTES + header.payload_bytes;
                    let first = self.position + u64::from(self.has_begun);
                    let block = self.view(offset, length)?;
                    if header.position >= first && block.len() == length && check_block(block) {
                        return Ok(Some((offset, Lsn(header.position))));
                    }
                    offset += SECTOR_BYTES as u64;
                }
            }
        }
        Ok(None)
    }

    /// The first position of any later segment that is in use.
    fn used_segment_behind(&self, sequence: u64) -> Result<Option<Lsn>> {
        let incarnation = self.identity.incarnation;
        for later in segments_from(self.disk.as_ref(), &self.directory, incarnation, sequence + 1)? {
            let path = segment_path(&self.directory, incarnation, later);
            if let Ok((_, header)) = open_segment(self.disk.as_ref(), &path, &self.identity, later, None)? {
                return Ok(Some(Lsn(header.position)));
            }
        }
        Ok(None)
    }

    /// Up to `length` bytes of the current file from `offset`; fewer at its end.
    fn view(&mut self, offset: u64, length: usize) -> Result<&[u8]> {
        let end_of_window = self.window_offset + self.window.len() as u64;
        if offset < self.window_offset || offset + length as u64 > end_of_window {
            self.move_window(offset)?;
        }
        let start = (offset - self.window_offset) as usize;
        let end = (start + length).min(self.window.len());
        Ok(self.window.get(start..end).unwrap_or(&[]))
    }

    /// Makes the window begin at `offset`, keeping the bytes it already has.
    fn move_window(&mut self, offset: u64) -> Result<()> {
        let kept = match offset.checked_sub(self.window_offset) {
            Some(skipped) if skipped < self.window.len() as u64 => {
                self.window.copy_within(skipped as usize.., 0);
                self.window.len() - skipped as usize
            }
            _ => 0,
        };
        self.window.resize(WINDOW_BYTES, 0);
        let read = self.segment.file.read_at(offset + kept as u64, &mut self.window[kept..]);
        let read = read.map_err(|error| read_failed(&self.segment.path, &error))?;
        self.window.truncate(kept + read);
        self.window_offset = offset;
        Ok(())
    }

    /// Moves `whole` to the end of the last whole record in `pending`.
    fn find_whole_records(&mut self) -> Result<()> {
        while self.whole_records().0 < self.stop
            && let Some(length) = record_length(&self.pending[self.whole..])
        {
            let length = length.map_err(|malformed| {
                let position = self.chunk_start + self.whole as u64;
                let path = self.segment.path.display();
                Error::corrupt(format!(
                    "log file \"{path}\" is damaged: {} (position {position})",
                    malformed.reason
                ))
            })?;
            if self.pending.len() - self.whole < length {
                break;
            }
            self.whole += length;
        }
        if let Some(end) = &mut self.end {
            end.whole_records = Lsn(self.chunk_start + self.whole as u64);
        }
        Ok(())
    }
}

/// A segment file of which not even the header is believed.
fn whole_file(disk: &Arc<dyn Disk>, path: &Path, sequence: u64) -> Result<Segment> {
    let file = disk.open_read(path).map_err(|error| read_failed(path, &error))?;
    let segment_bytes = file.len().map_err(|error| read_failed(path, &error))?;
    Ok(Segment { file, path: path.to_owned(), sequence, segment_bytes, offset: 0 })
}

type OpenedSegment = std::result::Result<(Segment, SegmentHeader), SegmentHeaderError>;

/// Opens a segment file and checks its header. The outer error ends recovery; the inner one is for the caller
/// to judge.
fn open_segment(
    disk: &dyn Disk,
    path: &Path,
    identity: &LogIdentity,
    sequence: u64,
    position: Option<u64>,
) -> Result<OpenedSegment> {
    let file = disk.open_read(path).map_err(|error| read_failed(path, &error))?;
    let mut sector = vec![0; SECTOR_BYTES];
    let read = file.read_at(0, &mut sector).map_err(|error| read_failed(path, &error))?;
    if read == 0 {
        return Ok(Err(SegmentHeaderError::Unused));
    }
    let header = match SegmentHeader::decode(&sector[..read]) {
        Ok(header) => header,
        Err(SegmentHeaderError::Version(store, record)) => {
            return Err(Error::fatal(
                sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!(
                    "log file \"{}\" has log format version {store}.{record}, which this program does not read",
                    path.display()
                ),
            ));
        }
        Err(other) => return Ok(Err(other)),
    };
    if header.identity.database != identity.database {
        let owner = header.identity.database;
        return Err(foreign(path, &format!("it belongs to another database ({owner})")));
    }
    if header.identity != *identity || header.sequence != sequence {
        return Err(foreign(path, "it is another log's segment under this name"));
    }
    if position.is_some_and(|position| position != header.position) {
        return Err(Error::corrupt(format!(
            "log file \"{}\" begins at position {}, but the segment before it ends at {}",
            path.display(),
            header.position,
            position.unwrap_or(0)
        )));
    }
    let segment_bytes = header.segment_bytes;
    let offset = SECTOR_BYTES as u64;
    Ok(Ok((Segment { file, path: path.to_owned(), sequence, segment_bytes, offset }, header)))
}

fn foreign(path: &Path, reason: &str) -> Error {
    Error::corrupt(format!("\"{}\" is not the log file it should be: {reason}", path.display()))
}

fn read_failed(path: &Path, error: &io::Error) -> Error {
    Error::io(format_args!("could not read log file \"{}\"", path.display()), error)
}

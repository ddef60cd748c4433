//! Reads the blocks of one stripe of a log, a directory of segment files, and judges what is found where a
//! block should be. `reader` asks the stripes for them in turn and assembles log records from them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyades_types::error::{Error, Result, sqlstate};

use super::block::{
    BLOCK_HEADER_BYTES, MAX_BLOCK_BYTES, SegmentHeader, SegmentHeaderError, check_block, decode_block_header,
};

use super::read_ahead::Window;
use super::{LogIdentity, parse_segment_name, segment_path};
use crate::disk::{Disk, File, LEAST_SECTOR_BYTES, SECTOR_BYTES};
use crate::log::set::Tail;
use crate::lsn::Lsn;
use crate::mutant::{self, Mutant};

/// How much is examined at once: where a block is damaged, what a write may have left of it.
const MOST_VIEWED: usize = SECTOR_BYTES + MAX_BLOCK_BYTES;

const LOST_SEGMENT: &str =
    "the segment is not what was written, although others were prepared after it when it was";

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

/// The last segment of a stripe that begins at or before this position of the stream: what is there, and
/// everything after it, is in it or in later ones. From `first_segment` on.
pub(crate) fn segment_with(
    disk: &dyn Disk,
    directory: &Path,
    identity: &LogIdentity,
    first_segment: u64,
    position: Lsn,
) -> Result<u64> {
    let mut found = first_segment;
    for sequence in segments_from(disk, directory, identity.incarnation, first_segment)? {
        let path = segment_path(directory, identity.incarnation, sequence);
        match open_segment(disk, &path, identity, sequence, None)? {
            Ok((_, header)) if header.position <= position.0 => found = sequence,
            Ok(_) => break,
            // Not in use, or damaged. If a later one begins before the position, this one is not needed.
            Err(_) => {}
        }
    }
    Ok(found)
}

/// Whether the segments of a stripe, from the first one given to the last one in use that begins at or before
/// this position of the stream, exist without a gap. All but the last must have their full length.
pub(super) fn are_whole_up_to(
    disk: &dyn Disk,
    directory: &Path,
    identity: &LogIdentity,
    first_segment: u64,
    position: Lsn,
) -> Result<bool> {
    let (mut expected, mut begin, mut is_short) = (first_segment, 0, false);
    for sequence in segments_from(disk, directory, identity.incarnation, first_segment)? {
        let path = segment_path(directory, identity.incarnation, sequence);
        // A segment that cannot be used is a gap if a later one is in use.
        let Ok((segment, header)) = open_segment(disk, &path, identity, sequence, None)? else { continue };
        if header.position > position.0 {
            break;
        }
        if sequence != expected || header.position < begin || is_short {
            return Ok(false);
        }
        let length = segment.file.len().map_err(|error| read_failed(&path, &error))?;
        (expected, begin, is_short) = (sequence + 1, header.position, length < header.segment_bytes);
    }
    Ok(expected > first_segment)
}

struct Segment {
    file: Arc<dyn File>,
    path: PathBuf,
    sequence: u64,
    segment_bytes: u64,
    /// Where the next block should be.
    offset: u64,
    /// Where the last block was that was read.
    last_offset: u64,
}

/// The block to read.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wanted {
    /// The one whose payload begins here.
    At(Lsn),
    /// The next one, whatever it is, that does not begin before this position.
    From(Lsn),
}

impl Wanted {
    fn is(self, position: u64) -> bool {
        match self {
            Wanted::At(wanted) => position == wanted.0,
            Wanted::From(first) => position >= first.0,
        }
    }

    /// The earliest position at which a block after the wanted one can begin.
    fn after(self) -> Lsn {
        match self {
            Wanted::At(Lsn(position)) => Lsn(position + 1),
            Wanted::From(first) => first,
        }
    }
}

/// What was found in a stripe in place of the wanted block.
#[derive(Clone, Debug)]
pub(super) struct StripeEnd {
    /// The file and the offset in it where the block should be.
    pub(super) path: PathBuf,
    pub(super) offset: u64,
    pub(super) tail: Tail,
    pub(super) torn_bytes: u64,
}

/// The valid blocks after the one that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Following {
    Nothing,
    /// One, where the stripe's next block belongs: it may have been under way together with the missing one.
    One,
    /// More, or one elsewhere: the position of the first that no crash explains.
    More(Lsn),
}

/// See the module documentation.
pub(super) struct BlockReader {
    disk: Arc<dyn Disk>,
    directory: PathBuf,
    identity: LogIdentity,
    segment: Segment,
    /// Segments prepared after the last one in use, if the log says so and was not closed.
    prepared_ahead: Option<u64>,
    /// The window of the current file.
    window: Window,
    /// When the block that was read last was written. 0 if it does not say.
    pub(super) time_us: u64,
}

impl BlockReader {
    /// Opens a stripe at its first segment, and returns the stream position of that as well. A missing or
    /// foreign segment is an error: segments exist before the manifest names them.
    pub(super) fn open(
        disk: &Arc<dyn Disk>,
        directory: &Path,
        identity: LogIdentity,
        first_segment: u64,
        prepared_ahead: Option<u64>,
    ) -> Result<(BlockReader, Lsn)> {
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
        let blocks = BlockReader::new(disk, directory, identity, segment);
        Ok((BlockReader { prepared_ahead, ..blocks }, Lsn(header.position)))
    }

    /// A stripe whose first file cannot be opened, for use with [`BlockReader::seek`]. `None` if there is no
    /// file.
    pub(super) fn open_past_damage(
        disk: &Arc<dyn Disk>,
        directory: &Path,
        identity: LogIdentity,
        first_segment: u64,
    ) -> Result<Option<BlockReader>> {
        let sequences = segments_from(disk.as_ref(), directory, identity.incarnation, first_segment)?;
        let Some(sequence) = sequences.first().copied() else { return Ok(None) };
        let path = segment_path(directory, identity.incarnation, sequence);
        let segment = whole_file(disk, &path, sequence)?;
        Ok(Some(BlockReader::new(disk, directory, identity, segment)))
    }

    fn new(disk: &Arc<dyn Disk>, directory: &Path, identity: LogIdentity, segment: Segment) -> BlockReader {
        BlockReader {
            disk: Arc::clone(disk),
            directory: directory.to_owned(),
            identity,
            segment,
            prepared_ahead: None,
            window: Window::new(MOST_VIEWED),
            time_us: 0,
        }
    }

    /// The segment that is being read, and the offset in its file.
    pub(super) fn place(&self) -> (u64, u64) {
        (self.segment.sequence, self.segment.offset)
    }

    /// The same of the block that was read last.
    pub(super) fn last_place(&self) -> (u64, u64) {
        (self.segment.sequence, self.segment.last_offset)
    }

    /// The file that is being read.
    pub(super) fn path(&self) -> &Path {
        &self.segment.path
    }

    /// Bytes of all files of this stripe from here on, prepared space included: an upper bound of what will
    /// be read.
    pub(super) fn bytes_total(&self) -> u64 {
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

    /// Appends the payload of the wanted block to `into` and moves past it, or returns what is there
    /// instead.
    pub(super) fn read_block(&mut self, wanted: Wanted, into: &mut Vec<u8>) -> Result<Option<StripeEnd>> {
        if self.is_segment_full()
            && let Some(end) = self.next_segment(wanted)?
        {
            return Ok(Some(end));
        }
        let identity = self.identity;
        let bytes = self.view(self.segment.offset, BLOCK_HEADER_BYTES)?;
        let header = match decode_block_header(bytes, &identity) {
            Ok(header) => header,
            Err(reason) => return self.end_at_invalid_block(wanted, reason).map(Some),
        };
        let length = header.length();
        let block = self.view(self.segment.offset, length)?;
        if block.len() < length || !check_block(block) {
            return self.end_at_invalid_block(wanted, "the checksum of the block is wrong").map(Some);
        }
        if !wanted.is(header.position) {
            let (path, offset) = (self.segment.path.clone(), self.segment.offset);
            let tail = Tail::Lost("a whole block of another position stands there");
            return Ok(Some(StripeEnd { path, offset, tail, torn_bytes: 0 }));
        }
        into.extend_from_slice(&self.window.seen(self.segment.offset, length)[header.header_bytes..]);
        self.segment.last_offset = self.segment.offset;
        self.segment.offset += header.store_bytes();
        self.time_us = header.time_us;
        Ok(None)
    }

    /// Skips the blocks of the current segment that begin before this position.
    pub(super) fn skip_before(&mut self, position: Lsn) -> Result<()> {
        let identity = self.identity;
        while !self.is_segment_full() {
            let bytes = self.view(self.segment.offset, BLOCK_HEADER_BYTES)?;
            let Ok(header) = decode_block_header(bytes, &identity) else { break };
            if header.position >= position.0 {
                break;
            }
            self.segment.offset += header.store_bytes();
        }
        Ok(())
    }

    /// Where sectors are larger, a segment ends with one of them or has room for another.
    fn is_segment_full(&self) -> bool {
        self.segment.offset + LEAST_SECTOR_BYTES as u64 > self.segment.segment_bytes
    }

    /// Moves to the next segment file, or says why there is none in use.
    fn next_segment(&mut self, wanted: Wanted) -> Result<Option<StripeEnd>> {
        let sequence = self.segment.sequence + 1;
        let path = segment_path(&self.directory, self.identity.incarnation, sequence);
        let exists = self.disk.exists(&path);
        let opened = if exists {
            open_segment(self.disk.as_ref(), &path, &self.identity, sequence, Some(wanted))?
        } else {
            Err(SegmentHeaderError::Unused)
        };
        let reason = match opened {
            Ok((segment, _)) => {
                self.segment = segment;
                self.window.clear();
                return Ok(None);
            }
            Err(SegmentHeaderError::Unused) if exists => "the segment header is missing",
            Err(SegmentHeaderError::Unused) => "the file is missing",
            Err(SegmentHeaderError::Damaged(reason)) => reason,
            Err(SegmentHeaderError::Version(..)) => "unknown version",
        };
        let mut next = self.used_segment_after(sequence)?;
        let is_used = self.is_used(sequence)?;
        let mut remains = 0;
        if exists {
            self.enter_unusable(&path, sequence)?;
            next = match next {
                None => self.valid_block_after(0, wanted.after())?.map(|(_, position)| position),
                found => found,
            };
            remains = self.torn_bytes(0)?;
        }
        let tail = match next {
            _ if mutant::is_active(Mutant::GapIsTheEnd) => Tail::Clean,
            Some(next) => Tail::Hole(reason, next),
            None if is_used => Tail::Lost(LOST_SEGMENT),
            None if remains > 0 => Tail::Torn(reason),
            None => Tail::Clean,
        };
        Ok(Some(StripeEnd { path, offset: 0, tail, torn_bytes: remains }))
    }

    /// Makes a file without a valid header the current one, in order to examine its content.
    fn enter_unusable(&mut self, path: &Path, sequence: u64) -> Result<()> {
        self.segment = whole_file(&self.disk, path, sequence)?;
        self.window.clear();
        Ok(())
    }

    /// The block at the current offset is not valid: decides which row of the table in `reader` applies.
    fn end_at_invalid_block(&mut self, wanted: Wanted, reason: &'static str) -> Result<StripeEnd> {
        let (offset, path) = (self.segment.offset, self.segment.path.clone());
        let is_blank = self.view(offset, LEAST_SECTOR_BYTES)?.iter().all(|byte| *byte == 0);
        let next = match self.valid_block_after(offset, wanted.after())? {
            Some((_, position)) => Some(position),
            None => self.used_segment_after(self.segment.sequence)?,
        };
        let torn_bytes = self.torn_bytes(offset)?;
        // The first segment in which no block has been found.
        let unproven = self.segment.sequence + u64::from(offset > SECTOR_BYTES as u64);
        let tail = match next {
            Some(next) if is_blank => Tail::Hole("a block is missing", next),
            Some(next) => Tail::Hole(reason, next),
            None if self.is_used(unproven)? => Tail::Lost(LOST_SEGMENT),
            None if self.is_cut_short()? => Tail::Lost("the file is shorter than it was made"),
            None if torn_bytes == 0 => Tail::Clean,
            None => Tail::Torn(reason),
        };
        Ok(StripeEnd { path, offset, tail, torn_bytes })
    }

    /// Whether the current file is shorter than it was made before it was used.
    fn is_cut_short(&self) -> Result<bool> {
        let length = self.segment.file.len().map_err(|error| read_failed(&self.segment.path, &error))?;
        Ok(self.prepared_ahead.is_some() && length < self.segment.segment_bytes)
    }

    /// Whether the existing files show that a block of this segment was durable.
    fn is_used(&self, sequence: u64) -> Result<bool> {
        let Some(ahead) = self.prepared_ahead else { return Ok(false) };
        let (disk, incarnation) = (self.disk.as_ref(), self.identity.incarnation);
        Ok(!segments_from(disk, &self.directory, incarnation, sequence + ahead)?.is_empty())
    }

    /// How many bytes from `offset` on an incomplete write has left: up to the last one that is not zero,
    /// within the size of one block.
    fn torn_bytes(&mut self, offset: u64) -> Result<u64> {
        let bytes = self.view(offset, SECTOR_BYTES + MAX_BLOCK_BYTES)?;
        Ok(bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last as u64 + 1))
    }

    /// Which blocks are in this stripe after the missing one, which belongs to another stripe. Moves to the
    /// first of them.
    pub(super) fn blocks_after(&mut self, missing: Lsn) -> Result<Following> {
        let place = if self.is_segment_full() {
            (self.segment.sequence + 1, SECTOR_BYTES as u64)
        } else {
            (self.segment.sequence, self.segment.offset)
        };
        let Some(first) = self.seek_used(missing)? else { return Ok(Following::Nothing) };
        let (sequence, offset) = (self.segment.sequence, self.segment.offset);
        if place != (sequence, offset) || first == missing {
            return Ok(Following::More(first));
        }
        self.read_block(Wanted::At(first), &mut Vec::new())?;
        let second = self.seek_used(Lsn(first.0 + 1))?;
        if self.segment.sequence != sequence {
            let path = segment_path(&self.directory, self.identity.incarnation, sequence);
            self.enter_unusable(&path, sequence)?;
        }
        self.segment.offset = offset;
        Ok(second.map_or(Following::One, Following::More))
    }

    /// As [`BlockReader::seek`], but of the later files only those that were begun are examined, because the
    /// others are long and blank.
    fn seek_used(&mut self, first: Lsn) -> Result<Option<Lsn>> {
        let incarnation = self.identity.incarnation;
        loop {
            if let Some((offset, position)) = self.valid_block_from(self.segment.offset, first)? {
                self.segment.offset = offset;
                return Ok(Some(position));
            }
            let (disk, sequence) = (self.disk.as_ref(), self.segment.sequence + 1);
            let later = segments_from(disk, &self.directory, incarnation, sequence)?;
            let opened = later.into_iter().find_map(|later| {
                let path = segment_path(&self.directory, incarnation, later);
                open_segment(disk, &path, &self.identity, later, None)
                    .map(std::result::Result::ok)
                    .transpose()
            });
            let Some(opened) = opened else { return Ok(None) };
            self.segment = opened?.0;
            self.window.clear();
        }
    }

    /// Continues past whatever is here, at the first valid block from this stream position on, and
    /// returns that block's position. `None` if there is none.
    pub(super) fn seek(&mut self, first: Lsn) -> Result<Option<Lsn>> {
        if let Some((offset, position)) = self.valid_block_from(self.segment.offset, first)? {
            self.segment.offset = offset;
            return Ok(Some(position));
        }
        let (incarnation, sequence) = (self.identity.incarnation, self.segment.sequence + 1);
        for later in segments_from(self.disk.as_ref(), &self.directory, incarnation, sequence)? {
            let path = segment_path(&self.directory, incarnation, later);
            self.enter_unusable(&path, later)?;
            if let Some((offset, position)) = self.valid_block_from(0, first)? {
                self.segment.offset = offset;
                return Ok(Some(position));
            }
        }
        Ok(None)
    }

    /// Offset and position of the first valid block in the rest of this file, after the sector at this
    /// offset.
    fn valid_block_after(&mut self, offset: u64, first: Lsn) -> Result<Option<(u64, Lsn)>> {
        self.valid_block_from(offset + LEAST_SECTOR_BYTES as u64, first)
    }

    fn valid_block_from(&mut self, offset: u64, first: Lsn) -> Result<Option<(u64, Lsn)>> {
        let identity = self.identity;
        let mut offset = offset;
        while offset < self.segment.segment_bytes {
            let bytes = self.view(offset, MAX_BLOCK_BYTES)?;
            if bytes.is_empty() {
                break;
            }
            // Search the whole window before reading more of the file.
            let sectors = (bytes.len() / LEAST_SECTOR_BYTES).max(1);
            let found = (0..sectors).find_map(|sector| {
                let header = decode_block_header(&bytes[sector * LEAST_SECTOR_BYTES..], &identity).ok()?;
                Some((sector, header))
            });
            match found {
                None => offset += (sectors * LEAST_SECTOR_BYTES) as u64,
                Some((sector, header)) => {
                    offset += (sector * LEAST_SECTOR_BYTES) as u64;
                    let length = header.length();
                    let block = self.view(offset, length)?;
                    if header.position >= first.0 && block.len() == length && check_block(block) {
                        return Ok(Some((offset, Lsn(header.position))));
                    }
                    offset += LEAST_SECTOR_BYTES as u64;
                }
            }
        }
        Ok(None)
    }

    /// The first position of any later segment that is in use.
    fn used_segment_after(&self, sequence: u64) -> Result<Option<Lsn>> {
        let incarnation = self.identity.incarnation;
        for later in segments_from(self.disk.as_ref(), &self.directory, incarnation, sequence + 1)? {
            let path = segment_path(&self.directory, incarnation, later);
            if let Ok((_, header)) = open_segment(self.disk.as_ref(), &path, &self.identity, later, None)? {
                return Ok(Some(Lsn(header.position)));
            }
        }
        Ok(None)
    }

    /// Up to `length` bytes of the current file from `offset`, fewer at its end.
    fn view(&mut self, offset: u64, length: usize) -> Result<&[u8]> {
        let Segment { file, path, .. } = &self.segment;
        self.window.view(file, offset, length).map_err(|error| read_failed(path, &error))
    }
}

/// A segment file of which not even the header can be trusted.
fn whole_file(disk: &Arc<dyn Disk>, path: &Path, sequence: u64) -> Result<Segment> {
    let file: Arc<dyn File> = disk.open_read(path).map_err(|error| read_failed(path, &error))?.into();
    let segment_bytes = file.len().map_err(|error| read_failed(path, &error))?;
    Ok(Segment { file, path: path.to_owned(), sequence, segment_bytes, offset: 0, last_offset: 0 })
}

type OpenedSegment = std::result::Result<(Segment, SegmentHeader), SegmentHeaderError>;

/// Opens a segment file and checks its header. The outer error ends recovery. The inner one is for the caller
/// to judge. `wanted` is the block that must be its first.
fn open_segment(
    disk: &dyn Disk,
    path: &Path,
    identity: &LogIdentity,
    sequence: u64,
    wanted: Option<Wanted>,
) -> Result<OpenedSegment> {
    let file: Arc<dyn File> = disk.open_read(path).map_err(|error| read_failed(path, &error))?.into();
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
    if let Some(Wanted::At(position)) = wanted
        && position.0 != header.position
    {
        return Err(Error::corrupt(format!(
            "log file \"{}\" begins at position {}, but what was read before it ends at {position}",
            path.display(),
            header.position,
        )));
    }
    let segment_bytes = header.segment_bytes;
    let offset = SECTOR_BYTES as u64;
    let segment =
        Segment { file, path: path.to_owned(), sequence, segment_bytes, offset, last_offset: offset };
    Ok(Ok((segment, header)))
}

fn foreign(path: &Path, reason: &str) -> Error {
    Error::corrupt(format!("\"{}\" is not the log file it should be: {reason}", path.display()))
}

fn read_failed(path: &Path, error: &io::Error) -> Error {
    Error::io(format_args!("could not read log file \"{}\"", path.display()), error)
}

//! Reads one log of one incarnation back, and says precisely why it ended.
//!
//! Blocks are written one after the other, each only after its predecessor was durable. So a crash leaves
//! whole blocks, then at most one torn one, then prepared zeroes. Every stop is exactly one of the rows of
//! this table:
//!
//! | at the expected place | after it | verdict |
//! |---|---|---|
//! | zeroes, the end of the file, an unused or missing segment | nothing valid | [`Tail::Clean`] |
//! | anything else that is not a block of this log | nothing valid | [`Tail::Torn`] |
//! | no block of this log | a valid block or used segment | [`Tail::Hole`]: no crash explains it |
//! | an unused, missing or damaged segment | segments that were prepared only after it was in use | [`Tail::Lost`]: the same |
//! | the end of the file, before the end of the segment | nothing valid | [`Tail::Lost`], unless the log was closed |
//! | a block whose checksum is right, but whose records are not | | an error at once |
//! | a file of another database or version, a missing first segment | | an error at once |
//!
//! A striped log's blocks are in several directories in turn, and one block in each may be under way at the
//! same time. So a crash may also leave one valid block after the missing one in every other stripe. Such
//! blocks do not count. A second one in the same stripe is a [`Tail::Hole`], because it was begun after the
//! missing one was durable.
//!
//! Recovery then calls [`LogEnd::check`] with the largest position that any anchor calls durable: an end
//! below that is corruption too (pitfall 14). Memory is bounded: five buffers of 3 MiB for each
//! stripe (`read_ahead`), and one chunk.
//!
//! The [`Tail::Lost`] rows hold for incarnations whose manifest entry says how many segments are prepared
//! ahead, while they have not been closed: their files are made in full length before they are used, and the
//! file that is that many places after a segment is begun only when the segment's first block is durable
//! (`segment`). So the loss of a whole segment at the end of a log is detected too. The loss of the last
//! block alone cannot be told from a write that never arrived.

mod beyond_damage;

use std::cmp::Reverse;
use std::sync::Arc;

use hyades_types::error::{Error, Result};

use super::LogFiles;
use super::blocks::{BlockReader, Following, StripeEnd, Wanted, segment_with, segments_from};
use crate::disk::Disk;
use crate::log::record::record_length;
use crate::log::set::{BlockPlace, Chunk, LogEnd, LogSource, Tail};
use crate::lsn::Lsn;

/// A chunk is returned when it has this many bytes.
const CHUNK_BYTES: usize = 512 << 10;

/// Syncs all segments of one log, so that what is read afterwards would survive a power cut (pitfall 16).
pub fn sync_log(disk: &dyn Disk, files: &LogFiles) -> Result<()> {
    for (directory, first_segment) in files.directories.iter().zip(&files.first_segments) {
        let incarnation = files.identity.incarnation;
        for sequence in segments_from(disk, directory, incarnation, *first_segment)? {
            let path = super::segment_path(directory, incarnation, sequence);
            let sync = || disk.open_read(&path)?.sync();
            sync()
                .map_err(|error| Error::io(format_args!("could not sync \"{}\"", path.display()), &error))?;
        }
        disk.sync_directory(directory)
            .map_err(|error| Error::io(format_args!("could not sync \"{}\"", directory.display()), &error))?;
    }
    Ok(())
}

/// Reads the blocks of one log from its segment files, and judges where and how the log ends.
pub struct LogReader {
    stripes: Vec<BlockReader>,
    /// The stripe with the next block.
    turn: usize,
    /// Reading stops once all whole records up to here have been read.
    stop: u64,
    /// Whether it is known where the next block is in the stream: at `position`.
    has_begun: bool,
    /// The end of the valid bytes so far.
    position: Lsn,
    /// Bytes from `chunk_start` on, of which the first `whole` are whole records.
    pending: Vec<u8>,
    chunk_start: u64,
    whole: usize,
    /// The blocks of the pending bytes, unless there are several stripes.
    blocks: Vec<BlockPlace>,
    end: Option<LogEnd>,
    /// Memory for a later chunk.
    spare: Vec<u8>,
}

impl LogReader {
    /// Opens a log at the first log record that is still needed. A missing or foreign segment is an error:
    /// segments exist before the manifest names them.
    pub fn open(disk: &Arc<dyn Disk>, files: &LogFiles) -> Result<LogReader> {
        LogReader::open_at(disk, files, Lsn::ZERO)
    }

    /// As [`LogReader::open`], but reads only from the log record that begins here.
    pub fn open_at(disk: &Arc<dyn Disk>, files: &LogFiles, from: Lsn) -> Result<LogReader> {
        let from = from.max(files.start);
        let mut stripes = Vec::new();
        let mut positions = Vec::new();
        for (directory, first) in files.directories.iter().zip(&files.first_segments) {
            let segment = match from {
                Lsn::ZERO => *first,
                from => segment_with(disk.as_ref(), directory, &files.identity, *first, from)?,
            };
            let opened = BlockReader::open(disk, directory, files.identity, segment, files.prepared_ahead)?;
            stripes.push(opened.0);
            positions.push(opened.1);
        }
        if from == Lsn::ZERO {
            // The first of the stripes that begin together.
            let turn = (0..stripes.len()).min_by_key(|stripe| positions[*stripe]).unwrap_or(0);
            let position = positions.get(turn).copied().unwrap_or(Lsn::ZERO);
            return Ok(LogReader::new(stripes, turn, position));
        }
        // The segment that begins last, but not after `from`. The other stripes are read from there. Among
        // the first segments, which all say that they begin at 0, it is the first one.
        let turn = (0..stripes.len()).min_by_key(|stripe| Reverse(positions[*stripe])).unwrap_or(0);
        let position = positions.get(turn).copied().unwrap_or(Lsn::ZERO);
        for (number, stripe) in stripes.iter_mut().enumerate() {
            if number != turn {
                stripe.skip_before(position)?;
            }
        }
        let mut reader = LogReader::new(stripes, turn, position);
        reader.skip_to(from)?;
        Ok(reader)
    }

    /// Reads blocks up to the one with this position, where a log record begins, and drops what precedes it.
    fn skip_to(&mut self, from: Lsn) -> Result<()> {
        while self.end.is_none() && self.position < from {
            self.pending.clear();
            self.blocks.clear();
            self.chunk_start = self.position.0;
            self.read_block()?;
        }
        let skipped = (from.0.min(self.position.0) - self.chunk_start) as usize;
        self.pending.drain(..skipped);
        self.chunk_start += skipped as u64;
        self.find_whole_records()
    }

    fn new(stripes: Vec<BlockReader>, turn: usize, position: Lsn) -> LogReader {
        LogReader {
            stripes,
            turn,
            stop: u64::MAX,
            has_begun: true,
            position,
            pending: Vec::new(),
            chunk_start: position.0,
            whole: 0,
            blocks: Vec::new(),
            end: None,
            spare: Vec::new(),
        }
    }

    /// Reads one more block. `false` at the end. For callers that need to know where blocks begin.
    /// [`LogSource::next_chunk`] then returns what was read.
    pub fn next_block(&mut self) -> Result<bool> {
        let before = self.position;
        self.read_block()?;
        self.find_whole_records()?;
        Ok(self.position > before)
    }

    /// When the last block that [`LogReader::next_block`] has read was written, in microseconds since 1970. 0
    /// if it does not say.
    pub fn block_time_us(&self) -> u64 {
        let last = (self.turn + self.stripes.len() - 1) % self.stripes.len();
        self.stripes[last].time_us
    }

    /// Where the next block of each stripe should be, after what has been read so far: the sequence number
    /// of the segment, and the offset in its file.
    pub(crate) fn places(&self) -> Vec<(u64, u64)> {
        self.stripes.iter().map(BlockReader::place).collect()
    }

    /// The end of the last whole record that was read.
    pub fn end_of_whole_records(&self) -> Lsn {
        Lsn(self.chunk_start + self.whole as u64)
    }

    /// Whether something was read that was neither returned nor dropped.
    pub fn has_read(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Drops the whole records that were read and not returned.
    pub fn forget_records(&mut self) {
        self.pending.drain(..self.whole);
        self.chunk_start += self.whole as u64;
        self.whole = 0;
        self.drop_blocks_before(self.chunk_start);
    }

    /// Forgets the blocks of which nothing is pending from this position on.
    fn drop_blocks_before(&mut self, position: u64) {
        let after = self.blocks.partition_point(|block| block.position.0 <= position);
        self.blocks.drain(..after.saturating_sub(1));
    }

    /// Bytes of all files of this log from here on, prepared space included: an upper bound of what will be
    /// read.
    pub fn bytes_total(&self) -> u64 {
        self.stripes.iter().map(BlockReader::bytes_total).sum()
    }

    /// Appends the next block's payload to `pending`, or sets `end`.
    fn read_block(&mut self) -> Result<()> {
        if self.end.is_some() {
            return Ok(());
        }
        let before = self.pending.len();
        let wanted = Wanted::At(self.position);
        match self.stripes[self.turn].read_block(wanted, &mut self.pending)? {
            None => {
                let bytes = (self.pending.len() - before) as u64;
                if let [stripe] = self.stripes.as_slice() {
                    let (segment, offset) = stripe.last_place();
                    self.blocks.push(BlockPlace { position: self.position, segment, offset });
                }
                self.position = Lsn(self.position.0 + bytes);
                self.turn = (self.turn + 1) % self.stripes.len();
            }
            Some(end) => self.finish(end)?,
        }
        Ok(())
    }

    /// The log ends here, unless the other stripes show that something is missing.
    fn finish(&mut self, end: StripeEnd) -> Result<()> {
        let StripeEnd { path, offset, mut tail, torn_bytes } = end;
        for stripe in (0..self.stripes.len()).filter(|stripe| *stripe != self.turn) {
            tail = match (self.stripes[stripe].blocks_after(self.position)?, tail) {
                (Following::More(next), Tail::Clean) => Tail::Hole("a block is missing", next),
                (Following::More(next), Tail::Torn(reason)) => Tail::Hole(reason, next),
                (Following::One, Tail::Clean) => Tail::Torn(
                    "a block that was being written is missing, the one after it is in another directory",
                ),
                (_, tail) => tail,
            };
        }
        let (position, whole_records) = (self.position, self.whole_records());
        self.end = Some(LogEnd { position, whole_records, path, offset, tail, torn_bytes });
        Ok(())
    }

    /// Moves `whole` to the end of the last whole record in `pending`.
    fn find_whole_records(&mut self) -> Result<()> {
        while self.whole_records().0 < self.stop
            && let Some(length) = record_length(&self.pending[self.whole..])
        {
            let length = length.map_err(|malformed| {
                let position = self.chunk_start + self.whole as u64;
                let last = (self.turn + self.stripes.len() - 1) % self.stripes.len();
                let path = self.stripes[last].path().display();
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
        let whole_records = self.whole_records();
        if let Some(end) = &mut self.end {
            end.whole_records = whole_records;
        }
        Ok(())
    }
}

impl LogSource for LogReader {
    fn next_chunk(&mut self) -> Result<Option<Chunk>> {
        while self.end.is_none() && self.whole < CHUNK_BYTES && self.whole_records().0 < self.stop {
            self.read_block()?;
            self.find_whole_records()?;
        }
        if self.whole == 0 {
            return Ok(None);
        }
        let mut rest = std::mem::take(&mut self.spare);
        rest.clear();
        // The next one is about as long.
        rest.reserve(self.pending.len());
        rest.extend_from_slice(&self.pending[self.whole..]);
        self.pending.truncate(self.whole);
        let bytes = std::mem::replace(&mut self.pending, rest);
        let start = Lsn(self.chunk_start);
        self.chunk_start += bytes.len() as u64;
        self.whole = 0;
        // The last one may hold bytes of the next chunk, too.
        let blocks = self.blocks.clone();
        self.drop_blocks_before(self.chunk_start);
        Ok(Some(Chunk { start, bytes, blocks }))
    }

    fn end(&self) -> Option<&LogEnd> {
        self.end.as_ref()
    }

    fn position(&self) -> Lsn {
        self.position
    }

    fn whole_records(&self) -> Lsn {
        self.end_of_whole_records()
    }

    fn stop_at(&mut self, position: Lsn) {
        self.stop = position.0;
    }

    fn give_back(&mut self, bytes: Vec<u8>) {
        self.spare = bytes;
    }
}

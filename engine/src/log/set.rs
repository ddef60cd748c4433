//! Where logs live: the interface between loggers and recovery on one side, and files, or any other storage,
//! on the other.
//!
//! A [`LogSet`] is the logs of one incarnation. The logs of a new incarnation are made by a [`NewLogSet`],
//! which hands out a [`LogStore`] for each log to the loggers. The logs of an ended one are read from their
//! [`LogSource`]s. The implementation uses files (`store`), in one directory for each log or striped over
//! several. The source decides what a hole in a log means, because only it knows which writes may be under
//! way at once.

use std::ops::Range;
use std::path::PathBuf;

use hyades_types::error::{Error, Result};

use super::record::Records;
use super::store::block_buffer::BlockBuffer;
use crate::lsn::Lsn;

/// The logs of an incarnation of the manifest.
pub trait LogSet: Send + Sync {
    /// Refuses places that are missing, or that hold anything other than logs of this database. Writes
    /// nothing.
    fn check(&self, next_incarnation: u64) -> Result<()>;

    /// The first file of one of the logs that is needed and has gone, as far as the files tell that are
    /// there.
    fn missing(&self) -> Option<PathBuf>;

    /// Makes sure that what is read from a log afterwards would survive a power cut (pitfall 16).
    fn sync(&self, log: usize) -> Result<()>;

    /// Reads a log starting with the log record at this position, or with the first one that is still needed.
    /// A missing or foreign log is an error: logs exist before the manifest names them.
    fn source(&self, log: usize, from: Lsn) -> Result<Box<dyn LogSource>>;

    /// The bytes of a log from one position to another, both of which are known to be where log records begin
    /// or end. Nothing before the block is read. Only for logs whose chunks say where their blocks are.
    ///
    /// # Errors
    /// Bytes that are missing or damaged.
    fn read_stretch(&self, log: usize, block: BlockPlace, stretch: Range<u64>) -> Result<Vec<u8>>;

    /// The first segments of a log, one for each stripe, that are needed to read it from this position on.
    fn segments_from(&self, log: usize, position: Lsn) -> Result<Vec<u64>>;

    /// Whether all segments that hold a log from one position to another exist in full length. The last of
    /// them is not checked: a reader that starts at the second position will read that one.
    fn has_segments(&self, log: usize, from: Lsn, to: Lsn) -> Result<bool>;

    /// Bytes of the files that are needed to read a log from this position on.
    fn stored_bytes_from(&self, log: usize, position: Lsn) -> Result<u64>;

    /// Removes the segments that the durable manifest no longer names: those before its first ones. Removals
    /// that fail are tried again at the next start.
    fn remove_given_up(&self);

    /// Removes all segments: the durable manifest no longer names this incarnation.
    fn remove(&self);

    /// Where a log is, for messages.
    fn place(&self, log: usize) -> String;

    /// The durable manifest says where these logs end: gives back space that they do not need. Only space is
    /// at stake, so a failure is reported and tried again at the next start.
    fn trim(&self);
}

/// The logs of a new incarnation.
pub trait NewLogSet: Send + Sync {
    /// Makes the places for all logs, and removes what an interrupted start has left there.
    fn create_places(&self) -> Result<()>;

    /// Makes empty logs, durably. From then on the manifest may name them.
    fn create_logs(&self) -> Result<()>;

    /// The store that a log is appended to. Called once for each log.
    fn store(&self, log: usize) -> Result<Box<dyn LogStore>>;

    /// Why a log cannot grow at the moment. Triggers another attempt soon.
    fn failure(&self, log: usize) -> Option<Error>;

    /// Bytes of the durable blocks of a log, with their padding.
    fn stored_bytes(&self, log: usize) -> u64;

    /// The first file with durable blocks that has gone, from these segments of all logs' stripes on.
    fn missing(&self, first_segments: &[u64]) -> Option<PathBuf>;

    /// The durable manifest no longer names the segments of all logs' stripes before these: reuses their
    /// space, or gives it back.
    fn give_up_before(&self, first_segments: &[u64]);

    /// Prepares space ahead of need, on a thread of its own, until [`NewLogSet::stop`].
    fn prepare(&self);

    fn stop(&self);

    /// The stores are closed and the manifest knows where the logs end: gives back space that they do not
    /// need.
    fn seal(&self);
}

/// The destination of one log's blocks. Owned by the logger.
pub trait LogStore: Send {
    /// The payload bytes that the next block may have, at least 1. `None` while the maximum number of blocks
    /// is under way.
    fn room(&mut self) -> Result<Option<usize>>;

    /// Takes over a block, whose payload begins at `position` in the stream, and leaves a buffer for the next
    /// one. After an error the state is unknown, and nothing may follow (pitfall 9).
    fn submit(&mut self, block: &mut BlockBuffer, position: Lsn) -> Result<()>;

    /// Whether the oldest block under way is durable, or has failed. The thread that completes it later rings
    /// the bell of the log's buffer.
    fn has_durable(&self) -> bool;

    /// The oldest block under way, if it has become durable.
    fn next_durable(&mut self) -> Result<Option<DurableBlock>>;

    /// As [`LogStore::next_durable`], but waits. A block must be under way.
    fn wait_for_durable(&mut self) -> Result<DurableBlock>;

    /// The log has ended cleanly. No block is under way.
    fn close(&mut self);
}

/// A block that has become durable, as a place in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DurableBlock {
    pub start: Lsn,
    pub end: Lsn,
    pub is_first_in_segment: bool,
}

/// Reads one log back.
pub trait LogSource: Send {
    /// The next whole records. `None` at the end, for which [`LogSource::end`] then gives the reason. After
    /// an error, the records read before it are handed out once [`LogSource::stop_at`] says that there are no
    /// others.
    fn next_chunk(&mut self) -> Result<Option<Chunk>>;

    /// Where and why the log ended, once everything has been read.
    fn end(&self) -> Option<&LogEnd>;

    /// The end of what has been read so far.
    fn position(&self) -> Lsn;

    /// The end of the last whole record that was read.
    fn whole_records(&self) -> Lsn;

    /// Reads nothing after the whole records that end here, because what follows may be damaged.
    fn stop_at(&mut self, position: Lsn);

    /// Takes back the memory of a chunk, for a later one.
    fn give_back(&mut self, bytes: Vec<u8>);
}

/// Where a block is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockPlace {
    /// Of its first byte in the stream.
    pub position: Lsn,
    /// The sequence number of its segment, and the offset in that file.
    pub segment: u64,
    pub offset: u64,
}

/// Whole log records in stream order.
#[derive(Clone, Debug, Default)]
pub struct Chunk {
    pub start: Lsn,
    pub bytes: Vec<u8>,
    /// The blocks that hold them, in order. Empty if the log is striped over several directories.
    pub blocks: Vec<BlockPlace>,
}

impl Chunk {
    pub fn records(&self) -> Records<'_> {
        Records::new(self.start, &self.bytes)
    }

    pub fn end(&self) -> Lsn {
        Lsn(self.start.0 + self.bytes.len() as u64)
    }

    /// The block that holds the byte at this position of the chunk.
    pub(crate) fn block_with(&self, position: Lsn) -> Option<BlockPlace> {
        let after = self.blocks.partition_point(|block| block.position <= position);
        self.blocks.get(after.checked_sub(1)?).copied()
    }
}

/// What is found in place of the next block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Nothing: the log ends here.
    Clean,
    /// The remains of a write that did not complete.
    Torn(&'static str),
    /// Something invalid, followed by a valid block or segment, whose stream position is given.
    Hole(&'static str, Lsn),
    /// The files show that more was written, but not what it was.
    Lost(&'static str),
}

/// Where and why a log ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEnd {
    /// The end of the valid bytes.
    pub position: Lsn,
    /// The end of the last whole record: this log's entry of the ELV.
    pub whole_records: Lsn,
    /// The file and the offset in it where the next block should be.
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

    /// Refuses a log that is complete up to this stamp although it had been up to that one.
    ///
    /// # Errors
    /// Corruption, with the file and the offset.
    pub fn check_stamp(&self, complete: u64, durable: u64) -> Result<()> {
        if complete >= durable {
            return Ok(());
        }
        let (path, offset) = (self.path.display(), self.offset);
        Err(Error::corrupt(format!(
            "log file \"{path}\" is damaged at byte {offset}: the log is complete up to stamp {complete}, although it \
             was up to {durable}"
        )))
    }

    /// Whether a crash can explain this end, when the log is known to have been durable up to `durable`.
    pub fn check(&self, durable: Lsn) -> Result<()> {
        let place = format!("log file \"{}\" is damaged at byte {}", self.path.display(), self.offset);
        match self.tail {
            Tail::Hole(reason, next) => Err(Error::corrupt(format!(
                "{place}: {reason}, although the log goes on after it (position {next})"
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

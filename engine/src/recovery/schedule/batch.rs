//! Consecutive records of one log, as a replay takes them.

use std::ops::Range;
use std::sync::Arc;

use hyades_types::error::Result;
use smallvec::SmallVec;

use super::needs::Needs;
use crate::protocol::RecordId;

/// One transaction in a [`Batch`].
#[derive(Clone, Debug)]
pub(crate) struct BatchEntry {
    /// Where a reader must begin that has not replayed it: at the last anchor before it, or at its first log
    /// record.
    pub(crate) from: u64,
    /// Where its (last) log record begins and ends.
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Its commit time, if it has one.
    pub(crate) time: Option<u64>,
    pub(crate) is_barrier: bool,
    /// Where its pre-append LV begins in the batch's `vectors`.
    pub(crate) vector: usize,
    /// The records that it names, in the batch's `ids`.
    pub(crate) ids: Range<usize>,
    pub(crate) operations: BatchBytes,
}

/// Which transaction it is: its log, where its (last) record ends, and its commit time, if it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordPlace {
    pub(crate) log: usize,
    pub(crate) end: u64,
    pub(crate) time: Option<u64>,
}

/// Where a transaction's operations are.
#[derive(Clone, Debug)]
pub(crate) enum BatchBytes {
    /// In the batch's `bytes`.
    InBatch(Range<usize>),
    /// Put together from fragments.
    Assembled(Arc<Vec<u8>>),
}

/// Consecutive records of one log. Those that are not to be replayed (zombies, anchors, fillers, unfinished
/// fragments) have no entry and are skipped.
///
/// A batch is taken from its log, which one worker does at a time, and then decoded, which needs nothing of
/// the log: the entries are there only then.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) end: u64,
    /// Every record's LV is at least this; empty for zeroes.
    pub(crate) floor: SmallVec<[u64; 4]>,
    /// Shared with other batches of the same chunk.
    pub(crate) bytes: Arc<Vec<u8>>,
    pub(crate) entries: Vec<BatchEntry>,
    /// LSN vectors, as many entries each as there are logs; entries may share one.
    pub(crate) vectors: Vec<u64>,
    pub(crate) ids: Vec<RecordId>,
    /// All of its records have later times than this, as the last anchor before it says.
    pub(crate) since: Option<u64>,
    /// All later records of the log have later times, as the last anchor says.
    pub(crate) bound: Option<u64>,
    /// Whether an anchor does not say that.
    pub(crate) is_undated: bool,
    /// How many bytes of the log were read for it, if not all since the previous batch.
    pub(crate) read_bytes: Option<u64>,
    /// Where a reader must begin that has replayed the batch and nothing after it: at the last anchor, or at
    /// the first record of a transaction that goes on after the batch.
    pub(crate) go_on_from: u64,
    /// Bytes of transactions that were put together from fragments.
    pub(crate) assembled_bytes: usize,
    /// What becomes entries.
    pub(crate) undecoded: Option<Box<dyn Undecoded>>,
}

/// Records that have been taken from their log and not been decoded.
pub(crate) trait Undecoded: Send {
    /// Adds their entries and vectors to the batch they are of.
    ///
    /// # Errors
    /// They are damaged.
    fn decode(self: Box<Self>, batch: &mut Batch) -> Result<()>;
}

/// Where one log's records come from.
pub(crate) trait Source: Send + 'static {
    /// Takes the next records into the batch, which is empty; false at the end of the log. Some or all of
    /// them are decoded later.
    fn fill(&mut self, batch: &mut Batch) -> Result<bool>;
}

/// A log of which nothing counts has no source.
impl<S: Source> Source for Option<S> {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        self.as_mut().map_or(Ok(false), |source| source.fill(batch))
    }
}

impl BatchEntry {
    pub(crate) fn place(&self, log: usize) -> RecordPlace {
        RecordPlace { log, end: self.end, time: self.time }
    }
}

impl Batch {
    pub(crate) fn clear(&mut self) {
        self.floor.clear();
        self.entries.clear();
        self.vectors.clear();
        self.ids.clear();
        self.read_bytes = None;
        self.assembled_bytes = 0;
        self.undecoded = None;
    }

    /// What an entry waits for, in so many logs.
    pub(super) fn needs(&self, number: usize, logs: usize) -> Needs<'_> {
        let entry = &self.entries[number];
        Needs { vector: &self.vectors[entry.vector..entry.vector + logs], ids: &self.ids[entry.ids.clone()] }
    }

    /// Decodes what has not been.
    ///
    /// # Errors
    /// Records that are damaged.
    pub(crate) fn decode(&mut self) -> Result<()> {
        self.undecoded.take().map_or(Ok(()), |undecoded| undecoded.decode(self))
    }

    pub(crate) fn operations<'a>(&'a self, entry: &'a BatchEntry) -> &'a [u8] {
        match &entry.operations {
            BatchBytes::InBatch(range) => &self.bytes[range.clone()],
            BatchBytes::Assembled(bytes) => bytes,
        }
    }
}

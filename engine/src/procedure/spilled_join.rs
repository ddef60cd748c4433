//! The rows of a join table beyond its memory: rows in blocks of a file, and an index on the hashes of their
//! keys in another.
//!
//! ```text
//!   rows:   block | block | ... | the block that is being filled (in memory)
//!   index:  page  | page  | ...                entries (hash, number of the row), in order
//! ```
//! While rows are kept, their entries go to partitions by the first bits of the hash. Before the first
//! look-up, each partition is sorted by itself and written as pages. What stays in memory is where the blocks
//! and pages begin, a bit for each row, and what was read last: about a byte for each row.
//!
//! Rows under one key are found in the order of their numbers, which is the order in which they were kept. So
//! a join gives the same rows in the same order whether it had enough memory or not. (A join that partitions
//! both sides, like Shapiro's GRACE, returns them by partitions.)
//!
//! Invariant: no row is kept after the first look-up.

use hyades_types::environment::WorkMemory;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::memory;
use hyades_types::value::Value;

use super::joined_row::JoinedRow;
use crate::spill::{Block, SpillFile};

/// Bytes of a block of rows, unless its only row is longer.
const BLOCK_BYTES: usize = 4 << 10;
/// An entry: the hash (8 bytes, big-endian, so that bytes sort like numbers), the number of the row (4).
const ENTRY_BYTES: usize = 12;
const ENTRIES_OF_PAGE: usize = 340;
/// The number of bits of the hash that select a partition.
const PARTITION_BITS: u32 = 5;

/// An entry of the index.
type Entry = (u64, u32);

/// Entries that are not sorted yet.
#[derive(Default)]
struct Partition {
    blocks: Vec<Block>,
    pending: Vec<u8>,
}

/// Where the parts of a row are in its block.
#[derive(Clone, Copy, Default)]
struct Place {
    number: u32,
    /// Where it begins, and where the next row begins.
    start: usize,
    end: usize,
    key: usize,
    row_key: usize,
    row: usize,
    values: usize,
}

/// See the module documentation.
pub(crate) struct SpilledJoin {
    rows: SpillFile,
    /// Blocks of rows, each with the number of its first row.
    blocks: Vec<(u32, Block)>,
    pending: Vec<u8>,
    /// The number of the first pending row.
    pending_from: u32,
    count: u32,
    /// A bit for each row: whether it has found a match on the other side.
    joined: Vec<u64>,
    index: SpillFile,
    partitions: Vec<Partition>,
    /// Once the index is sorted: each page with its first entry.
    pages: Option<Vec<(Entry, Block)>>,
    /// The page that was read last.
    page: (usize, Vec<u8>),
    /// The block that was read last, and the row in it.
    block: (usize, Vec<u8>),
    place: Place,
    values: Vec<Value>,
}

const NOTHING: usize = usize::MAX;

fn entry(bytes: &[u8], at: usize) -> Entry {
    let bytes = &bytes[at * ENTRY_BYTES..][..ENTRY_BYTES];
    let (hash, number) = bytes.split_at(8);
    let hash = hash.iter().fold(0, |hash, byte| hash << 8 | u64::from(*byte));
    let number = number.iter().fold(0, |number, byte| number << 8 | u32::from(*byte));
    (hash, number)
}

fn length_at(bytes: &[u8], at: usize) -> Result<usize> {
    let bytes = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>()).ok_or_else(damaged)?;
    Ok(u32::from_le_bytes(*bytes) as usize)
}

#[cold]
fn damaged() -> Error {
    Error::input(sqlstate::IO_ERROR, "a temporary file is damaged").uncatchable()
}

impl SpilledJoin {
    pub(crate) fn create(work: &WorkMemory) -> Result<SpilledJoin> {
        Ok(SpilledJoin {
            rows: SpillFile::create(work)?,
            blocks: Vec::new(),
            pending: Vec::new(),
            pending_from: 0,
            count: 0,
            joined: Vec::new(),
            index: SpillFile::create(work)?,
            partitions: (0..1 << PARTITION_BITS).map(|_| Partition::default()).collect(),
            pages: None,
            page: (NOTHING, Vec::new()),
            block: (NOTHING, Vec::new()),
            place: Place::default(),
            values: Vec::new(),
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.count as usize
    }

    /// Keeps a row. Without a hash it is never found. The lengths of all parts fit into 32 bits.
    pub(crate) fn keep(
        &mut self,
        hash: Option<u64>,
        (key, row_key, row): (&[u8], &[u8], &[u8]),
        values: &[Value],
    ) -> Result<()> {
        if self.pages.is_some() {
            let message = "a join table that is read takes no more rows";
            return Err(Error::input(sqlstate::INTERNAL_ERROR, message));
        }
        for part in [key, row_key, row] {
            self.pending.extend_from_slice(&(part.len() as u32).to_le_bytes());
        }
        for part in [key, row_key, row] {
            self.pending.extend_from_slice(part);
        }
        self.rows.encode_row(values, &mut self.pending)?;
        if let Some(hash) = hash {
            let partition = &mut self.partitions[(hash >> (u64::BITS - PARTITION_BITS)) as usize];
            partition.pending.extend_from_slice(&hash.to_be_bytes());
            partition.pending.extend_from_slice(&self.count.to_be_bytes());
            if partition.pending.len() >= ENTRIES_OF_PAGE * ENTRY_BYTES {
                partition.blocks.push(self.index.write_bytes(&partition.pending)?);
                partition.pending.clear();
            }
        }
        self.count += 1;
        if self.pending.len() >= BLOCK_BYTES {
            self.blocks.push((self.pending_from, self.rows.write_bytes(&self.pending)?));
            self.pending.clear();
            self.pending_from = self.count;
        }
        Ok(())
    }

    /// Sorts the index.
    fn sort(&mut self) -> Result<Vec<(Entry, Block)>> {
        let mut pages = Vec::new();
        let mut bytes = Vec::new();
        for Partition { blocks, pending } in std::mem::take(&mut self.partitions) {
            let entries_of = |bytes: &[u8]| bytes.len() / ENTRY_BYTES;
            let mut entries: Vec<Entry> = Vec::new();
            let add = |entries: &mut Vec<Entry>, bytes: &[u8]| {
                memory::check(entries_of(bytes) * size_of::<Entry>())?;
                entries.extend((0..entries_of(bytes)).map(|at| entry(bytes, at)));
                Ok::<(), Error>(())
            };
            for block in blocks {
                self.index.read_bytes(block, &mut bytes)?;
                add(&mut entries, &bytes)?;
            }
            add(&mut entries, &pending)?;
            entries.sort_unstable();
            for page in entries.chunks(ENTRIES_OF_PAGE) {
                bytes.clear();
                for (hash, number) in page {
                    bytes.extend_from_slice(&hash.to_be_bytes());
                    bytes.extend_from_slice(&number.to_be_bytes());
                }
                pages.push((page[0], self.index.write_bytes(&bytes)?));
            }
        }
        self.joined = vec![0; self.len().div_ceil(64)];
        Ok(pages)
    }

    /// The first entry that is not before this one.
    fn entry_from(&mut self, wanted: Entry) -> Result<Option<Entry>> {
        let pages = match self.pages.take() {
            Some(pages) => pages,
            None => self.sort()?,
        };
        let found = self.entry_on(&pages, wanted);
        self.pages = Some(pages);
        found
    }

    fn entry_on(&mut self, pages: &[(Entry, Block)], wanted: Entry) -> Result<Option<Entry>> {
        let after = pages.partition_point(|(first, _)| *first <= wanted);
        let Some(at) = after.checked_sub(1) else { return Ok(pages.first().map(|(first, _)| *first)) };
        if self.page.0 != at {
            self.page.0 = NOTHING;
            self.index.read_bytes(pages[at].1, &mut self.page.1)?;
            self.page.0 = at;
        }
        let bytes = &self.page.1;
        let (mut low, mut high) = (0, bytes.len() / ENTRY_BYTES);
        while low < high {
            let middle = low.midpoint(high);
            if entry(bytes, middle) < wanted { low = middle + 1 } else { high = middle }
        }
        if low < bytes.len() / ENTRY_BYTES {
            return Ok(Some(entry(bytes, low)));
        }
        Ok(pages.get(after).map(|(first, _)| *first))
    }

    /// The number of the first row from this one on that has this key.
    pub(crate) fn find(&mut self, hash: u64, key: &[u8], from: u32) -> Result<Option<u32>> {
        let mut from = from;
        loop {
            let Some((found, number)) = self.entry_from((hash, from))? else { return Ok(None) };
            if found != hash {
                return Ok(None);
            }
            self.look(number)?;
            if *self.key() == *key {
                return Ok(Some(number));
            }
            let Some(next) = number.checked_add(1) else { return Ok(None) };
            from = next;
        }
    }

    fn bytes(&self) -> &[u8] {
        if self.place.number >= self.pending_from { &self.pending } else { &self.block.1 }
    }

    /// The key of the row that was examined last.
    fn key(&self) -> &[u8] {
        &self.bytes()[self.place.key..self.place.row_key]
    }

    /// The key of a row.
    pub(crate) fn key_of(&mut self, number: u32) -> Result<Option<Vec<u8>>> {
        if number >= self.count {
            return Ok(None);
        }
        self.look(number)?;
        Ok(Some(self.key().to_vec()))
    }

    /// Determines where an existing row is.
    fn look(&mut self, number: u32) -> Result<()> {
        let was_pending = self.place.number >= self.pending_from;
        let (first, is_same) = if number >= self.pending_from {
            (self.pending_from, was_pending)
        } else {
            let at = self.blocks.partition_point(|(first, _)| *first <= number) - 1;
            let (first, block) = self.blocks[at];
            let is_same = !was_pending && self.block.0 == at;
            if self.block.0 != at {
                self.block.0 = NOTHING;
                self.rows.read_bytes(block, &mut self.block.1)?;
                self.block.0 = at;
            }
            (first, is_same)
        };
        // From the row that was examined last, if that is not after this one.
        let known = Some(self.place).filter(|place| is_same && place.end > 0 && place.number <= number);
        let mut place = known.unwrap_or(Place { number: first, ..Place::default() });
        self.place = Place { number, ..Place::default() };
        let bytes = self.bytes();
        loop {
            let (key, row_key) = (length_at(bytes, place.start)?, length_at(bytes, place.start + 4)?);
            place.key = place.start + 12;
            place.row_key = place.key + key;
            place.row = place.row_key + row_key;
            place.values = place.row + length_at(bytes, place.start + 8)?;
            place.end = place.values + 4 + length_at(bytes, place.values)?;
            if place.number == number {
                break;
            }
            place = Place { number: place.number + 1, start: place.end, ..Place::default() };
        }
        if place.end > bytes.len() {
            return Err(damaged());
        }
        self.place = place;
        Ok(())
    }

    pub(crate) fn row(&mut self, number: u32) -> Result<Option<JoinedRow<'_>>> {
        if number >= self.count {
            return Ok(None);
        }
        self.look(number)?;
        let Place { row_key, row, values, end, .. } = self.place;
        self.values = self.rows.decode_row(&self.bytes()[values + 4..end])?;
        let bytes = self.bytes();
        Ok(Some(JoinedRow { row_key: &bytes[row_key..row], row: &bytes[row..values], values: &self.values }))
    }

    /// The first row from this number on that has no match on the other side.
    pub(crate) fn unjoined(&self, from: u32) -> Option<u32> {
        (from..self.count).find(|number| {
            let word = self.joined.get(*number as usize / 64).copied().unwrap_or_default();
            word & 1 << (number % 64) == 0
        })
    }

    pub(crate) fn note_joined(&mut self, number: u32) {
        if let Some(word) = self.joined.get_mut(number as usize / 64) {
            *word |= 1 << (number % 64);
        }
    }

    pub(crate) fn forget_joined(&mut self) {
        self.joined.fill(0);
    }
}

//! Rows on disk: what a sort, a grouping or a spool holds beyond its memory (`work_mem`).
//!
//! A [`SpillFile`] has no name, so it ends with its statement, and with the process if that ends first. It
//! holds *blocks* of rows, each in one piece, and *tapes*: rows in the order in which they were written, as a
//! list of blocks. The blocks of several tapes that are written in turn lie side by side. A block holds whole
//! rows, each after its length (4 bytes). Nothing here is made durable, and nothing is read after a restart.
//!
//! **How much.** `temp_file_limit` bounds one file. The logs may be on the same disk, and a database that
//! cannot write its log stops. So no file grows into the last GiB of its disk, or the last twentieth of a
//! small one ([`is_too_full`]).
//!
//! Failures belong to the statement: 53100 for lack of space, 53400 beyond `temp_file_limit`, 58030 for all
//! others. They depend on what else is running, so no handler of a routine may catch them.

pub mod numbered_rows;
mod spilled_value;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::vec;

use hyades_types::environment::WorkMemory;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::guest;
use hyades_types::memory;
use hyades_types::value::Value;

use crate::storage::prefetch::prefetch;
use spilled_value::Coder;

/// A row.
pub type Row = Vec<Value>;

/// The most bytes of a block, unless its only row is longer.
const BLOCK_BYTES: usize = 64 << 10;
/// The fewest, for a file whose statement has little memory.
const LEAST_BLOCK_BYTES: usize = 4 << 10;
/// The number of tapes that may be written or read at once.
pub const TAPES_AT_ONCE: usize = 32;
/// The share of the memory of a sort or grouping that a block may take: all tapes together take a quarter, or
/// half while the buffers of their blocks have grown to twice their size.
const BLOCK_SHARE: usize = 4 * TAPES_AT_ONCE;
/// How much is written between two checks of the free disk space.
const LOOK_INTERVAL: u64 = 16 << 20;
/// How much of a disk is left free, unless it is a small one.
const KEPT_FOR_LOGS: u64 = 1 << 30;
/// Bytes that are written or read in about ten nanoseconds.
const BYTES_PER_UNIT: usize = 32;

/// A file without a name.
pub struct SpillFile {
    file: File,
    end: u64,
    block_bytes: usize,
    limit: Option<u64>,
    /// Where the next check of the disk is due.
    look_at: u64,
    coder: Coder,
}

/// A piece of a [`SpillFile`].
#[derive(Clone, Copy, Debug)]
pub struct Block {
    offset: u64,
    length: usize,
}

/// Rows in a [`SpillFile`], being written.
#[derive(Default)]
pub struct Tape {
    blocks: Vec<Block>,
    /// The block that is being filled.
    pending: Vec<u8>,
}

/// Reads the rows of a tape, once.
pub struct TapeReader {
    blocks: vec::IntoIter<Block>,
    block: Vec<u8>,
    at: usize,
}

impl SpillFile {
    /// An empty file.
    ///
    /// # Errors
    /// See the module documentation.
    pub fn create(work: &WorkMemory) -> Result<SpillFile> {
        let file = match &work.directory {
            Some(directory) => tempfile::tempfile_in(directory),
            None => tempfile::tempfile(),
        };
        let file = file.map_err(|error| failed("create", &error))?;
        Ok(SpillFile::new(file, work))
    }

    fn new(file: File, work: &WorkMemory) -> SpillFile {
        SpillFile {
            file,
            end: 0,
            block_bytes: (work.bytes / BLOCK_SHARE).clamp(LEAST_BLOCK_BYTES, BLOCK_BYTES),
            limit: work.file_bytes,
            look_at: 0,
            coder: Coder::default(),
        }
    }

    /// Appends a row to one of the file's tapes.
    ///
    /// # Errors
    /// See the module documentation.
    pub fn push(&mut self, tape: &mut Tape, row: &[Value]) -> Result<()> {
        self.coder.write_row(row, &mut tape.pending)?;
        if tape.pending.len() >= self.block_bytes {
            self.write(tape)?;
        }
        Ok(())
    }

    /// Writes the content of the tape's last block so far.
    fn write(&mut self, tape: &mut Tape) -> Result<()> {
        if !tape.pending.is_empty() {
            tape.blocks.push(self.write_bytes(&tape.pending)?);
            tape.pending.clear();
        }
        Ok(())
    }

    /// Writes rows as a block that belongs to no tape.
    ///
    /// # Errors
    /// See the module documentation.
    pub fn write_block(&mut self, rows: &[Row]) -> Result<Block> {
        let mut bytes = Vec::new();
        rows.iter().try_for_each(|row| self.coder.write_row(row, &mut bytes))?;
        self.write_bytes(&bytes)
    }

    /// The rows of a block.
    ///
    /// # Errors
    /// See the module documentation.
    pub fn read_block(&self, block: Block) -> Result<Vec<Row>> {
        let mut reader = TapeReader { blocks: vec![block].into_iter(), block: Vec::new(), at: 0 };
        std::iter::from_fn(|| reader.next(self).transpose()).collect()
    }

    /// Appends a row to `out`, after its length.
    ///
    /// # Errors
    /// See the module documentation.
    pub fn encode_row(&mut self, row: &[Value], out: &mut Vec<u8>) -> Result<()> {
        self.coder.write_row(row, out)
    }

    /// The values of a row that this file has encoded, without the length.
    ///
    /// # Errors
    /// See the module documentation.
    pub fn decode_row(&self, bytes: &[u8]) -> Result<Row> {
        self.coder.read_row(bytes).ok_or_else(damaged)
    }

    /// The bytes of a block.
    ///
    /// # Errors
    /// See the module documentation.
    pub fn read_bytes(&self, block: Block, into: &mut Vec<u8>) -> Result<()> {
        let Block { offset, length } = block;
        memory::check(length.saturating_sub(into.capacity()))?;
        into.resize(length, 0);
        guest::spend_for(length / BYTES_PER_UNIT)?;
        self.file.read_exact_at(into, offset).map_err(|error| failed("read", &error))
    }

    /// Writes bytes as a block that belongs to no tape.
    ///
    /// # Errors
    /// See the module documentation.
    pub fn write_bytes(&mut self, bytes: &[u8]) -> Result<Block> {
        let length = bytes.len();
        let end = self.end + length as u64;
        if let Some(limit) = self.limit.filter(|limit| end > *limit) {
            let message = format!("temporary file size exceeds temp_file_limit ({}kB)", limit >> 10);
            return Err(Error::input(sqlstate::CONFIGURATION_LIMIT_EXCEEDED, message).uncatchable());
        }
        if end >= self.look_at {
            let disk = rustix::fs::fstatvfs(&self.file).map_err(|error| failed("write to", &error.into()))?;
            if is_too_full(disk.f_blocks * disk.f_frsize, disk.f_bavail * disk.f_frsize) {
                return Err(full("What is left of the disk is kept for the logs."));
            }
            self.look_at = end + LOOK_INTERVAL;
        }
        self.file.write_all_at(bytes, self.end).map_err(|error| failed("write to", &error))?;
        let block = Block { offset: self.end, length };
        self.end = end;
        Ok(block)
    }

    /// Reads the tape from its first row on.
    ///
    /// # Errors
    /// See the module documentation.
    pub fn read(&mut self, mut tape: Tape) -> Result<TapeReader> {
        self.write(&mut tape)?;
        Ok(TapeReader { blocks: tape.blocks.into_iter(), block: Vec::new(), at: 0 })
    }

    /// Appends the rows of another tape to the first one.
    ///
    /// # Errors
    /// See the module documentation.
    pub fn append(&mut self, tape: &mut Tape, other: Tape) -> Result<()> {
        self.write(tape)?;
        tape.blocks.extend(other.blocks);
        tape.pending = other.pending;
        Ok(())
    }
}

impl Tape {
    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty() && self.pending.is_empty()
    }
}

impl TapeReader {
    /// The next row.
    ///
    /// # Errors
    /// See the module documentation.
    pub fn next(&mut self, file: &SpillFile) -> Result<Option<Row>> {
        if self.at == self.block.len() {
            let Some(block) = self.blocks.next() else {
                self.block = Vec::new();
                self.at = 0;
                return Ok(None);
            };
            file.read_bytes(block, &mut self.block)?;
            self.at = 0;
        }
        let rest = &self.block[self.at..];
        let (prefix, rest) = rest.split_first_chunk::<4>().ok_or_else(damaged)?;
        let length = u32::from_le_bytes(*prefix) as usize;
        let row = rest.get(..length).ok_or_else(damaged)?;
        self.at += 4 + length;
        file.decode_row(row).map(Some)
    }
}

/// A row's allocation, and its place in a list that doubles when it is full.
const ROW_BYTES: usize = 16 + 2 * size_of::<Row>();

/// Memory of a row: an estimate that is the same on every machine.
pub fn held_bytes(row: &[Value]) -> usize {
    let beside = |value: &Value| match value {
        Value::Array(array) => array.heap_bytes(),
        // A number of some digits, in an allocation of its own.
        Value::Numeric(_) => 64,
        value => value.heap_bytes(),
    };
    ROW_BYTES + size_of_val(row) + row.iter().map(beside).sum::<usize>()
}

/// Prefetches values that will be read soon, such as those of a row.
#[inline]
pub fn prefetch_all<T>(values: &[T]) {
    prefetch(values.as_ptr(), size_of_val(values));
}

/// Whether less is left of a disk than the logs should have.
fn is_too_full(bytes: u64, available: u64) -> bool {
    available < (bytes / 20).min(KEPT_FOR_LOGS)
}

#[cold]
fn damaged() -> Error {
    Error::input(sqlstate::IO_ERROR, "a temporary file is damaged").uncatchable()
}

fn full(detail: &str) -> Error {
    Error::input(sqlstate::DISK_FULL, "could not write to a temporary file: no space left on device")
        .with_detail(detail)
        .with_hint("Raise work_mem, or free disk space.")
        .uncatchable()
}

fn failed(what: &str, error: &io::Error) -> Error {
    if error.kind() == io::ErrorKind::StorageFull {
        return full("The disk is full.");
    }
    let message = format!("could not {what} a temporary file: {error}");
    Error::input(sqlstate::IO_ERROR, message).uncatchable()
}

#[cfg(test)]
mod tests;

//! Rows on disk that are found by their numbers, while more are written.
//!
//! Rows gather in a tail in memory, which becomes a block of the file when it is long enough. The blocks that
//! were read last stay decoded.

use hyades_types::environment::WorkMemory;
use hyades_types::error::Result;

use super::{Block, Row, SpillFile, held_bytes};

/// Estimated size in bytes at which a tail becomes a block.
const TAIL_BYTES: usize = 256 << 10;

/// Rows on disk, with a tail in memory. See the module head.
pub struct NumberedRows {
    file: SpillFile,
    /// Each with the number of its first row.
    blocks: Vec<(usize, Block)>,
    tail: Vec<Row>,
    tail_bytes: usize,
    /// The number of the tail's first row.
    tail_start: usize,
    /// Rows of the blocks that were read last, each with the block's place. The latest block is last.
    decoded: Vec<(usize, Vec<Row>)>,
    /// How many blocks stay decoded.
    most_decoded: usize,
}

impl NumberedRows {
    /// No rows yet. The first one will have this number.
    ///
    /// # Errors
    /// As [`SpillFile::create`].
    pub fn beginning_at(first: usize, most_decoded: usize, work: &WorkMemory) -> Result<NumberedRows> {
        Ok(NumberedRows {
            file: SpillFile::create(work)?,
            blocks: Vec::new(),
            tail: Vec::new(),
            tail_bytes: 0,
            tail_start: first,
            decoded: Vec::new(),
            most_decoded: most_decoded.max(1),
        })
    }

    /// The number of the next row to be written.
    pub fn end(&self) -> usize {
        self.tail_start + self.tail.len()
    }

    /// Appends a row.
    ///
    /// # Errors
    /// As [`SpillFile::write_block`].
    pub fn push(&mut self, row: Row, work: &WorkMemory) -> Result<()> {
        self.tail_bytes += held_bytes(&row);
        self.tail.push(row);
        if self.tail_bytes >= TAIL_BYTES.min(work.bytes) {
            let block = self.file.write_block(&self.tail)?;
            self.blocks.push((self.tail_start, block));
            self.tail_start += self.tail.len();
            self.tail.clear();
            self.tail_bytes = 0;
        }
        Ok(())
    }

    /// The row with this number, which is none before the first one.
    ///
    /// # Errors
    /// As [`SpillFile::read_block`].
    pub fn read(&mut self, number: usize) -> Result<Option<&Row>> {
        if number >= self.tail_start {
            return Ok(self.tail.get(number - self.tail_start));
        }
        let place = self.blocks.partition_point(|(first, _)| *first <= number) - 1;
        let (first, block) = self.blocks[place];
        match self.decoded.iter().position(|(known, _)| *known == place) {
            Some(at) => {
                let last = self.decoded.len() - 1;
                self.decoded.swap(at, last);
            }
            None => {
                if self.decoded.len() == self.most_decoded {
                    self.decoded.remove(0);
                }
                self.decoded.push((place, self.file.read_block(block)?));
            }
        }
        Ok(self.decoded.last().and_then(|(_, rows)| rows.get(number - first)))
    }
}

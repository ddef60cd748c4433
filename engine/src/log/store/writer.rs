//! Writes blocks to segment files: one write for each block, to sectors that have never held content (pitfall
//! 10), durable when it returns. The header of a segment is part of the write of its first block.
//!
//! [`BlockWriter`] does this for one stripe. [`FileLogStore`] is a log with one stripe, which the logger's
//! thread writes itself (`striped` implements the others).

use std::sync::Arc;

use hyades_types::error::{Error, Result};

use super::block::{BLOCK_HEADER_BYTES, MAX_BLOCK_BYTES, SegmentHeader};
use super::block_buffer::BlockBuffer;
use super::preparer::Preparer;
use super::segment::{PreparedSegment, SegmentSupply};
use crate::disk::SECTOR_BYTES;
use crate::log::set::{DurableBlock, LogStore};
use crate::lsn::Lsn;

/// Writes the blocks of one stripe.
pub(crate) struct BlockWriter {
    supply: Arc<SegmentSupply>,
    preparer: Arc<Preparer>,
    /// A block takes whole sectors.
    sector_bytes: usize,
    current: Option<Current>,
}

struct Current {
    segment: PreparedSegment,
    /// Where the next block goes.
    offset: u64,
}

impl BlockWriter {
    pub(crate) fn new(
        supply: &Arc<SegmentSupply>,
        preparer: &Arc<Preparer>,
        sector_bytes: usize,
    ) -> BlockWriter {
        let (supply, preparer) = (Arc::clone(supply), Arc::clone(preparer));
        BlockWriter { supply, preparer, sector_bytes, current: None }
    }

    /// The segment that has room for the next block.
    fn current(&mut self) -> Result<&mut Current> {
        let (segment_bytes, sector_bytes) = (self.supply.segment_bytes, self.sector_bytes as u64);
        let is_full = |current: &Current| current.offset + sector_bytes > segment_bytes;
        if self.current.as_ref().is_none_or(is_full) {
            self.current = None;
            let segment = self.supply.take()?;
            self.current = Some(Current { segment, offset: SECTOR_BYTES as u64 });
        }
        self.current.as_mut().ok_or_else(|| Error::corrupt("a log has no current segment"))
    }

    /// Payload bytes that the next block may have, at least 1.
    pub(crate) fn next_payload_bytes(&mut self) -> Result<usize> {
        let segment_bytes = self.supply.segment_bytes;
        let room = segment_bytes - self.current()?.offset;
        Ok(room.min(MAX_BLOCK_BYTES as u64) as usize - BLOCK_HEADER_BYTES)
    }

    /// Writes a block, whose payload begins at `start`, and returns when it is durable.
    pub(crate) fn write(&mut self, block: &mut BlockBuffer, start: Lsn) -> Result<DurableBlock> {
        let (identity, segment_bytes) = (self.supply.identity, self.supply.segment_bytes);
        let sector_bytes = self.sector_bytes;
        let current = self.current()?;
        let is_first_in_segment = current.offset == SECTOR_BYTES as u64;
        let sequence = current.segment.sequence;
        let header = SegmentHeader { identity, sequence, position: start.0, segment_bytes };
        // The first segment got its header before the manifest named it.
        let header = (is_first_in_segment && sequence > 1).then_some(&header);
        let payload_bytes = block.payload_bytes;
        let bytes = block.seal(&identity, start, sector_bytes, header);
        let offset = if header.is_some() { 0 } else { current.offset };
        let end = offset + bytes.len() as u64;
        current.segment.file.write_durable(offset, bytes).map_err(|error| {
            let path = current.segment.path.display();
            Error::io(format_args!("could not write log file \"{path}\" at byte {offset}"), &error)
        })?;
        let store_bytes = end - current.offset;
        current.offset = end;
        self.supply.note_block(sequence, payload_bytes, store_bytes);
        if is_first_in_segment {
            // Not earlier: what is prepared now shows that this segment was used.
            self.preparer.ring();
        }
        Ok(DurableBlock { start, end: Lsn(start.0 + payload_bytes as u64), is_first_in_segment })
    }

    /// The log has ended cleanly.
    pub(crate) fn close(&mut self) {
        if let Some(Current { segment, offset }) = self.current.take() {
            self.supply.end(segment, offset);
        }
    }
}

/// A log with one stripe: a block is durable when it has been submitted.
pub(crate) struct FileLogStore {
    writer: BlockWriter,
    durable: Option<DurableBlock>,
}

impl FileLogStore {
    pub(crate) fn new(writer: BlockWriter) -> FileLogStore {
        FileLogStore { writer, durable: None }
    }
}

impl LogStore for FileLogStore {
    fn room(&mut self) -> Result<Option<usize>> {
        self.writer.next_payload_bytes().map(Some)
    }

    fn submit(&mut self, block: &mut BlockBuffer, position: Lsn) -> Result<()> {
        self.durable = Some(self.writer.write(block, position)?);
        Ok(())
    }

    fn has_durable(&self) -> bool {
        self.durable.is_some()
    }

    fn next_durable(&mut self) -> Result<Option<DurableBlock>> {
        Ok(self.durable.take())
    }

    fn wait_for_durable(&mut self) -> Result<DurableBlock> {
        self.durable.take().ok_or_else(|| Error::corrupt("no block of the log is under way"))
    }

    fn close(&mut self) {
        self.writer.close();
    }
}

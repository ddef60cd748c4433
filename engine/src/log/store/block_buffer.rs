//! Memory in which a logger assembles a block, header included, so that it is written without copying.

use super::LogIdentity;
use super::block::{
    BLOCK_HEADER_BYTES, BlockHeader, MAX_BLOCK_BYTES, MAX_PAYLOAD_BYTES, SegmentHeader, encode_block_header,
};
use crate::disk::{AlignedBuffer, SECTOR_BYTES};
use crate::lsn::Lsn;

/// Memory for one block, with room for a segment header before it.
pub struct BlockBuffer {
    bytes: AlignedBuffer,
    pub(super) payload_bytes: usize,
    /// When the assembly of its last payload began, or later.
    pub(super) time_us: u64,
}

impl Default for BlockBuffer {
    fn default() -> BlockBuffer {
        BlockBuffer {
            bytes: AlignedBuffer::new(SECTOR_BYTES + MAX_BLOCK_BYTES),
            payload_bytes: 0,
            time_us: 0,
        }
    }
}

impl BlockBuffer {
    /// Room for a payload of this length, at most [`MAX_PAYLOAD_BYTES`].
    pub fn payload_mut(&mut self, payload_bytes: usize) -> &mut [u8] {
        assert!((1..=MAX_PAYLOAD_BYTES).contains(&payload_bytes));
        // A clock that was set back is ignored.
        self.time_us = self.time_us.max(crate::sync::microseconds_since_1970());
        self.payload_bytes = payload_bytes;
        let start = SECTOR_BYTES + BLOCK_HEADER_BYTES;
        &mut self.bytes[start..start + payload_bytes]
    }

    /// The blocks of this buffer come after those of another one: their times are not earlier.
    pub(super) fn come_after(&mut self, before: &BlockBuffer) {
        self.time_us = self.time_us.max(before.time_us);
    }

    /// The finished block, in whole sectors of this size, after the segment header if there is one.
    pub(super) fn seal(
        &mut self,
        identity: &LogIdentity,
        position: Lsn,
        sector_bytes: usize,
        segment: Option<&SegmentHeader>,
    ) -> &[u8] {
        let header = BlockHeader::new(position.0, self.payload_bytes, sector_bytes, self.time_us);
        let length = header.store_bytes() as usize;
        let block = &mut self.bytes[SECTOR_BYTES..SECTOR_BYTES + length];
        block[BLOCK_HEADER_BYTES + self.payload_bytes..].fill(0);
        encode_block_header(block, identity, &header);
        match segment {
            None => &self.bytes[SECTOR_BYTES..SECTOR_BYTES + length],
            Some(header) => {
                header.encode(&mut self.bytes);
                &self.bytes[..SECTOR_BYTES + length]
            }
        }
    }
}

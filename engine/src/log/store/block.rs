//! The bytes of segment headers and block headers (record bytes are in `log::record`).
//!
//! ```text
//!   segment header, one sector                      block header, 56 bytes, at a sector's start
//!    0  magic "HYADESEG"                             0  magic "HyBT"
//!    8  CRC32C of all other bytes of the sector      4  CRC32C of the other header bytes and the payload
//!   12  store format version                         8  payload bytes; the highest 8 bits: sector
//!   16  record format version                       12  log
//!   20  log                                         16  database uuid
//!   24  database uuid                               32  incarnation
//!   40  incarnation                                 40  position: where in the record stream the payload begins
//!   48  sequence number                             48  time: when it was written, us since 1970
//!   56  position of the first payload byte          56  payload, then zeroes to the end of the sector
//!   64  bytes of a segment file of this log
//! ```
//!
//! Segment headers and segments take sectors of 4096 bytes, blocks those of the device
//! ([`Disk::sector_bytes`](crate::disk::Disk::sector_bytes)): 2 to the power of `sector` bytes, or 4096 if
//! that is 0, as it always was before store format version 2.
//!
//! Blocks of older programs begin with "HyBk", have no time and a header of 48 bytes. Both kinds may be in
//! one log. Times never decrease within a log, whatever the clock does.
//!
//! Numbers are little-endian. The checksums cover the identity (database, log, incarnation) and the position,
//! so recycled or preallocated bytes never validate (pitfall 13). Blocks begin at sector boundaries, and a
//! sector is never written again after it has become durable with content (pitfall 10).

use uuid::Uuid;

use super::LogIdentity;
use crate::disk::{LEAST_SECTOR_BYTES, SECTOR_BYTES};
use crate::log::record::{OLDEST_RECORD_FORMAT_VERSION, RECORD_FORMAT_VERSION};

/// Version of the layouts in this file.
pub const STORE_FORMAT_VERSION: u32 = 2;
/// The oldest version that can be read.
const OLDEST_STORE_FORMAT_VERSION: u32 = 1;
/// The number of bits for the length of a payload.
const LENGTH_BITS: u32 = 24;
/// Bytes of a segment header that are not always zero.
pub const SEGMENT_HEADER_BYTES: usize = 72;
/// Bytes before a block's payload.
pub const BLOCK_HEADER_BYTES: usize = 56;
/// The same in blocks without a time.
const UNTIMED_HEADER_BYTES: usize = 48;
/// The most bytes that a block takes, including its header.
pub const MAX_BLOCK_BYTES: usize = 1 << 20;
/// The longest payload.
pub const MAX_PAYLOAD_BYTES: usize = MAX_BLOCK_BYTES - BLOCK_HEADER_BYTES;
/// The smallest segment file: its header and one sector of payload.
pub const MIN_SEGMENT_BYTES: u64 = 2 * SECTOR_BYTES as u64;

const SEGMENT_MAGIC: [u8; 8] = *b"HYADESEG";
pub(crate) const BLOCK_MAGIC: [u8; 4] = *b"HyBT";
const UNTIMED_BLOCK_MAGIC: [u8; 4] = *b"HyBk";

/// The content of a segment header besides the identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentHeader {
    pub identity: LogIdentity,
    pub sequence: u64,
    /// Stream position of the first payload byte in the file.
    pub position: u64,
    pub segment_bytes: u64,
}

/// Why a sector is not a segment header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentHeaderError {
    /// Nothing but zeroes: prepared and never used.
    Unused,
    /// Not a segment header, or a torn one.
    Damaged(&'static str),
    /// Intact, but of another version: store and record format.
    Version(u32, u32),
}

/// The content of a block header besides the identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockHeader {
    /// The bytes before the payload.
    pub header_bytes: usize,
    pub position: u64,
    pub payload_bytes: usize,
    /// The block takes whole sectors of this size.
    pub sector_bytes: usize,
    /// When it was written, in microseconds since 1970. 0 if the header does not say.
    pub time_us: u64,
}

impl BlockHeader {
    /// The header of a block with this payload, as this program writes it.
    pub fn new(position: u64, payload_bytes: usize, sector_bytes: usize, time_us: u64) -> BlockHeader {
        BlockHeader { header_bytes: BLOCK_HEADER_BYTES, position, payload_bytes, sector_bytes, time_us }
    }

    /// Header and payload.
    pub fn length(&self) -> usize {
        self.header_bytes + self.payload_bytes
    }

    /// The bytes that the block takes on disk.
    pub fn store_bytes(&self) -> u64 {
        self.length().next_multiple_of(self.sector_bytes) as u64
    }
}

fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    bytes[offset..].first_chunk().copied().map_or(0, u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    bytes[offset..].first_chunk().copied().map_or(0, u64::from_le_bytes)
}

fn uuid_at(bytes: &[u8], offset: usize) -> Uuid {
    bytes[offset..].first_chunk().copied().map_or(Uuid::nil(), Uuid::from_bytes)
}

/// CRC32C of everything but the four bytes at `hole`.
fn checksum_around(bytes: &[u8], hole: usize) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&bytes[..hole]), &bytes[hole + 4..])
}

impl SegmentHeader {
    /// Fills one sector.
    pub fn encode(&self, sector: &mut [u8]) {
        let sector = &mut sector[..SECTOR_BYTES];
        sector.fill(0);
        sector[..8].copy_from_slice(&SEGMENT_MAGIC);
        sector[12..16].copy_from_slice(&STORE_FORMAT_VERSION.to_le_bytes());
        sector[16..20].copy_from_slice(&RECORD_FORMAT_VERSION.to_le_bytes());
        sector[20..24].copy_from_slice(&self.identity.log.to_le_bytes());
        sector[24..40].copy_from_slice(self.identity.database.as_bytes());
        sector[40..48].copy_from_slice(&self.identity.incarnation.to_le_bytes());
        sector[48..56].copy_from_slice(&self.sequence.to_le_bytes());
        sector[56..64].copy_from_slice(&self.position.to_le_bytes());
        sector[64..72].copy_from_slice(&self.segment_bytes.to_le_bytes());
        let checksum = checksum_around(sector, 8);
        sector[8..12].copy_from_slice(&checksum.to_le_bytes());
    }

    /// Reads what [`SegmentHeader::encode`] wrote. The caller compares the identity.
    pub fn decode(sector: &[u8]) -> Result<SegmentHeader, SegmentHeaderError> {
        use SegmentHeaderError::{Damaged, Unused, Version};
        let Some(sector) = sector.get(..SECTOR_BYTES) else {
            return Err(Damaged("the file is shorter than a segment header"));
        };
        if sector.iter().all(|byte| *byte == 0) {
            return Err(Unused);
        }
        if sector[..8] != SEGMENT_MAGIC {
            return Err(Damaged("it does not begin as a log segment does"));
        }
        if u32_at(sector, 8) != checksum_around(sector, 8) {
            return Err(Damaged("the checksum of the segment header is wrong"));
        }
        let versions = (u32_at(sector, 12), u32_at(sector, 16));
        let are_known = (OLDEST_STORE_FORMAT_VERSION..=STORE_FORMAT_VERSION).contains(&versions.0)
            && (OLDEST_RECORD_FORMAT_VERSION..=RECORD_FORMAT_VERSION).contains(&versions.1);
        if !are_known {
            return Err(Version(versions.0, versions.1));
        }
        let identity = LogIdentity {
            log: u32_at(sector, 20),
            database: uuid_at(sector, 24),
            incarnation: u64_at(sector, 40),
        };
        let (sequence, position) = (u64_at(sector, 48), u64_at(sector, 56));
        Ok(SegmentHeader { identity, sequence, position, segment_bytes: u64_at(sector, 64) })
    }
}

/// Writes the header of the block whose payload is already in place after it in `block`.
pub fn encode_block_header(block: &mut [u8], identity: &LogIdentity, header: &BlockHeader) {
    let BlockHeader { position, payload_bytes, sector_bytes, time_us, .. } = *header;
    let sector = if sector_bytes == SECTOR_BYTES { 0 } else { sector_bytes.trailing_zeros() };
    let length = payload_bytes as u32 | sector << LENGTH_BITS;
    block[..4].copy_from_slice(&BLOCK_MAGIC);
    block[8..12].copy_from_slice(&length.to_le_bytes());
    block[12..16].copy_from_slice(&identity.log.to_le_bytes());
    block[16..32].copy_from_slice(identity.database.as_bytes());
    block[32..40].copy_from_slice(&identity.incarnation.to_le_bytes());
    block[40..48].copy_from_slice(&position.to_le_bytes());
    block[48..56].copy_from_slice(&time_us.to_le_bytes());
    let checksum = checksum_around(&block[..BLOCK_HEADER_BYTES + payload_bytes], 4);
    block[4..8].copy_from_slice(&checksum.to_le_bytes());
}

/// Checks the fixed part of a block header. The payload's checksum is left to [`check_block`].
pub fn decode_block_header(bytes: &[u8], identity: &LogIdentity) -> Result<BlockHeader, &'static str> {
    let header_bytes = match bytes.first_chunk() {
        Some(&BLOCK_MAGIC) => BLOCK_HEADER_BYTES,
        Some(&UNTIMED_BLOCK_MAGIC) => UNTIMED_HEADER_BYTES,
        _ => return Err("no block begins here"),
    };
    if bytes.len() < header_bytes {
        return Err("no block begins here");
    }
    let found =
        LogIdentity { log: u32_at(bytes, 12), database: uuid_at(bytes, 16), incarnation: u64_at(bytes, 32) };
    if found != *identity {
        return Err("the block is of another log, incarnation or database");
    }
    let length = u32_at(bytes, 8);
    let payload_bytes = (length & ((1 << LENGTH_BITS) - 1)) as usize;
    let sector_bytes = match length >> LENGTH_BITS {
        0 => SECTOR_BYTES,
        power => 1_usize.checked_shl(power).unwrap_or_default(),
    };
    let is_sector = (LEAST_SECTOR_BYTES..=SECTOR_BYTES).contains(&sector_bytes);
    if payload_bytes == 0 || payload_bytes > MAX_BLOCK_BYTES - header_bytes || !is_sector {
        return Err("the block has an impossible length");
    }
    let time_us = if header_bytes == BLOCK_HEADER_BYTES { u64_at(bytes, 48) } else { 0 };
    Ok(BlockHeader { header_bytes, position: u64_at(bytes, 40), payload_bytes, sector_bytes, time_us })
}

/// Whether the checksum of a block (header and payload, without what follows) is right.
pub fn check_block(block: &[u8]) -> bool {
    u32_at(block, 4) == checksum_around(block, 4)
}

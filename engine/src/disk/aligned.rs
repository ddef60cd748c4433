//! Memory that direct I/O accepts.

use std::ops::{Deref, DerefMut};

use super::SECTOR_BYTES;

/// Zeroed bytes whose address is a multiple of [`SECTOR_BYTES`]. Never reallocated.
pub struct AlignedBuffer {
    bytes: Vec<u8>,
    offset: usize,
    length: usize,
}

impl AlignedBuffer {
    pub fn new(length: usize) -> AlignedBuffer {
        let bytes = vec![0; length + SECTOR_BYTES];
        let offset = bytes.as_ptr().align_offset(SECTOR_BYTES);
        AlignedBuffer { bytes, offset, length }
    }
}

impl Deref for AlignedBuffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes[self.offset..self.offset + self.length]
    }
}

impl DerefMut for AlignedBuffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.offset..self.offset + self.length]
    }
}

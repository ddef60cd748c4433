//! Where log records lie on disk: one directory per log, segment files of blocks.
//!
//! `block` defines the bytes, [`reader`] reads what a crash left whole and says precisely why it ended,
//! `writer` appends, `segment` prepares files ahead of need at its `pace`, `trim` gives unused space of ended
//! logs back. A log's record stream is the concatenation of its blocks' payloads: records may cross blocks
//! and segments.
//!
//! ```text
//!   <directory>/log-<id>/<incarnation>-<sequence>.segment
//!   | segment header | block header, payload, zeroes | block header, payload, ... | zeroes to the end |
//!   | 4096 bytes     | a multiple of 4096 bytes      |                            | (prepared space)  |
//! ```

pub mod block;
mod pace;
pub mod reader;
pub(crate) mod segment;
pub(crate) mod trim;
pub mod writer;

#[cfg(all(test, not(loom)))]
mod tests;

use std::path::{Path, PathBuf};

use uuid::Uuid;

pub use reader::{Chunk, LogEnd, LogReader, Tail};

/// Which log of which run of which database: part of every checksum, so that bytes from elsewhere never
/// validate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogIdentity {
    pub database: Uuid,
    pub incarnation: u64,
    pub log: u32,
}

/// The path of one segment file.
pub fn segment_path(directory: &Path, incarnation: u64, sequence: u64) -> PathBuf {
    directory.join(format!("{incarnation:08}-{sequence:08}.segment"))
}

/// The incarnation and sequence number in the name of a segment file.
pub fn parse_segment_name(name: &str) -> Option<(u64, u64)> {
    let (incarnation, sequence) = name.strip_suffix(".segment")?.split_once('-')?;
    Some((incarnation.parse().ok()?, sequence.parse().ok()?))
}

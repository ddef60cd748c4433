//! Logs in files: a directory of segment files of blocks for each log, or several if it is striped.
//!
//! Files:
//! * bytes: `block` (the headers), `block_buffer` (a block being assembled);
//! * writing: `writer` (one directory), `striped` (several in turn), `room` (how far the log's buffer may be
//!   filled meanwhile);
//! * segments ahead of need: `preparer` (the thread), `segment` (making one), `pace` (how fast), `spares`
//!   (segments used again), `trim` (giving back what ended logs do not need);
//! * reading what a crash left whole, and saying precisely why it ended: `blocks` (one directory), [`reader`]
//!   (the records of a log), with `read_ahead`; `stretch` (a part of a log whose place is known);
//! * `new_set`, `old_set`: all that as the traits of `log::set`.
//!
//! A log's record stream is the concatenation of its blocks' payloads: records may cross blocks and segments.
//!
//! ```text
//!   <directory>/log-<id>[-stripe-<number>]/<incarnation>-<sequence>.segment
//!   | segment header | block header, payload, zeroes | block header, payload, ... | zeroes to the end |
//!   | 4096 bytes     | whole sectors of the device   |                            | (prepared space)  |
//! ```

pub mod block;
pub(super) mod block_buffer;
mod blocks;
pub(super) mod new_set;
pub(super) mod old_set;
mod pace;
mod preparer;
mod read_ahead;
pub mod reader;
mod room;
mod segment;
mod spares;
mod stretch;
mod striped;
mod trim;
pub mod writer;

#[cfg(all(test, not(loom)))]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use crate::disk::Disk;
use crate::lsn::Lsn;

pub(crate) use blocks::{segment_with, segments_from};
pub use reader::LogReader;

/// Identifies one log of one run of one database. Part of every checksum, so that bytes from elsewhere never
/// validate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogIdentity {
    pub database: Uuid,
    pub incarnation: u64,
    pub log: u32,
}

/// Where one log of an incarnation is, and what is known of its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFiles {
    pub identity: LogIdentity,
    /// One for each stripe, in the order in which they get blocks.
    pub directories: Vec<PathBuf>,
    /// The sequence number of the first segment that is needed, for each stripe.
    pub first_segments: Vec<u64>,
    /// Where the first log record begins that is still needed. What precedes it in its segment is not.
    pub start: Lsn,
    /// How many segments were prepared after the last one in use, if that is known and the log was not
    /// closed. The reader checks what follows from that.
    pub prepared_ahead: Option<u64>,
}

/// Whether there is no such file any more. One that cannot be looked at may be there.
pub(crate) fn has_gone(disk: &dyn Disk, path: &Path) -> bool {
    disk.open_read(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
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

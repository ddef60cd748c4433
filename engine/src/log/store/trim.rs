//! Gives back the space that the logs of ended incarnations do not need: segments that were prepared and
//! never used, and the prepared rest of the last one that was.
//!
//! A crash leaves both, as large as segments are. Without trimming, each start would take the same space
//! again. A log that was closed has trimmed itself, except for what a crash at that moment left.
//!
//! Invariants:
//! 1. Only logs whose end is in the durable manifest are touched: what the files of a running log show of
//!    its end (`segment`, invariant 2) is no longer needed.
//! 2. Only zeroes are removed. Bytes written after the end (a torn block) stay for later inspection.

use std::path::Path;
use std::sync::Arc;

use hyades_types::error::{Error, Result};

use super::block::{MAX_BLOCK_BYTES, SegmentHeader};
use super::blocks::{BlockReader, Wanted, segments_from};
use super::{LogFiles, LogIdentity, segment_path};
use crate::disk::{Disk, SECTOR_BYTES};
use crate::log::set::Tail;
use crate::lsn::Lsn;

/// Trims one stripe of a log of an ended incarnation. Returns how many files it changed.
pub(crate) fn trim_log(disk: &Arc<dyn Disk>, files: &LogFiles, stripe: usize) -> Result<usize> {
    let (identity, directory) = (files.identity, files.directories[stripe].as_path());
    let first_segment = files.first_segments[stripe];
    let mut changed = 0;
    let sequences = segments_from(disk.as_ref(), directory, identity.incarnation, first_segment)?;
    for sequence in sequences.into_iter().rev() {
        let path = segment_path(directory, identity.incarnation, sequence);
        let failed = |error| Error::io(format_args!("could not trim \"{}\"", path.display()), &error);
        let file = disk.open_read(&path).map_err(failed)?;
        let mut head = vec![0; SECTOR_BYTES + MAX_BLOCK_BYTES];
        let read = file.read_at(0, &mut head).map_err(failed)?;
        if sequence > first_segment && head[..read].iter().all(|byte| *byte == 0) {
            drop(file);
            disk.remove(&path).map_err(failed)?;
            changed += 1;
            continue;
        }
        let length = file.len().map_err(failed)?;
        if SegmentHeader::decode(&head[..read]).is_ok_and(|header| length >= header.segment_bytes) {
            changed += usize::from(trim_segment(disk, directory, identity, sequence, length)?);
        }
        break;
    }
    Ok(changed)
}

/// Cuts off the zeroes after the last block of a segment.
fn trim_segment(
    disk: &Arc<dyn Disk>,
    directory: &Path,
    identity: LogIdentity,
    sequence: u64,
    length: u64,
) -> Result<bool> {
    let path = segment_path(directory, identity.incarnation, sequence);
    let (mut blocks, mut position) = BlockReader::open(disk, directory, identity, sequence, None)?;
    let mut payload = Vec::new();
    let end = loop {
        payload.clear();
        match blocks.read_block(Wanted::From(position), &mut payload)? {
            Some(end) => break end,
            None => position = Lsn(position.0 + payload.len() as u64),
        }
    };
    if end.path != path || !matches!(end.tail, Tail::Clean | Tail::Torn(_)) {
        return Ok(false);
    }
    let kept = (end.offset + end.torn_bytes).next_multiple_of(SECTOR_BYTES as u64);
    if kept >= length {
        return Ok(false);
    }
    let truncate = || disk.open(&path)?.truncate(kept);
    truncate().map_err(|error| Error::io(format_args!("could not trim \"{}\"", path.display()), &error))?;
    Ok(true)
}

//! A stretch of a log, read without what lies before it: the reader that has seen the log before has noted in
//! which block the stretch begins ([`BlockPlace`]).
//!
//! All of it is known to be whole, so whatever is not as it was is damage. Only the blocks that hold it are
//! read, a few at a time, and each is checked as `blocks` does.

use std::ops::Range;
use std::path::{Path, PathBuf};

use hyades_types::error::{Error, Result};

use super::block::{BLOCK_HEADER_BYTES, SegmentHeader, check_block, decode_block_header};
use super::{LogFiles, segment_path};
use crate::disk::{Disk, File, LEAST_SECTOR_BYTES, SECTOR_BYTES};
use crate::log::set::BlockPlace;

/// What is read at once is at most this much more than what is wanted.
const MORE_BYTES: usize = 16 << 10;
const MOST_READ_BYTES: usize = 1 << 20;

/// The bytes of a log that is in one directory, between two positions.
pub(super) fn read(
    disk: &dyn Disk,
    files: &LogFiles,
    block: BlockPlace,
    stretch: Range<u64>,
) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity((stretch.end - stretch.start) as usize);
    let mut position = block.position.0;
    let mut segment = OpenSegment::open(disk, files, block.segment)?;
    segment.offset = block.offset;
    while position < stretch.end {
        let wanted = (stretch.end - position) as usize;
        let Some(payload) = segment.next_block(files, position, wanted)? else {
            let sequence = segment.sequence + 1;
            segment = OpenSegment::open(disk, files, sequence)?;
            segment.check_position(position)?;
            continue;
        };
        let end = position + payload.len() as u64;
        let (from, to) = (stretch.start.clamp(position, end), stretch.end.min(end));
        bytes.extend_from_slice(&payload[(from - position) as usize..(to - position) as usize]);
        position = end;
    }
    Ok(bytes)
}

struct OpenSegment {
    file: Box<dyn File>,
    path: PathBuf,
    sequence: u64,
    header: SegmentHeader,
    /// Where the next block is.
    offset: u64,
    /// What has been read of the file, from this offset on.
    read_from: u64,
    read: Vec<u8>,
}

impl OpenSegment {
    fn open(disk: &dyn Disk, files: &LogFiles, sequence: u64) -> Result<OpenSegment> {
        let directory: &Path = files.directories.first().map_or(Path::new(""), PathBuf::as_path);
        let path = segment_path(directory, files.identity.incarnation, sequence);
        let failed =
            |error: &std::io::Error| Error::io(format_args!("could not read \"{}\"", path.display()), error);
        let file = disk.open_read(&path).map_err(|error| failed(&error))?;
        let mut sector = vec![0; SECTOR_BYTES];
        let read = file.read_at(0, &mut sector).map_err(|error| failed(&error))?;
        let header = SegmentHeader::decode(&sector[..read]).ok();
        let header = header.filter(|header| header.identity == files.identity && header.sequence == sequence);
        let Some(header) = header else {
            return Err(Error::corrupt(format!("\"{}\" is not the log file it was", path.display())));
        };
        let offset = SECTOR_BYTES as u64;
        Ok(OpenSegment { file, path, sequence, header, offset, read_from: offset, read: Vec::new() })
    }

    fn check_position(&self, position: u64) -> Result<()> {
        if self.header.position == position { Ok(()) } else { Err(self.damaged("it begins elsewhere")) }
    }

    /// The payload of the next block, which begins at this position of the stream, of which this many bytes
    /// are wanted. `None` if the segment has no room for another one.
    fn next_block(&mut self, files: &LogFiles, position: u64, wanted: usize) -> Result<Option<&[u8]>> {
        if self.offset + LEAST_SECTOR_BYTES as u64 > self.header.segment_bytes {
            return Ok(None);
        }
        let ahead = (wanted + MORE_BYTES).min(MOST_READ_BYTES);
        let start = self.offset;
        let header = decode_block_header(self.view(start, BLOCK_HEADER_BYTES, ahead)?, &files.identity)
            .map_err(|reason| self.damaged(reason))?;
        let length = header.length();
        let is_right = check_block(self.view(start, length, ahead)?) && header.position == position;
        if !is_right {
            return Err(self.damaged("a block is not what it was"));
        }
        self.offset += header.store_bytes();
        Ok(Some(&self.view(start, length, ahead)?[header.header_bytes..]))
    }

    /// These bytes of the file. What is read for them may be longer.
    fn view(&mut self, offset: u64, length: usize, ahead: usize) -> Result<&[u8]> {
        let has = |segment: &OpenSegment| {
            let begin = offset.checked_sub(segment.read_from).map(|begin| begin as usize);
            begin.filter(|begin| begin + length <= segment.read.len())
        };
        if has(self).is_none() {
            self.read.resize(length.max(ahead), 0);
            let read = self.file.read_at(offset, &mut self.read);
            let read = read.map_err(|error| {
                Error::io(format_args!("could not read \"{}\"", self.path.display()), &error)
            });
            self.read_from = offset;
            self.read.truncate(read?);
        }
        match has(self) {
            Some(begin) => Ok(&self.read[begin..begin + length]),
            None => Err(self.damaged("it is shorter than it was")),
        }
    }

    fn damaged(&self, reason: &str) -> Error {
        Error::corrupt(format!(
            "log file \"{}\" is damaged at byte {}: {reason}",
            self.path.display(),
            self.offset
        ))
    }
}

//! What stands behind damage, for those who want to know what was lost. Nothing that is found here is ever
//! replayed.
//!
//! A block does not say where in it a log record begins. So the first place is taken from which several
//! records follow one another as records do: lengths that lead from header to header, known kinds, bodies
//! that can be decoded. Bytes of a row that look like this are possible, and would be shown as something that
//! was never logged; the checksums say nothing about it.

use std::path::Path;
use std::sync::Arc;

use hyades_types::error::Result;

use super::super::{LogIdentity, segment_path};
use super::{Chunk, LogReader, segments_from, whole_file};
use crate::disk::Disk;
use crate::log::record::{MAX_RECORD_BYTES, Records};
use crate::lsn::Lsn;

/// So many records in a row are taken for records.
const CONVINCING: usize = 8;
/// Fewer are, if they end where everything ends.
const CONVINCING_AT_THE_END: usize = 1;

impl LogReader {
    /// A log that cannot be opened, to be gone on with by [`LogReader::skip_damage`]; `None` if there is no
    /// file.
    pub fn open_behind_damage(
        disk: &Arc<dyn Disk>,
        directory: &Path,
        identity: LogIdentity,
        first_segment: u64,
    ) -> Result<Option<LogReader>> {
        let sequences = segments_from(disk.as_ref(), directory, identity.incarnation, first_segment)?;
        let Some(sequence) = sequences.first().copied() else { return Ok(None) };
        let path = segment_path(directory, identity.incarnation, sequence);
        let segment = whole_file(disk, &path, sequence)?;
        Ok(Some(LogReader { has_begun: false, ..LogReader::new(disk, directory, identity, segment, 0) }))
    }

    /// Goes on behind the damage that ended the log, with the first valid block and the first log record in
    /// it; `false` if there is none.
    pub fn skip_damage(&mut self) -> Result<bool> {
        while self.enter_next_block()? {
            while self.end.is_none() && self.pending.len() < 2 * MAX_RECORD_BYTES {
                self.read_block()?;
            }
            if let Some(offset) = first_record(&self.pending) {
                self.pending.drain(..offset);
                self.chunk_start += offset as u64;
                self.find_whole_records()?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Makes the first valid block behind the place that was reached the next one to be read.
    fn enter_next_block(&mut self) -> Result<bool> {
        let found = match self.valid_block_from(self.segment.offset)? {
            Some(found) => Some(found),
            None => self.next_block_of_later_files()?,
        };
        let Some((offset, position)) = found else { return Ok(false) };
        self.segment.offset = offset;
        self.has_begun = true;
        self.pending.clear();
        (self.position, self.chunk_start, self.whole) = (position.0, position.0, 0);
        (self.end, self.stop) = (None, u64::MAX);
        Ok(true)
    }

    fn next_block_of_later_files(&mut self) -> Result<Option<(u64, Lsn)>> {
        let (incarnation, sequence) = (self.identity.incarnation, self.segment.sequence + 1);
        for later in segments_from(self.disk.as_ref(), &self.directory, incarnation, sequence)? {
            let path = segment_path(&self.directory, incarnation, later);
            self.enter_unusable(&path, later)?;
            if let Some(found) = self.valid_block_from(0)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

impl Chunk {
    /// The records that are found behind the malformed one at this position.
    pub fn records_behind(&self, position: Lsn) -> Option<Records<'_>> {
        let from = (position.0 - self.start.0 + Lsn::ALIGNMENT) as usize;
        let rest = self.bytes.get(from..)?;
        let found = first_record(rest)?;
        Some(Records::new(Lsn(self.start.0 + (from + found) as u64), &rest[found..]))
    }
}

/// Where records begin in bytes that begin anywhere.
fn first_record(bytes: &[u8]) -> Option<usize> {
    (0..bytes.len().min(MAX_RECORD_BYTES)).step_by(Lsn::ALIGNMENT as usize).find(|offset| {
        let mut records = Records::new(Lsn::ZERO, &bytes[*offset..]);
        let mut found = 0;
        while found < CONVINCING {
            match records.next() {
                Some(Ok(_)) => found += 1,
                Some(Err(_)) => return false,
                None => {
                    let is_end = offset + records.reached().0 as usize == bytes.len();
                    return is_end && found >= CONVINCING_AT_THE_END;
                }
            }
        }
        true
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::first_record;
    use crate::log::record::{CommitHeader, encode_commit};

    fn records(count: usize) -> Vec<Vec<u8>> {
        let commit = |number: u64| {
            let mut record = Vec::new();
            let body = vec![number as u8; 20 + number as usize % 50];
            let length =
                encode_commit(&mut record, CommitHeader::default(), |header| header.push(0), body.len());
            record.extend_from_slice(&body);
            record.resize(length, 0);
            record
        };
        (0..count as u64).map(commit).collect()
    }

    #[test]
    fn records_are_found_from_the_middle_of_one() {
        let records = records(40);
        let all = records.concat();
        for cut in (8..records[0].len()).step_by(8) {
            assert_eq!(first_record(&all[cut..]), Some(records[0].len() - cut));
        }
    }

    #[test]
    fn a_single_record_at_the_end_is_found_and_its_remains_are_not() {
        let records = records(2);
        assert_eq!(first_record(&records.concat()[8..]), Some(records[0].len() - 8));
        assert_eq!(first_record(&records[1][8..]), None);
    }
}

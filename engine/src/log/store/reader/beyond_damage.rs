//! The log after damage, for finding out what was lost. Nothing that is found here is ever replayed.
//!
//! A block does not say where in it a log record begins. So reading starts at the first place from which
//! several plausible records follow one another: lengths that lead from header to header, known kinds, bodies
//! that can be decoded. Bytes of a row may look like this by chance, and would be shown as something that was
//! never logged. Checksums cannot rule that out.

use std::sync::Arc;

use hyades_types::error::Result;

use super::super::LogFiles;
use super::super::blocks::BlockReader;
use super::LogReader;
use crate::disk::Disk;
use crate::log::record::{MAX_RECORD_BYTES, Records};
use crate::log::set::Chunk;
use crate::lsn::Lsn;

/// This many records in a row are trusted to be records.
const CONVINCING: usize = 8;
/// Fewer are enough if they end where everything ends.
const CONVINCING_AT_THE_END: usize = 1;

impl LogReader {
    /// A log that cannot be opened, for use with [`LogReader::skip_damage`]. `None` if there are no files.
    pub fn open_past_damage(disk: &Arc<dyn Disk>, files: &LogFiles) -> Result<Option<LogReader>> {
        let mut stripes = Vec::new();
        for (directory, first) in files.directories.iter().zip(&files.first_segments) {
            stripes.extend(BlockReader::open_past_damage(disk, directory, files.identity, *first)?);
        }
        // If some stripes are missing, it is not known which stripe has the next block.
        let is_complete = stripes.len() == files.directories.len();
        Ok(is_complete.then(|| LogReader { has_begun: false, ..LogReader::new(stripes, 0, Lsn::ZERO) }))
    }

    /// Continues after the damage that ended the log, with the first valid block and the first log record in
    /// it. `false` if there is none.
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

    /// Makes the first valid block after the current position the next one to be read.
    fn enter_next_block(&mut self) -> Result<bool> {
        let first = Lsn(self.position.0 + u64::from(self.has_begun));
        let mut next = None;
        for (turn, stripe) in self.stripes.iter_mut().enumerate() {
            let found = stripe.seek(first)?.map(|position| (position, turn));
            next = next.into_iter().chain(found).min();
        }
        let Some((position, turn)) = next else { return Ok(false) };
        self.has_begun = true;
        self.pending.clear();
        self.blocks.clear();
        (self.turn, self.position, self.chunk_start, self.whole) = (turn, position, position.0, 0);
        (self.end, self.stop) = (None, u64::MAX);
        Ok(true)
    }
}

impl Chunk {
    /// Where the next record begins after the malformed one at this position, if one is found.
    pub fn record_after(&self, position: Lsn) -> Option<Lsn> {
        let from = (position.0 - self.start.0 + Lsn::ALIGNMENT) as usize;
        let found = first_record(self.bytes.get(from..)?)?;
        Some(Lsn(self.start.0 + (from + found) as u64))
    }
}

/// The offset of the first record in bytes that begin anywhere in the stream.
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

//! Reading the rows of a time for a checkpoint, which must also know of a key that has none whether it ever
//! had one.

use std::sync::atomic::Ordering;

use crossbeam_epoch::Guard;
use hyades_types::error::Result;

use super::history::{Handle, Histories, Snapshot, Verdict};
use super::record::Record;

/// The state of a record at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtTime {
    Row,
    /// There is no row, but there was one before, or may have been.
    Gone,
    /// The record was created later.
    NotYet,
}

impl Histories {
    /// The position up to which the transactions of each history have ended. What later transactions write
    /// has a handle from there on.
    pub(crate) fn ended(&self) -> Vec<u64> {
        self.all().map(|history| history.ended.load(Ordering::Acquire)).collect()
    }

    /// Reads a record into `row` as it was at the time of a snapshot.
    pub(crate) fn read_at_time(
        &self,
        record: &Record,
        at: &Snapshot,
        row: &mut Vec<u8>,
        guard: &Guard,
    ) -> Result<AtTime> {
        'anew: loop {
            let (mut handle, mut is_there) = record.copy_newest(row, guard);
            while let Verdict::Unseen(version) = self.judge(handle, at.time(), guard) {
                let Some(was_there) = version.apply(row, is_there) else { continue 'anew };
                is_there = was_there;
                handle = version.previous();
            }
            at.check()?;
            return Ok(match is_there {
                true => AtTime::Row,
                // No transaction had written it before.
                false if handle == Handle::NONE => AtTime::NotYet,
                false => AtTime::Gone,
            });
        }
    }
}

//! The parts of a log that concern some tables, as a source of a replay by key (`by_key`).
//!
//! ```text
//!   log:      ----[ extent ]---------[ extent ]--[ extent ]------------
//!   batches:      |  first           |  second   |  third             |
//! ```
//!
//! A batch holds an extent and says that the log has been read up to where the next one begins: what lies in
//! between concerns none of the tables. The bound of the log is then that of the next extent. What else
//! lies in the extents is not replayed: the selection of the pass says which tables count.
//!
//! Which transactions count was judged when the extents were collected. So nothing is needed of anchors, and
//! of a protocol's fields only their length.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use hyades_types::error::Result;

use super::extents::{Extent, Extents};
use super::records::Damaged;
use super::schedule::{Batch, BatchBytes, BatchEntry, Source};
use crate::log::manifest::Checkpoint;
use crate::log::record::{Commit, Record, RecordBody, Records};
use crate::log::set::LogSet;
use crate::lsn::Lsn;
use crate::protocol::FieldReader;

pub(super) struct ExtentSource {
    pub(super) set: Arc<dyn LogSet>,
    pub(super) log: usize,
    /// What is replayed of the log.
    pub(super) positions: Range<u64>,
    pub(super) extents: Arc<Vec<Vec<Extents>>>,
    /// Of the incarnation, among those of `extents`.
    pub(super) place: usize,
    /// In the order of their starts. They change the tables that are wanted.
    pub(super) wanted: VecDeque<Extent>,
    pub(super) has_begun: bool,
    pub(super) fields: Box<dyn FieldReader>,
    /// The checkpoint that was loaded before, if it was taken in this incarnation.
    pub(super) checkpoint: Option<Arc<Checkpoint>>,
}

impl ExtentSource {
    fn read(&self, extent: Extent, batch: &mut Batch) -> Result<()> {
        let Extent { start, end, block, is_large, .. } = extent;
        let bytes = self.set.read_stretch(self.log, block, start..end)?;
        batch.read_bytes = Some(bytes.len() as u64);
        let taken = match is_large {
            true => self.take_large(start, &bytes, batch),
            false => self.take_whole(start, &bytes, batch),
        };
        taken.map_err(|damaged| damaged.in_log_of(self.set.as_ref(), self.log))?;
        batch.bytes = Arc::new(bytes);
        Ok(())
    }

    /// Takes the transactions of one record.
    fn take_whole(&self, start: u64, bytes: &[u8], batch: &mut Batch) -> std::result::Result<(), Damaged> {
        for record in Records::new(Lsn(start), bytes) {
            let Record { start, end, body } =
                record.map_err(|malformed| Damaged::at(Lsn(start), &malformed))?;
            let RecordBody::Transaction { commit, content } = body else { continue };
            if let Some(field_bytes) = self.field_bytes(start, end, commit, content)? {
                let first = content.as_ptr() as usize - bytes.as_ptr() as usize;
                let operations = BatchBytes::InBatch(first + field_bytes..first + content.len());
                batch.entries.push(self.entry((start, end), commit, operations));
            }
        }
        Ok(())
    }

    /// Takes the one transaction of which the first fragment is the first record.
    fn take_large(&self, start: u64, bytes: &[u8], batch: &mut Batch) -> std::result::Result<(), Damaged> {
        let (mut large, mut whole) = (None, Vec::new());
        for record in Records::new(Lsn(start), bytes) {
            let Record { start: at, end, body } =
                record.map_err(|malformed| Damaged::at(Lsn(start), &malformed))?;
            let RecordBody::Fragment { transaction, commit, content } = body else { continue };
            if *large.get_or_insert(transaction) != transaction {
                continue;
            }
            let Some(commit) = commit else {
                whole.extend_from_slice(content);
                continue;
            };
            if let Some(field_bytes) = self.field_bytes(at, end, commit, content)? {
                whole.extend_from_slice(&content[field_bytes..]);
                batch.assembled_bytes += whole.len();
                let operations = BatchBytes::Assembled(Arc::new(std::mem::take(&mut whole)));
                // Until it is replayed, nothing after its first fragment counts as replayed: other extents
                // may lie between its fragments.
                batch.entries.push(self.entry((Lsn(start), end), commit, operations));
            }
            return Ok(());
        }
        Err(Damaged::new(Lsn(start), "a large transaction has lost its end"))
    }

    /// The length of the protocol's field; `None` if the transaction is not to be replayed.
    fn field_bytes(
        &self,
        start: Lsn,
        end: Lsn,
        commit: Commit,
        content: &[u8],
    ) -> std::result::Result<Option<usize>, Damaged> {
        let is_checkpointed =
            self.checkpoint.as_ref().is_some_and(|checkpoint| checkpoint.holds(self.log, end, commit));
        if is_checkpointed || self.extents[self.place][self.log].excluded.contains(&end.0) {
            return Ok(None);
        }
        let length = self.fields.field_bytes(content);
        length.map(Some).map_err(|malformed| Damaged::at(start, &malformed))
    }

    fn entry(&self, (start, end): (Lsn, Lsn), commit: Commit, operations: BatchBytes) -> BatchEntry {
        BatchEntry {
            // A reader of everything, which would have to go on here, begins at the beginning.
            from: self.positions.start,
            start: start.0,
            end: end.0,
            time: commit.time,
            is_barrier: commit.is_barrier,
            vector: 0,
            ids: 0..0,
            operations,
        }
    }
}

impl Source for ExtentSource {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        batch.read_bytes = Some(0);
        batch.go_on_from = self.positions.start;
        if std::mem::replace(&mut self.has_begun, true) {
            let Some(extent) = self.wanted.pop_front() else { return Ok(false) };
            self.read(extent, batch)?;
        }
        let next = self.wanted.front();
        batch.end = next.map_or(self.positions.end, |next| next.start.max(self.positions.start));
        batch.bound = next.map(|next| next.bound);
        Ok(true)
    }
}

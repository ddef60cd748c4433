//! Records of one log that have been taken from it become entries of their batch: what each follows is read,
//! and whether it counts is judged.

use std::ops::Range;
use std::sync::Arc;

use hyades_types::error::{Error, Result};

use super::{BatchLimits, SharedChunk, known_from};
use crate::log::record::{Commit, Control};
use crate::lsn::Lsn;
use crate::mutant::{self, Mutant};
use crate::protocol::Follows;
use crate::recovery::records::{Assembled, Damaged, Fields, Last};
use crate::recovery::schedule::{Batch, BatchBytes, BatchEntry, Undecoded};
use crate::recovery::scope::{Scope, Verdict};
use crate::sync::{AtomicBool, Ordering};

/// What decides which records of a log become entries.
pub(super) struct Judge {
    pub(super) log: usize,
    pub(super) scope: Arc<Scope>,
    pub(super) limits: BatchLimits,
    was_judged: bool,
    /// Only with a mutant: whether a zombie was seen.
    is_cut_off: AtomicBool,
}

impl Judge {
    pub(super) fn new(log: usize, scope: Arc<Scope>, limits: BatchLimits, was_judged: bool) -> Judge {
        Judge { log, scope, limits, was_judged, is_cut_off: AtomicBool::new(false) }
    }

    pub(super) fn damaged(&self, damaged: Damaged) -> Error {
        damaged.in_log(self.log)
    }

    /// Whether the transaction whose (last) record begins and ends here is replayed. Counts it if not.
    fn keeps(&self, place: (Lsn, Lsn), follows: Follows<'_>) -> bool {
        let mut verdict = self.scope.judge(self.log, place, follows);
        if mutant::is_active(Mutant::CommitInLogOrder) {
            self.is_cut_off.fetch_or(verdict == Verdict::Zombie, Ordering::Relaxed);
            if self.is_cut_off.load(Ordering::Relaxed) {
                verdict = Verdict::Zombie;
            }
        }
        let is_kept = verdict == Verdict::Kept || (self.revives() && verdict == Verdict::Zombie);
        if !is_kept {
            self.scope.count(self.log, place.1, verdict);
        }
        is_kept
    }

    /// The bug of pitfall 15: as if the records appended after the first recovery had made every log long
    /// enough.
    fn revives(&self) -> bool {
        self.was_judged && mutant::is_active(Mutant::ZombiesRevived)
    }
}

/// The (last) record of a transaction.
struct TakenRecord {
    start: Lsn,
    end: Lsn,
    commit: Commit,
    /// The protocol's field and the operations in this record, in the bytes of the chunk.
    content: Range<usize>,
    /// All operations, if they come from several records.
    whole: Option<Box<Assembled>>,
}

/// See the module head.
pub(super) struct Taken {
    judge: Arc<Judge>,
    /// A reader that begins before the first record.
    fields: Fields,
    chunk: SharedChunk,
    /// Where the last control record begins before the first record.
    control_start: Lsn,
    records: Vec<TakenRecord>,
    /// Each comes before the record with this number.
    controls: Vec<(usize, Lsn, Control)>,
}

impl Taken {
    /// Of about so many records.
    pub(super) fn new(
        judge: &Arc<Judge>,
        fields: Fields,
        chunk: SharedChunk,
        control_start: Lsn,
        records: usize,
    ) -> Taken {
        let (records, controls) = (Vec::with_capacity(records), Vec::new());
        Taken { judge: Arc::clone(judge), fields, chunk, control_start, records, controls }
    }

    pub(super) fn push(&mut self, (start, end): (Lsn, Lsn), last: &Last<'_>, whole: Option<Assembled>) {
        let first = last.content.as_ptr() as usize - self.chunk.bytes.as_ptr() as usize;
        let (content, whole) = (first..first + last.content.len(), whole.map(Box::new));
        self.records.push(TakenRecord { start, end, commit: last.commit, content, whole });
    }

    pub(super) fn push_control(&mut self, start: Lsn, control: Control) {
        self.controls.push((self.records.len(), start, control));
    }

    pub(super) fn records(&self) -> usize {
        self.records.len()
    }

    /// Whether anything is to be decoded.
    pub(super) fn is_some(&self) -> bool {
        !self.records.is_empty()
    }
}

impl Undecoded for Taken {
    fn decode(self: Box<Self>, batch: &mut Batch) -> Result<()> {
        let Taken { judge, fields, chunk, mut control_start, records, controls } = *self;
        let mut controls = controls.into_iter().peekable();
        let mut decoder = Decoder { judge: &judge, fields, base_place: None };
        batch.entries.reserve(records.len());
        for (number, record) in records.into_iter().enumerate() {
            while let Some((_, start, control)) = controls.next_if(|(before, ..)| *before <= number) {
                control_start = start;
                decoder.fields.take_control(&control);
            }
            decoder.decode(record, &chunk, control_start, batch)?;
        }
        Ok(())
    }
}

struct Decoder<'j> {
    judge: &'j Judge,
    fields: Fields,
    /// Where in the batch's vectors that one is which all follow, once a record needed it.
    base_place: Option<usize>,
}

impl Decoder<'_> {
    fn decode(
        &mut self,
        record: TakenRecord,
        chunk: &SharedChunk,
        control_start: Lsn,
        batch: &mut Batch,
    ) -> Result<()> {
        let TakenRecord { start, end, commit, content, whole } = record;
        let Judge { log, scope, .. } = self.judge;
        let damaged = |malformed| Damaged::at(start, &malformed).in_log(*log);
        let (field_bytes, read) =
            self.fields.read(commit.time, &chunk.bytes[content.clone()]).map_err(damaged)?;
        if read.is_err() && scope.is_condemned(*log, end) {
            scope.count(*log, end, Verdict::Condemned);
            return Ok(());
        }
        read.map_err(damaged)?;
        let follows = self.fields.follows();
        if !self.judge.keeps((start, end), follows) {
            return Ok(());
        }
        follows.check(*log, start).map_err(damaged)?;
        let (from, operations) = match whole {
            None => (start, BatchBytes::InBatch(content.start + field_bytes..content.end)),
            Some(whole) => (whole.start, BatchBytes::Assembled(Arc::new(whole.operations))),
        };
        let is_own = follows.has_own_positions();
        let first = batch.vectors.len();
        let vector = match self.base_place {
            Some(place) if !is_own => place,
            _ if !self.judge.limits.is_for_schedule => first,
            _ => {
                follows.extend_positions(start, &scope.cut.known, &mut batch.vectors);
                first
            }
        };
        if !is_own {
            self.base_place = Some(vector);
        }
        if self.judge.revives() {
            let ends = scope.end.entries();
            batch.vectors[first..].iter_mut().zip(ends).for_each(|(entry, end)| *entry = (*entry).min(*end));
        }
        let first_id = batch.ids.len();
        batch.ids.extend_from_slice(follows.ids());
        let ids = first_id..batch.ids.len();
        let Commit { time, is_barrier, .. } = commit;
        let from = known_from(follows, control_start, from).0;
        let (start, end) = (start.0, end.0);
        batch.entries.push(BatchEntry { from, start, end, time, is_barrier, vector, ids, operations });
        Ok(())
    }
}

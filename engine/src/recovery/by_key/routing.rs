//! A batch of log records whose changes are divided by key.

use std::ops::Range;
use std::sync::Arc;

use hyades_types::error::Result;

use super::{Keyed, Kind, Numbering, ReplayByKey};
use crate::recovery::schedule::{Batch, BatchBytes};

/// The order number of records that come after all others. Their log has no time for them: what a stop logs
/// of sequences, which needs no order.
pub(super) const LAST: u64 = u64::MAX - 1;
/// That of a record that cannot be replayed here.
pub(super) const NEVER: u64 = u64::MAX;

/// The (last) record of a transaction.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoutedRecord {
    /// As in its batch.
    pub(super) from: u64,
    pub(super) start: u64,
    pub(super) number: u64,
}

/// A change in a [`Routed`] batch, with all that its replay needs: its record lies elsewhere in memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Change {
    /// Those of its record.
    pub(super) number: u64,
    pub(super) end: u64,
    pub(super) table: u32,
    /// Which of the batch's bytes hold it, where it begins there, and its length.
    source: u32,
    start: u32,
    length: u32,
}

/// A record that is replayed between two rounds.
#[derive(Clone, Debug)]
pub(super) struct Alone {
    pub(super) log: usize,
    pub(super) end: u64,
    pub(super) number: u64,
    pub(super) bytes: Arc<Vec<u8>>,
    pub(super) range: Range<usize>,
}

impl Alone {
    pub(super) fn operations(&self) -> &[u8] {
        &self.bytes[self.range.clone()]
    }
}

/// See the module head. It is not changed any more.
#[derive(Debug, Default)]
pub(super) struct Routed {
    pub(super) log: usize,
    pub(super) records: Vec<RoutedRecord>,
    /// The smallest and the largest number of a record.
    pub(super) first: u64,
    pub(super) last: u64,
    /// The bytes of the log, then those of transactions that were put together from fragments.
    sources: Vec<Arc<Vec<u8>>>,
    /// Partition by partition, each in the order of the log.
    changes: Vec<Change>,
    /// Where the changes of each partition begin, and the end.
    starts: Vec<u32>,
    /// What is not divided.
    pub(super) alone: Vec<Alone>,
    pub(super) calls: usize,
}

impl Routed {
    /// A batch of records without changes.
    #[cfg(all(test, not(loom)))]
    pub(super) fn of_numbers(numbers: &[u64]) -> Routed {
        let record = |number: &u64| RoutedRecord { from: *number, start: *number, number: *number };
        let ends = numbers.iter().min().zip(numbers.iter().max());
        let (first, last) = ends.map_or((NEVER, 0), |(first, last)| (*first, *last));
        Routed { first, last, records: numbers.iter().map(record).collect(), ..Routed::default() }
    }

    pub(super) fn partition(&self, partition: usize) -> &[Change] {
        match self.starts.get(partition..partition + 2) {
            Some(&[from, to]) => &self.changes[from as usize..to as usize],
            _ => &[],
        }
    }

    pub(super) fn bytes(&self, change: Change) -> &[u8] {
        let start = change.start as usize;
        &self.sources[change.source as usize][start..start + change.length as usize]
    }
}

/// Divides batches. One worker's, with the memory that this takes.
pub(super) struct Router {
    partitions: usize,
    /// The changes in the order of the log, with their partitions.
    found: Vec<(u32, Change)>,
    /// How many each partition has.
    counts: Vec<u32>,
}

impl Router {
    pub(super) fn new(partitions: usize) -> Router {
        Router { partitions, found: Vec::new(), counts: vec![0; partitions] }
    }

    pub(super) fn route<R: ReplayByKey>(
        &mut self,
        replay: &R,
        log: usize,
        batch: &Batch,
        numbering: Numbering,
    ) -> Result<Routed> {
        let mut routed = Routed { log, first: NEVER, ..Routed::default() };
        if batch.entries.is_empty() {
            // The bytes need not be kept.
            return Ok(routed);
        }
        routed.sources.push(Arc::clone(&batch.bytes));
        routed.records.reserve_exact(batch.entries.len());
        self.found.clear();
        self.counts.fill(0);
        for entry in &batch.entries {
            let (source, range) = match &entry.operations {
                BatchBytes::InBatch(range) => (0, range.clone()),
                BatchBytes::Assembled(bytes) => {
                    routed.sources.push(Arc::clone(bytes));
                    (routed.sources.len() - 1, 0..bytes.len())
                }
            };
            let (bytes, before) = (&routed.sources[source], self.found.len());
            let mut number = match numbering {
                Numbering::Time => entry.time,
                Numbering::Place => Some(entry.end),
            };
            let is_alone = entry.is_barrier || u32::try_from(range.end).is_err() || {
                let place = (source as u32, range.start as u32);
                let (kind, has_rows) =
                    self.divide_one(replay, (log, entry.end), &bytes[range.clone()], place)?;
                // Without a time, only what needs no order can be replayed here.
                number = number.or((kind == Kind::Rows && !has_rows).then_some(LAST));
                routed.calls += usize::from(kind == Kind::Call);
                kind != Kind::Rows
            };
            let number = number.unwrap_or(NEVER);
            self.found[before..].iter_mut().for_each(|(_, change)| change.number = number);
            let (from, start, end) = (entry.from, entry.start, entry.end);
            if is_alone && number != NEVER {
                routed.alone.push(Alone { log, end, number, bytes: Arc::clone(bytes), range });
            }
            (routed.first, routed.last) = (routed.first.min(number), routed.last.max(number));
            routed.records.push(RoutedRecord { from, start, number });
        }
        self.put_in_order(&mut routed);
        Ok(routed)
    }

    /// Notes the partitions of a transaction's changes, whose operations are at this place of the batch's
    /// bytes. Returns also whether it changes rows.
    fn divide_one<R: ReplayByKey>(
        &mut self,
        replay: &R,
        place: (usize, u64),
        operations: &[u8],
        (source, first): (u32, u32),
    ) -> Result<(Kind, bool)> {
        let (mut has_rows, before) = (false, self.found.len());
        let kind = replay.route(place, operations, |Keyed { hash, table, range }| {
            let partition = ((hash >> u32::BITS) * self.partitions as u64) >> u32::BITS;
            let (end, start, length) = (place.1, first + range.start as u32, range.len() as u32);
            self.counts[partition as usize] += 1;
            // Its number is not known yet.
            let change = Change { number: NEVER, end, table, source, start, length };
            self.found.push((partition as u32, change));
            has_rows |= table != 0;
        })?;
        if kind != Kind::Rows {
            for (partition, _) in self.found.drain(before..) {
                self.counts[partition as usize] -= 1;
            }
        }
        Ok((kind, has_rows))
    }

    /// Puts the changes that were found in the order of their partitions.
    fn put_in_order(&mut self, routed: &mut Routed) {
        let mut next = 0;
        routed.starts.reserve_exact(self.partitions + 1);
        for count in &mut self.counts {
            routed.starts.push(next);
            // From here on, where the next one of the partition goes.
            next += std::mem::replace(count, next);
        }
        routed.starts.push(next);
        routed.changes.resize(self.found.len(), Change::default());
        for (partition, change) in self.found.drain(..) {
            let place = &mut self.counts[partition as usize];
            routed.changes[*place as usize] = change;
            *place += 1;
        }
    }
}

//! Synthetic logs whose records name others.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use hyades_types::error::Result;
use parking_lot::{Condvar, Mutex};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::super::{Batch, BatchBytes, BatchEntry, RecordPlace, ScheduleOptions, run};
use super::*;
use crate::config::RecoveryMode;
use crate::lsn::Lsn;

/// Bytes of a record.
const RECORD: u64 = 16;

#[derive(Clone, Debug)]
struct Record {
    /// Up to where each log must have been replayed.
    vector: Vec<u64>,
    ids: Vec<RecordId>,
}

/// The record of a log with this number.
fn id(log: usize, number: usize) -> RecordId {
    RecordId::new(log, Lsn((number as u64 + 1) * RECORD))
}

fn naming(ids: &[RecordId]) -> Record {
    Record { vector: vec![0; 3], ids: ids.to_vec() }
}

/// Which records have been replayed.
#[derive(Default)]
struct Checker {
    done: Mutex<HashSet<RecordId>>,
    is_more: Condvar,
}

impl Checker {
    fn is_done(&self, id: RecordId) -> bool {
        self.done.lock().contains(&id)
    }

    fn wait_for(&self, id: RecordId) {
        let mut done = self.done.lock();
        while !done.contains(&id) {
            let waited = self.is_more.wait_for(&mut done, Duration::from_secs(20));
            assert!(!waited.timed_out(), "{id} is not replayed");
        }
    }
}

impl Replay for Checker {
    type Scratch = ();

    /// The operations are words: how many positions, those, and ids.
    fn replay(&self, (): &mut (), place: RecordPlace, operations: &[u8]) -> Result<()> {
        let words =
            operations.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")));
        let words: Vec<u64> = words.collect();
        let (positions, ids) = words.split_at(3);
        for (log, position) in positions.iter().enumerate() {
            let before = (0..position / RECORD).map(|number| id(log, number as usize));
            assert!(before.clone().all(|id| self.is_done(id)), "{place:?} comes before position {position}");
        }
        let ids = ids.iter().map(|word| RecordId::of_word(*word).expect("an id"));
        assert!(ids.clone().all(|id| self.is_done(id)), "{place:?} comes before what it names");
        if place.end.is_multiple_of(64) {
            std::thread::yield_now();
        }
        let own = RecordId::new(place.log, Lsn(place.end));
        assert!(self.done.lock().insert(own), "{own} is replayed twice");
        self.is_more.notify_all();
        Ok(())
    }
}

/// A log in batches. If `after` is given, nothing comes before that record has been replayed.
struct Log {
    records: Vec<Record>,
    next: usize,
    batch_records: usize,
    after: Option<(Arc<Checker>, RecordId)>,
}

impl Source for Log {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        if let Some((checker, id)) = &self.after {
            checker.wait_for(*id);
        }
        let first = self.next;
        while let Some(record) =
            self.records.get(self.next).filter(|_| self.next < first + self.batch_records)
        {
            let (vector, first_id) = (batch.vectors.len(), batch.ids.len());
            batch.vectors.extend_from_slice(&record.vector);
            batch.ids.extend_from_slice(&record.ids);
            let words = record.vector.iter().copied().chain(record.ids.iter().map(|id| id.word()));
            let operations = BatchBytes::Assembled(Arc::new(words.flat_map(u64::to_le_bytes).collect()));
            let start = self.next as u64 * RECORD;
            let (end, ids) = (start + RECORD, first_id..batch.ids.len());
            let (time, is_barrier, from) = (None, false, start);
            batch.entries.push(BatchEntry { from, start, end, time, is_barrier, vector, ids, operations });
            batch.end = end;
            self.next += 1;
        }
        Ok(self.next > first)
    }
}

fn replay(logs: Vec<Log>, checker: &Arc<Checker>, workers: usize, mode: RecoveryMode) -> u64 {
    let placed = |log: Log| {
        let end = log.records.len() as u64 * RECORD;
        (log, Range { start: 0, end })
    };
    let options = ScheduleOptions { workers, mode, is_total: false, after: 0 };
    run(logs.into_iter().map(placed).collect(), Arc::clone(checker), options).expect("replayed").transactions
}

/// A waits for Y, which is read last. B comes after A in the same log and follows nothing, and C names B. So
/// C is replayed although nothing after A counts as replayed by position.
#[test]
fn a_record_waits_for_what_it_names_and_not_for_what_lies_before_that() {
    let checker = Arc::new(Checker::default());
    let (y, b, c) = (id(2, 0), id(0, 1), id(1, 0));
    let log = |records: &[Record], after: Option<RecordId>| Log {
        records: records.to_vec(),
        next: 0,
        batch_records: 8,
        after: after.map(|id| (Arc::clone(&checker), id)),
    };
    let logs = vec![
        log(&[naming(&[y]), naming(&[])], None),
        log(&[naming(&[b]), naming(&[id(0, 0), c])], None),
        log(&[naming(&[])], Some(c)),
    ];
    assert_eq!(replay(logs, &checker, 3, RecoveryMode::Parallel), 5);
}

#[test]
fn every_record_is_replayed_once_and_after_what_it_names() {
    for seed in 0..60 {
        let mut random = StdRng::seed_from_u64(seed);
        let reach = [1, 3, 50][seed as usize % 3];
        let mut written: Vec<Vec<Record>> = vec![Vec::new(); 3];
        for _ in 0..600 {
            let mut record = naming(&[]);
            for (log, records) in written.iter().enumerate() {
                let back = |random: &mut StdRng| records.len().checked_sub(1 + random.random_range(0..reach));
                let named =
                    (0..random.random_range(0..3)).filter_map(|_| back(&mut random)).collect::<Vec<_>>();
                record.ids.extend(named.into_iter().map(|number| id(log, number)));
                if random.random_bool(0.1) {
                    record.vector[log] = back(&mut random).map_or(0, |number| number as u64 * RECORD);
                }
            }
            record.ids.sort_unstable();
            record.ids.dedup();
            written[random.random_range(0..3)].push(record);
        }
        let (workers, batch_records) = (1 + seed as usize % 4, [1, 7, 100][seed as usize / 4 % 3]);
        for mode in [RecoveryMode::Parallel, RecoveryMode::Serial, RecoveryMode::Auto] {
            let checker = Arc::new(Checker::default());
            let logs = written.iter().cloned();
            let logs = logs.map(|records| Log { records, next: 0, batch_records, after: None }).collect();
            assert_eq!(replay(logs, &checker, workers, mode), 600, "seed {seed}");
        }
    }
}

//! Synthetic logs, as concurrent transactions would write them: places are reserved in one order, and times
//! drawn in another.

use std::collections::{BTreeMap, HashMap};

use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::recovery::schedule::{Batch, BatchBytes, BatchEntry};

/// Bytes of a record: so many that there are several rounds.
const RECORD: u64 = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Rows,
    Call,
    /// A change of the catalog.
    Barrier,
    Undated,
}

/// A transaction that changes some keys.
#[derive(Clone, Debug)]
struct Record {
    end: u64,
    time: u64,
    keys: Vec<u8>,
    what: What,
    /// The time of the anchor before it, if there is one.
    bound: Option<u64>,
}

impl Record {
    /// The time, what it is, and the keys.
    fn operations(&self) -> Vec<u8> {
        let kind = if self.what == What::Call { 1 } else { 0 };
        let mut bytes = vec![kind];
        bytes.extend_from_slice(&self.time.to_le_bytes());
        bytes.extend_from_slice(&self.keys);
        bytes
    }
}

const KEYS_AT: usize = 9;

fn time_in(operations: &[u8]) -> u64 {
    u64::from_le_bytes(operations[1..KEYS_AT].try_into().expect("8 bytes"))
}

struct Log {
    records: std::vec::IntoIter<Record>,
    batch_records: usize,
    bound: Option<u64>,
}

impl Source for Log {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        let mut count = 0;
        for record in self.records.by_ref().take(self.batch_records) {
            batch.end = record.end;
            self.bound = record.bound.or(self.bound);
            let start = record.end - RECORD;
            batch.entries.push(BatchEntry {
                from: start,
                start,
                end: record.end,
                time: (record.what != What::Undated).then_some(record.time),
                is_barrier: record.what == What::Barrier,
                vector: 0,
                ids: 0..0,
                operations: BatchBytes::Assembled(Arc::new(record.operations())),
            });
            count += 1;
        }
        (batch.bound, batch.go_on_from) = (self.bound, batch.end);
        Ok(count > 0)
    }
}

/// What has been replayed: the times that changed each key, in the order of their replay.
#[derive(Default)]
struct Seen {
    keys: Mutex<HashMap<u8, Vec<u64>>>,
    /// The changes that had been replayed before what was replayed alone, by its time.
    alone: Mutex<BTreeMap<u64, Vec<u64>>>,
}

impl Seen {
    fn times(&self) -> Vec<u64> {
        let mut times: Vec<u64> = self.keys.lock().values().flatten().copied().collect();
        times.extend(self.alone.lock().keys());
        times.sort_unstable();
        times.dedup();
        times
    }
}

impl Replay for Seen {
    type Scratch = ();

    fn replay(&self, (): &mut (), _place: RecordPlace, operations: &[u8]) -> Result<()> {
        let before = self.times();
        self.alone.lock().insert(time_in(operations), before);
        Ok(())
    }
}

impl ReplayByKey for Seen {
    fn route(&self, _place: (usize, u64), operations: &[u8], mut pass: impl FnMut(Keyed)) -> Result<Kind> {
        if operations[0] == 1 {
            return Ok(Kind::Call);
        }
        for (at, key) in (KEYS_AT..).zip(&operations[KEYS_AT..]) {
            // What a change holds: the operations up to its key.
            pass(Keyed { hash: u64::from(*key) << 57, table: u32::from(key % 3) + 1, range: 0..at + 1 });
        }
        Ok(Kind::Rows)
    }

    fn replay_changes<'r>(&self, (): &mut (), changes: impl Iterator<Item = PlacedChange<'r>>) -> Result<()> {
        for (_, change) in changes {
            let key = change[change.len() - 1];
            self.keys.lock().entry(key).or_default().push(time_in(change));
            if key.is_multiple_of(7) {
                std::thread::yield_now();
            }
        }
        Ok(())
    }
}

/// `rare`: one record in so many is not of rows.
fn random_logs(seed: u64, logs: usize, records: usize, rare: u32) -> Vec<Vec<Record>> {
    let mut random = StdRng::seed_from_u64(seed);
    let mut written: Vec<Vec<Record>> = vec![Vec::new(); logs];
    let mut clock = 1;
    // The places of those that have drawn no time yet.
    let mut committing: Vec<(usize, usize)> = Vec::new();
    let mut bounds = vec![None; logs];
    let mut left = records;
    while left > 0 || !committing.is_empty() {
        if left > 0 && (committing.len() < 4 || random.random_bool(0.5)) {
            left -= 1;
            let log = random.random_range(0..logs) * random.random_range(0..2);
            if random.random_bool(0.1) {
                bounds[log] = Some(clock);
            }
            let keys = (0..random.random_range(1..5)).map(|_| random.random_range(0..40)).collect();
            let what = match random.random_range(0..rare) {
                0 => [What::Call, What::Barrier][random.random_range(0..2)],
                _ => What::Rows,
            };
            let end = (written[log].len() as u64 + 1) * RECORD;
            committing.push((log, written[log].len()));
            written[log].push(Record { end, time: 0, keys, what, bound: bounds[log].take() });
        } else {
            let (log, place) = committing.swap_remove(random.random_range(0..committing.len()));
            clock += 1;
            written[log][place].time = clock;
        }
    }
    written
}

fn replayed(
    logs: &[Vec<Record>],
    batch_records: usize,
    workers: usize,
    numbering: Numbering,
) -> (Replayed, Arc<Seen>) {
    let seen = Arc::new(Seen::default());
    let sources = logs.iter().map(|records| {
        let end = records.last().map_or(0, |record| record.end);
        (Log { records: records.clone().into_iter(), batch_records, bound: None }, 0..end)
    });
    let options = ByKeyOptions { workers, numbering, after: 0, is_all: false };
    let replayed = run(sources.collect(), Arc::clone(&seen), options).expect("nothing fails");
    (replayed, seen)
}

fn sorted(times: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut times: Vec<u64> = times.collect();
    times.sort_unstable();
    times
}

/// Checks the order of what has been replayed.
fn check(seen: &Seen, number: impl Fn(u64) -> u64) {
    for (key, times) in &*seen.keys.lock() {
        assert!(times.is_sorted_by_key(|time| number(*time)), "key {key}: {times:?}");
    }
    for (alone, before) in &*seen.alone.lock() {
        assert!(before.iter().all(|time| number(*time) < number(*alone)), "{alone} after {before:?}");
    }
}

#[test]
fn the_changes_of_each_key_come_in_the_order_of_their_times() {
    for seed in 0..60 {
        let logs = random_logs(seed, 1 + seed as usize % 5, 800, 60);
        let (done, seen) =
            replayed(&logs, [1, 7, 100, 1000][seed as usize % 4], 1 + seed as usize % 4, Numbering::Time);
        let all = sorted(logs.iter().flatten().map(|record| record.time));
        assert_eq!((done.transactions, &done.rest), (all.len() as u64, &None), "seed {seed}");
        assert_eq!(seen.times(), all, "seed {seed}");
        check(&seen, |time| time);
        for (alone, before) in &*seen.alone.lock() {
            assert_eq!(before.len(), all.iter().filter(|time| *time < alone).count(), "seed {seed}");
        }
    }
}

#[test]
fn a_log_that_is_alone_is_replayed_in_its_own_order() {
    for seed in 0..20 {
        let logs = random_logs(seed, 1, 500, 50);
        let place: HashMap<u64, u64> = logs[0].iter().map(|record| (record.time, record.end)).collect();
        let (done, seen) = replayed(&logs, 16, 3, Numbering::Place);
        assert_eq!((done.transactions, done.rest), (500, None));
        check(&seen, |time| place[&time]);
    }
}

/// Checks that what is left and what has been replayed are everything, and have nothing in common.
fn check_rest(logs: &[Vec<Record>], done: &Replayed, seen: &Seen) {
    let rest = done.rest.as_ref().expect("something is left");
    let left = logs.iter().zip(&rest.from).flat_map(|(log, from)| {
        log.iter().filter(|record| {
            let is_replayed = record.what != What::Undated && record.time <= rest.replayed;
            record.end > *from && !is_replayed
        })
    });
    let left: Vec<u64> = left.map(|record| record.time).collect();
    let all = sorted(logs.iter().flatten().map(|record| record.time));
    assert_eq!(sorted(left.iter().copied().chain(seen.times())), all);
    assert_eq!(done.transactions as usize + left.len(), all.len());
    check(seen, |time| time);
}

#[test]
fn logs_with_many_calls_are_left_to_the_schedule() {
    for seed in 0..20 {
        let mut logs = random_logs(seed, 3, 4_000, 1_000);
        logs[2].iter_mut().skip(500).for_each(|record| record.what = What::Call);
        let (done, seen) = replayed(&logs, 10, 2, Numbering::Time);
        check_rest(&logs, &done, &seen);
    }
}

#[test]
fn what_has_no_time_is_left_to_the_schedule() {
    for seed in 0..20 {
        let mut logs = random_logs(seed, 3, 4_000, 1_000);
        let middle = logs[1].len() / 2;
        logs[1][middle].what = What::Undated;
        let (done, seen) = replayed(&logs, 10, 2, Numbering::Time);
        check_rest(&logs, &done, &seen);
    }
}

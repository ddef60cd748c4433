//! Small logs, the speed-up of whose replay is known.

use std::collections::HashMap;

use parking_lot::Mutex;

use super::*;
use crate::recovery::by_key::{Keyed, Kind, PlacedChange, Rest};
use crate::recovery::schedule::{Batch, BatchBytes, BatchEntry, Replay};
use crate::recovery::simulated_time::tests::Told;

/// Bytes of a record in a log: so many that a round of many workers has thousands.
const RECORD: u64 = 256;
const BATCH_RECORDS: u64 = 64;
/// What a change takes.
const CHANGE: Time = 1000;
const FREE: CrossingCosts = CrossingCosts { handover: 0, wake: 0, unpark: 0 };

/// Each of its records changes one key, and follows those before it in time.
struct Log {
    keys: Vec<u32>,
    logs: usize,
    number: usize,
    next: u64,
    /// What a batch takes.
    reading: Time,
    told: Told,
    is_call: bool,
}

impl Source for Log {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        let all = self.keys.len() as u64;
        let last = all.min(self.next + BATCH_RECORDS);
        if self.next < all {
            self.told.takes(self.reading);
        }
        let time = |index: u64| index * self.logs as u64 + self.number as u64 + 1;
        for index in self.next..last {
            let mut operations = vec![u8::from(self.is_call)];
            operations.extend_from_slice(&self.keys[index as usize].to_le_bytes());
            operations.extend_from_slice(&time(index).to_le_bytes());
            let start = index * RECORD;
            batch.entries.push(BatchEntry {
                from: start,
                start,
                end: start + RECORD,
                time: Some(time(index)),
                is_barrier: false,
                vector: 0,
                ids: 0..0,
                operations: BatchBytes::Assembled(Arc::new(operations)),
            });
        }
        let has_some = last > self.next;
        self.next = last;
        (batch.end, batch.go_on_from, batch.bound) =
            (last * RECORD, last * RECORD, Some(time(last).saturating_sub(1)));
        Ok(has_some)
    }
}

/// Takes its time for each change, and looks at the order.
#[derive(Default)]
struct Costly {
    told: Told,
    seen: Mutex<HashMap<u32, Vec<u64>>>,
}

impl Replay for Costly {
    type Scratch = ();

    fn replay(&self, (): &mut (), _: RecordPlace, _: &[u8]) -> Result<()> {
        self.told.takes(CHANGE);
        Ok(())
    }
}

impl ReplayByKey for Costly {
    fn route(&self, _: (usize, u64), operations: &[u8], mut pass: impl FnMut(Keyed)) -> Result<Kind> {
        if operations[0] == 1 {
            return Ok(Kind::Call);
        }
        let key = u32::from_le_bytes(operations[1..5].try_into().expect("4 bytes"));
        let hash = u64::from(key).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        pass(Keyed { hash, table: 1, range: 1..operations.len() });
        Ok(Kind::Rows)
    }

    fn replay_changes<'r>(&self, (): &mut (), changes: impl Iterator<Item = PlacedChange<'r>>) -> Result<()> {
        for (_, change) in changes {
            self.told.takes(CHANGE);
            let (key, time) = change.split_at(4);
            let key = u32::from_le_bytes(key.try_into().expect("4 bytes"));
            let time = u64::from_le_bytes(time.try_into().expect("8 bytes"));
            self.seen.lock().entry(key).or_default().push(time);
        }
        Ok(())
    }
}

struct Case {
    logs: usize,
    records: u64,
    keys: u32,
    reading: Time,
}

impl Case {
    fn run(&self, workers: usize, costs: CrossingCosts) -> Simulated {
        let replay = Costly::default();
        let mut told = replay.told.clone();
        let each = self.records / self.logs as u64;
        let sources = (0..self.logs).map(|number| {
            // In some order that has nothing to do with that of the hashes.
            let keys = (0..each).map(|index| (index * 7919 + number as u64 * 104_729) as u32 % self.keys);
            let (keys, told) = (keys.collect(), told.clone());
            let log =
                Log { keys, logs: self.logs, number, next: 0, reading: self.reading, told, is_call: false };
            (log, 0..each * RECORD)
        });
        let sources = sources.collect();
        let options = ByKeyOptions { workers, numbering: Numbering::Time, after: 0, is_all: false };
        let (replayed, simulated) =
            simulate(sources, &replay, options, &mut told, costs).expect("nothing fails");
        assert_eq!(replayed, Replayed { transactions: each * self.logs as u64, rest: None });
        let seen = replay.seen.lock();
        assert!(seen.values().all(|times| times.is_sorted()));
        assert_eq!(seen.values().map(Vec::len).sum::<usize>() as u64, replayed.transactions);
        assert_eq!(simulated.spent.total(), simulated.nanoseconds * workers as u64);
        simulated
    }

    fn speed_up(&self, workers: usize) -> f64 {
        let (one, many) = (self.run(1, FREE), self.run(workers, FREE));
        one.nanoseconds as f64 / many.nanoseconds as f64
    }
}

const EVEN: Case = Case { logs: 4, records: 1 << 17, keys: 100_000, reading: 0 };

#[test]
fn one_worker_takes_the_sum_of_all_steps() {
    let case = Case { records: 1 << 12, reading: 64_000, ..EVEN };
    let simulated = case.run(1, FREE);
    let batches = case.records / BATCH_RECORDS;
    assert_eq!(simulated.nanoseconds, case.records * CHANGE + batches * case.reading);
    assert_eq!(simulated.busy(), 1.0);
}

#[test]
fn independent_keys_are_replayed_by_all_workers() {
    for workers in [2, 4, 8] {
        let speed_up = EVEN.speed_up(workers);
        assert!(speed_up > 0.85 * workers as f64 && speed_up <= workers as f64, "{workers}: {speed_up}");
    }
}

#[test]
fn one_key_is_one_chain() {
    assert_eq!(Case { records: 1 << 13, keys: 1, ..EVEN }.speed_up(8), 1.0);
}

#[test]
fn two_keys_are_two_chains() {
    let speed_up = Case { records: 1 << 14, keys: 2, ..EVEN }.speed_up(8);
    assert!(speed_up > 1.8 && speed_up <= 2.0, "{speed_up}");
}

#[test]
fn one_log_that_takes_half_of_the_time_to_read_is_replayed_twice_as_fast_at_most() {
    let case = Case { logs: 1, reading: BATCH_RECORDS * CHANGE, ..EVEN };
    let speed_up = case.speed_up(16);
    assert!(speed_up > 1.7 && speed_up <= 2.0, "{speed_up}");
}

#[test]
fn four_logs_are_read_at_the_same_time() {
    let speed_up = Case { reading: BATCH_RECORDS * CHANGE, ..EVEN }.speed_up(4);
    assert!(speed_up > 3.4, "{speed_up}");
}

#[test]
fn waking_costs_time() {
    let costs = CrossingCosts { handover: 200, wake: 50_000, unpark: 2_000 };
    let (free, costly) = (EVEN.run(8, FREE), EVEN.run(8, costs));
    assert!(costly.nanoseconds > free.nanoseconds, "{costly:?}");
}

#[test]
fn calls_are_left_to_the_schedule() {
    let replay = Costly::default();
    let mut told = replay.told.clone();
    let log = Log {
        keys: vec![1; 20_000],
        logs: 1,
        number: 0,
        next: 0,
        reading: 1,
        told: told.clone(),
        is_call: true,
    };
    let options = ByKeyOptions { workers: 4, numbering: Numbering::Time, after: 0, is_all: false };
    let sources = vec![(log, 0..20_000 * RECORD)];
    let (replayed, simulated) = simulate(sources, &replay, options, &mut told, FREE).expect("nothing fails");
    let rest = replayed.rest.expect("something is left");
    assert_eq!(rest, Rest { from: vec![replayed.transactions * RECORD], replayed: rest.replayed });
    assert!(simulated.nanoseconds < 20_000 * CHANGE);
}

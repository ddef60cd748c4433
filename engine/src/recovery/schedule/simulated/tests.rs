//! Small logs, the speed-up of whose replay is known, and logs that a check of the order goes through.

use super::*;
use crate::config::RecoveryMode;
use crate::recovery::schedule::RecordPlace;
use crate::recovery::schedule::tests::{Checker, RECORD, SyntheticRecord, SyntheticSource, random_logs};
use crate::recovery::simulated_time::tests::Told;

/// What a record takes.
const CALL: Time = 1000;
const FREE: CrossingCosts = CrossingCosts { handover: 0, wake: 0, unpark: 0 };

struct Reading {
    source: SyntheticSource,
    /// What a batch takes.
    time: Time,
    told: Told,
}

impl Source for Reading {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        let has_some = self.source.fill(batch)?;
        self.told.takes(if has_some { self.time } else { 0 });
        Ok(has_some)
    }
}

/// Takes its time for each record, and checks that nothing that it follows is left.
#[derive(Default)]
struct Costly {
    checker: Checker,
    told: Told,
}

impl Replay for Costly {
    type Scratch = ();

    fn replay(&self, (): &mut (), place: RecordPlace, operations: &[u8]) -> Result<()> {
        self.told.takes(CALL);
        self.checker.replay(&mut (), place, operations)
    }

    fn on_low(&self, low: u64) {
        self.checker.on_low(low);
    }
}

const BATCH_RECORDS: usize = 16;

fn run_with(
    logs: &[Vec<SyntheticRecord>],
    reading: Time,
    workers: usize,
    costs: CrossingCosts,
) -> Result<(Replayed, Simulated)> {
    let replay = Arc::new(Costly::default());
    let mut told = replay.told.clone();
    let sources = logs.iter().map(|records| {
        let end = records.last().map_or(0, |record| record.end);
        let source = SyntheticSource::new(records.clone(), BATCH_RECORDS);
        (Reading { source, time: reading, told: told.clone() }, 0..end)
    });
    let sources = sources.collect();
    let options = ScheduleOptions { workers, mode: RecoveryMode::Parallel, is_total: false, after: 0 };
    simulate(sources, replay, options, &mut told, costs)
}

fn simulated(logs: &[Vec<SyntheticRecord>], reading: Time, workers: usize) -> Simulated {
    let (replayed, simulated) = run_with(logs, reading, workers, FREE).expect("nothing fails");
    let all = logs.iter().map(Vec::len).sum::<usize>() as u64;
    assert_eq!(replayed, Replayed { transactions: all, was_serial: false });
    assert_eq!(simulated.spent.total(), simulated.nanoseconds * workers as u64);
    simulated
}

fn speed_up(logs: &[Vec<SyntheticRecord>], reading: Time, workers: usize) -> f64 {
    let (one, many) = (simulated(logs, reading, 1), simulated(logs, reading, workers));
    one.nanoseconds as f64 / many.nanoseconds as f64
}

/// So many logs of records that are made of a log and a place in it.
fn logs_of(logs: usize, records: u64, vector: impl Fn(usize, u64) -> Vec<u64>) -> Vec<Vec<SyntheticRecord>> {
    let record = |log, number: u64| SyntheticRecord {
        end: (number + 1) * RECORD,
        vector: vector(log, number),
        time: number + 1,
    };
    (0..logs).map(|log| (0..records).map(|number| record(log, number)).collect()).collect()
}

#[test]
fn one_worker_takes_the_sum_of_all_steps() {
    let logs = logs_of(2, 800, |_, _| vec![0, 0]);
    let simulated = simulated(&logs, 500, 1);
    let work = 1600 * CALL + 100 * 500;
    // At the end it looks for more.
    assert!((work..work + CALL).contains(&simulated.nanoseconds), "{simulated:?}");
}

#[test]
fn independent_records_are_replayed_by_all_workers() {
    let logs = logs_of(4, 8000, |_, _| vec![0; 4]);
    for workers in [2, 4, 8, 16] {
        let speed_up = speed_up(&logs, 0, workers);
        assert!(speed_up > 0.97 * workers as f64 && speed_up <= workers as f64, "{workers}: {speed_up}");
    }
}

#[test]
fn a_chain_through_all_logs_is_replayed_by_one_worker_after_the_other() {
    // Record n of log 0 follows record n - 1 of log 1, which follows record n - 1 of log 0.
    let logs = logs_of(2, 1000, |log, number| match log {
        0 => vec![number * RECORD, number * RECORD],
        _ => vec![(number + 1) * RECORD, number * RECORD],
    });
    let speed_up = speed_up(&logs, 0, 8);
    assert!(speed_up > 0.98 && speed_up < 1.01, "{speed_up}");
}

#[test]
fn two_chains_are_replayed_by_two_workers() {
    // Each log is a chain.
    let logs = logs_of(2, 4000, |log, number| {
        let mut vector = vec![0, 0];
        vector[log] = number * RECORD;
        vector
    });
    let speed_up = speed_up(&logs, 0, 8);
    assert!(speed_up > 1.9 && speed_up <= 2.01, "{speed_up}");
}

#[test]
fn reading_one_log_for_half_of_the_time_makes_it_twice_as_fast_at_most() {
    let logs = logs_of(1, 16_000, |_, _| vec![0]);
    let reading = BATCH_RECORDS as Time * CALL;
    let speed_up = speed_up(&logs, reading, 16);
    assert!(speed_up > 1.9 && speed_up <= 2.01, "{speed_up}");
    let sixteen = simulated(&logs, reading, 16);
    assert!(sixteen.spent.on(Doing::WaitingForLock) > 12 * sixteen.nanoseconds, "{sixteen:?}");
}

#[test]
fn every_record_is_replayed_after_what_it_follows() {
    let costs = CrossingCosts { handover: 80, wake: 20_000, unpark: 1_500 };
    for seed in 0..30 {
        let (logs, reach) = (1 + seed as usize % 5, [0, 1, 3, 50][seed as usize % 4]);
        let written = random_logs(seed, logs, 3000, reach);
        let workers = 1 + seed as usize % 7;
        let (replayed, simulated) = run_with(&written, 300, workers, costs).expect("nothing fails");
        assert_eq!(replayed.transactions, 3000, "seed {seed}");
        assert_eq!(simulated.spent.total(), simulated.nanoseconds * workers as u64, "seed {seed}");
    }
}

#[test]
fn records_that_wait_for_each_other_are_corruption() {
    let record = |vector: [u64; 2]| SyntheticRecord { end: RECORD, vector: vector.to_vec(), time: 1 };
    let logs = [vec![record([0, RECORD])], vec![record([RECORD, 0])]];
    let error = run_with(&logs, 0, 3, FREE).expect_err("a circle");
    assert!(error.to_string().contains("in a circle"), "{error}");
}

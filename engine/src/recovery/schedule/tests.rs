//! Synthetic logs with known dependencies: every record must be replayed once, after all that it depends on.

use std::collections::HashMap;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::*;

/// Bytes of a record in the synthetic logs.
pub(super) const RECORD: u64 = 16;

#[derive(Clone, Debug)]
pub(super) struct SyntheticRecord {
    pub(super) end: u64,
    pub(super) vector: Vec<u64>,
    pub(super) time: u64,
}

/// Hands out a log in batches of a fixed number of records.
pub(super) struct SyntheticSource {
    records: std::vec::IntoIter<SyntheticRecord>,
    batch_records: usize,
}

impl SyntheticSource {
    pub(super) fn new(records: Vec<SyntheticRecord>, batch_records: usize) -> SyntheticSource {
        SyntheticSource { records: records.into_iter(), batch_records }
    }
}

fn entry(start: u64, end: u64, vector: usize, operations: BatchBytes) -> BatchEntry {
    BatchEntry { from: start, start, end, time: None, is_barrier: false, vector, ids: 0..0, operations }
}

impl Source for SyntheticSource {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        let mut count = 0;
        batch.since = self.records.as_slice().first().map(|record| record.time - 1);
        for record in self.records.by_ref().take(self.batch_records) {
            let vector = batch.vectors.len();
            batch.vectors.extend_from_slice(&record.vector);
            batch.end = record.end;
            // The operations carry the vector, for the checker.
            let operations: Vec<u8> = record.vector.iter().flat_map(|entry| entry.to_le_bytes()).collect();
            let operations = BatchBytes::Assembled(Arc::new(operations));
            batch.entries.push(BatchEntry {
                time: Some(record.time),
                ..entry(record.end - RECORD, record.end, vector, operations)
            });
            count += 1;
        }
        Ok(count > 0)
    }
}

/// Checks the order: keeps which records are done, and whether everything before a position is.
#[derive(Default)]
pub(super) struct Checker {
    done: Mutex<HashMap<(usize, u64), ()>>,
    prefix: Mutex<Vec<u64>>,
    low: AtomicU64,
}

impl Replay for Checker {
    type Scratch = ();

    fn replay(
        &self,
        (): &mut (),
        RecordPlace { log, end, time }: RecordPlace,
        operations: &[u8],
    ) -> Result<()> {
        let low = self.low.load(Ordering::SeqCst);
        assert!(time.is_none_or(|time| time > low), "{time:?} is replayed although {low} has been passed");
        let vector =
            operations.chunks_exact(8).map(|entry| u64::from_le_bytes(entry.try_into().expect("8 bytes")));
        {
            let done = self.done.lock();
            let mut prefix = self.prefix.lock();
            for (log, needed) in vector.enumerate() {
                if prefix.len() <= log {
                    prefix.resize(log + 1, 0);
                }
                while done.contains_key(&(log, prefix[log] + RECORD)) {
                    prefix[log] += RECORD;
                }
                assert!(prefix[log] >= needed, "log {log} is replayed to {}, needed {needed}", prefix[log]);
            }
        }
        if end.is_multiple_of(64) {
            std::thread::yield_now();
        }
        assert!(self.done.lock().insert((log, end), ()).is_none(), "replayed twice");
        let low = self.low.load(Ordering::SeqCst);
        assert!(time.is_none_or(|time| time > low), "{time:?} is being replayed, and {low} has been passed");
        Ok(())
    }

    fn on_low(&self, low: u64) {
        self.low.fetch_max(low, Ordering::SeqCst);
    }
}

/// Logs as a run of real transactions would write them: each record's vector names positions reserved before
/// it.
pub(super) fn random_logs(seed: u64, logs: usize, records: usize, reach: u64) -> Vec<Vec<SyntheticRecord>> {
    let mut random = StdRng::seed_from_u64(seed);
    let mut written: Vec<Vec<SyntheticRecord>> = vec![Vec::new(); logs];
    for time in 1..=records as u64 {
        let vector: Vec<u64> = written
            .iter()
            .map(|log| {
                let end = log.len() as u64;
                let back = random.random_range(0..=reach.min(end));
                if random.random_bool(0.3) {
                    (end - back) * RECORD
                } else {
                    end.saturating_sub(2 * reach) * RECORD
                }
            })
            .collect();
        let log = random.random_range(0..logs);
        let end = (written[log].len() as u64 + 1) * RECORD;
        written[log].push(SyntheticRecord { end, vector, time });
    }
    written
}

fn run_logs(
    logs: Vec<Vec<SyntheticRecord>>,
    batch_records: usize,
    options: ScheduleOptions,
) -> (Result<Replayed>, Arc<Checker>) {
    let checker = Arc::new(Checker::default());
    let sources = logs.into_iter().map(|records| {
        let end = records.last().map_or(0, |record| record.end);
        (SyntheticSource { records: records.into_iter(), batch_records }, 0..end)
    });
    let result = run(sources.collect(), Arc::clone(&checker), options);
    (result, checker)
}

#[test]
fn the_grain_becomes_finer_with_more_workers() {
    let grains = [1, 2, 4, 8, 64].map(|workers| {
        let Grain { published, batched } = Grain::of(workers);
        (published, batched)
    });
    assert_eq!(grains, [(16, 128), (16, 128), (8, 64), (4, 32), (4, 16)]);
}

#[test]
fn every_record_is_replayed_once_and_after_what_it_depends_on() {
    for seed in 0..40 {
        let logs = 1 + seed as usize % 5;
        let reach = [0, 1, 3, 50][seed as usize % 4];
        let written = random_logs(seed, logs, 600, reach);
        let batch_records = [1, 7, 100, 1000][seed as usize / 4 % 4];
        let workers = 1 + seed as usize % 6;
        for mode in [RecoveryMode::Parallel, RecoveryMode::Serial] {
            let options = ScheduleOptions { workers, mode, is_total: false, after: 0 };
            let (result, checker) = run_logs(written.clone(), batch_records, options);
            let was_serial = workers == 1 || mode == RecoveryMode::Serial;
            assert_eq!(result.unwrap(), Replayed { transactions: 600, was_serial }, "seed {seed}");
            assert_eq!(checker.done.lock().len(), 600);
        }
    }
}

/// Everything that the workers have parked, held or not yet read when they leave is replayed, in order and
/// once.
#[test]
fn high_contention_leaves_the_rest_to_one_worker() {
    let options = ScheduleOptions { workers: 3, mode: RecoveryMode::Auto, is_total: false, after: 0 };
    for (seed, reach) in [(1, 2), (2, 1), (3, 0)] {
        let (result, checker) = run_logs(random_logs(seed, 3, 100_000, reach), 100, options);
        assert_eq!(result.unwrap(), Replayed { transactions: 100_000, was_serial: true });
        assert_eq!(checker.done.lock().len(), 100_000);
    }
    // No record depends on another.
    let alone = (1..=100_000).map(|number| SyntheticRecord {
        end: number * RECORD,
        vector: vec![0, 0],
        time: number,
    });
    let alone: Vec<SyntheticRecord> = alone.collect();
    let (result, _) = run_logs(vec![alone.clone(), alone], 100, options);
    assert_eq!(result.unwrap(), Replayed { transactions: 200_000, was_serial: false });
}

#[test]
fn a_serial_log_is_replayed_in_its_order() {
    let records = (0..500).map(|number| SyntheticRecord {
        end: (number + 1) * RECORD,
        vector: vec![number * RECORD],
        time: number + 1,
    });
    let options = ScheduleOptions { workers: 4, mode: RecoveryMode::Parallel, is_total: true, after: 0 };
    let (result, _) = run_logs(vec![records.collect()], 9, options);
    assert_eq!(result.unwrap().transactions, 500);
}

#[test]
fn a_chain_that_zigzags_between_logs_gets_through() {
    // Record n of each log depends on record n of the log before and on record n - 1 of its own.
    let logs = 3;
    let written: Vec<Vec<SyntheticRecord>> = (0..logs)
        .map(|log| {
            let record = |number: u64| {
                let mut vector = vec![number * RECORD; logs];
                vector[..log].fill((number + 1) * RECORD);
                SyntheticRecord { end: (number + 1) * RECORD, vector, time: number + 1 }
            };
            (0..300).map(record).collect()
        })
        .collect();
    for workers in [1, 2, 5] {
        let options = ScheduleOptions { workers, mode: RecoveryMode::Parallel, is_total: false, after: 0 };
        let (result, _) = run_logs(written.clone(), 13, options);
        assert_eq!(result.unwrap().transactions, 900);
    }
}

#[test]
fn a_log_far_ahead_is_bounded_by_its_window() {
    // All of log 1 depends on the end of log 0, whose batches are small.
    let count = WINDOW_RECORDS as u64 + 5000;
    let first: Vec<SyntheticRecord> = (0..2000)
        .map(|number| SyntheticRecord { end: (number + 1) * RECORD, vector: vec![0, 0], time: number + 1 })
        .collect();
    let second: Vec<SyntheticRecord> = (0..count)
        .map(|number| SyntheticRecord {
            end: (number + 1) * RECORD,
            vector: vec![2000 * RECORD, 0],
            time: number + 1,
        })
        .collect();
    let checker = Arc::new(Counter::default());
    let sources = vec![
        (SyntheticSource { records: first.into_iter(), batch_records: 1 }, 0..u64::MAX),
        (SyntheticSource { records: second.into_iter(), batch_records: 1000 }, 0..count * RECORD),
    ];
    let options = ScheduleOptions { workers: 3, mode: RecoveryMode::Parallel, is_total: false, after: 0 };
    assert_eq!(run(sources, Arc::clone(&checker), options).unwrap().transactions, 2000 + count);
    assert_eq!(checker.0.load(Ordering::Relaxed), 2000 + count);
}

#[derive(Default)]
struct Counter(AtomicU64);

impl Replay for Counter {
    type Scratch = ();
    fn replay(&self, (): &mut (), _: RecordPlace, _: &[u8]) -> Result<()> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

#[test]
fn records_that_wait_for_each_other_are_corruption_not_a_hang() {
    let record = |vector: [u64; 2]| SyntheticRecord { end: RECORD, vector: vector.to_vec(), time: 1 };
    for workers in [1, 3] {
        let logs = vec![vec![record([0, RECORD])], vec![record([RECORD, 0])]];
        let (result, _) = run_logs(
            logs,
            4,
            ScheduleOptions { workers, mode: RecoveryMode::Parallel, is_total: false, after: 0 },
        );
        assert!(result.unwrap_err().to_string().contains("in a circle"));
    }
}

struct Failing;

impl Replay for Failing {
    type Scratch = ();
    fn replay(&self, (): &mut (), RecordPlace { log, end, .. }: RecordPlace, _: &[u8]) -> Result<()> {
        if log == 1 && end == 50 * RECORD { Err(Error::corrupt("no such table")) } else { Ok(()) }
    }
}

#[test]
fn the_first_error_stops_all_workers() {
    let written = random_logs(3, 3, 3000, 3);
    let sources = written.into_iter().map(|records| {
        let end = records.last().map_or(0, |record| record.end);
        (SyntheticSource { records: records.into_iter(), batch_records: 10 }, 0..end)
    });
    let options = ScheduleOptions { workers: 3, mode: RecoveryMode::Parallel, is_total: false, after: 0 };
    let error = run(sources.collect(), Arc::new(Failing), options).unwrap_err();
    assert_eq!(error.to_string(), "no such table");
}

/// Bytes of a record that is replayed in pieces, of which none waits for another worker for ever.
const DIVIDED_BYTES: usize = 300 << 10;

/// A chain of large records: each is begun only when all pieces of the one before are done.
#[derive(Default)]
struct Dividing {
    pieces_done: AtomicUsize,
    fails_at: Option<usize>,
}

const PIECES: usize = 23;

impl Replay for Dividing {
    type Scratch = ();

    fn replay(&self, (): &mut (), _: RecordPlace, _: &[u8]) -> Result<()> {
        panic!("it has pieces");
    }

    fn divide(&self, operations: &[u8], piece_bytes: usize) -> Vec<Piece> {
        assert!(operations.len() >= DIVIDED_BYTES && piece_bytes < DIVIDED_BYTES);
        (0..PIECES).map(|number| std::iter::once(number..number + 1).collect()).collect()
    }

    fn replay_piece(
        &self,
        (): &mut (),
        RecordPlace { end, .. }: RecordPlace,
        _: &[u8],
        _: &Piece,
    ) -> Result<()> {
        let record = (end / RECORD) as usize - 1;
        let done = self.pieces_done.load(Ordering::SeqCst);
        assert!((record * PIECES..(record + 1) * PIECES).contains(&done), "{done} pieces at record {record}");
        std::thread::yield_now();
        self.pieces_done.fetch_add(1, Ordering::SeqCst);
        if self.fails_at == Some(done) { Err(Error::corrupt("a bad piece")) } else { Ok(()) }
    }
}

struct LargeRecords(Range<u64>);

impl Source for LargeRecords {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        let Some(number) = self.0.next() else { return Ok(false) };
        batch.vectors.push(number * RECORD);
        batch.end = (number + 1) * RECORD;
        let operations = BatchBytes::Assembled(Arc::new(vec![0; DIVIDED_BYTES]));
        batch.entries.push(entry(number * RECORD, batch.end, 0, operations));
        Ok(true)
    }
}

fn run_divided(workers: usize, fails_at: Option<usize>) -> (Result<Replayed>, usize) {
    let replay = Arc::new(Dividing { fails_at, ..Dividing::default() });
    let options = ScheduleOptions { workers, mode: RecoveryMode::Parallel, is_total: false, after: 0 };
    let result = run(vec![(LargeRecords(0..50), 0..50 * RECORD)], Arc::clone(&replay), options);
    (result, replay.pieces_done.load(Ordering::SeqCst))
}

#[test]
fn a_large_record_is_done_when_all_its_pieces_are() {
    for workers in [2, 3, 5] {
        let (result, pieces) = run_divided(workers, None);
        assert_eq!(result.unwrap(), Replayed { transactions: 50, was_serial: false });
        assert_eq!(pieces, 50 * PIECES);
    }
}

#[test]
fn a_piece_that_fails_fails_the_replay() {
    for workers in [2, 4] {
        let (result, pieces) = run_divided(workers, Some(7 * PIECES + 5));
        assert_eq!(result.unwrap_err().to_string(), "a bad piece");
        assert!(pieces <= 8 * PIECES);
    }
}

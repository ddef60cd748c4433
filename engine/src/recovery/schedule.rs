//! Parallel replay: all logs of one incarnation, by any number of workers, each record after all that it
//! depends on.
//!
//! ```text
//!   log 0 --fill--> batch --pass--> ready? --yes--> replay --------------------> window 0 --> watermark 0 (RLV[0])
//!   log 1 --fill--> batch --pass-->   |                                          window 1 --> watermark 1 (RLV[1])
//!                                     no: park in the window of its log, and wait at the watermark of ONE log that blocks it
//!                                                                                     |
//!              watermark passes the position: look at the other logs; covered? replay | not: wait at the next one
//! ```
//!
//! A worker takes the next batch of the log that is furthest behind and that no other worker serves, decodes
//! it, and passes through it in log order. A record whose pre-append LV is covered by the watermarks is
//! replayed at once; the others are copied out and parked. Every few records ([`Grain`]) the worker publishes
//! its progress, and then replays whatever became ready by that, unless others steal it from the worker's
//! queue first. Taking a batch holds the log's source, decoding and replaying it does not, so that several
//! workers can serve one log.
//!
//! Files:
//! * `batch`: consecutive records of a log, and where they come from;
//! * `window`: which positions of a log are replayed; `watermark`: that as one number, and who waits for it;
//! * `needs`: what a record waits for; `waiting`: until it has come;
//! * `ready`: records that wait no longer, for the worker that has found them or for others;
//! * `grain`: how much is taken at once;
//! * `pieces`: large transactions, shared among workers;
//! * `low`: the time of which nothing earlier is left;
//! * `idle`: where workers sleep; `contention`: when one worker is faster; `serial`: that worker;
//! * `simulated`: all of this in simulated time.
//!
//! Most waiting is for anchors: a vector whose entries were left out reads as the last anchor, so nothing in
//! a log can be replayed before the other logs have come as far as its anchor says. A batch whose *floor*
//! (the anchor it begins under) is not covered is therefore held as a whole, with its log, until it is: one
//! entry in a wait list instead of hundreds of copied records.
//!
//! Why nothing waits for ever (pitfalls 2, 21): every entry of a stored LV precedes the record's own
//! reservation in real time, so among the first unfinished records of all logs the one reserved first depends
//! on nothing unfinished. It is inside its log's window, so it is parked and woken, or in a batch that a
//! worker passes through, or it can be handed out; a held batch waits for no more than each of its records
//! does.
//!
//! Invariants:
//! 1. A record is replayed once, and only when every entry of its pre-append LV is at most that log's
//!    watermark (or, for its own log, lies in the finished beginning of the current batch), and every record
//!    that it names by id has been replayed.
//! 2. A watermark never stands beyond an unfinished record of its log.
//! 3. A worker sleeps only with empty hands: it first replays or hands on what it has taken from a wait list.
//!
//! Reference: Taurus (VLDB 2020), section 3.3, algorithms 3 and 4; its pools are replaced by wait lists.

mod batch;
mod contention;
mod grain;
mod idle;
mod low;
mod needs;
mod pieces;
mod ready;
mod serial;
pub(super) mod simulated;
#[cfg(all(test, not(loom)))]
mod tests;
mod waiting;
mod watermark;
mod window;

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_deque::{Stealer, Worker as Deque};
use crossbeam_utils::CachePadded;
use hyades_types::error::{Error, Result};
use parking_lot::Mutex;
use smallvec::SmallVec;

pub(crate) use self::batch::{Batch, BatchBytes, BatchEntry, RecordPlace, Source, Undecoded};
use self::contention::Contention;
pub(crate) use self::grain::Grain;
use self::idle::{Idle, Woken};
use self::low::LogTimes;
use self::needs::{Blocking, Front, Needs};
pub(crate) use self::pieces::Piece;
use self::pieces::{InPieces, RecordBytes};
use self::watermark::Watermark;
use self::window::{OpenSlot, SlotNumber};
use super::workers::{self, Shared};
use crate::config::RecoveryMode;
use crate::protocol::RecordId;
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, LongLock, Ordering};

/// A log with this many blocked records, or this many bytes of them, hands out no more until half of them are
/// finished. The limits are low, because looking further ahead costs more (copies, wait lists that leave the
/// processor's caches) than it finds.
const WINDOW_RECORDS: usize = 1024;
const WINDOW_BYTES: usize = 16 << 20;
/// The time is asked for once in this many batches.
const BATCHES_BETWEEN_REPORTS: u32 = 16;
/// Progress is reported at most this often.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);

/// How transactions are replayed.
pub(crate) trait Replay: Send + Sync + 'static {
    /// What one worker keeps between records.
    type Scratch: Default;

    /// Installs a transaction.
    fn replay(&self, scratch: &mut Self::Scratch, place: RecordPlace, operations: &[u8]) -> Result<()>;

    /// Divides the operations of a large transaction into pieces of about this many bytes that several
    /// workers may replay at the same time, in any order. Empty if the transaction is to be replayed as a
    /// whole.
    fn divide(&self, operations: &[u8], piece_bytes: usize) -> Vec<Piece> {
        let _ = (operations, piece_bytes);
        Vec::new()
    }

    /// Installs a piece of the transaction.
    fn replay_piece(
        &self,
        scratch: &mut Self::Scratch,
        place: RecordPlace,
        operations: &[u8],
        piece: &Piece,
    ) -> Result<()> {
        piece.iter().try_for_each(|range| self.replay(scratch, place, &operations[range.clone()]))
    }

    /// Called when nothing can be replayed any more although this log has been handed out further than this
    /// position, with the error that will be the outcome.
    fn on_circle(&self, log: usize, position: u64, error: &Error) {
        let _ = (log, position, error);
    }

    /// Everything before this position of the log has been replayed. Called when the position has grown, by
    /// the worker that has raised it.
    fn on_watermark(&self, log: usize, position: u64) {
        let _ = (log, position);
    }

    /// Everything that is still to be replayed has a later commit time. Called when the time has grown,
    /// before the watermarks that have grown with it are reported, by a worker that replays nothing at the
    /// moment.
    fn on_low(&self, low: u64) {
        let _ = low;
    }

    /// Called now and then by one worker, and once at the end, with bytes of the stream handed out and
    /// transactions replayed so far.
    fn on_progress(&self, bytes_done: u64, transactions: u64) {
        let _ = (bytes_done, transactions);
    }
}

/// What [`run`] has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Replayed {
    pub(crate) transactions: u64,
    /// Whether one worker did it, from the beginning or from where the contention was found to be high.
    pub(crate) was_serial: bool,
}

/// How a schedule runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScheduleOptions {
    pub(crate) workers: usize,
    pub(crate) mode: RecoveryMode,
    /// Whether each record depends on all before it in its log: then more than one worker is of no use.
    pub(crate) is_total: bool,
    /// Everything that is to be replayed has a later commit time.
    pub(crate) after: u64,
}

/// A blocked record, copied out of its batch.
struct Parked {
    place: RecordPlace,
    slot: SlotNumber,
    start: u64,
    vector: SmallVec<[u64; 4]>,
    ids: SmallVec<[RecordId; 2]>,
    operations: RecordBytes,
}

impl Parked {
    fn needs(&self) -> Needs<'_> {
        Needs { vector: &self.vector, ids: &self.ids }
    }
}

/// What waits, at a watermark or for a record.
enum Waiter {
    Record(Box<Parked>),
    /// The held batch of this log.
    HeldBatch(usize),
}

/// A record that waits for nothing.
struct ReadyRecord(Box<Parked>);

/// A batch that its log's worker could not begin.
struct HeldBatch {
    batch: Batch,
    slot: OpenSlot,
}

struct Log<S> {
    source: LongLock<S>,
    /// The range of positions that is replayed, for choosing the log that is furthest behind.
    positions: Range<u64>,
    handed_out: AtomicU64,
    in_flight: AtomicUsize,
    is_exhausted: AtomicBool,
    front: CachePadded<Mutex<Front<Box<Parked>>>>,
    is_full: AtomicBool,
    held: Mutex<Option<HeldBatch>>,
    /// Whether a batch is held: nothing may be handed out before it.
    is_held: AtomicBool,
    /// Whether the held batch may be taken.
    is_released: AtomicBool,
    watermark: CachePadded<Watermark<Waiter>>,
    times: CachePadded<LogTimes>,
}

struct Schedule<S, R> {
    logs: Vec<Log<S>>,
    replay: Arc<R>,
    /// The records in the queue of each worker, to be stolen.
    ready: Vec<Stealer<ReadyRecord>>,
    in_pieces: InPieces,
    idle: Idle,
    /// See [`Grain`].
    published: usize,
    contention: Contention,
    /// The low time that was reported last.
    low: AtomicU64,
    transactions: AtomicU64,
    has_failed: AtomicBool,
    error: Mutex<Option<Error>>,
    reported: Mutex<Instant>,
}

/// What one worker owns.
struct Worker<R: Replay> {
    number: usize,
    scratch: R::Scratch,
    /// Watermarks as last seen: what these cover is covered.
    seen: Vec<u64>,
    /// Records taken from wait lists, covered, to be replayed before anything else, by any worker.
    ready: Deque<ReadyRecord>,
    /// Records of the current batch that are blocked and not yet parked: the entry, and by what.
    blocked: Vec<(usize, Blocking)>,
    woken: Vec<Waiter>,
    transactions: u64,
    batches: u32,
}

impl<R: Replay> Worker<R> {
    fn new(number: usize, ready: Deque<ReadyRecord>, logs: usize) -> Worker<R> {
        Worker {
            number,
            scratch: R::Scratch::default(),
            seen: vec![0; logs],
            ready,
            blocked: Vec::new(),
            woken: Vec::new(),
            transactions: 0,
            batches: 0,
        }
    }
}

/// What has become of a window.
#[derive(Clone, Copy)]
struct Moved {
    watermark: u64,
    /// Whether it had been full, and is no longer.
    is_open_again: bool,
}

/// A batch on its way through a worker.
struct Pass<'a> {
    log: usize,
    slot: SlotNumber,
    batch: &'a Batch,
    /// Everything before it was finished or set aside.
    position: u64,
    /// As far as the window knows.
    published: u64,
    /// Whether everything in the log before `position` is finished: then it covers dependencies on the
    /// record's own log.
    is_contiguous: bool,
}

/// Replays all logs: their sources, and where each begins and ends.
pub(crate) fn run<S: Source, R: Replay>(
    sources: Vec<(S, Range<u64>)>,
    replay: Arc<R>,
    options: ScheduleOptions,
) -> Result<Replayed> {
    let wants_one = options.is_total || options.mode == RecoveryMode::Serial;
    let workers = if wants_one { 1 } else { options.workers.max(1) };
    // Bounded: one for each worker.
    let mut queues: Vec<_> = (0..workers).map(|_| Deque::new_fifo()).collect();
    let schedule = Arc::new(Schedule::new(sources, replay, options, &queues));
    schedule.replay.on_low(options.after);
    let mut worker = Worker::new(0, queues.remove(0), schedule.logs.len());
    let was_parallel = workers > 1 && schedule.replay_in_parallel(queues, &mut worker)?;
    if !was_parallel {
        schedule.replay_serially(&mut worker);
    }
    let transactions = schedule.conclude()?;
    Ok(Replayed { transactions, was_serial: !was_parallel })
}

impl<S> Log<S> {
    /// Bytes handed out.
    fn bytes_done(&self) -> u64 {
        self.handed_out.load(Ordering::Relaxed) - self.positions.start
    }
}

impl<S: Source> Log<S> {
    /// Fills the batch with what comes next and opens a slot for it; `None` at the end of the log.
    fn read_on(&self, source: &mut S, batch: &mut Batch) -> Result<Option<OpenSlot>> {
        batch.clear();
        if !source.fill(batch)? {
            // After the last part has been handed out.
            self.is_exhausted.store(true, Ordering::Release);
            return Ok(None);
        }
        let slot = self.front.lock().window.open(batch.end);
        self.times.note_batch(slot.start, batch.since.unwrap_or(0));
        self.handed_out.store(batch.end, Ordering::Relaxed);
        Ok(Some(slot))
    }
}

impl<S: Source, R: Replay> Shared for Schedule<S, R> {
    fn fail(&self, error: Error) {
        self.error.lock().get_or_insert(error);
        self.has_failed.store(true, Ordering::Release);
        self.idle.stop();
    }
}

impl<S: Source, R: Replay> Schedule<S, R> {
    /// Of as many workers as there are queues.
    fn new(
        sources: Vec<(S, Range<u64>)>,
        replay: Arc<R>,
        options: ScheduleOptions,
        queues: &[Deque<ReadyRecord>],
    ) -> Schedule<S, R> {
        let logs = sources.into_iter().map(|(source, positions)| Log {
            source: LongLock::new(source),
            handed_out: AtomicU64::new(positions.start),
            in_flight: AtomicUsize::new(0),
            is_exhausted: AtomicBool::new(false),
            front: CachePadded::new(Mutex::new(Front::beginning_at(positions.start))),
            positions,
            is_full: AtomicBool::new(false),
            held: Mutex::new(None),
            is_held: AtomicBool::new(false),
            is_released: AtomicBool::new(false),
            watermark: CachePadded::new(Watermark::new()),
            times: CachePadded::new(LogTimes::later_than(options.after)),
        });
        // Bounded: one for each log.
        let logs: Vec<Log<S>> = logs.collect();
        for log in &logs {
            log.watermark.raise(log.front.lock().window.advance(), &mut Vec::new());
        }
        let workers = queues.len();
        Schedule {
            logs,
            replay,
            ready: queues.iter().map(Deque::stealer).collect(),
            in_pieces: InPieces::new(workers),
            idle: Idle::new(workers),
            published: Grain::of(workers).published,
            contention: Contention::new(options.mode),
            low: AtomicU64::new(options.after),
            transactions: AtomicU64::new(0),
            has_failed: AtomicBool::new(false),
            error: Mutex::new(None),
            reported: Mutex::new(crate::sync::now()),
        }
    }

    /// Returns true if that was all, and false if the contention was found to be high, so that one worker
    /// replays the rest.
    fn replay_in_parallel(
        self: &Arc<Self>,
        queues: Vec<Deque<ReadyRecord>>,
        worker: &mut Worker<R>,
    ) -> Result<bool> {
        let logs = self.logs.len();
        let others = (1..)
            .zip(queues)
            .map(|(number, queue)| move |shared: &Self| shared.work(&mut Worker::new(number, queue, logs)));
        workers::run(self, others, |shared| shared.work(worker))?;
        Ok(!self.contention.is_high())
    }

    /// Runs one worker until all is done, something fails, or the contention is found to be high.
    fn work(&self, worker: &mut Worker<R>) {
        let mut batch = Batch::default();
        while !self.contention.is_high() {
            match self.step(worker, &mut batch) {
                Ok(true) => {}
                Ok(false) => {
                    if !self.looks_for_work() && self.idle.sleep(|| self.has_work()) == Woken::Over {
                        break;
                    }
                }
                Err(error) => {
                    self.fail(error);
                    break;
                }
            }
        }
        self.count_transactions(worker);
    }

    fn count_transactions(&self, worker: &mut Worker<R>) -> u64 {
        let transactions = std::mem::take(&mut worker.transactions);
        self.transactions.fetch_add(transactions, Ordering::Relaxed) + transactions
    }

    /// Does one piece of work; false if there was none.
    fn step(&self, worker: &mut Worker<R>, batch: &mut Batch) -> Result<bool> {
        if self.has_failed.load(Ordering::Acquire) {
            return Ok(false);
        }
        if let Some(record) = self.steal(worker) {
            self.wake_another();
            self.replay_ready_record(worker, record)?;
            self.run_ready(worker)?;
            return Ok(true);
        }
        let Some((log, slot)) = self.take_batch(worker, batch)? else { return self.help(worker) };
        self.wake_another();
        batch.decode()?;
        self.pass(worker, log, slot, batch)?;
        self.logs[log].in_flight.fetch_sub(1, Ordering::Relaxed);
        self.report_progress(worker);
        Ok(true)
    }

    fn has_work(&self) -> bool {
        !self.has_failed.load(Ordering::Acquire)
            && (self.ready.iter().any(|queue| !queue.is_empty())
                || self.logs.iter().any(|log| self.is_open(log))
                || self.in_pieces.has_some())
    }

    /// Whether a batch of this log may be handed out.
    fn is_open(&self, log: &Log<S>) -> bool {
        if log.is_held.load(Ordering::Relaxed) {
            return log.is_released.load(Ordering::Relaxed);
        }
        !log.is_exhausted.load(Ordering::Relaxed) && !log.is_full.load(Ordering::Relaxed)
    }

    /// The logs of which a batch may be handed out, the one that is furthest behind first.
    fn candidates(&self) -> SmallVec<[usize; 8]> {
        let mut candidates: SmallVec<[(f64, usize); 8]> = SmallVec::new();
        for (number, log) in self.logs.iter().enumerate().filter(|(_, log)| self.is_open(log)) {
            let all = log.positions.end - log.positions.start;
            candidates.push((log.bytes_done() as f64 / all.max(1) as f64, number));
        }
        candidates.sort_by(|one, other| one.0.total_cmp(&other.0));
        // Bounded: one for each log.
        candidates.into_iter().map(|(_, number)| number).collect()
    }

    /// Takes the next batch of the log that is furthest behind, if possible of one that no other worker
    /// serves.
    fn take_batch(&self, worker: &mut Worker<R>, batch: &mut Batch) -> Result<Option<(usize, OpenSlot)>> {
        let candidates = self.candidates();
        for may_share in [false, true] {
            for number in &candidates {
                let log = &self.logs[*number];
                let source = match may_share {
                    // The worker that holds the source is about to hand out a batch: waiting for it is short.
                    true => Some(log.source.lock()),
                    false => log.source.try_lock().filter(|_| log.in_flight.load(Ordering::Relaxed) == 0),
                };
                if let Some(mut source) = source
                    && self.is_open(log)
                    && let Some(slot) = self.fill(worker, *number, &mut *source, batch)?
                {
                    log.in_flight.fetch_add(1, Ordering::Relaxed);
                    return Ok(Some((*number, slot)));
                }
            }
        }
        Ok(None)
    }

    /// Called with the log's source locked: slots are opened in log order, and at most one batch is held.
    fn fill(
        &self,
        worker: &mut Worker<R>,
        number: usize,
        source: &mut S,
        batch: &mut Batch,
    ) -> Result<Option<OpenSlot>> {
        let log = &self.logs[number];
        if log.is_held.load(Ordering::Relaxed) {
            let held = log.held.lock().take();
            log.is_released.store(false, Ordering::Relaxed);
            log.is_held.store(false, Ordering::Relaxed);
            return Ok(held.map(|held| {
                *batch = held.batch;
                held.slot
            }));
        }
        let Some(slot) = log.read_on(source, batch)? else {
            self.raise_low(number);
            return Ok(None);
        };
        let Some(blocking) = self.blocking_log(worker, &batch.floor, None) else { return Ok(Some(slot)) };
        let floor = batch.floor.clone();
        *log.held.lock() = Some(HeldBatch { batch: std::mem::take(batch), slot });
        log.is_held.store(true, Ordering::Relaxed);
        self.wait_for_floor(worker, blocking, number, &floor);
        Ok(None)
    }

    /// Waits at one log after another until one keeps the batch waiting, or releases it.
    fn wait_for_floor(&self, worker: &mut Worker<R>, blocking: usize, log: usize, floor: &[u64]) {
        let mut blocking = blocking;
        while self.logs[blocking].watermark.park(floor[blocking], Waiter::HeldBatch(log)).is_some() {
            match self.blocking_log(worker, floor, None) {
                Some(next) => blocking = next,
                None => {
                    self.logs[log].is_released.store(true, Ordering::Relaxed);
                    return self.idle.announce();
                }
            }
        }
    }

    /// Called when one watermark has passed the floor of a held batch.
    fn examine_held(&self, worker: &mut Worker<R>, log: usize) {
        let floor = self.logs[log].held.lock().as_ref().map(|held| held.batch.floor.clone());
        let Some(floor) = floor else { return };
        match self.blocking_log(worker, &floor, None) {
            Some(blocking) => self.wait_for_floor(worker, blocking, log, &floor),
            None => {
                self.logs[log].is_released.store(true, Ordering::Relaxed);
                self.idle.announce();
            }
        }
    }

    /// Replays or sets aside each record of the batch, in log order.
    fn pass(&self, worker: &mut Worker<R>, log: usize, slot: OpenSlot, batch: &Batch) -> Result<()> {
        let is_contiguous = self.logs[log].watermark.position() >= slot.start;
        let (slot, start) = (slot.number, slot.start);
        let mut pass = Pass { log, slot, batch, position: start, published: start, is_contiguous };
        let logs = self.logs.len();
        let mut blocked = 0;
        for (number, entry) in batch.entries.iter().enumerate() {
            // Records without an entry need no replay.
            pass.position = entry.start;
            match self.blocking(worker, batch.needs(number, logs), Some(&pass)) {
                None => {
                    self.replay_entry(worker, log, batch, entry)?;
                    worker.transactions += 1;
                }
                Some(blocking) => {
                    worker.blocked.push((number, blocking));
                    blocked += 1;
                    pass.is_contiguous = false;
                }
            }
            pass.position = entry.end;
            if number % self.published == self.published - 1 {
                self.publish(worker, &mut pass)?;
                if self.has_failed.load(Ordering::Relaxed) {
                    return Ok(());
                }
            }
        }
        pass.position = batch.end;
        if self.contention.count(batch.entries.len(), blocked) {
            tracing::info!("log records wait for each other most of the time: one worker replays the rest");
            self.idle.stop();
        }
        self.publish(worker, &mut pass)
    }

    /// The first log whose watermark does not cover the vector.
    fn blocking_log(&self, worker: &mut Worker<R>, vector: &[u64], pass: Option<&Pass<'_>>) -> Option<usize> {
        for (log, needed) in vector.iter().enumerate() {
            if *needed <= worker.seen[log] {
                continue;
            }
            if let Some(pass) = pass
                && pass.log == log
                && pass.is_contiguous
                && *needed <= pass.position
            {
                continue;
            }
            worker.seen[log] = self.logs[log].watermark.position();
            if *needed > worker.seen[log] {
                return Some(log);
            }
        }
        None
    }

    /// Tells the window how far the pass has come, parks what is blocked, and replays what became ready by
    /// that.
    fn publish(&self, worker: &mut Worker<R>, pass: &mut Pass<'_>) -> Result<()> {
        let moved = self.note_passed(worker, pass);
        self.tell_passed(worker, pass, moved);
        self.run_ready(worker)
    }

    fn note_passed(&self, worker: &mut Worker<R>, pass: &mut Pass<'_>) -> Moved {
        let log = &self.logs[pass.log];
        let mut front = log.front.lock();
        let window = &mut front.window;
        for (number, _) in &worker.blocked {
            let entry = &pass.batch.entries[*number];
            window.park(pass.slot, (entry.start, entry.end), pass.batch.operations(entry).len());
        }
        window.pass(pass.slot, pass.position);
        let is_full = window.parked_records() >= WINDOW_RECORDS || window.parked_bytes() >= WINDOW_BYTES;
        let was_full = log.is_full.swap(is_full, Ordering::Relaxed);
        let watermark = window.advance();
        let wake = |parked| worker.woken.push(Waiter::Record(parked));
        front.take_woken(pass.published, pass.position, wake);
        pass.published = pass.position;
        Moved { watermark, is_open_again: was_full && !is_full }
    }

    fn tell_passed(&self, worker: &mut Worker<R>, pass: &mut Pass<'_>, moved: Moved) {
        pass.is_contiguous = moved.watermark >= pass.position;
        self.tell_moved(worker, pass.log, moved);
        for (number, blocking) in std::mem::take(&mut worker.blocked) {
            let parked = self.copy_out(pass, number);
            self.wait_at(worker, blocking, parked);
        }
        self.examine_woken(worker);
    }

    fn tell_moved(&self, worker: &mut Worker<R>, log: usize, moved: Moved) {
        if moved.is_open_again {
            self.idle.announce();
        }
        self.raise(log, moved.watermark, worker);
    }

    fn raise(&self, log: usize, watermark: u64, worker: &mut Worker<R>) {
        self.logs[log].watermark.raise(watermark, &mut worker.woken);
        self.logs[log].times.pass(watermark);
        self.raise_low(log);
        self.replay.on_watermark(log, watermark);
    }

    /// The watermark of this log has grown, or it has been handed out.
    fn raise_low(&self, log: usize) {
        let log = &self.logs[log];
        let is_over = log.is_exhausted.load(Ordering::Acquire)
            && log.watermark.position() >= log.handed_out.load(Ordering::Relaxed);
        if is_over {
            log.times.end();
        }
        let low = self.logs.iter().map(|log| log.times.low()).min().unwrap_or(u64::MAX);
        if self.low.fetch_max(low, Ordering::Relaxed) < low {
            self.replay.on_low(low);
        }
    }

    fn copy_out(&self, pass: &Pass<'_>, number: usize) -> Box<Parked> {
        let entry = &pass.batch.entries[number];
        let needs = pass.batch.needs(number, self.logs.len());
        Box::new(Parked {
            place: entry.place(pass.log),
            slot: pass.slot,
            start: entry.start,
            vector: SmallVec::from_slice(needs.vector),
            ids: SmallVec::from_slice(needs.ids),
            operations: RecordBytes::of(pass.batch, entry).kept(),
        })
    }

    /// Looks whether the records that were woken wait for something else.
    fn examine_woken(&self, worker: &mut Worker<R>) {
        while let Some(waiter) = worker.woken.pop() {
            match waiter {
                Waiter::HeldBatch(log) => self.examine_held(worker, log),
                Waiter::Record(parked) => match self.blocking(worker, parked.needs(), None) {
                    None => self.offer(worker, parked),
                    Some(blocking) => self.wait_at(worker, blocking, parked),
                },
            }
        }
    }

    fn report_progress(&self, worker: &mut Worker<R>) {
        worker.batches += 1;
        if !worker.batches.is_multiple_of(BATCHES_BETWEEN_REPORTS) {
            return;
        }
        let transactions = self.count_transactions(worker);
        let now = crate::sync::now();
        {
            let mut reported = self.reported.lock();
            if now.duration_since(*reported) < PROGRESS_INTERVAL {
                return;
            }
            *reported = now;
        }
        let bytes_done = self.logs.iter().map(Log::bytes_done).sum();
        self.replay.on_progress(bytes_done, transactions);
    }

    /// The result, once all workers have finished.
    fn conclude(&self) -> Result<u64> {
        if let Some(error) = self.error.lock().take() {
            return Err(error);
        }
        for (number, log) in self.logs.iter().enumerate() {
            let position = log.watermark.position();
            if position < log.handed_out.load(Ordering::Relaxed) || !log.is_exhausted.load(Ordering::Relaxed)
            {
                let error = Error::corrupt(format!(
                    "log records wait for each other in a circle: log {number} cannot be replayed beyond position {position}"
                ));
                self.replay.on_circle(number, position, &error);
                return Err(error);
            }
        }
        let transactions = self.transactions.load(Ordering::Relaxed);
        let bytes_done = self.logs.iter().map(Log::bytes_done).sum();
        self.replay.on_progress(bytes_done, transactions);
        Ok(transactions)
    }
}

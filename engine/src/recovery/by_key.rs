//! Replay of what transactions have done to rows: the changes of one key in the order of their transactions,
//! those of different keys in any order.
//!
//! ```text
//!   log 0 --read--> batch --route--> changes, divided by key --\
//!   log 1 --read--> batch --route--> changes, divided by key ---+--> a round: all up to a time
//!                                                                      partition 0 --replay--> rows
//!                                                                      partition 1 --replay--> rows
//! ```
//!
//! A logged change of a row needs nothing but the changes of the same key before it. So nothing waits for a
//! position in another log. Which transactions count is known from the cut; here only their order matters.
//!
//! **Order.** Every transaction has an *order number*: its commit time, which was drawn while it held all its
//! locks. In a log that is alone, which has no anchors, the end of its record serves. A log has a *bound*:
//! all of its records that have not been read have later numbers. For times that is the time of the last
//! anchor that was read. What lies at or below the smallest bound of all logs is known completely.
//!
//! **Rounds.** When enough is known, all of it is replayed as a round. A key belongs to one of many
//! partitions, by a hash. A partition is taken by one worker, which sorts its changes of this round by table
//! and order number. Meanwhile others read on, and when all partitions are taken, the next round begins with
//! those that have ended. A worker reads rather than replays as long as less than the next round has been
//! read. One worker at a time reads a log, so it reads on, and others decode and divide what it has read.
//! Batches are kept until all that they hold has been replayed, and nothing in them is changed, so nothing is
//! copied.
//!
//! **Alone.** A change of the catalog, or a call, is replayed between two rounds: after everything before it,
//! and before everything after it.
//!
//! **When it ends early.** If a record or an anchor has no time (logs of older programs), if there are many
//! calls, or if the bounds of the logs lie so far apart that too much would have to be kept, the rest is left
//! to the schedule (`schedule`), which orders records by what they follow. Not so where the protocol's
//! records do not say what they follow.
//!
//! Invariants:
//! 1. A round has all records that count between the round before it and its own last number: each log's
//!    bound is at least that number.
//! 2. All changes of a key in a round are in one partition, and one worker replays them in the order of their
//!    numbers, those of one transaction in its own order.
//! 3. A partition of a round begins when that of the round before it has ended.
//!
//! Reference: Zheng, Tu, Kohler, Liskov: "Fast Databases with Fast Durability and Recovery Through Multicore
//! Parallelism", OSDI 2014, replays values in any order and keeps the newest of each row. Rows that are
//! patched need the order, which partitions give for nothing.

mod routing;
pub(super) mod simulated;
mod state;
#[cfg(all(test, not(loom)))]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use hyades_types::error::{Error, Result};

use self::routing::{Alone, Router};
use self::state::{Next, Read, Round, State, changes_of};
use super::schedule::{Batch, RecordPlace, Replay, Source};
use super::workers::{self, Shared};
use crate::sync::{Condvar, LongLock};

/// Partitions for each worker: so many that an uneven one holds no other up.
const PARTITIONS_PER_WORKER: usize = 8;
const MOST_PARTITIONS: usize = 256;

/// What a transaction's operations are to this replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// All of them were passed on, or are not to be replayed.
    Rows,
    /// A call, which may read and write anything. Nothing of it counts that was passed on before.
    Call,
    /// A change of the catalog. The same.
    Catalog,
}

/// A change of one row, or of something else that needs no order with rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Keyed {
    /// Of the table and the key.
    pub(crate) hash: u64,
    /// Groups the changes of a partition. Any number if it is no row.
    pub(crate) table: u32,
    /// Where it is in the operations.
    pub(crate) range: Range<usize>,
}

/// A change that is to be replayed, with its log and the end of its record.
pub(crate) type PlacedChange<'r> = ((usize, u64), &'r [u8]);

/// How changes are replayed key by key.
pub(crate) trait ReplayByKey: Replay {
    /// Passes on each change that is to be replayed, in order.
    ///
    /// # Errors
    /// Bytes that are no operations.
    fn route(&self, place: (usize, u64), operations: &[u8], pass: impl FnMut(Keyed)) -> Result<Kind>;

    /// Replays changes in this order.
    fn replay_changes<'r>(
        &self,
        scratch: &mut Self::Scratch,
        changes: impl Iterator<Item = PlacedChange<'r>>,
    ) -> Result<()>;
}

/// What gives transactions their order numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbering {
    /// Their commit times.
    Time,
    /// Their places in the only log.
    Place,
}

impl Numbering {
    /// The bound of a log that has been read up to the end of this batch, if the log says.
    fn bound_after(self, batch: &Batch) -> Option<u64> {
        match self {
            Numbering::Time => batch.bound,
            Numbering::Place => Some(batch.end),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ByKeyOptions {
    pub(crate) workers: usize,
    pub(crate) numbering: Numbering,
    /// Nothing in the logs that is to be replayed has an order number up to this.
    pub(crate) after: u64,
    /// Nothing may be left to the schedule, which knows no order of these records.
    pub(crate) is_all: bool,
}

/// What [`run`] has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Replayed {
    pub(crate) transactions: u64,
    /// What is left, unless that was all.
    pub(crate) rest: Option<Rest>,
}

/// See [`Replayed`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rest {
    /// Where a reader of each log must begin that has replayed only what has been.
    pub(crate) from: Vec<u64>,
    /// Records after that have been replayed if their order number is not above this.
    pub(crate) replayed: u64,
}

struct ByKey<S, R> {
    sources: Vec<LongLock<S>>,
    replay: Arc<R>,
    numbering: Numbering,
    partitions: usize,
    state: LongLock<State>,
    changed: Condvar,
}

/// Into how many partitions keys are divided.
fn partitions(workers: usize) -> usize {
    if workers == 1 { 1 } else { (workers * PARTITIONS_PER_WORKER).min(MOST_PARTITIONS) }
}

/// Replays all logs: their sources, and where each begins and ends.
pub(crate) fn run<S: Source, R: ReplayByKey>(
    sources: Vec<(S, Range<u64>)>,
    replay: Arc<R>,
    options: ByKeyOptions,
) -> Result<Replayed> {
    let workers = options.workers.max(1);
    let (sources, positions): (Vec<_>, Vec<_>) = sources.into_iter().unzip();
    let partitions = partitions(workers);
    let shared = Arc::new(ByKey {
        sources: sources.into_iter().map(LongLock::new).collect(),
        replay,
        numbering: options.numbering,
        partitions,
        state: LongLock::new(
            State::new(&positions, partitions, workers, options.after).for_all(options.is_all),
        ),
        changed: Condvar::new(),
    });
    let others = (1..workers).map(|_| ByKey::work);
    workers::run(&shared, others, ByKey::work)?;
    let done = shared.state.lock().conclude()?;
    let bytes_done = shared.state.lock().bytes_done();
    shared.replay.on_progress(bytes_done, done.transactions);
    Ok(done)
}

impl<S: Source, R: ReplayByKey> Shared for ByKey<S, R> {
    fn fail(&self, error: Error) {
        self.state.lock().fail(error);
        self.changed.notify_all();
    }
}

impl<S: Source, R: ReplayByKey> ByKey<S, R> {
    fn work(&self) {
        let mut scratch = R::Scratch::default();
        let mut router = Router::new(self.partitions);
        loop {
            let next = self.wait_for_next();
            let done = match next {
                Next::Over => return,
                Next::Read(read) => self.read(read),
                Next::Route(read) => self.route(&mut router, read),
                Next::Replay(round, partition) => self.replay_partition(&mut scratch, &round, partition),
                Next::Alone(alone) => self.replay_alone(&mut scratch, &alone),
            };
            if let Err(error) = done {
                self.fail(error);
            }
        }
    }

    fn wait_for_next(&self) -> Next {
        let mut state = self.state.lock();
        loop {
            match state.next() {
                Some((next, wakes_others)) => {
                    drop(state);
                    if wakes_others {
                        self.changed.notify_all();
                    }
                    return next;
                }
                None => self.changed.wait(&mut state),
            }
        }
    }

    fn read(&self, mut read: Read) -> Result<()> {
        read.batch.clear();
        let mut source = self.sources[read.log].lock();
        let is_end = !source.fill(&mut read.batch)?;
        let bound = self.numbering.bound_after(&read.batch);
        self.state.lock().note_read(read, is_end, bound);
        drop(source);
        // Another one routes what was read, or reads on.
        self.changed.notify_one();
        Ok(())
    }

    fn route(&self, router: &mut Router, mut read: Read) -> Result<()> {
        read.batch.decode()?;
        let routed = router.route(self.replay.as_ref(), read.log, &read.batch, self.numbering)?;
        self.state.lock().note_routed(read, routed);
        Ok(())
    }

    fn replay_partition(&self, scratch: &mut R::Scratch, round: &Arc<Round>, partition: usize) -> Result<()> {
        let due = round.due(partition);
        self.replay.replay_changes(scratch, changes_of(&due))?;
        let transactions = round.transactions(partition, self.partitions);
        let ended = self.state.lock().end_partition(round, partition, transactions);
        if let Some(ended) = ended {
            self.changed.notify_all();
            ended.watermarks.iter().for_each(|(log, position)| self.replay.on_watermark(*log, *position));
            if let Some((bytes_done, transactions)) = ended.progress {
                self.replay.on_progress(bytes_done, transactions);
            }
        }
        Ok(())
    }

    fn replay_alone(&self, scratch: &mut R::Scratch, alone: &Alone) -> Result<()> {
        let time = (self.numbering == Numbering::Time).then_some(alone.number);
        let place = RecordPlace { log: alone.log, end: alone.end, time };
        self.replay.replay(scratch, place, alone.operations())?;
        // No other worker replays anything at the moment.
        self.replay.on_low(alone.number);
        let watermarks = self.state.lock().end_alone(alone);
        self.changed.notify_all();
        watermarks.iter().for_each(|(log, position)| self.replay.on_watermark(*log, *position));
        Ok(())
    }
}

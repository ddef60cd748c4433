//! What has been read, what has been replayed, and what a worker does next.

#[cfg(all(test, not(loom)))]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyades_types::error::{Error, Result};

use super::routing::{Alone, Change, LAST, NEVER, Routed};
use super::{PlacedChange, Replayed, Rest};
use crate::mutant::{self, Mutant};
use crate::recovery::schedule::Batch;
use crate::storage::prefetch::prefetch;

/// A round has at least this many bytes of the logs for each worker: so few that they are still in the caches
/// when they are replayed. The first ones have fewer: logs that have to be left to the schedule show that
/// early.
const ROUND_BYTES_PER_WORKER: u64 = 256 << 10;
const FIRST_ROUND_BYTES: u64 = 64 << 10;
/// Of what is not replayed, so much for each worker is read ahead.
const AHEAD_ROUNDS: u64 = 8;
/// If more than this has been read and cannot be replayed, it is left to the schedule.
const MOST_BYTES: u64 = 256 << 20;
/// So many calls are always replayed alone; of more, only one among so many records.
const CALLS: usize = 32;
const RECORDS_PER_CALL: usize = 64;
/// While the last partitions of a round are replayed, the next one begins with those that have ended.
const MOST_ROUNDS: usize = 2;
/// The bytes of so many changes are on their way from memory, at most so many of each.
const PREFETCHED_AHEAD: usize = 16;
const MOST_PREFETCHED: usize = 256;
/// Progress is reported at most this often.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);

/// What a worker does next.
pub(super) enum Next {
    /// Reads what comes next in a log into the batch.
    Read(Read),
    /// Routes a batch that has been read.
    Route(Read),
    Replay(Arc<Round>, usize),
    Alone(Alone),
    Over,
}

/// A batch, and the part of its log that it is.
pub(super) struct Read {
    pub(super) log: usize,
    pub(super) slot: u64,
    pub(super) batch: Batch,
}

/// A batch of a log, from when it is read until all of it has been replayed.
struct Part {
    /// Up to where the log has been read with it.
    read_to: u64,
    bytes: u64,
    /// The bound of the log after it.
    bound: u64,
    /// As in its batch.
    go_on_from: u64,
    routed: Option<Arc<Routed>>,
    /// The largest number of a record, once it has been routed.
    last: u64,
}

struct Log {
    positions: Range<u64>,
    read_to: u64,
    /// Of these, bytes that were not read.
    skipped_bytes: u64,
    /// The bound after what has been read.
    read_bound: u64,
    is_read: bool,
    is_exhausted: bool,
    parts: VecDeque<Part>,
    /// The number of the first part.
    first: u64,
    /// Bytes of all parts.
    pending: u64,
    /// How many of the first parts have been routed without a gap.
    routed: usize,
    /// The first parts that a round would complete.
    complete: FirstParts,
    /// The first parts up to the smallest bound of all that has been read.
    comparable: FirstParts,
    /// The bound after the parts that have been routed without a gap, those before `parts` included.
    bound: u64,
    /// As in the last part that has left `parts`.
    go_on_from: u64,
    /// Up to where the parts reach that have left `parts`.
    left_to: u64,
    watermark: u64,
}

/// How many of the first parts of a log there are of some kind, and their bytes.
#[derive(Default)]
struct FirstParts {
    count: usize,
    bytes: u64,
}

impl FirstParts {
    /// Returns the bytes with the parts that now are of that kind as well.
    fn extend(&mut self, parts: &VecDeque<Part>, are: impl Fn(&Part) -> bool) -> u64 {
        while let Some(part) = parts.get(self.count).filter(|part| are(part)) {
            self.count += 1;
            self.bytes += part.bytes;
        }
        self.bytes
    }

    /// The first part is no longer there.
    fn leave(&mut self, part: &Part) {
        if self.count > 0 {
            self.count -= 1;
            self.bytes -= part.bytes;
        }
    }
}

/// See the module head.
pub(super) struct State {
    logs: Vec<Log>,
    partitions: usize,
    round_bytes: u64,
    full_round_bytes: u64,
    /// Everything up to this number has been replayed.
    replayed: u64,
    alone: BTreeMap<u64, Alone>,
    /// The oldest first, at most [`MOST_ROUNDS`].
    rounds: VecDeque<Running>,
    /// Whether a worker waits for a partition that the round before has not ended.
    is_partition_awaited: bool,
    is_one_alone: bool,
    /// Batches that are being read or have not been routed.
    reading: usize,
    /// Those that have been read.
    read: VecDeque<Read>,
    /// The memory of routed ones.
    free: Vec<Batch>,
    records: usize,
    calls: usize,
    transactions: u64,
    /// What remains is left to the schedule ...
    gives_up: bool,
    /// ... which may not be.
    is_all: bool,
    is_over: bool,
    error: Option<Error>,
    reported: Instant,
}

struct Running {
    round: Arc<Round>,
    /// The next partition.
    next: usize,
    /// Which partitions have been replayed, and how many have not.
    has_ended: Vec<bool>,
    left: usize,
    /// Transactions of those that have.
    transactions: u64,
    /// Bytes of the parts that it completes.
    bytes: u64,
}

/// All records with a number in a range.
pub(super) struct Round {
    after: u64,
    up_to: u64,
    batches: Vec<Arc<Routed>>,
}

/// A change of a partition in a round.
pub(super) struct Due<'r> {
    batch: &'r Routed,
    change: Change,
}

/// What the end of a round has brought.
pub(super) struct Ended {
    /// Positions of logs up to which everything has been replayed.
    pub(super) watermarks: Vec<(usize, u64)>,
    /// Bytes and transactions, if it is time to report them.
    pub(super) progress: Option<(u64, u64)>,
}

impl Round {
    /// The changes of a partition, in the order of their replay.
    pub(super) fn due(&self, partition: usize) -> Vec<Due<'_>> {
        let mut due = Vec::new();
        for batch in &self.batches {
            for &change in batch.partition(partition) {
                if change.number > self.after && change.number <= self.up_to {
                    due.push(Due { batch, change });
                }
            }
        }
        // Stable: the changes of one transaction keep their order.
        due.sort_by_key(|due| (due.change.table, due.change.number));
        due
    }

    /// How many of its transactions are counted with this one of so many partitions: those of some of its
    /// batches. With all partitions, each is counted once.
    pub(super) fn transactions(&self, partition: usize, partitions: usize) -> u64 {
        let is_in = |number: u64| number > self.after && number <= self.up_to;
        let batches = self.batches.iter().skip(partition).step_by(partitions);
        let count = |batch: &Arc<Routed>| match is_in(batch.first) && is_in(batch.last) {
            true => batch.records.len(),
            false => batch.records.iter().filter(|record| is_in(record.number)).count(),
        };
        batches.map(count).sum::<usize>() as u64
    }
}

/// The changes, while the bytes of later ones are on their way: another worker has read them last.
pub(super) fn changes_of<'d>(due: &'d [Due<'_>]) -> impl Iterator<Item = PlacedChange<'d>> {
    due.iter().take(PREFETCHED_AHEAD).for_each(Due::prefetch);
    due.iter().enumerate().map(|(number, one)| {
        if let Some(ahead) = due.get(number + PREFETCHED_AHEAD) {
            ahead.prefetch();
        }
        one.change()
    })
}

impl Due<'_> {
    fn change(&self) -> PlacedChange<'_> {
        ((self.batch.log, self.change.end), self.batch.bytes(self.change))
    }

    fn prefetch(&self) {
        let bytes = self.batch.bytes(self.change);
        prefetch(bytes.as_ptr(), bytes.len().min(MOST_PREFETCHED));
    }
}

impl Log {
    fn new(positions: &Range<u64>, after: u64) -> Log {
        Log {
            positions: positions.clone(),
            read_to: positions.start,
            skipped_bytes: 0,
            read_bound: after,
            is_read: false,
            is_exhausted: false,
            parts: VecDeque::new(),
            first: 0,
            pending: 0,
            routed: 0,
            complete: FirstParts::default(),
            comparable: FirstParts::default(),
            bound: after,
            go_on_from: positions.start,
            left_to: positions.start,
            watermark: positions.start,
        }
    }

    /// Forgets the parts at the front that have been replayed. Returns the watermark, if it has grown.
    fn leave(&mut self, replayed: u64) -> Option<u64> {
        while let Some(part) = self.parts.front()
            && part.routed.is_some()
            && part.last <= replayed
        {
            (self.left_to, self.go_on_from) = (part.read_to, part.go_on_from);
            self.pending -= part.bytes;
            self.complete.leave(part);
            self.comparable.leave(part);
            self.routed -= 1;
            self.parts.pop_front();
            self.first += 1;
        }
        let routed = self.parts.front().and_then(|part| part.routed.as_ref());
        let first = routed.and_then(|routed| routed.records.iter().find(|record| record.number > replayed));
        // Where only parts of a log are read, what was read later may begin before a record
        // of the first part.
        let most = self.parts.front().map_or(u64::MAX, |part| part.read_to);
        let watermark = first.map_or(self.left_to, |record| record.start.min(most));
        let has_grown = watermark > self.watermark;
        self.watermark = watermark;
        has_grown.then_some(watermark)
    }

    /// Bytes of the first parts that a round up to this number would complete. The number only grows.
    fn complete_bytes(&mut self, up_to: u64) -> u64 {
        self.complete.extend(&self.parts, |part| part.routed.is_some() && part.last <= up_to)
    }

    /// Bytes of the first parts with a bound up to this number. The number only grows.
    fn comparable_bytes(&mut self, up_to: u64) -> u64 {
        self.comparable.extend(&self.parts, |part| part.bound <= up_to)
    }

    /// The batches that have records with a number after one and up to another. Whatever comes after a part
    /// is later than its bound.
    fn between(&self, after: u64, up_to: u64) -> impl Iterator<Item = &Arc<Routed>> {
        let mut is_before = true;
        let parts = self.parts.iter().take_while(move |part| {
            let takes = is_before;
            is_before = part.bound < up_to;
            takes
        });
        let routed = parts.filter_map(|part| part.routed.as_ref());
        routed.filter(move |routed| routed.last > after && routed.first <= up_to)
    }

    fn note_routed(&mut self, slot: u64, routed: Routed) {
        if let Some(part) = self.parts.get_mut((slot - self.first) as usize) {
            part.last = routed.last;
            part.routed = Some(Arc::new(routed));
        }
        while let Some(part) = self.parts.get(self.routed).filter(|part| part.routed.is_some()) {
            self.routed += 1;
            self.bound = part.bound.max(self.bound);
        }
    }

    /// See [`Rest::from`]. Everything that was read has been routed.
    fn rest_from(&self, replayed: u64) -> u64 {
        let go_on_from = self.parts.back().map_or(self.go_on_from, |part| part.go_on_from);
        let routed = self.parts.iter().filter_map(|part| part.routed.as_ref());
        let left = routed.flat_map(|routed| &routed.records).filter(|record| record.number > replayed);
        left.map(|record| record.from).fold(go_on_from, u64::min)
    }
}

impl State {
    pub(super) fn new(positions: &[Range<u64>], partitions: usize, workers: usize, after: u64) -> State {
        State {
            logs: positions.iter().map(|positions| Log::new(positions, after)).collect(),
            partitions,
            round_bytes: FIRST_ROUND_BYTES,
            full_round_bytes: ROUND_BYTES_PER_WORKER * workers as u64,
            replayed: after,
            alone: BTreeMap::new(),
            rounds: VecDeque::new(),
            is_partition_awaited: false,
            is_one_alone: false,
            reading: 0,
            read: VecDeque::new(),
            free: Vec::new(),
            records: 0,
            calls: 0,
            transactions: 0,
            gives_up: false,
            is_all: false,
            is_over: false,
            error: None,
            reported: crate::sync::now(),
        }
    }

    /// See [`super::ByKeyOptions::is_all`].
    #[must_use]
    pub(super) fn for_all(self, is_all: bool) -> State {
        State { is_all, ..self }
    }

    /// Leaves what remains to the schedule, for this reason.
    fn give_up(&mut self, reason: &str) {
        match self.is_all {
            true => self.fail(Error::corrupt(format!("the logs cannot be replayed: {reason}"))),
            false => self.gives_up = true,
        }
    }

    pub(super) fn fail(&mut self, error: Error) {
        self.error.get_or_insert(error);
        self.is_over = true;
    }

    /// What a worker does next, and whether others have something to do as well; `None` if it must wait.
    pub(super) fn next(&mut self) -> Option<(Next, bool)> {
        if self.is_over {
            return Some((Next::Over, false));
        }
        if self.is_short()
            && let Some(next) = self.read_on()
        {
            return Some((next, std::mem::take(&mut self.is_partition_awaited)));
        }
        if let Some(read) = self.read.pop_front() {
            return Some((Next::Route(read), std::mem::take(&mut self.is_partition_awaited)));
        }
        if let Some(next) = self.next_partition() {
            return Some((next, std::mem::take(&mut self.is_partition_awaited)));
        }
        if let Some(next) = self.begin(true) {
            return Some((next, true));
        }
        if let Some(next) = self.read_on() {
            return Some((next, false));
        }
        if self.reading > 0 || !self.rounds.is_empty() || self.is_one_alone {
            return None;
        }
        if let Some(next) = self.begin(false) {
            return Some((next, true));
        }
        // What has not been read would be too much to keep.
        if self.logs.iter().any(|log| !log.is_exhausted) {
            self.give_up("they do not say what comes first");
        }
        self.is_over = true;
        Some((Next::Over, true))
    }

    pub(super) fn is_round_running(&self) -> bool {
        !self.rounds.is_empty()
    }

    fn pending(&self) -> u64 {
        self.logs.iter().map(|log| log.pending).sum()
    }

    /// Whether what has been read of all logs, up to the one that is furthest behind, is not enough for the
    /// next round. Then reading comes first, because a log is read by one worker at a time, and a round is
    /// replayed by all that are left.
    fn is_short(&mut self) -> bool {
        let begun: u64 = self.rounds.iter().map(|running| running.bytes).sum();
        let known = self.logs.iter().map(|log| log.read_bound).min().unwrap_or(LAST);
        let comparable: u64 = self.logs.iter_mut().map(|log| log.comparable_bytes(known)).sum();
        comparable.saturating_sub(begun) < self.round_bytes
    }

    fn read_on(&mut self) -> Option<Next> {
        let log = self.log_to_read()?;
        let slot = self.logs[log].first + self.logs[log].parts.len() as u64;
        self.logs[log].is_read = true;
        self.reading += 1;
        let batch = self.free.pop().unwrap_or_default();
        Some(Next::Read(Read { log, slot, batch }))
    }

    fn next_partition(&mut self) -> Option<Next> {
        let place = self.rounds.iter().position(|running| running.next < self.partitions)?;
        let next = self.rounds[place].next;
        if place > 0 && !self.rounds[place - 1].has_ended[next] {
            self.is_partition_awaited = true;
            return None;
        }
        let running = &mut self.rounds[place];
        running.next += 1;
        Some(Next::Replay(Arc::clone(&running.round), next))
    }

    /// Begins a round, if enough is known, or whatever is known; or what comes alone.
    fn begin(&mut self, only_if_enough: bool) -> Option<Next> {
        let is_handed_out = |running: &Running| running.next == self.partitions;
        if self.rounds.len() == MOST_ROUNDS
            || !self.rounds.iter().all(is_handed_out)
            || self.is_one_alone
            || self.gives_up
        {
            return None;
        }
        let bounds = self.logs.iter().map(|log| log.bound);
        let known = match mutant::is_active(Mutant::BoundOfTheFurthest) {
            true => bounds.max(),
            false => bounds.min(),
        };
        let known = known.unwrap_or(LAST);
        let first = self.alone.first_key_value().map(|(number, _)| *number).filter(|first| *first <= known);
        let begun = self.rounds.back().map_or(self.replayed, |running| running.round.up_to);
        if let Some(first) = first
            && begun >= first.saturating_sub(1)
        {
            if !self.rounds.is_empty() {
                return None;
            }
            self.is_one_alone = true;
            return self.alone.remove(&first).map(Next::Alone);
        }
        let up_to = first.map_or(known, |first| first.saturating_sub(1));
        if up_to <= begun {
            return None;
        }
        let begun_bytes: u64 = self.rounds.iter().map(|running| running.bytes).sum();
        let bytes = self.complete_bytes(up_to).saturating_sub(begun_bytes);
        if only_if_enough && first.is_none() && bytes < self.round_bytes {
            return None;
        }
        self.round_bytes = (self.round_bytes * 2).min(self.full_round_bytes);
        let batches = self.logs.iter().flat_map(|log| log.between(begun, up_to));
        // Bounded: by what is read ahead.
        let batches = batches.map(Arc::clone).collect();
        let round = Arc::new(Round { after: begun, up_to, batches });
        let (has_ended, left) = (vec![false; self.partitions], self.partitions);
        self.rounds.push_back(Running { round, next: 0, has_ended, left, transactions: 0, bytes });
        self.next_partition()
    }

    /// Bytes of parts that a round up to this number would complete.
    fn complete_bytes(&mut self, up_to: u64) -> u64 {
        self.logs.iter_mut().map(|log| log.complete_bytes(up_to)).sum()
    }

    /// The log that is furthest behind, if it can be read now. Only that one is read beyond what is kept.
    fn log_to_read(&self) -> Option<usize> {
        let pending = self.pending();
        if self.gives_up || (pending > MOST_BYTES && !self.is_all) {
            return None;
        }
        let is_far_ahead = pending >= self.full_round_bytes * AHEAD_ROUNDS;
        let may_be_read = |log: &&(usize, &Log)| !log.1.is_exhausted && (is_far_ahead || !log.1.is_read);
        let behind = |log: &(usize, &Log)| (log.1.read_bound, log.1.read_to - log.1.positions.start);
        let furthest = self.logs.iter().enumerate().filter(|log| may_be_read(&log)).min_by_key(behind)?;
        (!furthest.1.is_read).then_some(furthest.0)
    }

    /// A log has been read on, or to its end.
    pub(super) fn note_read(&mut self, read: Read, is_end: bool, bound: Option<u64>) {
        let Read { log: number, ref batch, .. } = read;
        let log = &mut self.logs[number];
        log.is_read = false;
        log.is_exhausted |= is_end;
        let read_to = if is_end { log.positions.end } else { batch.end };
        log.read_bound = if is_end { LAST } else { bound.unwrap_or(0).max(log.read_bound) };
        let passed_bytes = read_to - log.read_to;
        let read_bytes = batch.read_bytes.unwrap_or(passed_bytes);
        log.skipped_bytes += passed_bytes.saturating_sub(read_bytes);
        let bytes = read_bytes + batch.assembled_bytes as u64;
        let go_on_from = if is_end { read_to } else { batch.go_on_from };
        let bound = log.read_bound;
        log.parts.push_back(Part { read_to, bytes, bound, go_on_from, routed: None, last: 0 });
        log.pending += bytes;
        log.read_to = read_to;
        if batch.is_undated {
            self.give_up("they are of an older program");
        }
        match is_end {
            true => self.note_routed(read, Routed::default()),
            false => self.read.push_back(read),
        }
    }

    pub(super) fn note_routed(&mut self, read: Read, mut routed: Routed) {
        let Read { log, slot, mut batch } = read;
        // What was routed keeps the bytes as long as they are needed.
        batch.clear();
        batch.bytes = Arc::default();
        self.free.push(batch);
        self.reading -= 1;
        self.records += routed.records.len();
        self.calls += routed.calls;
        if routed.last == NEVER {
            self.give_up("a transaction has no commit time");
        }
        self.gives_up |=
            !self.is_all && self.calls > CALLS && self.calls.saturating_mul(RECORDS_PER_CALL) > self.records;
        for alone in routed.alone.drain(..) {
            let (log, number) = (alone.log, alone.number);
            if let Some(other) = self.alone.insert(number, alone) {
                let logs = format!("logs {} and {log}", other.log);
                self.fail(Error::corrupt(format!(
                    "{logs} are damaged: two transactions have the time {number}"
                )));
            }
        }
        self.logs[log].note_routed(slot, routed);
    }

    /// A partition of a round has been replayed, with so many transactions ([`Round::transactions`]). Returns
    /// something if the round has ended.
    pub(super) fn end_partition(
        &mut self,
        round: &Arc<Round>,
        partition: usize,
        transactions: u64,
    ) -> Option<Ended> {
        let running = self.rounds.iter_mut().find(|running| Arc::ptr_eq(&running.round, round))?;
        running.has_ended[partition] = true;
        running.left -= 1;
        running.transactions += transactions;
        // A round ends before the one after it, each of whose partitions has waited for one of it.
        let Running { round, transactions, .. } = self.rounds.pop_front_if(|running| running.left == 0)?;
        self.transactions += transactions;
        let watermarks = self.raise(round.up_to);
        let now = crate::sync::now();
        let is_due = now.duration_since(self.reported) >= PROGRESS_INTERVAL;
        let progress = is_due.then(|| {
            self.reported = now;
            (self.bytes_done(), self.transactions)
        });
        Some(Ended { watermarks, progress })
    }

    pub(super) fn end_alone(&mut self, alone: &Alone) -> Vec<(usize, u64)> {
        self.is_one_alone = false;
        self.transactions += 1;
        self.raise(alone.number)
    }

    /// Everything up to this number has been replayed. Returns the logs whose watermark has grown.
    fn raise(&mut self, replayed: u64) -> Vec<(usize, u64)> {
        self.replayed = replayed;
        let logs = self.logs.iter_mut().enumerate();
        logs.filter_map(|(number, log)| Some((number, log.leave(replayed)?))).collect()
    }

    pub(super) fn bytes_done(&self) -> u64 {
        self.logs.iter().map(|log| log.read_to - log.positions.start - log.skipped_bytes).sum()
    }

    /// The result, once no worker is at work.
    pub(super) fn conclude(&mut self) -> Result<Replayed> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let replayed = self.replayed;
        let rest = self
            .gives_up
            .then(|| Rest { from: self.logs.iter().map(|log| log.rest_from(replayed)).collect(), replayed });
        Ok(Replayed { transactions: self.transactions, rest })
    }
}

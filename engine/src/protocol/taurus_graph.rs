//! Taurus with a dependency graph: parallel logs whose records name the transactions that they follow.
//!
//! # Paper
//! Yu, Zhu, Kaashoek, Pavlo, Devadas: "Taurus: A Parallel Transaction Recovery Method Based on
//! Fine-Granularity Dependency Tracking", 2016, algorithms 1 to 6. The predecessor of the protocol in
//! `taurus`, which keeps an LSN vector where this one keeps a list. Data and command logging, freely mixed.
//!
//! # Idea
//! A transaction's id is its place: the log, and where its record ends there. A row leads to the id of its
//! last writer. A transaction collects the ids of those whose work it has seen or overwritten, its
//! *predecessors*, and its record lists them. After a crash it counts if its record is there and all its
//! predecessors count. So it does not depend on what merely lies before it in some log.
//!
//! # Log record
//! ```text
//!   | header | 2 * ids (+ 1: with positions) | positions | ids, ascending, as differences | operations |
//!   | header | anchor: time, settled position of every log |            (appended by the loggers)
//! ```
//! *Positions* (`vectors`) say: all that lies in these logs up to there. A list that is too long becomes
//! positions, and so does what a schema change follows.
//!
//! # Invariants
//! 1. An id is left with the transaction's rows when its place is known, and before a lock is free. The paper
//!    sets `last_writer` first and then writes the record (algorithm 2), so that an id could be read that no
//!    log has.
//! 2. Predecessors are final before the place is reserved: each has its place before its successor, in real
//!    time, so there are no cycles.
//! 3. The commit dependency table (`commit_table`) has the *predecessor vector* of each transaction, from
//!    before its id can be read until it counts whatever happens: up to where each log must be durable for
//!    it and all that it follows.
//! 4. A position is *settled* if every transaction of its log up to there counts whatever happens
//!    (`settled`). Durable is not enough: a record can be durable before what it follows. Only settled
//!    positions are left out of records and lists, stand in anchors, and let ids be forgotten.
//! 5. Positions in a record are closed: with each transaction that is followed they cover all that that one
//!    follows. So such a record counts if the logs reach them.
//!
//! # Commit
//! Sort the ids and drop those that the log's anchor covers, name the floor where the anchor does not cover
//! it, reserve, enter the predecessor vector in the table, fill, publish. The log is the worker's own: its
//! number modulo the number of logs. A transaction that wrote nothing appends nothing. Its answer waits for
//! the predecessor vectors of what it has seen (pitfall 7).
//!
//! # Durability
//! Every log is durable up to the entry of the predecessor vector (the paper's section 4.2).
//!
//! # Recovery
//! ```text
//!                  the record is read       all predecessors count
//!   Announced ---------------------> Waiting ---------------------> Recoverable
//!       \                               \
//!        \ beyond the end of its log     \ a predecessor is dead
//!         +-----------> Dead <------------+
//! ```
//! Which transactions are dead is found before anything is replayed (`recovery::dead`), from the records
//! after the settled positions that the last anchors name, and frozen in the manifest. Changes of rows are
//! then replayed key by key, in the order of their commit times (`recovery::by_key`), calls when what they
//! follow has been replayed.
//!
//! # Where we differ from the paper and why
//! * **Dead**: the paper ignores what does not count (section 3), but algorithms 3 to 6 have no state for it.
//!   A successor by WAW of such a transaction would wait for ever, and nothing after it in its log would be
//!   collected as garbage.
//! * **Overwritten is seen.** The paper has two lists: only those that a transaction has read (RAW) decide
//!   whether it counts, those that it has overwritten (WAW) order the replay. In SQL a change of a row needs
//!   to know that the row is there, and the row's image holds columns that others have written. So there is
//!   one list.
//! * **Times order versions.** With lists alone, nothing orders two blind writes of a row if the one between
//!   them is dead. And a call that is replayed must read the rows of its own time (the paper's section 5.2,
//!   first way), because readers leave nothing that orders those that overwrite what they have read.
//! * **A list that is too long** becomes a predecessor vector. The paper keeps the largest id of each log
//!   (section 6.6), but whether another id in the same log counts is then unknown: a transaction before the
//!   largest id may be dead that has nothing to do with the one that names it.
//! * Garbage collection is what anchors do: an id up to a settled position need not be known any more.

mod commit_table;
mod settled;
#[cfg(all(test, not(loom)))]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hyades_types::error::{Error, Result, sqlstate};
use smallvec::SmallVec;

use self::commit_table::CommitTable;
use self::settled::Settled;
use super::{
    AnchorDuty, Anchors, Append, AppendProgress, CommitPayload, FieldReader, Follows, Order, Predecessors,
    Protocol, RecordId, Recovery, Reserved, check_logs, compress_all, decompress, parallel_logs, skip_vector,
};
use crate::config::{Config, ProtocolKind};
use crate::local_arc::LocalArc;
use crate::log::durable::{Durability, DurableWatch};
use crate::log::manifest::{LogShape, Manifest};
use crate::log::record::varint::{read_varint, write_varint};
use crate::log::record::{Control, MOST_NAMED, Malformed};
use crate::log::{LoggerDuty, Logs, RunningLogs};
use crate::lsn::{Lsn, LsnVector, logs_in, word_of};
use crate::mutant::{self, Mutant};

/// A transaction that has seen this many others sorts out which of them it has seen more than once.
const MOST_UNSORTED: usize = 256;

/// Taurus with a dependency graph.
pub struct TaurusGraph {
    logs: RunningLogs,
    anchors: Arc<Anchors>,
    table: Arc<CommitTable>,
    most_predecessors: usize,
}

/// What a transaction has collected.
#[derive(Debug, Default)]
pub struct Dependencies {
    /// The ids of those that it follows, some of them more than once.
    seen: Vec<RecordId>,
    /// When there are this many, they are sorted out.
    sort_at: usize,
    /// It also follows all that lies before these positions, of the logs that `named` has a bit for.
    positions: LsnVector,
    named: u64,
    /// The predecessor vector, of the logs that `awaited` has a bit for: with the own place once that is
    /// known.
    vector: LsnVector,
    awaited: u64,
    /// The own id, once the place is reserved.
    own: Option<RecordId>,
}

impl Dependencies {
    fn sort_out(&mut self) {
        self.seen.sort_unstable();
        self.seen.dedup();
    }

    fn name(&mut self, log: usize, position: Lsn) {
        self.positions.raise_entry(log, position);
        self.named |= 1 << log;
    }

    fn wait_for(&mut self, log: usize, position: Lsn) {
        self.vector.raise_entry(log, position);
        self.awaited |= 1 << log;
    }
}

impl TaurusGraph {
    /// Computes the predecessor vector of what has been seen.
    fn find_vector(&self, dependencies: &mut Dependencies) {
        dependencies.vector.reset(self.logs.count());
        dependencies.awaited = 0;
        for log in logs_in(dependencies.named) {
            dependencies.wait_for(log, dependencies.positions.get(log));
        }
        for place in 0..dependencies.seen.len() {
            let id = dependencies.seen[place];
            dependencies.wait_for(id.log(), id.end());
            if !mutant::is_active(Mutant::AnswerOfOwnRecord) {
                let Dependencies { vector, awaited, .. } = dependencies;
                self.table.raise(id, |entries| {
                    vector.raise(entries);
                    *awaited |= nonzero(entries);
                });
            }
        }
    }

    /// Has the record name, in place of ids, everything up to the predecessor vector.
    fn fold(&self, dependencies: &mut Dependencies) {
        for log in logs_in(dependencies.awaited) {
            dependencies.name(log, dependencies.vector.get(log));
        }
        if mutant::is_active(Mutant::LargestOfEachLog) {
            dependencies.positions.reset(self.logs.count());
            dependencies.seen.iter().for_each(|id| dependencies.positions.raise_entry(id.log(), id.end()));
        }
        dependencies.seen.clear();
    }
}

/// One bit for each entry that is not zero.
fn nonzero(entries: &[u64]) -> u64 {
    word_of((0..entries.len()).filter(|log| entries[*log] > 0))
}

impl Protocol for TaurusGraph {
    const KIND: ProtocolKind = ProtocolKind::TaurusGraph;
    const WRITES_LOG: bool = true;
    const LOGS_COMMANDS: bool = true;
    const REPLAYS_IN_LOG_ORDER: bool = false;
    const LEAVES_MARKS: bool = true;

    type Dependencies = Dependencies;

    fn check(config: &Config) -> Result<()> {
        if config.predecessors > MOST_NAMED {
            let named = config.predecessors;
            let message = format!("a log record names at most {MOST_NAMED} transactions, not {named}");
            return Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message));
        }
        check_logs(config)
    }

    fn log_shape(config: &Config) -> LogShape {
        parallel_logs(config)
    }

    fn start(config: &Config, manifest: &mut Manifest) -> Result<TaurusGraph> {
        let shape = TaurusGraph::log_shape(config);
        let table = Arc::new(CommitTable::new(shape.logs));
        let (anchors, settled) =
            (Arc::new(Anchors::new(shape.logs)), Arc::new(Settled::new(shape.logs, &table)));
        let duty = |log| Box::new(AnchorDuty::new(&anchors, &settled, log)) as Box<dyn LoggerDuty>;
        let logs = Logs::start(config, shape, manifest, duty)?;
        Ok(TaurusGraph { logs, anchors, table, most_predecessors: config.predecessors })
    }

    fn new_dependencies(&self) -> Dependencies {
        Dependencies::default()
    }

    fn begin(&self, dependencies: &mut Dependencies) {
        dependencies.seen.clear();
        dependencies.sort_at = MOST_UNSORTED;
        dependencies.positions.reset(self.logs.count());
        dependencies.named = 0;
        dependencies.own = None;
    }

    /// The id, or else one bit for each log of which there is a position, and the positions: those of what
    /// was rolled back, or joined.
    fn mark_words(&self) -> usize {
        2 + self.logs.count()
    }

    fn write_mark(&self, dependencies: &Dependencies, mark: &[AtomicU64]) {
        let [own, named, positions @ ..] = mark else { return };
        own.store(dependencies.own.map_or(0, RecordId::word), Ordering::Relaxed);
        // A place covers what its transaction follows.
        let awaited = if dependencies.own.is_some() { 0 } else { dependencies.awaited };
        named.store(awaited, Ordering::Relaxed);
        for log in logs_in(awaited) {
            positions[log].store(dependencies.vector.get(log).0, Ordering::Relaxed);
        }
    }

    #[inline]
    fn follow(&self, mark: &[AtomicU64], dependencies: &mut Dependencies) {
        let [own, named, positions @ ..] = mark else { return };
        if let Some(id) = RecordId::of_word(own.load(Ordering::Relaxed))
            && dependencies.seen.last() != Some(&id)
        {
            dependencies.seen.push(id);
            if dependencies.seen.len() >= dependencies.sort_at {
                dependencies.sort_out();
                dependencies.sort_at = MOST_UNSORTED.max(2 * dependencies.seen.len());
            }
        }
        for log in logs_in(named.load(Ordering::Relaxed)) {
            dependencies.name(log, Lsn(positions[log].load(Ordering::Relaxed)));
        }
    }

    /// What conflicts with the transaction has its place by now, and all that it follows had its place before
    /// (invariant 5).
    #[cold]
    fn follow_all(&self, dependencies: &mut Dependencies) {
        if mutant::is_active(Mutant::NoBarrier) {
            return;
        }
        for log in 0..self.logs.count() {
            let reserved = self.logs.reserved(log);
            dependencies.name(log, reserved);
            self.anchors.note_named(log, reserved);
        }
    }

    fn is_forgettable(&self, mark: &[AtomicU64]) -> bool {
        let [own, named, positions @ ..] = mark else { return true };
        let floor = self.anchors.floor();
        let is_below = |log: usize, position: u64| position <= floor[log].load(Ordering::Acquire);
        RecordId::of_word(own.load(Ordering::Relaxed)).is_none_or(|id| is_below(id.log(), id.end().0))
            && logs_in(named.load(Ordering::Relaxed))
                .all(|log| is_below(log, positions[log].load(Ordering::Relaxed)))
    }

    /// Into positions.
    fn join(&self, mark: &[AtomicU64], into: &[AtomicU64]) {
        let mut both = self.new_dependencies();
        self.begin(&mut both);
        self.follow(mark, &mut both);
        self.follow(into, &mut both);
        self.find_vector(&mut both);
        self.write_mark(&both, into);
    }

    fn reserve<'a>(
        &'a self,
        worker: usize,
        dependencies: &mut Dependencies,
        payload: &CommitPayload<'_>,
        progress: &'a mut AppendProgress,
    ) -> Result<Append<Reserved<'a>>> {
        let log = progress.log(self.own_log(worker));
        let CommitPayload { operations, commit } = *payload;
        if let Append::Wait(ticket) = self.logs.append_fragments(log, worker, progress, operations)? {
            return Ok(Append::Wait(ticket));
        }
        if commit.is_barrier {
            self.follow_all(dependencies);
        }
        // Looked at before the place is reserved: the record lands after this anchor.
        let anchor = self.anchors.published(log).iter().map(|entry| entry.load(Ordering::Acquire));
        let anchor: SmallVec<[u64; 16]> = anchor.collect();
        dependencies.sort_out();
        dependencies.seen.retain(|id| id.end().0 > anchor[id.log()]);
        self.find_vector(dependencies);
        if dependencies.seen.len() > self.most_predecessors {
            self.fold(dependencies);
        }
        dependencies.positions.raise_shared(self.anchors.floor(), Ordering::Acquire);
        let Dependencies { seen, positions, .. } = &*dependencies;
        let write_field = |header: &mut Vec<u8>| write_field(positions.entries(), seen, &anchor, header);
        match self.logs.reserve_commit(log, worker, progress, commit, write_field, operations)? {
            Append::Wait(ticket) => Ok(Append::Wait(ticket)),
            Append::Done(place) => {
                let own = RecordId::new(log, place.end());
                dependencies.wait_for(log, place.end());
                dependencies.own = Some(own);
                // Invariant 3.
                self.table.insert(own, &dependencies.vector, self.logs.watch());
                Ok(Append::Done(Reserved::new(place)))
            }
        }
    }

    fn read_only_commit(&self, dependencies: &mut Dependencies) {
        if mutant::is_active(Mutant::ReadOnlyNoWait) {
            self.begin(dependencies);
        }
        // The place, if it had one, is given back.
        dependencies.own = None;
        dependencies.sort_out();
        self.find_vector(dependencies);
    }

    fn logs(&self) -> Option<&Arc<Logs>> {
        Some(&self.logs)
    }

    fn own_log(&self, worker: usize) -> usize {
        worker % self.logs.count()
    }

    fn durability(&self, watch: &LocalArc<DurableWatch>, dependencies: &Dependencies) -> Durability {
        Durability::new(watch, &dependencies.vector, dependencies.awaited)
    }

    fn recovery(logs: usize) -> Option<Box<dyn Recovery>> {
        Some(Box::new(GraphOrder { logs }))
    }
}

/// Writes the field of a record. `ids` are sorted and above the anchor.
pub fn write_field(positions: &[u64], ids: &[RecordId], anchor: &[u64], into: &mut Vec<u8>) {
    let has_positions = positions.iter().zip(anchor).any(|(position, anchor)| position > anchor);
    write_varint(into, (ids.len() as u64) << 1 | u64::from(has_positions));
    if has_positions {
        compress_all(positions, |log| anchor[log], into);
    }
    let mut last = 0;
    for id in ids {
        write_varint(into, id.word() - last);
        last = id.word();
    }
}

/// A record comes after those that it lists, and after what lies before its positions.
struct GraphOrder {
    logs: usize,
}

impl Recovery for GraphOrder {
    fn order(&self) -> Order {
        Order::Positions
    }

    fn has_ids(&self) -> bool {
        true
    }

    fn reader(&self) -> Box<dyn FieldReader> {
        Box::new(GraphReader { predecessors: Predecessors::zero(self.logs) })
    }
}

struct GraphReader {
    predecessors: Predecessors,
}

impl FieldReader for GraphReader {
    fn control(&mut self, control: &Control) {
        if let Control::Anchor(anchor) = control {
            self.predecessors.rebase(&anchor.durable);
        }
    }

    fn field_bytes(&self, content: &[u8]) -> std::result::Result<usize, Malformed> {
        let mut offset = 0;
        let head = read_varint(content, &mut offset)?;
        if head & 1 == 1 {
            skip_vector(content, &mut offset)?;
        }
        for _ in 0..head >> 1 {
            read_varint(content, &mut offset)?;
        }
        Ok(offset)
    }

    fn read(&mut self, field: &[u8]) -> std::result::Result<(), Malformed> {
        self.predecessors.begin();
        let mut offset = 0;
        let head = read_varint(field, &mut offset)?;
        if head & 1 == 1 {
            decompress(field, &mut offset, &mut self.predecessors.positions)?;
        }
        let mut word = 0_u64;
        for _ in 0..head >> 1 {
            let wrong = |reason| Malformed { offset: 0, reason };
            let more = read_varint(field, &mut offset)?;
            word = word.checked_add(more).ok_or(wrong("the id of a predecessor is out of range"))?;
            let id = RecordId::of_word(word).filter(|id| id.log() < self.predecessors.positions.logs());
            let id = id.ok_or(wrong("a predecessor is in a log that does not exist"))?;
            self.predecessors.name(id);
        }
        Ok(())
    }

    fn follows(&self) -> Follows<'_> {
        Follows::Predecessors(&self.predecessors)
    }

    fn fork(&self) -> Box<dyn FieldReader> {
        Box::new(GraphReader { predecessors: self.predecessors.clone() })
    }
}

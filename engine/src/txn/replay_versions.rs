//! Versions of rows during a replay, for calls that are replayed later than others and ran earlier.
//!
//! A call is replayed after everything that it has read or overwritten the result of. Others that have
//! overwritten what it read may have been replayed before it. So it reads what was committed before its own
//! time. Nothing of its own time or later was there when it ran.
//!
//! Writers of one key follow each other, so the row in its record is the newest, and is what a writer
//! changes. What it replaces goes into the history of its worker (`storage::history`), as in a transaction.
//! Versions, keys of rows that are gone, and entries of indexes that rows no longer need are kept as long as
//! anything may be replayed that ran earlier than the change: until the *low* time has passed it.
//!
//! **Removing.** Keys and entries are removed when no worker replays anything. Each worker holds its own lock
//! while it does, and the one that removes takes all of them. That is rare: when many have gathered, or when
//! a table opens for transactions.
//!
//! Logs of older programs order a call before all that has overwritten what it read, and have no times. Their
//! low time is infinite: calls read the newest rows, and nothing is kept.
//!
//! Invariants:
//! 1. Everything that is still to be replayed has a later time than the low time.
//! 2. Nothing is kept of a table that transactions can enter.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossbeam_epoch as epoch;
use hyades_types::definition::TableId;
use parking_lot::Mutex;

use crate::commit_clock::CommitClock;
use crate::mutant::{self, Mutant};
use crate::storage::databases::Databases;
use crate::storage::history::{Forgettable, Histories, HistoryWriter, Snapshot};
use crate::storage::replayed_versions::Leave;
use crate::storage::table::Table;
use crate::sync::LongLock;

/// So many keys and entries are worth interrupting all workers.
const MANY_LEFT: usize = 4096;

/// A key of a table, or an entry of one of its indexes, that may have become useless.
struct Left {
    table: Arc<Table>,
    index: Option<TableId>,
    key: Box<[u8]>,
    /// Of the change.
    time: u64,
}

/// See the module head. One for the replay of an incarnation.
pub(crate) struct ReplayVersions {
    histories: Arc<Histories>,
    /// How many slots replays have used.
    slots: Arc<AtomicUsize>,
    low: CommitClock,
    has_times: bool,
    /// The lock that each worker holds while it replays something. All are taken under this one, so that no
    /// worker begins meanwhile.
    workers: LongLock<Vec<Arc<LongLock<()>>>>,
    left: Mutex<Vec<Left>>,
    /// With so many keys and entries they are looked at next.
    next_look: AtomicUsize,
}

/// Nothing follows what a replay has written.
struct Always;

impl Forgettable for Always {
    fn is_forgettable(&self, _mark: &[std::sync::atomic::AtomicU64]) -> bool {
        true
    }
}

impl ReplayVersions {
    /// `has_times`: whether calls are replayed at their times.
    pub(crate) fn new(databases: &Databases, has_times: bool) -> Arc<ReplayVersions> {
        let low = CommitClock::new();
        if !has_times {
            low.raise(u64::MAX);
        }
        Arc::new(ReplayVersions {
            histories: Arc::new(Histories::of_replay(
                databases.replay_slots().load(Ordering::Relaxed),
                low.clone(),
            )),
            slots: Arc::clone(databases.replay_slots()),
            low,
            has_times,
            workers: LongLock::new(Vec::new()),
            left: Mutex::default(),
            next_look: AtomicUsize::new(MANY_LEFT),
        })
    }

    /// Whether what a change replaces is kept.
    pub(crate) fn are_kept(&self) -> bool {
        self.has_times
    }

    /// Everything that is still to be replayed has a later time than this. Called by a worker that replays
    /// nothing at the moment.
    pub(crate) fn raise_low(&self, low: u64) {
        self.low.raise(low);
        if self.left.lock().len() >= self.next_look.load(Ordering::Relaxed) {
            self.while_all_rest(|| self.remove_left());
        }
    }

    /// Does this while no worker replays anything.
    fn while_all_rest(&self, work: impl FnOnce()) {
        let workers = self.workers.lock();
        // Bounded: one for each worker.
        let _all: Vec<_> = workers.iter().map(|worker| worker.lock()).collect();
        work();
    }

    fn remove_left(&self) {
        self.histories.forget_all(&Always);
        let (low, guard) = (self.low.now(), epoch::pin());
        let mut all = self.left.lock();
        all.retain(|left| {
            let Left { table, index, key, time } = left;
            *time > low || !table.state(&guard).remove_left(*index, key, Some(&self.histories), &guard)
        });
        self.next_look.store((2 * all.len()).max(MANY_LEFT), Ordering::Relaxed);
    }

    /// All that concerns this table has been replayed: nothing is kept of it any more.
    pub(crate) fn finish_table(&self, table: TableId) {
        self.while_all_rest(|| self.remove_all(|left| left.table.id() == table));
    }

    /// Everything has been replayed.
    pub(crate) fn finish(&self) {
        self.remove_all(|_| true);
        self.slots.fetch_add(self.histories.used_slots(), Ordering::Relaxed);
    }

    fn remove_all(&self, is_meant: impl Fn(&Left) -> bool) {
        let guard = epoch::pin();
        self.left.lock().retain(|left| {
            let is_meant = is_meant(left);
            if is_meant {
                left.table.state(&guard).remove_left(left.index, &left.key, None, &guard);
            }
            !is_meant
        });
    }
}

/// What one worker writes and reads with.
pub(crate) struct VersionWriter {
    versions: Arc<ReplayVersions>,
    pub(crate) history: HistoryWriter,
    pub(crate) view: Snapshot,
    time: u64,
    left: Vec<Left>,
    busy: Arc<LongLock<()>>,
}

impl VersionWriter {
    pub(crate) fn new(versions: &Arc<ReplayVersions>) -> VersionWriter {
        let history = HistoryWriter::new(&versions.histories);
        let view = history.replayed_up_to(0);
        let busy = Arc::new(LongLock::new(()));
        versions.workers.lock().push(Arc::clone(&busy));
        VersionWriter { versions: Arc::clone(versions), history, view, time: 0, left: Vec::new(), busy }
    }

    pub(crate) fn histories(&self) -> &Histories {
        &self.versions.histories
    }

    /// Replays a transaction of this time, if it has one: what `work` writes is committed then, unless it
    /// fails, which ends the replay.
    pub(crate) fn at<T, E>(
        &mut self,
        time: Option<u64>,
        work: impl FnOnce(&mut VersionWriter) -> Result<T, E>,
    ) -> Result<T, E> {
        let busy = Arc::clone(&self.busy);
        let _busy = busy.lock();
        let known = time.filter(|_| self.versions.has_times);
        let reads_newest = mutant::is_active(Mutant::ReplayReadsNewest);
        self.view.set_time(known.filter(|_| !reads_newest).map_or(u64::MAX, |time| time.saturating_sub(1)));
        self.time = known.unwrap_or(0);
        let done = work(self)?;
        self.history.commit(self.time, |_| {});
        self.history.forget_some(&Always);
        if !self.left.is_empty() {
            self.versions.left.lock().append(&mut self.left);
        }
        Ok(done)
    }

    /// Changes a row of this table: `write` gets what `storage::replayed_versions` needs.
    pub(crate) fn write<T>(
        &mut self,
        table: &Arc<Table>,
        write: impl FnOnce(&mut HistoryWriter, Leave<'_>) -> T,
    ) -> T {
        let VersionWriter { history, left, time, .. } = self;
        write(history, &mut |index, key| {
            left.push(Left { table: Arc::clone(table), index, key: key.into(), time: *time });
        })
    }
}

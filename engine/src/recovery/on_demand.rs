//! A restart that continues in the background while transactions run
//! (docs/decisions/2026-11-25-restart-on-demand.md).
//!
//! ```text
//!   manifest, cut, catalog of the checkpoint --> tail: what each table needs --> tables closed --> transactions let in
//!                                                                                     |
//!      thread:  load ranges, of wanted tables first --> replay the logs --> complete  |  changes of the catalog,
//!                 ^                            |        (the last pass)               |  checkpoints: when complete
//!                 +-- replay them for what is <+                                      |
//!                     wanted (an early pass)                                          |
//!                   a table opens when it is loaded and its need is passed <----------+
//! ```
//!
//! `passes` describes early passes, and when they are worth it. A session that wants a row by its key need
//! not wait for the whole table: where that is possible, the range of the checkpoint that has the key is
//! loaded with what the logs have done to it (`range_reader`), and opens.
//!
//! **Why no transaction sees an unfinished state.** A transaction reaches data only through a table that it
//! has entered, and it waits there until the table is open (`storage::opening`). An open table is
//! *recovered*: it has been loaded and checked, and every record that concerns it has been replayed, with
//! everything that those records depend on.
//!
//! **Why no transaction disturbs the replay.** No pass looks at a table that an earlier one has opened. A
//! call is replayed on the rows on which it ran. It looks at no row of a table that its procedure does not
//! name, and the tables that it names stay closed until the last such call has been replayed. It is compiled
//! from the catalog as it was then: the catalog is not changed before the restart is complete.
//!
//! **Why a second crash loses nothing.** New log records go to a new incarnation, after the manifest with the
//! frozen ends is durable (pitfall 15). The next restart replays the old incarnations completely, and then
//! the new one: what a new transaction saw was the state after everything in the old ones that concerned it.
//! No checkpoint is taken before the restart is complete, so nothing that the next restart needs is removed.
//!
//! If the tail changes the catalog itself, transactions are let in once that has been replayed. The same
//! holds for calls that the replay may refuse, because another program wrote them: then the start is refused
//! as a complete one would be, and no file has been touched.
//!
//! **Damage that is found later.** Answers given so far stand: they depended on what had been checked. A part
//! of the checkpoint that cannot be read closes its table for good, together with those that calls in the
//! logs change with it (`passes`); all others open. The restart is then never complete: the catalog does not
//! change, and no checkpoint is taken, so the logs keep what the checkpoint has lost, and the next start,
//! which reads all of it first, begins with the checkpoint before ([`super::restart`]). Damage in the logs
//! poisons the database.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use hyades_types::definition::TableId;
use hyades_types::error::{Error, Result, sqlstate};
use parking_lot::{Mutex, RwLock};

use super::RecoveryReport;
use super::last_positions::Called;
use super::passes::{Changed, MergedKeys, Passes, Selection};
use super::range_reader::RangeReader;
use super::restart_status::RestartStatus;
use super::tail::Need;
use crate::checkpoint::load::{Loading, Watching};
use crate::checkpoint::range_changes::RangeChanges;
use crate::config::RecoveryProgress;
use crate::mutant::{self, Mutant};
use crate::storage::databases::Databases;
use crate::storage::opening::Opening;
use crate::storage::table::Table;
use crate::sync::JoinHandle;
use crate::ticket::Ticket;
use crate::txn::replay_versions::ReplayVersions;

/// The hint for transactions that need a table that is lost to a damaged checkpoint.
const EARLIER_CHECKPOINT_HINT: &str = "Restart the server (--previous-checkpoint): it begins before this checkpoint and replays the logs \
     since then, which hold everything that was acknowledged. If the checkpoint before uses the same file, put \
     the file back, or restore a backup.";
/// The same, where the logs do not reach back.
const NO_EARLIER_CHECKPOINT_HINT: &str =
    "There is no checkpoint before this one: put the file back, or restore a backup.";

/// A table that cannot be entered yet.
struct Closed {
    table: Arc<Table>,
    is_loaded: bool,
    need: Option<Need>,
}

struct Reached {
    /// The place of the incarnation that is being replayed, and how far its logs were at the last look.
    incarnation: usize,
    positions: Vec<u64>,
    /// What the replay keeps.
    versions: Option<Arc<ReplayVersions>>,
    /// The selection that is being replayed, or is next.
    selection: Arc<Selection>,
    /// Set if the logs may be replayed in several passes.
    passes: Option<Passes>,
    /// The ranges of keys that have been opened, of tables that are closed.
    merged: HashMap<TableId, MergedKeys>,
    /// The early pass that is due, because what it needs has been loaded.
    due: Option<Arc<Selection>>,
    closed: Vec<Closed>,
    /// How many tables are closed for good, and the first reason.
    lost_tables: usize,
    damage: Option<Error>,
    /// What must be replayed before transactions are let in, and the opening that waits for it.
    first: Option<(Need, Arc<Opening>)>,
    /// Why the restart will never be complete.
    failure: Option<Error>,
}

impl Reached {
    /// Whether a table is recovered.
    fn opens(&self, one: &Closed) -> bool {
        let is_passed = |need| self.covers(need) && self.selection.takes_table(one.table.id());
        one.is_loaded && one.need.as_ref().is_none_or(is_passed)
    }

    fn covers(&self, need: &Need) -> bool {
        if need.incarnation != self.incarnation || mutant::is_active(Mutant::OpenedTooEarly) {
            return need.incarnation <= self.incarnation;
        }
        // Nothing has been passed before the replay begins.
        let is_passed =
            |(log, needed): (usize, &u64)| self.positions.get(log).copied().unwrap_or(0) >= *needed;
        need.positions.iter().enumerate().all(is_passed)
    }
}

/// The state that both sides of a restart in the background share.
pub(super) struct OnDemand {
    pub(super) databases: Arc<Databases>,
    loading: Option<Arc<Loading>>,
    started: Instant,
    /// What the last pass reads, and each early pass that has begun.
    bytes_to_replay: AtomicU64,
    /// What the passes before this one have read, and what this one reads.
    replayed_before: AtomicU64,
    pass_bytes: AtomicU64,
    /// What all of them have read.
    replayed_bytes: AtomicU64,
    is_given_up: AtomicBool,
    /// Whether the loading of the checkpoint ended with an error.
    has_load_failed: AtomicBool,
    /// Whether a start can do without the checkpoint that is being loaded.
    pub(super) has_earlier_beginning: bool,
    /// Whether no transaction has committed yet.
    awaits_commit: AtomicBool,
    /// What the logs have done to ranges, if these can be opened one by one.
    ranges: OnceLock<RangeReader>,
    /// For each log, a position that is needed and has not been seen passed.
    next: Box<[AtomicU64]>,
    reached: Mutex<Reached>,
    outcome: RwLock<Outcome>,
    /// Opens when everything is recovered.
    completion: Opening,
    /// The thread of the restart does nothing before this opens.
    beginning: Opening,
}

#[derive(Default)]
struct Outcome {
    report: RecoveryReport,
    is_complete: bool,
    open_seconds: Option<f64>,
    first_commit_seconds: Option<f64>,
    failure: Option<Error>,
    followers: Option<Followers>,
    /// To be called when transactions are let in, before the restart continues in the background.
    before: Option<Box<dyn FnOnce() + Send + Sync>>,
    /// To be called when the restart is complete and transactions have been let in: the space of ended logs
    /// is given back once nothing reads them any more, and the manifest says where they end.
    finally: Option<Box<dyn FnOnce() + Send + Sync>>,
}

/// What is called when a restart that has let transactions in cannot be completed.
#[derive(Clone)]
pub(crate) struct Followers {
    /// The database must be poisoned.
    pub(crate) on_failure: Arc<dyn Fn(&Error) + Send + Sync>,
    /// The checkpoint is damaged, and some tables are closed for good.
    pub(crate) on_damage: Arc<dyn Fn() + Send + Sync>,
}

impl OnDemand {
    pub(super) fn new(
        databases: &Arc<Databases>,
        loading: Option<&Arc<Loading>>,
        started: Instant,
        (logs, bytes_to_replay): (usize, u64),
        finally: Option<Box<dyn FnOnce() + Send + Sync>>,
    ) -> OnDemand {
        let completion = Opening::default();
        completion.close();
        // Closed before any work is done: the restart may be complete before transactions are let in.
        databases.changes().close();
        OnDemand {
            databases: Arc::clone(databases),
            loading: loading.cloned(),
            started,
            bytes_to_replay: AtomicU64::new(bytes_to_replay),
            replayed_before: AtomicU64::new(0),
            pass_bytes: AtomicU64::new(0),
            replayed_bytes: AtomicU64::new(0),
            is_given_up: AtomicBool::new(false),
            has_load_failed: AtomicBool::new(false),
            has_earlier_beginning: false,
            awaits_commit: AtomicBool::new(false),
            ranges: OnceLock::new(),
            next: (0..logs).map(|_| AtomicU64::new(u64::MAX)).collect(),
            reached: Mutex::new(Reached {
                incarnation: 0,
                positions: Vec::new(),
                versions: None,
                selection: Arc::default(),
                passes: None,
                merged: HashMap::new(),
                due: None,
                closed: Vec::new(),
                lost_tables: 0,
                damage: None,
                first: None,
                failure: None,
            }),
            outcome: RwLock::new(Outcome { finally, ..Outcome::default() }),
            completion,
            beginning: Opening::default(),
        }
    }

    /// Nothing continues before transactions have been let in and `before` has been called.
    pub(super) fn begin_with(&self, before: Box<dyn FnOnce() + Send + Sync>) {
        self.outcome.write().before = Some(before);
        self.beginning.close();
    }

    pub(super) fn wait_for_beginning(&self) -> Result<()> {
        while let Some(ticket) = self.beginning.wait()? {
            ticket.wait();
        }
        self.check_wanted()
    }

    /// An opening that opens when this has been replayed.
    ///
    /// # Errors
    /// The restart has failed.
    pub(super) fn opening_after(&self, need: Need) -> Result<Arc<Opening>> {
        let opening = Arc::new(Opening::default());
        opening.close();
        let mut reached = self.reached.lock();
        if let Some(failure) = &reached.failure {
            return Err(failure.clone());
        }
        reached.first = Some((need, Arc::clone(&opening)));
        self.look(&mut reached);
        Ok(opening)
    }

    /// Closes the tables that are not recovered. No transaction has been let in yet, and the catalog is in
    /// its final state. Everything may have been replayed meanwhile: then everything opens at once.
    ///
    /// # Errors
    /// The restart has failed, so nothing would open what is closed now.
    pub(super) fn close_tables(&self, mut needs: HashMap<TableId, Need>) -> Result<()> {
        let mut reached = self.reached.lock();
        if let Some(failure) = &reached.failure {
            return Err(failure.clone());
        }
        let unloaded = match &self.loading {
            Some(loading) => loading.tables(),
            None => Vec::new(),
        };
        for table in self.databases.tables() {
            let need = needs.remove(&table.id());
            let is_loaded = !unloaded.iter().any(|one| Arc::ptr_eq(one, &table));
            if !is_loaded || need.is_some() {
                table.opening().close();
                reached.closed.push(Closed { table, is_loaded, need });
            }
        }
        self.look(&mut reached);
        Ok(())
    }

    /// Allows several passes over the logs. Nothing has been loaded yet, and the tables are closed.
    /// `extent_bytes`: how many bytes of the logs concern a table, if that is known.
    pub(super) fn plan_passes(
        &self,
        calls: &[(Called, Vec<TableId>)],
        extent_bytes: impl Fn(TableId) -> Option<u64>,
    ) {
        let Some(loading) = &self.loading else { return };
        let mut reached = self.reached.lock();
        let bytes = loading.bytes_by_table();
        let with_need = reached.closed.iter().filter(|one| one.need.is_some()).map(|one| one.table.id());
        let bytes_of = |table| bytes.get(&table).copied().unwrap_or(0);
        let changed = with_need.map(|table| Changed {
            table,
            bytes_to_load: bytes_of(table),
            extent_bytes: extent_bytes(table),
        });
        let log_bytes = self.bytes_to_replay.load(Ordering::Relaxed);
        let passes = Passes::new(&changed.collect::<Vec<_>>(), calls, log_bytes);
        loading.load_first(&passes.companions());
        reached.passes = Some(passes);
    }

    /// Lets transactions enter ranges of keys of tables that are still closed. To be called after
    /// [`OnDemand::plan_passes`]. Only tables whose rows can be found and changed without any others are
    /// divided: those without secondary indexes, and with an order.
    pub(super) fn divide_tables(&self, reader: RangeReader) {
        let Some(loading) = &self.loading else { return };
        let reached = self.reached.lock();
        let Some(passes) = &reached.passes else { return };
        for Closed { table, .. } in reached.closed.iter().filter(|one| !one.is_loaded) {
            let state = table.shared_state();
            let starts = loading.range_starts(table.id());
            let has_one_index = state.indexes().is_empty() && state.index().is_ordered();
            if starts.len() > 1 && has_one_index && passes.can_be_divided(table.id()) {
                table.divide(starts.into_iter());
            }
        }
        drop(self.ranges.set(reader));
    }

    /// Whether a table that a session waits for is ready to be replayed first, and an early pass is worth it.
    /// What must be loaded for that is wanted, too, from now on.
    fn is_early_pass_due(&self) -> bool {
        let Some(loading) = &self.loading else { return false };
        let mut reached = self.reached.lock();
        let Reached { passes: Some(passes), closed, due, .. } = &mut *reached else { return false };
        if due.is_some() {
            return true;
        }
        let ids = |one: &Closed| one.table.id();
        // A session that waits for a range of a table is let in by a load of the range, but not once the
        // table has been loaded.
        let is_waited_for = |one: &&Closed| {
            let is_range = || one.table.ranges().is_some_and(|ranges| ranges.waited_for().next().is_some());
            one.need.is_some() && (one.table.opening().is_waited_for() || (one.is_loaded && is_range()))
        };
        let waited_for: Vec<TableId> = closed.iter().filter(is_waited_for).map(ids).collect();
        if waited_for.is_empty() {
            return false;
        }
        let unloaded: HashSet<TableId> = closed.iter().filter(|one| !one.is_loaded).map(ids).collect();
        let bytes = (loading.bytes_left(), loading.bytes());
        *due = passes.begin_selective(&waited_for, &unloaded, bytes).map(Arc::new);
        if due.is_some() || !passes.is_worth(bytes.0, bytes.1) {
            return due.is_some();
        }
        *due = passes.begin_early(&waited_for, &unloaded).map(Arc::new);
        if due.is_none() {
            let needed: HashSet<TableId> = passes.needed_for(&waited_for).into_iter().collect();
            let unloaded = closed.iter().filter(|one| !one.is_loaded && needed.contains(&one.table.id()));
            unloaded.for_each(|one| one.table.opening().want());
        }
        due.is_some()
    }

    /// What is to be replayed next: an early pass, if one is due, or the last one.
    pub(super) fn begin_pass(&self) -> Arc<Selection> {
        // Sessions may have begun to wait when everything had been loaded.
        self.is_early_pass_due();
        let mut reached = self.reached.lock();
        let rest = |reached: &Reached| reached.passes.as_ref().map(|passes| Arc::new(passes.rest()));
        let mut next = reached.due.take().or_else(|| rest(&reached)).unwrap_or_default();
        if !reached.merged.is_empty() && !mutant::is_active(Mutant::MergedRangeForgotten) {
            let merged = reached.merged.iter().map(|(table, keys)| (*table, keys.clone()));
            // Bounded: a key or two for each range that has been opened.
            next = Arc::new(next.without(merged.collect()));
        }
        reached.selection = Arc::clone(&next);
        (reached.incarnation, reached.positions) = (0, Vec::new());
        let before = self.pass_bytes.load(Ordering::Relaxed);
        self.replayed_before.fetch_add(before, Ordering::Relaxed);
        let all = || reached.passes.as_ref().map_or(u64::MAX, Passes::log_bytes);
        let reads = next.selective_bytes().unwrap_or_else(all);
        self.pass_bytes.store(reads, Ordering::Relaxed);
        if next.is_early() {
            self.bytes_to_replay.fetch_add(reads, Ordering::Relaxed);
        }
        next
    }

    /// Opens what is recovered, and notes what else is waited for.
    fn look(&self, reached: &mut Reached) {
        let all = std::mem::take(&mut reached.closed);
        let (open, closed): (Vec<Closed>, Vec<Closed>) = all.into_iter().partition(|one| reached.opens(one));
        reached.closed = closed;
        for one in &open {
            if let Some(versions) = &reached.versions {
                versions.finish_table(one.table.id());
            }
            reached.merged.remove(&one.table.id());
            one.table.open();
        }
        let is_ready = reached.first.as_ref().is_some_and(|(need, _)| reached.covers(need));
        if is_ready && let Some((_, opening)) = reached.first.take() {
            opening.open();
        }
        let taken = reached.closed.iter().filter(|one| reached.selection.takes_table(one.table.id()));
        let needs = taken.filter_map(|one| one.need.as_ref());
        let needs = needs.chain(reached.first.as_ref().map(|(need, _)| need));
        let mut next = vec![u64::MAX; self.next.len()];
        for need in needs.filter(|need| need.incarnation == reached.incarnation) {
            for (log, needed) in need.positions.iter().enumerate() {
                if reached.positions.get(log).copied().unwrap_or(0) < *needed {
                    next[log] = next[log].min(*needed);
                }
            }
        }
        for (log, position) in next.into_iter().enumerate() {
            self.next[log].store(position, Ordering::Release);
        }
    }

    /// The replay of the incarnation at this place begins, at these positions, and keeps these versions. All
    /// incarnations before it have been replayed.
    pub(super) fn begin_incarnation(
        &self,
        incarnation: usize,
        from: &[u64],
        versions: Option<&Arc<ReplayVersions>>,
    ) {
        let mut reached = self.reached.lock();
        reached.versions = versions.map(Arc::clone);
        reached.incarnation = incarnation;
        reached.positions = from.to_vec();
        self.look(&mut reached);
    }

    /// Everything before this position of this log of the incarnation has been replayed.
    #[inline]
    pub(super) fn advance(&self, log: usize, position: u64) {
        if position >= self.next[log].load(Ordering::Acquire) {
            let mut reached = self.reached.lock();
            if let Some(is) = reached.positions.get_mut(log) {
                *is = (*is).max(position);
            }
            self.look(&mut reached);
        }
    }

    pub(super) fn note_progress(&self, progress: &RecoveryProgress) {
        let before = self.replayed_before.load(Ordering::Relaxed);
        // A selective pass counts all of the incarnations before.
        let done = progress.bytes_done.min(self.pass_bytes.load(Ordering::Relaxed));
        self.replayed_bytes.store(before + done, Ordering::Relaxed);
    }

    pub(super) fn check_wanted(&self) -> Result<()> {
        if self.is_given_up.load(Ordering::Relaxed) { Err(is_shut_down()) } else { Ok(()) }
    }

    /// Whether transactions have been let in.
    pub(super) fn is_open(&self) -> bool {
        self.outcome.read().open_seconds.is_some()
    }

    /// Everything is recovered.
    pub(super) fn complete(&self, report: RecoveryReport) {
        {
            let mut outcome = self.outcome.write();
            outcome.report = report;
            outcome.report.open_seconds = outcome.open_seconds.unwrap_or(outcome.report.seconds);
            outcome.is_complete = true;
        }
        self.conclude();
        let closed = std::mem::take(&mut self.reached.lock().closed);
        // Every need is at most the end of a log.
        debug_assert!(closed.is_empty());
        closed.iter().for_each(|one| one.table.open());
        self.databases.changes().open();
        self.completion.open();
    }

    /// What could be recovered is, but some tables are closed for good; the error says why. The database goes
    /// on without them.
    pub(super) fn end_without_lost_tables(&self) -> Option<Error> {
        let damage = self.reached.lock().damage.clone()?;
        self.outcome.write().failure = Some(damage.clone());
        self.databases.changes().fail(&damage);
        self.completion.fail(&damage);
        Some(damage)
    }

    /// The loading of the checkpoint has ended with an error.
    pub(super) fn note_failed_load(&self) {
        self.has_load_failed.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_load_failed(&self) -> bool {
        self.has_load_failed.load(Ordering::Relaxed)
    }

    /// Closes this table for good, and all that cannot be replayed without it. Returns false if transactions
    /// have not been let in: then the start fails.
    fn lose(&self, table: &Arc<Table>, error: &Error) -> bool {
        let mut reached = self.reached.lock();
        let Reached { passes: Some(passes), closed, damage, lost_tables, .. } = &mut *reached else {
            return false;
        };
        let group: HashSet<TableId> = passes.give_up(table.id()).into_iter().collect();
        let (lost, kept) =
            std::mem::take(closed).into_iter().partition(|one| group.contains(&one.table.id()));
        *closed = kept;
        let lost: Vec<Closed> = lost;
        *lost_tables += lost.len();
        damage.get_or_insert_with(|| self.refusal(table, table, error));
        drop(reached);
        for one in lost {
            one.table.refuse(&self.refusal(&one.table, table, error));
        }
        true
    }

    /// The error for transactions that need a table that is lost because `damaged` cannot be loaded.
    fn refusal(&self, table: &Arc<Table>, damaged: &Arc<Table>, error: &Error) -> Error {
        let hint = match self.has_earlier_beginning {
            true => EARLIER_CHECKPOINT_HINT,
            false => NO_EARLIER_CHECKPOINT_HINT,
        };
        let name = |table: &Arc<Table>| table.definition().name.name.clone();
        let message = format!("table \"{}\" could not be recovered: {error}", name(table));
        let refusal = Error::input(error.sqlstate(), message).with_hint(hint);
        if Arc::ptr_eq(table, damaged) {
            return refusal;
        }
        let detail =
            format!("The damage is in table \"{}\", and calls in the logs use both of them.", name(damaged));
        refusal.with_detail(detail)
    }

    fn conclude(&self) {
        let finally = {
            let mut outcome = self.outcome.write();
            let is_due = outcome.is_complete && outcome.open_seconds.is_some();
            outcome.finally.take_if(|_| is_due)
        };
        if let Some(finally) = finally {
            finally();
        }
    }

    /// The restart has ended without being complete. Sessions that wait learn why, after the database was
    /// poisoned.
    pub(super) fn fail(&self, error: &Error) {
        let followers = {
            let mut outcome = self.outcome.write();
            outcome.failure = Some(error.clone());
            outcome.followers.clone()
        };
        if let Some(followers) = followers.filter(|_| error.sqlstate() != sqlstate::ADMIN_SHUTDOWN) {
            (followers.on_failure)(error);
        }
        let (closed, first) = {
            let mut reached = self.reached.lock();
            reached.failure = Some(error.clone());
            (std::mem::take(&mut reached.closed), reached.first.take())
        };
        closed.iter().for_each(|one| one.table.refuse(error));
        if let Some((_, opening)) = first {
            opening.fail(error);
        }
        self.databases.changes().fail(error);
        self.completion.fail(error);
    }
}

fn is_shut_down() -> Error {
    Error::fatal(sqlstate::ADMIN_SHUTDOWN, "the database has been shut down")
}

impl Watching for OnDemand {
    fn is_loaded(&self, table: &Arc<Table>) {
        let mut reached = self.reached.lock();
        if let Some(one) = reached.closed.iter_mut().find(|one| Arc::ptr_eq(&one.table, table)) {
            one.is_loaded = true;
        }
        self.look(&mut reached);
    }

    fn is_given_up(&self) -> bool {
        self.is_given_up.load(Ordering::Relaxed)
    }

    fn pauses(&self) -> bool {
        self.is_early_pass_due()
    }

    fn changes_of(&self, table: &Arc<Table>, range: usize) -> Result<Option<RangeChanges>> {
        let (Some(reader), Some(loading), Some(ranges)) = (self.ranges.get(), &self.loading, table.ranges())
        else {
            return Ok(None);
        };
        let bounds = ranges.bounds(range);
        let bytes = reader.bytes_of(table.id(), bounds);
        let is_admitted = {
            let mut reached = self.reached.lock();
            let passes = reached.passes.as_mut();
            passes.is_some_and(|passes| passes.admit_range(table.id(), bytes, loading.bytes()))
        };
        if !is_admitted {
            // A session that waits for the range waits for the whole table.
            table.opening().note_wait();
            return Ok(None);
        }
        if mutant::is_active(Mutant::RangeOpenedTooEarly) {
            return Ok(Some(RangeChanges::default()));
        }
        reader.read(table.id(), bounds).map(Some)
    }

    fn is_merged(&self, table: &Arc<Table>, range: usize) {
        let Some(ranges) = table.ranges() else { return };
        self.reached.lock().merged.entry(table.id()).or_default().add(ranges.bounds(range));
        ranges.open(range);
    }

    fn goes_on_without(&self, table: &Arc<Table>, error: &Error) -> bool {
        if !self.lose(table, error) {
            return false;
        }
        let name = &table.definition().name.name;
        tracing::error!(
            "table \"{name}\" could not be recovered, and the restart goes on without it: {error}"
        );
        let followers = self.outcome.read().followers.clone();
        if let Some(followers) = followers {
            (followers.on_damage)();
        }
        true
    }
}

/// The restart of an open database, perhaps still going on.
pub(crate) struct Restarted {
    shared: Arc<OnDemand>,
    thread: Mutex<Option<JoinHandle>>,
}

impl Restarted {
    /// A restart that was complete before transactions were let in.
    pub(super) fn complete(shared: OnDemand, report: RecoveryReport) -> Restarted {
        shared.complete(report);
        Restarted { shared: Arc::new(shared), thread: Mutex::new(None) }
    }

    /// The restart of a catalog that an earlier recovery has filled.
    pub(crate) fn already(databases: &Arc<Databases>) -> Restarted {
        let shared = OnDemand::new(databases, None, crate::sync::now(), (0, 0), None);
        Restarted::complete(shared, RecoveryReport::default())
    }

    pub(super) fn going_on(shared: &Arc<OnDemand>, thread: JoinHandle) -> Restarted {
        Restarted { shared: Arc::clone(shared), thread: Mutex::new(Some(thread)) }
    }

    /// Lets transactions in. The followers are called, by some thread, if the restart cannot be completed.
    ///
    /// # Errors
    /// It has failed already.
    pub(crate) fn let_in(&self, followers: Followers) -> Result<()> {
        {
            let mut outcome = self.shared.outcome.write();
            if let Some(failure) = &outcome.failure {
                return Err(failure.clone());
            }
            outcome.followers = Some(followers);
            let seconds = crate::sync::now().duration_since(self.shared.started).as_secs_f64();
            outcome.open_seconds = Some(seconds);
            self.shared.awaits_commit.store(!outcome.is_complete, Ordering::Relaxed);
            outcome.report.open_seconds = seconds;
        }
        let before = self.shared.outcome.write().before.take();
        if let Some(before) = before {
            before();
        }
        self.shared.beginning.open();
        self.shared.conclude();
        Ok(())
    }

    /// A transaction has committed.
    #[inline]
    pub(crate) fn note_commit(&self) {
        if self.shared.awaits_commit.load(Ordering::Relaxed) {
            self.note_first_commit();
        }
    }

    #[cold]
    fn note_first_commit(&self) {
        if self.shared.awaits_commit.swap(false, Ordering::Relaxed) {
            let seconds = crate::sync::now().duration_since(self.shared.started).as_secs_f64();
            self.shared.outcome.write().first_commit_seconds = Some(seconds);
        }
    }

    /// What has been found so far; everything once the restart is complete.
    pub(crate) fn report(&self) -> RecoveryReport {
        self.shared.outcome.read().report.clone()
    }

    /// `None` if the restart is complete, else a ticket that fires when it is complete or has failed.
    ///
    /// # Errors
    /// It has failed.
    pub(crate) fn wait(&self) -> Result<Option<Ticket>> {
        self.shared.completion.wait()
    }

    pub(crate) fn status(&self) -> RestartStatus {
        let shared = &*self.shared;
        let now = || crate::sync::now().duration_since(shared.started).as_secs_f64();
        let closed_tables = {
            let reached = shared.reached.lock();
            reached.closed.len() + reached.lost_tables
        };
        let bytes_to_load = shared.loading.as_ref().map_or(0, |loading| loading.bytes());
        let loaded_bytes = shared.loading.as_ref().map_or(0, |loading| loading.bytes_done());
        let outcome = shared.outcome.read();
        RestartStatus {
            is_complete: outcome.is_complete,
            failure: outcome.failure.clone(),
            // Not before transactions were let in.
            seconds: match outcome.is_complete {
                true => outcome.report.seconds.max(outcome.open_seconds.unwrap_or(0.0)),
                false => now(),
            },
            open_seconds: outcome.open_seconds,
            first_commit_seconds: outcome.first_commit_seconds,
            tables: shared.databases.tables().len(),
            closed_tables,
            loaded_bytes,
            bytes_to_load,
            replayed_bytes: shared.replayed_bytes.load(Ordering::Relaxed),
            bytes_to_replay: shared.bytes_to_replay.load(Ordering::Relaxed),
        }
    }

    /// Gives up what is not done yet. Nothing is lost: the next restart starts over.
    pub(crate) fn stop(&self) {
        self.shared.is_given_up.store(true, Ordering::Relaxed);
        self.shared.beginning.open();
        if let Some(thread) = self.thread.lock().take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that goes on with the restart panicked");
        }
    }
}

impl Drop for Restarted {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::HashMap;
    use std::sync::Arc;

    use hyades_types::error::{Error, sqlstate};

    use super::{Need, OnDemand};
    use crate::recovery::RecoveryReport;
    use crate::storage::databases::Databases;

    fn begun() -> (Arc<Databases>, OnDemand) {
        let databases = Arc::new(Databases::new());
        let shared = OnDemand::new(&databases, None, crate::sync::now(), (1, 100), None);
        (databases, shared)
    }

    #[test]
    fn the_catalog_is_open_when_all_was_replayed_before_tables_were_closed() {
        let (databases, shared) = begun();
        assert!(databases.changes().is_closed());
        shared.begin_incarnation(1, &[], None);
        shared.complete(RecoveryReport::default());
        let need = Need { incarnation: 0, positions: vec![100] };
        assert!(!shared.opening_after(need).unwrap().is_closed());
        shared.close_tables(HashMap::new()).unwrap();
        assert!(!databases.changes().is_closed());
        assert!(shared.completion.wait().unwrap().is_none());
    }

    #[test]
    fn a_restart_that_failed_before_tables_were_closed_ends_all_waits() {
        let (databases, shared) = begun();
        shared.fail(&Error::fatal(sqlstate::DATA_CORRUPTED, "broken"));
        let need = Need { incarnation: 0, positions: vec![100] };
        assert!(shared.opening_after(need).is_err());
        assert!(shared.close_tables(HashMap::new()).is_err());
        assert!(databases.changes().wait().is_err() && shared.completion.wait().is_err());
    }
}

//! The end of a transaction that commits: its log record gets its place, its rows become visible, its locks
//! free, in this order.
//!
//! 1. What is to be logged is put together. That may take some time.
//! 2. The transaction announces its commit (`capture`), its dependencies are frozen, and its record gets a
//!    place and is filled. If the log has no room, it withdraws the announcement, and waits without one.
//! 3. It draws its commit time. If it has read without locks, it looks once more at what it has read
//!    (`look`); if that is outdated, it gives the time and the place up, and fails. Otherwise the time is
//!    written into the record, and the record published.
//! 4. Its mark is written, its rows are committed, what else it has changed is published, and only then its
//!    locks are released (pitfall 3).
//!
//! From the announcement to the end of 4, a transaction waits for no lock, no room and no client: others wait
//! for it, for microseconds. A full log must not be met with a time in hand, so the place comes first.
//!
//! **Places and times.** Calls in a log that is replayed in its order must be in the order of their times,
//! too. Under locks they are: of two that conflict, one has its place and its time before the other. A reader
//! without locks and a writer that comes after it have only times in order, so each such log takes one latch
//! for both.

use hyades_types::guest;

use super::change_beside_others::Patience;
use super::look::Looker;
use super::{Body, KEPT_BYTES, UNITS_PER_LOCK, linger};
use crate::config::ControlKind;
use crate::log::record::command::WriteSetHash;
use crate::log::record::{Commit, OperationsWriter};
use crate::mutant::{self, Mutant};
use crate::protocol::{Append, AppendProgress, CommitPayload, Protocol};
use crate::storage::history::Handle;
use crate::txn::{CommitStep, Ending, Flow, Interrupt, Publisher};

impl<P: Protocol> Body<P> {
    /// Appends the log record and draws the commit time. Returns the time, if there is a record.
    #[inline]
    pub(super) fn append(
        &mut self,
        step: CommitStep<'_>,
        publisher: &mut impl Publisher<P, Body<P>>,
    ) -> Flow<Option<u64>> {
        let Some(commit) = self.complete_payload(step.ending, step.progress) else {
            self.shared.protocol.read_only_commit(&mut self.dependencies);
            publisher.note_place(&self.dependencies, false);
            return Ok(None);
        };
        match self.append_record(commit, step.worker, step.progress, publisher) {
            Ok(time) => Ok(time),
            Err(stopped) => {
                self.history.leave_commit();
                self.open_commits();
                Err(stopped)
            }
        }
    }

    /// Appends the log record of a transaction that has announced its commit.
    #[inline]
    fn append_record(
        &mut self,
        commit: Commit,
        worker: usize,
        progress: &mut AppendProgress,
        publisher: &mut impl Publisher<P, Body<P>>,
    ) -> Flow<Option<u64>> {
        let Self { shared, dependencies, payload, history, tables, snapshot, read_set, reads, .. } = self;
        let is_early = mutant::is_active(Mutant::TimeBeforePlace);
        let early = is_early.then(|| history.draw_time());
        if is_early {
            linger();
        }
        let payload = CommitPayload { operations: payload.as_bytes(), commit };
        let is_ordered = P::REPLAYS_IN_LOG_ORDER
            && shared.control != ControlKind::TwoPhaseLocking
            && !mutant::is_active(Mutant::PlacesBesideTimes);
        let ordered = is_ordered.then(|| shared.order.lock());
        match shared.protocol.reserve(worker, dependencies, &payload, progress) {
            Ok(Append::Done(mut place)) => {
                place.write(&payload);
                let lingers =
                    [Mutant::StragglersForgotten, Mutant::LookBeforeDraw, Mutant::PlacesBesideTimes];
                if lingers.into_iter().any(mutant::is_active) {
                    linger();
                }
                let is_late = mutant::is_active(Mutant::ReleaseBeforeRaise);
                let time = if is_late { None } else { Some(early.unwrap_or_else(|| history.draw_time())) };
                drop(ordered);
                if reads.is_checked()
                    && let Some(time) = time.filter(|_| !mutant::is_active(Mutant::LookBeforeDraw))
                {
                    let looker = Looker { shared, tables, history, snapshot };
                    looker.look(read_set, time, None).inspect_err(|_| history.give_up_time())?;
                }
                publisher.note_place(dependencies, true);
                place.publish(time);
                Ok(time)
            }
            Ok(Append::Wait(ticket)) => Err(Interrupt::Wait(ticket)),
            Err(error) => Err(error.into()),
        }
    }

    /// Puts the payload together and announces the commit. `None` if there is nothing to log. A call that has
    /// run under other names than it would be replayed under becomes data here.
    #[inline]
    pub(super) fn complete_payload(
        &mut self,
        ending: Ending<'_>,
        progress: &mut AppendProgress,
    ) -> Option<Commit> {
        if self.undo.is_empty() && ending.sequences.is_empty() {
            return None;
        }
        if P::WRITES_LOG && !(ending.sequences.is_empty() && self.states_in_payload.is_empty()) {
            self.append_states(ending.sequences);
        }
        if P::WRITES_LOG && self.payload.is_empty() {
            // It has written to temporary tables only.
            return None;
        }
        if let Some(command) = &self.command {
            self.payload.finish_command(command.bytes, &self.row_numbers, self.write_set);
            if self.shared.logs_images {
                self.append_images();
            }
        }
        let commit = self.begin_commit(ending.is_barrier);
        if !self.has_lost_meaning() {
            return Some(commit);
        }
        self.history.leave_commit();
        self.give_up_command();
        progress.reset();
        Some(self.begin_commit(ending.is_barrier))
    }

    /// Leaves traces and marks, publishes what is not in rows, and releases everything.
    pub(super) fn precommit(&mut self, time: Option<u64>, publisher: &mut impl Publisher<P, Body<P>>) {
        self.withdraw_wait();
        let mark = (P::LEAVES_MARKS && !self.undo.is_empty()).then(|| self.history.handle());
        if mutant::is_active(Mutant::ReleaseBeforeRaise) {
            self.end(mark);
            linger();
        }
        let Self { shared, dependencies, history, .. } = self;
        let time = time.or_else(|| history.has_versions().then(|| history.draw_time()));
        if let Some(time) = time {
            history.commit(time, |mark| shared.protocol.write_mark(dependencies, mark));
        }
        self.undo.clear();
        publisher.publish(self);
        self.leave_unlocked_change();
        self.history.leave_commit();
        self.end(mark);
    }

    /// Releases everything and forgets the transaction. `mark`: where its mark is found, if it has written
    /// something.
    pub(super) fn end(&mut self, mark: Option<Handle>) {
        // Also when it has panicked before its log record had a place.
        self.open_commits();
        let shared = &*self.shared;
        for resource in self.held.drain(..) {
            guest::pass(UNITS_PER_LOCK);
            shared.locks.release(shared, self.id, resource, mark);
        }
        if std::mem::take(&mut self.has_waited) {
            shared.locks.forget_waits(self.id);
        }
        shared.purge.push_all(&mut self.purgeable);
        self.new_entries.clear();
        self.snapshot = None;
        if self.reads.is_checked() {
            self.read_set.clear();
        }
        for used in &mut self.tables {
            used.leave(shared.row_locks_before_table);
        }
        self.changes_objects = false;
        self.build = None;
        self.is_unlocked_change = false;
        self.changes_meaning = false;
        self.patience = Patience::default();
        if self.payload.len() + self.keys.len() > KEPT_BYTES {
            self.payload = OperationsWriter::default();
            self.keys = Vec::new();
            self.undo = Vec::new();
            self.held = Vec::new();
        }
        self.payload.clear();
        self.states_in_payload = 0..0;
        self.keys.clear();
        self.command = None;
        self.write_set = WriteSetHash::default();
        self.row_numbers.clear();
    }
}

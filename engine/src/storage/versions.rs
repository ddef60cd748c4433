//! Records as snapshots see them: from the newest version in the record back through the histories
//! (`storage::history`, which has the invariants).

use std::sync::atomic::AtomicU64;

use crossbeam_epoch::Guard;
use hyades_types::error::Result;

use super::history::{Handle, Histories, HistoryWriter, LATEST, Snapshot, Verdict, Version};
use super::record::Record;
use super::row::{Leading, RowCopy};
use crate::mutant::{self, Mutant};

/// The version that a reader finds in a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeenVersion {
    pub(crate) handle: Handle,
    /// When it was committed. 0: before anything that is kept. [`LATEST`]: the reader's own transaction has
    /// written it.
    pub(crate) time: u64,
    /// Whether it is a row.
    pub(crate) is_there: bool,
}

/// Who looks once more at what it has read without a lock, and when.
#[derive(Clone, Copy)]
pub(crate) struct Look<'a> {
    /// Versions committed later are not looked at.
    pub(crate) at: u64,
    /// No version that was committed later than this has been forgotten. Those up to this time are all the
    /// same to the reader: their time counts as 0.
    pub(crate) since: u64,
    /// What its own transaction has written is passed over.
    pub(crate) own: &'a HistoryWriter,
    /// What others are writing, or have written later, is no longer what was seen.
    pub(crate) fails_beside_writers: bool,
}

/// What a scan notes of a record that fails it.
const WRITTEN_BESIDE: (u64, bool) = (LATEST, false);

impl Look<'_> {
    /// Whether a version that is not seen yet fails the look by itself.
    fn fails_for(&self, handle: Handle, version: &Version<'_>) -> bool {
        self.fails_beside_writers && !self.own.is_own(handle) && !version.is_unchanged()
    }

    fn count(&self, time: u64) -> u64 {
        if time <= self.since { 0 } else { time }
    }
}

impl Histories {
    /// Whether the version of a record that is seen at the time of the look is one that was seen before.
    /// Waits for writers that have drawn an earlier time and not committed yet.
    pub(crate) fn is_still_seen(
        &self,
        record: &Record,
        (handle, time, was_there): (Option<Handle>, u64, bool),
        look: Look<'_>,
        guard: &Guard,
    ) -> bool {
        loop {
            let newest = record.writer();
            if Some(newest) == handle {
                return true;
            }
            let mut is_there = record.has_row();
            if record.is_of(newest) {
                let mut next = newest;
                return loop {
                    if Some(next) == handle {
                        break true;
                    }
                    let version = match self.judge_for(next, look, guard) {
                        Verdict::Old => break time == 0 && is_there == was_there,
                        Verdict::Seen { time: seen, .. } => {
                            let is_same_time = look.count(seen) == time
                                || (!is_there && mutant::is_active(Mutant::AbsenceWithoutTime));
                            break is_same_time && is_there == was_there;
                        }
                        Verdict::Unseen(version) if look.fails_for(next, &version) => break false,
                        Verdict::Unseen(version) => version,
                    };
                    is_there = version.was_there(is_there);
                    next = version.previous();
                };
            }
        }
    }

    /// What a scan that looks again notes of a record it has come to: the time of the version that it sees,
    /// if that is a row for which `is_meant`, and whether it is. A row that was one in between and no longer
    /// is, is noted, too. `row` takes the bytes, if `is_meant` needs them.
    pub(crate) fn pass(
        &self,
        record: &Record,
        look: Look<'_>,
        mut row: Option<&mut Vec<u8>>,
        mut is_meant: impl FnMut(&[u8]) -> bool,
        guard: &Guard,
    ) -> Option<(u64, bool)> {
        'anew: loop {
            let newest = record.writer();
            let mut is_there = match &mut row {
                Some(row) => record.copy_row(row, guard),
                None => record.has_row(),
            };
            if !record.is_of(newest) {
                continue;
            }
            let mut handle = newest;
            let mut gone = None;
            loop {
                let mut is_noted = || is_there && is_meant(row.as_ref().map_or(&[], |row| row.as_slice()));
                let version = match self.judge_for(handle, look, guard) {
                    // The time is 0.
                    Verdict::Old if gone.is_none() && is_noted() => return Some((0, true)),
                    Verdict::Old => return None,
                    Verdict::Unseen(version) if look.fails_for(handle, &version) => {
                        return Some(WRITTEN_BESIDE);
                    }
                    Verdict::Unseen(version) => version,
                    Verdict::Seen { time, version, .. } => {
                        let time = look.count(time);
                        match gone {
                            None if is_noted() => return Some((time, true)),
                            _ if time == 0 => return None,
                            None => gone = Some(time),
                            Some(gone) if is_noted() => return Some((gone, false)),
                            Some(_) => {}
                        }
                        version
                    }
                };
                is_there = match &mut row {
                    None => version.was_there(is_there),
                    Some(row) => {
                        let Some(was_there) = version.apply(row, is_there) else { continue 'anew };
                        was_there
                    }
                };
                handle = version.previous();
            }
        }
    }

    /// Judges the version before that of a handle whose transaction was running: one of the same transaction
    /// is not seen either, even if that has committed meanwhile. (To a reader at a snapshot, which is earlier
    /// than such a commit, that makes no difference.)
    fn judge_after<'g>(
        &'g self,
        handle: Handle,
        running: Handle,
        time: u64,
        guard: &'g Guard,
    ) -> Verdict<'g> {
        match self.judge(handle, time, guard) {
            Verdict::Seen { version, .. } if self.is_of_one_transaction(handle, running, guard) => {
                Verdict::Unseen(version)
            }
            verdict => verdict,
        }
    }

    fn judge_for<'g>(&'g self, handle: Handle, look: Look<'g>, guard: &'g Guard) -> Verdict<'g> {
        match look.own.is_own(handle) {
            true => Verdict::Unseen(look.own.version(handle)),
            false => self.judge(handle, look.at, guard),
        }
    }

    /// Whether a snapshot sees the content of the record with this handle, or its own transaction wrote it.
    pub(crate) fn is_seen(
        &self,
        handle: Handle,
        snapshot: &Snapshot,
        own: &HistoryWriter,
        guard: &Guard,
    ) -> Result<bool> {
        let mut handle = handle;
        let is_seen = loop {
            if own.is_written(handle) {
                break true;
            }
            match self.judge(handle, snapshot.time(), guard) {
                Verdict::Old | Verdict::Seen { .. } => break true,
                Verdict::Unseen(version) if version.is_unchanged() => handle = version.previous(),
                Verdict::Unseen(_) => break false,
            }
        };
        snapshot.check()?;
        Ok(is_seen)
    }

    /// Whether the row that a snapshot sees there has been deleted since, even if there is a row again.
    pub(crate) fn was_deleted(&self, record: &Record, snapshot: &Snapshot, guard: &Guard) -> bool {
        let (mut handle, mut is_there, mut was_there) = (record.writer(), record.has_row(), false);
        let mut was_absent = !is_there;
        while let Verdict::Unseen(version) = self.judge(handle, snapshot.time(), guard) {
            was_there = version.was_there(is_there);
            was_absent |= !was_there;
            is_there = was_there;
            handle = version.previous();
        }
        was_there && was_absent
    }

    /// Passes the mark of the writer of the newest committed version to `follow`, for a transaction that has
    /// locked the key of the record. That writer has followed those before it.
    #[inline]
    pub(crate) fn follow_writer(
        &self,
        record: &Record,
        own: &HistoryWriter,
        follow: impl FnOnce(&[AtomicU64]),
        guard: &Guard,
    ) {
        let mut handle = record.writer();
        while !own.is_own(handle) {
            match self.judge(handle, LATEST, guard) {
                Verdict::Old => return,
                Verdict::Seen { mark, .. } => return follow(mark),
                // Taken back, or being written beside a lock on the key alone.
                Verdict::Unseen(version) => handle = version.previous(),
            }
        }
    }

    /// Whether a record has a row, and no transaction is about to change that. `follow` as for
    /// [`Histories::read`].
    pub(crate) fn has_settled_row(
        &self,
        record: &Record,
        own: &HistoryWriter,
        mut follow: impl FnMut(&[AtomicU64]),
        guard: &Guard,
    ) -> bool {
        loop {
            let writer = record.writer();
            let has_row = record.has_row();
            if !record.is_of(writer) {
                continue;
            }
            if !has_row || own.is_own(writer) {
                return has_row;
            }
            let mut handle = writer;
            return loop {
                match self.judge(handle, LATEST, guard) {
                    Verdict::Old => break true,
                    Verdict::Seen { mark, .. } => {
                        follow(mark);
                        break true;
                    }
                    // The write has been taken back.
                    Verdict::Unseen(version) if version.is_unchanged() => handle = version.previous(),
                    Verdict::Unseen(_) => break false,
                }
            };
        }
    }

    /// Copies the newest version, if no other transaction is about to change it: `Some(false)` if it is no
    /// row.
    /// `follow` as for [`Histories::read`].
    pub(crate) fn read_settled(
        &self,
        record: &Record,
        own: &HistoryWriter,
        row: &mut Vec<u8>,
        mut follow: impl FnMut(&[AtomicU64]),
        guard: &Guard,
    ) -> Option<bool> {
        let (writer, is_there) = record.copy_newest(row, guard);
        let mut handle = writer;
        while !own.is_own(handle) {
            match self.judge(handle, LATEST, guard) {
                Verdict::Old => break,
                Verdict::Seen { mark, .. } => {
                    follow(mark);
                    break;
                }
                // The write has been taken back.
                Verdict::Unseen(version) if version.is_unchanged() => handle = version.previous(),
                Verdict::Unseen(_) => return None,
            }
        }
        Some(is_there)
    }

    /// Passes to `see` every row that was in a record before the newest and that a snapshot may still see. No
    /// transaction may be writing the record.
    pub(crate) fn for_each_older(&self, record: &Record, guard: &Guard, mut see: impl FnMut(&[u8])) {
        let mut row = Vec::new();
        let (mut handle, mut is_there) = record.copy_newest(&mut row, guard);
        // No commit is so early, so every version is one of those before until they are forgotten.
        while let Verdict::Unseen(version) = self.judge(handle, 0, guard) {
            let Some(was_there) = version.apply(&mut row, is_there) else { return };
            is_there = was_there;
            handle = version.previous();
            if is_there {
                see(&row);
            }
        }
    }

    /// Passes to `see` every row that is in a record, or was and may still be seen by a snapshot: newest
    /// first, and whether it is the newest. Returns the writer of the newest; `None` if a write was going on
    /// and some are missing.
    pub(crate) fn for_each_version(
        &self,
        record: &Record,
        guard: &Guard,
        mut see: impl FnMut(&[u8], bool) -> Result<()>,
    ) -> Result<Option<Handle>> {
        let mut row = Vec::new();
        let (newest, mut is_there) = record.copy_newest(&mut row, guard);
        if is_there {
            see(&row, true)?;
        }
        let mut handle = newest;
        while let Verdict::Unseen(version) = self.judge(handle, 0, guard) {
            let Some(was_there) = version.apply(&mut row, is_there) else { return Ok(None) };
            is_there = was_there;
            handle = version.previous();
            if is_there {
                see(&row, false)?;
            }
        }
        Ok(Some(newest))
    }

    /// Reads a record as a snapshot sees it, into `row`; false if the snapshot has no row there. A reader
    /// that passes on what it read must follow its writer: `follow` gets the mark of that writer.
    pub(crate) fn read(
        &self,
        record: &Record,
        snapshot: &Snapshot,
        own: &HistoryWriter,
        row: RowCopy<'_>,
        follow: impl FnMut(&[AtomicU64]),
        guard: &Guard,
    ) -> Result<bool> {
        self.read_as::<false>(record, snapshot, own, row, follow, guard).map(|seen| seen.is_there)
    }

    /// The same for a reader that will ask whether the version is still the one to be seen, and may read at
    /// [`LATEST`].
    pub(crate) fn read_to_check(
        &self,
        record: &Record,
        snapshot: &Snapshot,
        own: &HistoryWriter,
        row: RowCopy<'_>,
        follow: impl FnMut(&[AtomicU64]),
        guard: &Guard,
    ) -> Result<SeenVersion> {
        self.read_as::<true>(record, snapshot, own, row, follow, guard)
    }

    #[inline(always)]
    fn read_as<const IS_CHECKED: bool>(
        &self,
        record: &Record,
        snapshot: &Snapshot,
        own: &HistoryWriter,
        row: RowCopy<'_>,
        mut follow: impl FnMut(&[AtomicU64]),
        guard: &Guard,
    ) -> Result<SeenVersion> {
        let RowCopy { bytes: row, mut leading } = row;
        'anew: loop {
            let newest = record.writer();
            let mut is_there = record.copy_leading(leading, row, guard);
            if !record.is_of(newest) {
                continue;
            }
            let (mut handle, mut committed, mut seen) = (newest, LATEST, None);
            let mut running = None;
            while !own.is_written(handle) {
                let verdict = match running {
                    // It was running at first: what it has written before is not what it leaves.
                    Some(running) => self.judge_after(handle, running, snapshot.time(), guard),
                    None => self.judge(handle, snapshot.time(), guard),
                };
                match verdict {
                    Verdict::Old => {
                        committed = 0;
                        break;
                    }
                    Verdict::Seen { mark, time, .. } => {
                        (committed, seen) = (time, Some(mark));
                        break;
                    }
                    Verdict::Unseen(_) if !leading.is_whole() => {
                        // What was there before may have changed behind that part.
                        leading = Leading::WHOLE;
                        continue 'anew;
                    }
                    Verdict::Unseen(version) => {
                        if IS_CHECKED && snapshot.time() == LATEST {
                            running = Some(handle);
                        }
                        let Some(was_there) = version.apply(row, is_there) else { continue 'anew };
                        is_there = was_there;
                        handle = version.previous();
                    }
                }
            }
            if IS_CHECKED && snapshot.time() == LATEST && handle == newest && !record.is_of(newest) {
                // Its writer was not done with it.
                continue;
            }
            snapshot.check()?;
            if let Some(mark) = seen {
                follow(mark);
            }
            return Ok(SeenVersion { handle, time: committed, is_there });
        }
    }
}

//! Records as snapshots see them: from the newest version in the record back through the histories
//! (`storage::history`, which has the invariants).

use std::sync::atomic::AtomicU64;

use crossbeam_epoch::Guard;
use hyades_types::error::Result;

use super::history::{Handle, Histories, HistoryWriter, LATEST, Snapshot, Verdict};
use super::record::Record;

impl Histories {
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
                Verdict::Seen { mark } => return follow(mark),
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
                    Verdict::Seen { mark } => {
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
                Verdict::Seen { mark } => {
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
        row: &mut Vec<u8>,
        mut follow: impl FnMut(&[AtomicU64]),
        guard: &Guard,
    ) -> Result<bool> {
        'anew: loop {
            let newest = record.writer();
            let mut is_there = record.copy_row(row, guard);
            if !record.is_of(newest) {
                continue;
            }
            let mut handle = newest;
            let mut seen = None;
            while !own.is_written(handle) {
                match self.judge(handle, snapshot.time(), guard) {
                    Verdict::Old => break,
                    Verdict::Seen { mark } => {
                        seen = Some(mark);
                        break;
                    }
                    Verdict::Unseen(version) => {
                        let Some(was_there) = version.apply(row, is_there) else { continue 'anew };
                        is_there = was_there;
                        handle = version.previous();
                    }
                }
            }
            snapshot.check()?;
            if let Some(mark) = seen {
                follow(mark);
            }
            return Ok(is_there);
        }
    }
}

//! Which snapshots are in use, and which versions no reader can see any more.
//!
//! Each worker has a slot for the time of its snapshot. To take one it writes [`TAKING`], reads the clock,
//! and writes the time. The thread that computes the horizon reads the clock first and the slots afterwards,
//! and gives up if a snapshot is being taken: a slot that it found empty will get a time that is not before
//! that of the clock.
//!
//! A snapshot that keeps too much in memory is *expired*: the horizon passes it, and a reader at it gets an
//! error instead of a possibly wrong result ([`Snapshot::check`]).
//!
//! A unique index holds for the rows that exist when it is created. An earlier snapshot may see other rows
//! with the same values, so a reader at such a snapshot must not rely on the index
//! ([`Histories::note_new_key`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hyades_types::error::{Error, Result, sqlstate};

use super::{Histories, History};
use crate::mutant::{self, Mutant};

/// No snapshot is in use.
const FREE: u64 = u64::MAX;
/// A snapshot is being taken.
const TAKING: u64 = 0;

/// The snapshot of one worker.
pub(super) struct Slot {
    time: AtomicU64,
    /// Snapshots up to this time are not served any more.
    expired: AtomicU64,
}

impl Default for Slot {
    fn default() -> Slot {
        Slot { time: AtomicU64::new(FREE), expired: AtomicU64::new(0) }
    }
}

/// A point in the order of commits. It and all later ones stay readable while this lives. At most one for
/// each worker.
pub(crate) struct Snapshot {
    history: Arc<History>,
    /// From this time on everything is kept.
    kept_from: u64,
    /// The time at which it reads.
    time: u64,
}

impl Snapshot {
    pub(super) fn take(histories: &Histories, history: &Arc<History>) -> Snapshot {
        let slot = &history.snapshot;
        debug_assert_eq!(slot.time.load(Ordering::Relaxed), FREE, "a worker has one snapshot");
        slot.time.store(TAKING, Ordering::SeqCst);
        let time = histories.clock.now();
        slot.time.store(time, Ordering::SeqCst);
        Snapshot { history: Arc::clone(history), kept_from: time, time }
    }

    pub(super) fn of_replay(history: &Arc<History>, time: u64) -> Snapshot {
        Snapshot { history: Arc::clone(history), kept_from: u64::MAX, time }
    }

    pub(crate) fn time(&self) -> u64 {
        self.time
    }

    /// The time from which on everything is kept.
    pub(crate) fn kept_from(&self) -> u64 {
        self.kept_from
    }

    /// From now on reads at this time, which a replay knows, or at [`LATEST`](super::LATEST): the newest
    /// committed versions.
    pub(crate) fn set_time(&mut self, time: u64) {
        self.time = time;
    }

    /// From now on reads at a time that it had before, or at the latest.
    pub(crate) fn read_at(&mut self, time: Option<u64>, histories: &Histories) {
        self.time = time.unwrap_or_else(|| histories.clock.now());
    }

    /// Whether the data read at it so far are valid.
    ///
    /// # Errors
    /// 72000: the snapshot was held for too long.
    pub(crate) fn check(&self) -> Result<()> {
        // After the reads that it vouches for. `forgotten` is raised only after a snapshot has expired.
        if self.history.snapshot.expired.load(Ordering::Acquire) < self.kept_from {
            return Ok(());
        }
        Err(Error::input(sqlstate::SNAPSHOT_TOO_OLD, "snapshot too old").with_hint(
            "Versions that only this transaction could see were given up to free memory. Start it again.",
        ))
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        self.history.snapshot.time.store(FREE, Ordering::Release);
    }
}

impl Histories {
    /// Determines which snapshots are in use; returns the horizon.
    pub(crate) fn find_horizon(&self) -> u64 {
        let mut horizon = self.clock.now();
        for history in self.all() {
            let slot = &history.snapshot;
            match slot.time.load(Ordering::SeqCst) {
                TAKING => return self.horizon.load(Ordering::Acquire),
                FREE => {}
                _ if mutant::is_active(Mutant::SnapshotsForgotten) => {}
                time if time <= slot.expired.load(Ordering::SeqCst) => {}
                time => horizon = horizon.min(time),
            }
        }
        self.horizon.fetch_max(horizon, Ordering::AcqRel).max(horizon)
    }

    /// All committed rows, and all later ones, comply with a unique index that is not visible yet; returns
    /// the time since which they do.
    pub(crate) fn note_new_key(&self) -> u64 {
        let time = self.clock.now();
        self.newest_key.fetch_max(time, Ordering::SeqCst);
        time
    }

    /// A time later than all snapshots so far, and not later than those to come: snapshots from then on see
    /// the rows that have no versions once this transaction has committed.
    pub(crate) fn note_rewriting(&self) -> u64 {
        self.clock.draw()
    }

    /// Whether some unique index is newer than a snapshot of this time.
    pub(crate) fn has_newer_key(&self, time: u64) -> bool {
        time < self.newest_key.load(Ordering::Acquire)
    }

    /// Expires the oldest snapshot that holds anything back; returns whether there was one.
    pub(crate) fn expire_oldest(&self) -> bool {
        let oldest = self.all().filter_map(|history| {
            let slot = &history.snapshot;
            let time = slot.time.load(Ordering::SeqCst);
            let holds_back = time != FREE && time != TAKING && time > slot.expired.load(Ordering::SeqCst);
            (holds_back && time < self.clock.now()).then_some((time, history))
        });
        let Some((time, history)) = oldest.min_by_key(|(time, _)| *time) else { return false };
        history.snapshot.expired.fetch_max(time, Ordering::SeqCst);
        true
    }
}

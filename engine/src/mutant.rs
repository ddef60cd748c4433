//! Known bugs, each of which can be reintroduced to check that the tests catch it.
//!
//! Every variant is one entry of the list of pitfalls in docs/log-format.md. The switch is one process-wide
//! atomic, because logger threads must see it too. Without the feature `mutants` (and outside this crate's
//! own tests) [`is_active`] is the constant `false` and the bugs are not in the binary. Tests that activate a
//! mutant belong in a process of their own.

/// A bug that implementers of these protocols have made, or nearly made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Mutant {
    /// The stored LV contains the record's own end: replay waits for itself (pitfall 1).
    OwnEndInStoredLv = 1,
    /// The log position is reserved before the LV is final (pitfall 2).
    ReserveBeforeFreeze,
    /// A tuple's LV is raised only after its lock was free (pitfall 3).
    ReleaseBeforeRaise,
    /// Answers of read-only transactions do not wait for what they saw (pitfall 7).
    ReadOnlyNoWait,
    /// "T and the transactions after it are ignored": the cut is a prefix of each log (pitfall 8).
    CommitInLogOrder,
    /// Positions count as durable before the sync (pitfall 9).
    DurableBeforeSync,
    /// The cut of an earlier recovery is forgotten (pitfall 15).
    ZombiesRevived,
    /// The cut is computed before the logs are synced (pitfall 16).
    NoSyncBeforeCut,
    /// Tuple LVs are evicted by the durable vector and read as zero afterwards (pitfall 19).
    ZeroTupleLv,
    /// An idle replay worker holds back nothing, not even what the dispatcher has yet to hand out (pitfall
    /// 21).
    IdleWorkerInfinity,
    /// Point reads take no lock.
    SkipRowLock,
    /// Scans do not lock the gaps they pass: phantoms.
    SkipGapLock,
    /// A replayed call reads the newest rows, of whatever has been replayed (pitfall 24).
    ReplayReadsNewest,
    /// Replay of a call uses the current clock and new random numbers (pitfall 26).
    NothingCaptured,
    /// Schema changes are not ordered with anything (pitfall 29).
    NoBarrier,
    /// A call is logged as a command although names have changed while it ran (pitfall 29).
    CallsOfOldNames,
    /// A log ends where a segment is missing or blank, whatever follows (pitfall 14).
    GapIsTheEnd,
    /// A stop records the ends of the logs before they have been written (pitfall 9).
    EndsBeforeDurable,
    /// Segments are prepared ahead of one that is still empty (pitfall 14).
    PreparedTooEarly,
    /// A COMMIT continues the fragments of one that was given up (pitfall 11).
    FragmentsOfAnother,
    /// An escalated transaction locks only its own worker's stripe instead of the whole table.
    EscalateOneStripe,
    /// A salvage drops the transactions that may depend on lost ones, but not those that may depend on the
    /// dropped ones.
    SalvageForgetsDropped,
    /// A scan that skips locked rows releases the lock of a row that its transaction has changed meanwhile.
    LetGoOfUsedLock,
    /// A transaction that does not want to wait is told that the janitor has the lock.
    HinderedByJanitor,
    /// A reader at a snapshot does not follow the writers of what it reads.
    NoVersionMark,
    /// Versions that a snapshot still sees are forgotten.
    SnapshotsForgotten,
    /// Anchors hold durable positions inside a record, of which a crash may leave nothing.
    AnchorsInsideRecords,
    /// A block of a striped log counts as durable as soon as it is written, even if one before it is missing
    /// (pitfall 9).
    StripesOutOfOrder,
    /// A row found by an entry of a secondary index is taken without checking its current values.
    EntryNotRechecked,
    /// Inserting values into a unique index does not wait for transactions that insert or remove the same
    /// ones.
    UniqueCheckSkipsWaiting,
    /// With deferred checks, a row from which another transaction is removing the values needs no check.
    ChangingTwinForgotten,
    /// A log record does not say which numbers its transaction drew.
    DrawsUnlogged,
    /// An update is logged as the patch of the row that it has read, although its statement has changed the
    /// row since then.
    PatchOfStaleRow,
    /// A checkpoint does not wait for the transactions that are committing when it takes its time
    /// (pitfall 27).
    StragglersForgotten,
    /// A checkpoint says where its transactions end in the logs before it takes its time (pitfall 27).
    SettledEarly,
    /// A transaction draws its commit time before its log record has a place (pitfall 27).
    TimeBeforePlace,
    /// A checkpoint counts before the logs are durable up to what it holds (pitfall 27).
    CheckpointBeforeDurable,
    /// Segments that the checkpoint before the last one needs are removed (pitfall 28).
    SegmentsGoTooEarly,
    /// Replay repeats what the checkpoint holds (pitfall 27).
    CheckpointedReplayed,
    /// A key that has left its index leaves no note for the next checkpoint.
    RemovalsUnnoted,
    /// Building an index beside writers does not wait for the writers that do not know of it.
    BuilderWaitsForNobody,
    /// A table opens when its rows are loaded, even if the logs hold further changes to it.
    OpenedTooEarly,
    /// The manifest counts before its directory is synced (pitfall 15).
    ManifestUnsynced,
    /// Ended logs are trimmed before the manifest says where they end (pitfall 17).
    TrimmedBeforeManifest,
    /// Calls that read at a snapshot are logged as commands (pitfall 24).
    CommandsAtAnyLevel,
    /// A segment takes blocks before its name is durable (pitfall 9).
    SegmentNameUnsynced,
    /// A checkpoint counts before its contents file is synced (pitfall 27).
    CheckpointUnsynced,
    /// A segment that is reused gets its new name before its zeroes are durable (pitfall 14).
    SpareNamedUnsynced,
    /// The last pass of a restart replays again what an early pass has replayed.
    EarlyPassForgotten,
    /// The digest of the logs claims to cover more than has been read.
    DigestAhead,
    /// REPEATABLE READ writes rows that another transaction has changed since its snapshot.
    NewerRowOverwritten,
    /// An anchor has a time that is not from before its place in the log: a transaction after it may have
    /// drawn an earlier one.
    AnchorDatedLate,
    /// A transaction of Silo-R leaves its epoch before its record has its place: the epoch may be closed
    /// meanwhile.
    EpochLeftEarly,
    /// A transaction that has read without locks looks at that before it draws its time, and not afterwards.
    LookBeforeDraw,
    /// It does not look at ranges.
    RangesNotLookedAt,
    /// Absence has no time: a key that was inserted and deleted again looks as it did before.
    AbsenceWithoutTime,
    /// An error leaves a transaction without a look at what it has read.
    ErrorOfOutdatedReads,
    /// Places in a log that is replayed in its order are not in the order of times.
    PlacesBesideTimes,
    /// A milestone names the current epoch, in which others are still to get places.
    MilestoneTooEarly,
    /// A transaction of Plover gets its places after it has given the latches back: its GSN may be smaller
    /// than what comes before it in a log.
    PartWithoutLatch,
    /// A GSN of Plover is larger only than those of the logs that the transaction writes to, not than those
    /// of what it has read.
    GsnOfOwnLogs,
    /// A milestone of Plover names a GSN, but does not raise that of its log.
    HeartbeatBesideLatch,
    /// A log of the dependency graph is settled up to where it is durable, although what its transactions
    /// follow may not be.
    DurableIsSettled,
    /// A transaction of the dependency graph that follows too many names the largest id of each log in place
    /// of them.
    LargestOfEachLog,
    /// Its answer waits only for the records that it follows, not for what those follow.
    AnswerOfOwnRecord,
    /// A record counts although one that it follows is dead.
    DeadNotPassedOn,
    /// The last stamp that counts is that up to which one log is complete, not all of them.
    StampOfTheFurthest,
    /// A replay key by key takes all logs for known up to the time up to which one of them is.
    BoundOfTheFurthest,
    /// A range of keys opens when its rows are loaded, even if the logs hold further changes to it.
    RangeOpenedTooEarly,
    /// A restart replays changes of a range again that were merged into it before it opened.
    MergedRangeForgotten,
    /// A replay program executes what it needs however its branches go (PACMAN).
    DecidersForgotten,
    /// A replay program leaves out random numbers that it does not need itself (PACMAN).
    DrawsSkipped,
    /// A replay program leaves out what only leads to a handler (PACMAN).
    HandlersPruned,
    /// A replay program goes on where the run would have failed (PACMAN).
    TrapsIgnored,
    /// What a handler would undo together is in several slices (PACMAN).
    HandlersCut,
    /// Rows of several tables without keys get their numbers in several slices (PACMAN).
    RowNumbersApart,
    /// A slice takes values of another one where it does not know whether they were put (PACMAN).
    TakesUndecided,
}

impl Mutant {
    /// All of them.
    pub const ALL: [Mutant; 77] = [
        Mutant::OwnEndInStoredLv,
        Mutant::ReserveBeforeFreeze,
        Mutant::ReleaseBeforeRaise,
        Mutant::ReadOnlyNoWait,
        Mutant::CommitInLogOrder,
        Mutant::DurableBeforeSync,
        Mutant::ZombiesRevived,
        Mutant::NoSyncBeforeCut,
        Mutant::ZeroTupleLv,
        Mutant::IdleWorkerInfinity,
        Mutant::SkipRowLock,
        Mutant::SkipGapLock,
        Mutant::ReplayReadsNewest,
        Mutant::NothingCaptured,
        Mutant::NoBarrier,
        Mutant::CallsOfOldNames,
        Mutant::GapIsTheEnd,
        Mutant::EndsBeforeDurable,
        Mutant::PreparedTooEarly,
        Mutant::FragmentsOfAnother,
        Mutant::EscalateOneStripe,
        Mutant::SalvageForgetsDropped,
        Mutant::LetGoOfUsedLock,
        Mutant::HinderedByJanitor,
        Mutant::NoVersionMark,
        Mutant::SnapshotsForgotten,
        Mutant::AnchorsInsideRecords,
        Mutant::StripesOutOfOrder,
        Mutant::EntryNotRechecked,
        Mutant::UniqueCheckSkipsWaiting,
        Mutant::ChangingTwinForgotten,
        Mutant::DrawsUnlogged,
        Mutant::PatchOfStaleRow,
        Mutant::StragglersForgotten,
        Mutant::SettledEarly,
        Mutant::TimeBeforePlace,
        Mutant::CheckpointBeforeDurable,
        Mutant::SegmentsGoTooEarly,
        Mutant::CheckpointedReplayed,
        Mutant::RemovalsUnnoted,
        Mutant::BuilderWaitsForNobody,
        Mutant::OpenedTooEarly,
        Mutant::ManifestUnsynced,
        Mutant::TrimmedBeforeManifest,
        Mutant::CommandsAtAnyLevel,
        Mutant::SegmentNameUnsynced,
        Mutant::CheckpointUnsynced,
        Mutant::SpareNamedUnsynced,
        Mutant::EarlyPassForgotten,
        Mutant::DigestAhead,
        Mutant::NewerRowOverwritten,
        Mutant::AnchorDatedLate,
        Mutant::EpochLeftEarly,
        Mutant::LookBeforeDraw,
        Mutant::RangesNotLookedAt,
        Mutant::AbsenceWithoutTime,
        Mutant::ErrorOfOutdatedReads,
        Mutant::PlacesBesideTimes,
        Mutant::MilestoneTooEarly,
        Mutant::PartWithoutLatch,
        Mutant::GsnOfOwnLogs,
        Mutant::HeartbeatBesideLatch,
        Mutant::DurableIsSettled,
        Mutant::LargestOfEachLog,
        Mutant::AnswerOfOwnRecord,
        Mutant::DeadNotPassedOn,
        Mutant::StampOfTheFurthest,
        Mutant::BoundOfTheFurthest,
        Mutant::RangeOpenedTooEarly,
        Mutant::MergedRangeForgotten,
        Mutant::DecidersForgotten,
        Mutant::DrawsSkipped,
        Mutant::HandlersPruned,
        Mutant::TrapsIgnored,
        Mutant::HandlersCut,
        Mutant::RowNumbersApart,
        Mutant::TakesUndecided,
    ];
}

#[cfg(any(test, feature = "mutants"))]
mod switch {
    use std::sync::atomic::{AtomicU8, Ordering};

    static ACTIVE: AtomicU8 = AtomicU8::new(0);

    /// Whether this bug is active at the moment.
    #[inline]
    pub fn is_active(mutant: super::Mutant) -> bool {
        ACTIVE.load(Ordering::Relaxed) == mutant as u8
    }

    /// Activates one bug, or none.
    pub fn activate(mutant: Option<super::Mutant>) {
        ACTIVE.store(mutant.map_or(0, |mutant| mutant as u8), Ordering::SeqCst);
    }
}

#[cfg(any(test, feature = "mutants"))]
pub use switch::{activate, is_active};

/// Whether this bug is active at the moment: never, in this build.
#[cfg(not(any(test, feature = "mutants")))]
#[inline(always)]
pub fn is_active(_mutant: Mutant) -> bool {
    false
}

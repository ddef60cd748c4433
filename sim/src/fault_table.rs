//! The effect of each fault in each step of the database's work: a decision table as data.
//!
//! A *step* is an operation on files, and a *fault* is what may go wrong there. Every pair belongs to exactly
//! one [`Row`], which says what the user sees and what the next start finds. `sim/tests/fault_table.rs`
//! checks that there is one, drives each row on the simulated disk (`drive`), and compares docs/faults.md
//! with [`render`]. A row that cannot occur on this disk, because the fault ends below the disk interface
//! (`hyades_engine::disk`) or bypasses it, names the test that shows it.
//!
//! A fault that lasts is removed before the next start: the table says what survives once the disk works
//! again.
//!
//! Reference: the recovery cases of TigerBeetle's journal, a table that is checked for completeness.

pub mod drive;

/// An operation on files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    LogBlock,
    SegmentPreparation,
    SegmentRemoval,
    ManifestOfCheckpoint,
    ManifestAtStop,
    CheckpointFile,
    CheckpointRemoval,
    ManifestAtStart,
    FirstSegments,
    LogSyncAtStart,
    LogReading,
    ManifestReading,
    CheckpointReading,
    Backup,
    Restore,
    SpillFile,
}

/// What may go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    ErrorOnce,
    ErrorForEver,
    NoSpace,
    ShortWrite,
    Interrupted,
    LyingSync,
    LostWrite,
    Misdirected,
    PowerCut,
    BitFlip,
    StaleFile,
    Slow,
    ClockJump,
    OutOfMemory,
}

/// What the user sees while the fault lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Nothing, or at most a delay.
    Nothing,
    /// Commits that need more log are refused with this SQLSTATE until an attempt to make room has succeeded.
    /// Reads go on.
    Refused(&'static str),
    /// 58030 or similar for waiting and new transactions: the database is poisoned, and gives the reason.
    Poisoned,
    /// The checkpoint fails. The previous one stays valid, and the next one is tried.
    CheckpointFails,
    /// The start fails with a sentence that names the file.
    StartRefused,
    /// The stop fails. The next start recovers as after a crash.
    StopFails,
    /// The command fails with a sentence that names the file.
    CommandFails,
    /// The statement fails with 53100 or 58030.
    StatementFails,
    /// The process ends.
    ProcessEnds,
    /// The pair cannot occur, for the given reason.
    Impossible,
}

/// What a start finds once the fault is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survives {
    /// Everything that was acknowledged.
    Everything,
    /// The start is refused by name, or what the disk has lost silently is gone, with everything that depends
    /// on it.
    WhatTheDiskKept,
    /// Nothing is at stake.
    Nothing,
}

/// Where a row is demonstrated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// By `drive`.
    Here,
    /// By a test in this file.
    In(&'static str),
    /// Nowhere: there is nothing to show, or the data is not checked.
    Nowhere,
}

/// One decision.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub steps: &'static [Step],
    pub faults: &'static [Fault],
    pub seen: Seen,
    pub survives: Survives,
    pub shown: Shown,
    pub why: &'static str,
}

use Fault::*;
use Step::*;

impl Step {
    pub const ALL: [Step; 16] = [
        LogBlock,
        SegmentPreparation,
        SegmentRemoval,
        ManifestOfCheckpoint,
        ManifestAtStop,
        CheckpointFile,
        CheckpointRemoval,
        ManifestAtStart,
        FirstSegments,
        LogSyncAtStart,
        LogReading,
        ManifestReading,
        CheckpointReading,
        Backup,
        Restore,
        SpillFile,
    ];

    pub fn about(self) -> &'static str {
        match self {
            LogBlock => "a block of the log is written durably",
            SegmentPreparation => "a segment is prepared ahead of need",
            SegmentRemoval => "segments are removed or cut",
            ManifestOfCheckpoint => "the manifest of a checkpoint is written",
            ManifestAtStop => "the manifest of a stop is written",
            CheckpointFile => "a part or the contents of a checkpoint are written",
            CheckpointRemoval => "files of older checkpoints are removed",
            ManifestAtStart => "the manifest of a start is written",
            FirstSegments => "the first segments of a start are made",
            LogSyncAtStart => "logs that were not closed are synced before they are read",
            LogReading => "logs are read",
            ManifestReading => "the manifest is read",
            CheckpointReading => "a checkpoint is read",
            Backup => "a backup is written",
            Restore => "a restored database is written",
            SpillFile => "rows of a statement go to a file without a name",
        }
    }
}

impl Fault {
    pub const ALL: [Fault; 14] = [
        ErrorOnce,
        ErrorForEver,
        NoSpace,
        ShortWrite,
        Interrupted,
        LyingSync,
        LostWrite,
        Misdirected,
        PowerCut,
        BitFlip,
        StaleFile,
        Slow,
        ClockJump,
        OutOfMemory,
    ];

    pub fn about(self) -> &'static str {
        match self {
            ErrorOnce => "EIO once",
            ErrorForEver => "EIO for ever",
            NoSpace => "ENOSPC",
            ShortWrite => "a short write or read",
            Interrupted => "EINTR",
            LyingSync => "a sync that lies",
            LostWrite => "a lost write",
            Misdirected => "a misdirected write",
            PowerCut => "a power cut: lost, torn, reordered sectors",
            BitFlip => "a flipped bit",
            StaleFile => "a file as it was earlier",
            Slow => "a slow device",
            ClockJump => "a jump of the clock",
            OutOfMemory => "a failing allocation",
        }
    }
}

impl Seen {
    fn about(self) -> String {
        match self {
            Seen::Nothing => "nothing".to_owned(),
            Seen::Refused(state) => {
                format!("writing commits are refused with {state}, for as long as it lasts")
            }
            Seen::Poisoned => "poisoned".to_owned(),
            Seen::CheckpointFails => "the checkpoint fails, the database goes on".to_owned(),
            Seen::StartRefused => "the start is refused, by file".to_owned(),
            Seen::StopFails => "the stop fails".to_owned(),
            Seen::CommandFails => "the command fails, by file".to_owned(),
            Seen::StatementFails => "the statement fails with 53100 or 58030".to_owned(),
            Seen::ProcessEnds => "the process ends".to_owned(),
            Seen::Impossible => "-".to_owned(),
        }
    }
}

impl Survives {
    fn about(self) -> &'static str {
        match self {
            Survives::Everything => "everything acknowledged",
            Survives::WhatTheDiskKept => "what the disk has kept, or a refusal by file; never anything wrong",
            Survives::Nothing => "-",
        }
    }
}

/// All steps on the data disk of a running database, and of one that starts.
const WRITING: &[Step] = &[
    LogBlock,
    SegmentPreparation,
    SegmentRemoval,
    ManifestOfCheckpoint,
    ManifestAtStop,
    CheckpointFile,
    CheckpointRemoval,
    ManifestAtStart,
    FirstSegments,
    LogSyncAtStart,
    Backup,
    Restore,
];
const READING: &[Step] = &[LogReading, ManifestReading, CheckpointReading];
/// The steps that `drive` can put faults in.
const DRIVEN: &[Step] = &[
    LogBlock,
    SegmentPreparation,
    SegmentRemoval,
    ManifestOfCheckpoint,
    ManifestAtStop,
    CheckpointFile,
    CheckpointRemoval,
    ManifestAtStart,
    FirstSegments,
    LogSyncAtStart,
    LogReading,
    ManifestReading,
    CheckpointReading,
    Backup,
    Restore,
];

const fn row(
    (steps, faults): (&'static [Step], &'static [Fault]),
    seen: Seen,
    survives: Survives,
    shown: Shown,
    why: &'static str,
) -> Row {
    Row { steps, faults, seen, survives, shown, why }
}

/// The decisions, in the order of the document.
pub const ROWS: &[Row] = &[
    row(
        (&[LogBlock], &[ErrorOnce, ErrorForEver, NoSpace]),
        Seen::Poisoned,
        Survives::Everything,
        Shown::Here,
        "A durable write that failed may have left any part of its block, so it is not repeated (pitfall \
         9). The space of a block is reserved when its segment is prepared.",
    ),
    row(
        (&[SegmentPreparation], &[ErrorOnce, ErrorForEver]),
        Seen::Refused("58030"),
        Survives::Everything,
        Shown::Here,
        "A segment under preparation holds no records, so it is removed and prepared again, ten times a \
         second. Commits that fit into the prepared segments succeed; only those that need more space are \
         refused.",
    ),
    row(
        (&[SegmentPreparation], &[NoSpace]),
        Seen::Refused("53100"),
        Survives::Everything,
        Shown::Here,
        "The segment is prepared again, as after EIO. The error has PostgreSQL's SQLSTATE and hint.",
    ),
    row(
        (&[SegmentRemoval, CheckpointRemoval], &[ErrorOnce, ErrorForEver, NoSpace]),
        Seen::Nothing,
        Survives::Everything,
        Shown::Here,
        "The files only take space. The next checkpoint or start removes them.",
    ),
    row(
        (&[ManifestOfCheckpoint, CheckpointFile], &[ErrorOnce, ErrorForEver, NoSpace]),
        Seen::CheckpointFails,
        Survives::Everything,
        Shown::Here,
        "The logs still hold everything. Each attempt has its own number and files, so no later attempt \
         builds on what a failed sync has left. If the manifest may already be in place, the files of the \
         attempt are kept until the next manifest is. Poisoning the database would protect nothing.",
    ),
    row(
        (&[ManifestAtStop], &[ErrorOnce, ErrorForEver, NoSpace]),
        Seen::StopFails,
        Survives::Everything,
        Shown::Here,
        "The next start does not know the ends of the logs, and finds them as after a crash.",
    ),
    row(
        (&[ManifestAtStart, FirstSegments, LogSyncAtStart], &[ErrorOnce, ErrorForEver, NoSpace]),
        Seen::StartRefused,
        Survives::Everything,
        Shown::Here,
        "No client has been answered yet. The files of the failed start hold nothing, and the next start \
         removes them.",
    ),
    row(
        (READING, &[ErrorOnce, ErrorForEver]),
        Seen::StartRefused,
        Survives::Everything,
        Shown::Here,
        "A start writes nothing before it has read everything.",
    ),
    row(
        (READING, &[NoSpace]),
        Seen::Impossible,
        Survives::Nothing,
        Shown::Nowhere,
        "Reading takes no space.",
    ),
    row(
        (&[Backup, Restore], &[ErrorOnce, ErrorForEver, NoSpace]),
        Seen::CommandFails,
        Survives::Everything,
        Shown::Here,
        "The database is not affected. The previous backup stays whole. A database that was restored only \
         in part is refused, and the message says so.",
    ),
    row(
        (&[SpillFile], &[ErrorOnce, ErrorForEver, NoSpace]),
        Seen::StatementFails,
        Survives::Nothing,
        Shown::In("engine/src/spill/tests.rs"),
        "The file belongs to the statement alone.",
    ),
    row(
        (Step::ALL.as_slice(), &[ShortWrite, Interrupted]),
        Seen::Nothing,
        Survives::Everything,
        Shown::In("engine/src/disk/real/tests.rs"),
        "The code below the disk interface writes the rest, or repeats the call. A direct write that \
         stopped inside a sector is repeated from the beginning of the sector.",
    ),
    row(
        (&[LogBlock, SegmentPreparation, FirstSegments], &[LyingSync, LostWrite, Misdirected]),
        Seen::Nothing,
        Survives::WhatTheDiskKept,
        Shown::Here,
        "If nothing later confirms the last blocks of a log, their loss looks as if the log had ended \
         before them. If an anchor, a later block, another segment or the manifest shows that blocks are \
         missing, the start is refused.",
    ),
    row(
        (&[LogSyncAtStart], &[LyingSync, LostWrite]),
        Seen::Nothing,
        Survives::WhatTheDiskKept,
        Shown::Here,
        "The start trusts what it reads. If a power cut then takes these bytes away, the log ends before \
         the end that the manifest has frozen, and the next start is refused.",
    ),
    row(
        (&[ManifestOfCheckpoint, ManifestAtStop, ManifestAtStart], &[LyingSync, LostWrite, Misdirected]),
        Seen::Nothing,
        Survives::WhatTheDiskKept,
        Shown::Here,
        "The next start finds the previous manifest, or none that is whole. It names the logs and \
         checkpoints that its manifest does not know, and keeps them. `hyades recover --salvage` needs a \
         manifest that is whole.",
    ),
    row(
        (&[CheckpointFile], &[LyingSync, LostWrite, Misdirected]),
        Seen::Nothing,
        Survives::Everything,
        Shown::Here,
        "The manifest has the checksum of the contents, the contents have the place of every part, and \
         every chunk has a checksum. The start begins with the previous checkpoint and the logs since.",
    ),
    row(
        (&[SegmentRemoval, CheckpointRemoval], &[LyingSync, LostWrite]),
        Seen::Nothing,
        Survives::Everything,
        Shown::Here,
        "Removals are not synced. A file that comes back is removed again.",
    ),
    row(
        (&[SegmentRemoval, CheckpointRemoval, LogSyncAtStart], &[Misdirected]),
        Seen::Impossible,
        Survives::Nothing,
        Shown::Nowhere,
        "These steps write no content.",
    ),
    row(
        (&[Backup], &[LyingSync, LostWrite, Misdirected]),
        Seen::Nothing,
        Survives::Everything,
        Shown::Here,
        "The database is not affected. A restore of such a backup finds the damage by the same checksums as \
         a start does, or restores what the disk has kept.",
    ),
    row(
        (&[Restore], &[LyingSync, LostWrite, Misdirected]),
        Seen::Nothing,
        Survives::WhatTheDiskKept,
        Shown::Here,
        "A start of the restored database finds the damage as it does in any logs and checkpoints. The \
         backup is whole and can be restored again.",
    ),
    row(
        (READING, &[LyingSync, LostWrite, Misdirected]),
        Seen::Impossible,
        Survives::Nothing,
        Shown::Nowhere,
        "These steps write nothing. Content that was written wrongly belongs to the rows of the steps that \
         write it.",
    ),
    row(
        (&[SpillFile], &[LyingSync, PowerCut]),
        Seen::Impossible,
        Survives::Nothing,
        Shown::Nowhere,
        "These files are never synced, and never read after their process.",
    ),
    row(
        (&[SpillFile], &[LostWrite, Misdirected, BitFlip, StaleFile]),
        Seen::Nothing,
        Survives::Nothing,
        Shown::Nowhere,
        "Rows in such files have no checksums, as in PostgreSQL: an answer may be wrong, but no stored row \
         is.",
    ),
    row(
        (DRIVEN, &[PowerCut]),
        Seen::ProcessEnds,
        Survives::Everything,
        Shown::Here,
        "A block counts only if it is whole and no block before it is missing. Manifests are renamed into \
         place. Everything else is synced before anything names it.",
    ),
    row(
        (&[LogReading], &[BitFlip]),
        Seen::StartRefused,
        Survives::WhatTheDiskKept,
        Shown::Here,
        "The damage is noticed wherever the log is known to go on. The last block counts as torn if nothing \
         later confirms it.",
    ),
    row(
        (&[ManifestReading], &[BitFlip]),
        Seen::StartRefused,
        Survives::Everything,
        Shown::Here,
        "The manifest has a checksum. If the bit was flipped on the wire and not on the disk, the next \
         start finds everything.",
    ),
    row(
        (&[CheckpointReading], &[BitFlip]),
        Seen::Nothing,
        Survives::Everything,
        Shown::Here,
        "Everything in a checkpoint has checksums. The start begins with the previous checkpoint and the \
         logs since, and says so. A start that has already let clients in closes the damaged table for \
         good, and the next start begins with the previous checkpoint.",
    ),
    row(
        (READING, &[StaleFile]),
        Seen::StartRefused,
        Survives::WhatTheDiskKept,
        Shown::Here,
        "A stale segment is shorter than it was, which is noticed if an anchor, a later block, another \
         segment or the manifest shows that blocks are missing. A stale manifest does not know the segments \
         that the start finds. Files of a checkpoint never change, so an older one is a damaged one.",
    ),
    row(
        (WRITING, &[BitFlip, StaleFile]),
        Seen::Impossible,
        Survives::Nothing,
        Shown::Nowhere,
        "The fault shows when the file is read: see the rows of reading, and `sim/tests/single_faults.rs` \
         for every kind of file at rest.",
    ),
    row(
        (DRIVEN, &[Slow]),
        Seen::Nothing,
        Survives::Everything,
        Shown::Here,
        "Answers wait for the device. No time limit ends the wait.",
    ),
    row(
        (&[SpillFile], &[Slow]),
        Seen::Nothing,
        Survives::Nothing,
        Shown::Nowhere,
        "The statement waits, and can be cancelled between two blocks.",
    ),
    row(
        (Step::ALL.as_slice(), &[ClockJump]),
        Seen::Nothing,
        Survives::Everything,
        Shown::In("engine/src/log/store/tests.rs"),
        "The clock orders nothing. Pauses are measured by a clock that does not jump. The times in blocks \
         never fall, so a point in time before a jump back is found, and one inside the jump is the end of \
         the jump.",
    ),
    row(
        (DRIVEN, &[OutOfMemory]),
        Seen::ProcessEnds,
        Survives::Everything,
        Shown::Here,
        "A failed allocation ends the process, as a kill would. With --memory-limit, statements are refused \
         with 53200 long before that. Recovery and rollbacks never ask for memory.",
    ),
    row(
        (&[SpillFile], &[OutOfMemory]),
        Seen::ProcessEnds,
        Survives::Nothing,
        Shown::Nowhere,
        "A failed allocation ends the process. The file has no name and goes with the process.",
    ),
];

/// The rows that cover a pair.
pub fn rows_of(step: Step, fault: Fault) -> Vec<&'static Row> {
    ROWS.iter().filter(|row| row.steps.contains(&step) && row.faults.contains(&fault)).collect()
}

/// The table as a part of docs/faults.md.
pub fn render() -> String {
    let mut text = String::from(
        "| step | fault | what the user sees | what survives | shown by |\n|---|---|---|---|---|\n",
    );
    for row in ROWS {
        let steps = if row.steps.len() == Step::ALL.len() {
            "every step".to_owned()
        } else if row.steps == DRIVEN {
            "every step but files without a name".to_owned()
        } else if row.steps == WRITING {
            "everything that is written on the way to a disk".to_owned()
        } else {
            row.steps.iter().map(|step| step.about()).collect::<Vec<_>>().join("; ")
        };
        let faults: Vec<_> = row.faults.iter().map(|fault| fault.about()).collect();
        let shown = match row.shown {
            Shown::Here => "`sim/tests/fault_table.rs`".to_owned(),
            Shown::In(file) => format!("`{file}`"),
            Shown::Nowhere => "-".to_owned(),
        };
        let (seen, survives) = (row.seen.about(), row.survives.about());
        let faults = faults.join("; ");
        text.push_str(&format!("| {steps} | {faults} | {seen}. {} | {survives} | {shown} |\n", row.why));
    }
    text
}

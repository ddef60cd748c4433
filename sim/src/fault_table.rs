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
        "What a failed durable write has left is unknown, so it is never tried again (pitfall 9). Space is not \
         asked for here: the segment has it already.",
    ),
    row(
        (&[SegmentPreparation], &[ErrorOnce, ErrorForEver]),
        Seen::Refused("58030"),
        Survives::Everything,
        Shown::Here,
        "Nothing stands in the segment yet: it is removed and made anew, ten times a second. What has been \
         reserved has its space; only who needs more is refused.",
    ),
    row(
        (&[SegmentPreparation], &[NoSpace]),
        Seen::Refused("53100"),
        Survives::Everything,
        Shown::Here,
        "As above, with PostgreSQL's SQLSTATE and hint.",
    ),
    row(
        (&[SegmentRemoval, CheckpointRemoval], &[ErrorOnce, ErrorForEver, NoSpace]),
        Seen::Nothing,
        Survives::Everything,
        Shown::Here,
        "Only space is at stake. The next checkpoint or start tries again.",
    ),
    row(
        (&[ManifestOfCheckpoint, CheckpointFile], &[ErrorOnce, ErrorForEver, NoSpace]),
        Seen::CheckpointFails,
        Survives::Everything,
        Shown::Here,
        "The logs still hold everything. An attempt has its number and its files for itself, so what a failed \
         sync has left of them is never built on: also where the rename may have happened, the next manifest \
         names other files, and those of the attempt stay until it does. Poison would help nobody.",
    ),
    row(
        (&[ManifestAtStop], &[ErrorOnce, ErrorForEver, NoSpace]),
        Seen::StopFails,
        Survives::Everything,
        Shown::Here,
        "The ends of the logs are not known to the next start, which finds them as after a crash.",
    ),
    row(
        (&[ManifestAtStart, FirstSegments, LogSyncAtStart], &[ErrorOnce, ErrorForEver, NoSpace]),
        Seen::StartRefused,
        Survives::Everything,
        Shown::Here,
        "Nothing has been answered yet. What was begun holds nothing, and the next start removes it.",
    ),
    row(
        (READING, &[ErrorOnce, ErrorForEver]),
        Seen::StartRefused,
        Survives::Everything,
        Shown::Here,
        "Nothing is written before everything has been read.",
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
        "The database does not notice. The backup before stays; half a restored database is refused by name.",
    ),
    row(
        (&[SpillFile], &[ErrorOnce, ErrorForEver, NoSpace]),
        Seen::StatementFails,
        Survives::Nothing,
        Shown::In("engine/src/spill/tests.rs"),
        "The file is the statement's.",
    ),
    row(
        (Step::ALL.as_slice(), &[ShortWrite, Interrupted]),
        Seen::Nothing,
        Survives::Everything,
        Shown::In("engine/src/disk/real/tests.rs"),
        "The rest is written, or the call is made again, below the seam. A direct write that stopped inside a \
         sector goes on at its beginning.",
    ),
    row(
        (&[LogBlock, SegmentPreparation, FirstSegments], &[LyingSync, LostWrite, Misdirected]),
        Seen::Nothing,
        Survives::WhatTheDiskKept,
        Shown::Here,
        "The end of a log that nobody has confirmed since cannot be told from one that was never written. What an \
         anchor, a later block, another segment or the manifest knows of is missed, and the start refused.",
    ),
    row(
        (&[LogSyncAtStart], &[LyingSync, LostWrite]),
        Seen::Nothing,
        Survives::WhatTheDiskKept,
        Shown::Here,
        "The start believes what it reads: a power cut may take it, and then the frozen end in the manifest is \
         beyond the log, and the start refused.",
    ),
    row(
        (&[ManifestOfCheckpoint, ManifestAtStop, ManifestAtStart], &[LyingSync, LostWrite, Misdirected]),
        Seen::Nothing,
        Survives::WhatTheDiskKept,
        Shown::Here,
        "The manifest before, or none that is whole. Logs and checkpoints that it does not know of are named and \
         stay; `hyades recover --salvage` needs a manifest that is whole.",
    ),
    row(
        (&[CheckpointFile], &[LyingSync, LostWrite, Misdirected]),
        Seen::Nothing,
        Survives::Everything,
        Shown::Here,
        "The manifest has the checksum of the contents, they have the place of every part, and every chunk has a \
         checksum. The checkpoint before and the logs since are there, and the start begins with them.",
    ),
    row(
        (&[SegmentRemoval, CheckpointRemoval], &[LyingSync, LostWrite]),
        Seen::Nothing,
        Survives::Everything,
        Shown::Here,
        "Removals are not synced: what comes back is removed again.",
    ),
    row(
        (&[SegmentRemoval, CheckpointRemoval, LogSyncAtStart], &[Misdirected]),
        Seen::Impossible,
        Survives::Nothing,
        Shown::Nowhere,
        "Nothing is written.",
    ),
    row(
        (&[Backup], &[LyingSync, LostWrite, Misdirected]),
        Seen::Nothing,
        Survives::Everything,
        Shown::Here,
        "Of the database. A restore of such a backup finds damage by the same checksums as a start does, or what \
         the disk has kept.",
    ),
    row(
        (&[Restore], &[LyingSync, LostWrite, Misdirected]),
        Seen::Nothing,
        Survives::WhatTheDiskKept,
        Shown::Here,
        "As for logs and checkpoints. The backup is whole: it can be restored again.",
    ),
    row(
        (READING, &[LyingSync, LostWrite, Misdirected]),
        Seen::Impossible,
        Survives::Nothing,
        Shown::Nowhere,
        "Nothing is written. What was written wrongly is looked at in the rows of writing.",
    ),
    row(
        (&[SpillFile], &[LyingSync, PowerCut]),
        Seen::Impossible,
        Survives::Nothing,
        Shown::Nowhere,
        "Nothing is synced, and nothing is read after the process.",
    ),
    row(
        (&[SpillFile], &[LostWrite, Misdirected, BitFlip, StaleFile]),
        Seen::Nothing,
        Survives::Nothing,
        Shown::Nowhere,
        "Rows in such files have no checksums, as in PostgreSQL's: an answer may be wrong, and no stored row.",
    ),
    row(
        (DRIVEN, &[PowerCut]),
        Seen::ProcessEnds,
        Survives::Everything,
        Shown::Here,
        "Blocks only count whole and without a hole before them; manifests are renamed into place; the rest is \
         synced before anything names it.",
    ),
    row(
        (&[LogReading], &[BitFlip]),
        Seen::StartRefused,
        Survives::WhatTheDiskKept,
        Shown::Here,
        "Refused wherever the log is known to go on. Only a last block that nobody has confirmed counts as torn.",
    ),
    row(
        (&[ManifestReading], &[BitFlip]),
        Seen::StartRefused,
        Survives::Everything,
        Shown::Here,
        "It has a checksum. If it was the wire and not the disk, the next start finds all of it.",
    ),
    row(
        (&[CheckpointReading], &[BitFlip]),
        Seen::Nothing,
        Survives::Everything,
        Shown::Here,
        "Checksums over everything. The start begins with the checkpoint before and the logs since, and says so. One \
         that has let clients in closes the table for good; the next start begins there.",
    ),
    row(
        (READING, &[StaleFile]),
        Seen::StartRefused,
        Survives::WhatTheDiskKept,
        Shown::Here,
        "A stale segment is a short one, and missed as far as anybody knows of more. A stale manifest does not \
         know of the segments that it finds. Files of a checkpoint never change: an old one is a damaged one.",
    ),
    row(
        (WRITING, &[BitFlip, StaleFile]),
        Seen::Impossible,
        Survives::Nothing,
        Shown::Nowhere,
        "It shows when the file is read: see there, and `sim/tests/single_faults.rs` for every kind of file at rest.",
    ),
    row(
        (DRIVEN, &[Slow]),
        Seen::Nothing,
        Survives::Everything,
        Shown::Here,
        "Answers wait. Nothing gives up because it takes long.",
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
        "Nothing is ordered by the clock. Pauses are measured by a clock that does not jump; the times in blocks \
         never fall, so a point in time before a jump back is found, and one inside it is its end.",
    ),
    row(
        (DRIVEN, &[OutOfMemory]),
        Seen::ProcessEnds,
        Survives::Everything,
        Shown::Here,
        "Allocations that fail end the process, as a kill would. With --memory-limit statements are refused with \
         53200 long before; recovery and rollbacks never ask.",
    ),
    row(
        (&[SpillFile], &[OutOfMemory]),
        Seen::ProcessEnds,
        Survives::Nothing,
        Shown::Nowhere,
        "As above; the file has no name and goes with the process.",
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

//! Faults by place: which operations on which files go wrong, how, and how often.
//!
//! A [`Place`] is a step of the database's work, recognised by the operation and the file. [`FaultPlan`] puts
//! one [`Effect`] there, once or for ever. Short writes and interrupted system calls do not occur: through
//! `hyades_engine::disk::File` a write is whole or has failed, and may have failed in part.

use std::path::Path;

/// An operation on certain files. Names are those in the database's directory, and in backups beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A block of log records, written durably.
    LogBlock,
    /// The preparation of a segment ahead of need: its creation, its zeroes, its sync, that of its directory.
    SegmentPreparation,
    /// Segments that are given up or cut after their last block.
    SegmentRemoval,
    /// A segment that is given up and becomes another one: its names, its zeroes. Part of the two above.
    SegmentReuse,
    /// What a start syncs of logs that were not closed, before it relies on them.
    LogSync,
    /// The manifest: its file, the sync, the rename, the sync of the directory.
    Manifest,
    /// A part of a checkpoint, or the file that says what is in it.
    CheckpointFile,
    /// The removal of what older checkpoints have left behind.
    CheckpointRemoval,
    /// Everything that a backup or a restore writes.
    BackupCopy,
    /// Reading a log back.
    LogReading,
    /// Reading the manifest back.
    ManifestReading,
    /// Reading a checkpoint back.
    CheckpointReading,
}

/// How an operation goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It fails with this error number of the operating system, having happened in part.
    Error(i32),
    /// It reports that its bytes are durable, but they are only written.
    Lie,
    /// It reports success, but has not happened.
    Lose,
    /// Its bytes go to another place of the same file.
    Misdirect,
    /// One bit of what is read is flipped.
    Flip,
    /// It is slow.
    Delay,
    /// The power fails inside it.
    PowerCut,
    /// The process is killed before it. `SimulatedDisk::left_by_the_dead` is the disk that it leaves.
    Kill,
}

/// A planned fault.
#[derive(Clone, Copy, Debug)]
pub struct FaultPlan {
    pub place: Place,
    /// Only operations of this name. `None` means all of the place.
    pub operation: Option<&'static str>,
    pub effect: Effect,
    /// How many operations of the place succeed first.
    pub skip: u64,
    pub is_for_ever: bool,
}

impl Place {
    /// The names of the operations that it consists of.
    pub fn operations(self) -> &'static [&'static str] {
        match self {
            Place::LogBlock => &["write durably"],
            Place::SegmentPreparation => &["create", "write", "sync", "rename", "sync directory"],
            Place::SegmentRemoval => &["remove", "rename", "truncate"],
            Place::SegmentReuse => &["write", "sync", "rename"],
            Place::LogSync => &["sync"],
            Place::Manifest => &["create", "write", "sync", "rename", "sync directory"],
            Place::CheckpointFile => &["create", "write", "sync", "sync directory"],
            Place::CheckpointRemoval => &["remove"],
            Place::BackupCopy => &["create", "write", "sync", "rename", "sync directory"],
            Place::LogReading | Place::ManifestReading | Place::CheckpointReading => &["read"],
        }
    }

    /// Whether this operation belongs to the place.
    fn has(self, operation: &str, path: &Path) -> bool {
        if !self.operations().contains(&operation) {
            return false;
        }
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_backup = !path.starts_with("/data");
        let is_spare = name.ends_with(".spare");
        let is_segment = name.ends_with(".segment");
        let is_manifest = name.starts_with("manifest");
        let is_checkpoint = name.ends_with(".part") || name.ends_with(".contents");
        match self {
            Place::BackupCopy => is_backup,
            _ if is_backup => false,
            Place::SegmentPreparation if operation == "sync directory" => name.starts_with("log-"),
            Place::SegmentPreparation if operation == "rename" => is_spare,
            Place::SegmentRemoval if operation == "rename" => is_segment,
            Place::SegmentReuse => is_spare || (is_segment && operation == "rename"),
            Place::SegmentPreparation | Place::SegmentRemoval => is_segment || is_spare,
            Place::LogBlock | Place::LogSync | Place::LogReading => is_segment,
            Place::Manifest if operation == "sync directory" => name == "data",
            Place::Manifest | Place::ManifestReading => is_manifest,
            Place::CheckpointFile if operation == "sync directory" => name == "checkpoints",
            Place::CheckpointFile | Place::CheckpointRemoval | Place::CheckpointReading => is_checkpoint,
        }
    }
}

/// The plan at work.
#[derive(Clone, Default)]
pub(super) struct PlannedFault {
    plan: Option<FaultPlan>,
    seen: u64,
    /// How often the fault has struck.
    pub(super) hits: u64,
}

impl PlannedFault {
    pub(super) fn new(plan: Option<FaultPlan>) -> PlannedFault {
        PlannedFault { plan, ..PlannedFault::default() }
    }

    /// The effect on this operation, if the fault strikes it.
    pub(super) fn strike(&mut self, operation: &str, path: &Path) -> Option<Effect> {
        let plan = self.plan?;
        let is_wanted = plan.operation.is_none_or(|wanted| wanted == operation);
        if !is_wanted || !plan.place.has(operation, path) {
            return None;
        }
        self.seen += 1;
        if self.seen <= plan.skip || (self.hits > 0 && !plan.is_for_ever) {
            return None;
        }
        self.hits += 1;
        Some(plan.effect)
    }
}

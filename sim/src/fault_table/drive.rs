//! Runs a step of the database's work with a fault in it, and reports the effect.
//!
//! ```text
//!   transactions, checkpoint, transactions, checkpoint, (stop or kill, where the step belongs to a start)
//!     -> the fault is planned -> the step, with more transactions -> the fault is removed
//!     -> a power cut, of three kinds -> start, and compare with the script
//! ```
//!
//! A transaction that was refused or failed counts as rolled back. One that waited in vain counts as
//! unanswered.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hyades_engine::backup::{Place as BackupPlace, PointInTime, back_up, restore};
use hyades_engine::config::Config;
use hyades_engine::db::open;
use hyades_engine::disk::Disk;
use hyades_types::error::{Error, Result, sqlstate};

use super::{Fault, Seen, Step, Survives};
use crate::crash::{
    Calls, DATA, Life, Observed, Scenario, live_and_kill, recover_and_check, take_checkpoint,
    without_the_lost,
};
use crate::disk::{Effect, FaultPlan, Place, PowerCut, SimulatedDisk};
use crate::routines::test_compiler;
use crate::script::{Script, ScriptOptions};

fn place<'p>(disk: &'p Arc<dyn Disk>, directory: &'p str) -> BackupPlace<'p> {
    BackupPlace::new(disk, Path::new(directory))
}

const FIRST: usize = 60;
const SECOND: usize = 160;
const BACKUP: &str = "/backup";
const RESTORED: &str = "/restored";

/// One fault in one step.
#[derive(Clone, Copy, Debug)]
pub struct Drive {
    pub scenario: Scenario,
    pub step: Step,
    pub fault: Fault,
    /// The operation of the step that is struck. `None` if a file at rest was changed.
    pub operation: Option<&'static str>,
    /// How many of them succeed first.
    pub skip: u64,
    pub seed: u64,
}

/// The effect. `None` if the fault did not strike.
pub type Outcome = Option<(Seen, Survives)>;

impl Step {
    /// The place at which the disk recognises it.
    fn place(self) -> Place {
        match self {
            Step::LogBlock => Place::LogBlock,
            Step::SegmentPreparation | Step::FirstSegments => Place::SegmentPreparation,
            Step::SegmentRemoval => Place::SegmentRemoval,
            Step::ManifestOfCheckpoint | Step::ManifestAtStop | Step::ManifestAtStart => Place::Manifest,
            Step::CheckpointFile => Place::CheckpointFile,
            Step::CheckpointRemoval => Place::CheckpointRemoval,
            Step::LogSyncAtStart => Place::LogSync,
            Step::LogReading => Place::LogReading,
            Step::ManifestReading => Place::ManifestReading,
            Step::CheckpointReading => Place::CheckpointReading,
            Step::Backup | Step::Restore | Step::SpillFile => Place::BackupCopy,
        }
    }

    pub fn operations(self) -> &'static [&'static str] {
        self.place().operations()
    }

    fn is_of_a_start(self) -> bool {
        use Step::{
            CheckpointReading, FirstSegments, LogReading, LogSyncAtStart, ManifestAtStart, ManifestReading,
        };
        matches!(
            self,
            ManifestAtStart
                | FirstSegments
                | LogSyncAtStart
                | LogReading
                | ManifestReading
                | CheckpointReading
        )
    }
}

impl Fault {
    /// What the disk does. `None` for faults that no operation causes.
    fn effect(self) -> Option<(Effect, bool)> {
        const IO_ERROR: i32 = 5;
        const NO_SPACE: i32 = 28;
        Some(match self {
            Fault::ErrorOnce => (Effect::Error(IO_ERROR), false),
            Fault::ErrorForEver => (Effect::Error(IO_ERROR), true),
            Fault::NoSpace => (Effect::Error(NO_SPACE), true),
            Fault::LyingSync => (Effect::Lie, true),
            Fault::LostWrite => (Effect::Lose, false),
            Fault::Misdirected => (Effect::Misdirect, false),
            Fault::PowerCut => (Effect::PowerCut, false),
            Fault::BitFlip => (Effect::Flip, false),
            Fault::Slow => (Effect::Delay, true),
            Fault::OutOfMemory => (Effect::Kill, false),
            Fault::StaleFile | Fault::ShortWrite | Fault::Interrupted | Fault::ClockJump => return None,
        })
    }
}

/// Errors noted while the fault lasts.
#[derive(Default)]
struct Notes {
    start: Option<Error>,
    statements: Vec<Error>,
    checkpoint: Option<Error>,
    stop: Option<Error>,
    command: Option<Error>,
    acknowledged: BTreeSet<usize>,
}

/// The result of a later start, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Later {
    Everything,
    Less,
}

fn as_text(error: &Error) -> String {
    error.to_string()
}

impl Drive {
    /// Runs the case.
    ///
    /// # Errors
    /// Something wrong was found, or an error does not name the file.
    pub fn run(self) -> std::result::Result<Outcome, String> {
        match self.step {
            Step::Backup | Step::Restore => self.run_command(),
            step if step.is_of_a_start() => self.run_start(),
            _ => self.run_running(),
        }
    }

    fn script(self) -> Script {
        Script::generate(self.seed, &ScriptOptions { transactions: SECOND, ..ScriptOptions::default() })
    }

    fn plan(self, disk: &SimulatedDisk) {
        let Some((effect, is_for_ever)) = self.fault.effect() else { return };
        let (place, operation, skip) = (self.step.place(), self.operation, self.skip);
        disk.plan_fault(Some(FaultPlan { place, operation, effect, skip, is_for_ever }));
    }

    /// Makes a database with two checkpoints and a backup. Returns what it has acknowledged, too.
    fn prepare(self, script: &Script) -> std::result::Result<(SimulatedDisk, BTreeSet<usize>), String> {
        let disk = SimulatedDisk::new(self.seed);
        let engine = self.scenario.open(&disk).map_err(|error| as_text(&error))?;
        let mut life =
            Life::begin_with(&*engine, self.seed, self.scenario.calls).map_err(|error| as_text(&error))?;
        for range in [0..FIRST / 2, FIRST / 2..FIRST] {
            life.run(script, range).map_err(|error| as_text(&error))?;
            take_checkpoint(&*engine).map_err(|error| as_text(&error))?;
        }
        let acknowledged = life.acknowledged();
        engine.shutdown().map_err(|error| as_text(&error))?;
        Ok((disk, acknowledged))
    }

    /// Runs a step of a running database, or of its stop.
    fn run_running(self) -> std::result::Result<Outcome, String> {
        let mut script = self.script();
        let (disk, before) = self.prepare(&script)?;
        let engine = self.scenario.open(&disk).map_err(|error| as_text(&error))?;
        let mut life =
            Life::begin_with(&*engine, self.seed, self.scenario.calls).map_err(|error| as_text(&error))?;
        let mut notes = Notes::default();
        let is_at_stop = self.step == Step::ManifestAtStop;
        let is_of_checkpoint =
            matches!(self.step, Step::ManifestOfCheckpoint | Step::CheckpointFile | Step::CheckpointRemoval);
        if !is_at_stop && !is_of_checkpoint {
            self.plan(&disk);
        }
        self.transactions(&mut life, &mut script, FIRST..SECOND - 20, &mut notes);
        if is_of_checkpoint {
            self.plan(&disk);
            notes.checkpoint = take_checkpoint(&*engine).err();
            let hits = disk.fault_hits();
            if !disk.has_crashed() && hits > 0 && matches!(self.fault, Fault::ErrorOnce | Fault::NoSpace) {
                // The next one succeeds.
                disk.plan_fault(None);
                take_checkpoint(&*engine).map_err(|error| format!("the next checkpoint: {error}"))?;
            }
            if hits == 0 {
                return Ok(None);
            }
        }
        if is_at_stop {
            self.plan(&disk);
        }
        if matches!(self.fault, Fault::ErrorForEver | Fault::NoSpace) && self.step == Step::SegmentPreparation
        {
            // Reads go on.
            Observed::read(&*engine).map_err(|error| format!("reads stop: {error}"))?;
        }
        let unanswered = is_of_checkpoint.then(|| disk.fault_hits());
        let last = if is_at_stop { SECOND - 20..SECOND - 20 } else { SECOND - 20..SECOND };
        self.transactions(&mut life, &mut script, last, &mut notes);
        let has_begun_to_stop = disk.fault_hits();
        notes.acknowledged = before;
        notes.acknowledged.extend(life.acknowledged());
        notes.stop = engine.shutdown().err();
        let hits = unanswered.unwrap_or(0) + has_begun_to_stop + disk.fault_hits();
        drop(engine);
        if hits == 0 && !disk.has_crashed() && !is_of_checkpoint {
            return Ok(None);
        }
        self.judge(&disk, &script, &notes).map(Some)
    }

    /// Runs transactions. Those that fail count as rolled back.
    fn transactions(
        self,
        life: &mut Life,
        script: &mut Script,
        range: std::ops::Range<usize>,
        notes: &mut Notes,
    ) {
        for number in range {
            match life.run_one(script, number) {
                Ok(answer) => {
                    life.expect(number, &answer);
                    if number % 5 == 0
                        && let Err(error) = answer.wait()
                    {
                        notes.statements.push(error);
                    }
                }
                Err(error) => {
                    script.transactions[number].is_rolled_back = true;
                    if !matches!(error, Error::Fatal(_)) {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    notes.statements.push(error);
                }
            }
        }
    }

    /// Runs a step of a start.
    fn run_start(self) -> std::result::Result<Outcome, String> {
        let script = self.script();
        let (mut disk, before) = self.prepare(&script)?;
        let early = files(&disk);
        let mut notes = Notes::default();
        let range = FIRST..SECOND - 20;
        let (killed, acknowledged) = live_and_kill(&disk, self.scenario, &script, range, self.seed)?;
        // A start after a stop reads nothing of the logs beyond the ends that the stop has recorded.
        let is_closed = self.seed % 2 == 1 && self.step != Step::LogSyncAtStart;
        if !is_closed {
            disk = killed;
        }
        notes.acknowledged = before;
        notes.acknowledged.extend(acknowledged);
        if self.operation.is_none() {
            let is_changed = match self.fault {
                Fault::StaleFile => self.make_stale(&disk, &early),
                _ => self.flip_in_last_block(&disk),
            };
            if !is_changed {
                return Ok(None);
            }
        } else {
            self.plan(&disk);
        }
        let mut hits = 0;
        match self.scenario.open(&disk) {
            Ok(engine) => {
                if matches!(self.fault, Fault::ErrorOnce | Fault::ErrorForEver | Fault::NoSpace) {
                    // The fault was meant for the start.
                    hits = disk.fault_hits();
                    disk.plan_fault(None);
                }
                notes.stop = engine.shutdown().err();
            }
            Err(error) => notes.start = Some(error),
        }
        hits += disk.fault_hits();
        if hits == 0 && !disk.has_crashed() && self.operation.is_some() {
            return Ok(None);
        }
        let script = without_the_lost(&script, script.transactions.len(), &(0..SECOND - 20).collect());
        self.judge(&disk, &script, &notes).map(Some)
    }

    /// Restores one file to its state before the last life.
    fn make_stale(self, disk: &SimulatedDisk, early: &[(PathBuf, Vec<u8>)]) -> bool {
        let is_ours = |path: &Path| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            match self.step {
                Step::LogReading => name.ends_with(".segment"),
                Step::ManifestReading => name == "manifest",
                _ => name.ends_with(".part") || name.ends_with(".contents"),
            }
        };
        let is_used = |path: &PathBuf| {
            is_ours(path) && disk.content(path).is_ok_and(|content| content.iter().any(|byte| *byte != 0))
        };
        let now: Vec<PathBuf> = disk.paths().into_iter().filter(is_used).collect();
        let Some(path) = now.iter().rev().nth(self.skip as usize % now.len().max(1)) else { return false };
        if self.step == Step::LogReading && !early.iter().any(|(earlier, _)| earlier == path) {
            return self.shorten(disk, path);
        }
        // Files of checkpoints never change, so another, older one takes its place.
        let is_alike = |earlier: &Path| earlier == path || earlier.extension() == path.extension();
        let differs = |content: &Vec<u8>| disk.content(path).is_ok_and(|now| now != *content);
        let stale = early.iter().find(|(earlier, content)| is_alike(earlier) && differs(content));
        let Some((_, content)) = stale else { return false };
        disk.replace(path, content);
        true
    }

    /// For a segment that did not exist before: removes what was written last.
    fn shorten(self, disk: &SimulatedDisk, path: &Path) -> bool {
        let Ok(mut content) = disk.content(path) else { return false };
        let Some(used) = content.iter().rposition(|byte| *byte != 0) else { return false };
        content[used / 2 / 4096 * 4096..].fill(0);
        disk.replace(path, &content);
        true
    }

    /// Flips a bit in the last block of a log.
    fn flip_in_last_block(self, disk: &SimulatedDisk) -> bool {
        let last_bytes = |path: PathBuf| {
            let is_segment = path.extension().is_some_and(|extension| extension == "segment");
            let content = is_segment.then(|| disk.content(&path).ok()).flatten()?;
            Some((path, content.iter().rposition(|byte| *byte != 0)?))
        };
        let ends: Vec<(PathBuf, usize)> = disk.paths().into_iter().filter_map(last_bytes).collect();
        let Some((path, last)) = ends.iter().rev().nth(self.skip as usize % ends.len().max(1)) else {
            return false;
        };
        disk.flip_bit(path, *last as u64, self.seed as u32 % 8).is_ok()
    }

    /// Runs a step of a command.
    fn run_command(self) -> std::result::Result<Outcome, String> {
        let script = self.script();
        let (disk, mut acknowledged) = self.prepare(&script)?;
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        let back_up = || back_up(place(&shared, DATA), place(&shared, BACKUP)).map(drop);
        back_up().map_err(|error| format!("the first backup: {error}"))?;
        let first = acknowledged.clone();
        let engine = self.scenario.open(&disk).map_err(|error| as_text(&error))?;
        let mut life =
            Life::begin_with(&*engine, self.seed, self.scenario.calls).map_err(|error| as_text(&error))?;
        life.run(&script, FIRST..SECOND - 20).map_err(|error| as_text(&error))?;
        acknowledged.extend(life.acknowledged());
        take_checkpoint(&*engine).map_err(|error| as_text(&error))?;
        let mut notes = Notes { acknowledged, ..Notes::default() };
        let make =
            |into: &str| restore(place(&shared, BACKUP), place(&shared, into), PointInTime::End).map(drop);
        if self.step == Step::Restore {
            back_up().map_err(|error| format!("the second backup: {error}"))?;
        }
        self.plan(&disk);
        notes.command = if self.step == Step::Backup { back_up().err() } else { make(RESTORED).err() };
        let hits = disk.fault_hits();
        disk.plan_fault(None);
        notes.stop = engine.shutdown().err().filter(|_| !disk.has_crashed());
        drop(engine);
        if hits == 0 && !disk.has_crashed() {
            return Ok(None);
        }
        let script = without_the_lost(&script, script.transactions.len(), &(0..SECOND - 20).collect());
        let is_told = notes.command.is_some() || disk.has_crashed();
        let (seen, survives) = self.judge(&disk, &script, &notes)?;
        // The backup is either the old or the new one, except for what the disk has lost silently.
        let expected = if self.step == Step::Restore { &notes.acknowledged } else { &first };
        let found = self.left(&disk).after(PowerCut::Seeded(self.seed));
        let shared: Arc<dyn Disk> = Arc::new(found.clone());
        if self.step == Step::Restore && !is_told {
            return Ok(Some((seen, self.judge_restored(&found, RESTORED, &script, expected)?)));
        }
        let again = restore(place(&shared, BACKUP), place(&shared, "/again"), PointInTime::End);
        match again {
            Ok(_) if is_told => self.check_restored(&found, "/again", &script, expected)?,
            Ok(_) => drop(self.judge_restored(&found, "/again", &script, &first)?),
            Err(error) if is_told => return Err(format!("the backup before cannot be restored: {error}")),
            Err(_) => {}
        }
        Ok(Some((seen, survives)))
    }

    fn judge_restored(
        self,
        disk: &SimulatedDisk,
        directory: &str,
        script: &Script,
        expected: &BTreeSet<usize>,
    ) -> std::result::Result<Survives, String> {
        if self.check_restored(disk, directory, script, expected).is_ok() {
            return Ok(Survives::Everything);
        }
        match self.restored(disk, directory) {
            Ok(observed) => observed.check(script, &BTreeSet::new())?,
            Err(error) if as_text(&error).contains(directory) => {}
            Err(error) => return Err(format!("refused without a name: {error}")),
        }
        Ok(Survives::WhatTheDiskKept)
    }

    fn restored(self, disk: &SimulatedDisk, directory: &str) -> Result<Observed> {
        let log_directories = Vec::new();
        let config =
            Config { data_directory: directory.into(), log_directories, ..self.scenario.config(disk) };
        let engine = open(config, test_compiler())?;
        let observed = Observed::read(&*engine);
        engine.shutdown()?;
        observed
    }

    fn check_restored(
        self,
        disk: &SimulatedDisk,
        directory: &str,
        script: &Script,
        expected: &BTreeSet<usize>,
    ) -> std::result::Result<(), String> {
        let observed = self
            .restored(disk, directory)
            .map_err(|error| format!("what was restored does not open: {error}"))?;
        observed.check(script, expected).map_err(|error| format!("what was restored: {error}"))
    }

    /// The disk that the process has left.
    fn left(self, disk: &SimulatedDisk) -> SimulatedDisk {
        disk.left_by_the_dead().unwrap_or_else(|| disk.clone())
    }

    /// Judges from the notes what the user saw, and from later starts what survives.
    fn judge(
        self,
        disk: &SimulatedDisk,
        script: &Script,
        notes: &Notes,
    ) -> std::result::Result<(Seen, Survives), String> {
        let seen = self.seen(disk, notes)?;
        disk.plan_fault(None);
        let left = self.left(disk);
        let mut worst = Later::Everything;
        for cut in [PowerCut::LoseUnsynced, PowerCut::KeepUnsynced, PowerCut::Seeded(self.seed)] {
            let found = left.after(cut);
            let later = match recover_and_check(&found, self.scenario, script, &notes.acknowledged) {
                Ok(_) => Later::Everything,
                Err(wrong) => {
                    self.less(&left.after(cut), script).map_err(|error| format!("{wrong}; {error}"))?
                }
            };
            worst = worst.max(later);
        }
        Ok((seen, if worst == Later::Everything { Survives::Everything } else { Survives::WhatTheDiskKept }))
    }

    /// Something is missing. Then the start finds a state that could have been, or a refusal names a file.
    fn less(self, disk: &SimulatedDisk, script: &Script) -> std::result::Result<Later, String> {
        let engine = match self.scenario.open(disk) {
            Ok(engine) => engine,
            Err(error) => {
                let message = as_text(&error);
                let is_named =
                    message.contains(DATA) || message.contains("log ") || message.contains("checkpoint ");
                return if is_named { Ok(Later::Less) } else { Err(format!("no file is named: {message}")) };
            }
        };
        let observed = Observed::read(&*engine).map_err(|error| as_text(&error))?;
        observed.check(script, &BTreeSet::new())?;
        Ok(Later::Less)
    }

    fn seen(self, disk: &SimulatedDisk, notes: &Notes) -> std::result::Result<Seen, String> {
        if disk.has_crashed() {
            return Ok(Seen::ProcessEnds);
        }
        if let Some(error) = &notes.start {
            let message = as_text(error);
            return if message.contains(DATA) {
                Ok(Seen::StartRefused)
            } else {
                Err(format!("names no file: {message}"))
            };
        }
        if let Some(error) = &notes.command {
            let message = as_text(error);
            let is_named = message.contains(BACKUP) || message.contains(RESTORED);
            return if is_named { Ok(Seen::CommandFails) } else { Err(format!("names no file: {message}")) };
        }
        if notes.statements.iter().any(|error| matches!(error, Error::Fatal(_))) {
            return Ok(Seen::Poisoned);
        }
        if let Some(error) = notes.statements.first() {
            return match error.sqlstate().0 {
                "58030" => Ok(Seen::Refused("58030")),
                "53100" => Ok(Seen::Refused("53100")),
                other => Err(format!("{other}: {error}")),
            };
        }
        if let Some(error) = &notes.checkpoint {
            let is_answered = error.sqlstate() != sqlstate::INTERNAL_ERROR;
            return if is_answered { Ok(Seen::CheckpointFails) } else { Err(as_text(error)) };
        }
        match &notes.stop {
            None => Ok(Seen::Nothing),
            Some(Error::Fatal(_)) if self.step == Step::LogBlock => Ok(Seen::Poisoned),
            Some(_) => Ok(Seen::StopFails),
        }
    }
}

fn files(disk: &SimulatedDisk) -> Vec<(PathBuf, Vec<u8>)> {
    disk.paths().into_iter().filter_map(|path| Some((path.clone(), disk.content(&path).ok()?))).collect()
}

/// The databases that the faults are tried on.
pub fn scenarios() -> [Scenario; 2] {
    [Scenario::taurus(2).with(Calls::Mixed), Scenario::serial()]
}

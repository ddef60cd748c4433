//! Single faults on the files of databases at rest: a bit, a sector, the end of a file, a whole file or
//! directory.
//!
//! A subject is a small database on a simulated disk whose last process was idle, with all its transactions
//! acknowledged, when it was closed or killed. One fault at a time is put into a copy, which is then opened.
//! The possible verdicts:
//!
//! | verdict | |
//! |---|---|
//! | refused | with the name of a file, and nothing is written; a salvage keeps what could have been |
//! | identical | the state hash of the undamaged database, before and after the start |
//! | torn | only where the process was killed: one log ends where its last block began, and the report says that it is torn there |
//! | vanished | the same, if nothing is left of that block: as if it had never been written, so it cannot be noticed; the report names the place |
//!
//! Any other result fails: other rows, a shorter log, a panic.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyades_engine::config::Config;
use hyades_engine::db::{Logging, create_copy, open};
use hyades_engine::disk::{Disk, SECTOR_BYTES};
use hyades_engine::log::manifest::{Incarnation, Manifest};
use hyades_engine::log::set::LogSource;
use hyades_engine::log::store::LogReader;
use hyades_engine::recovery::salvage::salvage;
use hyades_engine::recovery::{LogTail, recover, tables_hash};
use hyades_engine::storage::databases::Databases;
use hyades_engine::storage::stored_routine::Routine;
use hyades_engine::storage::table::Table;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::client::{Client, big};
use crate::crash::{Calls, DATA, Life, Observed, Scenario, wait_until_idle};
use crate::disk::{PowerCut, SimulatedDisk};
use crate::routines::test_compiler;
use crate::script::{Script, ScriptOptions};

/// Transactions of one incarnation.
const TRANSACTIONS: usize = 90;

/// A database at rest.
pub struct Subject {
    pub name: String,
    disk: SimulatedDisk,
    scenario: Scenario,
    segment_bytes: u64,
    script: Script,
    is_killed: bool,
    hash: u64,
    files: Vec<Segment>,
    /// For each log of the last incarnation: where its last block begins in the stream, and where the log
    /// ends.
    last_blocks: Vec<(u64, u64)>,
}

/// A segment file.
#[derive(Clone)]
struct Segment {
    path: PathBuf,
    length: u64,
    /// The number of bytes up to the last one that is not zero.
    used: u64,
}

/// A change to the files.
#[derive(Clone, Debug)]
pub enum Fault {
    Bit { path: PathBuf, offset: u64, bit: u32 },
    Bytes { path: PathBuf, offset: u64, bytes: Vec<u8> },
    Sector { from: PathBuf, from_offset: u64, path: PathBuf, offset: u64 },
    Cut { path: PathBuf, length: u64 },
    Appended { path: PathBuf, bytes: usize },
    Gone { path: PathBuf },
    Blank { path: PathBuf },
    Swapped { one: PathBuf, other: PathBuf },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Bit { path, offset, bit } => write!(f, "bit {bit} of byte {offset} of {}", path.display()),
            Fault::Bytes { path, offset, bytes } => {
                write!(f, "{} bytes at {offset} of {}", bytes.len(), path.display())
            }
            Fault::Sector { from, from_offset, path, offset } => {
                let (from, path) = (from.display(), path.display());
                write!(f, "the sector at {from_offset} of {from} over the one at {offset} of {path}")
            }
            Fault::Cut { path, length } => write!(f, "{} cut to {length} bytes", path.display()),
            Fault::Appended { path, bytes } => write!(f, "{bytes} bytes after the end of {}", path.display()),
            Fault::Gone { path } => write!(f, "{} gone", path.display()),
            Fault::Blank { path } => write!(f, "{} blank", path.display()),
            Fault::Swapped { one, other } => write!(f, "{} and {} swapped", one.display(), other.display()),
        }
    }
}

/// The kinds of faults, with their weights.
const SORTS: [(&str, u32); 16] = [
    ("1 bit, used sectors", 26),
    ("1 bit, prepared zeroes", 6),
    ("1 bit, manifest", 5),
    ("random bytes, up to a sector", 9),
    ("a sector zeroed", 9),
    ("misdirected sector", 9),
    ("segment cut", 10),
    ("manifest cut", 3),
    ("garbage appended", 4),
    ("segment deleted", 6),
    ("segment emptied", 4),
    ("segment blanked", 5),
    ("first sector blanked", 5),
    ("two segments swapped", 5),
    ("manifest deleted", 1),
    ("log directory deleted", 1),
];

/// The number of faults for each verdict.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub tried: u64,
    pub refused: u64,
    pub identical: u64,
    pub torn: u64,
    pub vanished: u64,
}

/// The results of [`run`], by kind of fault.
#[derive(Clone, Debug, Default)]
pub struct Report(pub BTreeMap<&'static str, Tally>);

impl Report {
    pub fn total(&self) -> Tally {
        self.0.values().fold(Tally::default(), |sum, tally| Tally {
            tried: sum.tried + tally.tried,
            refused: sum.refused + tally.refused,
            identical: sum.identical + tally.identical,
            torn: sum.torn + tally.torn,
            vanished: sum.vanished + tally.vanished,
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| fault | tried | refused | identical | torn last block | vanished last block |")?;
        writeln!(f, "|---|---|---|---|---|---|")?;
        let total = [("sum", self.total())];
        for (sort, tally) in self.0.iter().map(|(sort, tally)| (*sort, *tally)).chain(total) {
            let Tally { tried, refused, identical, torn, vanished } = tally;
            writeln!(f, "| {sort} | {tried} | {refused} | {identical} | {torn} | {vanished} |")?;
        }
        Ok(())
    }
}

enum Verdict {
    Refused,
    Identical,
    Torn,
    Vanished,
}

impl Subject {
    fn config(&self, disk: &SimulatedDisk) -> Config {
        Config { segment_bytes: self.segment_bytes, ..self.scenario.config(disk) }
    }

    /// The hash of the state that recovery finds, and the ends of the logs that were not closed.
    fn recover(&self, disk: &SimulatedDisk) -> Result<(u64, Vec<LogTail>), String> {
        let databases = Arc::new(Databases::new());
        let recovered = recover(&self.config(disk), test_compiler(), &databases)
            .map_err(|error| format!("refused: {error}"))?;
        Ok((hash(&databases.tables(), &databases.routines())?, recovered.report.tails))
    }

    /// Collects the contents of the files, once the database is at rest.
    fn survey(&mut self) -> Result<(), String> {
        self.hash = self.recover(&self.disk)?.0;
        for path in self.disk.paths() {
            if path.extension().is_some_and(|extension| extension == "segment") {
                let content = self.disk.content(&path).map_err(|error| error.to_string())?;
                let used = content.iter().rposition(|byte| *byte != 0).map_or(0, |last| last as u64 + 1);
                self.files.push(Segment { path, length: content.len() as u64, used });
            }
        }
        let manifest = Manifest::load(&self.disk, Path::new(DATA)).map_err(|error| error.to_string())?;
        let manifest = manifest.ok_or("there is no manifest")?;
        let incarnation = manifest.incarnations.last().ok_or("there is no incarnation")?;
        if incarnation.end.is_some() == self.is_killed {
            return Err(
                "a clean stop enters the ends of the logs in the manifest, a kill does not".to_owned()
            );
        }
        for log in 0..incarnation.logs {
            self.last_blocks.push(self.last_block(&manifest, incarnation, log)?);
        }
        Ok(())
    }

    fn last_block(
        &self,
        manifest: &Manifest,
        incarnation: &Incarnation,
        log: usize,
    ) -> Result<(u64, u64), String> {
        let disk: Arc<dyn Disk> = Arc::new(self.disk.clone());
        let files = manifest.log_files(Path::new(DATA), incarnation, log);
        let mut reader = LogReader::open(&disk, &files).map_err(|error| error.to_string())?;
        let (mut last, mut position) = (0, 0);
        while reader.next_block().map_err(|error| error.to_string())? {
            (last, position) = (position, reader.position().0);
        }
        Ok((last, position))
    }

    /// The sector size of the disk, as a length and as an offset.
    fn sector_bytes(&self) -> (usize, u64) {
        let bytes = self.disk.sector_bytes(Path::new(DATA), None).unwrap_or(SECTOR_BYTES);
        (bytes, bytes as u64)
    }

    /// Makes a fault of this kind. `None` if the subject has nothing that could have it.
    fn choose(&self, sort: &str, random: &mut StdRng) -> Option<Fault> {
        let (sector_bytes, sector) = self.sector_bytes();
        let used: Vec<&Segment> = self.files.iter().filter(|file| file.used > 0).collect();
        let file = |random: &mut StdRng| used[random.random_range(0..used.len())].clone();
        let any = |random: &mut StdRng| self.files[random.random_range(0..self.files.len())].clone();
        let used_sector =
            |file: &Segment, random: &mut StdRng| random.random_range(0..file.used.div_ceil(sector)) * sector;
        let manifest = Path::new(DATA).join("manifest");
        let manifest_bytes = self.disk.content(&manifest).ok()?.len() as u64;
        Some(match sort {
            "1 bit, used sectors" => {
                let Segment { path, used, length } = file(random);
                let end = used.next_multiple_of(sector).min(length);
                Fault::Bit { path, offset: random.random_range(0..end), bit: random.random_range(0..8) }
            }
            "1 bit, prepared zeroes" => {
                let Segment { path, length, used } = any(random);
                let first = used.next_multiple_of(sector);
                if first >= length {
                    return None;
                }
                // More often than not near the end of the log, which is where recovery looks.
                let end = if random.random_bool(0.6) { (first + 4 * sector).min(length) } else { length };
                Fault::Bit { path, offset: random.random_range(first..end), bit: random.random_range(0..8) }
            }
            "1 bit, manifest" => Fault::Bit {
                path: manifest,
                offset: random.random_range(0..manifest_bytes),
                bit: random.random_range(0..8),
            },
            "random bytes, up to a sector" => {
                let Segment { path, used, .. } = file(random);
                let mut bytes = vec![0; random.random_range(2..=sector_bytes)];
                random.fill(&mut bytes[..]);
                Fault::Bytes { path, offset: random.random_range(0..used), bytes }
            }
            "a sector zeroed" => {
                let file = file(random);
                let offset = used_sector(&file, random);
                Fault::Bytes { path: file.path, offset, bytes: vec![0; sector_bytes] }
            }
            "first sector blanked" => {
                Fault::Bytes { path: file(random).path, offset: 0, bytes: vec![0; SECTOR_BYTES] }
            }
            "misdirected sector" => {
                let (from, to) = (file(random), file(random));
                let (from_offset, offset) = (used_sector(&from, random), used_sector(&to, random));
                Fault::Sector { from: from.path, from_offset, path: to.path, offset }
            }
            "segment cut" => {
                let Segment { path, used, length } = any(random);
                let end = if random.random_bool(0.8) { used.max(1) } else { length };
                Fault::Cut { path, length: random.random_range(0..end) }
            }
            "manifest cut" => Fault::Cut { path: manifest, length: random.random_range(0..manifest_bytes) },
            "garbage appended" => {
                let path = if random.random_bool(0.1) { manifest } else { any(random).path };
                Fault::Appended { path, bytes: random.random_range(1..9000) }
            }
            "segment deleted" => Fault::Gone { path: any(random).path },
            "segment emptied" => Fault::Cut { path: any(random).path, length: 0 },
            "segment blanked" => Fault::Blank { path: any(random).path },
            "two segments swapped" => {
                let (one, other) = (any(random).path, any(random).path);
                Fault::Swapped { one, other }
            }
            "manifest deleted" => Fault::Gone { path: manifest },
            _ => Fault::Gone { path: any(random).path.parent()?.to_path_buf() },
        })
    }

    /// The disk with the fault. `None` if the fault changes nothing.
    fn damaged(&self, fault: &Fault, random: &mut StdRng) -> Option<SimulatedDisk> {
        let disk = self.disk.after(PowerCut::KeepUnsynced);
        let content = |path: &Path| disk.content(path).unwrap_or_default();
        let change = |path: &Path, change: &mut dyn FnMut(&mut Vec<u8>)| {
            let before = content(path);
            let mut bytes = before.clone();
            change(&mut bytes);
            disk.replace(path, &bytes);
            bytes != before
        };
        let has_changed = match fault {
            Fault::Bit { path, offset, bit } => {
                change(path, &mut |bytes| bytes[*offset as usize] ^= 1 << bit)
            }
            Fault::Bytes { path, offset, bytes: new } => change(path, &mut |bytes| {
                let place = *offset as usize..(*offset as usize + new.len()).min(bytes.len());
                let length = place.len();
                bytes[place].copy_from_slice(&new[..length]);
            }),
            Fault::Sector { from, from_offset, path, offset } => {
                let sector_bytes = disk.sector_bytes(path, None).ok()?;
                let mut sector = content(from);
                sector.resize((*from_offset as usize + sector_bytes).max(sector.len()), 0);
                let sector = sector[*from_offset as usize..][..sector_bytes].to_vec();
                change(path, &mut |bytes| {
                    let end = (*offset as usize + sector_bytes).min(bytes.len());
                    bytes[*offset as usize..end].copy_from_slice(&sector[..end - *offset as usize]);
                })
            }
            Fault::Cut { path, length } => change(path, &mut |bytes| bytes.truncate(*length as usize)),
            Fault::Appended { path, bytes: count } => change(path, &mut |bytes| {
                bytes.extend((0..*count).map(|_| random.random::<u8>()));
            }),
            Fault::Gone { path } => {
                disk.take_away(path);
                true
            }
            Fault::Blank { path } => change(path, &mut |bytes| bytes.fill(0)),
            Fault::Swapped { one, other } => {
                let (first, second) = (content(one), content(other));
                disk.replace(one, &second);
                disk.replace(other, &first);
                first != second
            }
        };
        has_changed.then_some(disk)
    }

    /// Opens the damaged database and returns the verdict, or what is wrong with it.
    fn judge(&self, damaged: &SimulatedDisk) -> Result<Verdict, String> {
        let before = files(damaged);
        let operations = damaged.operations();
        let engine = match open(self.config(damaged), test_compiler()) {
            Ok(engine) => engine,
            Err(error) => {
                if files(damaged) != before {
                    let changes = operations..damaged.operations();
                    let changes: Vec<_> = changes.filter_map(|at| damaged.describe_operation(at)).collect();
                    return Err(format!("refused ({error}), but something was written: {changes:?}"));
                }
                self.judge_salvage(damaged).map_err(|wrong| format!("refused ({error}), then {wrong}"))?;
                let message = error.to_string();
                return if message.contains(DATA) || message.contains("log ") {
                    Ok(Verdict::Refused)
                } else {
                    Err(format!("the refusal names no file: {message}"))
                };
            }
        };
        let report = engine.recovery_report();
        let tails = report.tails.clone();
        let hash = hash(&engine.tables(), &engine.routines())?;
        if hash == self.hash {
            self.check_tails(&tails, false)?;
            engine.shutdown().map_err(|error| format!("does not stop: {error}"))?;
            drop(engine);
            let (again, _) = self.recover(damaged)?;
            return if again == hash {
                Ok(Verdict::Identical)
            } else {
                Err("a start changes the state".to_owned())
            };
        }
        let vanished = self.check_tails(&tails, true)?;
        // Never wrong values: the script could have left what remains.
        let observed = Observed::read(&*engine).map_err(|error| format!("cannot be read: {error}"))?;
        observed.check(&self.script, &BTreeSet::new())?;
        Ok(if vanished { Verdict::Vanished } else { Verdict::Torn })
    }

    /// A salvage of what was refused keeps a state that could have been, and writes to no other files.
    fn judge_salvage(&self, damaged: &SimulatedDisk) -> Result<(), String> {
        let before = files(damaged);
        let salvaged = salvage(&self.config(damaged), test_compiler());
        if files(damaged) != before {
            return Err("the salvage writes to the damaged database".to_owned());
        }
        // If the manifest is missing or damaged, it is unknown what the logs are.
        let Ok((databases, _)) = salvaged else {
            return match Manifest::load(damaged, Path::new(DATA)) {
                Ok(Some(_)) => Err("the salvage fails, although the manifest is whole".to_owned()),
                _ => Ok(()),
            };
        };
        let copy = SimulatedDisk::new(0);
        let copied = create_copy(&self.config(&copy), &databases)
            .and_then(|()| open(self.config(&copy), test_compiler()));
        let engine = copied.map_err(|error| format!("the salvage cannot be copied: {error}"))?;
        let observed = Observed::read(&*engine).map_err(|error| format!("cannot be read: {error}"))?;
        observed.check(&self.script, &BTreeSet::new()).map_err(|wrong| format!("salvaged: {wrong}"))
    }

    /// Checks that the logs end where they did, except for one that ends where its last block began, and is
    /// reported so. Returns whether that block left no trace.
    fn check_tails(&self, tails: &[LogTail], is_shorter: bool) -> Result<bool, String> {
        if !self.is_killed {
            return if is_shorter || !tails.is_empty() {
                Err(format!("the logs were closed, and now {tails:?}"))
            } else {
                Ok(false)
            };
        }
        let mut shorter = Vec::new();
        for (tail, (last, end)) in tails.iter().zip(&self.last_blocks) {
            let position = tail.end.position.0;
            if position == *end {
                continue;
            }
            if position != *last {
                return Err(format!("log {} ends at {position}, not at {end} or {last}: {tail}", tail.log));
            }
            shorter.push(tail);
        }
        match shorter.as_slice() {
            [] if !is_shorter => Ok(false),
            [] => Err("another state, although the logs end where they did".to_owned()),
            [tail] => Ok(!tail.is_torn()),
            several => Err(format!("one fault, and {} logs are shorter", several.len())),
        }
    }
}

/// All files with their contents.
fn files(disk: &SimulatedDisk) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    disk.paths().into_iter().map(|path| (path.clone(), disk.content(&path).ok())).collect()
}

/// One number for all contents of a database.
fn hash(tables: &[Arc<Table>], routines: &[Arc<Routine>]) -> Result<u64, String> {
    let mut hasher = DefaultHasher::new();
    tables_hash(tables).map_err(|error| format!("unreadable: {error}"))?.hash(&mut hasher);
    for routine in routines {
        format!("{:?} {:?}", routine.id, routine.definition).hash(&mut hasher);
    }
    Ok(hasher.finish())
}

/// Inserts rows into a table without a primary key, and counts them by calls.
fn fill_journal(engine: &dyn hyades_engine::db::Engine, incarnation: usize) -> hyades_types::Result<()> {
    let mut client = Client::new(engine)?;
    for value in 0..6 {
        let logging = if value % 2 == 0 { Logging::Command } else { Logging::Data };
        client.call("journal", &[big((incarnation * 100 + value) as i64)], logging)?.1.wait()?;
    }
    Ok(())
}

/// Builds one subject.
fn build(
    scenario: Scenario,
    incarnations: usize,
    is_killed: bool,
    segment_bytes: u64,
    seed: u64,
) -> Result<Subject, String> {
    let as_text = |error: hyades_types::Error| error.to_string();
    let transactions = TRANSACTIONS * incarnations * (segment_bytes >> 18) as usize;
    let script = Script::generate(seed, &ScriptOptions { transactions, ..ScriptOptions::default() });
    let end = if is_killed { "killed" } else { "closed" };
    let mut subject = Subject {
        name: format!(
            "{:?} with {} logs, {incarnations} incarnations, segments of {} KiB, {end}",
            scenario.protocol,
            scenario.logs,
            segment_bytes >> 10
        ),
        disk: SimulatedDisk::new(seed),
        scenario: scenario.with(Calls::Mixed),
        segment_bytes,
        script,
        is_killed,
        hash: 0,
        files: Vec::new(),
        last_blocks: Vec::new(),
    };
    for incarnation in 0..incarnations {
        let engine = open(subject.config(&subject.disk), test_compiler()).map_err(as_text)?;
        let mut life = Life::begin_with(&*engine, seed, subject.scenario.calls).map_err(as_text)?;
        let share = transactions / incarnations;
        life.run(&subject.script, incarnation * share..(incarnation + 1) * share).map_err(as_text)?;
        fill_journal(&*engine, incarnation).map_err(as_text)?;
        if life.acknowledged().len() != share {
            return Err("not everything was acknowledged".to_owned());
        }
        let is_last = incarnation + 1 == incarnations;
        let is_closed = if is_last { !is_killed } else { incarnation % 2 == 0 };
        if is_closed {
            engine.shutdown().map_err(as_text)?;
        } else {
            wait_until_idle(&subject.disk);
        }
        // The kill has taken the process and its lock. This engine ends without touching the copy.
        subject.disk = subject.disk.after(PowerCut::KeepUnsynced);
    }
    subject.survey()?;
    Ok(subject)
}

/// The databases: one to four logs and one serial log, one to three incarnations, closed and killed.
pub fn subjects(seed: u64) -> Result<Vec<Subject>, String> {
    let scenarios = [Scenario::serial(), Scenario::taurus(1), Scenario::taurus(2), Scenario::taurus(4)];
    let mut subjects = Vec::new();
    for (number, scenario) in scenarios.into_iter().enumerate() {
        for is_killed in [false, true] {
            for incarnations in 1..=3 {
                // Segments of 1 MiB are prepared one at a time, smaller ones several at once.
                let is_large = scenario.logs < 4 && incarnations == 2;
                let segment_bytes = if is_large { 1 << 20 } else { 64 * SECTOR_BYTES as u64 };
                let seed = seed + (number * 10 + incarnations) as u64;
                let built = build(scenario, incarnations, is_killed, segment_bytes, seed);
                subjects.push(built.map_err(|error| format!("{scenario:?}: {error}"))?);
            }
        }
    }
    Ok(subjects)
}

/// Tries this many faults, all of them chosen by the seed.
///
/// # Errors
/// The first fault with a forbidden result.
pub fn run(faults: u64, seed: u64) -> Result<Report, String> {
    let subjects = subjects(seed)?;
    let mut random = StdRng::seed_from_u64(seed);
    let weights: u32 = SORTS.iter().map(|(_, weight)| weight).sum();
    let mut report = Report::default();
    while report.total().tried < faults {
        let subject = &subjects[random.random_range(0..subjects.len())];
        let mut place = random.random_range(0..weights);
        let chosen = SORTS.iter().find(|(_, weight)| {
            let is_here = place < *weight;
            place = place.saturating_sub(*weight);
            is_here
        });
        let Some((sort, _)) = chosen else { continue };
        let Some(fault) = subject.choose(sort, &mut random) else { continue };
        let Some(damaged) = subject.damaged(&fault, &mut random) else { continue };
        let tally = report.0.entry(sort).or_default();
        tally.tried += 1;
        match subject.judge(&damaged) {
            Ok(Verdict::Refused) => tally.refused += 1,
            Ok(Verdict::Identical) => tally.identical += 1,
            Ok(Verdict::Torn) => tally.torn += 1,
            Ok(Verdict::Vanished) => tally.vanished += 1,
            Err(wrong) => return Err(format!("{}: {fault} ({sort}): {wrong}", subject.name)),
        }
    }
    Ok(report)
}

//! Salvage: what can be kept of logs that recovery refuses.
//!
//! Recovery opens a database completely or not at all. A salvage drops what is damaged and every transaction
//! that may depend on it, and keeps the rest. The LSN vectors say what may depend on it (Taurus, section
//! 3.1): an LV covers everything that its transaction has read or overwritten, directly or through others. A
//! log without vectors can only be cut.
//!
//! ```text
//!   each incarnation:  look through its logs  ->  limits: below all that was lost  ->  replay what names nothing above them
//!                                                    ^                                      |
//!                                                    +---- a record cannot be replayed -----+   (from the beginning, without it)
//! ```
//!
//! * A damaged log is lost from the end of its last whole record before the damage on. What comes after it
//!   could not be kept anyway: the next anchor names the damage, or what was lost with it, and everything
//!   later in that log is compressed against that anchor.
//! * A record that is whole but cannot be replayed (a call that diverges, operations or an LV that make no
//!   sense) is *condemned*; its log goes on. A log in which many records are condemned is lost from the next
//!   one on: each costs a replay, and after the next anchor all would be dropped anyway. A log is also lost
//!   if its records wait for others that wait for them: one of their LVs is wrong, and there is no telling
//!   which.
//! * Dropping is transitive (`Scope::tightened`).
//! * Vectors do not reach into another incarnation: everything after one that has lost something is dropped.
//!
//! Precision: a compressed LV reads as the anchor before it, so in each log the loss begins at most one
//! anchor, that is about one block, before the first transaction that really depends on the damage. After
//! that one, nearly every transaction may depend on it. What is kept is close to the state at the moment of
//! the damage. The vectors cannot prove more: a transaction that reads a row later, when the row's own LV has
//! long been forgotten (pitfall 19), reads the floor, which covers the damage.
//!
//! Nothing is written here; [`create_copy`](crate::db::create_copy) makes another database from what was
//! kept.

use std::collections::BTreeSet;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use hyades_types::error::{Error, Result, sqlstate};
use parking_lot::Mutex;

use super::dead::{MayBeDead, find_dead};
use super::incarnation::{ToReplay, replay_by_schedule};
use super::records::{Damaged, Walk, What};
use super::replay::{Installer, Scratch};
use super::schedule::{Batch, RecordPlace, Replay, Source};
use super::scope::Scope;
use super::{RecoveryReport, bytes_total, installer, load_checkpoint, note_replayed, workers};
use crate::config::Config;
use crate::log::manifest::{Incarnation, Manifest};
use crate::log::places::log_set;
use crate::log::set::Chunk;
use crate::lsn::{Lsn, LsnVector};
use crate::mutant::{self, Mutant};
use crate::procedure::compiled_routine::RoutineCompiler;
use crate::protocol::list::recovery;
use crate::protocol::{Cut, Follows};
use crate::storage::databases::Databases;

pub use super::scope::Verdict;

/// Why something was lost, and from where on.
#[derive(Clone, Debug)]
pub struct Damage {
    pub incarnation: u64,
    pub log: usize,
    /// For a log: its whole records up to here are read. For a record: its end.
    pub position: Lsn,
    pub is_record: bool,
    pub reason: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Damage { incarnation, log, position, is_record, reason } = self;
        match is_record {
            true => write!(
                f,
                "log {log} of incarnation {incarnation}: the log record that ends at position {position} is dropped: {reason}"
            ),
            false => write!(
                f,
                "log {log} of incarnation {incarnation}: everything after position {position} is lost: {reason}"
            ),
        }
    }
}

/// When this many records of one log are condemned, one after another, the log itself is lost.
const MOST_CONDEMNED: usize = 8;

/// What became of one incarnation.
#[derive(Debug)]
pub struct SalvagedIncarnation {
    pub number: u64,
    /// `None` if an earlier incarnation has lost something: nothing of this one is kept.
    scope: Option<Arc<Scope>>,
}

impl SalvagedIncarnation {
    pub fn follows_a_loss(&self) -> bool {
        self.scope.is_none()
    }

    /// How far a log was read.
    pub fn end(&self, log: usize) -> Lsn {
        self.scope.as_ref().map_or(Lsn::ZERO, |scope| scope.end.get(log))
    }

    /// The ELV, as far as it is known (`Scope`).
    pub fn known(&self) -> Option<&LsnVector> {
        self.scope.as_ref().map(|scope| &scope.cut.known)
    }

    /// What became of the transaction of this log whose (last) log record begins and ends here; `None` if its
    /// incarnation follows a loss.
    pub fn verdict(&self, log: usize, place: (Lsn, Lsn), follows: Follows<'_>) -> Option<Verdict> {
        self.scope.as_ref().map(|scope| scope.judge(log, place, follows))
    }
}

/// The outcome of [`salvage`].
#[derive(Debug)]
pub struct Salvage {
    /// The manifest of the damaged database, unchanged.
    pub manifest: Manifest,
    pub report: RecoveryReport,
    pub damages: Vec<Damage>,
    pub incarnations: Vec<SalvagedIncarnation>,
}

/// Replays what can be kept, into a catalog of its own.
///
/// # Errors
/// No manifest or a damaged one, logs of another version, logs of a protocol that has stamps, calls that
/// another version of the program would replay: nothing is dropped that another program could still read.
pub fn salvage(
    config: &Config,
    compiler: Option<Arc<dyn RoutineCompiler>>,
) -> Result<(Arc<Databases>, Salvage)> {
    let loaded = Manifest::load(config.disk.as_ref(), &config.data_directory)?;
    let manifest = loaded.ok_or_else(|| {
        let name = config.data_directory.display();
        Error::fatal(sqlstate::UNDEFINED_FILE, format!("there is no Hyades database in directory \"{name}\""))
    })?;
    check_protocols(&manifest)?;
    let mut found: Vec<Damage> = Vec::new();
    loop {
        match attempt(config, compiler.as_ref(), &manifest, &found)? {
            Attempt::Done(databases, salvage) => return Ok((databases, *salvage)),
            Attempt::Failed(mut damage) => {
                let are_here = |one: &&Damage| {
                    one.is_record && (one.incarnation, one.log) == (damage.incarnation, damage.log)
                };
                if damage.is_record && found.iter().filter(are_here).count() >= MOST_CONDEMNED {
                    // It is the first position that is not kept.
                    damage.position = Lsn(damage.position.0 - Lsn::ALIGNMENT);
                    damage.is_record = false;
                }
                found.push(damage);
            }
        }
    }
}

/// Refuses logs whose records count by stamps.
fn check_protocols(manifest: &Manifest) -> Result<()> {
    for Incarnation { protocol, logs, .. } in manifest.to_replay() {
        if recovery(protocol, *logs)?.has_stamps() {
            let reason = "they do not say what a transaction depends on";
            let message = format!("logs of the protocol {protocol} cannot be salvaged: {reason}");
            return Err(Error::fatal(sqlstate::FEATURE_NOT_SUPPORTED, message));
        }
    }
    Ok(())
}

enum Attempt {
    Done(Arc<Databases>, Box<Salvage>),
    /// This log record cannot be replayed, or its log cannot be replayed beyond this position.
    Failed(Damage),
}

/// `found`: where earlier attempts have failed.
fn attempt(
    config: &Config,
    compiler: Option<&Arc<dyn RoutineCompiler>>,
    manifest: &Manifest,
    found: &[Damage],
) -> Result<Attempt> {
    let started = crate::sync::now();
    let databases = Arc::new(Databases::new());
    let mut salvage = Salvage {
        manifest: manifest.clone(),
        report: RecoveryReport::default(),
        damages: found.iter().filter(|damage| damage.is_record).cloned().collect(),
        incarnations: Vec::new(),
    };
    let mut has_lost = false;
    load_checkpoint(config, manifest, &databases, &mut salvage.report)?;
    for incarnation in manifest.to_replay() {
        let number = incarnation.number;
        if has_lost {
            salvage.incarnations.push(SalvagedIncarnation { number, scope: None });
            continue;
        }
        let (mut scope, damages) = look_through(config, manifest, incarnation, found)?;
        has_lost = !damages.is_empty() || !scope.condemned.is_empty();
        salvage.damages.extend(damages);
        if has_lost {
            scope = find_limits(config, manifest, incarnation, scope)?;
        }
        let scope = Arc::new(scope);
        let installer = installer(
            config,
            compiler,
            &databases,
            incarnation,
            &salvage.report,
            bytes_total(manifest),
            started,
        );
        let watched = Arc::new(Watched { installer, failed: Mutex::new(None) });
        let to_replay = ToReplay {
            manifest,
            incarnation,
            scope: Arc::clone(&scope),
            workers: workers(config),
            is_salvage: true,
        };
        let begun = crate::sync::now();
        match replay_by_schedule(config, &to_replay, Arc::clone(&watched)) {
            Ok(replayed) => {
                watched.installer.versions.finish();
                note_replayed(&mut salvage.report, &to_replay, replayed, begun);
            }
            Err(error) => {
                let failed = watched.failed.lock().take();
                return match failed {
                    Some(damage) => Ok(Attempt::Failed(Damage { incarnation: number, ..damage })),
                    None => Err(error),
                };
            }
        }
        salvage.incarnations.push(SalvagedIncarnation { number, scope: Some(scope) });
    }
    let tables = databases.tables();
    salvage.report.tables = tables.len();
    salvage.report.rows = tables.iter().map(|table| table.row_count()).sum();
    salvage.report.seconds = crate::sync::now().duration_since(started).as_secs_f64();
    Ok(Attempt::Done(databases, Box::new(salvage)))
}

/// Replays as recovery does, and remembers which log record could not be replayed.
struct Watched {
    installer: Installer,
    failed: Mutex<Option<Damage>>,
}

impl Watched {
    fn remember(&self, log: usize, position: u64, is_record: bool, reason: String) {
        let damage = Damage { incarnation: 0, log, position: Lsn(position), is_record, reason };
        self.failed.lock().get_or_insert(damage);
    }
}

impl Replay for Watched {
    type Scratch = Scratch;

    fn replay(&self, scratch: &mut Scratch, place: RecordPlace, operations: &[u8]) -> Result<()> {
        let RecordPlace { log, end, .. } = place;
        // Values with which no call ever ran, under a right checksum, may take the interpreter where it has
        // never been. The scratch is not used again: this attempt is over.
        let replay = AssertUnwindSafe(|| self.installer.replay(scratch, place, operations));
        let replayed = catch_unwind(replay).unwrap_or_else(|_| {
            let place = format!("(in the record that ends at position {end})");
            Err(Error::corrupt(format!("log {log} is damaged: the replay breaks off {place}")))
        });
        // What another version of the program could replay is not damaged.
        if let Err(error) = &replayed
            && error.sqlstate() == sqlstate::DATA_CORRUPTED
        {
            self.remember(log, end, true, error.to_string());
        }
        replayed
    }

    fn on_circle(&self, log: usize, position: u64, error: &Error) {
        self.remember(log, position, false, error.to_string());
    }

    fn on_low(&self, low: u64) {
        self.installer.on_low(low);
    }

    fn on_progress(&self, bytes_done: u64, transactions: u64) {
        self.installer.on_progress(bytes_done, transactions);
    }
}

/// What was found in one log that may be damaged.
struct Examined {
    /// The end of the last whole record before any damage.
    whole: Lsn,
    damage: Option<String>,
    /// The largest positions that its anchors call durable.
    durable: LsnVector,
    /// The ends of whole records whose LV makes no sense, with the reason.
    senseless: Vec<(Lsn, &'static str)>,
    /// With a protocol whose records name others.
    may_be_dead: Option<MayBeDead>,
}

impl Examined {
    /// Takes note of the next records of a chunk.
    fn see(&mut self, log: usize, walk: &mut Walk<()>, chunk: &Chunk) -> std::result::Result<(), Damaged> {
        while let Some(seen) = walk.next(chunk.start, &chunk.bytes)? {
            if let What::Control(_) = &seen.what {
                let settled = walk.durable().get(log);
                self.may_be_dead.iter_mut().for_each(|one| one.settle(settled));
            }
            if let What::Transaction(last) = &seen.what {
                let follows = walk.read(last)?.follows;
                match follows.and_then(|follows| follows.check(log, seen.start).map(|()| follows)) {
                    Ok(follows) => self.may_be_dead.iter_mut().for_each(|one| one.note(seen.end, follows)),
                    Err(malformed) => self.senseless.push((seen.end, malformed.reason)),
                }
            }
            self.whole = seen.end;
        }
        Ok(())
    }
}

/// How far each log can be read, and why not further.
fn look_through(
    config: &Config,
    manifest: &Manifest,
    incarnation: &Incarnation,
    found: &[Damage],
) -> Result<(Scope, Vec<Damage>)> {
    let (logs, number) = (incarnation.logs, incarnation.number);
    let mut durable = LsnVector::zero(logs);
    let mut examined = Vec::new();
    for log in 0..logs {
        let one = examine(config, manifest, incarnation, log, cut(found, number, log))?;
        durable.raise(one.durable.entries());
        examined.push(one);
    }
    let (mut end, mut known) = (LsnVector::zero(logs), LsnVector::zero(logs));
    let (mut damages, mut may_be_dead) = (Vec::new(), Vec::new());
    for (log, one) in examined.into_iter().enumerate() {
        let (whole, mut reason) = (one.whole, one.damage);
        may_be_dead.extend(one.may_be_dead);
        let frozen = incarnation.frozen_end().map(|end| end.get(log));
        if let Some(frozen) = frozen {
            // Damage after the frozen end does not matter.
            reason = reason.filter(|_| whole < frozen);
            if whole < frozen && reason.is_none() {
                reason = Some(format!("the log ends at position {whole}, but it counted up to {frozen}"));
            }
        } else if reason.is_none() && whole < durable.get(log) {
            reason = check_unfinished(config, manifest, incarnation, log, durable.get(log))?;
        }
        end.raise_entry(log, whole);
        let unknown = if reason.is_some() { Lsn(u64::MAX) } else { whole };
        known.raise_entry(log, frozen.unwrap_or(unknown));
        let damage =
            |position, is_record, reason| Damage { incarnation: number, log, position, is_record, reason };
        damages.extend(reason.map(|reason| damage(whole, false, reason)));
        damages.extend(one.senseless.into_iter().map(|(end, reason)| damage(end, true, reason.to_owned())));
    }
    let condemned = found.iter().chain(&damages).filter(|one| one.is_record && one.incarnation == number);
    let condemned: BTreeSet<(usize, u64)> = condemned.map(|one| (one.log, one.position.0)).collect();
    // Beside what the manifest knows. What damage may have taken is unknown, and not dead.
    let mut dead = Cut::of(incarnation).map_or_else(Vec::new, |cut| cut.dead.to_vec());
    dead.extend(find_dead(may_be_dead, &known, &durable));
    Ok((Scope::salvaged(end, known, dead, condemned), damages))
}

/// The lowest position beyond which an earlier attempt could not get in this log, and why.
fn cut(found: &[Damage], incarnation: u64, log: usize) -> Option<&Damage> {
    let here = found.iter().filter(|one| !one.is_record && (one.incarnation, one.log) == (incarnation, log));
    here.min_by_key(|one| one.position)
}

/// Whether a log that ends below a durable position ends inside a record of which a part was durable, which
/// is not damage.
fn check_unfinished(
    config: &Config,
    manifest: &Manifest,
    incarnation: &Incarnation,
    log: usize,
    durable: Lsn,
) -> Result<Option<String>> {
    let start = manifest.replay_from(incarnation).get(log);
    let mut reader = log_set(config, manifest, incarnation).source(log, start)?;
    while reader.next_chunk()?.is_some() {}
    Ok(reader.end().and_then(|end| end.check(durable).err()).map(|error| error.to_string()))
}

/// Reads a log until it ends, is damaged, or has been read up to where it counts or where an earlier attempt
/// failed.
fn examine(
    config: &Config,
    manifest: &Manifest,
    incarnation: &Incarnation,
    log: usize,
    cut: Option<&Damage>,
) -> Result<Examined> {
    let frozen = incarnation.frozen_end().map_or(Lsn(u64::MAX), |end| end.get(log));
    let last = cut.map_or(frozen, |cut| cut.position.min(frozen));
    let start = manifest.replay_from(incarnation).get(log);
    let mut walk = Walk::new(incarnation, log)?.from(start).up_to(last);
    let durable = LsnVector::zero(incarnation.logs);
    let has_ids = recovery(&incarnation.protocol, incarnation.logs)?.has_ids();
    let may_be_dead = has_ids.then(|| MayBeDead::new(log));
    let mut examined = Examined { whole: start, damage: None, durable, senseless: Vec::new(), may_be_dead };
    let mut reader = match log_set(config, manifest, incarnation).source(log, start) {
        Ok(reader) => reader,
        Err(error) => {
            examined.damage = Some(damage(error)?);
            return Ok(examined);
        }
    };
    loop {
        match reader.next_chunk() {
            Ok(None) => break,
            Ok(Some(chunk)) => {
                let seen = examined.see(log, &mut walk, &chunk);
                examined.durable.copy_from(walk.durable().entries());
                if let Err(Damaged { reason, .. }) = seen {
                    let reason = format!("{reason} (position {})", examined.whole);
                    examined.damage.get_or_insert(reason);
                    return Ok(examined);
                }
                if walk.position() < chunk.end() {
                    examined.damage = cut.map(|cut| cut.reason.clone());
                    return Ok(examined);
                }
            }
            Err(error) => {
                examined.damage = Some(damage(error)?);
                // Return what was read before the damage.
                reader.stop_at(reader.whole_records());
            }
        }
    }
    // Only corruption, not an end that a crash explains. Whether the log is long enough is not known yet.
    if let Some(end) = reader.end()
        && let Err(error) = end.check(Lsn::ZERO)
    {
        examined.damage.get_or_insert(error.to_string());
    }
    Ok(examined)
}

/// The reason, if the error reports damage. Otherwise another program may be able to read the data.
fn damage(error: Error) -> Result<String> {
    match error.sqlstate() {
        sqlstate::DATA_CORRUPTED | sqlstate::UNDEFINED_FILE | sqlstate::IO_ERROR => Ok(error.to_string()),
        _ => Err(error),
    }
}

/// Lowers the limits until nothing that is kept may depend on anything that is not.
fn find_limits(
    config: &Config,
    manifest: &Manifest,
    incarnation: &Incarnation,
    scope: Scope,
) -> Result<Scope> {
    let mut scope = Arc::new(scope);
    loop {
        let to_replay =
            ToReplay { manifest, incarnation, scope: Arc::clone(&scope), workers: 1, is_salvage: true };
        for (source, _) in to_replay.sources_of_schedule(config, &to_replay.beginning())? {
            let Some(mut source) = source else { continue };
            let mut batch = Batch::default();
            while source.fill(&mut batch)? {
                batch.decode()?;
                batch = Batch::default();
            }
        }
        match scope.tightened() {
            Some(tighter) if !mutant::is_active(Mutant::SalvageForgetsDropped) => scope = Arc::new(tighter),
            _ => return Ok(scope.anew()),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::io;

    use hyades_types::error::Error;

    use super::damage;

    #[test]
    fn what_another_user_could_read_is_not_damage() {
        let failed = |number| Error::io("could not read", &io::Error::from_raw_os_error(number));
        assert!(damage(failed(5)).is_ok());
        assert!(damage(failed(13)).is_err());
    }
}

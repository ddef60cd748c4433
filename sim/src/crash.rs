//! The lives of a database on a disk that fails: run a script until the power is cut, recover, compare with
//! the model, go on.
//!
//! Used by the crash-point tests and by the search for mutants. The script's transactions run one after the
//! other, each in its session, and hardly ever wait for durability. Some also store a text that is larger
//! than a log record may be, to exercise fragments, full buffers and new segments ([`ballast`]).
//!
//! A transaction counts as acknowledged if it had become durable by the end: a durable position never falls,
//! so whatever a client could have seen at any time counts. Loggers are threads and no two runs are the same,
//! so nothing here depends on the number of an operation.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use hyades_engine::config::{Config, ControlKind, ProtocolKind, RestartMode};
use hyades_engine::db::{Engine, Isolation, Logging, LoggingChoice, open};
use hyades_engine::log::durable::Durability;
use hyades_engine::lsn::TransactionPlace;
use hyades_engine::recovery::{recover, state_hash};
use hyades_engine::storage::databases::Databases;
use hyades_types::definition::{IndexKind, TableName};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::value::Value;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::client::{Client, big, create_tables};
use crate::disk::{Effect, FaultPlan, Place, SimulatedDisk};
use crate::routines::{create_routines, test_compiler};
use crate::script::{Recovered, Script, ScriptOptions, Step, check_recovered};
use crate::threads::{self, Handle};

/// The data directory on every simulated disk.
pub const DATA: &str = "/data";
/// Transactions before the first crash, and after it.
pub const FIRST: usize = 200;
const SECOND: usize = 40;
/// One in this many transactions has ballast.
const BALLAST_EVERY: usize = 7;
const MOST_BALLAST_BYTES: usize = 56 << 10;

/// How the database under test is opened.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    pub protocol: ProtocolKind,
    pub logs: usize,
    /// Directories that the blocks of a log go to by turns (serial logging only).
    pub stripes: usize,
    pub calls: Calls,
    /// As `Config::row_locks_before_table`.
    pub row_locks_before_table: u32,
    /// The level of every second session.
    pub isolation: Isolation,
    pub control: ControlKind,
    /// Checkpoints are taken one after the other while transactions run.
    pub takes_checkpoints: bool,
    /// When a start lets transactions in.
    pub restart: RestartMode,
    /// As `Config::replays_by_position`.
    pub replays_by_position: bool,
    /// As `Config::predecessors`.
    pub predecessors: usize,
}

/// Which transactions of a script are calls of one routine, and how those are logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Calls {
    /// None: several statements each.
    #[default]
    Never,
    /// All, logged as commands.
    Commands,
    /// All, logged as data.
    Data,
    /// Half as commands, a quarter as data, a quarter as statements.
    Mixed,
}

impl Calls {
    /// How the transaction of this number is logged, if it is a call.
    pub(crate) fn logging(self, number: usize) -> Option<Logging> {
        match (self, number.wrapping_mul(7_919) / 13 % 4) {
            (Calls::Never, _) | (Calls::Mixed, 0) => None,
            (Calls::Data, _) | (Calls::Mixed, 1) => Some(Logging::Data),
            (Calls::Commands | Calls::Mixed, _) => Some(Logging::Command),
        }
    }
}

impl Scenario {
    pub fn taurus(logs: usize) -> Scenario {
        let row_locks_before_table = Config::new(DATA).row_locks_before_table;
        Scenario {
            protocol: ProtocolKind::Taurus,
            logs,
            stripes: 1,
            calls: Calls::Never,
            row_locks_before_table,
            isolation: Isolation::Serializable,
            control: ControlKind::TwoPhaseLocking,
            takes_checkpoints: false,
            restart: RestartMode::Complete,
            replays_by_position: false,
            predecessors: Config::new(DATA).predecessors,
        }
    }

    pub fn serial() -> Scenario {
        Scenario { protocol: ProtocolKind::Serial, ..Scenario::taurus(1) }
    }

    /// Taurus with a dependency graph and this many logs.
    pub fn taurus_graph(logs: usize) -> Scenario {
        Scenario { protocol: ProtocolKind::TaurusGraph, ..Scenario::taurus(logs) }
    }

    /// A record names at most this many transactions.
    #[must_use]
    pub fn naming(self, predecessors: usize) -> Scenario {
        Scenario { predecessors, ..self }
    }

    /// Silo-R with this many logs, and short epochs.
    pub fn silor(logs: usize) -> Scenario {
        Scenario { protocol: ProtocolKind::SiloR, ..Scenario::taurus(logs) }
    }

    /// Plover with this many logs.
    pub fn plover(logs: usize) -> Scenario {
        Scenario { protocol: ProtocolKind::Plover, ..Scenario::taurus(logs) }
    }

    /// One log striped over this many directories.
    pub fn striped(stripes: usize) -> Scenario {
        Scenario { stripes, ..Scenario::serial() }
    }

    /// The directories of the logs.
    pub fn places(self) -> Vec<PathBuf> {
        let logs = Path::new(DATA).join("logs");
        let log = (0..self.logs).map(|log| logs.join(format!("log-{log}")));
        log.chain((1..self.stripes).map(|stripe| logs.join(format!("log-0-stripe-{stripe}")))).collect()
    }

    #[must_use]
    pub fn with(self, calls: Calls) -> Scenario {
        Scenario { calls, ..self }
    }

    /// Every second session runs at this level. The others are serializable.
    #[must_use]
    pub fn at(self, isolation: Isolation) -> Scenario {
        Scenario { isolation, ..self }
    }

    /// Serializable transactions read as this concurrency control says.
    #[must_use]
    pub fn under(self, control: ControlKind) -> Scenario {
        Scenario { control, ..self }
    }

    /// Checkpoints are taken one after the other.
    #[must_use]
    pub fn checkpointing(self) -> Scenario {
        Scenario { takes_checkpoints: true, ..self }
    }

    /// Starts let transactions in before the database is completely restored.
    #[must_use]
    pub fn on_demand(self) -> Scenario {
        Scenario { restart: RestartMode::OnDemand, ..self }
    }

    /// Starts replay all log records in the order in which they follow each other.
    #[must_use]
    pub fn replaying_by_position(self) -> Scenario {
        Scenario { replays_by_position: true, ..self }
    }

    /// Transactions lock tables as soon as they can.
    #[must_use]
    pub fn escalating(self) -> Scenario {
        Scenario { row_locks_before_table: 2, ..self }
    }

    /// The smallest possible segments and buffers, to exercise their ends.
    pub fn config(self, disk: &SimulatedDisk) -> Config {
        Config {
            protocol: self.protocol,
            control: self.control,
            logs: self.logs,
            epoch: Duration::from_millis(1),
            log_directories: vec![PathBuf::from("logs"); self.stripes],
            segment_bytes: 64 * 4096,
            log_buffer_bytes: 1 << 16,
            shared_block_bytes: 0,
            digest_pause: Duration::from_millis(1),
            row_locks_before_table: self.row_locks_before_table,
            recovery_workers: 2,
            restart: self.restart,
            replays_by_position: self.replays_by_position,
            predecessors: self.predecessors,
            // As long as a few rows.
            checkpoint_range_bytes: Some(200),
            checkpoint_workers: 2,
            disk: Arc::new(disk.clone()),
            ..Config::new(Path::new(DATA))
        }
    }

    pub fn open(self, disk: &SimulatedDisk) -> Result<Arc<dyn Engine>> {
        open(self.config(disk), test_compiler())
    }
}

/// The text that this transaction stores under its own number, if it has one. A log record holds 8 KiB of it.
pub fn ballast(number: usize) -> Option<String> {
    if number % BALLAST_EVERY != 3 {
        return None;
    }
    let length = number.wrapping_mul(7_919_317) % MOST_BALLAST_BYTES;
    Some(format!("{number} ").repeat(1 + length / 4))
}

/// Runs a script's transactions, each in its session.
pub struct Life {
    clients: Vec<Client>,
    waiting: Vec<(usize, Durability)>,
    random: StdRng,
    calls: Calls,
    has_ballast: bool,
}

impl Life {
    /// Creates the tables and routines if they are missing.
    pub fn begin(engine: &dyn Engine, seed: u64) -> Result<Life> {
        let exists = engine.table(&TableName { schema: "public".into(), name: "ledger".into() }).is_some();
        if !exists {
            create_tables(engine, IndexKind::Ordered)?;
        }
        if engine.routines().is_empty() {
            create_routines(engine)?;
        }
        let sessions = 0..ScriptOptions::default().sessions;
        let clients = sessions.map(|_| Client::new(engine)).collect::<Result<Vec<_>>>()?;
        let random = StdRng::seed_from_u64(seed);
        Ok(Life { clients, waiting: Vec::new(), random, calls: Calls::Never, has_ballast: true })
    }

    /// As [`Life::begin`], with transactions that are calls.
    pub fn begin_with(engine: &dyn Engine, seed: u64, calls: Calls) -> Result<Life> {
        Ok(Life { calls, ..Life::begin(engine, seed)? })
    }

    /// No transaction stores a text in addition to its steps.
    #[must_use]
    pub fn without_ballast(self) -> Life {
        Life { has_ballast: false, ..self }
    }

    /// Runs the transactions until the end of the range or the first error.
    pub fn run(&mut self, script: &Script, range: Range<usize>) -> Result<()> {
        for number in range {
            let durability = self.run_one(script, number)?;
            self.expect(number, &durability);
            if self.random.random_bool(0.15) {
                durability.wait()?;
            }
        }
        Ok(())
    }

    /// The transaction's answer may be sent when the handle is durable. [`Life::acknowledged`] checks that.
    pub fn expect(&mut self, number: usize, durability: &Durability) {
        self.waiting.push((number, durability.clone()));
    }

    /// Runs one transaction. Its answer must wait for the handle.
    pub fn run_one(&mut self, script: &Script, number: usize) -> Result<Durability> {
        let transaction = &script.transactions[number];
        let client = &mut self.clients[transaction.session];
        let text = ballast(number).filter(|_| self.has_ballast);
        client.begin();
        if let Some(logging) = self.calls.logging(number) {
            return run_as_call(client, (script, number, text), logging);
        }
        let mut work = || -> Result<()> {
            for step in &transaction.steps {
                match *step {
                    Step::Read { key } => client.get_number(key).map(drop)?,
                    Step::Put { key, value } => client.put_number(key, value)?,
                    Step::Add { key, amount } => client.add_number(key, amount)?,
                    Step::Delete { key } => client.delete_number(key)?,
                }
            }
            if !transaction.is_writing() {
                return Ok(());
            }
            if let Some(text) = &text {
                client.put_text(number as u64, text)?;
            }
            client.note(number as u64)
        };
        match work() {
            Ok(()) if transaction.is_rolled_back => Ok(client.rollback()),
            Ok(()) => client.commit().inspect_err(|_| drop(client.rollback())),
            Err(error) => {
                client.rollback();
                Err(error)
            }
        }
    }

    /// The place of the last transaction that wrote anything in the session of this one.
    pub fn place(&mut self, script: &Script, number: usize) -> Option<TransactionPlace> {
        self.clients[script.transactions[number].session].worker().last_commit()
    }

    /// The transactions whose answers may have been sent by now.
    pub fn acknowledged_so_far(&self) -> BTreeSet<usize> {
        let durable = self.waiting.iter().filter(|(_, wait)| wait.is_durable());
        durable.map(|(number, _)| *number).collect()
    }

    /// The transactions whose answers may have been sent. The others will never be answered.
    pub fn acknowledged(self) -> BTreeSet<usize> {
        self.waiting.into_iter().filter_map(|(number, wait)| wait.wait().ok().map(|()| number)).collect()
    }
}

/// The whole transaction as one call.
fn run_as_call(
    client: &mut Client,
    (script, number, text): (&Script, usize, Option<String>),
    logging: Logging,
) -> Result<Durability> {
    let transaction = &script.transactions[number];
    let mut arguments = vec![big(number as i64)];
    for step in &transaction.steps {
        arguments.extend(match *step {
            Step::Read { key } => [0, key as i64, 0].map(big),
            Step::Put { key, value } => [1, key as i64, value].map(big),
            Step::Add { key, amount } => [2, key as i64, amount].map(big),
            Step::Delete { key } => [3, key as i64, 0].map(big),
        });
    }
    while arguments.len() < 13 {
        arguments.extend([4, 0, 0].map(big));
    }
    arguments.push(big(i64::from(transaction.is_writing())));
    arguments.push(text.map_or(Value::Null, Value::text));
    let choice =
        client.call_inside("script", &arguments, logging).inspect_err(|_| drop(client.rollback()))?;
    assert_eq!(choice == LoggingChoice::Command, logging == Logging::Command, "{choice:?}");
    if transaction.is_rolled_back {
        return Ok(client.rollback());
    }
    client.commit().inspect_err(|_| drop(client.rollback()))
}

/// Holds back the directories of a log at random, one at a time for a fraction of a millisecond, until it is
/// dropped. Between logs of equal speed, a transaction is hardly ever lost together with one that it depends
/// on.
pub struct Laggard {
    stop: Arc<AtomicBool>,
    thread: Option<Handle<()>>,
}

impl Laggard {
    pub fn start(disk: &SimulatedDisk, places: Vec<PathBuf>, seed: u64) -> Laggard {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, disk) = (Arc::clone(&stop), disk.clone());
        let thread = threads::spawn("laggard", move || {
            let mut random = StdRng::seed_from_u64(seed);
            while !stopped.load(Ordering::Acquire) && !disk.has_crashed() {
                disk.hold_writes_under(Some(&places[random.random_range(0..places.len())]));
                threads::sleep(Duration::from_micros(random.random_range(100..800)));
                disk.hold_writes_under(None);
                threads::sleep(Duration::from_micros(random.random_range(1..200)));
            }
        });
        Laggard { stop, thread: Some(thread) }
    }
}

impl Drop for Laggard {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        // It has no reason to panic, and holds nothing back when it ends.
        let _ = self.thread.take().map(Handle::join);
    }
}

/// Asks for a checkpoint and waits until it has been taken.
pub fn take_checkpoint(engine: &dyn Engine) -> Result<()> {
    let request = engine.request_checkpoint()?;
    request.ticket().wait();
    let unanswered = || Error::fatal(sqlstate::INTERNAL_ERROR, "a request for a checkpoint was not answered");
    request.outcome().unwrap_or_else(|| Err(unanswered()))
}

/// Takes checkpoints one after the other until it is dropped, or until one fails because of a crash.
pub struct Checkpoints {
    stop: Arc<AtomicBool>,
    thread: Option<Handle<std::result::Result<u64, String>>>,
}

impl Checkpoints {
    pub fn start(engine: &Arc<dyn Engine>, disk: &SimulatedDisk) -> Checkpoints {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, engine, disk) = (Arc::clone(&stop), Arc::clone(engine), disk.clone());
        let thread = threads::spawn("checkpoints", move || {
            let mut taken = 0;
            while !stopped.load(Ordering::Acquire) {
                match take_checkpoint(&*engine) {
                    Ok(()) => taken += 1,
                    Err(_) if disk.has_crashed() => return Ok(taken),
                    Err(error) => return Err(error.to_string()),
                }
            }
            Ok(taken)
        });
        Checkpoints { stop, thread: Some(thread) }
    }

    /// Stops, and returns how many were taken.
    pub fn stop(mut self) -> std::result::Result<u64, String> {
        self.stop.store(true, Ordering::Release);
        let thread = self.thread.take().expect("it is stopped once");
        thread.join().unwrap_or_else(|| Err("a thread panicked".to_owned()))
    }
}

/// Opens the disk, runs a part of the script until its end or the crash, and returns what was acknowledged.
pub fn live(
    disk: &SimulatedDisk,
    scenario: Scenario,
    script: &Script,
    range: Range<usize>,
    seed: u64,
) -> std::result::Result<BTreeSet<usize>, String> {
    let unless_crashed = |what: &str, result: Result<()>| match result {
        Err(error) if !disk.has_crashed() => Err(format!("{what}: {error}")),
        _ => Ok(()),
    };
    let engine = match scenario.open(disk) {
        Ok(engine) => engine,
        Err(error) => return unless_crashed("does not open", Err(error)).map(|()| BTreeSet::new()),
    };
    let mut life = match Life::begin_with(&*engine, seed, scenario.calls) {
        Ok(life) => life,
        Err(error) => return unless_crashed("does not begin", Err(error)).map(|()| BTreeSet::new()),
    };
    // In half of the lives: with equal logs, more is written before the power fails.
    let laggard = seed.is_multiple_of(2).then(|| Laggard::start(disk, scenario.places(), seed));
    let checkpoints = scenario.takes_checkpoints.then(|| Checkpoints::start(&engine, disk));
    let ran = life.run(script, range);
    let checkpointed = checkpoints.map_or(Ok(0), Checkpoints::stop);
    unless_crashed("does not run", ran)?;
    checkpointed.map_err(|error| format!("takes no checkpoint: {error}"))?;
    drop(laggard);
    let acknowledged = life.acknowledged();
    unless_crashed("does not stop", engine.shutdown())?;
    Ok(acknowledged)
}

/// As [`live`], but the process is killed when all that was acknowledged is durable and nothing is left to
/// do. Returns the disk that it leaves.
pub fn live_and_kill(
    disk: &SimulatedDisk,
    scenario: Scenario,
    script: &Script,
    range: Range<usize>,
    seed: u64,
) -> std::result::Result<(SimulatedDisk, BTreeSet<usize>), String> {
    let as_text = |error: Error| error.to_string();
    let engine = scenario.open(disk).map_err(as_text)?;
    let mut life = Life::begin_with(&*engine, seed, scenario.calls).map_err(as_text)?;
    life.run(script, range).map_err(as_text)?;
    let acknowledged = life.acknowledged();
    wait_until_idle(disk);
    let killed = disk.after_process_kill(seed);
    engine.shutdown().map_err(as_text)?;
    Ok((killed, acknowledged))
}

/// Waits until nothing has been written for a while: segments are prepared after the transactions that needed
/// them have been answered.
pub fn wait_until_idle(disk: &SimulatedDisk) {
    let mut before = None;
    while before != Some(disk.operations()) {
        before = Some(disk.operations());
        std::thread::sleep(Duration::from_millis(30));
    }
}

/// The contents of a database.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Observed {
    pub ledger: BTreeSet<usize>,
    pub rows: BTreeMap<u64, i64>,
    pub texts: BTreeMap<usize, String>,
}

impl Observed {
    /// Reads everything in one transaction and waits until the answer may be sent.
    pub fn read(engine: &dyn Engine) -> Result<Observed> {
        if engine.tables().is_empty() {
            return Ok(Observed::default());
        }
        let mut client = Client::new(engine)?;
        client.begin();
        let observed = Observed {
            ledger: client.ledger()?.into_iter().map(|number| number as usize).collect(),
            rows: client.numbers()?.into_iter().collect(),
            texts: client.texts()?.into_iter().map(|(number, text)| (number as usize, text)).collect(),
        };
        client.commit()?.wait()?;
        Ok(observed)
    }

    /// Whether a crash may leave this state (see [`crate::script`]), with large transactions wholly there or
    /// not at all.
    pub fn check(&self, script: &Script, acknowledged: &BTreeSet<usize>) -> std::result::Result<(), String> {
        check_recovered(script, &Recovered { acknowledged, ledger: &self.ledger, rows: &self.rows })?;
        let texts = self.ledger.iter().filter_map(|number| Some((*number, ballast(*number)?)));
        if self.texts == texts.collect() {
            return Ok(());
        }
        let numbers: Vec<usize> = self.texts.keys().copied().collect();
        Err(format!("the texts of {numbers:?} are there, or not whole, and the ledger is {:?}", self.ledger))
    }
}

/// Recovers, reads, and checks. Returns the transactions that are there.
pub fn recover_and_check(
    disk: &SimulatedDisk,
    scenario: Scenario,
    script: &Script,
    acknowledged: &BTreeSet<usize>,
) -> std::result::Result<BTreeSet<usize>, String> {
    let engine = scenario.open(disk).map_err(|error| format!("does not open: {error}"))?;
    let observed = Observed::read(&*engine).map_err(|error| format!("cannot be read: {error}"))?;
    engine.shutdown().map_err(|error| format!("does not stop: {error}"))?;
    observed.check(script, acknowledged)?;
    Ok(observed.ledger)
}

/// The hash of the state that recovery alone finds, without beginning an incarnation.
pub fn recovered_hash(disk: &SimulatedDisk, scenario: Scenario) -> std::result::Result<u64, String> {
    let databases = Arc::new(Databases::new());
    recover(&scenario.config(disk), test_compiler(), &databases)
        .map_err(|error| format!("does not recover: {error}"))?;
    state_hash(&databases).map_err(|error| error.to_string())
}

/// The script as it is known after a crash: lost transactions never come back (pitfall 15).
#[must_use]
pub fn without_the_lost(script: &Script, lived: usize, ledger: &BTreeSet<usize>) -> Script {
    let mut script = script.clone();
    for (number, transaction) in script.transactions[..lived].iter_mut().enumerate() {
        transaction.is_rolled_back |= !ledger.contains(&number);
    }
    script
}

/// A script for [`try_point`].
pub fn script(seed: u64) -> Script {
    Script::generate(seed, &ScriptOptions { transactions: FIRST + SECOND, ..ScriptOptions::default() })
}

/// The disk that the next start finds: after a power cut, a kill, or a power cut and another inside recovery.
/// What a start has shown after a kill counts as acknowledged: it must survive the next power cut (pitfall
/// 16).
fn next_disk(
    disk: &SimulatedDisk,
    scenario: Scenario,
    script: &Script,
    acknowledged: &mut BTreeSet<usize>,
    point: u64,
) -> std::result::Result<SimulatedDisk, String> {
    match point % 3 {
        0 => Ok(disk.after_power_cut(point)),
        1 => {
            let killed = disk.after_process_kill(point);
            let shown = recover_and_check(&killed, scenario, script, acknowledged);
            acknowledged.extend(shown.map_err(|error| format!("{error}, after a kill"))?);
            Ok(killed.after_power_cut(point))
        }
        _ => {
            let found = disk.after_power_cut(point);
            found.crash_at(point / 3 % 40);
            drop(scenario.open(&found));
            Ok(found.after_power_cut(point + 1))
        }
    }
}

/// Tests one crash point: the power fails at this operation of the first life. Returns whether that life
/// reached it, or what is wrong with the state that was found.
pub fn try_point(scenario: Scenario, script: &Script, point: u64) -> std::result::Result<bool, String> {
    let disk = SimulatedDisk::new(point);
    disk.crash_at(point);
    try_lives(&disk, scenario, script, FIRST, point)
}

/// As [`try_point`], but the power fails in this operation of turning a segment that checkpoints have given
/// up into another one, after `skip` of them have succeeded.
pub fn try_reuse(
    scenario: Scenario,
    operation: &'static str,
    skip: u64,
) -> std::result::Result<bool, String> {
    const LIVED: usize = 3 * FIRST;
    let transactions = LIVED + SECOND;
    let script = Script::generate(skip, &ScriptOptions { transactions, ..ScriptOptions::default() });
    // With sectors of 4096 bytes more segments are used.
    let disk = SimulatedDisk::new(2 * skip);
    let (place, effect) = (Place::SegmentReuse, Effect::PowerCut);
    disk.plan_fault(Some(FaultPlan { place, operation: Some(operation), effect, skip, is_for_ever: false }));
    try_lives(&disk, scenario, &script, LIVED, skip)
}

/// A life of `lived` transactions, in which the power fails, and another one.
fn try_lives(
    disk: &SimulatedDisk,
    scenario: Scenario,
    script: &Script,
    lived: usize,
    seed: u64,
) -> std::result::Result<bool, String> {
    let mut acknowledged = live(disk, scenario, script, 0..lived, seed)?;
    let reached = disk.has_crashed();
    let last = disk.operations().saturating_sub(1);
    let first = |error: String| format!("{error} ({})", disk.describe_operation(last).unwrap_or_default());

    let found = next_disk(disk, scenario, script, &mut acknowledged, seed).map_err(first)?;
    let hashes = [recovered_hash(&found, scenario), recovered_hash(&found, scenario)];
    if hashes[0] != hashes[1] {
        return Err(first(format!("two recoveries find different states: {hashes:?}")));
    }
    let ledger = recover_and_check(&found, scenario, script, &acknowledged).map_err(first)?;
    if recovered_hash(&found, scenario) != hashes[0] {
        return Err(first("a start without work changes the state".to_owned()));
    }

    let script = without_the_lost(script, lived, &ledger);
    found.crash_at(found.operations() + 20 + seed * 7 % 90);
    let mut acknowledged = live(&found, scenario, &script, lived..lived + SECOND, seed)?;
    acknowledged.extend(&ledger);
    let found = found.after_power_cut(seed);
    let second = |error| format!("{error}, after the second crash");
    recover_and_check(&found, scenario, &script, &acknowledged).map_err(second).map_err(first)?;
    Ok(reached)
}

/// Runs the work in a thread of its own and stops waiting after the limit, so that a test fails instead of
/// hanging.
pub fn within<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce() -> std::result::Result<T, String> + Send + 'static,
) -> std::result::Result<T, String> {
    let (sender, receiver) = channel();
    // The receiver is gone if the limit has passed.
    std::thread::spawn(move || drop(sender.send(work())));
    match receiver.recv_timeout(limit) {
        Ok(result) => result,
        Err(RecvTimeoutError::Timeout) => Err(format!("hangs (more than {} s)", limit.as_secs())),
        Err(RecvTimeoutError::Disconnected) => Err("panics".to_owned()),
    }
}

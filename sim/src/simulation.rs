//! The whole engine from one seed: sessions, loggers, checkpoints, recoveries, backups, the disk, the clock,
//! and their faults, one thread at a time (`scheduler`).
//!
//! A run is several lives of one database. Each begins with a start, which may itself be cut short, and ends
//! with a stop, a power cut, a kill, or a disk that fails. Meanwhile sessions run list-append transactions
//! (`workload`), as statements and as calls, logged as commands or as data. Checkpoints may follow each
//! other, the wall clock may jump, and a log may hang. The requirements:
//!
//! 1. the history of all lives is serializable, or as good as its level says, with every acknowledged
//!    transaction in it and nothing lost that a client has seen (`serializability`);
//! 2. after each life, replay by running calls and replay by applying after-images give the same state, with
//!    one worker and with two, the first time and again;
//! 3. a backup of a database that has stopped is restored to the state that it had;
//! 4. a flipped bit in a database that has stopped is refused by the file's name, or changes nothing.
//!
//! Everything is drawn from the seed, which repeats a failure turn by turn. Striped logs, which use threads
//! of their own behind channels, and checkpoints with several writers are not covered.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyades_engine::backup::{Place as BackupPlace, PointInTime, back_up, restore};
use hyades_engine::config::{Config, ControlKind, RecoveryMode};
use hyades_engine::db::{Engine, Isolation, open};
use hyades_engine::disk::Disk;
use hyades_engine::recovery::{recover, state_hash};
use hyades_engine::storage::databases::Databases;
use hyades_types::Error;
use hyades_types::definition::IndexKind;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::client::create_tables;
use crate::crash::{Calls, Checkpoints, DATA, Laggard, Scenario};
use crate::disk::{Effect, FaultPlan, Place, PowerCut, SimulatedDisk};
use crate::history::Recorder;
use crate::routines::{create_routines, test_compiler};
use crate::scheduler::{Run, Scheduler};
use crate::serializability::explain;
use crate::threads;
use crate::workload::{self, judge, read_all};

/// Transactions of one session in a life.
const TRANSACTIONS: u32 = 25;
/// The most starts that are cut short one after the other.
const CUT_STARTS: u32 = 3;

/// What a run did.
#[derive(Clone, Debug, Default)]
pub struct Totals(pub BTreeMap<&'static str, u64>);

impl Totals {
    fn count(&mut self, what: &'static str, count: u64) {
        *self.0.entry(what).or_default() += count;
    }

    pub fn add(&mut self, other: &Totals) {
        for (what, count) in &other.0 {
            self.count(what, *count);
        }
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, count) in &self.0 {
            writeln!(f, "{count:>12} {what}")?;
        }
        Ok(())
    }
}

/// How a life ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Stop,
    PowerCut,
    /// A log hangs, and then the power fails.
    Blackout,
    Kill,
    Fault,
}

/// So many seeds have one concurrency control, and as many after them have the next one.
const SEEDS_OF_A_CONTROL: u64 = 1000;

/// A change to a configuration.
type Change = fn(&mut Config);

/// One run.
struct Simulation {
    scheduler: Arc<Scheduler>,
    random: StdRng,
    scenario: Scenario,
    disk: SimulatedDisk,
    recorder: Arc<Recorder>,
    totals: Totals,
    /// The number of bits that are flipped at the end.
    flips: u64,
}

/// Runs one seed, with `flips` flipped bits at its end.
///
/// # Errors
/// What is wrong, and how to reproduce it.
pub fn run(seed: u64, flips: u64) -> Result<(Run, Totals), String> {
    let mut random = StdRng::seed_from_u64(seed);
    let replays_by_position = seed.is_multiple_of(3);
    let chosen = choose_scenario(&mut random);
    // Most seeds have other protocols. Two of them log only data.
    let logs = 1 + seed as usize / 4 % 4;
    let other = match (seed % 8, chosen.calls) {
        (1 | 5, Calls::Never) => Scenario::silor(logs),
        (1 | 5, _) => Scenario::silor(logs).with(Calls::Data),
        (2 | 6, Calls::Never) => Scenario::plover(logs),
        (2 | 6, _) => Scenario::plover(logs).with(Calls::Data),
        (7, calls) => Scenario::taurus_graph(logs).with(calls).naming((seed / 8 % 4) as usize),
        _ => chosen,
    };
    let Scenario { protocol, logs, calls, predecessors, .. } = other;
    let control = ControlKind::ALL[(seed / SEEDS_OF_A_CONTROL % 3) as usize];
    let scenario = Scenario { replays_by_position, protocol, control, logs, calls, predecessors, ..chosen };
    let outcome = Scheduler::run(seed, move |scheduler| {
        let disk = SimulatedDisk::new(seed);
        let (recorder, totals) = (Arc::default(), Totals::default());
        let scheduler = Arc::clone(scheduler);
        let mut simulation = Simulation { scheduler, random, scenario, disk, recorder, totals, flips };
        simulation.work().map(|()| simulation.totals)
    });
    let again = format!("{scenario:?}; again: cargo xtask sim --seed {seed} --runs 1");
    match outcome {
        Ok((Ok(mut totals), run)) => {
            totals.count("runs", 1);
            totals.count("turns", run.turns);
            totals.count("simulated milliseconds", run.simulated_us / 1000);
            Ok((run, totals))
        }
        Ok((Err(wrong), run)) => Err(format!("{wrong}\nturn {}, {again}", run.turns)),
        Err(stuck) => Err(format!("{stuck}\n{again}")),
    }
}

fn choose_scenario(random: &mut StdRng) -> Scenario {
    let scenario = match random.random_range(0..6) {
        0 | 1 => Scenario::serial(),
        logs => Scenario::taurus(logs - 1),
    };
    let calls = [Calls::Never, Calls::Mixed, Calls::Mixed, Calls::Commands, Calls::Data];
    let isolations = [Isolation::Serializable, Isolation::RepeatableRead, Isolation::ReadCommitted];
    let mut scenario = scenario.with(calls[random.random_range(0..calls.len())]);
    if random.random_bool(0.5) {
        scenario = scenario.at(isolations[random.random_range(0..isolations.len())]);
    }
    if random.random_bool(0.3) {
        scenario = scenario.escalating();
    }
    if random.random_bool(0.5) {
        scenario = scenario.checkpointing();
    }
    if random.random_bool(0.5) { scenario.on_demand() } else { scenario }
}

fn named(what: &'static str) -> impl Fn(Error) -> String {
    move |error| format!("{what}: {error}")
}

impl Simulation {
    fn config(&self, disk: &SimulatedDisk) -> Config {
        Config { command_images: true, checkpoint_workers: 1, ..self.scenario.config(disk) }
    }

    fn work(&mut self) -> Result<(), String> {
        let engine = open(self.config(&self.disk), test_compiler()).map_err(named("does not open"))?;
        create_tables(&*engine, IndexKind::Ordered).map_err(named("cannot create tables"))?;
        create_routines(&*engine).map_err(named("cannot create routines"))?;
        engine.shutdown().map_err(named("does not stop"))?;
        drop(engine);
        let mut end = End::Stop;
        for number in 0..self.random.random_range(2..=4) {
            end = self.live(end, number)?;
            self.compare_replays()?;
        }
        let engine = self.start(end)?;
        read_all(&*engine, &self.recorder).map_err(named("cannot be read"))?;
        engine.shutdown().map_err(named("does not stop"))?;
        drop(engine);
        self.scheduler.note(self.disk.trace_hash());
        let history = self.recorder.history();
        self.totals.count("transactions", history.transactions.len() as u64);
        judge(&history, self.scenario.isolation).map_err(|anomalies| explain(&anomalies))?;
        self.flip_bits()
    }

    /// Starts the database, perhaps after starts that were cut short.
    fn start(&mut self, before: End) -> Result<Arc<dyn Engine>, String> {
        let mut is_after_crash = before != End::Stop;
        for _ in 0..CUT_STARTS {
            if self.random.random_bool(0.5) {
                break;
            }
            self.disk.crash_at(self.disk.operations() + self.random.random_range(0..40));
            let opened = open(self.config(&self.disk), test_compiler());
            self.totals.count("recoveries", 1);
            let has_crashed = self.disk.has_crashed();
            if let Err(error) = &opened
                && !has_crashed
            {
                return Err(format!("does not open: {error}"));
            }
            if let Ok(engine) = opened {
                // The power fails just after the start.
                self.disk.crash_now();
                drop(engine);
            }
            let what = match (has_crashed, is_after_crash) {
                (true, true) => "double crashes",
                (true, false) => "starts cut short",
                (false, _) => "power cuts",
            };
            self.totals.count(what, 1);
            is_after_crash = true;
            self.exchange(|disk, seed| disk.after_power_cut(seed));
        }
        self.totals.count("recoveries", 1);
        open(self.config(&self.disk), test_compiler()).map_err(named("does not open"))
    }

    /// Replaces the disk by the one that the next process finds.
    fn exchange(&mut self, next: impl FnOnce(&SimulatedDisk, u64) -> SimulatedDisk) {
        self.scheduler.note(self.disk.trace_hash());
        let seed = self.random.random();
        self.disk = next(&self.disk, seed);
    }

    /// Runs one life, and returns how it ended.
    fn live(&mut self, before: End, number: u64) -> Result<End, String> {
        let engine = self.start(before)?;
        read_all(&*engine, &self.recorder).map_err(named("cannot be read"))?;
        const ENDS: [End; 6] =
            [End::Stop, End::PowerCut, End::PowerCut, End::Blackout, End::Kill, End::Fault];
        let end = ENDS[self.random.random_range(0..ENDS.len())];
        self.plan(end);
        let checkpoints = self.scenario.takes_checkpoints.then(|| Checkpoints::start(&engine, &self.disk));
        let is_held_back = end != End::Blackout && self.random.random_bool(0.4);
        let laggard = is_held_back.then(|| {
            let seed = self.random.random();
            Laggard::start(&self.disk, self.scenario.places(), seed)
        });
        let jumper = self.random.random_bool(0.3).then(|| self.start_jumper());
        let blackout = (end == End::Blackout).then(|| self.start_blackout());
        let seed = self.random.random_range(0..1 << 40);
        let (calls, isolation) = (self.scenario.calls, self.scenario.isolation);
        workload::run(&engine, &self.recorder, TRANSACTIONS, (calls, isolation), seed);
        drop(laggard);
        if let Some(blackout) = blackout {
            blackout.join();
        }
        if let Some((stop, jumper)) = jumper {
            stop.store(true, Ordering::Release);
            self.totals.count("jumps of the clock", jumper.join().unwrap_or(0));
        }
        if let Some(checkpoints) = checkpoints {
            let taken = checkpoints.stop();
            match taken {
                Ok(taken) => self.totals.count("checkpoints", taken),
                Err(_) if end == End::Fault => self.totals.count("checkpoints that failed", 1),
                Err(error) => return Err(format!("takes no checkpoint: {error}")),
            }
        }
        self.end(engine, end, number)
    }

    /// Prepares the planned end of the life.
    fn plan(&mut self, end: End) {
        let share = if self.scenario.takes_checkpoints { 4 } else { 1 };
        match end {
            End::Stop | End::Blackout => {}
            End::PowerCut | End::Kill => {
                let within = self.random.random_range(1..150 * share);
                self.disk.crash_at(self.disk.operations() + within);
            }
            End::Fault => {
                const PLACES: [Place; 5] = [
                    Place::LogBlock,
                    Place::SegmentPreparation,
                    Place::CheckpointFile,
                    Place::Manifest,
                    Place::SegmentRemoval,
                ];
                const EFFECTS: [(Effect, &str); 4] = [
                    (Effect::Error(5), "EIO once"),
                    (Effect::Error(28), "ENOSPC once"),
                    (Effect::Error(5), "EIO for ever"),
                    (Effect::Error(28), "ENOSPC for ever"),
                ];
                let place = PLACES[self.random.random_range(0..PLACES.len())];
                let chosen = self.random.random_range(0..EFFECTS.len());
                let (effect, what) = EFFECTS[chosen];
                let skip = self.random.random_range(0..20);
                let is_for_ever = chosen >= 2;
                self.disk.plan_fault(Some(FaultPlan { place, operation: None, effect, skip, is_for_ever }));
                self.totals.count(what, 1);
            }
        }
    }

    /// At some time one log stops, while the others go on for a while.
    fn start_blackout(&mut self) -> threads::Handle<()> {
        let places = self.scenario.places();
        let place = places[self.random.random_range(0..places.len())].clone();
        let disk = self.disk.clone();
        let until = Duration::from_micros(self.random.random_range(0..10_000));
        let rest = Duration::from_micros(self.random.random_range(0..4000));
        threads::spawn("blackout", move || {
            threads::sleep(until);
            disk.hold_writes_under(Some(&place));
            threads::sleep(rest);
            disk.crash_now();
        })
    }

    fn start_jumper(&mut self) -> (Arc<AtomicBool>, threads::Handle<u64>) {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, scheduler) = (Arc::clone(&stop), Arc::clone(&self.scheduler));
        let mut random = StdRng::seed_from_u64(self.random.random());
        let jump = move || {
            let mut jumps = 0;
            while !stopped.load(Ordering::Acquire) {
                scheduler.jump(random.random_range(-1_000_000_000_000..1_000_000_000_000));
                jumps += 1;
                threads::sleep(Duration::from_micros(random.random_range(100..5000)));
            }
            jumps
        };
        (stop, threads::spawn("clock", jump))
    }

    /// Ends the life as planned, and returns how it really ended.
    fn end(&mut self, engine: Arc<dyn Engine>, planned: End, number: u64) -> Result<End, String> {
        let stopped = engine.shutdown();
        drop(engine);
        self.disk.plan_fault(None);
        if self.disk.has_crashed() {
            if planned == End::Kill {
                self.totals.count("kills", 1);
                self.exchange(SimulatedDisk::after_process_kill);
            } else {
                self.totals.count("power cuts", 1);
                self.exchange(SimulatedDisk::after_power_cut);
            }
            return Ok(planned);
        }
        match stopped {
            Ok(()) => {
                self.totals.count("stops", 1);
                self.exchange(|disk, _| disk.after(PowerCut::LoseUnsynced));
                self.check_backup(number)?;
                Ok(End::Stop)
            }
            Err(_) if planned == End::Fault => {
                self.totals.count("ends by a failing disk", 1);
                self.exchange(SimulatedDisk::after_power_cut);
                Ok(End::Fault)
            }
            // The planned crash has not come in time, and there was no other.
            Err(error) => Err(format!("does not stop: {error}")),
        }
    }

    /// The hash of the state that a recovery finds.
    fn recovered(&mut self, disk: &SimulatedDisk, change: impl FnOnce(&mut Config)) -> Result<u64, String> {
        let mut config = self.config(disk);
        change(&mut config);
        let databases = Arc::new(Databases::new());
        self.totals.count("recoveries", 1);
        recover(&config, test_compiler(), &databases).map_err(named("does not recover"))?;
        state_hash(&databases).map_err(|error| format!("cannot be read: {error}"))
    }

    /// Checks that calls and after-images, with one worker and with two, give one state.
    fn compare_replays(&mut self) -> Result<(), String> {
        let disk = self.disk.after(PowerCut::KeepUnsynced);
        let by_calls = self.recovered(&disk, |config| config.recovery_workers = 1)?;
        let others: [(&str, Change); 4] = [
            ("in the other order", |config| config.replays_by_position = !config.replays_by_position),
            ("by two workers", |config| {
                (config.recovery_workers, config.recovery_mode) = (2, RecoveryMode::Parallel)
            }),
            ("of after-images", |config| (config.recovery_workers, config.replay_images) = (1, true)),
            ("of after-images by two workers", |config| {
                (config.recovery_workers, config.replay_images) = (2, true)
            }),
        ];
        for (what, change) in others {
            let found = self.recovered(&disk, change)?;
            if found != by_calls {
                return Err(format!("a replay {what} gives another state than one of calls by one worker"));
            }
        }
        Ok(())
    }

    /// Checks that a backup of the stopped database is restored to the same state.
    fn check_backup(&mut self, number: u64) -> Result<(), String> {
        if !self.random.random_bool(0.5) {
            return Ok(());
        }
        let shared: Arc<dyn Disk> = Arc::new(self.disk.clone());
        let target = format!("/restored-{number}");
        let place = |directory| BackupPlace::new(&shared, Path::new(directory));
        back_up(place(DATA), place("/backup")).map_err(named("no backup"))?;
        restore(place("/backup"), place(&target), PointInTime::End).map_err(named("no restore"))?;
        let disk = self.disk.clone();
        let original = self.recovered(&disk, |_| {})?;
        let restored = self.recovered(&disk, |config| config.data_directory = target.into())?;
        self.totals.count("backups restored", 1);
        if original == restored { Ok(()) } else { Err("a backup is restored to another state".to_owned()) }
    }

    /// Flips written bits one by one, and recovers after each.
    fn flip_bits(&mut self) -> Result<(), String> {
        let disk = self.disk.after(PowerCut::LoseUnsynced);
        let one_worker = |config: &mut Config| config.recovery_workers = 1;
        let whole = self.recovered(&disk, one_worker)?;
        let files: Vec<_> = disk
            .paths()
            .into_iter()
            .filter(|path| path.starts_with(DATA))
            .filter_map(|path| {
                let used = disk.content(&path).ok()?.iter().rposition(|byte| *byte != 0)? + 1;
                Some((path, used as u64))
            })
            .collect();
        for _ in 0..self.flips {
            let (path, used) = &files[self.random.random_range(0..files.len())];
            let (offset, bit) = (self.random.random_range(0..*used), self.random.random_range(0..8));
            let flip = || disk.flip_bit(path, offset, bit).map_err(|error| error.to_string());
            flip()?;
            self.totals.count("flipped bits", 1);
            let place = format!("bit {bit} of byte {offset} of {}", path.display());
            match self.recovered(&disk, one_worker) {
                Ok(found) if found == whole => self.totals.count("flipped bits without harm", 1),
                Ok(_) => return Err(format!("{place}: other data is found")),
                Err(message) if message.contains(DATA) => {
                    self.totals.count("flipped bits refused by file", 1)
                }
                Err(message) => return Err(format!("{place}: no file is named: {message}")),
            }
            flip()?;
        }
        Ok(())
    }
}

//! Conformance: every protocol, with each number of logs, each kind of logging and each concurrency control,
//! passes the same checks, or is refused with a sentence.
//!
//! A *cell* is one combination. It is green if
//! * the power fails at operations of a script, in a restart and after new work, and each time everything
//!   acknowledged is there, and what is there is closed under dependencies (`crash`);
//! * histories with two crashes have no anomaly that their isolation level does not permit (`workload`);
//! * the live state, every way to replay the logs, a restart on demand and a restored backup are one state.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hyades_engine::backup::{Place, PointInTime, back_up, restore};
use hyades_engine::config::{Config, ControlKind, ProtocolKind, RestartMode};
use hyades_engine::db::{Isolation, open};
use hyades_engine::disk::Disk;
use hyades_engine::protocol::list::why_no_commands;
use hyades_engine::recovery::{recover, tables_hash};
use hyades_engine::storage::databases::Databases;
use hyades_types::definition::IndexKind;

use crate::client::create_tables;
use crate::crash::{Calls, DATA, FIRST, Life, Scenario, script, take_checkpoint, try_point, within};
use crate::disk::{PowerCut, SimulatedDisk};
use crate::history::Recorder;
use crate::routines::{create_routines, test_compiler};
use crate::serializability::explain;
use crate::workload;

/// Longer than any check takes.
const LIMIT: Duration = Duration::from_secs(120);
/// Crash points are tried until so many lives have ended by themselves.
const BEYOND: usize = 3;
const LEVELS: [Isolation; 3] = [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable];

/// A protocol with so many logs, a concurrency control, and a kind of logging.
#[derive(Clone, Debug)]
pub struct Cell {
    pub protocol: String,
    pub control: ControlKind,
    pub logging: &'static str,
    /// The sentence with which a start refuses it.
    scenario: Result<Scenario, String>,
}

/// How much is tried in each cell.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// One crash point in so many.
    pub stride: u64,
    /// Histories at each isolation level.
    pub histories: u64,
}

/// What was tried in a green cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub crash_points: u64,
    pub transactions: u64,
    /// Ways to the same state.
    pub states: u64,
}

#[derive(Clone, Debug)]
pub enum Verdict {
    Green(Counts),
    Refused(String),
    Wrong(String),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Green(Counts { crash_points, transactions, states }) => write!(
                f,
                "green: {crash_points} crash points, {transactions} transactions in histories, {states} ways to one state"
            ),
            Verdict::Refused(sentence) => write!(f, "refused: {sentence}"),
            Verdict::Wrong(wrong) => write!(f, "WRONG: {wrong}"),
        }
    }
}

/// All cells.
pub fn cells() -> Vec<Cell> {
    let of_logs = |name: &str, logs: &[usize], scenario: fn(usize) -> Scenario| {
        let named = |logs: &usize| (format!("{name}, {logs} logs"), scenario(*logs));
        logs.iter().map(named).collect::<Vec<_>>()
    };
    let none = Scenario { protocol: ProtocolKind::None, ..Scenario::taurus(1) };
    let mut protocols = vec![
        ("none".to_owned(), none),
        ("serial".to_owned(), Scenario::serial()),
        ("serial, 4 stripes".to_owned(), Scenario::striped(4)),
    ];
    protocols.extend(of_logs("taurus", &[1, 2, 8, 64], Scenario::taurus));
    protocols.extend(of_logs("taurus_graph", &[1, 2, 8], Scenario::taurus_graph));
    protocols.extend(of_logs("silor", &[1, 2, 8], Scenario::silor));
    protocols.extend(of_logs("plover", &[1, 2, 8], Scenario::plover));
    let kinds = [("data", Calls::Data), ("command", Calls::Commands), ("mixed", Calls::Mixed)];
    let cell = |control: ControlKind, (protocol, scenario): &(String, Scenario)| {
        kinds.map(|(logging, calls)| {
            let refused = why_no_commands(scenario.protocol).filter(|_| calls != Calls::Data);
            let scenario = refused.map_or(Ok(scenario.under(control).with(calls)), Err);
            Cell { protocol: protocol.clone(), control, logging, scenario }
        })
    };
    let under = |control| protocols.iter().flat_map(move |protocol| cell(control, protocol));
    ControlKind::ALL.into_iter().flat_map(under).collect()
}

impl Cell {
    /// Tries it.
    pub fn judge(&self, extent: Extent) -> Verdict {
        let scenario = match &self.scenario {
            Ok(scenario) => *scenario,
            Err(sentence) => return Verdict::Refused(sentence.clone()),
        };
        let tried = match scenario.protocol {
            ProtocolKind::None => without_log(scenario, extent),
            _ => with_logs(scenario, extent),
        };
        tried.map_or_else(Verdict::Wrong, Verdict::Green)
    }
}

fn with_logs(scenario: Scenario, extent: Extent) -> Result<Counts, String> {
    let crash_points = crash_points(scenario, extent.stride)?;
    let mut transactions = 0;
    for isolation in LEVELS {
        let scenario = scenario.at(isolation);
        for seed in 0..extent.histories {
            // Every second one takes checkpoints, and the other restarts on demand.
            let scenario = if seed % 2 == 0 { scenario.checkpointing() } else { scenario.on_demand() };
            let run = move || workload::crash_twice_within(scenario, (400, 120), seed);
            let (_, count) =
                within(LIMIT, run).map_err(|wrong| format!("{isolation:?}, seed {seed}: {wrong}"))?;
            transactions += count as u64;
        }
    }
    let states = within(LIMIT, move || one_state(scenario))?;
    Ok(Counts { crash_points, transactions, states })
}

/// Lives of a script in which the power fails, at one operation in so many.
fn crash_points(scenario: Scenario, stride: u64) -> Result<u64, String> {
    let (mut beyond, mut point, mut tried) = (0, 1, 0);
    while beyond < BEYOND {
        let script = script(scenario.logs as u64);
        let outcome = within(LIMIT, move || try_point(scenario, &script, point));
        let has_reached = outcome.map_err(|wrong| format!("crash point {point}: {wrong}"))?;
        beyond = if has_reached { 0 } else { beyond + 1 };
        tried += 1;
        // Not all at the same distance: operations come in groups.
        point += 1 + point.wrapping_mul(0x9E37_79B9_7F4A_7C15) % (2 * stride - 1);
    }
    Ok(tried)
}

/// Every way to the state of a database whose process was killed. Returns how many there are.
fn one_state(scenario: Scenario) -> Result<u64, String> {
    let text = |error: hyades_types::Error| error.to_string();
    let disk = SimulatedDisk::new(1);
    let engine = scenario.open(&disk).map_err(text)?;
    let script = script(1);
    let mut life = Life::begin_with(&*engine, 1, scenario.calls).map_err(text)?;
    life.run(&script, 0..FIRST).map_err(text)?;
    take_checkpoint(&*engine).map_err(text)?;
    life.run(&script, FIRST..script.transactions.len()).map_err(text)?;
    life.acknowledged();
    let live = tables_hash(&engine.tables()).map_err(text)?;
    let killed = disk.after(PowerCut::KeepUnsynced);
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    back_up(Place::new(&shared, Path::new(DATA)), Place::new(&shared, Path::new("/backup"))).map_err(text)?;
    restore(
        Place::new(&shared, Path::new("/backup")),
        Place::new(&shared, Path::new("/restored")),
        PointInTime::End,
    )
    .map_err(text)?;
    engine.shutdown().map_err(text)?;
    drop(engine);

    let config = scenario.config(&killed);
    let ways = [
        ("one worker", Config { recovery_workers: 1, ..config.clone() }),
        ("two workers", config.clone()),
        ("in the order of the paper", Config { replays_by_position: true, ..config.clone() }),
        ("without the checkpoint", Config { previous_checkpoint: true, ..config.clone() }),
        ("a restored backup", Config { data_directory: "/restored".into(), ..scenario.config(&disk) }),
        ("after a clean stop", scenario.config(&disk)),
    ];
    let mut count = 0;
    for (way, config) in ways {
        let databases = Arc::new(Databases::new());
        recover(&config, test_compiler(), &databases).map_err(|error| format!("{way}: {error}"))?;
        if tables_hash(&databases.tables()).map_err(text)? != live {
            return Err(format!("{way}: another state"));
        }
        count += 1;
    }
    let on_demand = Config { restart: RestartMode::OnDemand, ..config };
    let engine = open(on_demand, test_compiler()).map_err(|error| format!("on demand: {error}"))?;
    engine.shutdown().map_err(text)?;
    drop(engine);
    let databases = Arc::new(Databases::new());
    recover(&scenario.config(&killed), test_compiler(), &databases).map_err(text)?;
    match tables_hash(&databases.tables()).map_err(text)? == live {
        true => Ok(count + 1),
        false => Err("after a restart on demand: another state".to_owned()),
    }
}

/// Histories without a crash.
fn without_log(scenario: Scenario, extent: Extent) -> Result<Counts, String> {
    let mut counts = Counts::default();
    for isolation in LEVELS {
        for seed in 0..extent.histories {
            let run = move || {
                let text = |error: hyades_types::Error| error.to_string();
                let engine = scenario.open(&SimulatedDisk::new(seed)).map_err(text)?;
                create_tables(&*engine, IndexKind::Ordered).map_err(text)?;
                create_routines(&*engine).map_err(text)?;
                let recorder = Arc::new(Recorder::default());
                workload::run(&engine, &recorder, 100, (Calls::Never, isolation), seed);
                let history = recorder.history();
                workload::judge(&history, isolation).map_err(|anomalies| explain(&anomalies))?;
                Ok(history.transactions.len() as u64)
            };
            counts.transactions += within(LIMIT, run)?;
        }
    }
    Ok(counts)
}

//! A study of the replay of a database's logs: how long it takes, measured, and how long it would take with
//! other numbers of workers, simulated (`simulated_time`).
//!
//! Each run restores the database in memory, with all but the last incarnation that has logs replayed as
//! always. The replay of that one is measured, or simulated. Both really replay, so all runs must end in the
//! same state.
//!
//! What a run with one or two workers is measured to take says how far the simulation is off. Beyond that it
//! is a model: of the schedule, exactly; of the machine, as far as `simulated_time` says.

mod crossing;

use std::sync::Arc;

use hyades_types::error::{Error, Result, sqlstate};

use super::incarnation::{ToReplay, replay_incarnation};
use super::replay::Installer;
use super::scope::Scope;
use super::simulated_time::Clock;
use super::{Attempt, Failure, Restart, bytes_total, installer, log_bytes, state_hash};
use super::{by_key, schedule};
use crate::config::{Config, RecoveryMode};
use crate::log::manifest::{Incarnation, Manifest};
use crate::procedure::compiled_routine::RoutineCompiler;
use crate::storage::databases::Databases;
use crate::storage::free_dropped;

pub use super::simulated_time::{CrossingCosts, Doing, Simulated, Spent};

/// What is studied.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Numbers of workers that are simulated.
    pub simulated: Vec<usize>,
    /// Numbers of workers that are measured. Not more than the machine has processors.
    pub measured: Vec<usize>,
    /// How often each is done, in turns.
    pub rounds: usize,
}

/// The order in which changes are replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Those of each key in the order of commit times, as far as the logs allow that; the rest by positions.
    ByKey,
    /// Each log record after those that its LSN vector names.
    ByPosition,
}

impl Way {
    pub fn name(self) -> &'static str {
        match self {
            Way::ByKey => "key by key",
            Way::ByPosition => "by positions",
        }
    }
}

/// A replay that was measured, by the monotonic clock and in processor time of all its workers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    pub workers: usize,
    pub seconds: f64,
    pub processor_seconds: f64,
}

/// All runs of one way.
#[derive(Clone, Debug, PartialEq)]
pub struct Studied {
    pub way: Way,
    /// How many transactions were replayed key by key; the others were left to the schedule by positions.
    pub by_key: u64,
    pub simulated: Vec<Simulated>,
    pub measured: Vec<Measured>,
}

/// What a study has found.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// The number of the incarnation whose replay was studied.
    pub incarnation: u64,
    pub protocol: String,
    pub logs: usize,
    pub transactions: u64,
    pub log_bytes: u64,
    /// Measured on this machine.
    pub costs: CrossingCosts,
    pub studied: Vec<Studied>,
    /// Of the state that every run has ended in.
    pub state_hash: u64,
}

/// Studies the replay of a database that no process has open. Nothing is written.
///
/// # Errors
/// Those of [`super::recover`]; a database without logs; runs that end in different states.
pub fn study(
    config: &Config,
    compiler: &Arc<dyn RoutineCompiler>,
    plan: &Plan,
    mut on_progress: impl FnMut(&str),
) -> Result<Study> {
    let mut study = Study {
        incarnation: 0,
        protocol: String::new(),
        logs: 0,
        transactions: 0,
        log_bytes: 0,
        costs: crossing::measure()?,
        studied: Vec::new(),
        state_hash: 0,
    };
    for way in [Way::ByKey, Way::ByPosition] {
        let config = Config {
            replays_by_position: way == Way::ByPosition,
            recovery_mode: RecoveryMode::Parallel,
            ..config.clone()
        };
        let mut studied = Studied { way, by_key: 0, simulated: Vec::new(), measured: Vec::new() };
        for round in 0..plan.rounds.max(1) {
            for workers in &plan.measured {
                on_progress(&format!("{}, {workers} workers, measured, round {}", way.name(), round + 1));
                let run = Run { config: &config, compiler, workers: *workers };
                studied.measured.push(run.measure(&mut study)?);
            }
            for workers in &plan.simulated {
                on_progress(&format!("{}, {workers} workers, simulated, round {}", way.name(), round + 1));
                let run = Run { config: &config, compiler, workers: *workers };
                let (by_key, simulated) = run.simulate(&mut study)?;
                studied.by_key = by_key;
                studied.simulated.push(simulated);
            }
        }
        let by_key = studied.by_key;
        study.studied.push(studied);
        // Otherwise the second way is the first one.
        if by_key * 2 < study.transactions || study.logs == 1 {
            break;
        }
    }
    Ok(study)
}

/// One restoration.
struct Run<'r> {
    config: &'r Config,
    compiler: &'r Arc<dyn RoutineCompiler>,
    workers: usize,
}

impl Run<'_> {
    fn measure(&self, study: &mut Study) -> Result<Measured> {
        self.restore(study, |to_replay, installer| {
            let (begun, begun_processor) = (crate::sync::now(), crate::sync::process_time());
            let replayed = replay_incarnation(self.config, to_replay, installer)?;
            let processor_time = crate::sync::process_time().saturating_sub(begun_processor);
            let measured = Measured {
                workers: self.workers,
                seconds: crate::sync::seconds_since(begun),
                processor_seconds: processor_time.as_secs_f64(),
            };
            Ok((replayed.transactions, measured))
        })
    }

    /// Returns also how many transactions were replayed key by key.
    fn simulate(&self, study: &mut Study) -> Result<(u64, Simulated)> {
        let costs = study.costs;
        self.restore(study, |to_replay, installer| {
            let (mut clock, beginning) = (Clock::new(), to_replay.beginning());
            let mut before = (0, None);
            let beginning = match self.config.replays_by_position {
                true => beginning,
                false => {
                    let (sources, options) = to_replay.by_key(self.config)?;
                    let (replayed, simulated) =
                        by_key::simulated::simulate(sources, &*installer, options, &mut clock, costs)?;
                    let by_key::Replayed { transactions, rest } = replayed;
                    let Some(rest) = rest else { return Ok((transactions, (transactions, simulated))) };
                    before = (transactions, Some(simulated));
                    to_replay.beginning_of(rest, options.numbering)
                }
            };
            let (sources, options) = to_replay.by_position(self.config, &beginning)?;
            let (rest, simulated) =
                schedule::simulated::simulate(sources, installer, options, &mut clock, costs)?;
            let (by_key, before) = before;
            let simulated = before.map_or(simulated.clone(), |before| before.then(&simulated));
            Ok((by_key + rest.transactions, (by_key, simulated)))
        })
    }

    /// Restores the database in memory, with a replay of the last incarnation that has logs. The replay
    /// returns how many transactions it has replayed.
    fn restore<T>(
        &self,
        study: &mut Study,
        replay: impl FnOnce(&ToReplay<'_>, Arc<Installer>) -> Result<(u64, T)>,
    ) -> Result<T> {
        // The database of the run before.
        free_dropped();
        let databases = Arc::new(Databases::new());
        let compiler = Some(Arc::clone(self.compiler));
        let begun = Restart::begin(self.config, compiler.clone(), &databases, Attempt::WithEverything);
        let mut restart = begun.map_err(Failure::into_error)?;
        restart.finish_load().map_err(Failure::into_error)?;
        let Restart { manifest, report, started, .. } = &restart;
        let studied = studied_incarnation(manifest)?;
        let mut replay = Some(replay);
        let mut outcome = None;
        for incarnation in manifest.to_replay() {
            let bytes_total = bytes_total(manifest);
            let compiler = compiler.as_ref();
            let installer =
                installer(self.config, compiler, &databases, incarnation, report, bytes_total, *started);
            let installer = Arc::new(installer);
            let versions = Arc::clone(&installer.versions);
            let scope = Arc::new(Scope::of_ended(incarnation));
            let workers = self.workers;
            let to_replay = ToReplay { manifest, incarnation, scope, workers, is_salvage: false };
            match replay.take_if(|_| incarnation.number == studied.number) {
                Some(replay) => outcome = Some(replay(&to_replay, installer)?),
                None => {
                    replay_incarnation(self.config, &to_replay, installer)?;
                }
            }
            versions.finish();
        }
        let has_any = |(transactions, _): &(u64, _)| *transactions > 0;
        let Some((transactions, outcome)) = outcome.filter(has_any) else { return Err(nothing_to_study()) };
        study.note_run(studied, log_bytes_of(manifest, studied), transactions, state_hash(&databases)?)?;
        Ok(outcome)
    }
}

impl Study {
    /// # Errors
    /// The run has not come to what those before it have come to.
    fn note_run(
        &mut self,
        incarnation: &Incarnation,
        log_bytes: u64,
        transactions: u64,
        state_hash: u64,
    ) -> Result<()> {
        if self.transactions > 0 && (self.transactions, self.state_hash) != (transactions, state_hash) {
            let message = "two replays of the same logs have ended in different states";
            return Err(Error::fatal(sqlstate::INTERNAL_ERROR, message));
        }
        (self.incarnation, self.logs) = (incarnation.number, incarnation.logs);
        self.protocol.clone_from(&incarnation.protocol);
        (self.log_bytes, self.transactions, self.state_hash) = (log_bytes, transactions, state_hash);
        Ok(())
    }
}

fn log_bytes_of(manifest: &Manifest, incarnation: &Incarnation) -> u64 {
    let end = incarnation.frozen_end();
    end.map_or(0, |end| log_bytes(&manifest.replay_from(incarnation), &end))
}

fn studied_incarnation(manifest: &Manifest) -> Result<&Incarnation> {
    let with_logs = manifest.to_replay().filter(|incarnation| log_bytes_of(manifest, incarnation) > 0);
    with_logs.last().ok_or_else(nothing_to_study)
}

fn nothing_to_study() -> Error {
    let message = "the logs of the database hold nothing to replay";
    Error::input(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
}

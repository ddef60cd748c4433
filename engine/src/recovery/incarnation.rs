//! Replay of the logs of one incarnation: key by key as far as that goes, and the rest, if there is one, in
//! the order in which its records follow each other.

use std::ops::Range;
use std::sync::Arc;

use hyades_types::definition::TableId;
use hyades_types::error::Result;

use super::by_key::{self, ByKeyOptions, Numbering, ReplayByKey, Rest};
use super::extent_source::ExtentSource;
use super::extents::{Extent, Extents};
use super::records::{ReplayedUpTo, Walk};
use super::replay_source::{BatchLimits, ReplaySource, SourceOptions};
use super::schedule::{self, Grain, Replay, Replayed, ScheduleOptions};
use super::scope::Scope;
use crate::config::Config;
use crate::log::manifest::{Incarnation, Manifest};
use crate::log::places::log_set;
use crate::log::set::LogSet;
use crate::lsn::Lsn;
use crate::protocol::Order;
use crate::protocol::list::recovery;

/// An incarnation of the manifest, and which of its log records count.
pub(super) struct ToReplay<'a> {
    pub(super) manifest: &'a Manifest,
    pub(super) incarnation: &'a Incarnation,
    pub(super) scope: Arc<Scope>,
    pub(super) workers: usize,
    /// What comes after the ends of the logs may be damaged, and is not read.
    pub(super) is_salvage: bool,
}

/// All logs, each with the positions that are replayed. A log has no source if a salvage keeps nothing of it.
pub(super) type Sources = Vec<(Option<ReplaySource>, Range<u64>)>;

/// Where the logs are read from.
pub(super) struct Beginning {
    from: Vec<u64>,
    /// These transactions have been replayed.
    replayed: Option<ReplayedUpTo>,
    /// Everything else has a later time.
    after: u64,
}

impl ToReplay<'_> {
    pub(super) fn beginning(&self) -> Beginning {
        let from = self.manifest.replay_from(self.incarnation);
        let checkpoint = self.manifest.checkpoint_of(self.incarnation);
        let after = checkpoint.and_then(|checkpoint| checkpoint.time).unwrap_or(0);
        Beginning { from: from.entries().to_vec(), replayed: None, after }
    }

    /// What a replay key by key begins with.
    pub(super) fn by_key(&self, config: &Config) -> Result<(Sources, ByKeyOptions)> {
        let beginning = self.beginning();
        let sources = self.sources(config, &beginning, BatchLimits::for_by_key())?;
        Ok((sources, self.by_key_options(&beginning)?))
    }

    /// How the records are numbered, and from where on.
    fn by_key_options(&self, beginning: &Beginning) -> Result<ByKeyOptions> {
        let (numbering, after) = match self.order()? {
            Order::Total => (Numbering::Place, beginning.from.first().copied().unwrap_or(0)),
            Order::Positions | Order::Times => (Numbering::Time, beginning.after),
        };
        let is_all = self.order()? == Order::Times;
        Ok(ByKeyOptions { workers: self.workers, numbering, after, is_all })
    }

    /// What a replay by positions begins with.
    pub(super) fn by_position(
        &self,
        config: &Config,
        beginning: &Beginning,
    ) -> Result<(Sources, ScheduleOptions)> {
        let is_total = self.order()? == Order::Total;
        let (mode, after) = (config.recovery_mode, beginning.after);
        let options = ScheduleOptions { workers: self.workers, mode, is_total, after };
        Ok((self.sources_of_schedule(config, beginning)?, options))
    }

    /// Where what is left begins.
    pub(super) fn beginning_of(&self, Rest { from, replayed }: Rest, numbering: Numbering) -> Beginning {
        match numbering {
            Numbering::Time => {
                Beginning { from, replayed: Some(ReplayedUpTo::Time(replayed)), after: replayed }
            }
            Numbering::Place => {
                let after = self.beginning().after;
                Beginning { from, replayed: Some(ReplayedUpTo::Place(Lsn(replayed))), after }
            }
        }
    }

    fn order(&self) -> Result<Order> {
        Ok(recovery(&self.incarnation.protocol, self.incarnation.logs)?.order())
    }

    /// All logs, for the schedule.
    pub(super) fn sources_of_schedule(&self, config: &Config, beginning: &Beginning) -> Result<Sources> {
        self.sources(config, beginning, BatchLimits::for_schedule(Grain::of(self.workers)))
    }

    fn sources(&self, config: &Config, beginning: &Beginning, limits: BatchLimits) -> Result<Sources> {
        let sources = beginning.from.iter().enumerate().map(|(log, start)| {
            let end = self.scope.end.get(log);
            let source = self.source(config, (log, Lsn(*start)), beginning.replayed, limits)?;
            Ok((source, *start..end.0.max(*start)))
        });
        // Bounded: one for each log.
        sources.collect()
    }

    fn source(
        &self,
        config: &Config,
        (log, start): (usize, Lsn),
        replayed: Option<ReplayedUpTo>,
        limits: BatchLimits,
    ) -> Result<Option<ReplaySource>> {
        let ToReplay { manifest, incarnation, scope, .. } = self;
        if self.is_salvage && scope.end.get(log) == Lsn::ZERO {
            return Ok(None);
        }
        let mut reader = log_set(config, manifest, incarnation).source(log, start)?;
        if self.is_salvage {
            reader.stop_at(scope.end.get(log));
        }
        let options = SourceOptions {
            log,
            scope: Arc::clone(scope),
            limits,
            start,
            checkpoint: manifest.checkpoint_of(incarnation).cloned().map(Arc::new),
            replayed,
            was_judged: manifest
                .incarnations
                .last()
                .is_some_and(|newest| newest.number != incarnation.number),
        };
        Ok(Some(ReplaySource::new(reader, Walk::new(incarnation, log)?, options)))
    }
}

/// A log, and the positions of it that are replayed.
type Placed<S> = (S, Range<u64>);

/// Parts of the logs of an incarnation as sources, and how their records are numbered. `extents`: what is
/// known of all incarnations, and the place of this one among them. `choose` says which parts.
pub(super) fn extent_sources(
    config: &Config,
    to_replay: &ToReplay<'_>,
    (extents, place): (&Arc<Vec<Vec<Extents>>>, usize),
    choose: impl Fn(&Extents) -> Vec<Extent>,
) -> Result<(Vec<Placed<ExtentSource>>, ByKeyOptions)> {
    let ToReplay { manifest, incarnation, .. } = *to_replay;
    let beginning = to_replay.beginning();
    let options = to_replay.by_key_options(&beginning)?;
    let recovery = recovery(&incarnation.protocol, incarnation.logs)?;
    let set: Arc<dyn LogSet> = Arc::from(log_set(config, manifest, incarnation));
    let checkpoint = manifest.checkpoint_of(incarnation).cloned().map(Arc::new);
    let source = |(log, start): (usize, &u64)| {
        let positions = *start..to_replay.scope.end.get(log).0.max(*start);
        let source = ExtentSource {
            set: Arc::clone(&set),
            log,
            positions: positions.clone(),
            extents: Arc::clone(extents),
            place,
            wanted: choose(&extents[place][log]).into(),
            has_begun: false,
            fields: recovery.reader(),
            checkpoint: checkpoint.clone(),
        };
        (source, positions)
    };
    // Bounded: one for each log.
    Ok((beginning.from.iter().enumerate().map(source).collect(), options))
}

/// Replays of an incarnation what lies in the extents of some tables. The replay takes no other tables.
pub(super) fn replay_extents<R: ReplayByKey>(
    config: &Config,
    to_replay: &ToReplay<'_>,
    extents: (&Arc<Vec<Vec<Extents>>>, usize),
    takes: impl Fn(TableId) -> bool,
    replay: Arc<R>,
) -> Result<Replayed> {
    let choose = |extents: &Extents| extents.of_tables(&takes);
    let (sources, options) = extent_sources(config, to_replay, extents, choose)?;
    let by_key::Replayed { transactions, rest } = by_key::run(sources, Arc::clone(&replay), options)?;
    match rest {
        None => Ok(Replayed { transactions, was_serial: false }),
        Some(rest) => replay_rest(config, to_replay, replay, (transactions, rest), options.numbering),
    }
}

/// Replays an incarnation after those before it.
pub(super) fn replay_incarnation<R: ReplayByKey>(
    config: &Config,
    to_replay: &ToReplay<'_>,
    replay: Arc<R>,
) -> Result<Replayed> {
    if config.replays_by_position && to_replay.order()? != Order::Times {
        return replay_by_schedule(config, to_replay, replay);
    }
    let (sources, options) = to_replay.by_key(config)?;
    let by_key::Replayed { transactions, rest } = by_key::run(sources, Arc::clone(&replay), options)?;
    match rest {
        None => Ok(Replayed { transactions, was_serial: false }),
        Some(rest) => replay_rest(config, to_replay, replay, (transactions, rest), options.numbering),
    }
}

/// Leaves to the schedule what a replay by key has left, which has replayed so many transactions.
fn replay_rest<R: Replay>(
    config: &Config,
    to_replay: &ToReplay<'_>,
    replay: Arc<R>,
    (transactions, rest): (u64, Rest),
    numbering: Numbering,
) -> Result<Replayed> {
    let beginning = to_replay.beginning_of(rest, numbering);
    let rest = schedule_from(config, to_replay, replay, &beginning)?;
    Ok(Replayed { transactions: transactions + rest.transactions, ..rest })
}

/// The same without going key by key.
pub(super) fn replay_by_schedule<R: Replay>(
    config: &Config,
    to_replay: &ToReplay<'_>,
    replay: Arc<R>,
) -> Result<Replayed> {
    schedule_from(config, to_replay, replay, &to_replay.beginning())
}

fn schedule_from<R: Replay>(
    config: &Config,
    to_replay: &ToReplay<'_>,
    replay: Arc<R>,
    beginning: &Beginning,
) -> Result<Replayed> {
    let (sources, options) = to_replay.by_position(config, beginning)?;
    schedule::run(sources, replay, options)
}

//! The files of a new incarnation: segments for each stripe of each log, and the thread that prepares them.

use std::path::PathBuf;
use std::sync::Arc;

use hyades_types::error::{Error, Result};

use super::preparer::Preparer;
use super::room::Room;
use super::segment::SegmentSupply;
use super::striped::StripedLogStore;
use super::writer::{BlockWriter, FileLogStore};
use crate::config::Config;
use crate::disk::Disk;
use crate::log::buffer::LogBuffer;
use crate::log::manifest::{Incarnation, Manifest};
use crate::log::set::{LogStore, NewLogSet};

/// One log: a supply of segments for each of its stripes.
struct NewLog {
    buffer: Arc<LogBuffer>,
    stripes: Vec<Arc<SegmentSupply>>,
    /// `None`: whatever the device reports.
    wanted_sector_bytes: Option<usize>,
}

/// See the module documentation.
pub(crate) struct NewFileLogs {
    disk: Arc<dyn Disk>,
    logs: Vec<NewLog>,
    /// Leftovers of an interrupted start that are in the way, and files that no checkpoint needs.
    leftovers: Vec<PathBuf>,
    preparer: Arc<Preparer>,
}

impl NewFileLogs {
    /// Checks whether all places can be used, and completes the plan of the incarnation. Writes nothing.
    pub(crate) fn plan(
        config: &Config,
        manifest: &Manifest,
        incarnation: &mut Incarnation,
        buffers: &[Arc<LogBuffer>],
    ) -> Result<NewFileLogs> {
        let known: Vec<u64> = manifest.incarnations.iter().map(|incarnation| incarnation.number).collect();
        let mut logs = Vec::new();
        let mut leftovers = Vec::new();
        let supplies = buffers.len() * incarnation.stripes;
        for (log, buffer) in buffers.iter().enumerate() {
            let identity = manifest.identity(incarnation.number, log);
            let room = Arc::new(Room::new(buffer, incarnation.stripes));
            let mut stripes = Vec::new();
            let directories = incarnation.stripe_directories(&config.data_directory, log);
            for (stripe, directory) in directories.into_iter().enumerate() {
                let supply = SegmentSupply::new(
                    &config.disk,
                    directory,
                    identity,
                    (config.segment_bytes, config.checkpoint_log_bytes / supplies as u64),
                    &room,
                    stripe,
                );
                leftovers.extend(supply.examine(|number| !known.contains(&number))?);
                incarnation.segments_ahead = Some(supply.ahead());
                stripes.push(Arc::new(supply));
            }
            logs.push(NewLog {
                buffer: Arc::clone(buffer),
                stripes,
                wanted_sector_bytes: config.log_sector_bytes,
            });
        }
        let supplies = logs.iter().flat_map(|log| log.stripes.iter().map(Arc::clone)).collect();
        let preparer = Arc::new(Preparer::new(supplies));
        Ok(NewFileLogs { disk: Arc::clone(&config.disk), logs, leftovers, preparer })
    }

    fn supplies(&self) -> impl Iterator<Item = &Arc<SegmentSupply>> {
        self.logs.iter().flat_map(|log| &log.stripes)
    }
}

impl NewLogSet for NewFileLogs {
    fn create_places(&self) -> Result<()> {
        for supply in self.supplies() {
            supply.create_directory()?;
        }
        for path in &self.leftovers {
            self.disk.remove(path).map_err(|error| {
                Error::io(format_args!("could not remove \"{}\"", path.display()), &error)
            })?;
        }
        Ok(())
    }

    fn create_logs(&self) -> Result<()> {
        self.supplies().try_for_each(|supply| supply.prepare_first())
    }

    fn store(&self, log: usize) -> Result<Box<dyn LogStore>> {
        let NewLog { buffer, stripes, wanted_sector_bytes } = &self.logs[log];
        let writer = |supply: &Arc<SegmentSupply>| {
            let sector_bytes = supply.sector_bytes(*wanted_sector_bytes)?;
            Ok::<_, Error>(BlockWriter::new(supply, &self.preparer, sector_bytes))
        };
        Ok(match stripes.as_slice() {
            [supply] => Box::new(FileLogStore::new(writer(supply)?)),
            _ => {
                let writers = stripes.iter().map(writer).collect::<Result<_>>()?;
                Box::new(StripedLogStore::start(log, writers, buffer)?)
            }
        })
    }

    fn failure(&self, log: usize) -> Option<Error> {
        let failure = self.logs[log].stripes.iter().find_map(|supply| supply.failure());
        if failure.is_some() {
            self.preparer.ring();
        }
        failure
    }

    fn stored_bytes(&self, log: usize) -> u64 {
        self.logs[log].stripes.iter().map(|supply| supply.used_bytes()).sum()
    }

    fn missing(&self, first_segments: &[u64]) -> Option<PathBuf> {
        let supplies = self.supplies().zip(first_segments);
        supplies.filter_map(|(supply, first)| supply.missing_from(*first)).next()
    }

    fn give_up_before(&self, first_segments: &[u64]) {
        for (supply, first) in self.supplies().zip(first_segments) {
            supply.give_up_before(*first);
        }
    }

    fn prepare(&self) {
        self.preparer.run();
    }

    fn stop(&self) {
        self.preparer.stop();
    }

    fn seal(&self) {
        self.supplies().for_each(|supply| supply.give_back_unused());
    }
}

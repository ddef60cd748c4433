//! The files of an incarnation that is in the manifest: checked, synced, read, trimmed.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyades_types::error::{Error, Result, sqlstate};

use super::blocks::{are_whole_up_to, segment_with, segments_from};
use super::reader::{LogReader, sync_log};
use super::spares::parse_spare_name;
use super::trim::trim_log;
use super::{LogFiles, LogIdentity, has_gone, parse_segment_name, segment_path, stretch};
use crate::config::Config;
use crate::disk::Disk;
use crate::log::manifest::{Incarnation, Manifest};
use crate::log::set::{BlockPlace, LogSet, LogSource};
use crate::lsn::Lsn;

/// See the module documentation.
pub(crate) struct FileLogs {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) logs: Vec<LogFiles>,
}

impl FileLogs {
    pub(crate) fn new(config: &Config, manifest: &Manifest, incarnation: &Incarnation) -> FileLogs {
        let files = |log| manifest.log_files(&config.data_directory, incarnation, log);
        FileLogs { disk: Arc::clone(&config.disk), logs: (0..incarnation.logs).map(files).collect() }
    }
}

impl FileLogs {
    fn remove_segments(&self, directory: &Path, incarnation: u64, goes: impl Fn(u64) -> bool) {
        let remove = || -> io::Result<()> {
            for name in self.disk.list(directory)? {
                let found = parse_segment_name(&name);
                let is_spare = parse_spare_name(&name) == Some(incarnation);
                if is_spare || found.is_some_and(|(number, sequence)| number == incarnation && goes(sequence))
                {
                    self.disk.remove(&directory.join(name))?;
                }
            }
            Ok(())
        };
        if let Err(error) = remove() {
            tracing::warn!(%error, "could not remove unneeded segments in \"{}\"", directory.display());
        }
    }
}

impl LogSet for FileLogs {
    fn check(&self, next_incarnation: u64) -> Result<()> {
        for (log, files) in self.logs.iter().enumerate() {
            for directory in &files.directories {
                let names = match self.disk.list(directory) {
                    Ok(names) => names,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {
                        return Err(Error::fatal(
                            sqlstate::UNDEFINED_FILE,
                            format!(
                                "log {log} is missing: there is no directory \"{}\", where the manifest says it is; if it was moved, \
                                 move it back or put a symbolic link in its place",
                                directory.display()
                            ),
                        ));
                    }
                    Err(error) => {
                        let what = format!("could not read log directory \"{}\"", directory.display());
                        return Err(Error::io(what, &error));
                    }
                };
                // Segments of the next incarnation are the traces of an interrupted start.
                let is_ours = |name: &String| {
                    let incarnation = parse_segment_name(name).map(|(number, _)| number);
                    incarnation
                        .or_else(|| parse_spare_name(name))
                        .is_some_and(|number| number <= next_incarnation)
                };
                if let Some(foreign) = names.iter().find(|name| !is_ours(name)) {
                    return Err(Error::fatal(
                        sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE,
                        format!(
                            "log directory \"{}\" holds \"{foreign}\", which is no log file of this database",
                            directory.display()
                        ),
                    ));
                }
            }
        }
        Ok(())
    }

    fn missing(&self) -> Option<PathBuf> {
        let missing_in = |directory: &Path, identity: &LogIdentity, first: u64| {
            let there = segments_from(self.disk.as_ref(), directory, identity.incarnation, first);
            let there = there.unwrap_or_default();
            // Those that were prepared and never used may have been removed in part, before a power cut.
            let last = segment_with(self.disk.as_ref(), directory, identity, first, Lsn(u64::MAX));
            let mut all = (first..=last.unwrap_or(first)).filter(|one| !there.contains(one));
            all.find_map(|one| {
                let path = segment_path(directory, identity.incarnation, one);
                has_gone(&*self.disk, &path).then_some(path)
            })
        };
        self.logs.iter().find_map(|files| {
            let mut stripes = files.directories.iter().zip(&files.first_segments);
            stripes.find_map(|(directory, first)| missing_in(directory, &files.identity, *first))
        })
    }

    fn sync(&self, log: usize) -> Result<()> {
        sync_log(self.disk.as_ref(), &self.logs[log])
    }

    fn source(&self, log: usize, from: Lsn) -> Result<Box<dyn LogSource>> {
        Ok(Box::new(LogReader::open_at(&self.disk, &self.logs[log], from)?))
    }

    fn read_stretch(&self, log: usize, block: BlockPlace, stretch: Range<u64>) -> Result<Vec<u8>> {
        stretch::read(self.disk.as_ref(), &self.logs[log], block, stretch)
    }

    fn segments_from(&self, log: usize, position: Lsn) -> Result<Vec<u64>> {
        let files = &self.logs[log];
        let directories = files.directories.iter().zip(&files.first_segments);
        directories
            .map(|(directory, first)| {
                segment_with(self.disk.as_ref(), directory, &files.identity, *first, position)
            })
            .collect()
    }

    fn has_segments(&self, log: usize, from: Lsn, to: Lsn) -> Result<bool> {
        let (files, disk) = (&self.logs[log], self.disk.as_ref());
        for (directory, first) in files.directories.iter().zip(self.segments_from(log, from)?) {
            if !are_whole_up_to(disk, directory, &files.identity, first, to)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn stored_bytes_from(&self, log: usize, position: Lsn) -> Result<u64> {
        let mut bytes = 0;
        let files = &self.logs[log];
        for (directory, first) in files.directories.iter().zip(self.segments_from(log, position)?) {
            let incarnation = files.identity.incarnation;
            for sequence in segments_from(self.disk.as_ref(), directory, incarnation, first)? {
                let path = segment_path(directory, incarnation, sequence);
                bytes += self.disk.open_read(&path).and_then(|file| file.len()).map_err(|error| {
                    Error::io(format_args!("could not look at \"{}\"", path.display()), &error)
                })?;
            }
        }
        Ok(bytes)
    }

    fn remove_given_up(&self) {
        for files in &self.logs {
            for (directory, first) in files.directories.iter().zip(&files.first_segments) {
                self.remove_segments(directory, files.identity.incarnation, |sequence| sequence < *first);
            }
        }
    }

    fn remove(&self) {
        for files in &self.logs {
            for directory in &files.directories {
                self.remove_segments(directory, files.identity.incarnation, |_| true);
            }
        }
    }

    fn place(&self, log: usize) -> String {
        let names: Vec<String> =
            self.logs[log].directories.iter().map(|path| format!("\"{}\"", path.display())).collect();
        names.join(", ")
    }

    fn trim(&self) {
        for files in &self.logs {
            for stripe in 0..files.directories.len() {
                if let Err(error) = trim_log(&self.disk, files, stripe) {
                    tracing::warn!("{error}");
                }
            }
        }
    }
}

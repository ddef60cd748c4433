//! Copying files of a database from one directory to another, durably.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyades_types::error::{Error, Result};

use crate::checkpoint::contents::{self, Contents};
use crate::disk::{Disk, SECTOR_BYTES, restrict};
use crate::log::manifest::{CHECKPOINT_DIRECTORY, Checkpoint, DEFAULT_LOG_DIRECTORY, Incarnation, Manifest};
use crate::log::store::{LogReader, parse_segment_name, segment_path};
use crate::lsn::Lsn;

/// Bytes that are copied at once.
const COPY_BYTES: u64 = 1 << 20;

/// From where to where, and what it took.
pub(super) struct Files<'f> {
    pub(super) disk: &'f Arc<dyn Disk>,
    pub(super) source: &'f Path,
    pub(super) target: &'f Path,
    pub(super) copied_files: usize,
    pub(super) copied_bytes: u64,
    pub(super) known_files: usize,
}

/// What a copy of a file may lack.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Nothing.
    Whole,
    /// Zeroes at its end: a segment, whose blocks are no longer than a piece.
    Segment,
}

/// What one log of an incarnation has, in blocks up to some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LogExtent {
    /// The end of the last whole record.
    pub(super) end: Lsn,
    /// When the last of those blocks was written.
    pub(super) time_us: u64,
    /// There are later ones.
    pub(super) is_cut: bool,
}

impl<'f> Files<'f> {
    pub(super) fn new(disk: &'f Arc<dyn Disk>, source: &'f Path, target: &'f Path) -> Files<'f> {
        Files { disk, source, target, copied_files: 0, copied_bytes: 0, known_files: 0 }
    }

    /// Makes a directory of the target, durably.
    pub(super) fn create_directory(&self, path: &Path) -> Result<()> {
        if self.disk.exists(path) {
            return Ok(());
        }
        let create = || {
            self.disk.create_directory(path)?;
            path.parent()
                .filter(|parent| self.disk.exists(parent))
                .map_or(Ok(()), |parent| self.disk.sync_directory(parent))
        };
        create().map_err(|error| {
            Error::io(format_args!("could not create directory \"{}\"", path.display()), &error)
        })?;
        restrict(self.disk.as_ref(), path)
    }

    /// Copies a file; not if it `may_be_known` and the target has one as long.
    fn copy(&mut self, from: &Path, to: &Path, kind: Kind, may_be_known: bool) -> Result<()> {
        let failed = |error: &io::Error| {
            Error::io(format!("could not copy \"{}\" to \"{}\"", from.display(), to.display()), error)
        };
        let source = self.disk.open_read(from).map_err(|error| failed(&error))?;
        let length = source.len().map_err(|error| failed(&error))?;
        let known = self.disk.open_read(to).and_then(|file| file.len());
        if may_be_known && known.is_ok_and(|known| known == length) {
            self.known_files += 1;
            return Ok(());
        }
        let mut written = 0;
        let mut copy = || -> io::Result<()> {
            // A backup that is cut short leaves what was there.
            let copy = to.with_extension("copying");
            if self.disk.exists(&copy) {
                self.disk.remove(&copy)?;
            }
            let target = self.disk.create(&copy)?;
            let mut buffer = vec![0; COPY_BYTES.min(length.max(1)) as usize];
            let (mut done, mut had_content) = (0, true);
            while done < length {
                let read = source.read_at(done, &mut buffer)?;
                if read == 0 {
                    break;
                }
                // Prepared space behind the last block of a log stays away; a block may reach into the next
                // piece with zeroes.
                let has_content = buffer[..read].iter().any(|byte| *byte != 0);
                if has_content || had_content || kind == Kind::Whole {
                    target.write_at(done, &buffer[..read])?;
                    written += read as u64;
                }
                had_content = has_content;
                done += read as u64;
            }
            target.sync()?;
            self.disk.rename(&copy, to)
        };
        copy().map_err(|error| failed(&error))?;
        self.copied_files += 1;
        self.copied_bytes += written;
        Ok(())
    }

    fn sync(&self, directory: &Path) -> Result<()> {
        self.disk.sync_directory(directory).map_err(|error| {
            Error::io(format_args!("could not sync directory \"{}\"", directory.display()), &error)
        })
    }

    /// Copies what a checkpoint is made of; returns what is in it.
    pub(super) fn copy_checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<Contents> {
        let (from, to) = (contents::directory(self.source), self.target.join(CHECKPOINT_DIRECTORY));
        let read = Contents::load(self.disk.as_ref(), &from, checkpoint)?;
        self.create_directory(&to)?;
        for file in &read.files {
            self.copy(&file.number.path(&from), &file.number.path(&to), Kind::Whole, true)?;
        }
        let (from_contents, to_contents) = (
            contents::contents_path(&from, checkpoint.number),
            contents::contents_path(&to, checkpoint.number),
        );
        self.copy(&from_contents, &to_contents, Kind::Whole, true)?;
        self.sync(&to)?;
        Ok(read)
    }

    /// Where the target keeps a stripe of a log.
    pub(super) fn stripe(&self, incarnation: &Incarnation, log: usize, stripe: usize) -> PathBuf {
        moved(incarnation).stripe_directory(self.target, log, stripe)
    }

    /// Copies the segments of one log, from these on of each of its stripes; those before `complete` do not
    /// change any more, and may be there.
    pub(super) fn copy_log(
        &mut self,
        incarnation: &Incarnation,
        log: usize,
        first: &[u64],
        complete: &[u64],
    ) -> Result<()> {
        for stripe in 0..incarnation.stripes {
            let from = incarnation.stripe_directory(self.source, log, stripe);
            let to = self.stripe(incarnation, log, stripe);
            self.create_directory(&self.target.join(DEFAULT_LOG_DIRECTORY))?;
            self.create_directory(&to)?;
            let names = self.disk.list(&from).map_err(|error| {
                Error::io(format_args!("could not read log directory \"{}\"", from.display()), &error)
            })?;
            let ours = names.iter().filter_map(|name| parse_segment_name(name));
            let wanted =
                ours.filter(|(number, sequence)| *number == incarnation.number && *sequence >= first[stripe]);
            let mut sequences: Vec<u64> = wanted.map(|(_, sequence)| sequence).collect();
            sequences.sort_unstable();
            for sequence in sequences {
                let path = segment_path(&from, incarnation.number, sequence);
                if sequence > first[stripe] && self.is_unused(&path)? {
                    break;
                }
                let target = segment_path(&to, incarnation.number, sequence);
                self.copy(&path, &target, Kind::Segment, sequence < complete[stripe])?;
            }
            self.sync(&to)?;
        }
        Ok(())
    }

    /// Whether nothing has been written to a segment yet.
    fn is_unused(&self, path: &Path) -> Result<bool> {
        let mut sector = vec![0; SECTOR_BYTES];
        let read = self.disk.open_read(path).and_then(|file| file.read_at(0, &mut sector));
        let read =
            read.map_err(|error| Error::io(format_args!("could not read \"{}\"", path.display()), &error))?;
        Ok(sector[..read].iter().all(|byte| *byte == 0))
    }

    /// How far a log of the target goes, in blocks up to this time.
    pub(super) fn extent(
        &self,
        manifest: &Manifest,
        incarnation: &Incarnation,
        log: usize,
        until_us: u64,
    ) -> Result<LogExtent> {
        extent(self.disk, self.target, manifest, incarnation, log, until_us)
    }
}

/// How far a log in this directory goes, in blocks up to this time.
pub(super) fn extent(
    disk: &Arc<dyn Disk>,
    directory: &Path,
    manifest: &Manifest,
    incarnation: &Incarnation,
    log: usize,
    until_us: u64,
) -> Result<LogExtent> {
    let files = manifest.log_files(directory, incarnation, log);
    let mut reader = LogReader::open(disk, &files)?;
    let mut extent = LogExtent { end: files.start, ..LogExtent::default() };
    // Of the block in which the first record begins, the rest has been read.
    let mut has_block = reader.has_read() || reader.next_block()?;
    while has_block {
        if reader.block_time_us() > until_us {
            return Ok(LogExtent { is_cut: true, ..extent });
        }
        extent.time_us = reader.block_time_us();
        extent.end = extent.end.max(reader.end_of_whole_records());
        reader.forget_records();
        has_block = reader.next_block()?;
    }
    Ok(extent)
}

/// The incarnation with its logs under the directory itself.
pub(super) fn moved(incarnation: &Incarnation) -> Incarnation {
    Incarnation {
        directories: vec![PathBuf::from(DEFAULT_LOG_DIRECTORY)],
        segments_ahead: None,
        ..incarnation.clone()
    }
}

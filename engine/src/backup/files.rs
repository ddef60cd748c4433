//! Copying files of a database from one directory to another, durably.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyades_types::error::{Error, Result};

use super::place::Place;
use crate::checkpoint::contents::{self, Contents, PartFile};
use crate::checkpoint::verify::verify_parts;
use crate::disk::{Disk, restrict};
use crate::log::manifest::{CHECKPOINT_DIRECTORY, Checkpoint, DEFAULT_LOG_DIRECTORY, Incarnation, Manifest};
use crate::log::set::LogSource;
use crate::log::store::{LogFiles, LogReader, segment_path, segment_with, segments_from};
use crate::lsn::Lsn;

/// Bytes that are copied at a time.
const COPY_BYTES: u64 = 1 << 20;
/// How often a log is read at most until it is consistent.
const READ_ATTEMPTS: usize = 5;

/// The source and the target, and what was copied.
pub(super) struct Files<'f> {
    pub(super) source: Place<'f>,
    pub(super) target: Place<'f>,
    pub(super) copied_files: usize,
    pub(super) copied_bytes: u64,
    pub(super) known_files: usize,
}

/// Which part of a file is copied.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// All of a file that does not change any more.
    Whole,
    /// A whole segment.
    Segment,
    /// A segment without the zeroes at its end. Its blocks are no longer than a piece.
    Content,
    /// The first bytes of a segment.
    First(u64),
}

/// Which blocks of a log count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Until {
    /// Those that were written by this time, in microseconds since 1970.
    pub(super) time_us: u64,
    /// Those up to this position are needed, too, whenever they were written.
    pub(super) position: Lsn,
}

impl Until {
    pub(super) fn time(time_us: u64) -> Until {
        Until { time_us, position: Lsn::ZERO }
    }
}

/// How much one log of an incarnation has in blocks written up to some time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LogExtent {
    /// The end of the last whole record.
    pub(super) end: Lsn,
    /// When the last of those blocks was written.
    pub(super) time_us: u64,
    /// Whether there are later blocks.
    pub(super) is_cut: bool,
    /// For each stripe, the segment and the place in it up to which it is needed.
    pub(super) places: Vec<(u64, u64)>,
}

/// A log that cannot be read.
#[derive(Debug)]
pub(super) struct Broken {
    pub(super) error: Error,
    /// What was written before this time can be read.
    pub(super) whole_before_us: u64,
}

impl Broken {
    // No `From`: with one, errors could not be inferred elsewhere.
    pub(super) fn into_error(self) -> Error {
        self.error
    }
}

impl<'f> Files<'f> {
    pub(super) fn new(source: Place<'f>, target: Place<'f>) -> Files<'f> {
        Files { source, target, copied_files: 0, copied_bytes: 0, known_files: 0 }
    }

    /// Makes a directory of the target, durably.
    fn create_directory(&self, path: &Path) -> Result<()> {
        let disk = self.target.disk.as_ref();
        if disk.exists(path) {
            return Ok(());
        }
        let create = || {
            disk.create_directory(path)?;
            path.parent()
                .filter(|parent| disk.exists(parent))
                .map_or(Ok(()), |parent| disk.sync_directory(parent))
        };
        create().map_err(|error| {
            Error::io(format_args!("could not create directory \"{}\"", path.display()), &error)
        })?;
        restrict(disk, path)
    }

    /// Copies a file, unless it `may_be_known` and the target has one of the same length. If the copy is cut
    /// short, the old file stays.
    fn copy(&mut self, from: &Path, to: &Path, extent: Extent, may_be_known: bool) -> Result<()> {
        let failed = |error: &io::Error| {
            Error::io(format!("could not copy \"{}\" to \"{}\"", from.display(), to.display()), error)
        };
        let source = self.source.disk.open_read(from).map_err(|error| failed(&error))?;
        let mut length = source.len().map_err(|error| failed(&error))?;
        if let Extent::First(bytes) = extent {
            length = length.min(bytes);
        }
        if may_be_known && self.is_known(to, length) {
            self.known_files += 1;
            return Ok(());
        }
        let stored = self.target.disk.replace(to, &mut |target| {
            let mut buffer = vec![0; COPY_BYTES.min(length.max(1)) as usize];
            let (mut done, mut had_content) = (0, true);
            while done < length {
                let wanted = COPY_BYTES.min(length - done) as usize;
                let read = source.read_at(done, &mut buffer[..wanted])?;
                if read == 0 {
                    break;
                }
                // Space prepared after the last block of a log is not copied. A block may reach into the next
                // piece with zeroes.
                let has_content = buffer[..read].iter().any(|byte| *byte != 0);
                if has_content || had_content || extent != Extent::Content {
                    target.write_at(done, &buffer[..read])?;
                }
                had_content = has_content;
                done += read as u64;
            }
            // A segment that is given up while it is copied may be overwritten. It then has another name.
            if extent != Extent::Whole && !self.source.disk.exists(from) {
                return Err(io::Error::new(io::ErrorKind::NotFound, "it is no longer needed"));
            }
            Ok(())
        });
        match stored.map_err(|error| failed(&error))? {
            // A store that writes only what is new already had all of it.
            0 if length > 0 => self.known_files += 1,
            bytes => {
                self.copied_bytes += bytes;
                self.copied_files += 1;
            }
        }
        Ok(())
    }

    /// Whether the target has a file of this length, which is the same if both belong to one database.
    fn is_known(&self, to: &Path, length: u64) -> bool {
        let known = self.target.disk.open_read(to).and_then(|file| file.len());
        known.is_ok_and(|known| known == length)
    }

    fn sync(&self, directory: &Path) -> Result<()> {
        self.target.disk.sync_directory(directory).map_err(|error| {
            Error::io(format_args!("could not sync directory \"{}\"", directory.display()), &error)
        })
    }

    /// Copies the files of a checkpoint to a target that has none of them.
    pub(super) fn copy_checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        let from = contents::directory(self.source.directory);
        let read = Contents::load(self.source.disk.as_ref(), &from, checkpoint)?;
        self.copy_contents(checkpoint, &read, false)
    }

    /// Copies the files of a checkpoint that the target lacks, once it is sure that those are whole.
    /// `may_be_known`: what the target has of it belongs to this database.
    ///
    /// # Errors
    /// XX001: a file is missing or damaged. Nothing has been copied then.
    pub(super) fn copy_verified_checkpoint(
        &mut self,
        checkpoint: &Checkpoint,
        database: &Manifest,
        may_be_known: bool,
    ) -> Result<()> {
        let from = contents::directory(self.source.directory);
        let to = self.target.directory.join(CHECKPOINT_DIRECTORY);
        let read = Contents::load(self.source.disk.as_ref(), &from, checkpoint)?;
        let is_new = |file: &&PartFile| !may_be_known || !self.is_known(&file.number.path(&to), file.bytes);
        let new: Vec<PartFile> = read.files.iter().filter(is_new).copied().collect();
        verify_parts(self.source.disk, &from, database.database(), &read, &new)?;
        self.copy_contents(checkpoint, &read, may_be_known)
    }

    fn copy_contents(&mut self, checkpoint: &Checkpoint, read: &Contents, may_be_known: bool) -> Result<()> {
        let from = contents::directory(self.source.directory);
        let to = self.target.directory.join(CHECKPOINT_DIRECTORY);
        self.create_directory(&to)?;
        for file in &read.files {
            self.copy(&file.number.path(&from), &file.number.path(&to), Extent::Whole, may_be_known)?;
        }
        let (from_contents, to_contents) = (
            contents::contents_path(&from, checkpoint.number),
            contents::contents_path(&to, checkpoint.number),
        );
        self.copy(&from_contents, &to_contents, Extent::Whole, may_be_known)?;
        self.sync(&to)
    }

    /// Copies the segments of one log, from the given one of each stripe on, up to the given places in them
    /// or to their ends.
    pub(super) fn copy_log(
        &mut self,
        incarnation: &Incarnation,
        log: usize,
        first: &[u64],
        until: Option<&[(u64, u64)]>,
    ) -> Result<()> {
        for stripe in 0..incarnation.stripes {
            let from = incarnation.stripe_directory(self.source.directory, log, stripe);
            let to = moved(incarnation).stripe_directory(self.target.directory, log, stripe);
            self.create_directory(&self.target.directory.join(DEFAULT_LOG_DIRECTORY))?;
            self.create_directory(&to)?;
            let sequences =
                segments_from(self.source.disk.as_ref(), &from, incarnation.number, first[stripe])?;
            for sequence in sequences {
                let extent = match until.map(|until| until[stripe]) {
                    None => Extent::Content,
                    Some((last, _)) if sequence < last => Extent::Segment,
                    Some((last, bytes)) if sequence == last && bytes > 0 => Extent::First(bytes),
                    Some(_) => break,
                };
                let path = segment_path(&from, incarnation.number, sequence);
                let target = segment_path(&to, incarnation.number, sequence);
                self.copy(&path, &target, extent, false)?;
            }
            self.sync(&to)?;
        }
        Ok(())
    }

    /// Counts the segments of one log before these. The target has them.
    pub(super) fn count_known(
        &mut self,
        incarnation: &Incarnation,
        log: usize,
        before: &[u64],
    ) -> Result<()> {
        for (stripe, before) in before.iter().enumerate() {
            let from = incarnation.stripe_directory(self.source.directory, log, stripe);
            let there = segments_from(self.source.disk.as_ref(), &from, incarnation.number, 0)?;
            self.known_files += there.iter().filter(|sequence| *sequence < before).count();
        }
        Ok(())
    }
}

/// How far a log in this directory goes, in blocks that count. It must go as far as its incarnation says,
/// unless it is cut before.
pub(super) fn extent(
    place: Place<'_>,
    manifest: &Manifest,
    incarnation: &Incarnation,
    log: usize,
    until: Until,
) -> std::result::Result<LogExtent, Broken> {
    let mut extent = LogExtent { end: incarnation.start(log), ..LogExtent::default() };
    match read_extent(place, manifest, incarnation, log, until, &mut extent) {
        Ok(()) => Ok(extent),
        Err(error) => Err(Broken { error, whole_before_us: extent.time_us }),
    }
}

fn read_extent(
    Place { disk, directory }: Place<'_>,
    manifest: &Manifest,
    incarnation: &Incarnation,
    log: usize,
    until: Until,
    extent: &mut LogExtent,
) -> Result<()> {
    let files = manifest.log_files(directory, incarnation, log);
    let mut reader = LogReader::open(disk, &files)?;
    extent.places = reader.places();
    // The rest of the block in which the first record begins has been read.
    let mut has_block = reader.has_read() || reader.next_block()?;
    let mut reached = extent.end;
    while has_block {
        extent.is_cut |= reader.block_time_us() > until.time_us;
        if extent.is_cut && reached >= until.position {
            return Ok(());
        }
        reached = reached.max(reader.end_of_whole_records());
        if !extent.is_cut {
            extent.time_us = reader.block_time_us();
            extent.end = reached;
        }
        reader.forget_records();
        // A reader that finds no block looks for later ones, and is in another place afterwards.
        extent.places = reader.places();
        has_block = reader.next_block()?;
    }
    let frozen = incarnation.frozen_end().unwrap_or_default().get(log);
    if reached >= frozen || (extent.is_cut && reached >= until.position) {
        return Ok(());
    }
    // The end of the log is damaged, or its last segments are missing.
    reader.end().map_or(Ok(()), |end| end.check(frozen))?;
    let (number, last) = (incarnation.number, files.directories.first().map(|path| path.display()));
    Err(Error::corrupt(format!(
        "the backup is damaged: log {log} of incarnation {number} is cut short{}",
        last.map(|last| format!(", in \"{last}\"")).unwrap_or_default()
    )))
}

/// When the block was written in which the first records up to this position end, starting from another
/// position. 0 if the blocks do not say.
pub(super) fn time_of(
    Place { disk, directory }: Place<'_>,
    manifest: &Manifest,
    incarnation: &Incarnation,
    log: usize,
    [from, to]: [Lsn; 2],
) -> Result<u64> {
    let files = manifest.log_files(directory, incarnation, log);
    let mut reader = LogReader::open_at(disk, &files, from)?;
    while reader.end_of_whole_records() < to && reader.next_block()? {
        reader.forget_records();
    }
    Ok(reader.block_time_us())
}

/// The incarnation as it is if everything before these positions of its logs is given up.
pub(super) fn begun_at(
    Place { disk, directory }: Place<'_>,
    manifest: &Manifest,
    incarnation: &Incarnation,
    positions: &[u64],
) -> Result<Incarnation> {
    let mut first_segments = Vec::new();
    for (log, position) in positions.iter().enumerate() {
        let LogFiles { directories, identity, first_segments: firsts, .. } =
            manifest.log_files(directory, incarnation, log);
        for (directory, first) in directories.iter().zip(firsts) {
            first_segments.push(segment_with(disk.as_ref(), directory, &identity, first, Lsn(*position))?);
        }
    }
    Ok(Incarnation { first_segments, starts: positions.to_vec(), ..incarnation.clone() })
}

/// What a log holds beyond what was copied before.
pub(super) struct News {
    /// The end of the last whole record.
    pub(super) end: Lsn,
    /// When the last block was written; 0 if there is none, or it does not say.
    pub(super) time_us: u64,
    /// For each stripe, the segment and the place in it up to which it has whole blocks.
    pub(super) until: Vec<(u64, u64)>,
}

/// Reads a log from this position on, up to its last whole block at this moment.
pub(super) fn news(disk: &Arc<dyn Disk>, files: &LogFiles, from: Lsn) -> Result<News> {
    let mut attempts = 1;
    loop {
        match read_news(disk, files, from) {
            // Two blocks may have been written while the place of the first was read. Then there seems to be
            // nothing before the second. In a log that is no longer written, this happens every time.
            Err(error) if attempts < READ_ATTEMPTS => {
                tracing::debug!(%error, "a log is read again");
                attempts += 1;
            }
            read => return read,
        }
    }
}

fn read_news(disk: &Arc<dyn Disk>, files: &LogFiles, from: Lsn) -> Result<News> {
    let mut reader = LogReader::open_at(disk, files, from)?;
    let mut news = News { end: from.max(files.start), time_us: reader.block_time_us(), until: Vec::new() };
    loop {
        // A reader that finds no block looks for later ones, and is in another place afterwards.
        news.until = reader.places();
        if !reader.next_block()? {
            break;
        }
        news.end = news.end.max(reader.end_of_whole_records());
        news.time_us = reader.block_time_us();
        reader.forget_records();
    }
    news.end = news.end.max(reader.end_of_whole_records());
    reader.end().map_or(Ok(()), |end| end.check(Lsn::ZERO))?;
    Ok(news)
}

/// The incarnation with its logs under the directory itself.
pub(super) fn moved(incarnation: &Incarnation) -> Incarnation {
    Incarnation {
        directories: vec![PathBuf::from(DEFAULT_LOG_DIRECTORY)],
        segments_ahead: None,
        ..incarnation.clone()
    }
}

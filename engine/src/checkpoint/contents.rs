//! What is in a checkpoint: the file `<number>.contents`, JSON so that people can read it.
//!
//! A table is cut into ranges of keys. Each has a base section and changes to it, in whichever part files
//! they were written to: only ranges that have changed since the previous checkpoint are written again. The
//! manifest has the checksum of the whole file, so that the file of another checkpoint or database is never
//! mistaken for it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyades_types::definition::TableId;
use hyades_types::error::{Error, Result, sqlstate};
use serde::{Deserialize, Serialize};

use super::base64_text;
use super::part::{PartNumber, Section};
use crate::disk::Disk;
use crate::log::manifest::{CHECKPOINT_DIRECTORY, Checkpoint};
use crate::mutant::{self, Mutant};

/// Version of contents and parts.
const FORMAT_VERSION: u32 = 1;

/// See the module head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Contents {
    format_version: u32,
    /// The database's UUID.
    pub(crate) database: String,
    pub(crate) number: u64,
    /// Microseconds since 1970 when its time was taken.
    pub(crate) taken_at_us: u64,
    /// Ids below this one have been assigned.
    pub(crate) next_id: u32,
    /// The operations that create the catalog (`schema`).
    #[serde(with = "base64_text")]
    pub(crate) schema: Box<[u8]>,
    pub(crate) tables: Vec<TableContents>,
    /// The part files that it uses, and their lengths.
    pub(crate) files: Vec<PartFile>,
}

/// A part file and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PartFile {
    pub(crate) number: PartNumber,
    pub(crate) bytes: u64,
}

/// The rows of one table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TableContents {
    pub(crate) id: TableId,
    /// In key order; the first range begins before all keys.
    pub(crate) ranges: Vec<KeyRange>,
}

/// The rows of a range of keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeyRange {
    /// Its smallest key, or a smaller one.
    #[serde(with = "base64_text")]
    pub(crate) from: Box<[u8]>,
    pub(crate) rows: u64,
    /// A base and the changes to it, in order. Empty if there are no rows.
    pub(crate) sections: Vec<Section>,
}

impl KeyRange {
    pub(crate) fn base_bytes(&self) -> u64 {
        self.sections.first().map_or(0, |base| base.bytes)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.sections.iter().map(|section| section.bytes).sum()
    }

    pub(crate) fn change_bytes(&self) -> u64 {
        self.sections.iter().skip(1).map(|change| change.bytes).sum()
    }
}

impl Contents {
    pub(crate) fn new(database: String, number: u64, next_id: u32, schema: &[u8]) -> Contents {
        Contents {
            format_version: FORMAT_VERSION,
            database,
            number,
            taken_at_us: crate::sync::microseconds_since_1970(),
            next_id,
            schema: schema.into(),
            tables: Vec::new(),
            files: Vec::new(),
        }
    }

    fn ranges(&self) -> impl Iterator<Item = &KeyRange> {
        self.tables.iter().flat_map(|table| &table.ranges)
    }

    pub(crate) fn sections(&self) -> impl Iterator<Item = &Section> {
        self.ranges().flat_map(|range| &range.sections)
    }

    pub(crate) fn rows(&self) -> u64 {
        self.ranges().map(|range| range.rows).sum()
    }

    /// Bytes of all sections.
    pub(crate) fn bytes(&self) -> u64 {
        self.sections().map(|section| section.bytes).sum()
    }

    /// Bytes of each part file that sections use.
    pub(crate) fn used_bytes(&self) -> BTreeMap<PartNumber, u64> {
        let mut used = BTreeMap::new();
        for section in self.sections() {
            *used.entry(section.file).or_default() += section.bytes;
        }
        used
    }

    /// Records which files it uses, among those whose length is known.
    pub(crate) fn set_files(&mut self, lengths: &BTreeMap<PartNumber, u64>) {
        let used: BTreeSet<PartNumber> = self.sections().map(|section| section.file).collect();
        let lengths = lengths.iter().filter(|(file, _)| used.contains(file));
        self.files = lengths.map(|(file, length)| PartFile { number: *file, bytes: *length }).collect();
    }

    /// Writes the file, durably; returns its checksum.
    pub(crate) fn store(&self, disk: &dyn Disk, directory: &Path) -> Result<u32> {
        let path = contents_path(directory, self.number);
        let what =
            |error: &std::io::Error| Error::io(format_args!("could not write \"{}\"", path.display()), error);
        let mut bytes = serde_json::to_vec_pretty(self).map_err(|error| what(&error.into()))?;
        bytes.push(b'\n');
        let write = || {
            if disk.exists(&path) {
                disk.remove(&path)?;
            }
            let file = disk.create(&path)?;
            file.write_at(0, &bytes)?;
            if !mutant::is_active(Mutant::CheckpointUnsynced) {
                file.sync()?;
            }
            disk.sync_directory(directory)
        };
        write().map_err(|error| what(&error))?;
        Ok(crc32c::crc32c(&bytes))
    }

    /// Reads the contents of a checkpoint that the manifest names.
    ///
    /// # Errors
    /// A file that is missing or damaged, or belongs to another checkpoint or a later version of the program.
    pub(crate) fn load(disk: &dyn Disk, directory: &Path, checkpoint: &Checkpoint) -> Result<Contents> {
        let path = contents_path(directory, checkpoint.number);
        let damaged = |reason: &str| {
            let number = checkpoint.number;
            Error::corrupt(format!("checkpoint {number} is damaged: \"{}\" {reason}", path.display()))
        };
        let read = || {
            let file = disk.open_read(&path)?;
            let mut bytes = vec![0; file.len()? as usize];
            let read = file.read_at(0, &mut bytes)?;
            bytes.truncate(read);
            Ok(bytes)
        };
        let bytes = read().map_err(|error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => damaged("is missing"),
            _ => Error::io(format_args!("could not read \"{}\"", path.display()), &error),
        })?;
        if crc32c::crc32c(&bytes) != checkpoint.contents_crc32c {
            return Err(damaged("is not what was written"));
        }
        #[derive(Deserialize)]
        struct Version {
            format_version: u32,
        }
        let version: Version =
            serde_json::from_slice(&bytes).map_err(|_| damaged("does not say what is in it"))?;
        if version.format_version != FORMAT_VERSION {
            let (theirs, path) = (version.format_version, path.display());
            let message = format!(
                "\"{path}\" has checkpoint format version {theirs}, this program reads version {FORMAT_VERSION}"
            );
            return Err(Error::fatal(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
        }
        serde_json::from_slice(&bytes).map_err(|_| damaged("has fields that are not understood"))
    }
}

/// Where the checkpoints of a database are.
pub(crate) fn directory(data_directory: &Path) -> PathBuf {
    data_directory.join(CHECKPOINT_DIRECTORY)
}

/// The file that says what is in a checkpoint.
pub(crate) fn contents_path(directory: &Path, number: u64) -> PathBuf {
    directory.join(format!("{number:08}.contents"))
}

/// The number of the checkpoint, from the name of a contents file.
pub(crate) fn contents_number(name: &str) -> Option<u64> {
    name.strip_suffix(".contents")?.parse().ok()
}

/// The part file with this name, if it is one.
pub(crate) fn part_number(name: &str) -> Option<PartNumber> {
    PartNumber::of_name(name)
}

/// Removes the files of a failed attempt: others may need their space.
pub(crate) fn remove_attempt(disk: &Arc<dyn Disk>, directory: &Path, number: u64) {
    let is_of_it = |name: &&String| {
        contents_number(name) == Some(number)
            || PartNumber::of_name(name).is_some_and(|part| part.checkpoint == number)
    };
    for name in disk.list(directory).unwrap_or_default().iter().filter(is_of_it) {
        // What stays is removed after the next one that counts.
        let _ = disk.remove(&directory.join(name));
    }
}

/// Removes the files that belong to none of these checkpoints. If that fails, it is tried again after the
/// next checkpoint.
pub(crate) fn remove_others(disk: &Arc<dyn Disk>, directory: &Path, kept: &[&Contents]) {
    let is_needed = |name: &str| match (contents_number(name), PartNumber::of_name(name)) {
        (Some(number), _) => kept.iter().any(|contents| contents.number == number),
        (_, Some(part)) => kept.iter().any(|contents| contents.files.iter().any(|file| file.number == part)),
        // Not one of our files.
        _ => true,
    };
    let remove = || -> std::io::Result<()> {
        for name in disk.list(directory)?.iter().filter(|name| !is_needed(name)) {
            disk.remove(&directory.join(name))?;
        }
        Ok(())
    };
    if let Err(error) = remove() {
        tracing::warn!(%error, "files of older checkpoints stay in \"{}\"", directory.display());
    }
}

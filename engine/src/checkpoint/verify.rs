//! Reads everything that a checkpoint consists of, and keeps nothing of it.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use hyades_types::error::{Error, Result};
use uuid::Uuid;

use super::contents::{Contents, PartFile};
use super::merge::{Sections, Spares};
use super::part::{PartNumber, PartReader};
use crate::disk::Disk;
use crate::log::manifest::Checkpoint;

/// Checks that all files of a checkpoint are what was written, as far as a restart reads them. Returns its
/// contents.
///
/// # Errors
/// A file that is missing, damaged, or of another database or version.
pub(crate) fn verify(
    disk: &Arc<dyn Disk>,
    directory: &Path,
    database: Uuid,
    checkpoint: &Checkpoint,
) -> Result<Contents> {
    let contents = Contents::load(disk.as_ref(), directory, checkpoint)?;
    let number = checkpoint.number;
    if contents.database != database.to_string() {
        return Err(Error::corrupt(format!("checkpoint {number} belongs to another database")));
    }
    for file in &contents.files {
        verify_length(disk.as_ref(), directory, number, file)?;
    }
    let reader = PartReader { disk: Arc::clone(disk), directory: directory.to_owned(), database };
    let mut spares = Spares::new();
    for range in contents.tables.iter().flat_map(|table| &table.ranges) {
        let sections = Sections::read(&reader, range, &mut spares)?;
        let mut rows = 0;
        sections.for_each(|_, _| {
            rows += 1;
            Ok(())
        })?;
        sections.leave(&mut spares);
        if rows != range.rows {
            let should = range.rows;
            return Err(Error::corrupt(format!(
                "checkpoint {number} is damaged: a part of a table has {rows} rows and should have {should}"
            )));
        }
    }
    Ok(contents)
}

/// Checks that these files of a checkpoint are what was written, by the checksums of their chunks alone.
///
/// # Errors
/// XX001: a file that is missing or damaged.
pub(crate) fn verify_parts(
    disk: &Arc<dyn Disk>,
    directory: &Path,
    database: Uuid,
    contents: &Contents,
    parts: &[PartFile],
) -> Result<()> {
    for file in parts {
        verify_length(disk.as_ref(), directory, contents.number, file)?;
    }
    let reader = PartReader { disk: Arc::clone(disk), directory: directory.to_owned(), database };
    let parts: HashSet<PartNumber> = parts.iter().map(|file| file.number).collect();
    let mut memory = Vec::new();
    for section in contents.sections().filter(|section| parts.contains(&section.file)) {
        memory = reader.read(section, memory)?.into_memory();
    }
    Ok(())
}

fn verify_length(disk: &dyn Disk, directory: &Path, number: u64, file: &PartFile) -> Result<()> {
    let path = file.number.path(directory);
    let bytes = disk.open_read(&path).and_then(|part| part.len());
    if bytes.is_ok_and(|bytes| bytes == file.bytes) {
        return Ok(());
    }
    let what = if disk.exists(&path) { "is not as long as it was" } else { "is missing" };
    Err(Error::corrupt(format!("checkpoint {number} is damaged: \"{}\" {what}", path.display())))
}

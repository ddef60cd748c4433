//! The bytes of a part: rows of one range of keys of one table, in chunks with checksums.
//!
//! ```text
//!   part file:  | chunk | chunk | chunk | ...                       | zeroes up to a whole sector |
//!   chunk:      | bytes u32 | entries u32 | crc32c u32 | entries    |
//!   entry:      | key bytes | key | row bytes + 1 | row |      a row
//!               | key bytes | key | 0 |                        no row any more
//! ```
//!
//! A *section* is a run of chunks: a *base*, with all rows of a range, or a *change*, with the rows that have
//! changed since the previous section and the keys that are gone. Numbers in headers are little-endian, those
//! in entries are varints. The checksum begins with the database, the numbers of the checkpoint and of the
//! file, and the place in it, so that no chunk is mistaken for another.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyades_types::error::{Error, Result, sqlstate};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::disk::{AlignedBuffer, Disk, File, SECTOR_BYTES};
use crate::log::record::varint::{read_varint, write_varint};

/// A chunk is closed when it has at least this many bytes.
const CHUNK_BYTES: usize = 256 << 10;
/// Anything longer is not a chunk.
const MAX_CHUNK_BYTES: usize = u32::MAX as usize;
const HEADER_BYTES: usize = 12;
/// Bytes that are written at a time.
const WRITE_BYTES: usize = 1 << 20;

/// Identifies a file among those of all checkpoints of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct PartNumber {
    pub(crate) checkpoint: u64,
    pub(crate) writer: u32,
}

impl PartNumber {
    pub(crate) fn path(self, directory: &Path) -> PathBuf {
        directory.join(format!("{:08}-{}.part", self.checkpoint, self.writer))
    }

    /// The file with this name, if it is a part file.
    pub(crate) fn of_name(name: &str) -> Option<PartNumber> {
        let (checkpoint, writer) = name.strip_suffix(".part")?.split_once('-')?;
        Some(PartNumber { checkpoint: checkpoint.parse().ok()?, writer: writer.parse().ok()? })
    }
}

/// Where some rows of a range are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Section {
    pub(crate) file: PartNumber,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    /// Number of rows, and of keys that are gone.
    pub(crate) entries: u64,
}

fn checksum(database: Uuid, file: PartNumber, offset: u64, entries: &[u8]) -> u32 {
    let mut seed = [0; 36];
    seed[..16].copy_from_slice(database.as_bytes());
    seed[16..24].copy_from_slice(&file.checkpoint.to_le_bytes());
    seed[24..28].copy_from_slice(&file.writer.to_le_bytes());
    seed[28..].copy_from_slice(&offset.to_le_bytes());
    crc32c::crc32c_append(crc32c::crc32c(&seed), entries)
}

/// Adds an entry to those of a chunk.
pub(crate) fn write_entry(entries: &mut Vec<u8>, key: &[u8], row: Option<&[u8]>) {
    write_varint(entries, key.len() as u64);
    entries.extend_from_slice(key);
    match row {
        Some(row) => {
            write_varint(entries, row.len() as u64 + 1);
            entries.extend_from_slice(row);
        }
        None => write_varint(entries, 0),
    }
}

/// Writes the sections of one file, one after another.
pub(crate) struct PartWriter {
    database: Uuid,
    number: PartNumber,
    path: PathBuf,
    file: Box<dyn File>,
    buffer: AlignedBuffer,
    /// Number of bytes in use in the buffer, which is written at `written`.
    used: usize,
    written: u64,
    /// The open section.
    section: Option<Section>,
    /// The open chunk in it.
    chunk: Vec<u8>,
    chunk_entries: u32,
}

impl PartWriter {
    /// Creates a file. One from a failed attempt may be there.
    pub(crate) fn create(
        disk: &Arc<dyn Disk>,
        directory: &Path,
        database: Uuid,
        number: PartNumber,
    ) -> Result<PartWriter> {
        let path = number.path(directory);
        let create = || {
            if disk.exists(&path) {
                disk.remove(&path)?;
            }
            disk.create(&path)
        };
        let file = create()
            .map_err(|error| Error::io(format_args!("could not create \"{}\"", path.display()), &error))?;
        Ok(PartWriter {
            database,
            number,
            path,
            file,
            buffer: AlignedBuffer::new(WRITE_BYTES),
            used: 0,
            written: 0,
            section: None,
            chunk: Vec::new(),
            chunk_entries: 0,
        })
    }

    fn position(&self) -> u64 {
        self.written + self.used as u64
    }

    /// Adds an entry to the current section, which begins with its first entry.
    pub(crate) fn add(&mut self, key: &[u8], row: Option<&[u8]>) -> Result<()> {
        let (file, offset) = (self.number, self.position());
        let section = self.section.get_or_insert(Section { file, offset, bytes: 0, entries: 0 });
        section.entries += 1;
        write_entry(&mut self.chunk, key, row);
        self.chunk_entries += 1;
        if self.chunk.len() >= CHUNK_BYTES { self.close_chunk() } else { Ok(()) }
    }

    /// Bytes of the current section so far.
    pub(crate) fn section_bytes(&self) -> u64 {
        let begin = self.section.map_or(self.position(), |section| section.offset);
        self.position() - begin + self.chunk.len() as u64
    }

    /// Ends the current section, if it has any entries.
    pub(crate) fn end_section(&mut self) -> Result<Option<Section>> {
        if self.section.is_none() {
            return Ok(None);
        }
        self.close_chunk()?;
        let end = self.position();
        Ok(self.section.take().map(|section| Section { bytes: end - section.offset, ..section }))
    }

    fn close_chunk(&mut self) -> Result<()> {
        if self.chunk_entries == 0 {
            return Ok(());
        }
        if self.chunk.len() > MAX_CHUNK_BYTES {
            let message = "a row is too long for a checkpoint".to_owned();
            return Err(Error::input(sqlstate::PROGRAM_LIMIT_EXCEEDED, message));
        }
        let entries = std::mem::take(&mut self.chunk);
        let checksum = checksum(self.database, self.number, self.position(), &entries);
        let mut header = [0; HEADER_BYTES];
        header[..4].copy_from_slice(&(entries.len() as u32).to_le_bytes());
        header[4..8].copy_from_slice(&self.chunk_entries.to_le_bytes());
        header[8..].copy_from_slice(&checksum.to_le_bytes());
        self.append(&header)?;
        self.append(&entries)?;
        self.chunk = entries;
        self.chunk.clear();
        self.chunk_entries = 0;
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let mut bytes = bytes;
        while !bytes.is_empty() {
            let taken = bytes.len().min(WRITE_BYTES - self.used);
            self.buffer[self.used..self.used + taken].copy_from_slice(&bytes[..taken]);
            self.used += taken;
            bytes = &bytes[taken..];
            if self.used == WRITE_BYTES {
                self.flush(WRITE_BYTES)?;
            }
        }
        Ok(())
    }

    fn flush(&mut self, bytes: usize) -> Result<()> {
        self.file.write_durable(self.written, &self.buffer[..bytes]).map_err(|error| {
            Error::io(format_args!("could not write \"{}\"", self.path.display()), &error)
        })?;
        self.written += bytes as u64;
        self.used = 0;
        Ok(())
    }

    /// Makes the file durable. Returns its length in bytes, 0 if nothing was added.
    pub(crate) fn finish(mut self) -> Result<u64> {
        debug_assert!(self.section.is_none(), "sections end before their file");
        if self.used > 0 {
            let bytes = self.used.next_multiple_of(SECTOR_BYTES);
            self.buffer[self.used..bytes].fill(0);
            self.flush(bytes)?;
        }
        self.file
            .sync()
            .map_err(|error| Error::io(format_args!("could not sync \"{}\"", self.path.display()), &error))?;
        Ok(self.written)
    }
}

/// Reads sections.
pub(crate) struct PartReader {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) directory: PathBuf,
    pub(crate) database: Uuid,
}

/// The bytes of a section: whole chunks whose content has been checked.
pub(crate) struct SectionBytes {
    bytes: Vec<u8>,
    /// Where in `bytes` the entries of each chunk are.
    chunks: Vec<std::ops::Range<usize>>,
    path: PathBuf,
}

impl PartReader {
    /// Reads a section into this memory and checks it.
    pub(crate) fn read(&self, section: &Section, memory: Vec<u8>) -> Result<SectionBytes> {
        let path = section.file.path(&self.directory);
        let file = self.disk.open_read(&path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                Error::corrupt(format!("\"{}\" is missing, a part of the checkpoint", path.display()))
            }
            _ => Error::io(format_args!("could not read \"{}\"", path.display()), &error),
        })?;
        let length = file.len().map_err(|error| read_failed(&path, &error))?;
        let damaged = |offset: u64, reason: &str| {
            Error::corrupt(format!(
                "\"{}\", a part of the checkpoint, is damaged at byte {offset}: {reason}",
                path.display()
            ))
        };
        if section.offset.checked_add(section.bytes).is_none_or(|end| end > length) {
            return Err(damaged(length, "it is shorter than it was"));
        }
        let mut bytes = memory;
        bytes.resize(section.bytes as usize, 0);
        let read = file.read_at(section.offset, &mut bytes).map_err(|error| read_failed(&path, &error))?;
        if read < bytes.len() {
            return Err(damaged(section.offset + read as u64, "it is shorter than it was"));
        }
        let mut chunks = Vec::new();
        let (mut place, mut entries) = (0, 0);
        while place < bytes.len() {
            let offset = section.offset + place as u64;
            let Some((length, count, expected)) = header(&bytes[place..]) else {
                return Err(damaged(offset, "the header of a chunk is wrong"));
            };
            let range = place + HEADER_BYTES..place + HEADER_BYTES + length;
            let Some(content) = bytes.get(range.clone()) else {
                return Err(damaged(offset, "the header of a chunk is wrong"));
            };
            if checksum(self.database, section.file, offset, content) != expected {
                return Err(damaged(offset, "the checksum of a chunk is wrong"));
            }
            entries += u64::from(count);
            place = range.end;
            chunks.push(range);
        }
        if entries != section.entries {
            return Err(damaged(section.offset, "it does not have as many rows as it had"));
        }
        Ok(SectionBytes { bytes, chunks, path })
    }
}

/// Length, number of entries and checksum of a chunk.
fn header(bytes: &[u8]) -> Option<(usize, u32, u32)> {
    let word = |place: usize| bytes.get(place..place + 4)?.try_into().ok().map(u32::from_le_bytes);
    let (length, entries, checksum) = (word(0)? as usize, word(4)?, word(8)?);
    (length <= MAX_CHUNK_BYTES).then_some((length, entries, checksum))
}

impl SectionBytes {
    /// The memory, for reuse.
    pub(crate) fn into_memory(self) -> Vec<u8> {
        self.bytes
    }

    /// Passes keys and rows to `see`, in the order in which they were added.
    pub(crate) fn for_each<'s>(
        &'s self,
        mut see: impl FnMut(&'s [u8], Option<&'s [u8]>) -> Result<()>,
    ) -> Result<()> {
        for range in &self.chunks {
            let (bytes, mut offset) = (&self.bytes[range.clone()], 0);
            while offset < bytes.len() {
                let (key, row) = read_entry(bytes, &mut offset).ok_or_else(|| self.malformed())?;
                see(key, row)?;
            }
        }
        Ok(())
    }

    fn malformed(&self) -> Error {
        let path = self.path.display();
        Error::corrupt(format!("\"{path}\", a part of the checkpoint, is damaged: its rows are malformed"))
    }
}

/// Reads the entry at `offset` and moves `offset` past it, or to the end of the bytes if they are malformed.
fn read_entry<'b>(bytes: &'b [u8], offset: &mut usize) -> Option<(&'b [u8], Option<&'b [u8]>)> {
    let mut place = std::mem::replace(offset, bytes.len());
    let key_bytes = read_varint(bytes, &mut place).ok()?;
    let key = take(bytes, &mut place, key_bytes)?;
    let row = match read_varint(bytes, &mut place).ok()?.checked_sub(1) {
        None => None,
        Some(row_bytes) => Some(take(bytes, &mut place, row_bytes)?),
    };
    *offset = place;
    Some((key, row))
}

fn take<'b>(bytes: &'b [u8], place: &mut usize, length: u64) -> Option<&'b [u8]> {
    let end = place.checked_add(usize::try_from(length).ok()?)?;
    let taken = bytes.get(*place..end)?;
    *place = end;
    Some(taken)
}

fn read_failed(path: &Path, error: &std::io::Error) -> Error {
    Error::io(format_args!("could not read \"{}\"", path.display()), error)
}

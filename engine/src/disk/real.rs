//! The operating system's files.
//!
//! Durable writes go through a second descriptor opened with O_DIRECT and are made with RWF_DSYNC: one system
//! call, no page cache, and, on sectors that already belong to the file, no metadata. Where the file system
//! refuses O_DIRECT they are a buffered write and fdatasync. docs/decisions/2026-11-21-log-io.md has the
//! figures behind the choice.

mod sector;
#[cfg(all(test, not(loom)))]
mod tests;

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, IoSlice};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{FlockOperation, OFlags};
use rustix::io::{Errno, ReadWriteFlags};

use super::{Disk, File, LEAST_SECTOR_BYTES, SECTOR_BYTES};

/// The operating system's file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

struct RealFile {
    buffered: fs::File,
    direct: Option<fs::File>,
    /// Direct writes were refused. They are not tried again.
    is_direct_refused: AtomicBool,
}

impl RealDisk {
    fn open_with(path: &Path, options: &OpenOptions, is_written: bool) -> io::Result<Box<dyn File>> {
        let buffered = options.open(path)?;
        let direct = if is_written {
            let mut options = OpenOptions::new();
            options.write(true).custom_flags(OFlags::DIRECT.bits() as i32);
            // Refused with EINVAL where the file system has no direct I/O.
            options.open(path).ok()
        } else {
            None
        };
        Ok(Box::new(RealFile { buffered, direct, is_direct_refused: AtomicBool::new(false) }))
    }
}

impl Disk for RealDisk {
    fn create_directory(&self, path: &Path) -> io::Result<()> {
        if path.is_dir() {
            return Ok(());
        }
        if let Some(parent) = path.parent() {
            // Existing parents of the directory are not ours. Missing ones get their mode from the mask.
            fs::create_dir_all(parent)?;
        }
        DirBuilder::new().mode(0o700).create(path)
    }

    fn restrict_directory(&self, path: &Path) -> io::Result<bool> {
        let mode = fs::metadata(path)?.permissions().mode();
        // As in PostgreSQL, the owner may let the group read.
        if mode & 0o027 == 0 {
            return Ok(false);
        }
        fs::set_permissions(path, Permissions::from_mode(mode & 0o7700)).map(|()| true)
    }

    fn sector_bytes(&self, directory: &Path, wanted: Option<usize>) -> io::Result<usize> {
        sector::sector_bytes(directory, wanted)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        fs::read_dir(directory)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    fn exists(&self, path: &Path) -> bool {
        // If it cannot be determined, assume that it exists: opening it will say what is wrong.
        path.try_exists().unwrap_or(true)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn File>> {
        RealDisk::open_with(
            path,
            OpenOptions::new().read(true).write(true).create_new(true).mode(0o600),
            true,
        )
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn File>> {
        RealDisk::open_with(path, OpenOptions::new().read(true).write(true), true)
    }

    fn open_read(&self, path: &Path) -> io::Result<Box<dyn File>> {
        RealDisk::open_with(path, OpenOptions::new().read(true), false)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        fs::File::open(directory)?.sync_all()
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        Ok(Box::new(FileLock::take(path)?))
    }
}

/// An exclusive lock of the operating system. It is given up explicitly, because closing the file would not
/// do so as long as a child process, perhaps forked by another thread meanwhile, has inherited the file and
/// has not yet executed its own program.
pub(super) struct FileLock(pub(super) fs::File);

impl FileLock {
    pub(super) fn take(path: &Path) -> io::Result<FileLock> {
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        Ok(FileLock(file))
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // Nothing can be done about a failure, and the end of the process releases the lock anyway.
        let _ = rustix::fs::flock(&self.0, FlockOperation::Unlock);
    }
}

impl RealFile {
    /// The direct descriptor, if these bytes can go through it, on sectors of this size.
    fn direct_for(&self, offset: u64, bytes: &[u8], sector_bytes: usize) -> Option<&fs::File> {
        let is_aligned = |value: usize| value.is_multiple_of(sector_bytes);
        let fits =
            is_aligned(bytes.as_ptr().addr()) && is_aligned(bytes.len()) && is_aligned(offset as usize);
        let direct = self.direct.as_ref().filter(|_| fits)?;
        (!self.is_direct_refused.load(Ordering::Relaxed)).then_some(direct)
    }

    /// Writes through the direct descriptor. `false`: refused, and what was written cannot be relied on.
    fn write_direct(
        &self,
        file: &fs::File,
        offset: u64,
        bytes: &[u8],
        flags: ReadWriteFlags,
    ) -> io::Result<bool> {
        let write = |bytes: &[u8], offset| rustix::io::pwritev2(file, &[IoSlice::new(bytes)], offset, flags);
        match write_whole_sectors(offset, bytes, write)? {
            Direct::Written => Ok(true),
            Direct::Stuck => Ok(false),
            Direct::Refused => {
                self.is_direct_refused.store(true, Ordering::Relaxed);
                Ok(false)
            }
        }
    }
}

/// The outcome of a direct write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direct {
    Written,
    /// A call stopped within the first sector of the rest.
    Stuck,
    /// The file system has no direct I/O.
    Refused,
}

/// Writes all bytes by calls that may write less, or be interrupted. After a short write the rest starts with
/// the sector in which that write stopped, because direct I/O must start at a sector, and nothing relies on
/// that sector yet.
fn write_whole_sectors(
    offset: u64,
    bytes: &[u8],
    mut write: impl FnMut(&[u8], u64) -> rustix::io::Result<usize>,
) -> io::Result<Direct> {
    let mut written = 0;
    while written < bytes.len() {
        match write(&bytes[written..], offset + written as u64) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) if written + count == bytes.len() => return Ok(Direct::Written),
            Ok(count) if count < SECTOR_BYTES => return Ok(Direct::Stuck),
            Ok(count) => written += count / SECTOR_BYTES * SECTOR_BYTES,
            Err(Errno::INTR) => {}
            Err(Errno::INVAL | Errno::OPNOTSUPP) if written == 0 => return Ok(Direct::Refused),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Direct::Written)
}

impl File for RealFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut read = 0;
        while read < buffer.len() {
            match self.buffered.read_at(&mut buffer[read..], offset + read as u64) {
                Ok(0) => break,
                Ok(count) => read += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(read)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if let Some(direct) = self.direct_for(offset, bytes, SECTOR_BYTES)
            && self.write_direct(direct, offset, bytes, ReadWriteFlags::empty())?
        {
            return Ok(());
        }
        self.buffered.write_all_at(bytes, offset)
    }

    fn write_durable(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        assert!(
            offset.is_multiple_of(LEAST_SECTOR_BYTES as u64)
                && bytes.len().is_multiple_of(LEAST_SECTOR_BYTES),
            "durable writes are whole sectors"
        );
        if let Some(direct) = self.direct_for(offset, bytes, LEAST_SECTOR_BYTES)
            && self.write_direct(direct, offset, bytes, ReadWriteFlags::DSYNC)?
        {
            return Ok(());
        }
        self.buffered.write_all_at(bytes, offset)?;
        self.buffered.sync_data()
    }

    fn sync(&self) -> io::Result<()> {
        self.buffered.sync_all()
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.buffered.metadata()?.len())
    }

    fn truncate(&self, bytes: u64) -> io::Result<()> {
        self.buffered.set_len(bytes)
    }
}

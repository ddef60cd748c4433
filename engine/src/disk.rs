//! All access to files that are read again later (those of `spill` end with their statement), so that a
//! simulator can lose, tear, delay or fail every byte.
//!
//! Assumptions about the media:
//! * A sector ([`Disk::sector_bytes`]) is the unit of tearing: a write to one leaves its neighbours alone.
//! * A write that has not been followed by a successful sync (or was not made with [`File::write_durable`])
//!   may be lost, kept, or kept in part, in any order.
//! * A rename is atomic, and durable after [`Disk::sync_directory`].
//! * A failed sync means that the state of the file is unknown: it is never retried (pitfall 9).
//!
//! Only the user who runs the database may access its files: directories are created with mode 0700, files
//! with 0600, whatever the process's mask says, as in PostgreSQL.
//!
//! Files:
//! * `real`: files of the operating system, with `aligned` for the memory that direct I/O takes;
//! * `memory_files`: files that end with their process;
//! * `controlled`: files whose writes a unit test can hang or fail.

mod aligned;
mod memory_files;
mod real;

#[cfg(all(test, not(loom)))]
pub(crate) mod controlled;
#[cfg(all(test, not(loom)))]
mod tests;

use std::io;
use std::path::Path;

use hyades_types::error::{Error, Result};

pub use aligned::AlignedBuffer;
pub use memory_files::MemoryDisk;
pub use real::RealDisk;

/// The largest sector, and the alignment of everything in files.
pub const SECTOR_BYTES: usize = 4096;
/// The smallest sector.
pub const LEAST_SECTOR_BYTES: usize = 512;

/// A file system.
pub trait Disk: Send + Sync {
    /// Creates the directory, and those above it, if it does not exist.
    fn create_directory(&self, path: &Path) -> io::Result<()>;
    /// Revokes the access of all users but the owner to a directory, if it goes beyond reading by the group.
    /// Says whether it did.
    fn restrict_directory(&self, path: &Path) -> io::Result<bool> {
        let _ = path;
        Ok(false)
    }
    /// The smallest unit that can be written durably in this directory by itself, without touching the bytes
    /// next to it: a power of two from [`LEAST_SECTOR_BYTES`] to [`SECTOR_BYTES`], the largest being safe
    /// everywhere. `wanted`: a size set by the operator, who may know more than the device tells.
    ///
    /// # Errors
    /// Units that small cannot be written there.
    fn sector_bytes(&self, directory: &Path, wanted: Option<usize>) -> io::Result<usize> {
        let _ = directory;
        Ok(wanted.unwrap_or(SECTOR_BYTES))
    }
    /// File names in a directory, in no particular order.
    fn list(&self, directory: &Path) -> io::Result<Vec<String>>;
    fn exists(&self, path: &Path) -> bool;
    /// Creates the file, which must not exist.
    fn create(&self, path: &Path) -> io::Result<Box<dyn File>>;
    /// Opens an existing file for reading and writing.
    fn open(&self, path: &Path) -> io::Result<Box<dyn File>>;
    /// Opens an existing file for reading only.
    fn open_read(&self, path: &Path) -> io::Result<Box<dyn File>>;
    /// Creates or replaces a file as a whole: a reader finds all of the old content or all of the new, after
    /// a crash too. Durable after [`Disk::sync_directory`]. `fill` writes the content, from its beginning to
    /// its end. Returns how many bytes were stored.
    fn replace(&self, path: &Path, fill: &mut dyn FnMut(&dyn File) -> io::Result<()>) -> io::Result<u64> {
        let temporary = path.with_extension("new");
        if self.exists(&temporary) {
            self.remove(&temporary)?;
        }
        let file = self.create(&temporary)?;
        fill(&*file)?;
        file.sync()?;
        let bytes = file.len()?;
        drop(file);
        self.rename(&temporary, path)?;
        Ok(bytes)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Makes creations, renames and removals in the directory durable.
    fn sync_directory(&self, directory: &Path) -> io::Result<()>;
    /// Takes an exclusive lock that ends with the returned guard or with the process. `WouldBlock` if another
    /// process holds it.
    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>>;
}

/// An open file. All offsets in bytes.
pub trait File: Send + Sync {
    /// Reads up to `buffer.len()` bytes, fewer only at the end of the file.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
    /// Writes all of `bytes`, not durably.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Writes whole sectors from a sector-aligned buffer ([`AlignedBuffer`]) and returns when they are
    /// durable.
    fn write_durable(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Makes the file's content and length durable.
    fn sync(&self) -> io::Result<()>;
    fn len(&self) -> io::Result<u64>;
    /// Whether the file has no content.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
    /// Frees the space after the first `bytes`. An implementation may keep it.
    fn truncate(&self, bytes: u64) -> io::Result<()> {
        let _ = bytes;
        Ok(())
    }
}

/// [`Disk::restrict_directory`], with a warning if others had access to the directory. Failing to change that
/// is an error, as in PostgreSQL.
pub(crate) fn restrict(disk: &dyn Disk, directory: &Path) -> Result<()> {
    let name = directory.display();
    match disk.restrict_directory(directory) {
        Ok(false) => Ok(()),
        Ok(true) => {
            tracing::warn!(
                "others than its owner had access to \"{name}\": its permissions are now u=rwx (0700)"
            );
            Ok(())
        }
        Err(error) => {
            let what = format!(
                "others than its owner have access to \"{name}\", and its permissions could not be changed"
            );
            Err(Error::io(what, &error))
        }
    }
}

//! A disk in memory for this crate's unit tests. Tests can make its writes fail, hang, or run out of space.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{Condvar, Mutex};

use super::{Disk, File, LEAST_SECTOR_BYTES, MemoryDisk, SECTOR_BYTES};

#[derive(Default)]
struct Controls {
    fail_durable_writes: AtomicBool,
    fail_removals: AtomicBool,
    has_small_sectors: AtomicBool,
    /// Zero: unlimited.
    capacity_bytes: AtomicU64,
    used_bytes: AtomicU64,
    durable_writes: AtomicU64,
    /// Durable writes hang to files whose paths contain this.
    held: Mutex<Option<&'static str>>,
    released: Condvar,
}

/// See the module documentation.
#[derive(Clone, Default)]
pub(crate) struct ControlledDisk {
    files: Arc<MemoryDisk>,
    controls: Arc<Controls>,
}

struct ControlledFile {
    file: Box<dyn File>,
    path: PathBuf,
    controls: Arc<Controls>,
}

impl ControlledDisk {
    pub(crate) fn shared() -> (ControlledDisk, Arc<dyn Disk>) {
        let disk = ControlledDisk::default();
        (disk.clone(), Arc::new(disk))
    }

    /// Logs that begin from now on have sectors of 512 bytes.
    pub(crate) fn make_sectors_small(&self) {
        self.controls.has_small_sectors.store(true, Ordering::SeqCst);
    }

    /// From now on durable writes fail.
    pub(crate) fn fail_durable_writes(&self) {
        self.controls.fail_durable_writes.store(true, Ordering::SeqCst);
    }

    /// Whether removing files fails.
    pub(crate) fn fail_removals(&self, is_failing: bool) {
        self.controls.fail_removals.store(is_failing, Ordering::SeqCst);
    }

    /// The bytes of a file.
    pub(crate) fn content(&self, path: &Path) -> Vec<u8> {
        let file = self.files.open(path).expect("the file exists");
        let mut bytes = vec![0; file.len().expect("known") as usize];
        file.read_at(0, &mut bytes).expect("read");
        bytes
    }

    /// Limits the total size of all files. Zero: no limit.
    pub(crate) fn limit_space(&self, bytes: u64) {
        self.controls.capacity_bytes.store(bytes, Ordering::SeqCst);
    }

    pub(crate) fn used_bytes(&self) -> u64 {
        self.controls.used_bytes.load(Ordering::SeqCst)
    }

    pub(crate) fn durable_writes(&self) -> u64 {
        self.controls.durable_writes.load(Ordering::SeqCst)
    }

    /// Makes durable writes hang until released.
    pub(crate) fn hold_durable_writes(&self, is_held: bool) {
        self.hold_durable_writes_in(is_held.then_some(""));
    }

    /// Makes durable writes hang to files whose paths contain this, and no others.
    pub(crate) fn hold_durable_writes_in(&self, part: Option<&'static str>) {
        *self.controls.held.lock() = part;
        self.controls.released.notify_all();
    }

    /// Changes a file's bytes without the knowledge of the code under test.
    pub(crate) fn edit(&self, path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
        let file = self.files.open(path).expect("the file exists");
        let mut bytes = self.content(path);
        change(&mut bytes);
        file.truncate(bytes.len() as u64).expect("truncated");
        file.write_at(0, &bytes).expect("written");
    }

    fn wrap(&self, file: Box<dyn File>, path: &Path) -> Box<dyn File> {
        Box::new(ControlledFile { file, path: path.to_owned(), controls: Arc::clone(&self.controls) })
    }
}

impl Disk for ControlledDisk {
    fn sector_bytes(&self, _directory: &Path, wanted: Option<usize>) -> io::Result<usize> {
        let is_small = self.controls.has_small_sectors.load(Ordering::SeqCst);
        Ok(wanted.unwrap_or(if is_small { LEAST_SECTOR_BYTES } else { SECTOR_BYTES }))
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.files.create_directory(path)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        self.files.list(directory)
    }

    fn exists(&self, path: &Path) -> bool {
        self.files.exists(path)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn File>> {
        Ok(self.wrap(self.files.create(path)?, path))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn File>> {
        Ok(self.wrap(self.files.open(path)?, path))
    }

    fn open_read(&self, path: &Path) -> io::Result<Box<dyn File>> {
        Ok(self.wrap(self.files.open_read(path)?, path))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.files.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        if self.controls.fail_removals.load(Ordering::SeqCst) {
            return Err(io::Error::other("planned failure"));
        }
        let bytes = self.files.open(path)?.len()?;
        self.files.remove(path)?;
        self.controls.used_bytes.fetch_sub(bytes, Ordering::SeqCst);
        Ok(())
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        self.files.sync_directory(directory)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        self.files.lock(path)
    }
}

impl File for ControlledFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let more = (offset + bytes.len() as u64).saturating_sub(self.len()?);
        let capacity = self.controls.capacity_bytes.load(Ordering::SeqCst);
        if more > 0 && capacity > 0 && self.controls.used_bytes.load(Ordering::SeqCst) + more > capacity {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.controls.used_bytes.fetch_add(more, Ordering::SeqCst);
        self.file.write_at(offset, bytes)
    }

    fn write_durable(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut held = self.controls.held.lock();
        while held.is_some_and(|part| self.path.to_string_lossy().contains(part)) {
            self.controls.released.wait(&mut held);
        }
        drop(held);
        if self.controls.fail_durable_writes.load(Ordering::SeqCst) {
            return Err(io::Error::other("planned failure"));
        }
        self.controls.durable_writes.fetch_add(1, Ordering::SeqCst);
        self.write_at(offset, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn truncate(&self, bytes: u64) -> io::Result<()> {
        let less = self.len()?.saturating_sub(bytes);
        self.file.truncate(bytes)?;
        self.controls.used_bytes.fetch_sub(less, Ordering::SeqCst);
        Ok(())
    }
}

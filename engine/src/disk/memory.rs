//! A disk in memory for this crate's unit tests: everything written is there, on demand writes fail or space ends.
//! (Crashes that lose or tear sectors are the business of the simulator in `sim/`.)

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{Condvar, Mutex};

use super::{Disk, File};

type Content = Arc<Mutex<Vec<u8>>>;

#[derive(Default)]
struct Controls {
    fail_durable_writes: AtomicBool,
    /// Zero: unlimited.
    capacity_bytes: AtomicU64,
    used_bytes: AtomicU64,
    durable_writes: AtomicU64,
    is_held: Mutex<bool>,
    released: Condvar,
}

/// See the file head.
#[derive(Clone, Default)]
pub(crate) struct MemoryDisk {
    files: Arc<Mutex<BTreeMap<PathBuf, Content>>>,
    locks: Arc<Mutex<Vec<PathBuf>>>,
    controls: Arc<Controls>,
}

struct MemoryFile {
    content: Content,
    controls: Arc<Controls>,
}

struct MemoryLock(Arc<Mutex<Vec<PathBuf>>>, PathBuf);

impl Drop for MemoryLock {
    fn drop(&mut self) {
        self.0.lock().retain(|path| *path != self.1);
    }
}

impl MemoryDisk {
    pub(crate) fn shared() -> (MemoryDisk, Arc<dyn Disk>) {
        let disk = MemoryDisk::default();
        (disk.clone(), Arc::new(disk))
    }

    /// From now on durable writes fail.
    pub(crate) fn fail_durable_writes(&self) {
        self.controls.fail_durable_writes.store(true, Ordering::SeqCst);
    }

    /// Files may take this many bytes altogether; zero for no limit.
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
        *self.controls.is_held.lock() = is_held;
        self.controls.released.notify_all();
    }

    /// Changes a file's bytes behind everybody's back.
    pub(crate) fn edit(&self, path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
        let files = self.files.lock();
        change(&mut files.get(path).expect("the file exists").lock());
    }

    fn file(&self, path: &Path) -> io::Result<Box<dyn File>> {
        let files = self.files.lock();
        let content = files.get(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(MemoryFile { content: Arc::clone(content), controls: Arc::clone(&self.controls) }))
    }
}

impl Disk for MemoryDisk {
    fn create_directory(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        let files = self.files.lock();
        let inside = files.keys().filter_map(|path| path.strip_prefix(directory).ok());
        let mut names: Vec<String> = inside
            .filter_map(|path| Some(path.components().next()?.as_os_str().to_string_lossy().into_owned()))
            .collect();
        names.dedup();
        Ok(names)
    }

    fn exists(&self, path: &Path) -> bool {
        self.files.lock().contains_key(path)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn File>> {
        let mut files = self.files.lock();
        if files.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        files.insert(path.to_owned(), Content::default());
        drop(files);
        self.file(path)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn File>> {
        self.file(path)
    }

    fn open_read(&self, path: &Path) -> io::Result<Box<dyn File>> {
        self.file(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut files = self.files.lock();
        let content = files.remove(from).ok_or(io::ErrorKind::NotFound)?;
        files.insert(to.to_owned(), content);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let content = self.files.lock().remove(path).ok_or(io::ErrorKind::NotFound)?;
        let length = content.lock().len() as u64;
        self.controls.used_bytes.fetch_sub(length, Ordering::SeqCst);
        Ok(())
    }

    fn sync_directory(&self, _directory: &Path) -> io::Result<()> {
        Ok(())
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        let mut locks = self.locks.lock();
        if locks.iter().any(|locked| locked == path) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        locks.push(path.to_owned());
        Ok(Box::new(MemoryLock(Arc::clone(&self.locks), path.to_owned())))
    }
}

impl File for MemoryFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let content = self.content.lock();
        let start = (offset as usize).min(content.len());
        let length = buffer.len().min(content.len() - start);
        buffer[..length].copy_from_slice(&content[start..start + length]);
        Ok(length)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut content = self.content.lock();
        let end = offset as usize + bytes.len();
        if end > content.len() {
            let more = (end - content.len()) as u64;
            let capacity = self.controls.capacity_bytes.load(Ordering::SeqCst);
            if capacity > 0 && self.controls.used_bytes.load(Ordering::SeqCst) + more > capacity {
                return Err(io::Error::from_raw_os_error(28));
            }
            self.controls.used_bytes.fetch_add(more, Ordering::SeqCst);
            content.resize(end, 0);
        }
        content[offset as usize..end].copy_from_slice(bytes);
        Ok(())
    }

    fn write_durable(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut is_held = self.controls.is_held.lock();
        while *is_held {
            self.controls.released.wait(&mut is_held);
        }
        drop(is_held);
        if self.controls.fail_durable_writes.load(Ordering::SeqCst) {
            return Err(io::Error::other("planned failure"));
        }
        self.controls.durable_writes.fetch_add(1, Ordering::SeqCst);
        self.write_at(offset, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.content.lock().len() as u64)
    }

    fn truncate(&self, bytes: u64) -> io::Result<()> {
        let mut content = self.content.lock();
        let less = content.len() as u64 - bytes;
        self.controls.used_bytes.fetch_sub(less, Ordering::SeqCst);
        content.truncate(bytes as usize);
        Ok(())
    }
}

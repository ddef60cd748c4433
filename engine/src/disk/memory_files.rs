//! Files in memory, for databases that may end with their process, and for measurements without a device.
//! They consist of pieces of one mebibyte and grow without being copied. (Crashes that lose or tear sectors
//! are simulated in `sim/`.)

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

use super::{Disk, File};

const PIECE_BYTES: usize = 1 << 20;

#[derive(Default)]
struct Content {
    pieces: Vec<Box<[u8]>>,
    length: usize,
}

type Shared = Arc<RwLock<Content>>;

/// A file system without a device.
#[derive(Default)]
pub struct MemoryDisk {
    files: Mutex<BTreeMap<PathBuf, Shared>>,
    locks: Arc<Mutex<Vec<PathBuf>>>,
}

struct MemoryFile(Shared);

struct MemoryLock(Arc<Mutex<Vec<PathBuf>>>, PathBuf);

impl Drop for MemoryLock {
    fn drop(&mut self) {
        self.0.lock().retain(|path| *path != self.1);
    }
}

impl Content {
    /// The stretches of the range that lie in one piece each, with the place of each stretch in the range.
    fn stretches(offset: usize, length: usize) -> impl Iterator<Item = (usize, usize, usize, usize)> {
        let mut done = 0;
        std::iter::from_fn(move || {
            let (piece, start) = ((offset + done) / PIECE_BYTES, (offset + done) % PIECE_BYTES);
            let bytes = (length - done).min(PIECE_BYTES - start);
            let stretch = (piece, start, done, bytes);
            done += bytes;
            (bytes > 0).then_some(stretch)
        })
    }

    fn write(&mut self, offset: usize, bytes: &[u8]) {
        let end = offset + bytes.len();
        while self.pieces.len() * PIECE_BYTES < end {
            self.pieces.push(vec![0; PIECE_BYTES].into_boxed_slice());
        }
        self.length = self.length.max(end);
        for (piece, start, done, length) in Content::stretches(offset, bytes.len()) {
            self.pieces[piece][start..start + length].copy_from_slice(&bytes[done..done + length]);
        }
    }

    fn read(&self, offset: usize, buffer: &mut [u8]) -> usize {
        let bytes = buffer.len().min(self.length.saturating_sub(offset));
        for (piece, start, done, length) in Content::stretches(offset, bytes) {
            buffer[done..done + length].copy_from_slice(&self.pieces[piece][start..start + length]);
        }
        bytes
    }

    fn truncate(&mut self, length: usize) {
        self.pieces.truncate(length.div_ceil(PIECE_BYTES));
        if let Some(last) = self.pieces.last_mut().filter(|_| !length.is_multiple_of(PIECE_BYTES)) {
            last[length % PIECE_BYTES..].fill(0);
        }
        self.length = self.length.min(length);
    }
}

impl MemoryDisk {
    fn file(&self, path: &Path) -> io::Result<Box<dyn File>> {
        let files = self.files.lock();
        let content = files.get(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(MemoryFile(Arc::clone(content))))
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
        files.insert(path.to_owned(), Shared::default());
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
        self.files.lock().remove(path).map(drop).ok_or_else(|| io::ErrorKind::NotFound.into())
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
        Ok(self.0.read().read(offset as usize, buffer))
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write().write(offset as usize, bytes);
        Ok(())
    }

    fn write_durable(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.write_at(offset, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.read().length as u64)
    }

    fn truncate(&self, bytes: u64) -> io::Result<()> {
        self.0.write().truncate(bytes as usize);
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn files_keep_what_is_written_across_pieces() {
        let disk = MemoryDisk::default();
        let path = Path::new("/d/a");
        let file = disk.create(path).expect("created");
        let bytes: Vec<u8> = (0..PIECE_BYTES + 100).map(|at| at as u8).collect();
        file.write_at(PIECE_BYTES as u64 - 50, &bytes).expect("written");
        let mut read = vec![1; bytes.len() + 10];
        let length = disk.open_read(path).expect("there").read_at(PIECE_BYTES as u64 - 50, &mut read);
        assert_eq!(length.expect("read"), bytes.len());
        assert_eq!(read[..bytes.len()], bytes);
        file.truncate(PIECE_BYTES as u64 + 1).expect("truncated");
        assert_eq!(file.len().expect("known"), PIECE_BYTES as u64 + 1);
        file.write_at(PIECE_BYTES as u64 + 2, &[7]).expect("written");
        let mut tail = [9; 4];
        assert_eq!(file.read_at(PIECE_BYTES as u64, &mut tail).expect("read"), 3);
        assert_eq!(tail, [50, 0, 7, 9]);
        assert_eq!(disk.list(Path::new("/d")).expect("listed"), ["a"]);
    }
}

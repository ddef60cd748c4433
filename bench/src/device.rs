//! Simulated devices: a layer between the engine and its files while it is measured.
//!
//! A [`Machine`] holds the files of one database and hands out [`Disk`]s on them. Each of these can lose its
//! power ([`Machine::crash`]): from then on nothing that is written through it reaches a file, whatever the
//! engine above still tries, and its lock is free. In this way a benchmark crashes a database inside its own
//! process: no shutdown path has any effect.
//!
//! | kind | files | bandwidth for each log directory | latency of a durable write | concurrent writes |
//! |---|---|---|---|---|
//! | real | the operating system's | its own | its own | |
//! | ram | in memory | | | |
//! | hdd | in memory | 160 MB/s, scaled | 8 ms | 1 |
//! | sata | in memory | 500 MB/s, scaled | 100 us | 32 |
//! | nvme | in memory | 2 GB/s, scaled | 20 us | 64 |
//!
//! *Scaled*: times workers / 80, so that bandwidth for each second of processor time is that of the machine
//! in the paper, which had 80 workers (at 2 workers, eight hard disks of 160 MB/s give 32 MB/s together).
//! Latencies are not scaled. Waits sleep and never spin: the processor belongs to the workers. A token bucket
//! of a few milliseconds makes up for a sleep that lasts too long. The latency of one write is then longer
//! than the device's, never shorter.
//!
//! While the throttle is on it charges durable writes and, once for each stretch of a file after a start,
//! reads of segment files (what was read stays in the operating system's cache). Zeroing a segment in advance
//! is not charged: a throttled device would pay for every byte twice, and how zeroes are made (fallocate,
//! discard, recycling) is the file system's business.

mod throttle;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use clap::ValueEnum;
use hyades_engine::disk::{Disk, File, MemoryDisk, RealDisk};
use parking_lot::{Mutex, RwLock};

use throttle::Spindle;
pub use throttle::{BUCKET, Profile, SHORTEST_SLEEP};

/// What the logs are written to: real files, or memory with the bandwidth and latency of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DeviceKind {
    /// 160 MB/s and 8 ms, for each log directory; bandwidth scaled to the number of workers.
    Hdd,
    /// 500 MB/s and 100 us.
    Sata,
    /// 2 GB/s and 20 us.
    Nvme,
    /// Bytes stay in memory, and nothing waits.
    Ram,
    /// The file system under --directory.
    Real,
}

impl DeviceKind {
    pub fn name(self) -> &'static str {
        match self {
            DeviceKind::Hdd => "hdd",
            DeviceKind::Sata => "sata",
            DeviceKind::Nvme => "nvme",
            DeviceKind::Ram => "ram",
            DeviceKind::Real => "real",
        }
    }

    /// Its speed, not scaled. `None` where nothing is throttled.
    pub fn profile(self) -> Option<Profile> {
        match self {
            DeviceKind::Hdd => Some(Profile { bytes_per_second: 160e6, latency_us: 8_000, at_once: 1 }),
            DeviceKind::Sata => Some(Profile { bytes_per_second: 500e6, latency_us: 100, at_once: 32 }),
            DeviceKind::Nvme => Some(Profile { bytes_per_second: 2e9, latency_us: 20, at_once: 64 }),
            DeviceKind::Ram | DeviceKind::Real => None,
        }
    }

    /// Bytes per second of one log directory for this many workers. `None` where nothing is throttled.
    pub fn bandwidth(self, workers: u64) -> Option<f64> {
        self.profile().map(|profile| profile.bytes_per_second * workers as f64 / PAPER_WORKERS)
    }
}

/// Workers of the paper's machine.
const PAPER_WORKERS: f64 = 80.0;

/// The bytes that were written durably, and the number of writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    pub bytes: u64,
    pub syncs: u64,
}

impl Written {
    /// The difference to `before`.
    pub fn since(self, before: Written) -> Written {
        Written { bytes: self.bytes - before.bytes, syncs: self.syncs - before.syncs }
    }
}

#[derive(Default)]
struct Counters {
    bytes: AtomicU64,
    syncs: AtomicU64,
}

/// The devices with their directories.
type Spindles = Arc<[(PathBuf, Spindle)]>;

/// The files and devices of one database. See the module head.
pub struct Machine {
    files: Arc<dyn Disk>,
    spindles: Spindles,
    is_throttled: Arc<AtomicBool>,
    counters: Arc<Counters>,
    power: Mutex<Arc<Power>>,
}

/// Whether writes through a [`PoweredDisk`] still arrive.
#[derive(Default)]
struct Power {
    /// Held for reading by every operation that changes a file, so that a crash falls between two of them.
    is_off: RwLock<bool>,
    lock: Mutex<Option<Box<dyn Send + Sync>>>,
    /// For each file, how far it has been read from its beginning: that part is in the cache.
    cached: Mutex<HashMap<PathBuf, u64>>,
}

impl Power {
    fn run<T>(&self, operation: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let is_off = self.is_off.read();
        if *is_off { Err(io::Error::other("the simulated machine has no power")) } else { operation() }
    }

    /// How many of these bytes have not been read before.
    fn first_read(&self, path: &Path, offset: u64, bytes: usize) -> usize {
        let mut cached = self.cached.lock();
        let known = match cached.get_mut(path) {
            Some(known) => known,
            None => cached.entry(path.to_owned()).or_default(),
        };
        let end = offset + bytes as u64;
        let new = end.saturating_sub((*known).max(offset));
        *known = (*known).max(end);
        new as usize
    }
}

impl Machine {
    /// Makes one device for each of these log directories.
    pub fn new(kind: DeviceKind, log_directories: &[PathBuf], workers: u64) -> Machine {
        let spindles = kind.profile().into_iter().flat_map(|profile| {
            let scaled = Profile {
                bytes_per_second: profile.bytes_per_second * workers as f64 / PAPER_WORKERS,
                ..profile
            };
            log_directories.iter().map(move |directory| (directory.clone(), Spindle::new(scaled)))
        });
        let files: Arc<dyn Disk> = match kind {
            DeviceKind::Real => Arc::new(RealDisk),
            _ => Arc::new(MemoryDisk::default()),
        };
        Machine {
            files,
            spindles: spindles.collect(),
            is_throttled: Arc::default(),
            counters: Arc::default(),
            power: Mutex::default(),
        }
    }

    /// A disk on the machine's files, with power until the next crash.
    pub fn disk(&self) -> Arc<dyn Disk> {
        Arc::new(PoweredDisk {
            files: Arc::clone(&self.files),
            spindles: Arc::clone(&self.spindles),
            is_throttled: Arc::clone(&self.is_throttled),
            counters: Arc::clone(&self.counters),
            power: Arc::clone(&self.power.lock()),
        })
    }

    /// The files themselves, even if disks have lost their power.
    pub fn files(&self) -> &Arc<dyn Disk> {
        &self.files
    }

    /// Whether devices are slow. At first they are not, so that loading is quick.
    pub fn throttle(&self, is_throttled: bool) {
        self.is_throttled.store(is_throttled, Ordering::Relaxed);
    }

    pub fn written(&self) -> Written {
        Written {
            bytes: self.counters.bytes.load(Ordering::Relaxed),
            syncs: self.counters.syncs.load(Ordering::Relaxed),
        }
    }

    /// Cuts the power of all disks handed out so far. What had been written stays, as after the death of a
    /// process.
    pub fn crash(&self) {
        let power = std::mem::take(&mut *self.power.lock());
        *power.is_off.write() = true;
        power.lock.lock().take();
    }
}

struct PoweredDisk {
    files: Arc<dyn Disk>,
    spindles: Spindles,
    is_throttled: Arc<AtomicBool>,
    counters: Arc<Counters>,
    power: Arc<Power>,
}

impl PoweredDisk {
    fn wrap(&self, path: &Path, file: Box<dyn File>) -> Box<dyn File> {
        let spindle = self.spindles.iter().position(|(directory, _)| path.starts_with(directory));
        Box::new(PoweredFile {
            file,
            path: path.to_owned(),
            spindle: spindle.map(|spindle| (Arc::clone(&self.spindles), spindle)),
            is_throttled: Arc::clone(&self.is_throttled),
            counters: Arc::clone(&self.counters),
            power: Arc::clone(&self.power),
        })
    }
}

impl Disk for PoweredDisk {
    fn sector_bytes(&self, directory: &Path, wanted: Option<usize>) -> io::Result<usize> {
        self.files.sector_bytes(directory, wanted)
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.power.run(|| self.files.create_directory(path))
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        self.files.list(directory)
    }

    fn exists(&self, path: &Path) -> bool {
        self.files.exists(path)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn File>> {
        self.power.run(|| self.files.create(path)).map(|file| self.wrap(path, file))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn File>> {
        self.files.open(path).map(|file| self.wrap(path, file))
    }

    fn open_read(&self, path: &Path) -> io::Result<Box<dyn File>> {
        self.files.open_read(path).map(|file| self.wrap(path, file))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.power.run(|| self.files.rename(from, to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.power.run(|| self.files.remove(path))
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        self.power.run(|| self.files.sync_directory(directory))
    }

    /// The machine keeps the lock: a crash frees it although the engine still holds its guard.
    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        let guard = self.power.run(|| self.files.lock(path))?;
        *self.power.lock.lock() = Some(guard);
        Ok(Box::new(LockGuard(Arc::clone(&self.power))))
    }
}

struct LockGuard(Arc<Power>);

impl Drop for LockGuard {
    fn drop(&mut self) {
        self.0.lock.lock().take();
    }
}

struct PoweredFile {
    file: Box<dyn File>,
    path: PathBuf,
    /// All devices, and the one that holds this file.
    spindle: Option<(Spindles, usize)>,
    is_throttled: Arc<AtomicBool>,
    counters: Arc<Counters>,
    power: Arc<Power>,
}

impl PoweredFile {
    fn throttle(&self) -> Option<&Spindle> {
        let (spindles, spindle) = self.spindle.as_ref()?;
        self.is_throttled.load(Ordering::Relaxed).then(|| &spindles[*spindle].1)
    }
}

impl File for PoweredFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(offset, buffer)?;
        if let Some(spindle) = self.throttle() {
            spindle.read(self.power.first_read(&self.path, offset, read));
        }
        Ok(read)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.power.run(|| self.file.write_at(offset, bytes))
    }

    fn write_durable(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.power.run(|| {
            if let Some(spindle) = self.throttle() {
                spindle.write(bytes.len());
            }
            self.file.write_durable(offset, bytes)
        })?;
        self.counters.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.counters.syncs.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.power.run(|| self.file.sync())
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn truncate(&self, bytes: u64) -> io::Result<()> {
        self.power.run(|| self.file.truncate(bytes))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use hyades_engine::disk::{AlignedBuffer, SECTOR_BYTES};

    use super::*;

    fn paths() -> (PathBuf, PathBuf) {
        (PathBuf::from("/m/logs"), PathBuf::from("/m/logs/file"))
    }

    #[test]
    fn nothing_arrives_after_a_crash_and_the_lock_is_free() {
        let (directory, path) = paths();
        let machine = Machine::new(DeviceKind::Ram, &[directory], 2);
        let before = machine.disk();
        let lock = before.lock(Path::new("/m/lock")).expect("free");
        assert!(machine.disk().lock(Path::new("/m/lock")).is_err());
        let file = before.create(&path).expect("created");
        file.write_durable(0, &AlignedBuffer::new(SECTOR_BYTES)).expect("written");
        assert_eq!(machine.written(), Written { bytes: SECTOR_BYTES as u64, syncs: 1 });
        machine.crash();
        assert!(file.write_durable(4096, &AlignedBuffer::new(SECTOR_BYTES)).is_err());
        assert!(before.remove(&path).is_err());
        let after = machine.disk();
        let _lock = after.lock(Path::new("/m/lock")).expect("free again");
        drop(lock);
        assert!(machine.disk().lock(Path::new("/m/lock")).is_err(), "the old guard frees nothing any more");
        assert_eq!(after.open(&path).expect("there").len().expect("known"), SECTOR_BYTES as u64);
    }

    #[test]
    fn a_throttled_device_keeps_its_rate_and_latency() {
        let (directory, path) = paths();
        // 80 workers: not scaled.
        let machine = Machine::new(DeviceKind::Hdd, &[directory], 80);
        let disk = machine.disk();
        let file = disk.create(&path).expect("created");
        let block = AlignedBuffer::new(1 << 20);
        let timed = |writes: u64| {
            let start = Instant::now();
            for write in 0..writes {
                file.write_durable(write << 20, &block).expect("written");
            }
            start.elapsed().as_secs_f64()
        };
        machine.throttle(true);
        let seconds = timed(10);
        // Each write waits 8 ms, during which the bucket fills again.
        assert!(seconds > 0.08, "{seconds}");
        let mut read = vec![0; 4 << 20];
        let start = Instant::now();
        file.read_at(0, &mut read).expect("read");
        assert!(start.elapsed().as_secs_f64() > 0.015, "4 MiB at 160 MB/s, less what the bucket holds");
        assert_eq!(file.read_at(0, &mut read).expect("read"), 4 << 20);
        assert!(DeviceKind::Hdd.bandwidth(2) == Some(4e6) && DeviceKind::Ram.bandwidth(2).is_none());
    }
}

//! The simulated file system: names, their unsynced changes, and the faults that are due.
//!
//! Names exist twice: as a process sees them, and as the medium has them. `pending_names` holds the changes
//! that separate the two, in order. A change leaves the list when its directory is synced, and is lost or
//! kept independently at a power cut.

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyades_engine::disk::{LEAST_SECTOR_BYTES, SECTOR_BYTES};
use parking_lot::Condvar;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::PowerCut;
use super::inode::Inode;
use super::plan::{Effect, PlannedFault};

/// The operating system's number for "no space left on device".
const NO_SPACE: i32 = 28;
/// The operating system's number for an I/O error.
const IO_ERROR: i32 = 5;
/// The duration of a slow operation.
const DELAY: std::time::Duration = std::time::Duration::from_millis(1);

/// The fate of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Succeed,
    /// It happens in part and fails with this error. The disk goes on.
    Fail(i32),
    /// As [`Fate::Succeed`], but what is reported as durable is not.
    Lie,
    /// Nothing happens, without an error.
    Lose,
    /// The bytes are written somewhere else.
    Misdirect,
    /// It happens in part, and every later operation fails.
    Crash,
}

impl Fate {
    pub(super) fn error(self) -> io::Error {
        match self {
            Fate::Crash => power_cut(),
            Fate::Fail(number) => io::Error::from_raw_os_error(number),
            Fate::Succeed | Fate::Lie | Fate::Lose | Fate::Misdirect => {
                io::Error::from_raw_os_error(IO_ERROR)
            }
        }
    }

    /// Whether the caller is told that the operation has happened.
    pub(super) fn is_told_well(self) -> bool {
        !matches!(self, Fate::Fail(_) | Fate::Crash)
    }
}

fn power_cut() -> io::Error {
    io::Error::other("the simulated power was cut")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Entry {
    Directory,
    File(usize),
}

#[derive(Clone)]
enum NameChange {
    Created { path: PathBuf, entry: Entry },
    Renamed { from: PathBuf, to: PathBuf, inode: usize },
    Removed { path: PathBuf },
}

impl NameChange {
    fn directory(&self) -> &Path {
        match self {
            NameChange::Created { path, .. } | NameChange::Removed { path } => parent(path),
            NameChange::Renamed { to, .. } => parent(to),
        }
    }

    fn apply(&self, names: &mut BTreeMap<PathBuf, Entry>) {
        match self {
            NameChange::Created { path, entry } => {
                names.insert(path.clone(), *entry);
            }
            NameChange::Renamed { from, to, inode } => {
                // The old name may be gone already, or belong to another file whose creation was kept.
                if names.get(from) == Some(&Entry::File(*inode)) {
                    names.remove(from);
                }
                names.insert(to.clone(), Entry::File(*inode));
            }
            NameChange::Removed { path } => {
                names.remove(path);
            }
        }
    }
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or_else(|| Path::new(""))
}

/// For [`DiskState::describe_operation`].
#[derive(Clone)]
struct Operation {
    what: &'static str,
    path: PathBuf,
    offset: u64,
    length: usize,
}

/// Which reads hang.
#[derive(Clone, Copy, Debug)]
pub struct HeldReads {
    /// Reads of files whose names end with this hang.
    pub ending: &'static str,
    /// Only reads by threads whose names begin with this hang.
    pub threads: &'static str,
    /// The number of such reads that pass first.
    pub after: u64,
}

pub(super) struct DiskState {
    pub(super) sector_bytes: usize,
    pub(super) inodes: Vec<Inode>,
    names: BTreeMap<PathBuf, Entry>,
    durable_names: BTreeMap<PathBuf, Entry>,
    pending_names: Vec<NameChange>,
    trace: Vec<Operation>,
    pub(super) trace_hash: u64,
    random: StdRng,
    pub(super) crash_at: Option<u64>,
    pub(super) has_crashed: bool,
    pub(super) fail_at: Option<u64>,
    pub(super) fail_next_sync: bool,
    pub(super) planned: PlannedFault,
    /// The disk that a killed process has left.
    pub(super) left: Option<Box<DiskState>>,
    pub(super) limit_bytes: Option<u64>,
    pub(super) locks: HashSet<PathBuf>,
    pub(super) held_directory: Option<PathBuf>,
    pub(super) held_reads: Option<HeldReads>,
    /// Wakes threads whose writes or reads are held.
    pub(super) released: Arc<Condvar>,
}

impl DiskState {
    pub(super) fn new(seed: u64) -> DiskState {
        DiskState {
            sector_bytes: if seed.is_multiple_of(2) { SECTOR_BYTES } else { LEAST_SECTOR_BYTES },
            inodes: Vec::new(),
            names: BTreeMap::new(),
            durable_names: BTreeMap::new(),
            pending_names: Vec::new(),
            trace: Vec::new(),
            trace_hash: 0,
            random: StdRng::seed_from_u64(seed),
            crash_at: None,
            has_crashed: false,
            fail_at: None,
            fail_next_sync: false,
            planned: PlannedFault::default(),
            left: None,
            limit_bytes: None,
            locks: HashSet::new(),
            held_directory: None,
            held_reads: None,
            released: Arc::default(),
        }
    }

    pub(super) fn is_held(&self, inode: usize) -> bool {
        let directory = self.held_directory.as_ref();
        !self.has_crashed
            && directory.is_some_and(|directory| self.inodes[inode].label.starts_with(directory))
    }

    /// Whether a read that this thread is about to do must wait.
    pub(super) fn is_read_held(&mut self, inode: usize) -> bool {
        let Some(held) = self.held_reads.as_mut().filter(|_| !self.has_crashed) else { return false };
        let is_of_thread = std::thread::current().name().is_some_and(|name| name.starts_with(held.threads));
        let is_of_file = self.inodes[inode].label.extension().is_some_and(|ending| ending == held.ending);
        if !is_of_thread || !is_of_file {
            return false;
        }
        let Some(fewer) = held.after.checked_sub(1) else { return true };
        held.after = fewer;
        false
    }

    pub(super) fn operations(&self) -> u64 {
        self.trace.len() as u64
    }

    pub(super) fn describe_operation(&self, number: u64) -> Option<String> {
        let operation = self.trace.get(usize::try_from(number).ok()?)?;
        let Operation { what, path, offset, length } = operation;
        let place = if *length == 0 { String::new() } else { format!(", {length} bytes at {offset}") };
        Some(format!("operation {number}: {what} {}{place}", path.display()))
    }

    pub(super) fn check_alive(&self) -> io::Result<()> {
        if self.has_crashed { Err(power_cut()) } else { Ok(()) }
    }

    pub(super) fn coin(&mut self) -> bool {
        self.random.random_bool(0.5)
    }

    /// Numbers the operation and decides its fate.
    pub(super) fn begin(
        &mut self,
        what: &'static str,
        path: &Path,
        offset: u64,
        length: usize,
    ) -> io::Result<Fate> {
        self.check_alive()?;
        let number = self.operations();
        let mut hasher = DefaultHasher::new();
        (self.trace_hash, what, path, offset, length).hash(&mut hasher);
        self.trace_hash = hasher.finish();
        self.trace.push(Operation { what, path: path.to_path_buf(), offset, length });
        let effect = self.planned.strike(what, path);
        if self.crash_at.is_some_and(|at| number >= at) || effect == Some(Effect::PowerCut) {
            self.has_crashed = true;
            self.released.notify_all();
            return Ok(Fate::Crash);
        }
        if self.fail_at == Some(number) {
            return Ok(Fate::Fail(IO_ERROR));
        }
        Ok(match effect {
            Some(Effect::Error(number)) => Fate::Fail(number),
            Some(Effect::Lie) => Fate::Lie,
            Some(Effect::Lose) => Fate::Lose,
            Some(Effect::Misdirect) => Fate::Misdirect,
            Some(Effect::Kill) => {
                self.left = Some(Box::new(self.after_process_kill(number)));
                self.has_crashed = true;
                self.released.notify_all();
                return Err(power_cut());
            }
            Some(Effect::Delay) => {
                std::thread::sleep(DELAY);
                Fate::Succeed
            }
            Some(Effect::Flip | Effect::PowerCut) | None => Fate::Succeed,
        })
    }

    /// Reads, unless a fault is planned for that.
    pub(super) fn read(&mut self, inode: usize, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.check_alive()?;
        let label = self.inodes[inode].label.clone();
        let effect = self.planned.strike("read", &label);
        if let Some(Effect::Error(number)) = effect {
            return Err(io::Error::from_raw_os_error(number));
        }
        if effect == Some(Effect::Delay) {
            std::thread::sleep(DELAY);
        }
        let read = self.inodes[inode].read_at(offset, buffer);
        if effect == Some(Effect::Flip) && read > 0 {
            // Within the used part: the zeroes of prepared space are never examined.
            let used = buffer[..read].iter().rposition(|byte| *byte != 0).map_or(read, |last| last + 1);
            // Often near the end, which for a log is its last block.
            let first = if self.coin() { used.saturating_sub(SECTOR_BYTES / 4) } else { 0 };
            let (at, bit) = (self.random.random_range(first..used), self.random.random_range(0..8));
            buffer[at] ^= 1 << bit;
        }
        Ok(read)
    }

    pub(super) fn begin_on_inode(
        &mut self,
        what: &'static str,
        inode: usize,
        offset: u64,
        length: usize,
    ) -> io::Result<Fate> {
        let path = self.inodes[inode].label.clone();
        self.begin(what, &path, offset, length)
    }

    pub(super) fn fate_of_sync(&mut self, fate: Fate) -> Fate {
        if fate == Fate::Succeed && std::mem::take(&mut self.fail_next_sync) {
            Fate::Fail(IO_ERROR)
        } else {
            fate
        }
    }

    pub(super) fn used_bytes(&self) -> u64 {
        let linked = self.names.values().filter_map(|entry| match entry {
            Entry::File(inode) => Some(*inode),
            Entry::Directory => None,
        });
        linked.map(|inode| self.inodes[inode].allocated_bytes()).sum()
    }

    /// How many of the bytes fit before the limit, cut at a sector.
    fn fitting_bytes(&self, inode: usize, offset: u64, length: usize) -> usize {
        let Some(limit) = self.limit_bytes else { return length };
        let mut free = limit.saturating_sub(self.used_bytes());
        let mut fitting = 0;
        while fitting < length {
            let position = offset + fitting as u64;
            if !self.inodes[inode].is_allocated(position / SECTOR_BYTES as u64) {
                if free < SECTOR_BYTES as u64 {
                    return fitting;
                }
                free -= SECTOR_BYTES as u64;
            }
            fitting += SECTOR_BYTES - (position % SECTOR_BYTES as u64) as usize;
        }
        length
    }

    pub(super) fn write(&mut self, inode: usize, offset: u64, bytes: &[u8], fate: Fate) -> io::Result<()> {
        let mut hasher = DefaultHasher::new();
        (self.trace_hash, bytes).hash(&mut hasher);
        self.trace_hash = hasher.finish();
        if fate == Fate::Lose {
            return Ok(());
        }
        let offset = if fate == Fate::Misdirect { self.elsewhere(inode, offset) } else { offset };
        if !fate.is_told_well() {
            let part = match self.random.random_range(0..4) {
                0 => 0,
                1 => bytes.len(),
                2 => self.random.random_range(0..=bytes.len() / SECTOR_BYTES) * SECTOR_BYTES,
                _ => self.random.random_range(0..=bytes.len()),
            };
            self.inodes[inode].write_at(offset, &bytes[..part]);
            if matches!(fate, Fate::Fail(_)) {
                self.inodes[inode].forget_dirty();
            }
            return Err(fate.error());
        }
        let fitting = self.fitting_bytes(inode, offset, bytes.len());
        self.inodes[inode].write_at(offset, &bytes[..fitting]);
        if fitting < bytes.len() {
            return Err(io::Error::from_raw_os_error(NO_SPACE));
        }
        if fate == Fate::Misdirect {
            self.inodes[inode].make_range_durable(offset, bytes.len());
        }
        Ok(())
    }

    /// Another sector of the file, or the one after the first of an empty file.
    fn elsewhere(&mut self, inode: usize, offset: u64) -> u64 {
        let sectors = self.inodes[inode].length() / SECTOR_BYTES as u64;
        let within = offset % SECTOR_BYTES as u64;
        let number = offset / SECTOR_BYTES as u64;
        let other = if sectors > 1 { self.random.random_range(0..sectors) } else { number + 1 };
        let other = if other == number { (number + 1) % sectors.max(number + 2) } else { other };
        other * SECTOR_BYTES as u64 + within
    }

    pub(super) fn sync(&mut self, inode: usize, fate: Fate) -> io::Result<()> {
        if matches!(fate, Fate::Lie | Fate::Lose) {
            return Ok(());
        }
        if fate.is_told_well() {
            self.inodes[inode].sync();
            return Ok(());
        }
        self.inodes[inode].sync_in_part(&mut self.random);
        if matches!(fate, Fate::Fail(_)) {
            self.inodes[inode].forget_dirty();
        }
        Err(fate.error())
    }

    pub(super) fn is_directory(&self, path: &Path) -> bool {
        is_root(path) || self.names.get(path) == Some(&Entry::Directory)
    }

    pub(super) fn exists(&self, path: &Path) -> bool {
        is_root(path) || self.names.contains_key(path)
    }

    pub(super) fn paths(&self) -> Vec<PathBuf> {
        self.names.keys().cloned().collect()
    }

    pub(super) fn file(&self, path: &Path) -> io::Result<usize> {
        match self.names.get(path) {
            Some(Entry::File(inode)) => Ok(*inode),
            Some(Entry::Directory) => Err(io::ErrorKind::IsADirectory.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    pub(super) fn content(&self, path: &Path) -> io::Result<Vec<u8>> {
        let inode = &self.inodes[self.file(path)?];
        let mut content = vec![0; inode.length() as usize];
        inode.read_at(0, &mut content);
        Ok(content)
    }

    pub(super) fn flip_bit(&mut self, path: &Path, offset: u64, bit: u32) -> io::Result<()> {
        let inode = self.file(path)?;
        if offset >= self.inodes[inode].length() || bit > 7 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.inodes[inode].flip_bit(offset, bit);
        Ok(())
    }

    pub(super) fn replace(&mut self, path: &Path, content: &[u8]) {
        let inode = self.inodes.len();
        self.inodes.push(Inode::with_content(path.to_path_buf(), content));
        for names in [&mut self.names, &mut self.durable_names] {
            names.insert(path.to_path_buf(), Entry::File(inode));
        }
    }

    pub(super) fn take_away(&mut self, path: &Path) {
        for names in [&mut self.names, &mut self.durable_names] {
            names.retain(|name, _| !name.starts_with(path));
        }
    }

    pub(super) fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        if !self.is_directory(directory) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let children = self.names.keys().filter(|path| parent(path) == directory);
        Ok(children.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect())
    }

    fn change(&mut self, change: NameChange) {
        change.apply(&mut self.names);
        self.pending_names.push(change);
    }

    pub(super) fn create_directory(&mut self, path: &Path) -> io::Result<()> {
        let mut missing = Vec::new();
        let mut next = path;
        while !self.is_directory(next) {
            if self.exists(next) {
                return Err(io::ErrorKind::NotADirectory.into());
            }
            missing.push(next.to_path_buf());
            next = parent(next);
        }
        for path in missing.into_iter().rev() {
            self.change(NameChange::Created { path, entry: Entry::Directory });
        }
        Ok(())
    }

    pub(super) fn create(&mut self, path: &Path) -> io::Result<usize> {
        if self.exists(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        if !self.is_directory(parent(path)) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let inode = self.inodes.len();
        self.inodes.push(Inode::new(path.to_path_buf()));
        self.change(NameChange::Created { path: path.to_path_buf(), entry: Entry::File(inode) });
        Ok(inode)
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let inode = self.file(from)?;
        if !self.is_directory(parent(to)) {
            return Err(io::ErrorKind::NotFound.into());
        }
        self.change(NameChange::Renamed { from: from.to_path_buf(), to: to.to_path_buf(), inode });
        self.inodes[inode].label = to.to_path_buf();
        Ok(())
    }

    pub(super) fn remove(&mut self, path: &Path) -> io::Result<()> {
        self.file(path)?;
        self.change(NameChange::Removed { path: path.to_path_buf() });
        Ok(())
    }

    pub(super) fn sync_directory(&mut self, directory: &Path) -> io::Result<()> {
        if !self.is_directory(directory) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let (durable, pending) = std::mem::take(&mut self.pending_names).into_iter().partition(|change| {
            // The directory itself and its ancestors are synced too: their entries are its path.
            let is_above = match change {
                NameChange::Created { path, entry: Entry::Directory } => directory.starts_with(path),
                _ => false,
            };
            is_above || change.directory() == directory
        });
        self.pending_names = pending;
        let durable: Vec<NameChange> = durable;
        durable.iter().for_each(|change| change.apply(&mut self.durable_names));
        Ok(())
    }

    pub(super) fn after_power_cut(&self, cut: PowerCut) -> DiskState {
        let seed = if let PowerCut::Seeded(seed) = cut { seed } else { 0 };
        let mut random = StdRng::seed_from_u64(seed);
        let mut names = self.durable_names.clone();
        for change in &self.pending_names {
            let is_kept = match cut {
                PowerCut::LoseUnsynced => false,
                PowerCut::KeepUnsynced => true,
                PowerCut::Seeded(_) => random.random_bool(0.5),
            };
            if is_kept {
                change.apply(&mut names);
            }
        }
        let directories = names.clone();
        let is_reachable = |path: &Path| {
            path.ancestors().skip(1).all(|above| is_root(above) || directories.contains_key(above))
        };
        names.retain(|path, _| is_reachable(path));
        let inodes = self.inodes.iter().map(|inode| inode.after_power_cut(cut, &mut random)).collect();
        DiskState {
            sector_bytes: self.sector_bytes,
            inodes,
            durable_names: names.clone(),
            names,
            limit_bytes: self.limit_bytes,
            ..DiskState::new(seed)
        }
    }

    pub(super) fn after_process_kill(&self, seed: u64) -> DiskState {
        DiskState {
            sector_bytes: self.sector_bytes,
            inodes: self.inodes.clone(),
            names: self.names.clone(),
            durable_names: self.durable_names.clone(),
            pending_names: self.pending_names.clone(),
            limit_bytes: self.limit_bytes,
            ..DiskState::new(seed)
        }
    }
}

fn is_root(path: &Path) -> bool {
    path.as_os_str().is_empty() || path == Path::new("/")
}

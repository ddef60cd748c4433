//! A disk in memory that keeps *written* and *durable* bytes apart, per 4096 bytes. A write may tear at any
//! byte, and leaves unchanged bytes alone, so the disk also behaves like one with sectors of 512 bytes.
//!
//! ```text
//!             write_at                sync, write_durable
//!   caller ------------> page cache ----------------------> medium
//!                        (written)                          (durable)
//!   after_process_kill:  both survive; what was only written may still be lost later (pitfall 16)
//!   after_power_cut:     the medium, and of each unsynced sector nothing, all or a torn part
//! ```
//!
//! Every operation that changes something has a number, counted from 0: creating, renaming, removing,
//! writing, truncating, syncing. Reads have none: a cut at a read leaves the same as a cut at the next
//! change. [`SimulatedDisk::crash_at`] cuts the power *inside* the operation of that number. It happens
//! wholly, in part or not at all (by the seed), and from then on every operation fails. The tests run their
//! work once to learn how many operations there are, then once for each.
//!
//! [`SimulatedDisk::plan_fault`] makes the operations of one step of the database's work go wrong (`plan`).
//!
//! Media assumptions, as documented in `hyades_engine::disk`, each at its most hostile:
//! - unsynced sectors are lost, kept or torn independently; also inside the sector, since a device may tear
//!   at 512 bytes;
//! - the length of a file is durable with the file; an unsynced length, grown or cut, may be lost, kept, or
//!   kept in part;
//! - creations, renames and removals are durable after the sync of their directory, and before that lost or
//!   kept independently of each other; syncing a file does not make its name durable;
//! - a new directory is durable once it or its parent was synced;
//! - after a failed sync the written bytes stay visible, but no later sync makes them durable (pitfall 9).
//!
//! Reference: TigerBeetle's and redb's crash tests; Rebello et al., "Can Applications Recover from fsync
//! Failures?", ATC 2020.

mod inode;
mod plan;
mod state;
#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hyades_engine::disk::{Disk, File};
use parking_lot::Mutex;

pub use self::plan::{Effect, FaultPlan, Place};
pub use self::state::HeldReads;
use self::state::{DiskState, Fate};
use crate::threads;

/// How often a simulated thread checks whether its write is still held.
const HELD: Duration = Duration::from_micros(50);

/// What happens to unsynced bytes and names when the power fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PowerCut {
    /// Each sector and each name independently: lost, kept or torn.
    Seeded(u64),
    /// Everything unsynced is lost.
    LoseUnsynced,
    /// Everything unsynced is kept.
    KeepUnsynced,
}

/// See the module head. Clones share one disk.
#[derive(Clone)]
pub struct SimulatedDisk {
    state: Arc<Mutex<DiskState>>,
}

impl SimulatedDisk {
    /// An empty disk. `seed` decides which part of a cut or failed operation happens. With an odd seed the
    /// sectors have 512 bytes.
    pub fn new(seed: u64) -> SimulatedDisk {
        SimulatedDisk::with_state(DiskState::new(seed))
    }

    fn with_state(state: DiskState) -> SimulatedDisk {
        SimulatedDisk { state: Arc::new(Mutex::new(state)) }
    }

    /// How many numbered operations were begun, which is the number of the next one.
    pub fn operations(&self) -> u64 {
        self.state.lock().operations()
    }

    /// What the operation of this number was, for messages.
    pub fn describe_operation(&self, number: u64) -> Option<String> {
        self.state.lock().describe_operation(number)
    }

    /// Cuts the power inside the operation of this number. From then on every operation fails.
    pub fn crash_at(&self, operation: u64) {
        self.state.lock().crash_at = Some(operation);
    }

    /// Cuts the power between two operations, now.
    pub fn crash_now(&self) {
        let mut state = self.state.lock();
        state.has_crashed = true;
        state.released.notify_all();
    }

    pub fn has_crashed(&self) -> bool {
        self.state.lock().has_crashed
    }

    /// The disk as it is found after a power cut. This disk remains as it is.
    pub fn after_power_cut(&self, seed: u64) -> SimulatedDisk {
        self.after(PowerCut::Seeded(seed))
    }

    /// As [`SimulatedDisk::after_power_cut`], with a choice of what happens to unsynced bytes and names.
    pub fn after(&self, cut: PowerCut) -> SimulatedDisk {
        SimulatedDisk::with_state(self.state.lock().after_power_cut(cut))
    }

    /// The disk as the next process finds it when this one was killed: everything written is there, but as
    /// unsynced as before, so that a later power cut may lose it.
    pub fn after_process_kill(&self, seed: u64) -> SimulatedDisk {
        SimulatedDisk::with_state(self.state.lock().after_process_kill(seed))
    }

    /// The operation of this number fails with an I/O error after happening in part. The disk goes on.
    pub fn fail_operation(&self, operation: u64) {
        self.state.lock().fail_at = Some(operation);
    }

    /// Plans this fault in place of any other one.
    pub fn plan_fault(&self, plan: Option<FaultPlan>) {
        self.state.lock().planned = plan::PlannedFault::new(plan);
    }

    /// How often the planned fault has struck.
    pub fn fault_hits(&self) -> u64 {
        self.state.lock().planned.hits
    }

    /// The disk as it was left by the process that an [`Effect::Kill`] has ended.
    pub fn left_by_the_dead(&self) -> Option<SimulatedDisk> {
        self.state.lock().left.take().map(|left| SimulatedDisk::with_state(*left))
    }

    /// One number for all operations so far, with every byte that was written.
    pub fn trace_hash(&self) -> u64 {
        self.state.lock().trace_hash
    }

    /// The next sync (of a file, or a durable write) fails.
    pub fn fail_next_sync(&self) {
        self.state.lock().fail_next_sync = true;
    }

    /// Durable writes to files under this directory hang until it is `None` again or the power is cut. This
    /// makes one log slower than the others.
    pub fn hold_writes_under(&self, directory: Option<&Path>) {
        let mut state = self.state.lock();
        state.held_directory = directory.map(Path::to_path_buf);
        state.released.notify_all();
    }

    /// These reads hang until it is `None` again or the power is cut, so that a start gets so far and no
    /// further.
    pub fn hold_reads(&self, held: Option<HeldReads>) {
        let mut state = self.state.lock();
        state.held_reads = held;
        state.released.notify_all();
    }

    /// Limits the bytes in all files, in whole sectors. Writes beyond the limit fail with "no space left",
    /// partly written.
    pub fn limit_bytes(&self, limit_bytes: Option<u64>) {
        self.state.lock().limit_bytes = limit_bytes;
    }

    /// Bytes in all files, in whole sectors.
    pub fn used_bytes(&self) -> u64 {
        self.state.lock().used_bytes()
    }

    /// Flips one bit (0..8) of the byte at `offset`, in the page cache and on the medium.
    pub fn flip_bit(&self, path: &Path, offset: u64, bit: u32) -> io::Result<()> {
        self.state.lock().flip_bit(path, offset, bit)
    }

    /// Replaces the content of a file, in the page cache and on the medium. Creates the file if it does not
    /// exist.
    pub fn replace(&self, path: &Path, content: &[u8]) {
        self.state.lock().replace(path, content);
    }

    /// Removes a file, or a directory with everything in it, durably.
    pub fn take_away(&self, path: &Path) {
        self.state.lock().take_away(path);
    }

    /// The whole content of a file, as a process sees it. Works on a crashed disk.
    pub fn content(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.state.lock().content(path)
    }

    /// Paths of all files and directories, as a process sees them, sorted. Works on a crashed disk.
    pub fn paths(&self) -> Vec<std::path::PathBuf> {
        self.state.lock().paths()
    }

    fn open_file(&self, path: &Path, is_writable: bool) -> io::Result<Box<dyn File>> {
        let state = self.state.lock();
        state.check_alive()?;
        let inode = state.file(path)?;
        Ok(Box::new(SimulatedFile { state: Arc::clone(&self.state), inode, is_writable }))
    }
}

/// In a simulation an operation takes time, during which other threads run.
fn wait_for_device() {
    match threads::random() {
        None => {}
        Some(random) if random % 4 > 0 => threads::give_way(),
        Some(random) => threads::sleep(Duration::from_micros((random >> 8) & 0xff)),
    }
}

impl Disk for SimulatedDisk {
    fn sector_bytes(&self, _directory: &Path, wanted: Option<usize>) -> io::Result<usize> {
        Ok(wanted.unwrap_or(self.state.lock().sector_bytes))
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        state.check_alive()?;
        if state.is_directory(path) {
            return Ok(());
        }
        match state.begin("create directory", path, 0, 0)? {
            fate if fate.is_told_well() => state.create_directory(path),
            fate => {
                if state.coin() {
                    state.create_directory(path)?;
                }
                Err(fate.error())
            }
        }
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        let state = self.state.lock();
        state.check_alive()?;
        state.list(directory)
    }

    fn exists(&self, path: &Path) -> bool {
        self.state.lock().exists(path)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn File>> {
        wait_for_device();
        let mut state = self.state.lock();
        match state.begin("create", path, 0, 0)? {
            fate if fate.is_told_well() => {
                let inode = state.create(path)?;
                Ok(Box::new(SimulatedFile { state: Arc::clone(&self.state), inode, is_writable: true }))
            }
            fate => {
                if state.coin() {
                    state.create(path)?;
                }
                Err(fate.error())
            }
        }
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn File>> {
        self.open_file(path, true)
    }

    fn open_read(&self, path: &Path) -> io::Result<Box<dyn File>> {
        self.open_file(path, false)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        wait_for_device();
        let mut state = self.state.lock();
        match state.begin("rename", from, 0, 0)? {
            fate if fate.is_told_well() => state.rename(from, to),
            fate => {
                if state.coin() {
                    state.rename(from, to)?;
                }
                Err(fate.error())
            }
        }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        match state.begin("remove", path, 0, 0)? {
            fate if fate.is_told_well() => state.remove(path),
            fate => {
                if state.coin() {
                    state.remove(path)?;
                }
                Err(fate.error())
            }
        }
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        wait_for_device();
        let mut state = self.state.lock();
        match state.begin("sync directory", directory, 0, 0)? {
            Fate::Lie | Fate::Lose => Ok(()),
            fate if fate.is_told_well() => state.sync_directory(directory),
            fate => {
                if state.coin() {
                    state.sync_directory(directory)?;
                }
                Err(fate.error())
            }
        }
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        let mut state = self.state.lock();
        state.check_alive()?;
        if !state.exists(path) {
            // The lock file itself carries nothing, so it takes no part in the numbering.
            state.create(path)?;
        }
        if !state.locks.insert(path.to_path_buf()) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(Box::new(LockGuard { state: Arc::clone(&self.state), path: path.to_path_buf() }))
    }
}

struct LockGuard {
    state: Arc<Mutex<DiskState>>,
    path: std::path::PathBuf,
}

impl Drop for LockGuard {
    fn drop(&mut self) {
        self.state.lock().locks.remove(&self.path);
    }
}

struct SimulatedFile {
    state: Arc<Mutex<DiskState>>,
    inode: usize,
    is_writable: bool,
}

impl SimulatedFile {
    fn check_writable(&self) -> io::Result<()> {
        if self.is_writable { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
    }
}

impl File for SimulatedFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        wait_for_device();
        let mut state = self.state.lock();
        let released = Arc::clone(&state.released);
        while state.is_read_held(self.inode) {
            released.wait(&mut state);
        }
        state.read(self.inode, offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.check_writable()?;
        wait_for_device();
        let mut state = self.state.lock();
        let fate = state.begin_on_inode("write", self.inode, offset, bytes.len())?;
        state.write(self.inode, offset, bytes, fate)
    }

    fn write_durable(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.check_writable()?;
        let sector_bytes = self.state.lock().sector_bytes;
        let is_aligned = offset.is_multiple_of(sector_bytes as u64)
            && bytes.len().is_multiple_of(sector_bytes)
            && bytes.as_ptr().addr().is_multiple_of(sector_bytes);
        if !is_aligned {
            // A real disk would refuse it too (O_DIRECT), but not on every file system.
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "a durable write that is not sector-aligned",
            ));
        }
        wait_for_device();
        let mut state = self.state.lock();
        let released = Arc::clone(&state.released);
        while state.is_held(self.inode) {
            if threads::random().is_none() {
                released.wait(&mut state);
                continue;
            }
            drop(state);
            threads::sleep(HELD);
            state = self.state.lock();
        }
        let fate = state.begin_on_inode("write durably", self.inode, offset, bytes.len())?;
        let fate = state.fate_of_sync(fate);
        state.write(self.inode, offset, bytes, fate)?;
        if threads::random().is_some() {
            // The power may fail, and other threads may write, before it is durable.
            drop(state);
            wait_for_device();
            state = self.state.lock();
            state.check_alive()?;
        }
        if fate == Fate::Succeed {
            state.inodes[self.inode].make_range_durable(offset, bytes.len());
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        wait_for_device();
        let mut state = self.state.lock();
        let fate = state.begin_on_inode("sync", self.inode, 0, 0)?;
        let fate = state.fate_of_sync(fate);
        state.sync(self.inode, fate)
    }

    fn len(&self) -> io::Result<u64> {
        let state = self.state.lock();
        state.check_alive()?;
        Ok(state.inodes[self.inode].length())
    }

    fn truncate(&self, bytes: u64) -> io::Result<()> {
        self.check_writable()?;
        let mut state = self.state.lock();
        match state.begin_on_inode("truncate", self.inode, bytes, 0)? {
            fate if fate.is_told_well() => state.inodes[self.inode].truncate(bytes),
            fate => {
                if state.coin() {
                    state.inodes[self.inode].truncate(bytes);
                }
                return Err(fate.error());
            }
        }
        Ok(())
    }
}

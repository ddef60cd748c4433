//! File systems of this machine's kernel that can lose power.
//!
//! ```text
//! a file in the scratch directory
//!   `- loop device: ext4, the *lower file system*
//!        |- a file, loop device: ext4 or xfs, the *disk* of the data directory
//!        `- a file, loop device: another disk, for logs
//! ```
//!
//! The kernel has a request for tests (the ioctl EXT4_IOC_SHUTDOWN, the same number on xfs) that shuts a file
//! system down at once: pages and journal that are only in memory are no longer written, and every further
//! operation gets EIO. On one of the two disks, it loses what was not synced, and keeps what a server has
//! written past the page cache. On the lower file system, it is a power cut of the machine: both disks lose,
//! at one moment, everything that has reached them since their last flush, because the pages of their files
//! act as a disk's internal cache. Both are then mounted again, as by a machine that is switched on: the
//! kernel replays the journals.
//!
//! Invariant: everything is bound to this process. The mounts are those of its mount namespace
//! ([`super::namespace`]), the loop devices disappear with the last mount or with [`Disks`], and the file
//! below everything is already unlinked.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;

use crate::tools;

const MIB: u64 = 1 << 20;
/// The lower file system: both disks, its own journal, and room.
const LOWER_MIB: u64 = 1280;
/// xfs takes no less than 300.
const DISK_MIB: u64 = 480;
/// A file system may stay busy for a moment after the last process that used it has ended.
const BUSY_LIMIT: Duration = Duration::from_secs(10);

/// The file system of the disks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum FileSystem {
    Ext4,
    Xfs,
}

impl FileSystem {
    pub(super) fn name(self) -> &'static str {
        match self {
            FileSystem::Ext4 => "ext4",
            FileSystem::Xfs => "xfs",
        }
    }

    /// The program that makes the file system.
    pub(super) fn maker(self) -> &'static str {
        match self {
            FileSystem::Ext4 => "mkfs.ext4",
            FileSystem::Xfs => "mkfs.xfs",
        }
    }

    fn make(self, place: &Path) -> Result<()> {
        let options: &[&str] = match self {
            FileSystem::Ext4 => &["-q", "-F"],
            FileSystem::Xfs => &["-q", "-f"],
        };
        tools::output_of(Command::new(self.maker()).args(options).arg(place)).map(|_| ())
    }
}

/// What loses power.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cut {
    /// The whole machine.
    Power,
    /// The file system of the data directory alone.
    DataDisk,
    /// The file system of the logs alone.
    LogDisk,
}

impl Cut {
    pub(super) fn name(self) -> &'static str {
        match self {
            Cut::Power => "power",
            Cut::DataDisk => "the data's file system",
            Cut::LogDisk => "the logs' file system",
        }
    }
}

pub(super) struct Disks {
    directory: PathBuf,
    /// The loop device of the lower file system.
    device: PathBuf,
    /// Keeps the device while it is open.
    _open_device: File,
    cutter: Cutter,
    file_system: FileSystem,
    has_log_disk: bool,
}

impl Disks {
    /// Prepares an empty directory. Nothing is mounted yet.
    pub(super) fn attach(directory: &Path) -> Result<Disks> {
        for name in ["lower", "data-disk", "log-disk"] {
            std::fs::create_dir_all(directory.join(name))?;
        }
        let image = directory.join("lower.image");
        File::create(&image)?.set_len(LOWER_MIB * MIB)?;
        let attached = tools::output_of(Command::new("losetup").args(["--find", "--show"]).arg(&image));
        let device = PathBuf::from(attached.context("no loop device can be had")?.trim());
        let open_device = File::open(&device);
        // While the device is open, the kernel delays detaching it.
        tools::output_of(Command::new("losetup").arg("--detach").arg(&device))?;
        std::fs::remove_file(&image)?;
        Ok(Disks {
            directory: directory.to_path_buf(),
            _open_device: open_device.with_context(|| format!("cannot open {}", device.display()))?,
            device,
            cutter: Cutter::start()?,
            file_system: FileSystem::Ext4,
            has_log_disk: false,
        })
    }

    pub(super) fn data_disk(&self) -> PathBuf {
        self.directory.join("data-disk")
    }

    pub(super) fn log_disk(&self) -> PathBuf {
        self.directory.join("log-disk")
    }

    fn lower(&self) -> PathBuf {
        self.directory.join("lower")
    }

    /// The mount point and the file of each disk.
    fn disks(&self) -> Vec<(PathBuf, PathBuf)> {
        let mut disks = vec![(self.data_disk(), self.lower().join("data.image"))];
        if self.has_log_disk {
            disks.push((self.log_disk(), self.lower().join("log.image")));
        }
        disks
    }

    /// Replaces all by empty file systems, and mounts them.
    pub(super) fn make(&mut self, file_system: FileSystem, has_log_disk: bool) -> Result<()> {
        self.unmount()?;
        (self.file_system, self.has_log_disk) = (file_system, has_log_disk);
        FileSystem::Ext4.make(&self.device)?;
        self.mount_lower()?;
        for (_, image) in self.disks() {
            File::create(&image)?.set_len(DISK_MIB * MIB)?;
            file_system.make(&image)?;
        }
        self.mount_disks()
    }

    fn mount_lower(&self) -> Result<()> {
        tools::output_of(Command::new("mount").args(["-t", "ext4"]).arg(&self.device).arg(self.lower()))
            .map(|_| ())
    }

    fn mount_disks(&self) -> Result<()> {
        for (place, image) in self.disks() {
            let mut command = Command::new("mount");
            command.args(["-t", self.file_system.name(), "-o", "loop"]).arg(image).arg(place);
            tools::output_of(&mut command)?;
        }
        Ok(())
    }

    /// Everything that was not durable is lost when this returns. The server is still running.
    pub(super) fn cut(&mut self, cut: Cut) -> Result<()> {
        let place = match cut {
            Cut::Power => self.lower(),
            Cut::DataDisk => self.data_disk(),
            Cut::LogDisk => self.log_disk(),
        };
        self.cutter.cut(&place)
    }

    /// Switches the machine on again. No process may still use the disks.
    pub(super) fn remount(&mut self) -> Result<()> {
        self.unmount()?;
        self.mount_lower()?;
        self.mount_disks()
    }

    fn unmount(&self) -> Result<()> {
        for place in [self.log_disk(), self.data_disk(), self.lower()] {
            let deadline = Instant::now() + BUSY_LIMIT;
            while is_mount_point(&place)? {
                match tools::output_of(Command::new("umount").arg(&place)) {
                    Ok(_) => break,
                    Err(error) if Instant::now() > deadline => return Err(error),
                    Err(_) => std::thread::sleep(Duration::from_millis(5)),
                }
            }
        }
        Ok(())
    }

    /// Copies the contents of the disks to a place where they stay.
    pub(super) fn keep(&mut self) -> Result<()> {
        self.remount()?;
        for (place, _) in self.disks() {
            let kept = place.with_extension("kept");
            tools::output_of(Command::new("cp").args(["-a", "--sparse=always"]).arg(&place).arg(kept))?;
        }
        Ok(())
    }
}

impl Drop for Disks {
    fn drop(&mut self) {
        // What cannot be unmounted disappears with the namespace.
        let _ = self.unmount();
    }
}

fn is_mount_point(place: &Path) -> Result<bool> {
    let mounts = std::fs::read_to_string("/proc/self/mounts").context("/proc/self/mounts")?;
    Ok(mounts.lines().any(|line| line.split(' ').nth(1).is_some_and(|path| Path::new(path) == place)))
}

/// A process that makes the request: an ioctl has no safe name in Rust. It is started beforehand, so that a
/// cut takes no longer than the ioctl.
struct Cutter {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// 0x8004587D is _IOR('X', 125, __u32). The argument 2 means: without writing the journal first.
const PROGRAM: &str = r#"
import fcntl, os, struct, sys
for line in sys.stdin:
    try:
        place = os.open(line.rstrip("\n"), os.O_RDONLY)
        fcntl.ioctl(place, 0x8004587D, struct.pack("I", 2))
        os.close(place)
        print("cut", flush=True)
    except OSError as error:
        print(error, flush=True)
"#;

impl Cutter {
    fn start() -> Result<Cutter> {
        let mut command = Command::new("python3");
        command.args(["-c", PROGRAM]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("cannot start python3")?;
        let orders = child.stdin.take().context("no way to the cutter")?;
        let answers = BufReader::new(child.stdout.take().context("no way back from the cutter")?);
        Ok(Cutter { child, orders, answers })
    }

    fn cut(&mut self, place: &Path) -> Result<()> {
        writeln!(self.orders, "{}", place.display()).context("the cutter is gone")?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer).context("the cutter is gone")?;
        match answer.trim() {
            "cut" => Ok(()),
            refusal => bail!("the file system at {} cannot be shut down: {refusal}", place.display()),
        }
    }
}

impl Drop for Cutter {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_mounted_and_a_file_is_not() {
        assert!(is_mount_point(Path::new("/")).unwrap());
        assert!(!is_mount_point(Path::new("/proc/self/mounts")).unwrap());
    }

    #[test]
    fn what_is_no_file_system_is_not_cut() {
        let mut cutter = Cutter::start().expect("python3 is there");
        for _ in 0..2 {
            let refused = cutter.cut(Path::new("/proc/self/no such place")).expect_err("it is not there");
            assert!(refused.to_string().contains("No such file"), "{refused}");
        }
    }
}

//! The smallest unit that the device of a directory writes by itself.
//!
//! A device reports two sizes (Linux, Documentation/ABI/stable/sysfs-block): the *logical* block is the
//! smallest it accepts, the *physical* block the smallest it writes. A device that writes more than it
//! accepts reads the rest and writes it again, and a power cut may then damage the bytes next to the write.
//! That would rewrite acknowledged bytes (pitfall 10). So a sector is the larger of the two. Layers between a
//! file and its device may write more:
//! * The page cache writes pages. So the file system must say that direct writes of this size are possible
//!   (STATX_DIOALIGN, Linux 6.1; f2fs, encrypted files and ext4 with data=journal accept them and use the
//!   cache), and one is tried.
//! * A loop device is a file on another device, and an array with parity (md) writes stripes.
//!
//! Where any of this cannot be determined, a sector is [`SECTOR_BYTES`].

use std::fs::{self, File};
use std::io::{self, IoSlice};
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags};
use rustix::io::ReadWriteFlags;

use crate::disk::{AlignedBuffer, LEAST_SECTOR_BYTES, SECTOR_BYTES};

/// See [`Disk::sector_bytes`](crate::disk::Disk::sector_bytes).
pub(super) fn sector_bytes(directory: &Path, wanted: Option<usize>) -> io::Result<usize> {
    if let Some(wanted) = wanted {
        return may_be(wanted, directory).then_some(wanted).ok_or_else(|| {
            let reason = format!("blocks of {wanted} bytes cannot be written there by themselves");
            io::Error::new(io::ErrorKind::InvalidInput, reason)
        });
    }
    let smaller = || {
        let file = unnamed_file(directory)?;
        let told = of_device(directory)?.max(of_direct_writes(&file)?);
        let is_smaller = told.is_power_of_two() && (LEAST_SECTOR_BYTES..SECTOR_BYTES).contains(&told);
        (is_smaller && takes_direct_writes(&file, told)).then_some(told)
    };
    Ok(smaller().unwrap_or(SECTOR_BYTES))
}

/// Whether the file system writes such a small unit by itself, whatever the device does with it.
fn may_be(bytes: usize, directory: &Path) -> bool {
    let takes = |file: File| {
        of_direct_writes(&file).is_some_and(|least| least <= bytes) && takes_direct_writes(&file, bytes)
    };
    bytes == SECTOR_BYTES || unnamed_file(directory).is_some_and(takes)
}

/// For trying direct writes. The file is gone when it is closed.
fn unnamed_file(directory: &Path) -> Option<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::DIRECT | OFlags::CLOEXEC;
    Some(rustix::fs::open(directory, flags, Mode::RUSR | Mode::WUSR).ok()?.into())
}

/// The larger of the block sizes that the device of a directory reports, if that device writes by itself.
fn of_device(directory: &Path) -> Option<usize> {
    let device = rustix::fs::stat(directory).ok()?.st_dev;
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let device = fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    // A partition is below its disk, which has the queue.
    let disk = [device.as_path(), device.parent()?].into_iter().find(|path| path.join("queue").is_dir())?;
    if disk.join("loop").exists() || disk.join("md").exists() {
        return None;
    }
    let told = |name| fs::read_to_string(disk.join("queue").join(name)).ok()?.trim().parse::<usize>().ok();
    Some(told("logical_block_size")?.max(told("physical_block_size")?))
}

/// The alignment of direct writes that the file system reports.
fn of_direct_writes(file: &File) -> Option<usize> {
    let told = rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok()?;
    let is_told = told.stx_mask & StatxFlags::DIOALIGN.bits() != 0 && told.stx_dio_offset_align > 0;
    is_told.then_some(told.stx_dio_offset_align.max(told.stx_dio_mem_align) as usize)
}

fn takes_direct_writes(file: &File, bytes: usize) -> bool {
    let page = AlignedBuffer::new(SECTOR_BYTES);
    let writes = |bytes: &[u8], offset| {
        rustix::io::pwritev2(file, &[IoSlice::new(bytes)], offset, ReadWriteFlags::DSYNC) == Ok(bytes.len())
    };
    // The second write is at an address and an offset that are multiples of nothing larger.
    writes(&page, 0) && writes(&page[bytes..2 * bytes], bytes as u64)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_sector_has_a_size_that_blocks_can_have() {
        let directory = tempfile::tempdir().expect("a directory");
        let bytes = sector_bytes(directory.path(), None).expect("a size");
        assert!(bytes.is_power_of_two() && (LEAST_SECTOR_BYTES..=SECTOR_BYTES).contains(&bytes));
        assert_eq!(fs::read_dir(directory.path()).expect("listed").count(), 0);
    }

    #[test]
    fn where_nothing_is_known_a_sector_is_large() {
        for unknown in ["/proc/self", "/no/such/directory"].map(Path::new) {
            assert_eq!(sector_bytes(unknown, None).expect("a size"), SECTOR_BYTES);
            assert_eq!(sector_bytes(unknown, Some(SECTOR_BYTES)).expect("a size"), SECTOR_BYTES);
            assert!(sector_bytes(unknown, Some(LEAST_SECTOR_BYTES)).is_err());
        }
    }
}

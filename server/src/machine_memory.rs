//! Determines how much memory there is, and takes memory from the operating system before it is needed.
//!
//! The first touch of a page costs a fault, and the kernel clears the page. Under a hypervisor that reclaims
//! unused memory from its guests this costs many times more, because the host must find and clear a page as
//! well. A database that grows with every transaction pays this inside its transactions. [`reserve`] pays it
//! at the start, and from then on the process keeps what it has taken.

#![allow(unsafe_code)] // The function that sets an option of the allocator is unsafe.

use std::ffi::c_long;
use std::path::Path;

use hyades::types::memory::Limits;

const MIB: usize = 1 << 20;
/// The allocator cuts pieces of this size from its own areas and does not map them one by one.
const PIECE: usize = 8 * MIB;
/// `mi_option_purge_delay`, which the bindings leave out.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;
const NEVER: c_long = -1;
/// Milliseconds until freed memory goes back to the operating system. The allocator's default of one second
/// is too long under a memory limit: while many connections grow and shrink, memory that some have freed
/// would count in addition to what others take.
const SOON: c_long = 50;

/// Makes the allocator return freed memory soon, so that the process takes little more than what is in use.
/// Must be called before anything is freed: a purge that is already scheduled is not brought forward. An
/// operator's `MIMALLOC_PURGE_DELAY` takes precedence.
pub(crate) fn give_back_soon() {
    if std::env::var_os("MIMALLOC_PURGE_DELAY").is_none() {
        // SAFETY: the option exists, and is read whenever something is freed.
        unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, SOON) };
    }
}

/// Takes `mib` MiB, touches them and leaves them to the allocator, which from then on returns nothing to the
/// operating system.
///
/// # Errors
///
/// A sentence if the system does not have the memory.
pub(crate) fn reserve(mib: usize) -> Result<(), String> {
    if mib == 0 {
        return Ok(());
    }
    // The system overcommits memory, and kills a process that uses all it was promised.
    if let Some(available) = available_mib().filter(|available| mib > *available) {
        return Err(format!("could not reserve {mib} MiB of memory: {available} MiB are available"));
    }
    // SAFETY: the option exists, and is read whenever something is freed.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, NEVER) };
    let mut pieces: Vec<Vec<u8>> = Vec::new();
    for _ in 0..mib.div_ceil(PIECE / MIB) {
        let mut piece = Vec::new();
        let taken = piece.try_reserve_exact(PIECE);
        taken.map_err(|error| format!("could not reserve {mib} MiB of memory: {error}"))?;
        piece.resize(PIECE, u8::MAX);
        pieces.push(piece);
    }
    Ok(())
}

/// The memory that could be taken without swapping, as Linux estimates it.
fn available_mib() -> Option<usize> {
    let known = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = known.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib / 1024)
}

/// The share of the machine's memory that the server may use by default: the allocator, stacks and the system
/// need the rest.
const SHARE_PERCENT: u64 = 75;
/// One connection may use this fraction of the server's memory by default: a load of ten million rows in one
/// transaction takes some gigabytes until it commits.
const PART_OF_CONNECTION: u64 = 4;

/// The fraction of the server's memory that versions seen only by old snapshots may take.
const PART_OF_VERSIONS: usize = 8;

/// How many bytes versions may take, where there is a limit.
pub(crate) fn version_bytes(limits: Limits) -> Option<u64> {
    let has_limit = limits.server_bytes != Limits::NONE.server_bytes;
    has_limit.then_some((limits.server_bytes / PART_OF_VERSIONS) as u64)
}

/// The limits, from those given in MiB and the defaults.
pub(crate) fn limits(server_mib: Option<u64>, connection_mib: Option<u64>) -> Limits {
    let bytes = |mib: u64| usize::try_from(mib << 20).unwrap_or(usize::MAX);
    let Some(server_mib) = server_mib.or_else(|| Some(machine_mib()? * SHARE_PERCENT / 100)) else {
        return Limits {
            connection_bytes: connection_mib.map_or(Limits::NONE.connection_bytes, bytes),
            ..Limits::NONE
        };
    };
    let connection_mib = connection_mib.unwrap_or(server_mib / PART_OF_CONNECTION);
    Limits { server_bytes: bytes(server_mib), connection_bytes: bytes(connection_mib) }
}

/// The memory of the machine, or the limit of the process's control group if that is lower.
fn machine_mib() -> Option<u64> {
    let known = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = known.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(control_group_bytes().map_or(kib / 1024, |bytes| (bytes >> 20).min(kib / 1024)))
}

/// The smallest limit of the process's control group and those above it, in version 1 or 2.
fn control_group_bytes() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let mut smallest: Option<u64> = None;
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (mounted, file) = match parts.next()? {
            "" => ("/sys/fs/cgroup", "memory.max"),
            controllers if controllers.split(',').any(|name| name == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => continue,
        };
        for group in Path::new(parts.next()?).ancestors() {
            let directory = Path::new(mounted).join(group.strip_prefix("/").unwrap_or(group));
            // "max" is not a number. In a container the path may be that of the host, where only the root
            // exists here.
            let limit = std::fs::read_to_string(directory.join(file)).ok();
            let limit = limit.and_then(|text| text.trim().parse().ok());
            smallest = limit.into_iter().chain(smallest).min();
        }
    }
    smallest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_follows_from_the_machine() {
        assert_eq!(limits(Some(400), None), Limits { server_bytes: 400 << 20, connection_bytes: 100 << 20 });
        assert_eq!(limits(Some(1 << 20), None).connection_bytes, 1 << 38);
        assert_eq!(limits(Some(400), Some(300)).connection_bytes, 300 << 20);
        let machine = machine_mib().expect("Linux");
        assert_eq!(
            limits(None, Some(5)),
            Limits {
                server_bytes: usize::try_from(machine * 3 / 4).unwrap() << 20,
                connection_bytes: 5 << 20
            }
        );
    }
}

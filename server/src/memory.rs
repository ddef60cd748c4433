//! Memory taken from the operating system before it is needed.
//!
//! The first touch of a page costs a fault, and the kernel clears it; under a hypervisor that takes back what a guest does not use it
//! costs many times more, because the host has to find and clear a page as well. A database that grows with every transaction pays
//! this inside its transactions. [`reserve`] pays it at the start, and from then on the process keeps what it has taken.

#![allow(unsafe_code)] // Setting an option of the allocator has no safe name.

use std::ffi::c_long;

const MIB: usize = 1 << 20;
/// What the allocator cuts from one of its areas, not from the operating system.
const PIECE: usize = 8 * MIB;
/// `mi_option_purge_delay`, which the bindings leave out.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;
const NEVER: c_long = -1;

/// Takes `mib` MiB, touches them and leaves them to the allocator, which then gives nothing back to the operating system.
///
/// # Errors
///
/// A sentence if the system has not got the memory.
pub(crate) fn reserve(mib: usize) -> Result<(), String> {
    if mib == 0 {
        return Ok(());
    }
    // The system promises more than it has, and kills the process that takes it at its word.
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

/// What could be taken without swapping, as Linux estimates it.
fn available_mib() -> Option<usize> {
    let known = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = known.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib / 1024)
}

//! Where transactions wait for a restart on demand.

use crate::storage::opening::Opening;
use crate::txn::{Flow, Interrupt};

/// Waits for a restart that still goes on. It waits for no transaction, so nobody who waits for it, whatever
/// he has locked, is part of a deadlock.
#[inline(always)]
pub(super) fn wait_for(opening: &Opening) -> Flow<()> {
    if opening.is_closed() { wait_while_closed(opening) } else { Ok(()) }
}

#[cold]
#[inline(never)]
fn wait_while_closed(opening: &Opening) -> Flow<()> {
    opening.wait()?.map_or(Ok(()), |ticket| Err(Interrupt::Wait(ticket)))
}

//! Where transactions wait for a restart on demand.

use super::{Flow, Interrupt};
use crate::storage::opening::Opening;

/// Waits for a restart that is still going on. The restart waits for no transaction, so one that waits for
/// it, whatever it has locked, is part of no deadlock.
#[inline(always)]
pub(crate) fn wait_for(opening: &Opening) -> Flow<()> {
    if opening.is_closed() { wait_while_closed(opening) } else { Ok(()) }
}

#[cold]
#[inline(never)]
fn wait_while_closed(opening: &Opening) -> Flow<()> {
    opening.wait()?.map_or(Ok(()), |ticket| Err(Interrupt::Wait(ticket)))
}

//! Where transactions wait for a restart on demand.

use super::{Flow, Interrupt};
use crate::storage::opening::Opening;
use crate::storage::table::Table;

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

/// The same for a transaction that wants the row under one key of a table, and no others.
#[inline(always)]
pub(crate) fn wait_for_key(table: &Table, key: &[u8]) -> Flow<()> {
    if table.opening().is_closed() { wait_while_key_is_closed(table, key) } else { Ok(()) }
}

#[cold]
#[inline(never)]
fn wait_while_key_is_closed(table: &Table, key: &[u8]) -> Flow<()> {
    let Some(ranges) = table.ranges() else { return wait_while_closed(table.opening()) };
    ranges.wait(key)?.map_or(Ok(()), |ticket| Err(Interrupt::Wait(ticket)))
}

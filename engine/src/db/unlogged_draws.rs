//! Numbers drawn from sequences that no log record mentions: by transactions that were rolled back or never
//! ended. A stop logs them, so that only a crash can make such numbers come again.

use hyades_types::error::Result;

use crate::log::record::{Commit, OperationsWriter};
use crate::protocol::{Append, AppendProgress, CommitPayload, Protocol};
use crate::storage::databases::Databases;

/// Appends one transaction that says how far all sequences have come. It becomes durable when the protocol
/// stops.
pub(super) fn log_unlogged<P: Protocol>(protocol: &P, databases: &Databases) -> Result<()> {
    if !P::WRITES_LOG {
        return Ok(());
    }
    let mut operations = OperationsWriter::new();
    let mut dependencies = protocol.new_dependencies();
    protocol.begin(&mut dependencies);
    for sequence in databases.sequences().into_iter().filter(|sequence| !sequence.id.is_temporary()) {
        if let Some(state) = sequence.unlogged() {
            if P::LEAVES_MARKS && !sequence.mark.is_empty() {
                protocol.follow(&sequence.mark, &mut dependencies);
            }
            operations.sequence(sequence.id, state);
            sequence.note_logged(state);
        }
    }
    if operations.is_empty() {
        return Ok(());
    }
    let payload = CommitPayload { operations: operations.as_bytes(), commit: Commit::default() };
    let mut progress = AppendProgress::default();
    loop {
        match protocol.log_commit(0, &mut dependencies, &payload, &mut progress)? {
            Append::Done(()) => return Ok(()),
            Append::Wait(ticket) => ticket.wait(),
        }
    }
}

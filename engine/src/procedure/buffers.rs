//! Memory of a run that is reused: rows, and what writes assemble.

use hyades_types::value::Value;

use crate::storage::row::{Leading, RowPatch};

/// A row that was read or written, and the primary key under which it was found.
#[derive(Clone, Debug, Default)]
pub struct RowBuffer {
    /// The row's bytes (see `storage::row`), unless the current run reads them in place.
    pub bytes: Vec<u8>,
    /// The primary key in index order (see `value::key`).
    pub key: Vec<u8>,
    /// What is read of a row that is copied ([`Procedure::leading`](super::ir::Procedure)).
    pub leading: Leading,
}

/// Buffers of one frame that writes reuse.
#[derive(Default)]
pub(crate) struct Scratch {
    pub(super) key: Vec<u8>,
    pub(super) row: Vec<u8>,
    pub(super) set: Vec<(u16, Value)>,
    pub(super) patch: RowPatch,
    /// Memory for the keys of coming reads.
    pub(super) ahead: Vec<u8>,
}

impl Scratch {
    /// Empties the buffers, and keeps at most this many bytes in each.
    pub(super) fn put_away(&mut self, bytes: usize) {
        self.set.clear();
        for buffer in [&mut self.key, &mut self.row, &mut self.ahead] {
            buffer.clear();
            buffer.shrink_to(bytes);
        }
        self.patch.put_away(bytes);
    }
}

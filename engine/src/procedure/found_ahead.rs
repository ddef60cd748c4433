//! What a loop has looked up ahead of its reads (`look_ahead`), until their turn comes.

use std::ops::Range;

use hyades_types::definition::TableId;
use smallvec::SmallVec;

use super::ir::TableIndex;
use crate::storage::table::Table;
use crate::txn::FoundAhead;

/// A read that did not happen must not keep the reads after it from being recognised.
const LONGEST_SKIP: usize = 4;

/// What was looked up ahead, in the order of the reads. Forgotten when the pin ends.
#[derive(Default)]
pub(super) struct Ahead<'g> {
    pub(super) reads: SmallVec<[AheadRead<'g>; 32]>,
    /// The first of `reads` that may still come.
    pub(super) next: usize,
    /// One after the other, in memory of the frame.
    pub(super) keys: Vec<u8>,
}

pub(super) struct AheadRead<'g> {
    pub(super) table: TableId,
    pub(super) reference: TableIndex,
    /// Its place in `Ahead::keys`.
    pub(super) key: Range<usize>,
    pub(super) found: Option<FoundAhead<'g>>,
}

impl<'g> Ahead<'g> {
    /// What was found under this key.
    #[inline]
    pub(super) fn take(&mut self, table: &Table, key: &[u8]) -> Option<FoundAhead<'g>> {
        let Ahead { reads, next, keys } = self;
        let mut waiting = reads.get(*next..)?.iter().take(LONGEST_SKIP);
        let place =
            *next + waiting.position(|read| read.table == table.id() && keys[read.key.clone()] == *key)?;
        *next = place + 1;
        reads[place].found
    }
}

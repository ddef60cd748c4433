//! A patch of a row as a log record has it, in the form in which storage takes it.

use crate::log::record::{Malformed, Pieces};
use crate::storage::row::RowPatch;

/// Reads the pieces of a patch.
pub(super) fn read_patch(pieces: &[u8], patch: &mut RowPatch) -> Result<(), Malformed> {
    patch.clear();
    for piece in Pieces::new(pieces) {
        let (offset, bytes) = piece?;
        if u32::try_from(offset).is_err() {
            return Err(Malformed { offset: 0, reason: "the place of a patch is out of range" });
        }
        patch.put(offset, bytes);
    }
    Ok(())
}

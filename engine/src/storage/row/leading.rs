//! The leading part of a row: who copies a row needs no more of it than the columns that are read.

use super::RowLayout;

/// A part of a row: all columns up to some last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leading {
    header_bytes: u32,
    /// The slot that says where the part ends; [`NO_SLOT`] if that is the end of the header.
    end_slot: u32,
}

const NO_SLOT: u32 = u32::MAX;

impl Leading {
    /// All of the row.
    pub const WHOLE: Leading = Leading { header_bytes: u32::MAX, end_slot: NO_SLOT };

    #[inline]
    pub fn is_whole(self) -> bool {
        self.header_bytes == u32::MAX
    }

    /// How many bytes say how long the part is.
    #[inline]
    pub(crate) fn header_bytes(self) -> usize {
        self.header_bytes as usize
    }

    /// How long the part is in a row that begins like this, which may be copied from two states of the row:
    /// then the number has no meaning.
    #[inline]
    pub(crate) fn bytes(self, header: &[u8]) -> usize {
        let end = header.get(self.end_slot as usize..).and_then(|slot| slot.first_chunk());
        end.map_or(self.header_bytes(), |end| u32::from_le_bytes(*end) as usize)
    }
}

impl Default for Leading {
    fn default() -> Leading {
        Leading::WHOLE
    }
}

/// Where a row is copied, and how much of it.
pub struct RowCopy<'b> {
    pub bytes: &'b mut Vec<u8>,
    /// What is copied at least.
    pub leading: Leading,
}

impl RowCopy<'_> {
    pub fn whole(bytes: &mut Vec<u8>) -> RowCopy<'_> {
        RowCopy { bytes, leading: Leading::WHOLE }
    }
}

impl RowLayout {
    /// The part of a row that holds its columns up to this one.
    pub(crate) fn leading(&self, last: u16) -> Leading {
        let (part, rest) =
            self.columns.split_at_checked(usize::from(last) + 1).unwrap_or((&self.columns, &[]));
        if rest.iter().all(|column| column.width > 0) {
            // Columns of fixed width are in the header.
            return Leading::WHOLE;
        }
        let end_slot = part.iter().rev().find(|column| column.width == 0).map(|column| column.slot as u32);
        Leading { header_bytes: self.header_bytes as u32, end_slot: end_slot.unwrap_or(NO_SLOT) }
    }
}

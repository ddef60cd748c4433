//! Changes to a row that preserve its length: pieces of bytes, written in place.
//!
//! Most updates of a transaction set columns of fixed width. They need no new row: the new pieces overwrite
//! the old ones. The old bytes, kept as a patch of the same shape, undo the update.
//!
//! ```text
//! | offset: u32 | length: u32 | bytes ... | offset ...
//! ```
//!
//! Invariant: no two pieces of a patch overlap, so their order does not matter.

use std::iter;
use std::ops::Range;

use hyades_types::scalar::Scalar;
use hyades_types::value::Value;
use smallvec::SmallVec;

use super::{Column, END_BYTES, RowLayout, append_content, end_at, is_content_of, read, write_fixed};

const PIECE_HEADER_BYTES: usize = 8;

/// The pieces by which an update overwrites bytes of a row whose length stays.
#[derive(Clone, Debug, Default)]
pub struct RowPatch {
    bytes: Vec<u8>,
}

impl RowPatch {
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Empty, in a buffer of at most this many bytes.
    pub fn put_away(&mut self, bytes: usize) {
        self.bytes.clear();
        self.bytes.shrink_to(bytes);
    }

    /// The form that [`overwrite`] takes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Begins a piece; the bytes appended until [`RowPatch::end_piece`] belong to it.
    fn begin_piece(&mut self, offset: usize) -> usize {
        self.bytes.extend_from_slice(&(offset as u32).to_le_bytes());
        self.bytes.extend_from_slice(&[0; END_BYTES]);
        self.bytes.len()
    }

    #[inline]
    pub(crate) fn put(&mut self, offset: usize, piece: &[u8]) {
        self.bytes.extend_from_slice(&(offset as u32).to_le_bytes());
        self.bytes.extend_from_slice(&(piece.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(piece);
    }

    fn end_piece(&mut self, begin: usize) {
        let length = (self.bytes.len() - begin) as u32;
        self.bytes[begin - END_BYTES..begin].copy_from_slice(&length.to_le_bytes());
    }
}

/// The pieces of a patch: the offset of each, and its bytes.
#[inline]
pub(crate) fn pieces(patch: &[u8]) -> impl Iterator<Item = (usize, &[u8])> + Clone {
    let mut rest = patch;
    iter::from_fn(move || {
        if rest.len() < PIECE_HEADER_BYTES {
            return None;
        }
        let (offset, length) = (end_at(rest, 0), end_at(rest, END_BYTES));
        let (piece, after) = rest[PIECE_HEADER_BYTES..].split_at(length);
        rest = after;
        Some((offset, piece))
    })
}

/// Whether every piece of a patch lies in a row of this length.
pub(crate) fn is_inside(row: &[u8], patch: &[u8]) -> bool {
    pieces(patch).all(|(offset, piece)| offset.checked_add(piece.len()).is_some_and(|end| end <= row.len()))
}

/// Whether a patch makes `new`, which has its pieces, of this row: whether all other bytes are the same.
pub(crate) fn leads_to(old: &[u8], patch: &[u8], new: &[u8]) -> bool {
    if old.len() != new.len() {
        return false;
    }
    let mut places: SmallVec<[Range<usize>; 8]> =
        pieces(patch).map(|(offset, piece)| offset..offset + piece.len()).collect();
    places.sort_unstable_by_key(|place| place.start);
    let mut from = 0;
    let end = old.len()..old.len();
    for place in places.into_iter().chain(iter::once(end)) {
        if old.get(from..place.start) != new.get(from..place.start) {
            return false;
        }
        from = place.end;
    }
    true
}

/// Writes the pieces of a patch to their places. Pieces that lie outside the row are skipped: it is then not
/// the row that the patch was made for, and the result is discarded (`storage::history`).
pub(crate) fn overwrite(row: &mut [u8], patch: &[u8]) {
    for (offset, piece) in pieces(patch) {
        if let Some(place) = row.get_mut(offset..offset + piece.len()) {
            place.copy_from_slice(piece);
        }
    }
}

/// Turns a copy of a patch into the one that undoes it: its pieces become the bytes that are in the row now.
#[inline]
pub(crate) fn invert(row: &[u8], patch: &mut [u8]) {
    let mut rest = patch;
    while rest.len() >= PIECE_HEADER_BYTES {
        let (offset, length) = (end_at(rest, 0), end_at(rest, END_BYTES));
        let (piece, after) = rest[PIECE_HEADER_BYTES..].split_at_mut(length);
        piece.copy_from_slice(&row[offset..offset + length]);
        rest = after;
    }
}

impl RowLayout {
    /// Makes the patch that sets these columns, each at most once, in `row`; false if it would change the
    /// row's length.
    pub fn patch(&self, row: &[u8], set: &[(u16, Value)], patch: &mut RowPatch) -> bool {
        patch.clear();
        let mut changes_nulls = false;
        for (number, value) in set {
            let column = &self.columns[usize::from(*number)];
            changes_nulls |= value.is_null() != self.is_null(row, *number);
            if column.width > 0 {
                let begin = patch.begin_piece(column.slot);
                patch.bytes.resize(begin + column.width, 0);
                write_fixed(value, &mut patch.bytes[begin..]);
                patch.end_piece(begin);
            } else {
                let content = self.content(row, column);
                let begin =
                    patch.begin_piece(column.previous.map_or(self.header_bytes, |slot| end_at(row, slot)));
                append_content(column.sql_type, value, &mut patch.bytes);
                if patch.bytes.len() - begin != content.len() {
                    return false;
                }
                patch.end_piece(begin);
            }
        }
        if changes_nulls {
            self.patch_nulls(row, set, patch);
        }
        true
    }

    /// Whether the column's values are [`Scalar`]s.
    #[inline]
    pub(crate) fn is_scalar(&self, number: u16) -> bool {
        self.columns[usize::from(number)].kind.is_some()
    }

    /// Adds a piece to a patch, which may be the first; false if the column or the scalar is NULL, their
    /// types differ, or the column cannot hold the scalar.
    #[inline]
    pub(crate) fn patch_scalar(&self, row: &[u8], number: u16, scalar: Scalar, patch: &mut RowPatch) -> bool {
        let column = &self.columns[usize::from(number)];
        if column.kind != Some(scalar.kind) || self.is_null(row, number) || !scalar.is_fit() {
            return false;
        }
        patch.put(column.slot, &scalar.number.to_le_bytes()[..column.width]);
        true
    }

    /// Whether a patch from a log surely makes another row of this one, which is a row of this layout: each
    /// of its pieces is a value of a column that is not NULL. If not, the new row must be checked as a whole.
    pub(crate) fn admits_patch(&self, row: &[u8], patch: &[u8]) -> bool {
        pieces(patch).all(|(offset, piece)| {
            let place = offset..offset + piece.len();
            let mut numbered = self.columns.iter().enumerate();
            let column = numbered.find(|(_, column)| self.place(row, column) == place);
            column.is_some_and(|(number, column)| {
                !self.is_null(row, number as u16) && is_content_of(column.sql_type, piece)
            })
        })
    }

    /// The column of fixed width that begins at this offset of a row, and its value in these bytes.
    pub fn fixed_value(&self, offset: usize, bytes: &[u8]) -> Option<(u16, Value)> {
        let is_meant =
            |column: &Column| column.width > 0 && (column.slot, column.width) == (offset, bytes.len());
        let number = self.columns.iter().position(is_meant)?;
        let sql_type = self.columns[number].sql_type;
        is_content_of(sql_type, bytes).then(|| (number as u16, read(sql_type, bytes)))
    }

    /// Whether a patch changes bytes of a value of the row.
    pub(crate) fn is_patched(&self, row: &[u8], number: u16, patch: &[u8]) -> bool {
        let place = self.place(row, &self.columns[usize::from(number)]);
        pieces(patch).any(|(offset, piece)| offset < place.end && place.start < offset + piece.len())
    }

    /// Where the value of a column is.
    pub(super) fn place(&self, row: &[u8], column: &Column) -> Range<usize> {
        match column.width {
            0 => {
                column.previous.map_or(self.header_bytes, |slot| end_at(row, slot))..end_at(row, column.slot)
            }
            width => column.slot..column.slot + width,
        }
    }

    fn patch_nulls(&self, row: &[u8], set: &[(u16, Value)], patch: &mut RowPatch) {
        let begin = patch.begin_piece(self.fixed_bytes);
        patch.bytes.extend_from_slice(&row[self.fixed_bytes..self.header_bytes]);
        for (number, value) in set {
            let (byte, bit) = (begin + usize::from(*number) / 8, 1 << (number % 8));
            if value.is_null() {
                patch.bytes[byte] |= bit;
            } else {
                patch.bytes[byte] &= !bit;
            }
        }
        patch.end_piece(begin);
    }
}

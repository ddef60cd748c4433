//! A row that a join table has kept, in memory or in a file.

use hyades_types::value::Value;

/// The kept parts of a row.
pub(crate) struct JoinedRow<'t> {
    /// The key in storage of the row in its row slot, if that row is to be changed.
    pub(crate) row_key: &'t [u8],
    /// The bytes of its row slot.
    pub(crate) row: &'t [u8],
    /// The values of its registers.
    pub(crate) values: &'t [Value],
}

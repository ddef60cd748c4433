//! All that a procedure may do to data.
/// The position of a scan.
#[derive(Default)]
pub struct Cursor {}

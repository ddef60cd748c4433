//! A row between stages, and what it costs.

pub(crate) use hyades_engine::spill::Row;
pub(super) use hyades_engine::spill::held_bytes;

/// What a row costs a stage.
pub(super) const UNITS_PER_ROW: u32 = 10;

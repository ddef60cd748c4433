//! A row between stages, and what it costs.

pub(crate) use hyades_engine::spill::Row;
pub(super) use hyades_engine::spill::held_bytes;

//! A row between stages, and its memory size.

pub(crate) use hyades_engine::spill::Row;
pub(super) use hyades_engine::spill::held_bytes;

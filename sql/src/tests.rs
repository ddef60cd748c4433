//! Tests of the crate as a whole.

mod engine;
mod golden;
mod limits;
mod parameters;

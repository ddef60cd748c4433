//! Tests of the crate as a whole.

mod connection;
mod copy;
mod engine;
mod golden;
mod limits;
mod names;
mod optimize;
mod parameters;
mod procedures;
mod sessions;
mod specs;

//! Hyades workloads and their drivers.
//!
//! `transfer`: moves money between accounts through one engine procedure, counts durable acknowledgements, then recovers
//! the database and compares its state. The binary `hyades-bench` is its command line.

pub mod driver;
pub mod transfer;

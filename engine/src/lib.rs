//! The Hyades transaction engine. No async runtime, no network, no SQL text.
//!
//! Reading order: `storage` (what is stored), `procedure` (what runs), `txn` (how it is isolated), `log` and
//! `protocol` (how it is made durable), `checkpoint` and `recovery` (how it comes back), `db` (how it all
//! fits together). Values are defined in the crate `hyades-types`.

pub mod backup;
mod catalog;
mod checkpoint;
pub mod conductor;
pub mod config;
pub mod db;
pub mod disk;
pub mod inspect;
pub mod local_arc;
pub mod log;
pub mod lsn;
pub mod mutant;
pub mod procedure;
pub mod protocol;
pub mod recovery;
pub mod spill;
pub mod storage;
mod sync;
pub mod ticket;
pub mod txn;

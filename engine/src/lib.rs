//! The Hyades transaction engine. No async runtime, no network, no SQL text.
//!
//! Reading order: `value` and `storage` (what is stored), `procedure` (what runs), `txn` (how it is isolated),
//! `log` and `protocol` (how it is made durable), `recovery` (how it comes back), `db` (how it all meets). `memory` says who may take how much.

pub mod catalog;
pub mod config;
pub mod db;
pub mod disk;
pub mod error;
pub mod foundations;
pub mod guest;
pub mod inspect;
pub mod local_arc;
pub mod log;
pub mod lsn;
pub mod memory;
pub mod mutant;
pub mod procedure;
pub mod protocol;
pub mod recovery;
pub mod storage;
mod sync;
pub mod ticket;
pub mod txn;
pub mod value;

pub use error::{Error, Result};

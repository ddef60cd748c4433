//! The Hyades transaction engine. No async runtime, no network, no SQL text.
//!
//! Files, in reading order:
//! * what is stored: `storage`; `spill` (what a statement holds beyond its memory);
//! * what runs, and how it is isolated: `procedure`, `txn`; `ticket` (how it waits for others); `helpers`
//!   (threads that work ahead for sessions); `catalog` (changes of the catalog); `commit_clock` (the order of
//!   all of it);
//! * how it is made durable: `lsn` (positions in logs), `log`, `protocol`;
//! * how it comes back: `checkpoint`, `recovery`, `backup`;
//! * how it all fits together: `config` (the settings of a database), `db`;
//! * `inspect`: logs read for operators, without a database;
//! * the world outside: `disk`, `sync` (threads, clocks, chance), `conductor` (a simulation in their place);
//! * `local_arc`: shared references without contention for their count; `mutant`: bugs that tests must find.
//!
//! Values are defined in the crate `hyades-types`.

pub mod backup;
mod catalog;
mod checkpoint;
pub mod commit_clock;
pub mod conductor;
pub mod config;
pub mod db;
pub mod disk;
pub mod helpers;
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

//! Development only: what the tests need to treat Hyades worse than the real world does.
//!
//! Files, in reading order:
//! * disks: `disk` (in memory; loses, tears, corrupts and refuses), `hand_written` (logs with every byte
//!   chosen by the test);
//! * the engine as tests use it: `client` (through its public API), `routines` (calls, logged as commands or
//!   as data), `threads` (real, or those of the scheduler);
//! * what is run and what must come of it: `script` (seeded random transactions and the model that says which
//!   states may be found after a crash), `workload` (concurrent list-append sessions, before and after
//!   crashes), `history` and `serializability` (what these recorded, and a checker for Adya's anomalies);
//! * what goes wrong: `crash` (a script's life on a disk that dies, and what recovery must then find),
//!   `single_faults` (files of a database at rest that lose or change something), `salvage` (what is kept of
//!   damaged databases), `given_up` (a COMMIT that is cancelled, and another one), `restarts` (transactions
//!   in the middle of a restart), `wanted_first` (what they wait for comes first), `fault_table` (the effect
//!   of each fault in each step of the work);
//! * `conformance` (every protocol under the same checks);
//! * `scheduler` (one thread at a time, chosen by a seed), `simulation` (the whole engine under it).
//!
//! Everything random comes from a seed that the caller gives, so a failure can be repeated from its seed.

pub mod client;
pub mod conformance;
pub mod crash;
pub mod disk;
pub mod fault_table;
pub mod given_up;
pub mod hand_written;
pub mod history;
pub mod restarts;
pub mod routines;
pub mod salvage;
pub mod scheduler;
pub mod script;
pub mod serializability;
pub mod simulation;
pub mod single_faults;
pub mod threads;
pub mod wanted_first;
pub mod workload;

/// A file of the repository, for tests that compare a document with the code. Cargo gives the crate's path at
/// run time. A path that is compiled in may belong to another clone, because clones can share a build cache.
pub fn in_repository(file: &str) -> std::path::PathBuf {
    let root = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    std::path::Path::new(&root).join("..").join(file)
}

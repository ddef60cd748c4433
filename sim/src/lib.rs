//! Development only: what the tests need to treat Hyades worse than the real world does.
//!
//! Reading order: `disk` (a disk in memory that loses, tears, corrupts and refuses), `hand_written` (logs
//! with every byte chosen by the test), `history` and `serializability` (recorded list-append histories and a
//! checker for Adya's anomalies), `script` (seeded random transactions and the model that says which states
//! may be found after a crash), `client` (the engine through its public API), `routines` (calls, logged as
//! commands or as data), `crash` (a script's life on a disk that dies, and what recovery must then find),
//! `single_faults` (files of a database at rest that lose or change something), `salvage` (what is kept of
//! damaged databases), `workload` (concurrent list-append sessions, before and after crashes), `given_up` (a
//! COMMIT that is cancelled, and another one), `fault_table` (the effect of each fault in each step of the
//! work), `restarts` (transactions in the middle of a restart), `threads` and `scheduler` (one thread at a
//! time, chosen by a seed), `simulation` (the whole engine under the scheduler).
//!
//! Everything random comes from a seed that the caller gives, so a failure can be repeated from its seed.

pub mod client;
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
pub mod workload;

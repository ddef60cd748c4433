//! Checkpoints: the state at a point in time, so that a restart need not replay all logs, and logs need not
//! be kept for ever. No transaction is stopped for one.
//!
//! ```text
//!   time taken ---> walkers read {time <= C} ---> parts, contents ---> logs durable so far ---> manifest
//!   (txn::writes::capture)   (walk)                (part, contents)                              |
//!                                                                                                v
//!                                                          segments, incarnations and files that are
//!                                                          no longer needed are removed
//! ```
//!
//! The set of the transactions up to a commit time is closed under dependencies, so a checkpoint is
//! exact: it works with log records that hold data and with those that hold calls, under every protocol. A
//! restart loads it (`load`) and replays what its logs hold from `from` on, but skips what the checkpoint
//! already holds ([`crate::log::manifest::Checkpoint`]).
//!
//! Files: `checkpoints/<number>.contents` says what is in it, `<number>-<writer>.part` holds rows. Only what
//! has changed since the previous checkpoint is written. For the rest, the contents name the older files.
//!
//! Files:
//! * taking one: `checkpointer` (the thread, and requests to it), `take` (the steps), `walk` (what has
//!   changed), `pace` (how fast, if no client waits for it);
//! * the bytes: `schema` (the catalog), `contents` (which ranges are in which files) with `base64_text`
//!   (their keys), `part` (rows);
//! * reading one: `load` (into an empty database), `merge` (base and changes of a range), `range_changes`
//!   (what the logs have done to it since), `verify` (only to see that it can be read).
//!
//! Invariants:
//! 1. A checkpoint counts once the manifest names it: after its files are durable, and after the logs are
//!    durable up to what it holds. A crash at any moment leaves the previous one.
//! 2. The last two are kept, with everything that replay needs after the older of them (pitfall 28).
//! 3. Its tables are those that were committed at its time, with the states that were committed
//!    (`txn::writes::capture`).
//!
//! Reference: CALC (SIGMOD 2016) for checkpoints beside writers; SiloR (OSDI 2014) for parallel writing and
//! loading; pitfalls 15, 27, 28.

mod base64_text;
mod checkpointer;
pub(crate) mod contents;
pub(crate) mod load;
mod merge;
mod pace;
mod part;
pub(crate) mod range_changes;
pub(crate) mod schema;
mod take;
pub(crate) mod verify;
mod walk;

pub use self::checkpointer::{CheckpointRequest, CheckpointStatus};
pub(crate) use self::checkpointer::{Checkpointer, ReplaySpeed};

//! Tests of the crate as a whole.

mod builtins;
mod compilations;
mod connection;
mod copy;
mod copy_binary;
mod copy_pieces;
mod engine;
mod golden;
mod limits;
mod looks;
mod names;
mod optimize;
mod parameters;
mod procedures;
mod refusals;
mod replay_programs;
mod roles;
mod sessions;
mod specs;
mod stored_forms;
mod verification;

use std::path::{Path, PathBuf};

/// A folder of this crate's `tests`. Cargo gives the crate's path at run time. A path that is compiled in
/// may belong to another clone, because clones can share a build cache.
fn folder(name: &str) -> PathBuf {
    let root = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&root).join("tests").join(name)
}

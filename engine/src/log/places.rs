//! Chooses the implementation that keeps the logs and the manifest of a configuration: the only place that
//! does.

use std::sync::Arc;

use hyades_types::error::Result;

use super::buffer::LogBuffer;
use super::manifest::{Incarnation, Manifest, ManifestFile, ManifestStore};
use super::set::{LogSet, NewLogSet};
use super::store::new_set::NewFileLogs;
use super::store::old_set::FileLogs;
use crate::config::Config;

/// Where the manifest of this configuration's database is kept.
pub fn manifest_store(config: &Config) -> Box<dyn ManifestStore> {
    Box::new(ManifestFile::of(config))
}

/// The logs of an incarnation of the manifest.
pub fn log_set(config: &Config, manifest: &Manifest, incarnation: &Incarnation) -> Box<dyn LogSet> {
    Box::new(FileLogs::new(config, manifest, incarnation))
}

/// The logs of the planned incarnation, which will be appended from these buffers. Checks that no file
/// has one of their names, completes the plan, and writes nothing.
pub(super) fn new_log_set(
    config: &Config,
    manifest: &Manifest,
    incarnation: &mut Incarnation,
    buffers: &[Arc<LogBuffer>],
) -> Result<Arc<dyn NewLogSet>> {
    Ok(Arc::new(NewFileLogs::plan(config, manifest, incarnation, buffers)?))
}

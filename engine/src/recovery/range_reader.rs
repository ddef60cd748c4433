//! What the logs have done to the rows of one range of keys since the checkpoint: read from those parts of
//! the logs that may have such keys (`extents`), and folded for the loader, which merges it into the range
//! (`checkpoint::range_changes`).
//!
//! Transactions are taken in the order of a replay by key (`by_key`): incarnation by incarnation, in each by
//! their commit times, or by their places in the only log. What is read is kept until that order is known. So
//! a range of which much of the logs may have keys is not read like this ([`RangeReader::bytes_of`]).

use std::sync::Arc;

use hyades_types::definition::TableId;
use hyades_types::error::Result;

use super::by_key::Numbering;
use super::command::Place;
use super::extents::Extents;
use super::incarnation::{ToReplay, extent_sources};
use super::logged_patch::read_patch;
use super::schedule::{Batch, BatchEntry, Source};
use super::scope::Scope;
use crate::checkpoint::range_changes::RangeChanges;
use crate::config::Config;
use crate::log::manifest::Manifest;
use crate::log::record::{Operation, Operations};
use crate::storage::row::RowPatch;

/// From a key on, and before another one.
pub(super) type Bounds<'k> = (&'k [u8], Option<&'k [u8]>);

/// See the module head.
pub(super) struct RangeReader {
    pub(super) config: Config,
    /// All logs have ended.
    pub(super) manifest: Manifest,
    /// For each log of each incarnation that is replayed.
    pub(super) extents: Arc<Vec<Vec<Extents>>>,
}

impl RangeReader {
    /// How much of the logs has to be read for a range of a table.
    pub(super) fn bytes_of(&self, table: TableId, bounds: Bounds<'_>) -> u64 {
        let extents = self.extents.iter().flatten().flat_map(|extents| extents.of_keys(table, bounds));
        extents.map(|extent| extent.end - extent.start).sum()
    }

    /// What the logs have done to the rows of a range.
    ///
    /// # Errors
    /// They are damaged.
    pub(super) fn read(&self, table: TableId, bounds: Bounds<'_>) -> Result<RangeChanges> {
        let (mut changes, mut patch) = (RangeChanges::default(), RowPatch::default());
        for (place, incarnation) in self.manifest.to_replay().enumerate() {
            let scope = Arc::new(Scope::of_ended(incarnation));
            let to_replay =
                ToReplay { manifest: &self.manifest, incarnation, scope, workers: 1, is_salvage: false };
            let choose = |extents: &Extents| extents.of_keys(table, bounds);
            let (sources, options) =
                extent_sources(&self.config, &to_replay, (&self.extents, place), choose)?;
            let mut batches: Vec<(usize, Batch)> = Vec::new();
            for (log, (mut source, _)) in sources.into_iter().enumerate() {
                loop {
                    let mut batch = Batch::default();
                    if !source.fill(&mut batch)? {
                        break;
                    }
                    batch.decode()?;
                    batches.push((log, batch));
                }
            }
            let number = |entry: &BatchEntry| match options.numbering {
                Numbering::Time => entry.time.unwrap_or(0),
                Numbering::Place => entry.end,
            };
            let entries = batches
                .iter()
                .flat_map(|(log, batch)| batch.entries.iter().map(move |entry| (*log, batch, entry)));
            // Bounded: their bytes are in memory.
            let mut entries: Vec<(usize, &Batch, &BatchEntry)> = entries.collect();
            entries.sort_by_key(|(_, _, entry)| number(entry));
            for (log, batch, entry) in entries {
                let place = Place { log, end: entry.end };
                take(&mut changes, (table, bounds), (place, batch.operations(entry)), &mut patch)?;
            }
        }
        Ok(changes)
    }
}

/// Takes what a transaction has done to the range.
fn take(
    changes: &mut RangeChanges,
    (wanted, (from, until)): (TableId, Bounds<'_>),
    (place, operations): (Place, &[u8]),
    patch: &mut RowPatch,
) -> Result<()> {
    let is_wanted = |key: &[u8]| key >= from && until.is_none_or(|until| key < until);
    let mut operations = Operations::new(operations);
    while let Some(operation) = operations.next() {
        let operation = operation.map_err(|malformed| place.corrupt(malformed.reason))?;
        let Some((table, key)) = operation.row() else { continue };
        if table != wanted {
            operations.pass_rows_of(table).map_err(|malformed| place.corrupt(malformed.reason))?;
            continue;
        }
        if !is_wanted(key) {
            continue;
        }
        match operation {
            Operation::Put { row, .. } => changes.put(key, Some(row)),
            Operation::Patch { pieces, .. } => {
                read_patch(pieces, patch).map_err(|malformed| place.corrupt(malformed.reason))?;
                changes.patch(key, patch.bytes());
            }
            _ => changes.put(key, None),
        }
    }
    Ok(())
}

//! Comparing states: one number for all that a database holds.
//!
//! Two recoveries of the same logs must give the same number, whatever the protocol and the number of workers
//! (design, invariant 6). Rows are added up, so that the order of their visit does not matter; table
//! definitions count too.

use std::hash::{BuildHasher, Hash, Hasher};
use std::ops::Bound;
use std::sync::Arc;

use crossbeam_epoch as epoch;
use hyades_types::error::Result;

use crate::storage::catalog::Catalog;
use crate::storage::scan_batch::{ScanBatch, ScanDirection};
use crate::storage::table::Table;

/// A hash of all committed tables, keys, rows, sequences and routines. Nothing may change meanwhile. Only
/// good for comparing within one version of this program.
pub fn state_hash(catalog: &Catalog) -> Result<u64> {
    let mut sum = tables_hash(&catalog.tables())?;
    let hashes = foldhash::quality::FixedState::default();
    for routine in catalog.routines() {
        sum = sum.wrapping_add(hashes.hash_one(format!("{:?} {:?}", routine.id, routine.definition)));
    }
    for sequence in catalog.sequences() {
        let shown = format!("{:?} {:?} {:?}", sequence.id, sequence.definition, sequence.state());
        sum = sum.wrapping_add(hashes.hash_one(shown));
    }
    Ok(sum)
}

/// As [`state_hash`], of these tables only.
pub fn tables_hash(tables: &[Arc<Table>]) -> Result<u64> {
    tables.iter().try_fold(0_u64, |sum, table| Ok(sum.wrapping_add(table_hash(table)?)))
}

fn table_hash(table: &Table) -> Result<u64> {
    let hashes = foldhash::quality::FixedState::with_seed(u64::from(table.id().0));
    let mut sum = hashes.hash_one(format!("{:?}", table.definition()));
    let guard = epoch::pin();
    let state = table.state(&guard);
    let mut batch = ScanBatch::new();
    let mut last: Option<Vec<u8>> = None;
    loop {
        let from = last.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let page = state.index().scan(from, ScanDirection::Forward, usize::MAX, &mut batch, &guard);
        for (key, record) in page.iter() {
            if let Some(row) = record.row(&guard) {
                let mut hasher = hashes.build_hasher();
                key.hash(&mut hasher);
                row.hash(&mut hasher);
                sum = sum.wrapping_add(hasher.finish());
            }
        }
        if batch.reaches_end() {
            return Ok(sum);
        }
        last = batch.last_key().map(<[u8]>::to_vec);
    }
}

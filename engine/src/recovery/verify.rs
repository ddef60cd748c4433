//! Compares states: one number for everything that a database holds.
//!
//! Two recoveries of the same logs must give the same number, whatever the protocol and the number of workers
//! (design, invariant 6). Rows are added up, so that the order in which they are visited does not matter.
//! Table definitions count, too.

use std::hash::{BuildHasher, Hash, Hasher};
use std::ops::Bound;
use std::sync::Arc;

use crossbeam_epoch as epoch;
use hyades_types::error::{Error, Result};

use crate::storage::catalog::for_each_record;
use crate::storage::databases::Databases;
use crate::storage::scan_batch::{ScanBatch, ScanDirection};
use crate::storage::table::Table;

/// A hash of all committed tables, keys, rows, sequences and routines. Nothing may change meanwhile. Only
/// good for comparing within one version of this program.
pub fn state_hash(databases: &Databases) -> Result<u64> {
    let mut sum = tables_hash(&databases.tables())?;
    let hashes = foldhash::quality::FixedState::default();
    for (id, stored) in databases.all() {
        sum = sum.wrapping_add(hashes.hash_one(format!("{id:?} {:?}", stored.definition)));
    }
    for routine in databases.routines() {
        sum = sum.wrapping_add(hashes.hash_one(format!("{:?} {:?}", routine.id, routine.definition)));
    }
    for sequence in databases.sequences() {
        let shown = format!("{:?} {:?} {:?}", sequence.id, sequence.definition, sequence.state());
        sum = sum.wrapping_add(hashes.hash_one(shown));
    }
    Ok(sum)
}

/// How many rows, and entries of secondary indexes, were compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckedIndexes {
    pub tables: usize,
    pub rows: u64,
    pub indexes: usize,
    pub entries: u64,
}

/// Compares every secondary index with the rows of its table: each row has its entry, and there are no
/// others. Nothing may change meanwhile.
///
/// # Errors
/// The first index that is wrong, by name.
pub fn check_indexes(databases: &Databases) -> Result<CheckedIndexes> {
    let mut checked = CheckedIndexes::default();
    let guard = epoch::pin();
    for table in databases.tables() {
        let state = table.shared_state();
        let mut entry = Vec::new();
        let mut rows = 0;
        for_each_record(state.index(), &guard, |key, record| {
            let Some(row) = record.row(&guard) else { return Ok(()) };
            rows += 1;
            for index in state.indexes() {
                index.encode(state.layout(), row, key, &mut entry);
                if index.entries().get(&entry, &guard).is_none() {
                    let name = &index.definition().name;
                    return Err(Error::corrupt(format!(
                        "index \"{name}\" has no entry for a row of its table"
                    )));
                }
            }
            Ok(())
        })?;
        for index in state.indexes() {
            let mut entries = 0;
            for_each_record(index.entries(), &guard, |_, _| {
                entries += 1;
                Ok(())
            })?;
            if entries != rows {
                let name = &index.definition().name;
                let message = format!("index \"{name}\" has {entries} entries, and its table {rows} rows");
                return Err(Error::corrupt(message));
            }
            checked.indexes += 1;
            checked.entries += entries;
        }
        checked.tables += 1;
        checked.rows += rows;
    }
    Ok(checked)
}

/// Like [`state_hash`], of these tables only.
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

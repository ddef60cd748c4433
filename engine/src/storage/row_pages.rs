//! The committed rows of a table, page by page of its index: between two pages nothing is pinned.

use std::ops::Bound;
use std::sync::Arc;

use crossbeam_epoch::{self as epoch, Guard};
use hyades_types::error::Result;

use super::scan_batch::{ScanBatch, ScanDirection};
use super::table::{Table, TableState};

/// Is given a key, its row, and what they are pinned by.
pub(crate) type See<'a> = &'a mut dyn FnMut(&[u8], &[u8], &Guard) -> Result<()>;

/// What a walk through a table that keeps writers away has still to see.
pub(crate) struct RowPages {
    state: Arc<TableState>,
    batch: ScanBatch,
    last: Option<Vec<u8>>,
    is_at_end: bool,
}

impl RowPages {
    pub(crate) fn of(table: &Table) -> RowPages {
        RowPages { state: table.shared_state(), batch: ScanBatch::new(), last: None, is_at_end: false }
    }

    /// Passes the keys and rows of the next page to `see`. Returns whether there was one.
    ///
    /// # Errors
    /// Those of `see`.
    pub(crate) fn next(&mut self, see: See<'_>) -> Result<bool> {
        if self.is_at_end {
            return Ok(false);
        }
        let from = self.last.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let guard = epoch::pin();
        let index = self.state.index();
        let page = index.scan(from, ScanDirection::Forward, usize::MAX, &mut self.batch, &guard);
        for (key, record) in page.iter() {
            if let Some(row) = record.row(&guard) {
                see(key, row, &guard)?;
            }
        }
        self.is_at_end = self.batch.reaches_end();
        self.last = self.batch.last_key().map(<[u8]>::to_vec);
        Ok(true)
    }
}

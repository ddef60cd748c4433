//! Statistics of an engine for its operator: how far its logs have come, and what its memory is used for.
//!
//! Only what costs nothing to count is counted. Memory of tables and indexes is estimated: their rows are
//! counted, and the size of a row is measured on a few of them.

use std::sync::Arc;

use crossbeam_epoch as epoch;

use crate::log::Logs;
use crate::storage::databases::Databases;
use crate::storage::scan_batch::{ScanBatch, ScanDirection};
use crate::storage::table::Table;

/// One log, in bytes of its positions, since the process began to write it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogStatistics {
    /// What has been reserved.
    pub appended: u64,
    /// What of that is durable.
    pub durable: u64,
    /// Blocks that have been written and synced, and their bytes with all padding.
    pub blocks: u64,
    pub stored: u64,
    /// The buffer in memory.
    pub buffer: u64,
}

/// Statistics of an engine. Memory in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineStatistics {
    pub logs: Vec<LogStatistics>,
    /// Rows with their primary index.
    pub tables: u64,
    /// Secondary indexes.
    pub indexes: u64,
    /// Older versions of rows that a snapshot may still see.
    pub versions: u64,
}

impl EngineStatistics {
    pub(super) fn of(logs: Option<&Arc<Logs>>, databases: &Databases, versions: u64) -> EngineStatistics {
        let of_log = |(log, logs): (usize, &Logs)| LogStatistics {
            appended: logs.reserved(log).0,
            durable: logs.watch().durable(log).0,
            blocks: logs.watch().advances(log),
            stored: logs.stored_bytes(log),
            buffer: logs.buffer_bytes(log),
        };
        let all = logs.into_iter().flat_map(|logs| (0..logs.watch().logs()).map(move |log| (log, &**logs)));
        let mut statistics =
            EngineStatistics { logs: all.map(of_log).collect(), versions, ..EngineStatistics::default() };
        for table in databases.tables() {
            let (rows, indexes) = table.estimated_bytes();
            statistics.tables += rows;
            statistics.indexes += indexes.iter().sum::<u64>();
        }
        statistics
    }
}

/// Rows of each table that are measured.
const MEASURED_ROWS: usize = 64;
/// What the allocator adds to a row and its record, approximately.
const ALLOCATIONS: u64 = 24;

impl Table {
    /// The approximate memory of the rows with their primary index, and of each secondary index, in their
    /// order.
    pub fn estimated_bytes(&self) -> (u64, Vec<u64>) {
        let guard = epoch::pin();
        let state = self.state(&guard);
        let rows = state.row_count();
        let index = state.index();
        let mut batch = ScanBatch::new();
        let page =
            index.scan(std::ops::Bound::Unbounded, ScanDirection::Forward, MEASURED_ROWS, &mut batch, &guard);
        let (mut measured, mut bytes) = (0_u64, 0_u64);
        for (key, record) in page.iter() {
            measured += 1;
            bytes += (key.len() + record.row(&guard).map_or(0, <[u8]>::len)) as u64;
        }
        let own = bytes.checked_div(measured).unwrap_or(0);
        let whole = rows * (own + index.overhead_bytes_per_row() as u64 + ALLOCATIONS);
        let of_index = |entries: &crate::storage::primary_index::PrimaryIndex| {
            let mut batch = ScanBatch::new();
            let page = entries.scan(
                std::ops::Bound::Unbounded,
                ScanDirection::Forward,
                MEASURED_ROWS,
                &mut batch,
                &guard,
            );
            let (count, bytes) = page
                .iter()
                .fold((0_u64, 0_u64), |(count, all), (key, _)| (count + 1, all + key.len() as u64));
            rows * (bytes.checked_div(count).unwrap_or(0) + entries.overhead_bytes_per_row() as u64)
        };
        (whole, state.indexes().iter().map(|index| of_index(index.entries())).collect())
    }
}

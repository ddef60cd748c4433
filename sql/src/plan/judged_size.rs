//! The sizes of tables for which a join order was chosen.

use std::sync::Arc;

use hyades_engine::storage::table::Table;

/// The size of a table when a statement was compiled.
#[derive(Clone, Debug)]
pub(crate) struct JudgedSize {
    pub(crate) table: Arc<Table>,
    pub(crate) rows: u64,
}

impl JudgedSize {
    /// Smaller tables count as having this many rows. They may grow, and matter little until then.
    pub(crate) const FEWEST_ROWS: u64 = 100;
    /// A plan is outdated once a table has grown or shrunk by this factor.
    const FACTOR: u64 = 8;

    pub(crate) fn of(table: &Arc<Table>) -> JudgedSize {
        JudgedSize { table: Arc::clone(table), rows: table.row_count().max(JudgedSize::FEWEST_ROWS) }
    }

    pub(crate) fn is_outdated(&self) -> bool {
        let rows = self.table.row_count().max(JudgedSize::FEWEST_ROWS);
        rows > self.rows.saturating_mul(JudgedSize::FACTOR) || rows < self.rows / JudgedSize::FACTOR
    }
}

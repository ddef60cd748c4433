//! A table.
use crate::catalog::{TableDefinition, TableId};
use std::sync::Arc;

#[derive(Debug)]
pub struct Table {
    id: TableId,
    definition: Arc<TableDefinition>,
}

impl Table {
    pub fn new(id: TableId, definition: TableDefinition) -> Table {
        Table { id, definition: Arc::new(definition) }
    }
    pub fn id(&self) -> TableId {
        self.id
    }
    pub fn definition(&self) -> Arc<TableDefinition> {
        Arc::clone(&self.definition)
    }
    /// Changes with every change of the definition.
    pub fn version(&self) -> u64 {
        0
    }
    /// Rows stored, uncommitted ones included.
    pub fn row_count(&self) -> u64 {
        0
    }
    pub fn is_dropped(&self) -> bool {
        false
    }
}

//! Column defaults that draw from sequences, which must be known when sequences change.

use std::sync::Arc;

use hyades_engine::storage::table::Table;
use hyades_types::definition::TableId;
use hyades_types::error::Result;
use hyades_types::sequence::Sequence;

use crate::viewpoint::Viewpoint;

/// A column whose default draws from a sequence.
pub(super) struct DrawingDefault {
    pub(super) table: Arc<Table>,
    pub(super) column: u16,
    pub(super) sequence: Arc<Sequence>,
}

impl Viewpoint {
    /// The defaults that draw from these sequences, except those of dropped tables.
    pub(super) fn drawing_defaults(
        &self,
        sequences: &[Arc<Sequence>],
        dropped: &[TableId],
    ) -> Result<Vec<DrawingDefault>> {
        let mut found = Vec::new();
        if sequences.is_empty() {
            return Ok(found);
        }
        for table in self.visible_tables() {
            let definition = table.definition();
            let draws = |default: &Option<String>| default.as_ref().is_some_and(|text| text.contains('('));
            if dropped.contains(&table.id())
                || !definition.columns.iter().any(|column| draws(&column.default))
            {
                continue;
            }
            for (column, id) in self.sequences_of_defaults(&table)? {
                if let Some(sequence) = sequences.iter().find(|sequence| sequence.id == id) {
                    let (table, sequence) = (Arc::clone(&table), Arc::clone(sequence));
                    found.push(DrawingDefault { table, column, sequence });
                }
            }
        }
        Ok(found)
    }
}

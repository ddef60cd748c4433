//! Secondary indexes of existing tables: built from the rows, dropped, renamed.
//!
//! A new index is a function of the old state: an entry for each row, and with UNIQUE no two with the same
//! columns. Entries of versions that only older snapshots see are added by the transaction that creates the
//! index (`txn::writes`). Replay has no versions.

use std::sync::Arc;

use crossbeam_epoch::Guard;
use hyades_types::definition::{IndexDefinition, TableDefinition, TableId};
use hyades_types::error::{Error, Result};
use hyades_types::{guest, memory};

use super::{Catalog, check_definition, corrupt, for_each_record};
use crate::storage::secondary_index::SecondaryIndex;
use crate::storage::table::TableState;

/// The work of making an entry, or of looking at one, in a guest's units.
const UNITS_PER_ENTRY: usize = 40;

impl Catalog {
    pub(super) fn apply_create_index(
        &self,
        table: TableId,
        index: &IndexDefinition,
        guard: &Guard,
    ) -> Result<()> {
        let table = self.existing(table)?;
        check_definition(&table.definition().with_index(index))?;
        self.reserve_table_id(index.id);
        let state = table.state(guard).with_index(index, guard).map_err(corrupt)?;
        self.exchange(&table, Arc::new(state), guard);
        Ok(())
    }

    pub(super) fn apply_drop_index(&self, table: TableId, index: TableId, guard: &Guard) -> Result<()> {
        let table = self.existing(table)?;
        existing_index(&table.definition(), Some(index))?;
        self.replace_definition(&table, table.definition().without_index(index), guard);
        Ok(())
    }

    pub(super) fn apply_rename_index(
        &self,
        table: TableId,
        index: Option<TableId>,
        name: &str,
        guard: &Guard,
    ) -> Result<()> {
        let table = self.existing(table)?;
        existing_index(&table.definition(), index)?;
        self.replace_definition(&table, table.definition().with_renamed_index(index, name), guard);
        Ok(())
    }
}

fn existing_index(definition: &TableDefinition, index: Option<TableId>) -> Result<()> {
    let is_there = match index {
        Some(id) => definition.index(id).is_some(),
        None => definition.primary_key.is_some(),
    };
    if is_there {
        return Ok(());
    }
    let table = &definition.name.name;
    Err(Error::corrupt(format!("the log changes an index of table \"{table}\" that does not exist")))
}

impl TableState {
    /// The same rows with one more index. The caller holds the table's write lock.
    ///
    /// # Errors
    /// PostgreSQL's 23505 if two rows have the same values in a unique index; the error by which a guest is
    /// told to stop.
    pub fn with_index(&self, index: &IndexDefinition, guard: &Guard) -> Result<TableState> {
        let state = self.with_definition(self.definition().with_index(index));
        let Some(made) = state.indexes().last() else { return Ok(state) };
        let mut entry = Vec::new();
        for_each_record(self.index(), guard, |key, record| {
            guest::spend_for(UNITS_PER_ENTRY)?;
            if let Some(row) = record.row(guard) {
                made.encode(self.layout(), row, key, &mut entry);
                memory::admit_row(entry.len())?;
                made.entries().get_or_insert(&entry, None, guard);
            }
            Ok(())
        })?;
        if index.is_unique {
            self.check_unique(made, guard)?;
        }
        Ok(state)
    }

    /// Fails if two entries of the index have the same columns.
    pub(super) fn check_unique(&self, index: &SecondaryIndex, guard: &Guard) -> Result<()> {
        let (mut last, mut columns) = (Vec::new(), Vec::new());
        for_each_record(index.entries(), guard, |entry, _| {
            guest::spend_for(UNITS_PER_ENTRY)?;
            let (values, key) = entry.split_at(index.key_start(entry));
            if values == last {
                let row = self.index().get(key, guard).and_then(|record| record.row(guard));
                let Some(row) = row else { return Ok(()) };
                columns.clear();
                let has_null = index.append_columns(self.layout(), row, &mut columns);
                if index.is_exclusive(has_null) {
                    let definition = index.definition();
                    let columns: Vec<u16> = definition.key_columns().collect();
                    return Err(self.duplicate_key(&definition.name, &columns, row));
                }
            }
            last.clear();
            last.extend_from_slice(values);
            Ok(())
        })
    }

    /// What is wrong with the secondary indexes: a row without its entry, or, where there are no versions, an
    /// entry without its row. For tests. The table must not change meanwhile.
    pub fn check_indexes(&self) -> std::result::Result<(), String> {
        let guard = &crossbeam_epoch::pin();
        let mut entry = Vec::new();
        for index in self.indexes() {
            let name = &index.definition().name;
            let mut rows = 0_u64;
            for_each_record(self.index(), guard, |key, record| {
                let Some(row) = record.row(guard) else { return Ok(()) };
                rows += 1;
                index.encode(self.layout(), row, key, &mut entry);
                match index.entries().get(&entry, guard) {
                    Some(_) => Ok(()),
                    None => Err(Error::corrupt(format!("index \"{name}\" has no entry for the row {key:?}"))),
                }
            })
            .map_err(|error| error.to_string())?;
            let mut entries = 0_u64;
            let counted = for_each_record(index.entries(), guard, |_, _| {
                entries += 1;
                Ok(())
            });
            counted.map_err(|error| error.to_string())?;
            if entries != rows {
                return Err(format!("index \"{name}\" has {entries} entries for {rows} rows"));
            }
        }
        Ok(())
    }
}

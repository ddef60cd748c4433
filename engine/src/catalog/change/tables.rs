//! Tables and views: created, dropped, emptied, altered, renamed.

use std::sync::Arc;

use crossbeam_epoch as epoch;
use hyades_types::definition::{ColumnSource, PrimaryKey, TableDefinition, TableId, TableName};
use hyades_types::error::{Error, sqlstate};

use super::{Applying, stale};
use crate::catalog::effect::Effect;
use crate::storage::catalog::CatalogView;
use crate::storage::table::{Table, TableState};
use crate::txn::{Flow, Object, ObjectAccess, ObjectMode, TableLock, Waiting};

impl<T: ObjectAccess> Applying<'_, T> {
    pub(super) fn create_table(&mut self, id: TableId, definition: &TableDefinition) -> Flow<()> {
        self.lock_new_name(&definition.name)?;
        let key = definition.primary_key.iter().map(|key| &key.name);
        for name in key.chain(definition.indexes.iter().map(|index| &index.name)) {
            self.lock_new_name(&TableName { name: name.clone(), ..definition.name.clone() })?;
        }
        self.lock_used(definition)?;
        self.lock_types(definition)?;
        let keeper = self.overlay.keeper.as_ref().filter(|_| id.is_temporary());
        let table = Arc::new(Table::charged_to(id, definition.clone(), keeper));
        self.lock_alone(&table)?;
        self.note()?;
        self.push(Effect::CreatedTable(definition.name.clone(), table));
        Ok(())
    }

    /// Locks what a view or a materialized view uses, so that it stays until the view is there.
    fn lock_used(&mut self, definition: &TableDefinition) -> Flow<()> {
        let Some(view) = definition.source() else { return Ok(()) };
        for used in &view.tables {
            let used = self.overlay.table_by_id(*used).ok_or_else(stale)?;
            self.transaction.lock_table(&used, TableLock::RowShare, Waiting::InQueue)?;
            if used.is_dropped() {
                return Err(stale());
            }
        }
        Ok(())
    }

    pub(super) fn replace_view(&mut self, id: TableId, definition: &TableDefinition) -> Flow<()> {
        let view = self.existing(id)?;
        self.lock_alone(&view)?;
        self.lock_used(definition)?;
        self.lock_types(definition)?;
        if view.is_dropped() || view.definition().view.is_none() {
            return Err(stale());
        }
        let state = TableState::new(Arc::new(definition.clone())).charged_like(&view.shared_state());
        self.replace_state(&view, state)
    }

    pub(super) fn drop_table(&mut self, id: TableId) -> Flow<()> {
        let table = self.existing(id)?;
        let name = table.definition().name.clone();
        self.lock_schema_of(&name.schema)?;
        self.lock(Object::Relation(&name), ObjectMode::Change)?;
        self.lock_alone(&table)?;
        if table.is_dropped() {
            return Err(undefined_table(&name).into());
        }
        let definition = table.definition();
        // The caller drops foreign keys and views first; these were created after it looked.
        let is_used =
            !definition.foreign_keys.is_empty() || !definition.referenced_by.is_empty() || self.is_viewed(id);
        if definition.name != name || is_used {
            return Err(stale());
        }
        // A version of its own, which no plan was made for.
        self.replace_definition(&table, TableDefinition::clone(&definition))?;
        self.push(Effect::DroppedTable(name, table));
        Ok(())
    }

    /// Whether a view that this transaction sees uses the table.
    fn is_viewed(&self, id: TableId) -> bool {
        self.overlay.any_table(|table| table.definition().source().is_some_and(|view| view.uses_table(id)))
    }

    pub(super) fn truncate(&mut self, id: TableId) -> Flow<()> {
        let table = self.existing(id)?;
        self.lock_alone(&table)?;
        let state = table.state(&epoch::pin()).truncated();
        self.replace_state(&table, state)
    }

    pub(super) fn add_primary_key(&mut self, id: TableId, primary_key: &PrimaryKey) -> Flow<()> {
        let table = self.existing(id)?;
        self.lock_alone(&table)?;
        self.transaction.check_before_rewriting(&table)?;
        let name = TableName { name: primary_key.name.clone(), ..table.definition().name.clone() };
        self.lock_new_name(&name)?;
        let state = {
            let guard = epoch::pin();
            table.state(&guard).with_primary_key(primary_key, &guard)?
        };
        self.replace_state(&table, state)
    }

    pub(super) fn drop_default(&mut self, id: TableId, column: u16) -> Flow<()> {
        let table = self.changing_table(id)?;
        let definition = table.definition().without_default(column);
        self.replace_definition(&table, definition)
    }

    /// The caller has locked the table before it looked at its definition, and passes the complete new one.
    pub(super) fn alter_table(
        &mut self,
        id: TableId,
        definition: &TableDefinition,
        columns: Option<&[ColumnSource]>,
    ) -> Flow<()> {
        let table = self.changing_table(id)?;
        self.lock_types(definition)?;
        if columns.is_some() {
            self.transaction.check_before_rewriting(&table)?;
        }
        let state = {
            let guard = epoch::pin();
            table.state(&guard).altered(definition, columns, &guard)?
        };
        self.replace_state(&table, state)
    }

    /// Gives the table another name, and perhaps another schema, to which its indexes move along.
    pub(super) fn rename_table(&mut self, id: TableId, name: &str, schema: Option<&str>) -> Flow<()> {
        let table = self.changing_table(id)?;
        let old = table.definition();
        let renamed = old.with_name(name, schema);
        let (from, to) = (old.name.clone(), renamed.name.clone());
        self.lock_schema_of(&from.schema)?;
        self.lock(Object::Relation(&from), ObjectMode::Change)?;
        self.lock_new_name(&to)?;
        if from.schema != to.schema {
            let indexes = renamed.indexes.iter().map(|index| &index.name);
            for name in indexes.chain(renamed.primary_key.iter().map(|key| &key.name)) {
                self.lock_new_name(&TableName { schema: to.schema.clone(), name: name.clone() })?;
            }
        }
        if table.definition().name != from {
            return Err(stale());
        }
        self.replace_definition(&table, renamed)?;
        self.push(Effect::RenamedTable { from, to, table });
        Ok(())
    }
}

fn undefined_table(name: &TableName) -> Error {
    Error::input(sqlstate::UNDEFINED_TABLE, format!("relation \"{}\" does not exist", name.name))
}

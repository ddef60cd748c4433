//! ALTER TABLE inside a transaction: the table's state is replaced at once, as by other changes of an
//! existing table (`catalog_change`).
//!
//! The caller has locked the table before it looked at its definition, and passes the complete new
//! definition. A new name stays private to the transaction until it commits, as with a new table.

use std::sync::Arc;

use crossbeam_epoch as epoch;
use hyades_types::definition::{CatalogChange, ColumnSource, TableDefinition, TableId, TableName};
use hyades_types::error::{Abort, Error};

use super::resource::Resource;
use super::{LockingTransaction, NameChange};
use crate::protocol::Protocol;
use crate::txn::Flow;
use crate::txn::lock_mode::LockMode;

impl<P: Protocol> LockingTransaction<P> {
    pub(super) fn alter_table(
        &mut self,
        id: TableId,
        definition: &TableDefinition,
        columns: Option<&[ColumnSource]>,
        change: &CatalogChange,
    ) -> Flow<()> {
        let table = self.changing_table(id)?;
        self.lock_types(definition)?;
        if columns.is_some() {
            self.check_before_rewriting(&table)?;
        }
        let guard = epoch::pin();
        let state = table.state(&guard).altered(definition, columns, &guard)?;
        drop(guard);
        self.replace_state(table, state, change)
    }

    /// Gives the table another name, and perhaps another schema, to which its indexes move along.
    pub(super) fn rename_table(
        &mut self,
        id: TableId,
        (name, schema): (&str, Option<&str>),
        change: &CatalogChange,
    ) -> Flow<()> {
        let table = self.changing_table(id)?;
        let old = table.definition();
        let renamed = old.with_name(name, schema);
        let (from, to) = (old.name.clone(), renamed.name.clone());
        self.lock_schema_of(&from.schema)?;
        self.lock(Resource::name(&from), LockMode::Write)?;
        self.lock_new_name(&to)?;
        if from.schema != to.schema {
            let indexes = renamed.indexes.iter().map(|index| &index.name);
            for name in indexes.chain(renamed.primary_key.iter().map(|key| &key.name)) {
                self.lock_new_name(&TableName { schema: to.schema.clone(), name: name.clone() })?;
            }
        }
        if table.definition().name != from {
            return Err(Error::Abort(Abort::StalePlan).into());
        }
        let state = table.state(&epoch::pin()).with_definition(renamed);
        self.replace_state(Arc::clone(&table), state, change)?;
        self.names.push(NameChange::RenamedTable { from, to, table });
        Ok(())
    }
}

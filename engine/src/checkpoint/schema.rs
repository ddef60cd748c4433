//! The catalogs of all databases as the operations that create them, with which checkpoints and copies begin.

use std::collections::HashMap;

use crossbeam_epoch as epoch;
use hyades_types::definition::{CatalogChange, TableDefinition, TableId};
use hyades_types::error::{Error, Result};

use crate::log::record::{Operation, Operations, OperationsWriter};
use crate::storage::contents::{Content, contents};
use crate::storage::databases::Databases;

/// Adds the operations that turn the initial databases into these, in which these tables have these
/// definitions and no rows.
pub(crate) fn write(
    databases: &Databases,
    tables: impl Iterator<Item = (TableId, TableDefinition)>,
    into: &mut OperationsWriter,
) -> Result<()> {
    for change in databases.changes_from_initial() {
        into.change_catalog(&change)?;
    }
    let all = databases.all();
    // Roles and settings are the same in all.
    let access = all.first().map(|(_, stored)| stored.catalog.access()).unwrap_or_default();
    for (id, role) in access.roles() {
        into.change_catalog(&CatalogChange::PutRole { id, role: (**role).clone() })?;
    }
    for (of, settings) in access.settings() {
        into.change_catalog(&CatalogChange::PutSettings { of, settings: settings.to_vec() })?;
    }
    let mut definitions: HashMap<TableId, TableDefinition> = tables.collect();
    for (id, stored) in all {
        for Content { change, state } in contents(&stored.catalog, |table| definitions.remove(&table.id())) {
            into.change_catalog(&change.in_database(id))?;
            if let Some((sequence, state)) = state {
                into.sequence(sequence, state);
            }
        }
    }
    Ok(())
}

/// Recreates the databases from these operations.
pub(super) fn apply(operations: &[u8], databases: &Databases) -> Result<()> {
    let guard = epoch::pin();
    for operation in Operations::new(operations) {
        match operation.map_err(|malformed| damaged(malformed.reason))? {
            Operation::Catalog(change) => databases.apply(&change, &guard)?,
            Operation::Sequence { sequence, state } => databases.raise_sequence(sequence, state),
            Operation::Put { .. }
            | Operation::Patch { .. }
            | Operation::Delete { .. }
            | Operation::Command(_) => {
                return Err(damaged("there are rows among the schema"));
            }
        }
    }
    Ok(())
}

fn damaged(reason: &str) -> Error {
    Error::corrupt(format!("the checkpoint is damaged: {reason}"))
}

//! The catalog as the operations that create it, with which checkpoints and copies begin.

use crossbeam_epoch as epoch;
use hyades_types::access::{Rights, Role};
use hyades_types::definition::{CatalogChange, SequenceId, TableDefinition, TableId};
use hyades_types::error::{Error, Result};

use crate::log::record::{Operation, Operations, OperationsWriter};
use crate::storage::catalog::{Catalog, CatalogView};

/// Adds the operations that turn an empty catalog into this one, in which these tables have these definitions
/// and no rows.
pub(crate) fn write(
    catalog: &Catalog,
    tables: impl Iterator<Item = (TableId, TableDefinition)>,
    into: &mut OperationsWriter,
) -> Result<()> {
    for stored in catalog.types() {
        let definition = stored.definition.clone();
        into.change_catalog(&CatalogChange::CreateType { definition })?;
    }
    for change in catalog.schemas().changes() {
        into.change_catalog(&change)?;
    }
    for (id, definition) in tables {
        into.change_catalog(&CatalogChange::CreateTable { id, definition })?;
    }
    for routine in catalog.routines() {
        let (id, definition) = (routine.id, routine.definition.clone());
        into.change_catalog(&CatalogChange::CreateRoutine { id, definition, replaces: None })?;
    }
    for sequence in catalog.sequences().into_iter().filter(|sequence| !sequence.id.is_temporary()) {
        let (id, definition) = (sequence.id, sequence.definition.clone());
        into.change_catalog(&CatalogChange::CreateSequence { id, definition })?;
        into.sequence(id, sequence.state());
    }
    for (on, text) in catalog.comments().iter().filter(|(on, _)| on.object < SequenceId::FIRST_TEMPORARY) {
        let (on, text) = (on.clone(), Some(text.to_string()));
        into.change_catalog(&CatalogChange::Comment { on, text })?;
    }
    let access = catalog.access();
    for (id, role) in access.roles() {
        into.change_catalog(&CatalogChange::PutRole { id, role: Role::clone(role) })?;
    }
    for (object, rights) in access.objects().filter(|(object, _)| *object < SequenceId::FIRST_TEMPORARY) {
        into.change_catalog(&CatalogChange::PutRights { object, rights: Rights::clone(rights) })?;
    }
    Ok(())
}

/// Recreates the catalog from these operations.
pub(super) fn apply(operations: &[u8], catalog: &Catalog) -> Result<()> {
    let guard = epoch::pin();
    for operation in Operations::new(operations) {
        match operation.map_err(|malformed| damaged(malformed.reason))? {
            Operation::Catalog(change) => catalog.apply(&change, &guard)?,
            Operation::Sequence { sequence, state } => catalog.raise_sequence(sequence, state),
            Operation::Put { .. } | Operation::Delete { .. } | Operation::Command(_) => {
                return Err(damaged("there are rows among the schema"));
            }
        }
    }
    Ok(())
}

fn damaged(reason: &str) -> Error {
    Error::corrupt(format!("the checkpoint is damaged: {reason}"))
}

//! What a database holds, as the changes that create it again in an empty one: for checkpoints and copies.

use hyades_types::access::Rights;
use hyades_types::definition::{CatalogChange, SequenceId, SequenceState, TableDefinition};

use super::catalog::{Catalog, CatalogView};
use super::table::Table;

/// One change, and how far the sequence that it creates has come.
pub(crate) struct Content {
    pub(crate) change: CatalogChange,
    pub(crate) state: Option<(SequenceId, SequenceState)>,
}

impl From<CatalogChange> for Content {
    fn from(change: CatalogChange) -> Content {
        Content { change, state: None }
    }
}

/// Everything but rows, roles and what belongs to sessions. `definition_of` is asked for the definition that
/// a table has; `None` leaves the table out.
pub(crate) fn contents(
    catalog: &Catalog,
    mut definition_of: impl FnMut(&Table) -> Option<TableDefinition>,
) -> Vec<Content> {
    let is_lasting = |object: u32| object < SequenceId::FIRST_TEMPORARY;
    let mut all: Vec<Content> = Vec::new();
    for stored in catalog.types() {
        all.push(CatalogChange::CreateType { definition: stored.definition.clone() }.into());
    }
    all.extend(catalog.schemas().changes().into_iter().map(Content::from));
    for table in catalog.tables().into_iter().filter(|table| !table.id().is_temporary()) {
        if let Some(definition) = definition_of(&table) {
            all.push(CatalogChange::CreateTable { id: table.id(), definition }.into());
        }
    }
    for routine in catalog.routines() {
        let (id, definition) = (routine.id, routine.definition.clone());
        all.push(CatalogChange::CreateRoutine { id, definition, replaces: None }.into());
    }
    for sequence in catalog.sequences().into_iter().filter(|sequence| !sequence.id.is_temporary()) {
        let (id, definition) = (sequence.id, sequence.definition.clone());
        let change = CatalogChange::CreateSequence { id, definition };
        all.push(Content { change, state: Some((id, sequence.state())) });
    }
    for (on, text) in catalog.comments().iter().filter(|(on, _)| is_lasting(on.object)) {
        all.push(CatalogChange::Comment { on: on.clone(), text: Some(text.to_string()) }.into());
    }
    for (object, rights) in catalog.access().objects().filter(|(object, _)| is_lasting(*object)) {
        all.push(CatalogChange::PutRights { object, rights: Rights::clone(rights) }.into());
    }
    all
}

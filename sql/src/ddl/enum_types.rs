//! Labels of enum types: ALTER TYPE ... ADD VALUE and RENAME VALUE.
//!
//! Reference: AlterEnum of PostgreSQL's typecmds.c, AddEnumLabel and RenameEnumLabel of pg_enum.c.

use hyades_engine::storage::stored_type::StoredType;
use hyades_types::definition::{CatalogChange, TypeKind};
use hyades_types::error::Result;

use crate::answer::Output;
use crate::statement::TypeAction;
use crate::viewpoint::Viewpoint;

impl Viewpoint {
    pub(super) fn altered_labels(
        &self,
        stored: &StoredType,
        action: &TypeAction,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        let mut definition = stored.definition.clone();
        let TypeKind::Enum { labels } = &mut definition.kind else { return Ok(Vec::new()) };
        match action {
            TypeAction::AddValue { label, if_not_exists: true, .. } if labels.has(label) => {
                let message = format!("enum label \"{label}\" already exists, skipping");
                self.note(output, "42710", message);
                Ok(Vec::new())
            }
            TypeAction::AddValue { label, place, .. } => {
                labels.add(label, place)?;
                definition.begin_change();
                Ok(vec![CatalogChange::AlterType { definition }])
            }
            TypeAction::RenameValue { from, to } => {
                labels.rename(from, to)?;
                definition.begin_change();
                self.respelled_type(stored, definition, Some((from, to)))
            }
            _ => Ok(Vec::new()),
        }
    }
}

//! Temporary relations: ON COMMIT, DISCARD TEMP.

use hyades_engine::db::Flow;
use hyades_types::definition::CatalogChange;
use hyades_types::error::Result;
use hyades_types::value::Value;

use crate::answer::{Notice, Output};
use crate::statement::OnCommit;
use crate::viewpoint::Viewpoint;

/// Output that is dropped.
pub(super) struct Unsaid;

impl Output for Unsaid {
    fn row(&mut self, _values: &mut [Value]) -> Result<()> {
        Ok(())
    }
    fn copy_data(&mut self, _bytes: &[u8]) -> Result<()> {
        Ok(())
    }
    fn notice(&mut self, _notice: Notice) {}
    fn restart(&mut self) {}
}

impl Viewpoint {
    /// Carries out the ON COMMIT actions of temporary tables. It is called again after a wait.
    pub(crate) fn tidy_temporaries(&mut self) -> Flow<()> {
        if self.meaning.at_commit.is_empty() {
            return Ok(());
        }
        let (mut emptied, mut dropped) = (Vec::new(), Vec::new());
        let worker = &self.worker;
        self.meaning.at_commit.retain(|(id, on_commit)| {
            let view = worker.catalog_view();
            let Some(table) = view.table_by_id(*id) else { return false };
            if view.table(&table.definition().name).is_none_or(|now| now.id() != *id) {
                // The transaction has dropped it, which may be rolled back.
                return true;
            }
            match on_commit {
                OnCommit::Drop => dropped.push(table),
                OnCommit::DeleteRows if table.row_count() > 0 => emptied.push(table),
                OnCommit::DeleteRows | OnCommit::PreserveRows => {}
            }
            true
        });
        let mut changes = Vec::new();
        if !emptied.is_empty() {
            changes = self.truncated_temporaries(emptied, &mut Unsaid)?;
        }
        if !dropped.is_empty() {
            changes.extend(self.dropped(&dropped, true, &mut Unsaid)?);
            self.note_own_change();
        }
        changes.into_iter().try_for_each(|change| self.worker.change_catalog(change))
    }

    /// DISCARD TEMP.
    pub(crate) fn discarded_temporaries(&self) -> Result<Vec<CatalogChange>> {
        let Some(schema) = &self.meaning.temporary else { return Ok(Vec::new()) };
        let mut tables = self.visible_tables();
        tables.retain(|table| table.id().is_temporary() && table.definition().name.schema == *schema);
        let mut changes = self.dropped(&tables, true, &mut Unsaid)?;
        for sequence in self.worker.sequences() {
            let drop = CatalogChange::DropSequence { id: sequence.id };
            if sequence.definition.name.schema == *schema && !changes.contains(&drop) {
                changes.push(drop);
            }
        }
        Ok(changes)
    }

    /// Records the ON COMMIT action of a temporary table that these changes create.
    pub(super) fn note_on_commit(&mut self, changes: &[CatalogChange], on_commit: OnCommit) {
        let made = changes.iter().find_map(|change| match change {
            CatalogChange::CreateTable { id, .. } => Some(*id),
            _ => None,
        });
        if on_commit != OnCommit::PreserveRows {
            self.meaning.at_commit.extend(made.map(|id| (id, on_commit)));
        }
    }
}

//! Which database and which tables a change of the catalog is about.

use super::{CatalogChange, DatabaseId, SequenceId, TableId};

impl CatalogChange {
    /// The same change in the catalog of a database.
    #[must_use]
    pub fn in_database(self, database: DatabaseId) -> CatalogChange {
        match self {
            CatalogChange::PutRole { .. }
            | CatalogChange::DropRole { .. }
            | CatalogChange::PutSettings { .. }
            | CatalogChange::PutDatabase { .. }
            | CatalogChange::DropDatabase { .. }
            | CatalogChange::InDatabase { .. } => self,
            _ if database == DatabaseId::FIRST => self,
            _ => CatalogChange::InDatabase { database, change: Box::new(self) },
        }
    }

    /// Whether it concerns objects that are private to a session, which are not logged.
    pub fn is_temporary(&self) -> bool {
        match self {
            CatalogChange::CreateTable { id, .. } => id.is_temporary(),
            CatalogChange::CreateSequence { id, .. }
            | CatalogChange::AlterSequence { id, .. }
            | CatalogChange::DropSequence { id } => id.is_temporary(),
            CatalogChange::Comment { on, .. } => on.object >= SequenceId::FIRST_TEMPORARY,
            CatalogChange::PutRights { object, .. } => *object >= SequenceId::FIRST_TEMPORARY,
            CatalogChange::InDatabase { change, .. } => change.is_temporary(),
            _ => self.changed_tables().first().is_some_and(|id| id.is_temporary()),
        }
    }

    /// The existing tables that it changes, except those with columns of a type that it changes.
    pub fn changed_tables(&self) -> Vec<TableId> {
        match self {
            CatalogChange::DropTable { id }
            | CatalogChange::Truncate { id }
            | CatalogChange::AddPrimaryKey { id, .. }
            | CatalogChange::DropForeignKey { id, .. }
            | CatalogChange::ValidateForeignKey { id, .. }
            | CatalogChange::CreateIndex { table: id, .. }
            | CatalogChange::DropIndex { table: id, .. }
            | CatalogChange::RenameIndex { table: id, .. }
            | CatalogChange::ReplaceView { id, .. }
            | CatalogChange::DropDefault { id, .. }
            | CatalogChange::AlterTable { id, .. }
            | CatalogChange::RenameTable { id, .. } => vec![*id],
            CatalogChange::AddForeignKey { id, foreign_key } => vec![*id, foreign_key.parent],
            CatalogChange::InDatabase { change, .. } => change.changed_tables(),
            CatalogChange::CreateTable { .. }
            | CatalogChange::CreateSequence { .. }
            | CatalogChange::AlterSequence { .. }
            | CatalogChange::DropSequence { .. }
            | CatalogChange::CreateRoutine { .. }
            | CatalogChange::DropRoutine { .. }
            | CatalogChange::CreateType { .. }
            | CatalogChange::AlterType { .. }
            | CatalogChange::DropType { .. }
            | CatalogChange::CreateSchema { .. }
            | CatalogChange::DropSchema { .. }
            | CatalogChange::RenameSchema { .. }
            | CatalogChange::PutRole { .. }
            | CatalogChange::DropRole { .. }
            | CatalogChange::PutSettings { .. }
            | CatalogChange::PutRights { .. }
            | CatalogChange::PutDatabase { .. }
            | CatalogChange::DropDatabase { .. }
            | CatalogChange::Comment { .. } => Vec::new(),
        }
    }
}

//! Databases: created, changed, dropped, and filled while they are created.
//!
//! The name of a database is locked, and through it the database. A new database gets its catalog at once,
//! which is filled before it is published. No session finds it before the commit.
//!
//! A copy has the same names, other numbers, and the rows that are committed in the original when its tables
//! are locked: one state of it. It is logged as data, so a restart needs no original.

use std::cell::Cell;
use std::sync::Arc;

use crossbeam_epoch::{self as epoch, Guard};
use hyades_types::access::DATABASE_OBJECT;
use hyades_types::definition::{CatalogChange, DatabaseDefinition, DatabaseId, Renumbering};
use hyades_types::error::{Error, sqlstate};
use hyades_types::{guest, memory};

use super::{Applying, stale};
use crate::catalog::effect::Effect;
use crate::catalog::overlay::Overlay;
use crate::log::record::OperationsWriter;
use crate::storage::catalog::{Catalog, NewId};
use crate::storage::common::FIRST_ID;
use crate::storage::contents::{Content, contents};
use crate::storage::databases::duplicate_database;
use crate::storage::row_pages::RowPages;
use crate::storage::table::Table;
use crate::txn::{Flow, Object, ObjectAccess, ObjectMode, TableLock, Waiting, WriteOperation};

/// What copying a row takes, besides its bytes.
const UNITS_PER_ROW: usize = 100;

impl<T: ObjectAccess> Applying<'_, T> {
    /// Keeps the database of the session from being dropped or copied; 3D000 if it has been dropped.
    pub(super) fn use_database(&mut self) -> Flow<()> {
        let id = self.overlay.database;
        self.lock(Object::Database(id), ObjectMode::Use)?;
        match self.overlay.databases.get(id) {
            Some(_) => Ok(()),
            None => Err(no_database().into()),
        }
    }

    pub(super) fn put_database(&mut self, id: DatabaseId, definition: &DatabaseDefinition) -> Flow<()> {
        let known = self.overlay.databases();
        let old = known.iter().find(|database| database.id == id);
        if let Some(old) = old {
            self.lock(Object::DatabaseName(&old.definition.name), ObjectMode::Change)?;
        }
        self.lock(Object::DatabaseName(&definition.name), ObjectMode::Change)?;
        let known = self.overlay.databases();
        if known.iter().any(|other| other.id != id && other.definition.name == definition.name) {
            return Err(duplicate_database(&definition.name).into());
        }
        let is_there = known.iter().any(|database| database.id == id);
        if old.is_some() != is_there {
            return Err(stale());
        }
        self.note()?;
        let catalog = (!is_there).then(|| Arc::new(self.overlay.databases.new_catalog()));
        self.push(Effect::Database(id, definition.clone(), catalog));
        Ok(())
    }

    pub(super) fn drop_database(&mut self, id: DatabaseId) -> Flow<()> {
        let name_of = |applying: &Self| {
            let known = applying.overlay.databases();
            known.into_iter().find(|database| database.id == id).map(|database| database.definition)
        };
        let definition = name_of(self).ok_or_else(stale)?;
        self.lock(Object::DatabaseName(&definition.name), ObjectMode::Change)?;
        if name_of(self).is_none_or(|now| now.name != definition.name) {
            return Err(stale());
        }
        if id == DatabaseId::FIRST || id == self.overlay.database {
            let message = format!("database \"{}\" cannot be dropped", definition.name);
            return Err(Error::input(sqlstate::OBJECT_IN_USE, message).into());
        }
        self.lock(Object::Database(id), ObjectMode::Change)?;
        // No transaction is in the middle of writing to it.
        for table in self.overlay.databases.catalog(id).ok_or_else(stale)?.tables() {
            self.lock_alone(&table)?;
        }
        self.note()?;
        self.push(Effect::DroppedDatabase(id));
        Ok(())
    }

    /// A change in another database, which can only be one of rights.
    pub(super) fn change_other(&mut self, database: DatabaseId, change: &CatalogChange) -> Flow<()> {
        let CatalogChange::PutRights { .. } = change else {
            let message = "a database is changed from within another one";
            return Err(Error::input(sqlstate::INTERNAL_ERROR, message).into());
        };
        self.lock(Object::Database(database), ObjectMode::Use)?;
        if !self.overlay.databases().iter().any(|known| known.id == database) {
            return Err(stale());
        }
        self.change_access(change, database)
    }

    /// Fills a database that the transaction has made with what another one holds.
    fn copy_database(&mut self, from: DatabaseId, to: DatabaseId) -> Flow<()> {
        let copy = self.made_by_the_transaction(to).ok_or_else(stale)?;
        let original = self.overlay.databases.catalog(from).ok_or_else(stale)?;
        self.lock(Object::Database(from), ObjectMode::Change)?;
        let mut tables = original.tables();
        tables.retain(|table| !table.id().is_temporary());
        for table in &tables {
            self.transaction.lock_table(table, TableLock::Share, Waiting::InQueue)?;
        }
        let mut renumbering = Renumbering::new(FIRST_ID, || original.new_id(NewId::Object));
        let definition_of = |table: &Table| Some((*table.definition()).clone());
        for Content { change, state } in contents(&original, definition_of) {
            if is_about_database(&change) {
                continue;
            }
            let Some(change) = renumbering.change(change) else { continue };
            self.change_new(&copy, to, change)?;
            if let Some((sequence, state)) = state {
                let sequence = renumbering.sequence(sequence);
                copy.raise_sequence(sequence, state);
                self.log_rows(&mut |payload| {
                    payload.sequence(sequence, state);
                    Ok(())
                })?;
            }
        }
        for table in &tables {
            let new = copy.by_id(renumbering.table(table.id())).ok_or_else(stale)?;
            self.lock_alone(&new)?;
            self.log_rows(&mut |payload| copy_rows(table, &new, payload))?;
        }
        Ok(())
    }

    fn change_new(&mut self, catalog: &Catalog, database: DatabaseId, change: CatalogChange) -> Flow<()> {
        catalog.apply(&change, &epoch::pin())?;
        let change = CatalogChange::InDatabase { database, change: Box::new(change) };
        self.log_rows(&mut |payload| payload.change_catalog(&change))
    }

    fn log_rows(&mut self, write: WriteOperation<'_>) -> Flow<()> {
        self.overlay.is_shared = true;
        Ok(self.transaction.note_change(Some(write))?)
    }

    fn made_by_the_transaction(&self, database: DatabaseId) -> Option<Arc<Catalog>> {
        self.overlay.changes.iter().find_map(|change| match &change.effect {
            Effect::Database(id, _, Some(catalog)) if *id == database => Some(Arc::clone(catalog)),
            _ => None,
        })
    }
}

/// Whether it gives the database itself rights or a comment, which a copy does not share.
fn is_about_database(change: &CatalogChange) -> bool {
    match change {
        CatalogChange::PutRights { object, .. } => *object == DATABASE_OBJECT,
        CatalogChange::Comment { on, .. } => on.object == DATABASE_OBJECT,
        _ => false,
    }
}

/// See [`Applying::copy_database`].
pub(crate) fn copy_database<T: ObjectAccess>(
    overlay: &mut Overlay,
    (from, to): (DatabaseId, DatabaseId),
    transaction: &mut T,
) -> Flow<()> {
    // What is being applied is the whole copy; its changes are logged one by one.
    let change = &CatalogChange::DropDatabase { id: to };
    Applying { overlay, transaction, change, before: None }.copy_database(from, to)
}

/// Copies the rows of a table, which is locked against writers, into a new one, and into the log record.
fn copy_rows(table: &Table, new: &Table, payload: &mut OperationsWriter) -> Result<(), Error> {
    let copied = Cell::new(0);
    let mut copy = |key: &[u8], row: &[u8], guard: &Guard| {
        copied.set(copied.get() + UNITS_PER_ROW + row.len());
        memory::admit_row(row.len())?;
        new.install(key, Some(row), guard)?;
        payload.put(new.id(), key, row);
        Ok(())
    };
    let mut pages = RowPages::of(table);
    while pages.next(&mut copy)? {
        guest::spend_for(copied.take())?;
    }
    Ok(())
}

/// The database of the session is gone.
fn no_database() -> Error {
    Error::input(sqlstate::INVALID_CATALOG_NAME, "the database of this session has been dropped")
}

//! TRUNCATE: the tables that it empties, and the sequences that RESTART IDENTITY restarts.
//!
//! What the statement reaches is one list, [`Emptied`], from which its changes are made. A table enters the
//! list only with the right to empty it, whether the statement names it or CASCADE adds it.
//!
//! The definitions that are looked at here are not locked yet. Once all tables are locked,
//! [`Viewpoint::is_truncation_whole`] checks that none is missing, because the engine sees one table at a
//! time.
//!
//! Reference: PostgreSQL's ExecuteTruncate and heap_truncate_check_FKs.

use std::sync::Arc;

use hyades_engine::storage::table::Table;
use hyades_types::access::Privileges;
use hyades_types::definition::{CatalogChange, TableId};
use hyades_types::error::{Error, Result, sqlstate};

use crate::answer::Output;
use crate::statement::QualifiedName;
use crate::viewpoint::Viewpoint;

/// The tables that a TRUNCATE empties.
struct Emptied<'s> {
    session: &'s Viewpoint,
    tables: Vec<Arc<Table>>,
}

impl Emptied<'_> {
    /// Error 42501 unless the session may empty the table.
    fn add(&mut self, table: Arc<Table>) -> Result<()> {
        self.session.check_privileges(&table, Privileges::TRUNCATE)?;
        if !self.has(table.id()) {
            self.tables.push(table);
        }
        Ok(())
    }

    fn has(&self, id: TableId) -> bool {
        self.tables.iter().any(|table| table.id() == id)
    }

    /// Adds the tables that refer to those in the list, or refuses to empty a table to which rows refer.
    fn add_children(&mut self, cascades: bool, output: &mut dyn Output) -> Result<()> {
        let mut at = 0;
        while let Some(table) = self.tables.get(at) {
            let definition = table.definition();
            at += 1;
            for id in definition.children() {
                let Some(child) = self.session.table_by_id(id).filter(|_| !self.has(id)) else { continue };
                let name = child.definition().name.name.clone();
                if !cascades {
                    return Err(refused_for(&name, &definition.name.name));
                }
                self.session.note(output, "00000", format!("truncate cascades to table \"{name}\""));
                self.add(child)?;
            }
        }
        Ok(())
    }

    fn changes(self, restarts: bool) -> Result<Vec<CatalogChange>> {
        let ids: Vec<TableId> = self.tables.iter().map(|table| table.id()).collect();
        let restarted = if restarts { self.session.restarted_sequences(&ids)? } else { Vec::new() };
        Ok(ids.into_iter().map(|id| CatalogChange::Truncate { id }).chain(restarted).collect())
    }
}

fn refused_for(child: &str, table: &str) -> Error {
    let message = "cannot truncate a table referenced in a foreign key constraint";
    Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message)
        .with_detail(format!("Table \"{child}\" references \"{table}\"."))
        .with_hint(format!("Truncate table \"{child}\" at the same time, or use TRUNCATE ... CASCADE."))
}

impl Viewpoint {
    /// TRUNCATE of the tables with these names.
    pub(super) fn truncated(
        &self,
        names: &[QualifiedName],
        cascades: bool,
        restarts: bool,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        let mut emptied = Emptied { session: self, tables: Vec::with_capacity(names.len()) };
        for name in names {
            emptied.add(self.truncatable(name)?)?;
        }
        emptied.add_children(cascades, output)?;
        emptied.changes(restarts)
    }

    /// Empties temporary tables when a transaction ends.
    pub(super) fn truncated_temporaries(
        &self,
        tables: Vec<Arc<Table>>,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        let mut emptied = Emptied { session: self, tables };
        emptied.add_children(false, output)?;
        emptied.changes(false)
    }

    fn truncatable(&self, name: &QualifiedName) -> Result<Arc<Table>> {
        self.check_names_schema(name.schema.as_deref())?;
        match self.table(&self.meant(name)) {
            Some(view) if view.definition().source().is_some() => {
                let message = format!("\"{}\" is not a table", name.name);
                Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, message))
            }
            Some(table) => Ok(table),
            None => Err(self.no_relation(name)),
        }
    }

    /// Whether the truncated tables, all locked by now, include those that reference them.
    pub(crate) fn is_truncation_whole(&self, changes: &[CatalogChange]) -> bool {
        let is_truncated = |id: &TableId| changes.contains(&CatalogChange::Truncate { id: *id });
        changes.iter().all(|change| match change {
            CatalogChange::Truncate { id } => {
                let table = self.table_by_id(*id);
                table.is_none_or(|table| table.definition().referenced_by.iter().all(is_truncated))
            }
            _ => true,
        })
    }
}

//! CREATE and DROP VIEW in a session, and what depends on tables, views and routines through views.
//!
//! As with foreign keys, everything here looks at definitions that are not locked yet. The engine checks
//! again.
//!
//! Reference: checkViewTupleDesc of PostgreSQL's view.c, findDependentObjects of dependency.c.

use std::sync::Arc;

use hyades_engine::storage::table::Table;
use hyades_types::definition::{CatalogChange, TableDefinition, TableId};
use hyades_types::error::{Error, Result, sqlstate};

use super::{Output, Session};
use crate::statement::DropView;

/// The kind of a relation in messages.
pub(super) fn kind_of(definition: &TableDefinition) -> &'static str {
    if definition.view.is_some() { "view" } else { "table" }
}

/// Error 42809 for something that is not a view, or that is one.
pub(super) fn wrong_kind(definition: &TableDefinition) -> Error {
    let name = &definition.name.name;
    let (other, word) = match definition.view {
        Some(_) => ("table", "a view"),
        None => ("view", "a table"),
    };
    let command = if definition.view.is_some() { "DROP VIEW" } else { "DROP TABLE" };
    Error::input(sqlstate::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a {other}"))
        .with_hint(format!("Use {command} to remove {word}."))
}

/// Error 42809 for something that can be done to tables only. `action` is a part of ALTER TABLE.
pub(super) fn refuse_view(table: &Table, action: &str) -> Result<()> {
    let definition = table.definition();
    if definition.view.is_none() {
        return Ok(());
    }
    let message =
        format!("ALTER action {action} cannot be performed on relation \"{}\"", definition.name.name);
    Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, message)
        .with_detail("This operation is not supported for views."))
}

/// A view that replaces another must have the same columns, and may have more.
fn check_replaced(old: &TableDefinition, new: &TableDefinition) -> Result<()> {
    let invalid = |message: String| Error::input(sqlstate::INVALID_TABLE_DEFINITION, message);
    if new.columns.len() < old.columns.len() {
        return Err(invalid("cannot drop columns from view".to_owned()));
    }
    for (old, new) in old.columns.iter().zip(&new.columns) {
        if old.name != new.name {
            let message = format!("cannot change name of view column \"{}\" to \"{}\"", old.name, new.name);
            return Err(invalid(message)
                .with_hint("Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead."));
        }
        if old.sql_type != new.sql_type {
            return Err(invalid(format!(
                "cannot change data type of view column \"{}\" from {} to {}",
                old.name,
                old.sql_type.name(),
                new.sql_type.name()
            )));
        }
    }
    Ok(())
}

impl Session {
    pub(super) fn created_view(
        &mut self,
        definition: &TableDefinition,
        or_replace: bool,
        names_schema: bool,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        let mut definition = definition.clone();
        let uses_temporary =
            definition.view().is_some_and(|view| view.tables.iter().any(|used| used.is_temporary()));
        if uses_temporary && definition.name.schema != hyades_types::search_path::TEMPORARY {
            let message = format!("view \"{}\" will be a temporary view", definition.name.name);
            self.note(output, "00000", message);
            if names_schema {
                return Err(Error::input(
                    sqlstate::INVALID_TABLE_DEFINITION,
                    "cannot create temporary relation in non-temporary schema",
                ));
            }
            definition.name.schema = hyades_types::search_path::TEMPORARY.to_owned();
        }
        let definition = self.own_definition(&definition);
        let old = self.table(&definition.name);
        if let Some(old) = old.filter(|_| or_replace) {
            let known = old.definition();
            if known.view.is_none() {
                let message = format!("\"{}\" is not a view", known.name.name);
                return Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, message));
            }
            check_replaced(&known, &definition)?;
            return Ok(vec![CatalogChange::ReplaceView { id: old.id(), definition: Box::new(definition) }]);
        }
        if self.is_relation(&definition.name) {
            let message = format!("relation \"{}\" already exists", definition.name.name);
            return Err(Error::input(sqlstate::DUPLICATE_TABLE, message));
        }
        let id = self.new_table_id(&definition.name.schema);
        Ok(vec![CatalogChange::CreateTable { id, definition }])
    }

    pub(super) fn dropped_views(
        &mut self,
        drop: &DropView,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        let mut views: Vec<Arc<Table>> = Vec::with_capacity(drop.names.len());
        for name in &drop.names {
            let full = self.meant(name);
            match self.table(&full) {
                Some(table) if table.definition().view.is_none() => {
                    return Err(wrong_kind(&table.definition()));
                }
                Some(view) => {
                    if !views.iter().any(|known| known.id() == view.id()) {
                        views.push(view);
                    }
                }
                None if self.is_relation(&full) => {
                    let message = format!("\"{}\" is not a view", name.name);
                    let (command, word) = match self.is_index(&full) {
                        true => ("DROP INDEX", "an index"),
                        false => ("DROP SEQUENCE", "a sequence"),
                    };
                    return Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, message)
                        .with_hint(format!("Use {command} to remove {word}.")));
                }
                None => {
                    let view = ("view", sqlstate::UNDEFINED_TABLE);
                    self.nothing_to_drop(view, name, drop.if_exists, output)?;
                }
            }
        }
        self.dropped(&views, drop.cascades, output)
    }

    /// The changes that drop views, and perhaps tables. Those that use others are dropped first.
    pub(super) fn drops_of(relations: impl IntoIterator<Item = Arc<Table>>) -> Vec<CatalogChange> {
        let mut left: Vec<Arc<Table>> = relations.into_iter().collect();
        let mut changes = Vec::with_capacity(left.len());
        while !left.is_empty() {
            let is_used = |id: TableId| {
                left.iter().any(|other| other.definition().view().is_some_and(|view| view.uses_table(id)))
            };
            let at = left.iter().position(|relation| !is_used(relation.id())).unwrap_or(0);
            changes.push(CatalogChange::DropTable { id: left.remove(at).id() });
        }
        changes
    }
}

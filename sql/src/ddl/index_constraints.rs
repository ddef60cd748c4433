//! ALTER TABLE ... ADD CONSTRAINT ... USING INDEX: turns an existing index into a constraint.
//!
//! A UNIQUE constraint is an index that is marked as one. The primary key is not an index of its own but
//! the order in which rows are stored, so the rows are put in this order and the index is dropped. A
//! deferrable primary key is an index that is marked as one.
//!
//! Reference: transformIndexConstraint of PostgreSQL's parse_utilcmd.c, ATExecAddIndexConstraint of
//! tablecmds.c.

use std::sync::Arc;

use hyades_engine::storage::table::Table;
use hyades_types::definition::{
    CatalogChange, Deferral, IndexColumn, IndexDefinition, TableDefinition, TableName,
};
use hyades_types::error::{Error, Result, SqlState, sqlstate};

use super::alteration::{added_key, altered, duplicate_constraint, refuse_second_key};
use super::wanted::{WantedPrimaryKey, WantedUnique};
use crate::answer::Output;
use crate::viewpoint::Viewpoint;

fn refused<T>(state: SqlState, message: String) -> Result<T> {
    Err(Error::input(state, message))
}

/// Refuses an index that cannot become a constraint.
fn check_index(definition: &TableDefinition, index: &IndexDefinition) -> Result<()> {
    let name = &index.name;
    if index.is_constraint {
        let message = format!("index \"{name}\" is already associated with a constraint");
        return refused(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message);
    }
    let is_computed = |key: u16| definition.indexed_column(key).is_none();
    let odd = index.columns.iter().position(|key| *key != IndexColumn::ascending(key.column));
    let message = if !index.is_unique {
        format!("\"{name}\" is not a unique index")
    } else if index.key_columns().any(is_computed) {
        format!("index \"{name}\" contains expressions")
    } else if index.predicate.is_some() {
        format!("\"{name}\" is a partial index")
    } else if let Some(at) = odd {
        format!("index \"{name}\" column number {} does not have default sorting behavior", at + 1)
    } else {
        return Ok(());
    };
    Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, message)
        .with_detail("Cannot create a primary key or unique constraint using such an index."))
}

impl Viewpoint {
    /// ALTER TABLE ... ADD PRIMARY KEY.
    pub(super) fn added_primary_key(
        &self,
        table: &Arc<Table>,
        key: &WantedPrimaryKey,
    ) -> Result<Vec<CatalogChange>> {
        let old = table.definition();
        let mut primary_key = added_key(&old, key.name.as_deref(), &key.columns)?;
        if key.deferral == Deferral::Never {
            primary_key.name = self.key_name(&old, key.name.as_deref())?;
            return Ok(vec![CatalogChange::AddPrimaryKey { id: table.id(), primary_key }]);
        }
        let mut definition = TableDefinition::clone(&old);
        definition.refuse_nulls(&primary_key.columns);
        let mut changes = if definition == *old { Vec::new() } else { vec![altered(table, definition)] };
        changes.extend(self.added_unique(table, &WantedUnique::of_key(key))?);
        Ok(changes)
    }

    /// The index's place in the list of the table's indexes, if it can become a constraint.
    fn place_of_index(&self, table: &Table, definition: &TableDefinition, index: &str) -> Result<usize> {
        let full = TableName { schema: definition.name.schema.clone(), name: index.to_owned() };
        let Some(found) = self.index_named(&full) else {
            return refused(sqlstate::UNDEFINED_OBJECT, format!("index \"{index}\" does not exist"));
        };
        let is_of_constraint = match found.index {
            None => true,
            Some(id) => found.table.definition().index(id).is_some_and(|own| own.is_constraint),
        };
        if is_of_constraint {
            let message = format!("index \"{index}\" is already associated with a constraint");
            return refused(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message);
        }
        if found.table.id() != table.id() {
            let table = &definition.name.name;
            let message = format!("index \"{index}\" does not belong to table \"{table}\"");
            return refused(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message);
        }
        let Some(at) = definition.indexes.iter().position(|own| own.name == index) else {
            return refused(sqlstate::UNDEFINED_OBJECT, format!("index \"{index}\" does not exist"));
        };
        check_index(definition, &definition.indexes[at])?;
        Ok(at)
    }

    pub(super) fn constraint_of_index(
        &self,
        table: &Arc<Table>,
        (name, index, position): (Option<&str>, &str, Option<u32>),
        (is_primary, deferral): (bool, Deferral),
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        let mut definition = TableDefinition::clone(&table.definition());
        let at = self.place_of_index(table, &definition, index).map_err(|error| match position {
            Some(position) => error.with_position(position),
            None => error,
        })?;
        let named = |name: &str| TableName { schema: definition.name.schema.clone(), name: name.to_owned() };
        if is_primary {
            refuse_second_key(&definition)?;
        }
        let name = name.unwrap_or(index);
        if name != index {
            let message = format!(
                "ALTER TABLE / ADD CONSTRAINT USING INDEX will rename index \"{index}\" to \"{name}\""
            );
            self.note(output, "00000", message);
            if definition.has_constraint(name) {
                return Err(duplicate_constraint(&definition, name));
            }
            if self.is_relation(&named(name)) {
                return refused(sqlstate::DUPLICATE_TABLE, format!("relation \"{name}\" already exists"));
            }
        }
        let id = definition.indexes[at].id;
        if is_primary && deferral == Deferral::Never {
            let key = definition.indexes[at].key_columns();
            let columns: Vec<String> =
                key.map(|column| definition.columns[usize::from(column)].name.clone()).collect();
            let mut changes = vec![CatalogChange::DropIndex { table: table.id(), index: id }];
            definition.indexes.remove(at);
            let primary_key = added_key(&definition, Some(name), &columns)?;
            changes.push(CatalogChange::AddPrimaryKey { id: table.id(), primary_key });
            return Ok(changes);
        }
        let made = &mut definition.indexes[at];
        (made.is_constraint, made.deferral, made.is_primary) = (true, deferral, is_primary);
        if is_primary {
            let key: Vec<u16> = made.key_columns().collect();
            definition.refuse_nulls(&key);
        }
        self.refuse_deferral_of_needed(table, &definition, index)?;
        let mut changes = vec![altered(table, definition)];
        if name != index {
            let (table, index) = (table.id(), Some(id));
            changes.push(CatalogChange::RenameIndex { table, index, name: name.to_owned() });
        }
        Ok(changes)
    }

    /// A foreign key finds its rows by a key that is checked at once, and this must stay so. PostgreSQL
    /// allows existing foreign keys to continue with a deferred one.
    fn refuse_deferral_of_needed(
        &self,
        table: &Table,
        definition: &TableDefinition,
        index: &str,
    ) -> Result<()> {
        for child in definition.children().into_iter().filter_map(|child| self.table_by_id(child)) {
            let child = child.definition();
            let mut keys = child.foreign_keys.iter().filter(|key| key.parent == table.id());
            if let Some(key) = keys.find(|key| key.parent_key(definition).is_none()) {
                let message = format!(
                    "a deferrable constraint on index \"{index}\", which foreign key \"{}\" needs, is not \
                     supported yet",
                    key.name
                );
                return refused(sqlstate::FEATURE_NOT_SUPPORTED, message);
            }
        }
        Ok(())
    }
}

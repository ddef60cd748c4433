//! The changes that drop many objects at once (`dependents` finds them), in an order that is valid for each
//! of them.
//!
//! All that is dropped from a table that stays is one change of its whole definition, as left by the
//! foreign keys and defaults that are dropped before. With a column, parts are dropped or changed that
//! `dependents` does not know: indexes, and the numbers of later columns, which are used in sequences and
//! in foreign keys of other tables.

use std::sync::Arc;

use hyades_engine::storage::table::Table;
use hyades_types::definition::{CatalogChange, TableDefinition, TableId, TypeDefinition, TypeKind};
use hyades_types::error::Result;
use hyades_types::refusal::Missing;

use super::column_changes::without_columns;
use super::dependents::Object;
use crate::emit::unsupported;
use crate::viewpoint::Viewpoint;

/// A table that stays, and what is dropped from it.
struct Remainder {
    table: Arc<Table>,
    /// The definition without the dropped foreign keys, conditions and defaults. Columns are not dropped
    /// from it yet.
    definition: TableDefinition,
    /// The dropped columns, including those that exist only for indexes.
    columns: Vec<u16>,
}

/// The tables from which something is dropped.
struct Remainders<'a> {
    objects: &'a [Object],
    tables: Vec<Remainder>,
}

impl Remainders<'_> {
    fn goes(&self, id: TableId) -> bool {
        self.objects.iter().any(|object| matches!(object, Object::Relation(table) if table.id() == id))
    }

    fn of(&mut self, table: &Arc<Table>) -> &mut Remainder {
        let known = self.tables.iter().position(|other| other.table.id() == table.id());
        let at = known.unwrap_or_else(|| {
            let definition = self.without_parts(table);
            self.tables.push(Remainder { table: Arc::clone(table), definition, columns: Vec::new() });
            self.tables.len() - 1
        });
        &mut self.tables[at]
    }

    /// The definition as the preceding changes leave it.
    fn without_parts(&self, table: &Arc<Table>) -> TableDefinition {
        let (id, mut definition) = (table.id(), TableDefinition::clone(&table.definition()));
        // A table that refers to this one loses its keys one after the other.
        let mut others: Vec<(TableId, TableDefinition)> = Vec::new();
        for object in self.objects {
            match object {
                Object::Default(own, column) if own.id() == id => {
                    definition = definition.without_default(*column);
                }
                Object::Trigger(own, name) if own.id() == id => {
                    definition.triggers.retain(|trigger| trigger.name != *name);
                }
                Object::Constraint(own, name) if own.id() == id => {
                    definition.checks.retain(|check| check.name != *name);
                    definition = definition.without_foreign_key(id, name);
                }
                Object::Constraint(child, name) => {
                    let at = others.iter().position(|(other, _)| *other == child.id()).unwrap_or_else(|| {
                        others.push((child.id(), TableDefinition::clone(&child.definition())));
                        others.len() - 1
                    });
                    let other = &mut others[at].1;
                    if other.foreign_key(name).is_some_and(|key| key.parent == id) {
                        definition = definition.without_child(child.id(), other.number_among(id, name));
                    }
                    *other = other.without_foreign_key(child.id(), name);
                }
                _ => {}
            }
        }
        definition
    }
}

/// The number of a column after these have been dropped.
fn moved(column: u16, gone: &[u16]) -> u16 {
    let before = gone.iter().filter(|other| **other < column).count();
    column - u16::try_from(before).unwrap_or(0)
}

impl Viewpoint {
    /// The changes that drop all these objects, and nothing else. All their dependents must be among them.
    pub(super) fn drops_of_objects(&self, objects: &[Object]) -> Result<Vec<CatalogChange>> {
        let mut remainders = Remainders { objects, tables: Vec::new() };
        let (mut changes, mut rest, mut last) = (Vec::new(), Vec::new(), Vec::new());
        let (mut tables, mut defaults) = (Vec::new(), Vec::new());
        for object in objects {
            match object {
                Object::Relation(table) => tables.push(Arc::clone(table)),
                Object::Constraint(table, name) if table.definition().foreign_key(name).is_some() => {
                    changes.push(CatalogChange::DropForeignKey { id: table.id(), name: name.clone() });
                }
                Object::Constraint(table, _)
                | Object::Default(table, _)
                | Object::Column(table, _)
                | Object::Trigger(table, _)
                    if remainders.goes(table.id()) => {}
                Object::Constraint(table, _) | Object::Trigger(table, _) => drop(remainders.of(table)),
                Object::Default(table, column) => {
                    defaults.push(CatalogChange::DropDefault { id: table.id(), column: *column });
                }
                Object::Column(table, column) => {
                    let remainder = remainders.of(table);
                    let old = &remainder.definition;
                    let read = old.indexes.iter().filter(|index| old.is_read_by(index, *column));
                    let computed: Vec<u16> = read.flat_map(|index| old.computed_for(index)).collect();
                    remainder
                        .definition
                        .indexes
                        .retain(|index| !old_reads(&remainder.table, index.id, *column));
                    remainder.columns.push(*column);
                    remainder.columns.extend(computed);
                }
                Object::Sequence(sequence) => rest.push(CatalogChange::DropSequence { id: sequence.id }),
                Object::Routine(routine) => rest.push(CatalogChange::DropRoutine { id: routine.id }),
                // See `without_domain_checks`. An extension goes with its functions, and the type of rows
                // with its table.
                Object::DomainCheck(..) | Object::Attribute(..) | Object::Rows(_) | Object::Extension(_) => {}
                Object::Type(stored) => last.push(CatalogChange::DropType { id: stored.id() }),
                Object::Schema(id, _) => last.push(CatalogChange::DropSchema { id: *id }),
            }
        }
        changes.extend(defaults);
        changes.extend(Viewpoint::drops_of(tables));
        changes.extend(rest);
        changes.extend(self.changes_of_remainders(remainders)?);
        changes.extend(Viewpoint::without_domain_checks(objects));
        changes.extend(Viewpoint::without_attributes(objects));
        // A type is dropped before its schema.
        last.sort_by_key(|change| matches!(change, CatalogChange::DropSchema { .. }));
        changes.extend(last);
        Ok(changes)
    }

    fn changes_of_remainders(&self, mut remainders: Remainders<'_>) -> Result<Vec<CatalogChange>> {
        let mut changes = Vec::new();
        let narrowed: Vec<(Arc<Table>, Vec<u16>)> = remainders
            .tables
            .iter()
            .filter(|one| !one.columns.is_empty())
            .map(|one| (Arc::clone(&one.table), one.columns.clone()))
            .collect();
        for (table, gone) in &narrowed {
            self.refuse_to_narrow(table, gone)?;
            let mut from_last = gone.clone();
            from_last.sort_unstable();
            for (other, _) in self.views_over(table.id()) {
                if !remainders.goes(other.id()) {
                    let definition = &mut remainders.of(&other).definition;
                    for column in from_last.iter().rev() {
                        if let Some(query) = definition.source_mut() {
                            *query = query.without_column(table.id(), *column);
                        }
                    }
                }
            }
            for child in table.definition().children() {
                let Some(child) = self.table_by_id(child).filter(|child| child.id() != table.id()) else {
                    continue;
                };
                if remainders.goes(child.id()) {
                    continue;
                }
                let keys = &mut remainders.of(&child).definition.foreign_keys;
                for key in keys.iter_mut().filter(|key| key.parent == table.id()) {
                    key.parent_columns.iter_mut().for_each(|column| *column = moved(*column, gone));
                }
            }
            for sequence in self.owned_sequences(&[table.id()]) {
                let mut definition = sequence.definition.clone();
                let Some(owner) = definition.owner.as_mut().filter(|owner| !gone.contains(&owner.column))
                else {
                    continue;
                };
                let column = moved(owner.column, gone);
                if column != std::mem::replace(&mut owner.column, column) {
                    definition.version = definition.version.wrapping_add(1);
                    changes.push(CatalogChange::AlterSequence { id: sequence.id, definition, restart: None });
                }
            }
        }
        for Remainder { table, definition, columns } in remainders.tables {
            changes.push(if columns.is_empty() {
                super::alteration::altered(&table, definition)
            } else {
                without_columns(&table, &definition, columns)
            });
        }
        Ok(changes)
    }

    /// Error 0A000 if a table cannot lose these columns.
    fn refuse_to_narrow(&self, table: &Table, gone: &[u16]) -> Result<()> {
        let definition = table.definition();
        let left = (0u16..).zip(definition.visible_columns()).filter(|(at, _)| !gone.contains(at));
        if left.count() == 0 {
            return unsupported(Missing::TablesWithoutColumns, "tables without columns are");
        }
        Ok(())
    }
}

impl Viewpoint {
    /// The changes of types that lose these attributes, unless they are dropped themselves.
    fn without_attributes(objects: &[Object]) -> Vec<CatalogChange> {
        let goes = |id: u32| objects.iter().any(|one| matches!(one, Object::Type(own) if own.id() == id));
        let mut changed: Vec<TypeDefinition> = Vec::new();
        for object in objects {
            let Object::Attribute(stored, number) = object else { continue };
            if goes(stored.id()) {
                continue;
            }
            let known = changed.iter().position(|definition| definition.id == stored.id());
            let at = known.unwrap_or_else(|| {
                let mut definition = stored.definition.clone();
                definition.begin_change();
                changed.push(definition);
                changed.len() - 1
            });
            if let TypeKind::Composite { fields, .. } = &mut changed[at].kind {
                fields.retain(|field| field.number != *number);
            }
        }
        changed.into_iter().map(|definition| CatalogChange::AlterType { definition }).collect()
    }
}

/// Whether this index reads a column.
fn old_reads(table: &Table, index: TableId, column: u16) -> bool {
    let definition = table.definition();
    definition.index(index).is_some_and(|index| definition.is_read_by(index, column))
}

//! Indexes and UNIQUE constraints in DDL: generates names as PostgreSQL does, and finds what depends on a
//! dropped index.
//!
//! As with foreign keys, the definitions read here are not locked yet. The engine checks again.
//!
//! Reference: ChooseIndexName and ChooseIndexColumnNames of PostgreSQL's indexcmds.c,
//! transformIndexConstraints of parse_utilcmd.c.

use std::sync::Arc;

use hyades_engine::storage::table::Table;
use hyades_types::definition::{
    CatalogChange, ColumnSource, Deferral, ForeignKey, IndexColumn, IndexDefinition, IndexKind,
    TableDefinition, TableId, TableName,
};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::Missing;

use super::alteration::{duplicate_constraint, no_constraint};
use super::column_changes::without_columns;
use super::tables::check_ordered;
use super::wanted::{WantedIndex, WantedKey, WantedUnique};
use crate::answer::Output;
use crate::emit::unsupported;
use crate::statement::names::cut_name;

use crate::statement::{DropIndex, QualifiedName, RenameIndex};
use crate::system::operator_classes::chosen_operator_class;
use crate::viewpoint::tables::FoundIndex;
use crate::viewpoint::{Viewpoint, refuse_in_block};

/// Error 2BP01: a constraint that a trigger is.
fn required_by_trigger(definition: &TableDefinition, name: &str) -> Error {
    let table = &definition.name.name;
    let message = format!(
        "cannot drop constraint {name} on table {table} because trigger {name} on table {table} requires it"
    );
    Error::input(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message)
        .with_hint(format!("You can drop trigger {name} on table {table} instead."))
}

fn duplicate_relation(name: &str) -> Error {
    Error::input(sqlstate::DUPLICATE_TABLE, format!("relation \"{name}\" already exists"))
}

/// The number of a column named by an index, or error 42703.
pub(super) fn named_column(definition: &TableDefinition, name: &str) -> Result<u16> {
    let at = definition.column_index(name).and_then(|at| u16::try_from(at).ok());
    let message = || format!("column \"{name}\" does not exist");
    at.ok_or_else(|| Error::input(sqlstate::UNDEFINED_COLUMN, message()))
}

/// The columns of an index as they appear in its generated name. A repeated name gets a number.
fn joined(columns: &[String]) -> String {
    let mut names: Vec<String> = Vec::new();
    for column in columns {
        let numbered = (1u32..).map(|number| format!("{column}{number}"));
        let mut free = std::iter::once(column.clone()).chain(numbered).filter(|name| !names.contains(name));
        names.extend(free.next());
    }
    names.join("_")
}

impl Viewpoint {
    /// Error 42809 for an index where a table is wanted.
    pub(super) fn refuse_index(&self, name: &TableName) -> Result<()> {
        if !self.is_index(name) {
            return Ok(());
        }
        let message = format!("\"{}\" is not a table", name.name);
        Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, message)
            .with_hint("Use DROP INDEX to remove an index."))
    }

    /// `table_columns_label`, with a number appended if that is taken by a relation or by a constraint of
    /// the table.
    pub(super) fn made_up_index(
        &self,
        definition: &TableDefinition,
        columns: &[String],
        label: &str,
    ) -> String {
        let labels =
            std::iter::once(label.to_owned()).chain((1u32..).map(|number| format!("{label}{number}")));
        let columns = joined(columns);
        let mut names = labels.map(|label| cut_name(&definition.name.name, &columns, &label));
        let is_free = |name: &String| {
            let full = TableName { name: name.clone(), ..definition.name.clone() };
            !definition.has_relation(name) && !definition.has_constraint(name) && !self.is_relation(&full)
        };
        names.find(is_free).unwrap_or_default()
    }

    /// The name of a new primary key or UNIQUE constraint, and of its index: the written one, if that is
    /// free, or else a generated one.
    pub(super) fn constraint_name(
        &self,
        definition: &TableDefinition,
        written: Option<&str>,
        made_up: impl FnOnce() -> String,
    ) -> Result<String> {
        let Some(name) = written else { return Ok(made_up()) };
        let full = TableName { name: name.to_owned(), ..definition.name.clone() };
        if definition.has_relation(name) || self.is_relation(&full) {
            return Err(duplicate_relation(name));
        }
        if definition.has_constraint(name) {
            return Err(duplicate_constraint(definition, name));
        }
        Ok(name.to_owned())
    }

    /// `table_pkey`, or the written name.
    pub(super) fn key_name(&self, definition: &TableDefinition, written: Option<&str>) -> Result<String> {
        self.constraint_name(definition, written, || self.made_up_index(definition, &[], "pkey"))
    }

    /// Names the primary key of a new table. If no name is written, it takes that of an equivalent UNIQUE
    /// constraint.
    pub(super) fn name_primary_key(
        &self,
        definition: &mut TableDefinition,
        uniques: &[WantedUnique],
    ) -> Result<()> {
        let Some(mut key) = definition.primary_key.take() else { return Ok(()) };
        let own = Some(&key.name).filter(|name| !name.is_empty());
        let names = |column: &u16| &definition.columns[usize::from(*column)].name;
        let is_same = |unique: &&WantedUnique| {
            unique.deferral == Deferral::Never && unique.columns.iter().eq(key.columns.iter().map(names))
        };
        let other = || uniques.iter().filter(is_same).find_map(|unique| unique.name.as_ref());
        key.name = self.key_name(definition, own.or_else(other).map(String::as_str))?;
        definition.primary_key = Some(key);
        Ok(())
    }

    /// CREATE INDEX.
    pub(super) fn created_index(
        &self,
        wanted: &WantedIndex,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        let Some(table) = self.table_to_index(wanted, output)? else { return Ok(Vec::new()) };
        let definition = table.definition();
        let keys = wanted.keys.iter().map(|key| named_column(&definition, key.indexed.name()));
        let index = self.new_index(&definition, wanted, &keys.collect::<Result<Vec<u16>>>()?)?;
        Ok(vec![CatalogChange::CreateIndex { table: table.id(), index }])
    }

    /// The table of CREATE INDEX, or `None`, with a notice, under IF NOT EXISTS if the index exists
    /// already.
    pub(super) fn table_to_index(
        &self,
        wanted: &WantedIndex,
        output: &mut dyn Output,
    ) -> Result<Option<Arc<Table>>> {
        if wanted.is_concurrent {
            refuse_in_block(self.is_whole_transaction, "CREATE INDEX CONCURRENTLY")?;
        }
        let table = self.table_of_index(&wanted.table)?;
        let schema = table.definition().name.clone();
        if let Some(name) = &wanted.name
            && self.is_relation(&TableName { name: name.clone(), ..schema })
        {
            if !wanted.if_not_exists {
                return Err(duplicate_relation(name));
            }
            self.note(output, "42P07", format!("relation \"{name}\" already exists, skipping"));
            return Ok(None);
        }
        Ok(Some(table))
    }

    /// An index on these columns of a table.
    pub(super) fn new_index(
        &self,
        definition: &TableDefinition,
        wanted: &WantedIndex,
        keys: &[u16],
    ) -> Result<IndexDefinition> {
        let column = |(key, column): (&WantedKey, &u16)| {
            let sql_type = definition.columns[usize::from(*column)].sql_type;
            check_ordered(sql_type)?;
            let operator_class = match &key.operator_class {
                Some(name) => chosen_operator_class(name, sql_type, wanted.kind)?,
                None => None,
            };
            let (is_descending, nulls_first) = (key.is_descending, key.nulls_first);
            Ok(IndexColumn { column: *column, is_descending, nulls_first, operator_class })
        };
        let names = wanted.keys.iter().map(|key| key.indexed.name().to_owned());
        let named: Vec<String> = names.chain(wanted.included.iter().cloned()).collect();
        let made_up = || self.made_up_index(definition, &named, "idx");
        let included = wanted.included.iter().map(|name| named_column(definition, name));
        Ok(IndexDefinition {
            id: self.new_table_id(&definition.name.schema),
            name: wanted.name.clone().unwrap_or_else(made_up),
            columns: wanted.keys.iter().zip(keys).map(column).collect::<Result<_>>()?,
            included: included.collect::<Result<_>>()?,
            is_unique: wanted.is_unique,
            nulls_are_equal: wanted.nulls_are_equal,
            predicate: None,
            is_constraint: false,
            deferral: Deferral::Never,
            is_primary: false,
            kind: wanted.kind,
            parameters: wanted.parameters.clone(),
        })
    }

    fn table_of_index(&self, name: &QualifiedName) -> Result<Arc<Table>> {
        let full = self.meant(name);
        if let Some(table) = self.table(&full) {
            if table.definition().view.is_some() {
                let message = format!("cannot create index on relation \"{}\"", full.name);
                return Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, message)
                    .with_detail("This operation is not supported for views."));
            }
            return Ok(table);
        }
        if !self.is_relation(&full) {
            return Err(self.no_relation(name));
        }
        if self.is_index(&full) {
            let message = format!("\"{}\" is an index", full.name);
            return Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, message));
        }
        let message = format!("cannot create index on relation \"{}\"", full.name);
        Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, message)
            .with_detail("This operation is not supported for sequences."))
    }

    /// The indexes of the UNIQUE constraints of a new table. One that is equivalent to another, or to the
    /// primary key, gets no index of its own.
    pub(super) fn created_uniques(
        &self,
        definition: &mut TableDefinition,
        wanted: &[WantedUnique],
    ) -> Result<()> {
        let mut distinct: Vec<(Vec<u16>, WantedUnique)> = Vec::new();
        for unique in wanted {
            let columns = unique_columns(definition, unique)?;
            let is_key = definition.primary_key.as_ref().is_some_and(|key| key.columns == columns);
            if is_key && unique.deferral == Deferral::Never {
                continue;
            }
            if unique.is_primary {
                definition.refuse_nulls(&columns);
            }
            let says = |unique: &WantedUnique| (unique.nulls_are_equal, unique.deferral);
            match distinct.iter_mut().find(|(known, _)| *known == columns) {
                Some((_, known)) if says(known) == says(unique) => {
                    known.name = known.name.take().or_else(|| unique.name.clone());
                }
                _ => distinct.push((columns, unique.clone())),
            }
        }
        for (columns, unique) in distinct {
            let index = self.unique_index(definition, &columns, &unique)?;
            definition.indexes.push(index);
        }
        Ok(())
    }

    fn unique_index(
        &self,
        definition: &TableDefinition,
        columns: &[u16],
        unique: &WantedUnique,
    ) -> Result<IndexDefinition> {
        let written = unique.name.as_deref();
        let name = match unique.is_primary {
            true => self.key_name(definition, written)?,
            false => {
                let made_up = || self.made_up_index(definition, &unique.columns, "key");
                self.constraint_name(definition, written, made_up)?
            }
        };
        Ok(IndexDefinition {
            id: self.new_table_id(&definition.name.schema),
            name,
            columns: columns.iter().map(|column| IndexColumn::ascending(*column)).collect(),
            included: Vec::new(),
            is_unique: true,
            nulls_are_equal: unique.nulls_are_equal,
            predicate: None,
            is_constraint: true,
            deferral: unique.deferral,
            is_primary: unique.is_primary,
            kind: IndexKind::Ordered,
            parameters: unique.parameters.clone(),
        })
    }

    /// ALTER TABLE ... ADD UNIQUE.
    pub(super) fn added_unique(
        &self,
        table: &Arc<Table>,
        unique: &WantedUnique,
    ) -> Result<Vec<CatalogChange>> {
        let definition = table.definition();
        let columns = unique_columns(&definition, unique)?;
        let index = self.unique_index(&definition, &columns, unique)?;
        Ok(vec![CatalogChange::CreateIndex { table: table.id(), index }])
    }

    /// ALTER TABLE ... DROP CONSTRAINT.
    pub(super) fn dropped_constraint(
        &self,
        table: &Arc<Table>,
        (constraint, may_lack, cascades): (&str, bool, bool),
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        let definition = table.definition();
        if definition.trigger(constraint).is_some_and(|trigger| trigger.constraint.is_some()) {
            return Err(required_by_trigger(&definition, constraint));
        }
        if definition.check(constraint).is_some() {
            let mut definition = TableDefinition::clone(&definition);
            definition.checks.retain(|check| check.name != constraint);
            let definition = Box::new(definition);
            return Ok(vec![CatalogChange::AlterTable { id: table.id(), definition, columns: None }]);
        }
        if definition.foreign_key(constraint).is_some() {
            let name = constraint.to_owned();
            return Ok(vec![CatalogChange::DropForeignKey { id: table.id(), name }]);
        }
        if definition.primary_key.as_ref().is_some_and(|key| key.name == constraint) {
            return self.without_primary_key(table, (constraint, cascades), output);
        }
        if let Some(index) = definition.index_named(constraint).filter(|index| index.is_constraint) {
            let what = format!("constraint {constraint} on table {}", definition.name.name);
            return self.without_index(table, (&definition, index), (&what, cascades), output);
        }
        if !may_lack {
            return Err(no_constraint(&definition, constraint));
        }
        let table = &definition.name.name;
        let message = format!("constraint \"{constraint}\" of relation \"{table}\" does not exist, skipping");
        self.note(output, "00000", message);
        Ok(Vec::new())
    }

    /// Drops an index of a definition, and with `cascades` the foreign keys that rely on it. `what`
    /// describes the index in messages.
    fn without_index(
        &self,
        table: &Arc<Table>,
        (definition, index): (&TableDefinition, &IndexDefinition),
        (what, cascades): (&str, bool),
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        let remaining = definition.without_index(index.id);
        let kept = (definition, &remaining);
        let mut changes = self.without_references(table, kept, (what, &index.name, cascades), output)?;
        let computed = definition.computed_for(index);
        changes.push(if computed.is_empty() {
            CatalogChange::DropIndex { table: table.id(), index: index.id }
        } else {
            without_columns(table, &remaining, computed)
        });
        Ok(changes)
    }

    /// DROP CONSTRAINT of a primary key. The rows remain, keyed by row numbers.
    fn without_primary_key(
        &self,
        table: &Arc<Table>,
        (name, cascades): (&str, bool),
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        let before = table.definition();
        let mut remaining = TableDefinition::clone(&before);
        remaining.primary_key = None;
        let what = format!("constraint {name} on table {}", remaining.name.name);
        let kept = (&*before, &remaining);
        let mut changes = self.without_references(table, kept, (&what, name, cascades), output)?;
        for change in &changes {
            let CatalogChange::DropForeignKey { id, .. } = change else { continue };
            if let Some(at) = remaining.referenced_by.iter().position(|child| child == id) {
                remaining.referenced_by.remove(at);
            }
        }
        let columns = (0u16..).zip(&remaining.columns).map(|(number, _)| ColumnSource::Old(number));
        let columns = Some(columns.collect());
        let definition = Box::new(remaining);
        changes.push(CatalogChange::AlterTable { id: table.id(), definition, columns });
        Ok(changes)
    }

    /// Drops the foreign keys that reference a dropped key, if `cascades`. `what` describes that key in
    /// messages, and `index` is the name of its index.
    fn without_references(
        &self,
        table: &Arc<Table>,
        (before, remaining): (&TableDefinition, &TableDefinition),
        (what, index, cascades): (&str, &str, bool),
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        let mut changes = Vec::new();
        let mut dependents = Vec::new();
        let is_lost = |key: &&ForeignKey| {
            key.parent == table.id()
                && key.parent_key(before).is_some()
                && key.parent_key(remaining).is_none()
        };
        for child in table.definition().children().into_iter().filter_map(|child| self.table_by_id(child)) {
            let child_definition = child.definition();
            for key in child_definition.foreign_keys.iter().filter(is_lost) {
                let name = key.name.clone();
                dependents.push(format!("constraint {name} on table {}", child_definition.name.name));
                changes.push(CatalogChange::DropForeignKey { id: child.id(), name });
            }
        }
        if !dependents.is_empty() && !cascades {
            let message = format!("cannot drop {what} because other objects depend on it");
            let details: Vec<String> =
                dependents.iter().map(|dependent| format!("{dependent} depends on index {index}")).collect();
            return Err(Error::input(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message)
                .with_detail(details.join("\n"))
                .with_hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        self.note_cascade(output, &dependents);
        Ok(changes)
    }

    /// DROP INDEX.
    pub(super) fn dropped_indexes(
        &self,
        drop: &DropIndex,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        if drop.is_concurrent {
            refuse_in_block(self.is_whole_transaction, "DROP INDEX CONCURRENTLY")?;
        }
        let mut changes = Vec::new();
        // Definitions of tables from which the statement has dropped an index so far.
        let mut remaining: Vec<(TableId, TableDefinition)> = Vec::new();
        for name in &drop.names {
            let full = self.meant(name);
            let Some(FoundIndex { table, index }) = self.index_named(&full) else {
                self.no_index(name, drop.if_exists, output)?;
                continue;
            };
            let known = remaining.iter().position(|(id, _)| *id == table.id()).unwrap_or_else(|| {
                remaining.push((table.id(), TableDefinition::clone(&table.definition())));
                remaining.len() - 1
            });
            let definition = &mut remaining[known].1;
            // The index was named twice.
            if index.is_some_and(|index| definition.index(index).is_none()) {
                continue;
            }
            let index = index.and_then(|index| definition.index(index));
            let Some(index) = index.filter(|index| !index.is_constraint) else {
                let (name, table) = (&full.name, &definition.name.name);
                let constraint = format!("constraint {name} on table {table}");
                let message = format!("cannot drop index {name} because {constraint} requires it");
                return Err(Error::input(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message)
                    .with_hint(format!("You can drop {constraint} instead.")));
            };
            let what = format!("index {}", index.name);
            let own = self.without_index(&table, (definition, index), (&what, drop.cascades), output)?;
            *definition = match own.last() {
                Some(CatalogChange::AlterTable { definition, .. }) => TableDefinition::clone(definition),
                _ => definition.without_index(index.id),
            };
            changes.extend(own);
        }
        Ok(changes)
    }

    /// Reports that there is no such index to drop, as an error or as a notice.
    fn no_index(&self, name: &QualifiedName, if_exists: bool, output: &mut dyn Output) -> Result<()> {
        let full = self.meant(name);
        if self.is_relation(&full) {
            let kind = self.table(&full).map_or("sequence", |table| table.definition().word());
            let message = format!("\"{}\" is not an index", name.name);
            return Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, message)
                .with_hint(format!("Use DROP {} to remove a {kind}.", kind.to_ascii_uppercase())));
        }
        self.nothing_to_drop(("index", sqlstate::UNDEFINED_OBJECT), name, if_exists, output)
    }

    /// ALTER INDEX ... RENAME TO.
    pub(super) fn renamed_index(
        &self,
        rename: &RenameIndex,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        let full = self.meant(&rename.index);
        let Some(FoundIndex { table, index }) = self.index_named(&full) else {
            if self.is_relation(&full) {
                return unsupported(Missing::OtherKinds, "ALTER INDEX of something that is not an index is");
            }
            return self.no_index_to_alter(&rename.index, rename.if_exists, output);
        };
        if self.is_relation(&TableName { name: rename.name.clone(), ..full }) {
            return Err(duplicate_relation(&rename.name));
        }
        Ok(vec![CatalogChange::RenameIndex { table: table.id(), index, name: rename.name.clone() }])
    }

    /// Reports that there is no such index to alter, as an error or as a notice.
    pub(super) fn no_index_to_alter(
        &self,
        name: &QualifiedName,
        if_exists: bool,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        if !if_exists {
            return Err(self.no_relation(name));
        }
        self.note(output, "00000", format!("relation \"{}\" does not exist, skipping", name.name));
        Ok(Vec::new())
    }

    /// REINDEX INDEX has nothing to do, because indexes in memory are always intact.
    pub(super) fn reindexed(&self, name: &QualifiedName, is_concurrent: bool) -> Result<Vec<CatalogChange>> {
        if is_concurrent {
            refuse_in_block(self.is_whole_transaction, "REINDEX CONCURRENTLY")?;
        }
        let full = self.meant(name);
        if self.is_index(&full) {
            return Ok(Vec::new());
        }
        if self.is_relation(&full) {
            let message = format!("\"{}\" is not an index", full.name);
            return Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, message));
        }
        Err(self.no_relation(name))
    }
}

/// The columns of a UNIQUE constraint, by number.
fn unique_columns(definition: &TableDefinition, unique: &WantedUnique) -> Result<Vec<u16>> {
    let placed = |error: Error| match unique.position {
        Some(position) => error.with_position(position),
        None => error,
    };
    let mut columns = Vec::with_capacity(unique.columns.len());
    for column in &unique.columns {
        let at = definition.column_index(column).and_then(|at| u16::try_from(at).ok());
        match at {
            None => {
                let message = format!("column \"{column}\" named in key does not exist");
                let error = Error::input(sqlstate::UNDEFINED_COLUMN, message);
                // For an existing table, PostgreSQL gives no position in the statement's text.
                return Err(if unique.is_of_new_table { placed(error) } else { error });
            }
            Some(at) if columns.contains(&at) => {
                let message = format!("column \"{column}\" appears twice in unique constraint");
                return Err(placed(Error::input(sqlstate::DUPLICATE_COLUMN, message)));
            }
            Some(at) => {
                check_ordered(definition.columns[usize::from(at)].sql_type)?;
                columns.push(at);
            }
        }
    }
    Ok(columns)
}

//! Foreign keys in DDL: how they are written, and what CREATE, ALTER and DROP mean for the referenced and
//! referencing tables.
//!
//! What is looked at here when the statement runs are definitions that are not locked yet. The engine checks
//! again under the locks and returns `StalePlan` if something has changed, and the statement starts again.
//!
//! Reference for checks, their order and messages: PostgreSQL's ATAddForeignKeyConstraint and
//! reportDependentObjects.

use std::sync::Arc;

use hyades_engine::storage::table::Table;
use hyades_types::definition::{
    CatalogChange, ForeignKey, KeyAction, KeyComparison, TableDefinition, TableId,
};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::Missing;
use hyades_types::search_path;
use sqlparser::ast::{
    self, ColumnOption, ConstraintReferenceMatchKind, ForeignKeyConstraint, ReferentialAction, Spanned,
};

use super::dependents::Object;
use super::wanted::{WantedForeignKey, WantedSequence};
use crate::answer::Output;
use crate::emit::{Compiler, unsupported};
use crate::statement::names::{cut_name, fold};
use crate::statement::places::byte_offset;
use crate::statement::reference_syntax;
use crate::viewpoint::Viewpoint;

impl Compiler<'_> {
    /// The REFERENCES clauses of columns.
    pub(super) fn column_foreign_keys(&self, create: &ast::CreateTable) -> Result<Vec<WantedForeignKey>> {
        let mut wanted = Vec::new();
        for column in &create.columns {
            self.foreign_keys_of(column, &mut wanted)?;
        }
        Ok(wanted)
    }

    /// The same for one column.
    pub(super) fn foreign_keys_of(
        &self,
        column: &ast::ColumnDef,
        wanted: &mut Vec<WantedForeignKey>,
    ) -> Result<()> {
        for option in &column.options {
            if let ColumnOption::ForeignKey(key) = &option.option {
                let mut key = self.foreign_key(key)?;
                key.name = option.name.as_ref().map(fold).or(key.name);
                key.columns = vec![fold(&column.name)];
                wanted.push(key);
            }
        }
        Ok(())
    }

    pub(super) fn foreign_key(&self, key: &ForeignKeyConstraint) -> Result<WantedForeignKey> {
        let is_full = match key.match_kind {
            None | Some(ConstraintReferenceMatchKind::Simple) => false,
            Some(ConstraintReferenceMatchKind::Full) => true,
            Some(ConstraintReferenceMatchKind::Partial) => {
                let message = "MATCH PARTIAL not yet implemented";
                return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message));
            }
        };
        let sets =
            |action| matches!(action, Some(ReferentialAction::SetNull | ReferentialAction::SetDefault));
        let delete_columns = if sets(key.on_delete) || sets(key.on_update) {
            let table = byte_offset(self.binder.sql, key.foreign_table.span().start);
            reference_syntax::delete_columns(self.binder.sql, table)?
        } else {
            Vec::new()
        };
        Ok(WantedForeignKey {
            name: key.name.as_ref().map(fold),
            columns: key.columns.iter().map(fold).collect(),
            parent: self.name(&key.foreign_table)?,
            parent_columns: key.referred_columns.iter().map(fold).collect(),
            on_delete: action(key.on_delete),
            delete_columns,
            on_update: action(key.on_update),
            is_full,
            deferral: self.deferral(key.characteristics.as_ref())?,
            is_not_valid: false,
        })
    }
}

fn action(action: Option<ReferentialAction>) -> KeyAction {
    match action {
        None | Some(ReferentialAction::NoAction) => KeyAction::NoAction,
        Some(ReferentialAction::Restrict) => KeyAction::Restrict,
        Some(ReferentialAction::Cascade) => KeyAction::Cascade,
        Some(ReferentialAction::SetNull) => KeyAction::SetNull,
        Some(ReferentialAction::SetDefault) => KeyAction::SetDefault,
    }
}

fn column_of(definition: &TableDefinition, name: &str) -> Result<u16> {
    let at = definition.column_index(name).and_then(|at| u16::try_from(at).ok());
    at.ok_or_else(|| {
        let message = format!("column \"{name}\" referenced in foreign key constraint does not exist");
        Error::input(sqlstate::UNDEFINED_COLUMN, message)
    })
}

fn columns_of(definition: &TableDefinition, names: &[String]) -> Result<Vec<u16>> {
    names.iter().map(|name| column_of(definition, name)).collect()
}

/// `table_column_column_fkey`, with a number appended if that is taken.
fn made_up_name(definition: &TableDefinition, columns: &[String]) -> String {
    let (table, columns) = (&definition.name.name, columns.join("_"));
    let labels = std::iter::once("fkey".to_owned()).chain((1u32..).map(|number| format!("fkey{number}")));
    let mut names = labels.map(|label| cut_name(table, &columns, &label));
    names.find(|name| !definition.has_constraint(name)).unwrap_or_default()
}

/// The columns of the parent that the foreign key references: its primary key, or a unique key.
fn parent_columns(parent: &TableDefinition, wanted: &WantedForeignKey) -> Result<Vec<u16>> {
    let table = &parent.name.name;
    let key = parent.primary_key.as_ref().map(|key| &key.columns);
    if wanted.parent_columns.is_empty() {
        return key.cloned().ok_or_else(|| {
            if parent.declared_key().is_some() {
                let message = format!("cannot use a deferrable primary key for referenced table \"{table}\"");
                return Error::input(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message);
            }
            let message = format!("there is no primary key for referenced table \"{table}\"");
            Error::input(sqlstate::UNDEFINED_OBJECT, message)
        });
    }
    let columns = columns_of(parent, &wanted.parent_columns)?;
    let sorted = |columns: &[u16]| {
        let mut columns = columns.to_vec();
        columns.sort_unstable();
        columns
    };
    let in_order = sorted(&columns);
    if in_order.windows(2).any(|pair| pair[0] == pair[1]) {
        let message = "foreign key referenced-columns list must not contain duplicates";
        return Err(Error::input(sqlstate::INVALID_FOREIGN_KEY, message));
    }
    if parent.key_on(&columns).is_none() {
        if parent.deferrable_key_on(&columns).is_some() {
            let message =
                format!("cannot use a deferrable unique constraint for referenced table \"{table}\"");
            return Err(Error::input(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
        }
        let message =
            format!("there is no unique constraint matching given keys for referenced table \"{table}\"");
        return Err(Error::input(sqlstate::INVALID_FOREIGN_KEY, message));
    }
    Ok(columns)
}

fn check_types(
    name: &str,
    child: (&TableDefinition, &[u16]),
    parent: (&TableDefinition, &[u16]),
) -> Result<()> {
    for (column, parent_column) in child.1.iter().zip(parent.1) {
        let column = &child.0.columns[usize::from(*column)];
        let parent_column = &parent.0.columns[usize::from(*parent_column)];
        let types = (column.sql_type, parent_column.sql_type);
        if KeyComparison::of(types.0, types.1).is_some() {
            continue;
        }
        if types.0.is_datetime() && types.1.is_datetime() {
            return unsupported(
                Missing::ForeignKeyTypes,
                "foreign keys between timestamps with time zone and others are",
            );
        }
        let detail = format!(
            "Key columns \"{}\" and \"{}\" are of incompatible types: {} and {}.",
            column.name,
            parent_column.name,
            types.0.base_name(),
            types.1.base_name()
        );
        let message = format!("foreign key constraint \"{name}\" cannot be implemented");
        return Err(Error::input(sqlstate::DATATYPE_MISMATCH, message).with_detail(detail));
    }
    Ok(())
}

fn resolve(
    child: &TableDefinition,
    (id, parent): (TableId, &TableDefinition),
    wanted: &WantedForeignKey,
) -> Result<ForeignKey> {
    let columns = columns_of(child, &wanted.columns)?;
    let parent_columns = parent_columns(parent, wanted)?;
    if columns.len() != parent_columns.len() {
        let message = "number of referencing and referenced columns for foreign key disagree";
        return Err(Error::input(sqlstate::INVALID_FOREIGN_KEY, message));
    }
    let mut delete_columns = Vec::with_capacity(wanted.delete_columns.len());
    for name in &wanted.delete_columns {
        let column = column_of(child, name)?;
        if !columns.contains(&column) {
            let message =
                format!("column \"{name}\" referenced in ON DELETE SET action must be part of foreign key");
            return Err(Error::input(sqlstate::INVALID_COLUMN_REFERENCE, message));
        }
        if !delete_columns.contains(&column) {
            delete_columns.push(column);
        }
    }
    let name = wanted.name.clone().unwrap_or_else(|| made_up_name(child, &wanted.columns));
    check_types(&name, (child, &columns), (parent, &parent_columns))?;
    Ok(ForeignKey {
        name,
        columns,
        parent: id,
        parent_columns,
        on_delete: wanted.on_delete,
        delete_columns,
        on_update: wanted.on_update,
        is_full: wanted.is_full,
        deferral: wanted.deferral,
        is_not_valid: wanted.is_not_valid,
    })
}

/// Temporary and permanent tables cannot reference each other.
fn check_persistence(child: &TableDefinition, parent: &Table) -> Result<()> {
    let kind = match (search_path::is_temporary(&child.name.schema), parent.id().is_temporary()) {
        (true, false) => "temporary",
        (false, true) => "permanent",
        _ => return Ok(()),
    };
    let message = format!("constraints on {kind} tables may reference only {kind} tables");
    Err(Error::input(sqlstate::INVALID_TABLE_DEFINITION, message))
}

impl Viewpoint {
    fn foreign_key(
        &self,
        (id, child): (TableId, &TableDefinition),
        wanted: &WantedForeignKey,
    ) -> Result<ForeignKey> {
        if let Some(name) = wanted.name.as_ref().filter(|name| child.has_constraint(name)) {
            let table = &child.name.name;
            let message = format!("constraint \"{name}\" for relation \"{table}\" already exists");
            return Err(Error::input(sqlstate::DUPLICATE_OBJECT, message));
        }
        let parent = self.meant(&wanted.parent);
        // A temporary table that is being created comes before all others of its name, though it is not there
        // yet.
        let is_own = wanted.parent.schema.is_none()
            && wanted.parent.name == child.name.name
            && search_path::is_temporary(&child.name.schema);
        if parent == child.name || is_own {
            return resolve(child, (id, child), wanted);
        }
        let parent = self.table(&parent).ok_or_else(|| self.no_relation(&wanted.parent))?;
        if parent.definition().source().is_some() {
            let message = format!("referenced relation \"{}\" is not a table", parent.definition().name.name);
            return Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, message));
        }
        check_persistence(child, &parent)?;
        resolve(child, (parent.id(), &parent.definition()), wanted)
    }

    /// CREATE TABLE: the sequences of its columns, the table, then its foreign keys.
    pub(super) fn created(
        &self,
        definition: &TableDefinition,
        foreign_keys: &[WantedForeignKey],
        sequences: &[WantedSequence],
    ) -> Result<Vec<CatalogChange>> {
        let id = self.new_table_id(&definition.name.schema);
        let mut known = definition.clone();
        let mut changes = self.created_for_columns(id, &mut known, sequences)?;
        changes.push(CatalogChange::CreateTable { id, definition: known.clone() });
        for wanted in foreign_keys {
            let foreign_key = self.foreign_key((id, &known), wanted)?;
            known.foreign_keys.push(foreign_key.clone());
            changes.push(CatalogChange::AddForeignKey { id, foreign_key });
        }
        Ok(changes)
    }

    pub(super) fn added_foreign_key(
        &self,
        table: &Arc<Table>,
        wanted: &WantedForeignKey,
    ) -> Result<Vec<CatalogChange>> {
        let foreign_key = self.foreign_key((table.id(), &table.definition()), wanted)?;
        Ok(vec![CatalogChange::AddForeignKey { id: table.id(), foreign_key }])
    }

    /// DROP TABLE and DROP VIEW.
    pub(super) fn dropped(
        &self,
        tables: &[Arc<Table>],
        cascades: bool,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        let tables: Vec<Object> = tables.iter().map(|table| Object::Relation(Arc::clone(table))).collect();
        self.dropped_objects(&tables, cascades, output)
    }
}

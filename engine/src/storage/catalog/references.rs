//! Foreign keys of existing tables: added, validated, dropped.
//!
//! Whether every row of a child references a row of its parent is checked here only when a foreign key is
//! added or validated. Procedures that change rows later carry the checks themselves. A child's value of
//! another type is converted to the parent's type if that loses nothing. If it does, no row can match.

use std::sync::Arc;

use crossbeam_epoch::Guard;
use hyades_types::cast::cast;
use hyades_types::compare;
use hyades_types::definition::{ForeignKey, KeyComparison, ParentKey, TableDefinition, TableId, TableName};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::guest;
use hyades_types::key;
use hyades_types::value::{SqlType, Value};
use jiff::tz::TimeZone;

use super::Catalog;
use crate::storage::table::TableState;

/// The work of looking for a parent, in a guest's units.
const UNITS_PER_ROW: usize = 30;

impl Catalog {
    pub(super) fn apply_add_foreign_key(
        &self,
        id: TableId,
        foreign_key: &ForeignKey,
        guard: &Guard,
    ) -> Result<()> {
        let child = self.existing(id)?;
        self.replace_definition(&child, child.definition().with_foreign_key(id, foreign_key), guard);
        if foreign_key.parent != id {
            let parent = self.existing(foreign_key.parent)?;
            self.replace_definition(&parent, parent.definition().with_child(id), guard);
        }
        Ok(())
    }

    pub(super) fn apply_drop_foreign_key(&self, id: TableId, name: &str, guard: &Guard) -> Result<()> {
        let child = self.existing(id)?;
        let definition = child.definition();
        let parent = existing(&definition, name)?.parent;
        self.replace_definition(&child, definition.without_foreign_key(id, name), guard);
        if parent != id {
            let number = definition.number_among(parent, name);
            let parent = self.existing(parent)?;
            self.replace_definition(&parent, parent.definition().without_child(id, number), guard);
        }
        Ok(())
    }

    pub(super) fn apply_validate_foreign_key(&self, id: TableId, name: &str, guard: &Guard) -> Result<()> {
        let child = self.existing(id)?;
        let definition = child.definition();
        existing(&definition, name)?;
        self.replace_definition(&child, definition.with_valid_foreign_key(name), guard);
        Ok(())
    }
}

fn existing<'d>(definition: &'d Arc<TableDefinition>, name: &str) -> Result<&'d ForeignKey> {
    definition.foreign_key(name).ok_or_else(|| {
        Error::corrupt(format!("the log changes foreign key \"{name}\", which does not exist"))
    })
}

impl TableState {
    /// Fails with PostgreSQL's 23503 if a row of this table references no row of `parent`. The caller holds
    /// locks on both tables.
    ///
    /// # Errors
    /// That, and the error by which a guest is told to stop.
    pub fn check_foreign_key(
        &self,
        foreign_key: &ForeignKey,
        parent: &TableState,
        guard: &Guard,
    ) -> Result<()> {
        let Some(parent_key) = foreign_key.parent_key(parent.definition()) else {
            return Err(Error::input(sqlstate::INTERNAL_ERROR, "a foreign key references no key"));
        };
        self.for_each_row(guard, |row| {
            guest::spend_for(UNITS_PER_ROW)?;
            let columns = &foreign_key.columns;
            let nulls = columns.iter().filter(|&&column| self.layout().is_null(row, column)).count();
            let detail = if nulls == columns.len() || (nulls > 0 && !foreign_key.is_full) {
                return Ok(());
            } else if nulls > 0 {
                MIXED.to_owned()
            } else if self.has_parent(&parent_key, parent, row, guard) {
                return Ok(());
            } else {
                let key = self.describe_key(columns, row, &TimeZone::UTC);
                format!("{key} is not present in table \"{}\".", parent.definition().name.name)
            };
            let (TableName { schema, name: child }, name) = (&self.definition().name, &foreign_key.name);
            let message =
                format!("insert or update on table \"{child}\" violates foreign key constraint \"{name}\"");
            Err(Error::input(sqlstate::FOREIGN_KEY_VIOLATION, message)
                .with_detail(detail)
                .with_table(schema, child)
                .with_constraint(name))
        })
    }

    /// Whether a row of `parent` has the values that a row of this table references. The tables do not change
    /// meanwhile.
    fn has_parent(&self, parent_key: &ParentKey, parent: &TableState, row: &[u8], guard: &Guard) -> bool {
        let types =
            |state: &TableState, column: u16| state.definition().columns[usize::from(column)].sql_type;
        let key_columns = parent.definition().key_columns(parent_key.index);
        let mut values = Vec::with_capacity(key_columns.len());
        for (column, parent_column) in parent_key.columns.iter().zip(key_columns) {
            let (own, wanted) = (types(self, *column), types(parent, parent_column));
            match as_parent(self.layout().value(row, *column), own, wanted) {
                Some(value) => values.push((value, wanted)),
                None => return false,
            }
        }
        let mut found = Vec::new();
        let index = parent_key.index.and_then(|index| parent.indexes().get(usize::from(index)));
        let Some(index) = index else {
            values.iter().for_each(|(value, sql_type)| key::encode(value, *sql_type, &mut found));
            return parent.index().get(&found, guard).is_some_and(|record| record.has_row());
        };
        for (place, (value, sql_type)) in values.iter().enumerate() {
            index.append_value(place, &mut found, |out| key::encode(value, *sql_type, out));
        }
        let has_key = |row: &[u8]| {
            let mut columns = Vec::new();
            index.append_columns(parent.layout(), row, &mut columns);
            columns == found
        };
        let mut rows = index.rows_with(&found, guard).into_iter();
        rows.any(|row| {
            parent.index().get(&row, guard).and_then(|record| record.row(guard)).is_some_and(has_key)
        })
    }
}

/// The detail of the error for a row that breaks MATCH FULL.
const MIXED: &str = "MATCH FULL does not allow mixing of null and nonnull key values.";

/// The referencing value as the referenced column would hold it; `None` if it cannot.
fn as_parent(value: Value, own: SqlType, wanted: SqlType) -> Option<Value> {
    let convert = |value, to| cast(value, to, true, &TimeZone::UTC).ok();
    match KeyComparison::of(own, wanted)? {
        KeyComparison::Same => Some(value),
        KeyComparison::AsParent => convert(value, wanted.without_modifier()),
        KeyComparison::AsChild => {
            let converted = convert(value.clone(), wanted.without_modifier())?;
            let back = convert(converted.clone(), own.without_modifier())?;
            (compare::equal(&back, &value) == Some(true)).then_some(converted)
        }
    }
}

//! ALTER TABLE: another definition for an existing table, whose rows are adapted to it.
//!
//! If the columns do not change, the rows stay in place. Otherwise every row is rewritten, each column from
//! an old one or a constant, under its key or, if the table has lost its key, under a row number. Values that
//! must be computed have been computed before, into a column of their own. Rewriting is a function of the old
//! state alone, so replay gives the same result.

use std::sync::Arc;

use crossbeam_epoch::Guard;
use hyades_types::definition::{ColumnSource, TableDefinition, TableId, TableName};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::value::Value;
use hyades_types::{guest, memory, text};
use jiff::tz::TimeZone;

use super::{Catalog, check_definition, corrupt, for_each_record};
use crate::storage::row::RowLayout;
use crate::storage::table::TableState;

/// The work of rewriting a row, in a guest's units.
const UNITS_PER_ROW: usize = 30;

impl Catalog {
    pub(super) fn apply_alter_table(
        &self,
        id: TableId,
        definition: &TableDefinition,
        columns: Option<&[ColumnSource]>,
        guard: &Guard,
    ) -> Result<()> {
        check_definition(definition)?;
        let table = self.existing(id)?;
        let state = table.state(guard).altered(definition, columns, guard).map_err(corrupt)?;
        self.exchange(&table, Arc::new(state), guard);
        Ok(())
    }

    pub(super) fn apply_rename_table(
        &self,
        id: TableId,
        (name, schema): (&str, Option<&str>),
        guard: &Guard,
    ) -> Result<()> {
        let table = self.existing(id)?;
        let old = table.definition();
        let renamed = old.with_name(name, schema);
        let new = renamed.name.clone();
        let state = table.state(guard).with_definition(renamed);
        self.exchange(&table, Arc::new(state), guard);
        self.rename(&old.name, new, &table).map_err(corrupt)
    }
}

/// The source of a column's values, ready for a row.
enum Source {
    Old(u16),
    Constant(Value),
}

fn sources(definition: &TableDefinition, columns: &[ColumnSource]) -> Result<Vec<Source>> {
    let source = |(column, source): (usize, &ColumnSource)| match source {
        ColumnSource::Old(old) => Ok(Source::Old(*old)),
        ColumnSource::Null => Ok(Source::Constant(Value::Null)),
        ColumnSource::Constant(written) => {
            let sql_type = definition.columns[column].sql_type;
            text::parse(written, sql_type, &TimeZone::UTC).map(Source::Constant)
        }
    };
    columns.iter().enumerate().map(source).collect()
}

fn has_nulls(definition: &TableDefinition, column: usize) -> Error {
    let (TableName { schema, name: table }, column) = (&definition.name, &definition.columns[column].name);
    let message = format!("column \"{column}\" of relation \"{table}\" contains null values");
    Error::input(sqlstate::NOT_NULL_VIOLATION, message).with_table(schema, table).with_column(column)
}

impl TableState {
    /// The table under another definition. `columns`: where the values of its columns come from, `None` if
    /// columns and primary key are unchanged. The caller holds the table's write lock.
    ///
    /// # Errors
    /// PostgreSQL's 23502 if a column that takes no NULL contains one, 23505 if two rows have the same values
    /// where they must not; the error by which a guest is told to stop.
    pub fn altered(
        &self,
        definition: &TableDefinition,
        columns: Option<&[ColumnSource]>,
        guard: &Guard,
    ) -> Result<TableState> {
        let Some(columns) = columns else {
            self.check_new_not_null(definition, guard)?;
            return Ok(self.with_definition(definition.clone()));
        };
        let new = TableState::new(Arc::new(definition.clone())).charged_like(self);
        let sources = sources(definition, columns)?;
        if sources.len() != definition.columns.len() {
            return Err(Error::corrupt("the columns of an altered table do not match their sources"));
        }
        let (mut bytes, mut new_key, mut number) = (Vec::new(), Vec::new(), 0_u64);
        let keeps_key = self.has_hidden_key();
        self.for_each_in_order(guard, |key, row| {
            guest::spend_for(UNITS_PER_ROW)?;
            self.rewrite(row, (new.layout(), definition), &sources, &mut bytes)?;
            number += 1;
            memory::admit_row(bytes.len())?;
            if !new.has_hidden_key() {
                new.encode_key(&bytes, &mut new_key);
            } else {
                new_key.clear();
                if keeps_key {
                    new_key.extend_from_slice(key);
                } else {
                    new_key.extend_from_slice(&number.to_be_bytes());
                }
            }
            if !new.index().get_or_insert(&new_key, Some(&bytes), guard).1
                && let Some(primary_key) = &definition.primary_key
            {
                return Err(new.duplicate_key(&primary_key.name, &primary_key.columns, &bytes));
            }
            new.exchange_entries(&new_key, (None, Some(&bytes)), guard);
            new.count_added(1);
            Ok(())
        })?;
        for index in new.indexes().iter().filter(|index| index.definition().is_unique) {
            new.check_unique(index, guard)?;
        }
        Ok(new)
    }

    /// Writes a row in its new form.
    fn rewrite(
        &self,
        row: &[u8],
        (layout, definition): (&RowLayout, &TableDefinition),
        sources: &[Source],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        out.clear();
        let mut writer = layout.writer(out);
        for (column, source) in sources.iter().enumerate() {
            let old;
            let value = match source {
                Source::Old(from) => {
                    old = self.layout().value(row, *from);
                    &old
                }
                Source::Constant(value) => value,
            };
            if value.is_null() && !definition.columns[column].is_nullable {
                return Err(has_nulls(definition, column));
            }
            writer.value(value);
        }
        writer.finish()
    }

    /// Columns that no longer accept NULL must not contain one.
    fn check_new_not_null(&self, definition: &TableDefinition, guard: &Guard) -> Result<()> {
        let pairs = self.definition().columns.iter().zip(&definition.columns);
        let strict: Vec<u16> = (0u16..)
            .zip(pairs)
            .filter(|(_, (old, new))| old.is_nullable && !new.is_nullable)
            .map(|(column, _)| column)
            .collect();
        if strict.is_empty() {
            return Ok(());
        }
        self.for_each_row(guard, |row| {
            guest::spend_for(UNITS_PER_ROW)?;
            let null = strict.iter().find(|column| self.layout().is_null(row, **column));
            null.map_or(Ok(()), |column| Err(has_nulls(definition, usize::from(*column))))
        })
    }

    /// Every key and row, always in the same order, even if the index keeps none.
    fn for_each_in_order(
        &self,
        guard: &Guard,
        mut see: impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        if self.index().is_ordered() {
            return for_each_record(self.index(), guard, |key, record| {
                record.row(guard).map_or(Ok(()), |row| see(key, row))
            });
        }
        let mut keys = Vec::new();
        for_each_record(self.index(), guard, |key, _| {
            keys.push(key.to_vec());
            Ok(())
        })?;
        keys.sort_unstable();
        for key in &keys {
            if let Some(row) = self.index().get(key, guard).and_then(|record| record.row(guard)) {
                see(key, row)?;
            }
        }
        Ok(())
    }
}

//! CREATE INDEX on something computed from rows: the columns are added first, then their values, then the
//! index.

use std::sync::Arc;

use hyades_engine::storage::table::Table;
use hyades_types::definition::{
    CatalogChange, ColumnDefinition, ColumnSource, Generation, IndexPredicate, Indexed, TableDefinition,
};
use hyades_types::error::Result;
use sqlparser::ast;

use super::Session;
use super::column_changes::{rewritten, unchanged};
use super::index_commands::named_column;
use super::renames::with_renamed_column;
use super::running::{AlterStep, Alteration};
use crate::bind::row_expression::row_type;
use crate::ddl::filling::Filling;
use crate::ddl::index_expressions::{IndexedValue, only_where};
use crate::ddl::wanted::{WantedIndex, WantedIndexed};

impl Session {
    /// Adds the columns that the index is on. The rest follows in steps.
    pub(super) fn added_index(
        &self,
        alteration: &mut Alteration,
        wanted: &WantedIndex,
    ) -> Result<Vec<CatalogChange>> {
        let table = Arc::clone(&alteration.table);
        let old = table.definition();
        let predicate =
            wanted.predicate.as_ref().map(|predicate| self.bound_predicate(&table, predicate)).transpose()?;
        let mut definition = TableDefinition::clone(&old);
        let mut keys = Vec::with_capacity(wanted.keys.len());
        for key in &wanted.keys {
            let column = match (&key.indexed, &predicate) {
                (WantedIndexed::Column(name), None) => {
                    keys.push(named_column(&old, name)?);
                    continue;
                }
                (WantedIndexed::Column(name), Some(predicate)) => {
                    let number = named_column(&old, name)?;
                    let sql_type = old.columns[usize::from(number)].sql_type;
                    let value = IndexedValue::of_column(name, number, sql_type);
                    computed_column(name, value, Some(predicate), Some(number))
                }
                (WantedIndexed::Expression(expr, name), _) => {
                    computed_column(name, self.bound_indexed(&table, expr)?, predicate.as_ref(), None)
                }
            };
            keys.push(u16::try_from(definition.columns.len()).unwrap_or(u16::MAX));
            definition.columns.push(column);
        }
        let mut index = self.new_index(&definition, wanted, &keys)?;
        index.predicate = predicate;
        let mut columns = unchanged(&old);
        columns.resize(definition.columns.len(), ColumnSource::Null);
        alteration.steps.push_front(AlterStep::Index(Box::new(index)));
        for column in old.columns.len()..definition.columns.len() {
            let column = u16::try_from(column).unwrap_or(u16::MAX);
            alteration.steps.push_front(AlterStep::Fill(Filling::Generated(column)));
        }
        Ok(vec![rewritten(&table, definition, columns)])
    }

    /// Renames a column in everything that indexes compute from it.
    pub(super) fn rename_in_indexes(
        &self,
        definition: &mut TableDefinition,
        renamed: u16,
        (from, to): (&str, &str),
    ) -> Result<()> {
        let row = row_type(definition);
        let names_it: Vec<usize> = (0..definition.indexes.len())
            .filter(|at| definition.is_read_by(&definition.indexes[*at], renamed))
            .collect();
        for at in names_it {
            let index = definition.indexes[at].clone();
            let predicate = match &index.predicate {
                Some(old) => {
                    let written = with_renamed_column(&old.expression, from, to)?;
                    Some(self.bound_predicate(&row, &written)?)
                }
                None => None,
            };
            for key in definition.computed_for(&index) {
                let old = &definition.columns[usize::from(key)];
                let column = match old.indexed() {
                    Some(Indexed::Column(number)) => {
                        let name = &definition.columns[usize::from(*number)].name;
                        let value = IndexedValue::of_column(name, *number, old.sql_type);
                        computed_column(name, value, predicate.as_ref(), Some(*number))
                    }
                    Some(Indexed::Expression(text)) => {
                        let value = self.bound_indexed(&row, &with_renamed_column(text, from, to)?)?;
                        computed_column(&old.name, value, predicate.as_ref(), None)
                    }
                    None => continue,
                };
                definition.columns[usize::from(key)] = column;
            }
            definition.indexes[at].predicate = predicate;
        }
        Ok(())
    }

    fn bound_indexed(&self, table: &Arc<Table>, expr: &ast::Expr) -> Result<IndexedValue> {
        self.with_binder(|binder| binder.indexed_value(table, expr))
    }

    fn bound_predicate(&self, table: &Arc<Table>, expr: &ast::Expr) -> Result<IndexPredicate> {
        self.with_binder(|binder| binder.index_predicate(table, expr))
    }
}

/// A column that exists only for an index. `column` is set if the index is on that column as it stands.
fn computed_column(
    name: &str,
    value: IndexedValue,
    predicate: Option<&IndexPredicate>,
    column: Option<u16>,
) -> ColumnDefinition {
    let IndexedValue { sql_type, expression, shown, mut columns } = value;
    let computed = match predicate {
        Some(predicate) => {
            columns.extend(&predicate.columns);
            columns.sort_unstable();
            columns.dedup();
            only_where(predicate, &expression)
        }
        None => expression.clone(),
    };
    let indexed = Some(column.map_or(Indexed::Expression(expression), Indexed::Column));
    ColumnDefinition {
        name: name.to_owned(),
        sql_type,
        is_nullable: true,
        default: None,
        identity: None,
        generation: Some(Generation { expression: computed, shown, columns, indexed }),
    }
}

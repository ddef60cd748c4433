//! The texts in the definition of a table that the front end compiles: what has to be read and rewritten
//! when the names in them change.

use std::sync::Arc;

use hyades_engine::storage::table::Table;
use hyades_types::definition::{Generation, IndexPredicate, Indexed, TableDefinition};
use hyades_types::error::Result;
use hyades_types::value::SqlType;

use crate::bind::Binder;
use crate::statement::names::quoted;

/// The rows that a stored text reads.
#[derive(Clone, Copy)]
pub(crate) enum Reads<'a> {
    Nothing,
    /// The row of this table.
    Row(&'a Arc<Table>),
    /// The old and the new row of a trigger of this table.
    OldAndNew(&'a Arc<Table>),
}

impl Reads<'_> {
    /// Binds something over these rows.
    pub(super) fn bind<T>(
        self,
        binder: &mut Binder<'_>,
        bind: impl FnOnce(&mut Binder<'_>) -> Result<T>,
    ) -> Result<T> {
        match self {
            Reads::Nothing => bind(binder),
            Reads::Row(table) => {
                let row = binder.new_row()?;
                binder.over_row(table, row, |binder| bind(binder))
            }
            Reads::OldAndNew(table) => {
                let rows = (binder.new_row()?, binder.new_row()?);
                binder.over_rows(table, rows, |binder| bind(binder))
            }
        }
    }
}

/// A stored text, what it reads and the type as which its value is used.
type StoredText<'a> = (&'a mut String, Reads<'a>, SqlType);

/// Rewrites all texts of a table or view, but not the query of a view. `table` is the one whose definition
/// it is, before the change. Returns whether anything has changed.
pub(super) fn rewrite(
    table: &Arc<Table>,
    definition: &mut TableDefinition,
    mut rewrite: impl FnMut(&mut String, Reads<'_>, SqlType) -> Result<bool>,
) -> Result<bool> {
    let mut is_changed = false;
    for (text, reads, to) in texts(table, definition) {
        is_changed |= rewrite(text, reads, to)?;
    }
    if is_changed {
        compute_anew(definition);
    }
    Ok(is_changed)
}

/// All texts but those that [`compute_anew`] makes.
fn texts<'a>(table: &'a Arc<Table>, definition: &'a mut TableDefinition) -> Vec<StoredText<'a>> {
    let row = Reads::Row(table);
    let mut texts: Vec<StoredText<'a>> = Vec::new();
    for column in &mut definition.columns {
        let to = column.sql_type;
        texts.extend(column.default.as_mut().map(|text| (text, Reads::Nothing, to)));
        match &mut column.generation {
            Some(Generation { indexed: Some(Indexed::Expression(expression)), shown, pretty, .. })
            | Some(Generation { indexed: None, expression, shown, pretty, .. }) => {
                texts.extend([(expression, row, to), (shown, row, to), (pretty, row, to)]);
            }
            _ => {}
        }
    }
    let predicates = definition.indexes.iter_mut().filter_map(|index| index.predicate.as_mut());
    let predicates = predicates.map(|own| ([&mut own.expression, &mut own.shown, &mut own.pretty], row));
    let checks = definition.checks.iter_mut();
    let checks = checks.map(|own| ([&mut own.expression, &mut own.shown, &mut own.pretty], row));
    let when = definition.triggers.iter_mut().filter_map(|trigger| trigger.condition.as_mut());
    let rows = Reads::OldAndNew(table);
    let when = when.map(|own| ([&mut own.expression, &mut own.shown, &mut own.pretty], rows));
    for (forms, reads) in predicates.chain(checks).chain(when) {
        texts.extend(forms.map(|text| (text, reads, SqlType::Boolean)));
    }
    texts.retain(|(text, ..)| !text.is_empty());
    texts
}

/// The text of a column that is NULL in the rows that an index leaves out.
pub(super) fn only_where(predicate: &IndexPredicate, value: &str) -> String {
    format!("CASE WHEN {} THEN {value} END", predicate.expression)
}

/// Recomputes the expressions of index columns from the indexes' conditions and keys.
fn compute_anew(definition: &mut TableDefinition) {
    for index in definition.indexes.clone() {
        for key in definition.computed_for(&index) {
            let names: Vec<String> =
                definition.visible_columns().iter().map(|column| quoted(&column.name)).collect();
            let Some(generation) = &mut definition.columns[usize::from(key)].generation else { continue };
            let value = match &generation.indexed {
                Some(Indexed::Column(column)) => names[usize::from(*column)].clone(),
                Some(Indexed::Expression(expression)) => expression.clone(),
                None => continue,
            };
            generation.expression = match &index.predicate {
                Some(predicate) => only_where(predicate, &value),
                None => value,
            };
        }
    }
}

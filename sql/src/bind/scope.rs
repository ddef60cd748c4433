//! The names that FROM makes visible.

use std::sync::Arc;

use hyades_engine::procedure::ir::{Expr, Register, RowSlot};
use hyades_engine::storage::table::Table;
use hyades_types::value::SqlType;

/// What stands behind a relation's columns.
#[derive(Clone, Debug)]
pub(crate) enum RelationKind {
    /// A stored row.
    Table { table: Arc<Table>, row: RowSlot },
    /// Registers, one for each column.
    Registers(Vec<Register>),
    /// Arrays in registers, one for each column; the current row is that of the number in the last register.
    Elements(Vec<Register>, Register),
}

/// One item of FROM.
#[derive(Clone, Debug)]
pub(crate) struct Relation {
    /// The alias, or the table's own name.
    pub(crate) name: String,
    pub(crate) columns: Vec<(String, SqlType)>,
    pub(crate) kind: RelationKind,
    /// Only `name.column` finds it (`excluded`).
    pub(crate) is_qualified_only: bool,
}

impl Relation {
    /// A table under its own name or an alias, read through a row slot.
    pub(crate) fn table(table: &Arc<Table>, alias: Option<String>, row: RowSlot) -> Relation {
        let definition = table.definition();
        Relation {
            name: alias.unwrap_or_else(|| definition.name.name.clone()),
            columns: definition.columns.iter().map(|column| (column.name.clone(), column.sql_type)).collect(),
            kind: RelationKind::Table { table: Arc::clone(table), row },
            is_qualified_only: false,
        }
    }

    /// The expression that reads a column.
    pub(crate) fn column(&self, column: usize) -> Expr {
        match &self.kind {
            RelationKind::Table { row, .. } => {
                Expr::Column { row: *row, column: u16::try_from(column).unwrap_or(u16::MAX) }
            }
            RelationKind::Registers(registers) => Expr::Register(registers[column]),
            RelationKind::Elements(arrays, current) => Expr::Element {
                array: Box::new(Expr::Register(arrays[column])),
                index: Box::new(Expr::Register(*current)),
            },
        }
    }
}

/// All items of FROM, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    pub(crate) relations: Vec<Relation>,
}

impl Scope {
    pub(crate) fn of(relation: Relation) -> Scope {
        Scope { relations: vec![relation] }
    }

    /// The table behind a row slot.
    pub(crate) fn table_of(&self, wanted: RowSlot) -> Option<&Arc<Table>> {
        self.relations.iter().find_map(|relation| match &relation.kind {
            RelationKind::Table { table, row } if *row == wanted => Some(table),
            _ => None,
        })
    }
}

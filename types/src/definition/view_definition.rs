//! Definitions of views: relations whose rows are the result of a query at the time of use.
//!
//! A view is a table that keeps no rows: its name, its number, its columns and the locks on them are those of
//! a [`TableDefinition`](super::TableDefinition), whose [`ViewDefinition`] gives the source of its rows.
//!
//! A materialized view is a table that also knows such a source, from which REFRESH computes its rows again.

use serde::{Deserialize, Serialize};

use super::relation::{TableId, TableName};
use crate::value::SqlType;

/// The definition that CREATE VIEW gives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ViewDefinition {
    /// The query as PostgreSQL prints it, every relation and routine with its schema. Statements that use the
    /// view are compiled with it.
    pub query: String,
    /// The same with few parentheses.
    pub pretty: String,
    /// The relations that the query refers to, each once.
    pub tables: Vec<TableId>,
    /// The columns of tables that it refers to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<(TableId, u16)>,
    /// The routines that it calls, with the types of their arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routines: Vec<(TableName, Vec<SqlType>)>,
    /// The numbers of the enum types that it refers to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<u32>,
    /// The relation that a change of the view changes; `None` if it cannot be changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<ViewBase>,
}

/// What CREATE MATERIALIZED VIEW gives besides the columns. The rows are those of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MaterializedView {
    /// What its rows are computed from. It has no base.
    pub query: ViewDefinition,
    /// Whether they have been computed; until then it cannot be read.
    pub is_populated: bool,
}

/// The relation whose rows a view shows one by one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewBase {
    /// A table, or a view that has such a base itself.
    pub relation: TableId,
    /// For each column of the view, the column of the relation that it shows, if it shows one.
    pub columns: Vec<Option<u16>>,
}

impl ViewDefinition {
    pub fn uses_table(&self, id: TableId) -> bool {
        self.tables.contains(&id)
    }

    /// The same once a table has lost a column that the view does not use.
    pub fn without_column(&self, table: TableId, gone: u16) -> ViewDefinition {
        let moved = |column: u16| if column > gone { column - 1 } else { column };
        let mut view = self.clone();
        for (_, column) in view.columns.iter_mut().filter(|(id, _)| *id == table) {
            *column = moved(*column);
        }
        if let Some(base) = view.base.as_mut().filter(|base| base.relation == table) {
            base.columns.iter_mut().flatten().for_each(|column| *column = moved(*column));
        }
        view
    }

    pub fn uses_column(&self, table: TableId, column: u16) -> bool {
        self.columns.contains(&(table, column))
    }

    pub fn uses_routine(&self, name: &TableName, types: &[SqlType]) -> bool {
        self.routines.iter().any(|(own, own_types)| own == name && own_types == types)
    }
}

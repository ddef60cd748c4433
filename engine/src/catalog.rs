//! Table definitions and changes to them.
//!
//! A [`CatalogChange`] is what DDL compiles to, what the log carries (as JSON, so that a log explains itself) and what replay
//! applies: one path for all three.

use serde::{Deserialize, Serialize};

use crate::value::SqlType;

/// Identifies a table for ever; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TableId(pub u32);

/// Schema and table name, both as stored (folded to lower case unless quoted).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TableName {
    pub schema: String,
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ColumnDefinition {
    pub name: String,
    pub sql_type: SqlType,
    pub is_nullable: bool,
    /// The DEFAULT expression as SQL text; the SQL front end compiles it.
    pub default: Option<String>,
}

/// Which structure holds the primary key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum IndexKind {
    /// A B+-tree: point and range access.
    #[default]
    Ordered,
    /// A hash table: point access only, ranges scan the table.
    Hash,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrimaryKey {
    /// Constraint name, for messages (`accounts_pkey`).
    pub name: String,
    /// Column numbers, 0-based, in key order.
    pub columns: Vec<u16>,
    pub index: IndexKind,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableDefinition {
    pub name: TableName,
    pub columns: Vec<ColumnDefinition>,
    /// Without one, rows are kept under a hidden 64-bit row number.
    pub primary_key: Option<PrimaryKey>,
}

/// One schema change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum CatalogChange {
    CreateTable { id: TableId, definition: TableDefinition },
    DropTable { id: TableId },
    Truncate { id: TableId },
    AddPrimaryKey { id: TableId, primary_key: PrimaryKey },
}

impl TableDefinition {
    pub fn column_index(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }
}

//! Definitions of secondary indexes: which columns, in which order, and whether their values are unique.
//!
//! UNIQUE constraints are such indexes too. The primary key is none of them: it says where rows are kept
//! ([`PrimaryKey`](super::PrimaryKey)).

use serde::{Deserialize, Serialize};

use super::generation::IndexPredicate;
use super::relation::{IndexKind, TableId};

/// What CREATE INDEX says, or a UNIQUE constraint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexDefinition {
    /// From the counter that tables have, since an index is a relation as they are; never reused.
    pub id: TableId,
    /// In the schema of its table, where no other relation has it.
    pub name: String,
    pub columns: Vec<IndexColumn>,
    /// INCLUDE: what the index would only carry along. Rows are read anyway, so these columns change nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub included: Vec<u16>,
    #[serde(default)]
    pub is_unique: bool,
    /// NULLS NOT DISTINCT: two rows with NULL in the same column are equal there.
    #[serde(default)]
    pub nulls_are_equal: bool,
    /// WHERE: its columns are NULL in all rows but these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicate: Option<IndexPredicate>,
    /// It belongs to a UNIQUE constraint of the same name.
    #[serde(default)]
    pub is_constraint: bool,
    /// As USING says. Either is kept in order; one that was declared as a hash only serves equality.
    #[serde(default)]
    pub kind: IndexKind,
}

/// A column of an index, and how it is ordered there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexColumn {
    pub column: u16,
    #[serde(default)]
    pub is_descending: bool,
    #[serde(default)]
    pub nulls_first: bool,
}

impl IndexColumn {
    /// ASC NULLS LAST, what is meant where nothing is said.
    pub fn ascending(column: u16) -> IndexColumn {
        IndexColumn { column, is_descending: false, nulls_first: false }
    }
}

impl IndexDefinition {
    /// The columns that it orders by.
    pub fn key_columns(&self) -> impl Iterator<Item = u16> {
        self.columns.iter().map(|key| key.column)
    }

    /// Whether it orders by this column.
    pub fn has_column(&self, column: u16) -> bool {
        self.key_columns().any(|key| key == column)
    }
}

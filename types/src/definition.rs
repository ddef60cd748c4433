//! Definitions of tables, sequences and routines, and changes to them.
//!
//! A [`CatalogChange`] is what DDL compiles to, what the log carries (as JSON, so that a log explains itself)
//! and what replay applies: one path for all three.

use serde::{Deserialize, Serialize};

use crate::value::SqlType;

mod routine_definition;
mod sequence_definition;

pub use routine_definition::{
    ParameterMode, Returns, RoutineDefinition, RoutineId, RoutineKind, RoutineParameter,
};
pub use sequence_definition::{SequenceDefinition, SequenceId, SequenceOwner, SequenceState};

/// Identifies a table for ever; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TableId(pub u32);

/// Schema and name of a table, sequence or routine, both as stored (folded to lower case unless quoted).
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
    /// The DEFAULT expression as SQL text; the SQL front end compiles it. That of an identity column draws
    /// from its sequence.
    pub default: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
}

/// Who may say what stands in an identity column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Identity {
    /// Its sequence, unless a statement insists.
    Always,
    /// Its sequence, where a statement says nothing.
    ByDefault,
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
    /// Changed only through [`CatalogChange::AddForeignKey`] and [`CatalogChange::DropForeignKey`], as is
    /// `referenced_by`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub foreign_keys: Vec<ForeignKey>,
    /// Tables with a foreign key to this one, once for each such key. It stands here so that statements on
    /// this table become stale when they must begin to look for referencing rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub referenced_by: Vec<TableId>,
}

/// Every row whose columns are not NULL names a row of the parent table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignKey {
    /// Constraint name, unique among those of its table.
    pub name: String,
    /// The referencing columns, in the order of the constraint.
    pub columns: Vec<u16>,
    /// Another table; its primary key is referenced.
    pub parent: TableId,
    /// The column of the parent that each of `columns` names: the parent's primary key in any order.
    pub parent_columns: Vec<u16>,
}

impl ForeignKey {
    /// The referencing columns in the order of the parent's primary key; `None` unless it is just that key
    /// that is referenced.
    pub fn columns_in_key_order(&self, parent: &TableDefinition) -> Option<Vec<u16>> {
        let key = &parent.primary_key.as_ref()?.columns;
        if key.len() != self.parent_columns.len() || key.len() != self.columns.len() {
            return None;
        }
        let place = |wanted: &u16| self.parent_columns.iter().position(|column| column == wanted);
        key.iter().map(|column| place(column).map(|at| self.columns[at])).collect()
    }
}

/// One schema change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum CatalogChange {
    CreateTable {
        id: TableId,
        definition: TableDefinition,
    },
    DropTable {
        id: TableId,
    },
    Truncate {
        id: TableId,
    },
    AddPrimaryKey {
        id: TableId,
        primary_key: PrimaryKey,
    },
    AddForeignKey {
        id: TableId,
        foreign_key: ForeignKey,
    },
    /// Names the constraint.
    DropForeignKey {
        id: TableId,
        name: String,
    },
    /// CREATE [OR REPLACE] PROCEDURE or FUNCTION: always a new id, which takes the place of the one it
    /// replaces.
    CreateRoutine {
        id: RoutineId,
        definition: RoutineDefinition,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replaces: Option<RoutineId>,
    },
    DropRoutine {
        id: RoutineId,
    },
    CreateSequence {
        id: SequenceId,
        definition: SequenceDefinition,
    },
    /// The whole new definition. `restart`: where it goes on, if not where it is.
    AlterSequence {
        id: SequenceId,
        definition: SequenceDefinition,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        restart: Option<SequenceState>,
    },
    DropSequence {
        id: SequenceId,
    },
    /// The DEFAULT of a column is gone.
    DropDefault {
        id: TableId,
        column: u16,
    },
}

impl TableDefinition {
    /// The same without the DEFAULT of this column.
    #[must_use]
    pub fn without_default(&self, column: u16) -> TableDefinition {
        let mut definition = self.clone();
        if let Some(column) = definition.columns.get_mut(usize::from(column)) {
            column.default = None;
        }
        definition
    }

    pub fn column_index(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    pub fn foreign_key(&self, name: &str) -> Option<&ForeignKey> {
        self.foreign_keys.iter().find(|foreign_key| foreign_key.name == name)
    }

    /// The definitions of a child table (this one) and its parent once the foreign key is there.
    pub fn add_foreign_key(
        &self,
        parent: &TableDefinition,
        id: TableId,
        foreign_key: &ForeignKey,
    ) -> (TableDefinition, TableDefinition) {
        let (mut child, mut parent) = (self.clone(), parent.clone());
        child.foreign_keys.push(foreign_key.clone());
        parent.referenced_by.push(id);
        (child, parent)
    }

    /// The definitions of a child table (this one) and its parent without the foreign key of this name.
    pub fn drop_foreign_key(
        &self,
        parent: &TableDefinition,
        id: TableId,
        name: &str,
    ) -> (TableDefinition, TableDefinition) {
        let (mut child, mut parent) = (self.clone(), parent.clone());
        child.foreign_keys.retain(|foreign_key| foreign_key.name != name);
        if let Some(at) = parent.referenced_by.iter().position(|child| *child == id) {
            parent.referenced_by.remove(at);
        }
        (child, parent)
    }
}

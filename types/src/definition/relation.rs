//! What names and numbers relations, and what they are kept in.

use serde::{Deserialize, Serialize};

/// Identifies a table for ever; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TableId(pub u32);

/// Schema and name of a table, sequence or routine, both as stored (folded to lower case unless quoted).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TableName {
    pub schema: String,
    pub name: String,
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

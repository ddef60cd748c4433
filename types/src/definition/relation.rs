//! What names and numbers relations, and what they are kept in.

use serde::{Deserialize, Serialize};

/// Identifies a table for ever; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TableId(pub u32);

impl TableId {
    /// Numbers of temporary tables, and of their indexes, begin here.
    pub const FIRST_TEMPORARY: u32 = 1 << 29;
    /// There are so many of them; then the first comes again.
    pub const TEMPORARIES: u32 = 1 << 29;

    /// Whether what has this number is a session's own, and no log tells of it.
    #[inline]
    pub fn is_temporary(self) -> bool {
        self.0 >= TableId::FIRST_TEMPORARY
    }
}

/// Identifies a schema for ever; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SchemaId(pub u32);

impl SchemaId {
    /// That of `public`, which is there from the beginning.
    pub const PUBLIC: SchemaId = SchemaId(2200);
}

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

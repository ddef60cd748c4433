//! Names and ids of relations, and the structures that hold them.

use serde::{Deserialize, Serialize};

/// Identifies a table forever; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TableId(pub u32);

impl TableId {
    /// Numbers of temporary tables, and of their indexes, begin here.
    pub const FIRST_TEMPORARY: u32 = 1 << 29;
    /// There are this many of them; then the numbers start over.
    pub const TEMPORARIES: u32 = 1 << 29;

    /// Whether the object with this number is private to a session, so that it is not logged.
    #[inline]
    pub fn is_temporary(self) -> bool {
        self.0 >= TableId::FIRST_TEMPORARY
    }
}

/// Identifies a schema forever; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SchemaId(pub u32);

impl SchemaId {
    /// The id of `public`, which exists from the beginning.
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
    /// A hash table: point access only. Range queries scan the table.
    Hash,
}

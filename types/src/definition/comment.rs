//! The targets of comments.

use serde::{Deserialize, Serialize};

/// An object, or a part of one. Objects of all kinds get their ids from one counter, so the id suffices.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CommentTarget {
    /// The id of a table, view, index, sequence, routine, type or schema.
    pub object: u32,
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub part: CommentPart,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum CommentPart {
    #[default]
    Whole,
    /// The number of a column in the catalog, from 1, which is never reused.
    Column(u16),
    /// The name of a constraint of a table.
    Constraint(String),
    /// The name of a trigger of a table.
    Trigger(String),
    /// The index of a table's primary key, which has no id.
    PrimaryKeyIndex,
}

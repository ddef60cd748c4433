//! Generated columns: values that a row computes from its other columns, and keeps.
//!
//! What an index is on is such a column too, unless it is a column as it stands: an index on an expression is
//! an index on a column that computes it, and one with WHERE is on columns that are NULL in the rows that it
//! leaves out. No statement sees these columns; they are the last ones of their table, and go with the index.

use serde::{Deserialize, Serialize};

/// `GENERATED ALWAYS AS (expression) STORED`, as its creator wrote it and as PostgreSQL would show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Generation {
    /// The expression as SQL text; the SQL front end compiles it.
    pub expression: String,
    /// The same with its types and parentheses, for the catalog: `(a * 2)`.
    pub shown: String,
    /// The columns that it reads, each once, in that order; none of them is generated.
    pub columns: Vec<u16>,
    /// An index is on it, and no statement sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indexed: Option<Indexed>,
}

/// What an index is on, where the rows are that it has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Indexed {
    /// A column as it stands.
    Column(u16),
    /// This, as SQL text.
    Expression(String),
}

/// The rows that an index has: `WHERE (condition)`, as its creator wrote it and as PostgreSQL would show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexPredicate {
    pub expression: String,
    pub shown: String,
    /// The columns that it reads, each once, in that order.
    pub columns: Vec<u16>,
}

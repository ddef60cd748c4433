//! Generated columns: values that a row computes from its other columns and stores.
//!
//! Every index element that is not a plain column is such a column too: an index on an expression is an index
//! on a column that computes it, and one with WHERE is on columns that are NULL in the rows that it leaves
//! out. These columns are not visible to statements. They are the last ones of their table, and go with the
//! index.

use serde::{Deserialize, Serialize};

/// `GENERATED ALWAYS AS (expression) STORED`, as its creator wrote it and as PostgreSQL would show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Generation {
    /// The expression as SQL text; the SQL front end compiles it.
    pub expression: String,
    /// The same with explicit types and parentheses, for the catalog: `(a * 2)`.
    pub shown: String,
    /// The same with as few parentheses as possible. Empty in definitions of before 2026-11-28.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pretty: String,
    /// The columns that it reads, each once, in that order; none of them is generated.
    pub columns: Vec<u16>,
    /// Set if it exists for an index, and is not visible to statements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indexed: Option<Indexed>,
}

/// What an index is on, in the rows that it contains.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Indexed {
    /// A plain column.
    Column(u16),
    /// This expression, as SQL text.
    Expression(String),
}

/// The rows that an index contains: `WHERE (condition)`, as its creator wrote it and as PostgreSQL would show
/// it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexPredicate {
    pub expression: String,
    pub shown: String,
    /// The same with as few parentheses as possible. Empty in definitions of before 2026-11-28.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pretty: String,
    /// The columns that it reads, each once, in that order.
    pub columns: Vec<u16>,
}

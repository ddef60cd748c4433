//! CHECK constraints: conditions that no row of a table may violate.

use serde::{Deserialize, Serialize};

/// A condition on every row of a table, or on every value of a domain, as its creator wrote it and as
/// PostgreSQL would show it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CheckConstraint {
    /// Constraint name, unique among those of its table or domain.
    pub name: String,
    /// The condition as SQL text; the SQL front end compiles it.
    pub expression: String,
    /// The same with explicit types and parentheses, for the catalog: `(a > 0)`.
    pub shown: String,
    /// The same with as few parentheses as possible. Empty in definitions of before 2026-11-28.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pretty: String,
    /// The columns that it refers to, each once, in that order.
    pub columns: Vec<u16>,
    /// NOT VALID: rows from before it may violate it.
    #[serde(default)]
    pub is_not_valid: bool,
}

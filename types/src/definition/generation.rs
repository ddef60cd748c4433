//! Generated columns: values that a row computes from its other columns, and keeps.

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
}

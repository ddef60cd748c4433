//! The limit on nesting, for reading, making and checking values.

use crate::error::{Error, sqlstate};

/// How deep arrays and objects may nest.
pub(super) const MOST_DEPTH: usize = 10_000;

pub(super) fn too_deep() -> Error {
    Error::input(sqlstate::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded").with_hint(
        "Increase the configuration parameter \"max_stack_depth\" (currently 2048kB), after ensuring the platform's stack depth limit is adequate.",
    )
}

//! Functions that PostgreSQL has and Hyades does not have yet. A call of one reports that, instead of saying
//! that the function does not exist.

/// Names of functions that are not implemented at all, one on each line, sorted: those that PostgreSQL 15 has
/// in `pg_proc` for its users, and those of its grammar.
const NAMES: &str = include_str!("missing_functions.txt");

/// Whether PostgreSQL has the function.
pub(crate) fn is_missing(name: &str) -> bool {
    NAMES.lines().any(|missing| missing == name)
}

#[cfg(test)]
mod tests {
    //! The list is searched.

    use hyades_types::function::lookup;

    use super::NAMES;

    #[test]
    fn names_are_sorted_and_really_missing() {
        assert!(NAMES.lines().is_sorted());
        for name in NAMES.lines() {
            assert!(lookup(name).is_empty(), "{name}");
        }
    }
}

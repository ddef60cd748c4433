//! Functions that PostgreSQL has and Hyades has not yet. A call says so, instead of that there is no such
//! function.

/// Names of which nothing is there.
const NAMES: &[&str] = &[
    "convert_from",
    "convert_to",
    "cume_dist",
    "current_catalog",
    "current_query",
    "current_time",
    "dense_rank",
    "first_value",
    "json_populate_record",
    "json_populate_recordset",
    "json_to_record",
    "json_to_recordset",
    "json_to_tsvector",
    "jsonb_path_exists",
    "jsonb_path_match",
    "jsonb_path_query",
    "jsonb_path_query_array",
    "jsonb_path_query_first",
    "jsonb_populate_record",
    "jsonb_populate_recordset",
    "jsonb_to_record",
    "jsonb_to_recordset",
    "jsonb_to_tsvector",
    "lag",
    "last_value",
    "lead",
    "normalize",
    "nth_value",
    "ntile",
    "parse_ident",
    "percent_rank",
    "pg_sleep",
    "rank",
    "regexp_matches",
    "regexp_split_to_table",
    "row_number",
    "setseed",
    "string_to_table",
    "timeofday",
    "to_tsquery",
    "to_tsvector",
    "txid_current",
    "xmlelement",
];

/// What to call the function in the refusal, if PostgreSQL has it.
pub(crate) fn missing(name: &str) -> Option<String> {
    NAMES.binary_search(&name).ok().map(|_| name.to_owned())
}

#[cfg(test)]
mod tests {
    //! The list is searched.

    use hyades_types::function::lookup;

    use super::NAMES;

    #[test]
    fn names_are_sorted_and_really_missing() {
        assert!(NAMES.is_sorted());
        for name in NAMES {
            assert!(lookup(name).is_empty(), "{name}");
        }
    }
}

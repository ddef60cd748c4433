//! Functions that PostgreSQL has and Hyades has not yet. A call says so, instead of that there is no such
//! function.

/// Names of which nothing is there.
const NAMES: &[&str] = &[
    "array_to_json",
    "convert_from",
    "convert_to",
    "cume_dist",
    "current_catalog",
    "current_query",
    "current_time",
    "dense_rank",
    "first_value",
    "json_agg",
    "json_array_elements",
    "json_build_object",
    "json_each",
    "json_object_agg",
    "jsonb_agg",
    "jsonb_array_elements",
    "jsonb_build_object",
    "jsonb_each",
    "jsonb_set",
    "lag",
    "last_value",
    "lead",
    "normalize",
    "nth_value",
    "ntile",
    "parse_ident",
    "percent_rank",
    "pg_sleep",
    "pg_total_relation_size",
    "rank",
    "regexp_matches",
    "regexp_split_to_table",
    "row_number",
    "row_to_json",
    "setseed",
    "string_to_table",
    "timeofday",
    "to_json",
    "to_jsonb",
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

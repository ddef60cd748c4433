//! Statements for what has no row in the table of functions: functions of arrays, operators, casts,
//! aggregates, set-returning functions.

/// A name, and statements.
type Attack = (&'static str, Vec<String>);

pub(super) fn all() -> Vec<Attack> {
    [of_arrays(), of_values(), of_rows()].concat()
}

fn is_null(expressions: &[&str]) -> Vec<String> {
    expressions.iter().map(|expression| format!("select ({expression}) is null")).collect()
}

/// Arrays.
fn of_arrays() -> Vec<Attack> {
    vec![
        (
            "string_to_array of 100 MB",
            is_null(&["cardinality(string_to_array(repeat('a', 100000000), null))"]),
        ),
        (
            "array_replace by a long text",
            is_null(&[
                "cardinality(array_replace(array_fill('x'::text, array[2000000]), 'x', repeat('y', 10000)))",
                "array_replace(array_fill(null::text, array[4000000]), null, repeat('y', 100))",
            ]),
        ),
        (
            "arrays compared with each other",
            is_null(&[
                "(select array_agg(g) from generate_series(1, 200000) g) && (select array_agg(-g) from generate_series(1, 200000) g)",
                "(select array_agg(g) from generate_series(1, 200000) g) @> (select array_agg(g) from generate_series(1, 200000) g)",
                "(select array_agg(g) from generate_series(1, 200000) g) <@ (select array_agg(g) from generate_series(1, 200000) g)",
                "array_fill(repeat('x', 1000) || 'a', array[50000]) && array_fill(repeat('x', 1000) || 'b', array[50000])",
                "array_fill(1, array[4000000]) = array_fill(1, array[4000000])",
            ]),
        ),
    ]
}

/// Arrays made of arrays, casts, patterns.
fn of_values() -> Vec<Attack> {
    vec![
        (
            "arrays made of arrays",
            is_null(&[
                "array_cat(array_fill(1, array[4000000]), array_fill(1, array[4000000]))",
                "array_append(array_fill('x'::text, array[4000000]), 'x')",
                "array_prepend('x'::text, array_fill('x'::text, array[4000000]))",
                "array_remove(array_fill('x'::text, array[4000000]), 'y')",
                "array_positions(array_fill('x'::text, array[4000000]), 'x')",
                "array_position(array_fill(repeat('x', 100), array[1000000]), 'x')",
                "trim_array(array_fill('x'::text, array[4000000]), 1)",
                "(array_fill(1, array[4000000]))[2:3999999]",
                "array_fill(repeat('x', 1000000)::text, array[100000])",
                "array_fill(('1e131071'::numeric + 1), array[1000000])",
                "array_fill(1, array[134217727])",
                "array[array_fill(1, array[3000000]), array_fill(1, array[3000000])]",
                "array_to_string(array_fill(repeat('x', 1000), array[1000000]), repeat(',', 1000))",
                "array_to_json(array_fill(repeat('\"', 1000), array[50000]))",
                "to_jsonb(array_fill(0, array[4000000]))",
            ]),
        ),
        (
            "casts",
            is_null(&[
                "repeat('a', 100000000)::bytea::text",
                "repeat('\\', 100000000)::bytea::text",
                "array_fill('\"\\'::text, array[4000000])::text",
                "array_fill(repeat('a', 1000)::bytea, array[100000])::text",
                "('{' || repeat('1,', 50000000) || '1}')::int[]",
                "('{' || repeat('1,', 20000000) || '1}')::numeric[]",
                "repeat('{', 100000000)::int[]",
                "('[' || repeat('0,', 50000000) || '0]')::jsonb",
                "('[' || repeat('{},', 30000000) || '{}]')::jsonb::text",
                "repeat('[', 100000000)::jsonb",
                "repeat('9', 100000000)::numeric",
                "('0.' || repeat('9', 100000000))::numeric",
                "repeat('9', 100000000)::int",
                "repeat('1 day ', 10000000)::interval",
                "repeat('2020-01-01 ', 10000000)::timestamp",
                "repeat('x', 100000000)::char(10000000)",
                "array_fill('x'::text, array[100000])::char(10000)[]",
                "repeat('a', 100000000)::uuid",
            ]),
        ),
        (
            "patterns",
            is_null(&[
                "repeat('a', 50000000) like repeat('%a', 10000) || 'b'",
                "repeat('a', 1000000) like any (array_fill('%a%a%a%b'::text, array[10000]))",
                "repeat('A', 1000000) ilike all (array_fill('%a'::text, array[10000]))",
                "repeat('a', 10000000) ~ any (array_fill('a*b'::text, array[10000]))",
                "repeat('a', 50000000) ~ '(a|aa)+b'",
                "repeat('a', 50000000) ~ 'a.{500}b'",
                "repeat('a', 50000000) ~ '(a?){900}b'",
                "repeat('a', 50000000) ~ '[ab]*a[ab]{100}c'",
                "repeat('a', 50000000) ~ '(a)\\1{20}b'",
                "repeat('a', 50000000) similar to '%(a|b)*c'",
                "'x' ~ repeat('(', 1000000)",
                "'x' ~ repeat('a|', 5000000)",
                "'x' ~ repeat('[a-z]', 5000000)",
            ]),
        ),
    ]
}

/// JSON, aggregates, and functions that return rows.
fn of_rows() -> Vec<Attack> {
    vec![
        (
            "jsonb without many keys",
            is_null(&[
                "(select jsonb_object_agg('key' || g, g) from generate_series(1, 100000) g) - (select array_agg('other' || g) from generate_series(1, 100000) g)",
                "(select jsonb_agg('key' || g) from generate_series(1, 100000) g) - (select array_agg('other' || g) from generate_series(1, 100000) g)",
                "(select jsonb_object_agg('key' || g, g) from generate_series(1, 100000) g) ?& (select array_agg('key' || g) from generate_series(1, 100000) g)",
                "(select jsonb_object_agg('key' || g, g) from generate_series(1, 100000) g) @> (select jsonb_object_agg('key' || g, g) from generate_series(1, 100000) g)",
                "(select jsonb_agg(g) from generate_series(1, 100000) g) @> (select jsonb_agg(g) from generate_series(1, 100000) g)",
            ]),
        ),
        (
            "aggregates",
            [
                "string_agg(repeat('x', 1000000), ',')",
                "string_agg(repeat('x', 1000000)::bytea, ','::bytea)",
                "array_agg(repeat('x', 1000000))",
                "array_agg(array_fill(1, array[100000]))",
                "json_agg(repeat('\"', 1000000))",
                "jsonb_agg(repeat('x', 1000000))",
                "json_object_agg(g, repeat('x', 100000))",
                "jsonb_object_agg(g, repeat('x', 100000))",
                "max(repeat('x', 10000000) || g)",
                "mode() within group (order by repeat('x', 1000000) || g)",
                "percentile_disc(0.5) within group (order by repeat('x', 1000000) || g)",
                "count(distinct repeat('x', 1000000) || g)",
                "sum(('1e131071'::numeric) / g)",
                "stddev(('1e60000'::numeric) * g)",
            ]
            .map(|call| format!("select ({call}) is null from generate_series(1, 100000) g"))
            .to_vec(),
        ),
        (
            "functions that return rows",
            [
                "generate_series(1::numeric, 1e100, 0.0001)",
                "generate_series('2000-01-01'::timestamp, 'infinity', '1 microsecond')",
                "unnest(array_fill(repeat('x', 1000000)::text, array[1000]))",
                "unnest(string_to_array(repeat('a', 100000000), null))",
                "regexp_split_to_table(repeat('a,', 30000000), ',')",
                "string_to_table(repeat('a,', 30000000), ',')",
                "regexp_matches(repeat('ab', 20000000), '(a)(b)', 'g')",
                "json_array_elements(('[' || repeat('[1],', 20000000) || '0]')::json)",
                "jsonb_array_elements_text(('[' || repeat('\"a\",', 20000000) || '0]')::jsonb)",
                "json_each(('{' || repeat('\"a\": 1,', 10000000) || '\"b\": 2}')::json)",
                "json_object_keys(('{' || repeat('\"a\": 1,', 10000000) || '\"b\": 2}')::json)",
                "generate_subscripts(array_fill(1, array[8000000]), 1)",
            ]
            .map(|call| format!("select count(*) from {call} r"))
            .to_vec(),
        ),
    ]
}

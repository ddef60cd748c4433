//! The extension hstore: its functions, as PostgreSQL's `hstore--1.4.sql` and later define them. Operators
//! are found by their symbols among the functions that are built in.

use hyades_types::definition::DeclaredVolatility;
use hyades_types::extension::ExtensionType;
use hyades_types::value::{ArrayElement, SqlType};

use super::member::{Available, Results, member, set};

use DeclaredVolatility::Immutable;
use SqlType::{Boolean, Integer, Json, Jsonb, Text};

const OWN: SqlType = SqlType::Extension(ExtensionType::Hstore);
const TEXTS: SqlType = SqlType::Array(ArrayElement::Text);

pub(super) const HSTORE: Available = Available {
    name: "hstore",
    version: "1.8",
    comment: "data type for storing sets of (key, value) pairs",
    members: &[
        member("fetchval", &[OWN, Text], Text, Immutable, "select $1 -> $2"),
        member("slice_array", &[OWN, TEXTS], TEXTS, Immutable, "select $1 -> $2"),
        member("slice", &[OWN, TEXTS], OWN, Immutable, "select pg_catalog.hstore_slice_to_hstore($1, $2)"),
        member("isexists", &[OWN, Text], Boolean, Immutable, "select $1 ? $2"),
        member("exist", &[OWN, Text], Boolean, Immutable, "select $1 ? $2"),
        member("exists_any", &[OWN, TEXTS], Boolean, Immutable, "select $1 ?| $2"),
        member("exists_all", &[OWN, TEXTS], Boolean, Immutable, "select $1 ?& $2"),
        member("isdefined", &[OWN, Text], Boolean, Immutable, "select pg_catalog.hstore_defined($1, $2)"),
        member("defined", &[OWN, Text], Boolean, Immutable, "select pg_catalog.hstore_defined($1, $2)"),
        member("delete", &[OWN, Text], OWN, Immutable, "select $1 - $2"),
        member("delete", &[OWN, TEXTS], OWN, Immutable, "select $1 - $2"),
        member("delete", &[OWN, OWN], OWN, Immutable, "select $1 - $2"),
        member("hs_concat", &[OWN, OWN], OWN, Immutable, "select $1 || $2"),
        member("hs_contains", &[OWN, OWN], Boolean, Immutable, "select $1 @> $2"),
        member("hs_contained", &[OWN, OWN], Boolean, Immutable, "select $1 <@ $2"),
        member("tconvert", &[Text, Text], OWN, Immutable, "select pg_catalog.hstore_from_text($1, $2)")
            .called_on_null(),
        member("hstore", &[Text, Text], OWN, Immutable, "select pg_catalog.hstore_from_text($1, $2)")
            .called_on_null(),
        member("hstore", &[TEXTS, TEXTS], OWN, Immutable, "select pg_catalog.hstore_from_arrays($1, $2)")
            .called_on_null(),
        member("hstore", &[TEXTS], OWN, Immutable, "select pg_catalog.hstore_from_array($1)"),
        member("hstore_to_json", &[OWN], Json, Immutable, "select pg_catalog.hstore_json($1)"),
        member("hstore_to_json_loose", &[OWN], Json, Immutable, "select pg_catalog.hstore_json_loose($1)"),
        member("hstore_to_jsonb", &[OWN], Jsonb, Immutable, "select pg_catalog.hstore_json($1)::jsonb"),
        member(
            "hstore_to_jsonb_loose",
            &[OWN],
            Jsonb,
            Immutable,
            "select pg_catalog.hstore_json_loose($1)::jsonb",
        ),
        member("hstore_to_array", &[OWN], TEXTS, Immutable, "select pg_catalog.hstore_array($1)"),
        member("hstore_to_matrix", &[OWN], TEXTS, Immutable, "select pg_catalog.hstore_matrix($1)"),
        member("akeys", &[OWN], TEXTS, Immutable, "select pg_catalog.hstore_akeys($1)"),
        member("avals", &[OWN], TEXTS, Immutable, "select pg_catalog.hstore_avals($1)"),
        set("skeys", &[OWN], Results::SetOf(Text), "select pg_catalog.unnest(pg_catalog.hstore_akeys($1))"),
        set("svals", &[OWN], Results::SetOf(Text), "select pg_catalog.unnest(pg_catalog.hstore_avals($1))"),
        set(
            "each",
            &[OWN],
            Results::Table(&[("key", Text), ("value", Text)]),
            "select pair.key, pair.value \
             from unnest(pg_catalog.hstore_akeys($1), pg_catalog.hstore_avals($1)) as pair (key, value)",
        ),
        member("hstore_eq", &[OWN, OWN], Boolean, Immutable, "select $1 = $2"),
        member("hstore_ne", &[OWN, OWN], Boolean, Immutable, "select $1 <> $2"),
        member("hstore_gt", &[OWN, OWN], Boolean, Immutable, "select $1 #># $2"),
        member("hstore_ge", &[OWN, OWN], Boolean, Immutable, "select $1 #>=# $2"),
        member("hstore_lt", &[OWN, OWN], Boolean, Immutable, "select $1 #<# $2"),
        member("hstore_le", &[OWN, OWN], Boolean, Immutable, "select $1 #<=# $2"),
        member(
            "hstore_cmp",
            &[OWN, OWN],
            Integer,
            Immutable,
            "select case when $1 #<# $2 then -1 when $1 #># $2 then 1 else 0 end",
        ),
    ],
};

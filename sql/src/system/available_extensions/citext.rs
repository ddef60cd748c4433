//! The extension citext: functions that disregard case, as PostgreSQL's `citext--1.4.sql` defines them.

use hyades_types::definition::DeclaredVolatility;
use hyades_types::extension::ExtensionType;
use hyades_types::value::{ArrayElement, SqlType};

use super::member::{Available, Results, member, set};

use DeclaredVolatility::Immutable;
use SqlType::{Boolean, Char, Inet, Integer, Text};

const OWN: SqlType = SqlType::Extension(ExtensionType::Citext);
const TEXTS: SqlType = SqlType::Array(ArrayElement::Text);

pub(super) const CITEXT: Available = Available {
    name: "citext",
    version: "1.6",
    comment: "data type for case-insensitive character strings",
    members: &[
        member("citext", &[Char(0)], OWN, Immutable, "select $1::citext"),
        member("citext", &[Boolean], OWN, Immutable, "select $1::citext"),
        member("citext", &[Inet], OWN, Immutable, "select $1::citext"),
        member("citext_eq", &[OWN, OWN], Boolean, Immutable, "select $1 = $2"),
        member("citext_ne", &[OWN, OWN], Boolean, Immutable, "select $1 <> $2"),
        member("citext_lt", &[OWN, OWN], Boolean, Immutable, "select $1 < $2"),
        member("citext_le", &[OWN, OWN], Boolean, Immutable, "select $1 <= $2"),
        member("citext_gt", &[OWN, OWN], Boolean, Immutable, "select $1 > $2"),
        member("citext_ge", &[OWN, OWN], Boolean, Immutable, "select $1 >= $2"),
        member(
            "citext_cmp",
            &[OWN, OWN],
            Integer,
            Immutable,
            "select case when $1 < $2 then -1 when $1 > $2 then 1 else 0 end",
        ),
        member("citext_hash", &[OWN], Integer, Immutable, "select pg_catalog.hashtext(lower($1::text))"),
        member("citext_smaller", &[OWN, OWN], OWN, Immutable, "select case when $1 < $2 then $1 else $2 end"),
        member("citext_larger", &[OWN, OWN], OWN, Immutable, "select case when $1 > $2 then $1 else $2 end"),
        member("texticlike", &[OWN, OWN], Boolean, Immutable, "select $1::text ilike $2::text"),
        member("texticnlike", &[OWN, OWN], Boolean, Immutable, "select $1::text not ilike $2::text"),
        member("texticregexeq", &[OWN, OWN], Boolean, Immutable, "select $1::text ~* $2::text"),
        member("texticregexne", &[OWN, OWN], Boolean, Immutable, "select $1::text !~* $2::text"),
        member("texticlike", &[OWN, Text], Boolean, Immutable, "select $1::text ilike $2"),
        member("texticnlike", &[OWN, Text], Boolean, Immutable, "select $1::text not ilike $2"),
        member("texticregexeq", &[OWN, Text], Boolean, Immutable, "select $1::text ~* $2"),
        member("texticregexne", &[OWN, Text], Boolean, Immutable, "select $1::text !~* $2"),
        member(
            "regexp_match",
            &[OWN, OWN],
            TEXTS,
            Immutable,
            "select pg_catalog.regexp_match($1::text, $2::text, 'i')",
        ),
        member(
            "regexp_match",
            &[OWN, OWN, Text],
            TEXTS,
            Immutable,
            "select pg_catalog.regexp_match($1::text, $2::text, \
             case when pg_catalog.strpos($3, 'c') = 0 then $3 || 'i' else $3 end)",
        ),
        set(
            "regexp_matches",
            &[OWN, OWN],
            Results::SetOf(TEXTS),
            "select pg_catalog.regexp_matches($1::text, $2::text, 'i')",
        ),
        set(
            "regexp_matches",
            &[OWN, OWN, Text],
            Results::SetOf(TEXTS),
            "select pg_catalog.regexp_matches($1::text, $2::text, \
             case when pg_catalog.strpos($3, 'c') = 0 then $3 || 'i' else $3 end)",
        ),
        member(
            "regexp_replace",
            &[OWN, OWN, Text],
            Text,
            Immutable,
            "select pg_catalog.regexp_replace($1::text, $2::text, $3, 'i')",
        ),
        member(
            "regexp_replace",
            &[OWN, OWN, Text, Text],
            Text,
            Immutable,
            "select pg_catalog.regexp_replace($1::text, $2::text, $3, \
             case when pg_catalog.strpos($4, 'c') = 0 then $4 || 'i' else $4 end)",
        ),
        member(
            "regexp_split_to_array",
            &[OWN, OWN],
            TEXTS,
            Immutable,
            "select pg_catalog.regexp_split_to_array($1::text, $2::text, 'i')",
        ),
        member(
            "regexp_split_to_array",
            &[OWN, OWN, Text],
            TEXTS,
            Immutable,
            "select pg_catalog.regexp_split_to_array($1::text, $2::text, \
             case when pg_catalog.strpos($3, 'c') = 0 then $3 || 'i' else $3 end)",
        ),
        set(
            "regexp_split_to_table",
            &[OWN, OWN],
            Results::SetOf(Text),
            "select pg_catalog.regexp_split_to_table($1::text, $2::text, 'i')",
        ),
        set(
            "regexp_split_to_table",
            &[OWN, OWN, Text],
            Results::SetOf(Text),
            "select pg_catalog.regexp_split_to_table($1::text, $2::text, \
             case when pg_catalog.strpos($3, 'c') = 0 then $3 || 'i' else $3 end)",
        ),
        member(
            "strpos",
            &[OWN, OWN],
            Integer,
            Immutable,
            "select pg_catalog.strpos(pg_catalog.lower($1::text), pg_catalog.lower($2::text))",
        ),
        member(
            "replace",
            &[OWN, OWN, OWN],
            Text,
            Immutable,
            r"select pg_catalog.regexp_replace($1::text,
                pg_catalog.regexp_replace($2::text, '([^a-zA-Z_0-9])', E'\\\\\\1', 'g'), $3::text, 'gi')",
        ),
        member(
            "split_part",
            &[OWN, OWN, Integer],
            Text,
            Immutable,
            r"select (pg_catalog.regexp_split_to_array($1::text,
                pg_catalog.regexp_replace($2::text, '([^a-zA-Z_0-9])', E'\\\\\\1', 'g'), 'i'))[$3]",
        ),
        member(
            "translate",
            &[OWN, OWN, Text],
            Text,
            Immutable,
            "select pg_catalog.translate(pg_catalog.translate($1::text, pg_catalog.lower($2::text), $3), \
             pg_catalog.upper($2::text), $3)",
        ),
    ],
};

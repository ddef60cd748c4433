//! The extensions that can be created, and their functions. Those are written in SQL and call what is built
//! in.

use hyades_types::definition::DeclaredVolatility;
use hyades_types::value::SqlType;

use DeclaredVolatility::{Immutable, Volatile};
use SqlType::{Bytea, Integer, Text, Uuid};

/// A function of an extension.
pub(crate) struct Member {
    pub(crate) name: &'static str,
    pub(crate) arguments: &'static [SqlType],
    pub(crate) result: SqlType,
    pub(crate) volatility: DeclaredVolatility,
    pub(crate) body: &'static str,
}

const fn member(
    name: &'static str,
    arguments: &'static [SqlType],
    result: SqlType,
    volatility: DeclaredVolatility,
    body: &'static str,
) -> Member {
    Member { name, arguments, result, volatility, body }
}

/// An extension that can be created.
pub(crate) struct Available {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    pub(crate) comment: &'static str,
    pub(crate) members: &'static [Member],
}

/// PL/pgSQL, which every database has.
pub(crate) const BUILT_IN: &str = "plpgsql";
pub(crate) const PLPGSQL_COMMENT: &str = "PL/pgSQL procedural language";

pub(crate) const AVAILABLE: [Available; 2] = [
    Available {
        name: "pgcrypto",
        version: "1.3",
        comment: "cryptographic functions",
        members: &[
            member("digest", &[Text, Text], Bytea, Immutable, "select pg_catalog.pgcrypto_digest($1, $2)"),
            member("digest", &[Bytea, Text], Bytea, Immutable, "select pg_catalog.pgcrypto_digest($1, $2)"),
            member(
                "hmac",
                &[Text, Text, Text],
                Bytea,
                Immutable,
                "select pg_catalog.pgcrypto_hmac($1, $2, $3)",
            ),
            member(
                "hmac",
                &[Bytea, Bytea, Text],
                Bytea,
                Immutable,
                "select pg_catalog.pgcrypto_hmac($1, $2, $3)",
            ),
            member("crypt", &[Text, Text], Text, Immutable, "select pg_catalog.pgcrypto_crypt($1, $2)"),
            member("gen_salt", &[Text], Text, Volatile, "select pg_catalog.pgcrypto_gen_salt($1)"),
            member(
                "gen_salt",
                &[Text, Integer],
                Text,
                Volatile,
                "select pg_catalog.pgcrypto_gen_salt($1, $2)",
            ),
            member(
                "gen_random_bytes",
                &[Integer],
                Bytea,
                Volatile,
                "select pg_catalog.pgcrypto_random_bytes($1)",
            ),
            member("gen_random_uuid", &[], Uuid, Volatile, "select pg_catalog.gen_random_uuid()"),
        ],
    },
    Available {
        name: "uuid-ossp",
        version: "1.1",
        comment: "generate universally unique identifiers (UUIDs)",
        members: &[
            member("uuid_nil", &[], Uuid, Immutable, "select '00000000-0000-0000-0000-000000000000'::uuid"),
            member(
                "uuid_ns_dns",
                &[],
                Uuid,
                Immutable,
                "select '6ba7b810-9dad-11d1-80b4-00c04fd430c8'::uuid",
            ),
            member(
                "uuid_ns_url",
                &[],
                Uuid,
                Immutable,
                "select '6ba7b811-9dad-11d1-80b4-00c04fd430c8'::uuid",
            ),
            member(
                "uuid_ns_oid",
                &[],
                Uuid,
                Immutable,
                "select '6ba7b812-9dad-11d1-80b4-00c04fd430c8'::uuid",
            ),
            member(
                "uuid_ns_x500",
                &[],
                Uuid,
                Immutable,
                "select '6ba7b814-9dad-11d1-80b4-00c04fd430c8'::uuid",
            ),
            member("uuid_generate_v1", &[], Uuid, Volatile, "select pg_catalog.uuid_ossp_v1()"),
            member("uuid_generate_v1mc", &[], Uuid, Volatile, "select pg_catalog.uuid_ossp_v1()"),
            member(
                "uuid_generate_v3",
                &[Uuid, Text],
                Uuid,
                Immutable,
                "select pg_catalog.uuid_ossp_named(3, $1, $2)",
            ),
            member("uuid_generate_v4", &[], Uuid, Volatile, "select pg_catalog.gen_random_uuid()"),
            member(
                "uuid_generate_v5",
                &[Uuid, Text],
                Uuid,
                Immutable,
                "select pg_catalog.uuid_ossp_named(5, $1, $2)",
            ),
        ],
    },
];

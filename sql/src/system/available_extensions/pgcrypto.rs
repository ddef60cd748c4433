//! The extension pgcrypto: digests, hashes of passwords, random bytes.

use hyades_types::definition::DeclaredVolatility;
use hyades_types::value::SqlType;

use super::member::{Available, member};

use DeclaredVolatility::{Immutable, Volatile};
use SqlType::{Bytea, Integer, Text, Uuid};

pub(super) const PGCRYPTO: Available = Available {
    name: "pgcrypto",
    version: "1.3",
    comment: "cryptographic functions",
    members: &[
        member("digest", &[Text, Text], Bytea, Immutable, "select pg_catalog.pgcrypto_digest($1, $2)"),
        member("digest", &[Bytea, Text], Bytea, Immutable, "select pg_catalog.pgcrypto_digest($1, $2)"),
        member("hmac", &[Text, Text, Text], Bytea, Immutable, "select pg_catalog.pgcrypto_hmac($1, $2, $3)"),
        member(
            "hmac",
            &[Bytea, Bytea, Text],
            Bytea,
            Immutable,
            "select pg_catalog.pgcrypto_hmac($1, $2, $3)",
        ),
        member("crypt", &[Text, Text], Text, Immutable, "select pg_catalog.pgcrypto_crypt($1, $2)"),
        member("gen_salt", &[Text], Text, Volatile, "select pg_catalog.pgcrypto_gen_salt($1)"),
        member("gen_salt", &[Text, Integer], Text, Volatile, "select pg_catalog.pgcrypto_gen_salt($1, $2)"),
        member(
            "gen_random_bytes",
            &[Integer],
            Bytea,
            Volatile,
            "select pg_catalog.pgcrypto_random_bytes($1)",
        ),
        member("gen_random_uuid", &[], Uuid, Volatile, "select pg_catalog.gen_random_uuid()"),
    ],
};

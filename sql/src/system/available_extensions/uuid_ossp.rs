//! The extension uuid-ossp: UUIDs of all versions.

use hyades_types::definition::DeclaredVolatility;
use hyades_types::value::SqlType;

use super::member::{Available, member};

use DeclaredVolatility::{Immutable, Volatile};
use SqlType::{Text, Uuid};

pub(super) const UUID_OSSP: Available = Available {
    name: "uuid-ossp",
    version: "1.1",
    comment: "generate universally unique identifiers (UUIDs)",
    members: &[
        member("uuid_nil", &[], Uuid, Immutable, "select '00000000-0000-0000-0000-000000000000'::uuid"),
        member("uuid_ns_dns", &[], Uuid, Immutable, "select '6ba7b810-9dad-11d1-80b4-00c04fd430c8'::uuid"),
        member("uuid_ns_url", &[], Uuid, Immutable, "select '6ba7b811-9dad-11d1-80b4-00c04fd430c8'::uuid"),
        member("uuid_ns_oid", &[], Uuid, Immutable, "select '6ba7b812-9dad-11d1-80b4-00c04fd430c8'::uuid"),
        member("uuid_ns_x500", &[], Uuid, Immutable, "select '6ba7b814-9dad-11d1-80b4-00c04fd430c8'::uuid"),
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
};

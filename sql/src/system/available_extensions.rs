//! The extensions that can be created: a file and a line of [`AVAILABLE`] for each.
//!
//! An extension is functions, and perhaps a type of its name (`hyades_types::extension`). The functions are
//! written in SQL and call what is built in, under names that nothing else has.
//!
//! Files:
//! * `member`: what an extension consists of;
//! * `citext`, `hstore`, `pgcrypto`, `uuid_ossp`: the extensions.

mod citext;
mod hstore;
mod member;
mod pgcrypto;
mod uuid_ossp;

pub(crate) use member::{Available, Member};

/// PL/pgSQL, which every database has.
pub(crate) const BUILT_IN: &str = "plpgsql";
pub(crate) const PLPGSQL_COMMENT: &str = "PL/pgSQL procedural language";

pub(crate) const AVAILABLE: [Available; 4] =
    [citext::CITEXT, hstore::HSTORE, pgcrypto::PGCRYPTO, uuid_ossp::UUID_OSSP];

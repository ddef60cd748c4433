//! Names of lockable things: hashes of (kind, table, key).

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::FixedState;
use hyades_types::definition::{DatabaseId, TableId, TableName};

pub(super) use crate::txn::lock_table::Resource;

/// A table's lock is split into this many stripes, so that workers that only announce their intent do not
/// contend.
pub(super) const TABLE_STRIPES: u64 = 16;

#[derive(Clone, Copy)]
enum Kind {
    Row = 1,
    Gap = 2,
    End = 3,
    Table = 4,
    Name = 5,
    RoutineName = 7,
    Definition = 8,
    Value = 9,
    TypeName = 10,
    Type = 11,
    Schema = 12,
    Comments = 13,
    Access = 14,
    IndexBuild = 15,
    DatabaseName = 16,
    Database = 17,
}

fn hash(kind: Kind, table: TableId, bytes: &[u8]) -> Resource {
    // The seed only has to be the same for all lock tables of a process.
    let mut hasher = FixedState::with_seed(0x4879_6164_6573).build_hasher();
    hasher.write_u64((kind as u64) << 32 | u64::from(table.0));
    hasher.write(bytes);
    let class = match kind {
        Kind::Row | Kind::Gap | Kind::End | Kind::Value => Resource::OF_RECORDS,
        Kind::Table => Resource::TABLE,
        _ => 0,
    };
    Resource(hasher.finish() & !(Resource::OF_RECORDS | Resource::TABLE) | class)
}

impl Resource {
    pub(super) fn row(table: TableId, key: &[u8]) -> Resource {
        hash(Kind::Row, table, key)
    }

    /// The gap before `key`, or after the last key, of a table's primary index or of a secondary one.
    pub(super) fn gap(relation: TableId, key: Option<&[u8]>) -> Resource {
        match key {
            Some(key) => hash(Kind::Gap, relation, key),
            None => hash(Kind::End, relation, &[]),
        }
    }

    /// All columns of a unique index, whichever row has them.
    pub(super) fn value(index: TableId, columns: &[u8]) -> Resource {
        hash(Kind::Value, index, columns)
    }

    pub(super) fn table_stripe(table: TableId, worker: u64) -> Resource {
        hash(Kind::Table, table, &[(worker % TABLE_STRIPES) as u8])
    }

    /// Held by transactions that read the table at snapshots, and by those that change its definition.
    pub(super) fn definition_stripe(table: TableId, worker: u64) -> Resource {
        hash(Kind::Definition, table, &[(worker % TABLE_STRIPES) as u8])
    }

    /// Held by transactions that make something in a schema, and by those that drop or rename it.
    pub(super) fn schema(database: DatabaseId, name: &str) -> Resource {
        hash(Kind::Schema, TableId(database.0), name.as_bytes())
    }

    /// Held by transactions that comment on the object of this id, or on a part of it.
    pub(super) fn comments(database: DatabaseId, object: u32) -> Resource {
        hash(Kind::Comments, TableId(object), &database.0.to_le_bytes())
    }

    /// Held by transactions that make something owned by a role, and by those that change roles and rights.
    pub(super) fn access() -> Resource {
        hash(Kind::Access, TableId(0), &[])
    }

    /// Held by transactions that make, change, drop or copy a database of this name.
    pub(super) fn database_name(name: &str) -> Resource {
        hash(Kind::DatabaseName, TableId(0), name.as_bytes())
    }

    /// Held by transactions that change the catalog of a database, and by those that copy or drop it.
    pub(super) fn database(id: DatabaseId) -> Resource {
        hash(Kind::Database, TableId(id.0), &[])
    }

    /// Held by the transaction that builds an index of a table beside writers.
    pub(super) fn index_build(table: TableId) -> Resource {
        hash(Kind::IndexBuild, table, &[])
    }

    pub(super) fn name(database: DatabaseId, name: &TableName) -> Resource {
        named(Kind::Name, database, name)
    }

    pub(super) fn type_name(database: DatabaseId, name: &TableName) -> Resource {
        named(Kind::TypeName, database, name)
    }

    /// Held by transactions that make something of this type, and by those that change it.
    pub(super) fn type_itself(id: u32) -> Resource {
        hash(Kind::Type, TableId(id), &[])
    }

    pub(super) fn routine_name(database: DatabaseId, name: &TableName) -> Resource {
        named(Kind::RoutineName, database, name)
    }
}

fn named(kind: Kind, database: DatabaseId, name: &TableName) -> Resource {
    let mut bytes = name.schema.clone().into_bytes();
    bytes.push(0);
    bytes.extend_from_slice(name.name.as_bytes());
    hash(kind, TableId(database.0), &bytes)
}

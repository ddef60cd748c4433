//! What refers to a type that was created in a database.

/// A type that was created in a database, as its users know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CreatedType {
    /// `pg_type.oid`
    pub id: u32,
    /// That of the definition that they know; `None` for a type of an extension, which never changes.
    pub version: Option<u64>,
}

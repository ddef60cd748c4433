//! Databases: each has a catalog of its own. Roles, and the numbers of objects, are common to all.

use serde::{Deserialize, Serialize};

/// Identifies a database forever; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DatabaseId(pub u32);

impl DatabaseId {
    /// What CREATE DATABASE copies unless told otherwise.
    pub const TEMPLATE1: DatabaseId = DatabaseId(1);
    /// It lets no session in, so it stays empty.
    pub const TEMPLATE0: DatabaseId = DatabaseId(4);
    /// The one that was the only one before there were several. Log records do not name it.
    pub const FIRST: DatabaseId = DatabaseId(5);
    /// Where tools connect that want to create or drop other databases.
    pub const POSTGRES: DatabaseId = DatabaseId(6);
}

/// What CREATE and ALTER DATABASE say of a database. Its owner and its access list are rights in its own
/// catalog.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatabaseDefinition {
    pub name: String,
    /// Whether all who may create databases may copy it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_template: bool,
    pub allows_connections: bool,
    /// How many sessions roles other than superusers may have in it; -1 for any number.
    pub connection_limit: i32,
}

impl DatabaseDefinition {
    /// The name of [`DatabaseId::FIRST`], until it gets another one.
    pub const FIRST_NAME: &'static str = "hyades";

    /// A database that every role that has the right may connect to.
    pub fn new(name: &str) -> DatabaseDefinition {
        let name = name.to_owned();
        DatabaseDefinition { name, is_template: false, allows_connections: true, connection_limit: -1 }
    }

    /// The databases that exist from the beginning, without a log record that says so.
    pub fn initial() -> [(DatabaseId, DatabaseDefinition); 4] {
        let template = |name: &str, allows_connections: bool| DatabaseDefinition {
            is_template: true,
            allows_connections,
            ..DatabaseDefinition::new(name)
        };
        [
            (DatabaseId::TEMPLATE1, template("template1", true)),
            (DatabaseId::TEMPLATE0, template("template0", false)),
            (DatabaseId::FIRST, DatabaseDefinition::new(DatabaseDefinition::FIRST_NAME)),
            (DatabaseId::POSTGRES, DatabaseDefinition::new("postgres")),
        ]
    }
}

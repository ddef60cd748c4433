//! Roles: users and groups of them.

use serde::{Deserialize, Serialize};

/// A role by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RoleId(pub u32);

impl RoleId {
    /// Everybody; no role.
    pub const PUBLIC: RoleId = RoleId(0);
    /// The superuser that there is from the beginning, whatever he is called.
    pub const OWNER: RoleId = RoleId(10);
    /// The role that whoever owns the database is a member of, and nobody else.
    pub const DATABASE_OWNER: RoleId = RoleId(6171);
    pub const DATABASE_OWNER_NAME: &'static str = "pg_database_owner";
}

/// That a role is a member of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Membership {
    /// The one that it is a member of.
    pub role: RoleId,
    pub grantor: RoleId,
    /// It may make others members.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_admin: bool,
}

/// A role as CREATE ROLE makes it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Role {
    pub name: String,
    pub is_superuser: bool,
    /// It has the rights of the roles that it is a member of without becoming them.
    pub inherits: bool,
    pub creates_roles: bool,
    pub creates_databases: bool,
    pub can_log_in: bool,
    pub replicates: bool,
    pub bypasses_row_security: bool,
    /// -1: as many as there may be.
    pub connection_limit: i32,
    /// The verifier of the password: `SCRAM-SHA-256$...`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verifier: Option<String>,
    /// Until when the password may be used: microseconds, as in the clock of SQL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<i64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub member_of: Vec<Membership>,
}

impl std::fmt::Debug for Role {
    /// The verifier is nobody's business.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Role").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Role {
    /// CREATE ROLE name.
    pub fn new(name: &str) -> Role {
        Role {
            name: name.to_owned(),
            is_superuser: false,
            inherits: true,
            creates_roles: false,
            creates_databases: false,
            can_log_in: false,
            replicates: false,
            bypasses_row_security: false,
            connection_limit: -1,
            verifier: None,
            valid_until: None,
            member_of: Vec::new(),
        }
    }
}

//! Roles: users and groups of them.

use serde::{Deserialize, Serialize};

/// A role by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RoleId(pub u32);

impl RoleId {
    /// Every role; not a role itself.
    pub const PUBLIC: RoleId = RoleId(0);
    /// The superuser that exists from the beginning, under any name.
    pub const OWNER: RoleId = RoleId(10);
    /// The role whose only member is the owner of the database.
    pub const DATABASE_OWNER: RoleId = RoleId(6171);
    pub const DATABASE_OWNER_NAME: &'static str = "pg_database_owner";
}

/// A membership of a role in another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Membership {
    /// The role of which it is a member.
    pub role: RoleId,
    pub grantor: RoleId,
    /// Whether it may add other members.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_admin: bool,
}

/// A role as CREATE ROLE makes it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Role {
    pub name: String,
    pub is_superuser: bool,
    /// Whether it has the rights of the roles that it is a member of without SET ROLE.
    pub inherits: bool,
    pub creates_roles: bool,
    pub creates_databases: bool,
    pub can_log_in: bool,
    pub replicates: bool,
    pub bypasses_row_security: bool,
    /// -1: no limit.
    pub connection_limit: i32,
    /// The verifier of the password: `SCRAM-SHA-256$...`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verifier: Option<String>,
    /// The time until which the password is valid: microseconds, as in SQL's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<i64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub member_of: Vec<Membership>,
}

impl std::fmt::Debug for Role {
    /// The verifier is not shown.
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

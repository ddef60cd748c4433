//! The properties of a role that decide whether a client may log in.

use hyades_types::access::{DATABASE_OBJECT, ObjectKind, Privileges, RoleId};

use super::Database;
use crate::password::Verifier;

/// A role, from the view of a client that wants to log in under its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    pub can_log_in: bool,
    /// `None` if the role has no password of its own.
    pub verifier: Option<Verifier>,
    /// Whether VALID UNTIL has passed.
    pub is_expired: bool,
    /// Whether it has the right to connect to the database.
    pub may_connect: bool,
}

impl Database {
    /// The role of this name, if one was created.
    pub fn login(&self, user: &str) -> Option<Login> {
        let access = self.engine().access();
        let (id, role) = access.role_named(user)?;
        let is_over = |until: i64| until < hyades_types::function::now_us();
        Some(Login {
            can_log_in: role.can_log_in,
            verifier: role.verifier.as_ref().and_then(|verifier| verifier.parse().ok()),
            is_expired: role.valid_until.is_some_and(is_over),
            may_connect: access
                .privileges(id, DATABASE_OBJECT, ObjectKind::Database)
                .contains(Privileges::CONNECT),
        })
    }

    /// Whether roles were created. If not, every client is the one initial superuser.
    pub fn has_roles(&self) -> bool {
        self.engine().access().roles().any(|(id, _)| id != RoleId::OWNER)
    }
}

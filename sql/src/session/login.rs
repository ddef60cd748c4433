//! What whoever lets clients in must know of a role.

use hyades_types::access::{DATABASE_OBJECT, ObjectKind, Privileges, RoleId};

use super::Database;
use crate::password::Verifier;

/// A role as somebody who wants to log in under its name meets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    pub can_log_in: bool,
    /// `None`: the role has no password of its own.
    pub verifier: Option<Verifier>,
    /// Its time is over.
    pub is_expired: bool,
    /// It may connect to the database.
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

    /// Whether roles were created: then not everybody is the one superuser that there is from the beginning.
    pub fn has_roles(&self) -> bool {
        self.engine().access().roles().any(|(id, _)| id != RoleId::OWNER)
    }
}

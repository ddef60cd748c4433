//! Who the role of a session is, and what it may use.

use std::sync::Arc;

use hyades_types::access::{Access, Caller, DATABASE_OBJECT, ObjectKind, Privileges, RoleId, denied};
use hyades_types::error::{Error, Result, sqlstate};

use super::Viewpoint;

impl Viewpoint {
    pub(crate) fn is_superuser(&self) -> bool {
        self.identity.is_superuser
    }

    /// The current role, with the rights of all roles.
    pub(crate) fn caller(&self) -> &Caller {
        &self.identity.caller
    }

    /// `current_user`, as a role.
    pub(crate) fn role(&self) -> RoleId {
        self.identity.role()
    }

    /// `session_user`, as a role.
    pub(crate) fn session_role(&self) -> RoleId {
        self.identity.session_role
    }

    /// Roles and rights as the session's transaction sees them.
    pub(crate) fn access(&self) -> &Arc<Access> {
        &self.identity.caller.access
    }

    /// The name of a role, for messages. One that is gone has none.
    pub(crate) fn role_name(&self, role: RoleId) -> String {
        match self.access().role_name(role, self.first_owner()) {
            Some(name) => name.to_owned(),
            None => format!("unknown (OID={})", role.0),
        }
    }

    /// The name of the first superuser: the session's login name if it is that role and no other role has
    /// the name, else [`FIRST_OWNER`].
    pub(crate) fn first_owner(&self) -> &str {
        let name = &self.identity.login_name;
        match self.identity.login_role {
            RoleId::OWNER if self.access().role_named(name).is_none() => name,
            _ => FIRST_OWNER,
        }
    }

    /// Whether `role` or `session_authorization` was set or reset since the identity was last determined.
    pub(crate) fn is_another_role(&self) -> bool {
        let session_role = self.settings.session_role().unwrap_or(self.identity.login_role);
        !self.settings.is_role(self.identity.chosen) || session_role != self.identity.session_role
    }

    /// The privileges of the session on an object.
    pub(crate) fn privileges(&self, object: u32, kind: ObjectKind) -> Privileges {
        self.access().privileges(self.role(), object, kind)
    }

    /// Error 42501 unless the session may use the schema that a name is written with.
    pub(crate) fn check_names_schema(&self, schema: Option<&str>) -> Result<()> {
        let Some(schema) = schema.filter(|_| !self.is_superuser()) else { return Ok(()) };
        let known = self.schemas().get(self.search_path().schema(schema));
        match known.is_none_or(|id| self.uses_schema(id.0)) {
            true => Ok(()),
            false => Err(denied("schema", schema)),
        }
    }

    /// Whether the session may use the objects in a schema.
    pub(crate) fn uses_schema(&self, object: u32) -> bool {
        self.is_superuser() || self.privileges(object, ObjectKind::Schema).contains(Privileges::USAGE)
    }

    /// Error 42501 unless the session may create temporary relations.
    pub(crate) fn check_temporary(&self) -> Result<()> {
        match self.privileges(DATABASE_OBJECT, ObjectKind::Database).contains(Privileges::TEMPORARY) {
            true => Ok(()),
            false => Err(Error::input(
                sqlstate::INSUFFICIENT_PRIVILEGE,
                format!(
                    "permission denied to create temporary tables in database \"{}\"",
                    self.environment.database
                ),
            )),
        }
    }
}

/// The name of the first superuser in sessions of other roles.
pub(crate) const FIRST_OWNER: &str = "hyades";

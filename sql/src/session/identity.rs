//! Which role a session is, and what was known of roles and rights when that was found out.

use std::sync::Arc;

use hyades_types::access::{Access, Caller, RoleId};

/// Who the session is.
pub(super) struct Identity {
    /// Who logged in.
    pub(super) session_role: RoleId,
    pub(super) caller: Caller,
    pub(super) is_superuser: bool,
    /// What `role` was set to.
    pub(super) setting: String,
    /// The version of roles and rights, and the session's own changes, that this is for.
    pub(super) seen: (u64, u64),
}

impl Identity {
    /// Of who logged in under this name: the role of the name or, where there is none, the first superuser.
    pub(super) fn of(user: &str, access: Arc<Access>, version: u64) -> Identity {
        let session_role = access.role_named(user).map_or(RoleId::OWNER, |(id, _)| id);
        let caller = Caller { access, role: session_role };
        Identity {
            session_role,
            is_superuser: caller.is_superuser(),
            caller,
            setting: "none".to_owned(),
            seen: (version, 0),
        }
    }

    pub(super) fn role(&self) -> RoleId {
        self.caller.role
    }

    /// How many sessions of the role there may be.
    pub(super) fn connection_limit(&self) -> Option<usize> {
        let role = self.caller.access.role(self.session_role)?;
        usize::try_from(role.connection_limit).ok().filter(|_| !self.is_superuser)
    }
}

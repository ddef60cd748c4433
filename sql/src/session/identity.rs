//! The role of a session, and the state of roles and rights from which it was determined.

use std::sync::Arc;

use hyades_types::access::{Access, Caller, RoleId};

/// The roles of a session.
pub(super) struct Identity {
    /// The role that logged in.
    pub(super) session_role: RoleId,
    pub(super) caller: Caller,
    pub(super) is_superuser: bool,
    /// The value of the setting `role`.
    pub(super) setting: String,
    /// The version of roles and rights, and the number of own changes, for which this was determined.
    pub(super) seen: (u64, u64),
}

impl Identity {
    /// The identity of a client that logged in as `user`: the role of that name or, if there is none, the
    /// first superuser.
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

    /// The limit on the number of sessions of the role.
    pub(super) fn connection_limit(&self) -> Option<usize> {
        let role = self.caller.access.role(self.session_role)?;
        usize::try_from(role.connection_limit).ok().filter(|_| !self.is_superuser)
    }
}

//! The role of a session, and the state of roles and rights from which it was determined.
//!
//! A session knows its roles by their numbers: the one that logged in, and those that SET SESSION
//! AUTHORIZATION and SET ROLE chose. What
//! happens to their names in other sessions changes nothing but the names that this session shows. A role
//! that has been dropped meanwhile may do nothing (`types/src/access.rs`), so the session may do nothing
//! until it takes another role, if it may.

use std::sync::Arc;

use hyades_types::access::{Access, Caller, RoleId};

/// The roles of a session.
pub(crate) struct Identity {
    /// The role that logged in.
    pub(crate) login_role: RoleId,
    /// `session_user`: that role, or the one that SET SESSION AUTHORIZATION chose.
    pub(crate) session_role: RoleId,
    /// The name that the client gave when it logged in. It names the role only if that is the first
    /// superuser, who has no other name.
    pub(crate) login_name: String,
    pub(crate) caller: Caller,
    pub(crate) is_superuser: bool,
    /// The role that SET ROLE chose.
    pub(crate) chosen: Option<RoleId>,
    /// The version of roles and rights, and the number of own changes, for which this was determined.
    pub(crate) seen: (u64, u64),
}

impl Identity {
    /// The identity of a client that logged in as this role under this name.
    pub(crate) fn of(session_role: RoleId, name: &str, access: Arc<Access>, version: u64) -> Identity {
        let caller = Caller { access, role: session_role };
        Identity {
            login_role: session_role,
            session_role,
            login_name: name.to_owned(),
            is_superuser: caller.is_superuser(),
            caller,
            chosen: None,
            seen: (version, 0),
        }
    }

    pub(crate) fn role(&self) -> RoleId {
        self.caller.role
    }

    /// The limit on the number of sessions of the role.
    pub(crate) fn connection_limit(&self, default: Option<usize>) -> Option<usize> {
        let role = self.caller.access.role(self.session_role)?;
        usize::try_from(role.connection_limit).ok().or(default).filter(|_| !self.is_superuser)
    }
}

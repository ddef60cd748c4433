//! The roles of a session for checks of rights, and these checks.
//!
//! The rights that a statement needs were collected when it was compiled. They are checked before the
//! statement runs. They are checked again whenever it is compiled again, roles or rights have changed, or
//! the session has taken another role. Superusers are not checked. Neither is a replay, which repeats what
//! was allowed.

use std::sync::Arc;

use hyades_engine::procedure::ir::Procedure;
use hyades_types::access::{Access, Caller, DATABASE_OBJECT, ObjectKind, Privileges, RoleId, denied};
use hyades_types::definition::{RoutineKind, TableId};
use hyades_types::error::{Error, Result, sqlstate};

use super::Session;
use super::activity::SessionsOfOthers;
use crate::plan::{Action, Plan};

impl Session {
    pub(super) fn is_superuser(&self) -> bool {
        self.identity.is_superuser
    }

    /// `current_user`, as a role.
    pub(super) fn role(&self) -> RoleId {
        self.identity.role()
    }

    /// `session_user`, as a role.
    pub(super) fn session_role(&self) -> RoleId {
        self.identity.session_role
    }

    /// Roles and rights as the session's transaction sees them.
    pub(super) fn access(&self) -> &Arc<Access> {
        &self.identity.caller.access
    }

    /// The name of a role, for messages.
    pub(super) fn role_name(&self, role: RoleId) -> String {
        self.access().role_name(role, self.first_owner()).unwrap_or_default().to_owned()
    }

    /// The name of the first superuser: the session's login name if it is that role, else [`FIRST_OWNER`].
    pub(super) fn first_owner(&self) -> &str {
        match self.identity.session_role {
            RoleId::OWNER => &self.environment.session_user,
            _ => FIRST_OWNER,
        }
    }

    /// Brings the session's identity up to date.
    #[inline]
    pub(super) fn settle_identity(&mut self) {
        let seen = (self.shared.engine.access_version(), self.own_changes());
        if self.identity.seen != seen {
            self.identity.seen = seen;
            self.refresh_identity();
        }
    }

    /// Whether `role` was set or reset since the identity was last determined.
    pub(super) fn is_another_role(&self) -> bool {
        !self.settings.is_role(&self.identity.setting)
    }

    /// Needed after SET ROLE, and after a change of roles or of what the transaction sees of them.
    #[cold]
    pub(super) fn refresh_identity(&mut self) {
        let access = self.worker.catalog_view().access();
        let setting = self.settings.get("role").unwrap_or_default();
        self.identity.caller.access = access;
        let session_role = self.identity.session_role;
        let role = match setting.as_str() {
            "" | "none" | "default" => session_role,
            name => self.find_role(name).unwrap_or(session_role),
        };
        let access = Arc::clone(&self.identity.caller.access);
        let is_new_role = role != self.identity.caller.role;
        self.identity.setting = setting;
        self.identity.caller = Caller { access, role };
        self.identity.is_superuser = self.identity.caller.is_superuser();
        let name = self.role_name(role);
        if name != self.environment.user {
            self.settings.set_user(&name);
            self.environment.user = name;
        }
        let caller = &self.identity.caller;
        self.environment.caller = (!self.identity.is_superuser).then(|| Arc::new(caller.clone()));
        let activities = Arc::clone(&self.shared.activities);
        self.environment.sessions = Some(match self.identity.is_superuser {
            true => activities,
            false => Arc::new(SessionsOfOthers { activities, caller: caller.clone() }),
        });
        self.settings.set_superuser(self.identity.is_superuser);
        if is_new_role || !self.identity.is_superuser {
            self.refresh_path();
        }
    }

    /// Checks that the session may take the role that SET ROLE or a startup parameter has put into `role`.
    pub(super) fn check_role_setting(&self) -> Result<()> {
        match self.settings.get("role") {
            Some(role) => self.check_becomes(Some(&role)),
            None => Ok(()),
        }
    }

    /// Error 22023 or 42501 unless the session may take a role.
    pub(super) fn check_becomes(&self, role: Option<&str>) -> Result<()> {
        let Some(name) = role.filter(|name| !matches!(*name, "none" | "default" | "")) else { return Ok(()) };
        let Some(role) = self.find_role(name) else {
            let message = format!("role \"{name}\" does not exist");
            return Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message));
        };
        if self.access().is_member(self.session_role(), role) {
            return Ok(());
        }
        let message = format!("permission denied to set role \"{name}\"");
        Err(Error::input(sqlstate::INSUFFICIENT_PRIVILEGE, message))
    }

    /// SET SESSION AUTHORIZATION, which is possible only to the session's own user.
    pub(super) fn check_authorization(&self, user: Option<&str>) -> Result<()> {
        let Some(name) = user.filter(|name| *name != "default" && *name != self.environment.session_user)
        else {
            return Ok(());
        };
        if self.find_role(name).is_none() {
            let message = format!("role \"{name}\" does not exist");
            return Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message));
        }
        let (state, message) = match self.is_superuser() {
            true => (
                sqlstate::FEATURE_NOT_SUPPORTED,
                "SET SESSION AUTHORIZATION to another user is not supported yet",
            ),
            false => (sqlstate::INSUFFICIENT_PRIVILEGE, "permission denied to set session authorization"),
        };
        Err(Error::input(state, message))
    }

    /// Error 42501 unless the session may run this plan.
    #[inline]
    pub(super) fn check_rights(&self, plan: &Plan) -> Result<()> {
        if self.identity.is_superuser { Ok(()) } else { self.check_each_right(plan) }
    }

    #[cold]
    fn check_each_right(&self, plan: &Plan) -> Result<()> {
        let caller = &self.identity.caller;
        if let Action::Call(call) = &plan.action {
            let definition = &call.routine.definition;
            let is_procedure = definition.kind == RoutineKind::Procedure;
            let held = caller.access.privileges(caller.role, call.routine.id.0, ObjectKind::Routine);
            if !held.contains(Privileges::EXECUTE) {
                let word = if is_procedure { "procedure" } else { "function" };
                return Err(denied(word, &definition.name.name));
            }
            return self.check_procedure(self.worker.procedure(&call.routine)?.as_ref());
        }
        plan.action.for_each_right(&mut |needed| caller.check(needed))
    }

    /// The same for a procedure that does not belong to a statement.
    pub(super) fn check_procedure(&self, procedure: &Procedure) -> Result<()> {
        if self.identity.is_superuser {
            return Ok(());
        }
        procedure.for_each_right(&mut |needed| self.identity.caller.check(needed))
    }

    /// The same for the query of CREATE TABLE AS. The table that it creates belongs to the session.
    pub(super) fn check_filling(&self, plan: &Plan, table: TableId) -> Result<()> {
        if self.identity.is_superuser {
            return Ok(());
        }
        plan.action.for_each_right(&mut |needed| match needed.object == table.0 {
            true => Ok(()),
            false => self.identity.caller.check(needed),
        })
    }

    /// The privileges of the session on an object.
    pub(super) fn privileges(&self, object: u32, kind: ObjectKind) -> Privileges {
        self.access().privileges(self.role(), object, kind)
    }

    /// Whether the session may use the objects in a schema.
    pub(super) fn uses_schema(&self, object: u32) -> bool {
        self.is_superuser() || self.privileges(object, ObjectKind::Schema).contains(Privileges::USAGE)
    }

    /// Error 42501 unless the session may request checkpoints.
    pub(super) fn check_checkpoints(&self) -> Result<()> {
        if self.is_superuser() {
            return Ok(());
        }
        let message = "must be superuser or have privileges of pg_checkpoint to do CHECKPOINT";
        Err(Error::input(sqlstate::INSUFFICIENT_PRIVILEGE, message))
    }

    /// Error 42501 unless the session may create temporary relations.
    pub(super) fn check_temporary(&self) -> Result<()> {
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

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
use crate::compile::action::{Action, Plan};
use crate::settings::{self, chosen_role};

impl Session {
    pub(super) fn is_superuser(&self) -> bool {
        self.identity.is_superuser
    }

    /// The current role, with the rights of all roles.
    pub(super) fn caller(&self) -> &Caller {
        &self.identity.caller
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

    /// The name of a role, for messages. One that is gone has none.
    pub(super) fn role_name(&self, role: RoleId) -> String {
        match self.access().role_name(role, self.first_owner()) {
            Some(name) => name.to_owned(),
            None => format!("unknown (OID={})", role.0),
        }
    }

    /// The name of the first superuser: the session's login name if it is that role and no other role has
    /// the name, else [`FIRST_OWNER`].
    pub(super) fn first_owner(&self) -> &str {
        let name = &self.identity.login_name;
        match self.identity.session_role {
            RoleId::OWNER if self.access().role_named(name).is_none() => name,
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
        !self.settings.is_role(self.identity.chosen)
    }

    /// Needed after SET ROLE, and after a change of roles or of what the transaction sees of them.
    #[cold]
    pub(super) fn refresh_identity(&mut self) {
        let access = self.worker.catalog_view().access();
        let session_role = self.identity.session_role;
        self.identity.chosen = self.settings.role();
        let role = self.identity.chosen.unwrap_or(session_role);
        self.identity.caller = Caller { access, role };
        self.identity.is_superuser = self.identity.caller.is_superuser();
        let session_name = self.role_name(session_role);
        if session_name != self.environment.session_user {
            self.environment.session_user = session_name;
        }
        let name = self.role_name(role);
        let has_new_name = name != self.environment.user;
        if has_new_name {
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
        if has_new_name || !self.identity.is_superuser {
            self.refresh_path();
        }
    }

    /// Error 42501 unless the session may change a setting.
    pub(super) fn check_may_set(&self, name: &str) -> Result<()> {
        match self.is_superuser() || !settings::is_for_superusers(name) {
            true => Ok(()),
            false => Err(settings::not_allowed(name)),
        }
    }

    /// The value of `role` for a role that the session may take; error 22023 or 42501 if it may not.
    pub(super) fn chosen_role(&self, name: &str) -> Result<String> {
        if name == "none" {
            return Ok(name.to_owned());
        }
        let role = self.role_set_to(name)?;
        if self.access().is_member(self.session_role(), role) {
            return Ok(chosen_role(role, name));
        }
        let message = format!("permission denied to set role \"{name}\"");
        Err(Error::input(sqlstate::INSUFFICIENT_PRIVILEGE, message))
    }

    /// The role that a setting names.
    fn role_set_to(&self, name: &str) -> Result<RoleId> {
        self.find_role(name).ok_or_else(|| {
            let message = format!("role \"{name}\" does not exist");
            Error::input(sqlstate::INVALID_PARAMETER_VALUE, message)
        })
    }

    /// SET SESSION AUTHORIZATION, which is possible only to the session's own user.
    pub(super) fn check_authorization(&self, name: &str) -> Result<()> {
        if self.role_set_to(name)? == self.session_role() {
            return Ok(());
        }
        let is_superuser = self.access().is_superuser(self.session_role());
        let (state, message) = match is_superuser {
            true => (
                sqlstate::FEATURE_NOT_SUPPORTED,
                "SET SESSION AUTHORIZATION to another user is not supported yet".to_owned(),
            ),
            false => (
                sqlstate::INSUFFICIENT_PRIVILEGE,
                format!("permission denied to set session authorization \"{name}\""),
            ),
        };
        Err(Error::input(state, message))
    }

    /// Error 42501 unless the session may run this plan.
    #[inline]
    pub(super) fn check_rights(&self, plan: &Plan) -> Result<()> {
        match self.identity.is_superuser && !plan.action.needs_owners_rights() {
            true => Ok(()),
            false => self.check_each_right(plan),
        }
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
        if self.identity.is_superuser && !procedure.needs_owners_rights {
            return Ok(());
        }
        procedure.for_each_right(&mut |needed| self.identity.caller.check(needed))
    }

    /// The same for the query of CREATE TABLE AS. The table that it creates belongs to the session.
    pub(super) fn check_filling(&self, plan: &Plan, table: TableId) -> Result<()> {
        if self.identity.is_superuser && !plan.action.needs_owners_rights() {
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

    /// Error 42501 unless the session may use the schema that a name is written with.
    pub(super) fn check_names_schema(&self, schema: Option<&str>) -> Result<()> {
        let Some(schema) = schema.filter(|_| !self.is_superuser()) else { return Ok(()) };
        let known = self.schemas().get(self.search_path().schema(schema));
        match known.is_none_or(|id| self.uses_schema(id.0)) {
            true => Ok(()),
            false => Err(denied("schema", schema)),
        }
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

//! The roles of a session for checks of rights, and these checks.
//!
//! The rights that a statement needs were collected when it was compiled. They are checked before the
//! statement runs. They are checked again whenever it is compiled again, roles or rights have changed, or
//! the session has taken another role. Superusers are not checked. Neither is a replay, which repeats what
//! was allowed.

use std::sync::Arc;

use hyades_engine::procedure::ir::Procedure;
use hyades_types::access::{Caller, NeededRight, ObjectKind, Privileges, RoleId, denied};
use hyades_types::definition::{RoutineKind, TableId};
use hyades_types::error::{Error, Result, sqlstate};

use super::Session;
use super::activity::SessionsOfOthers;
use crate::compile::action::{Action, Plan};
use crate::settings::{self, chosen_role};

impl Session {
    /// Brings the session's identity up to date.
    #[inline]
    pub(super) fn settle_identity(&mut self) {
        let seen = (self.view.catalog.access_version(), self.view.own_changes());
        if self.view.identity.seen != seen {
            self.view.identity.seen = seen;
            self.refresh_identity();
        }
    }

    /// Needed after SET ROLE, and after a change of roles or of what the transaction sees of them.
    #[cold]
    pub(super) fn refresh_identity(&mut self) {
        let access = self.view.worker.catalog_view().access();
        let session_role = self.view.settings.session_role().unwrap_or(self.view.identity.login_role);
        self.view.identity.session_role = session_role;
        self.view.identity.chosen = self.view.settings.role();
        let role = self.view.identity.chosen.unwrap_or(session_role);
        self.view.identity.caller = Caller { access, role };
        self.view.identity.is_superuser = self.view.identity.caller.is_superuser();
        let session_name = self.view.role_name(session_role);
        if session_name != self.view.environment.session_user {
            self.view.environment.session_user = session_name;
        }
        let name = self.view.role_name(role);
        let has_new_name = name != self.view.environment.user;
        if has_new_name {
            self.view.settings.set_user(&name);
            self.view.environment.user = name;
        }
        let caller = &self.view.identity.caller;
        self.view.environment.caller = (!self.view.identity.is_superuser).then(|| Arc::new(caller.clone()));
        let activities = Arc::clone(&self.shared.activities);
        self.view.environment.sessions = Some(match self.view.identity.is_superuser {
            true => activities,
            false => Arc::new(SessionsOfOthers { activities, caller: caller.clone() }),
        });
        self.view.settings.set_superuser(self.view.identity.is_superuser);
        if has_new_name || !self.view.identity.is_superuser {
            self.refresh_path();
        }
    }

    /// Error 42501 unless the session may change a setting.
    pub(super) fn check_may_set(&self, name: &str) -> Result<()> {
        match self.view.is_superuser() || !settings::is_for_superusers(name) {
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
        if self.view.access().is_member(self.view.session_role(), role) {
            return Ok(chosen_role(role, name));
        }
        let message = format!("permission denied to set role \"{name}\"");
        Err(Error::input(sqlstate::INSUFFICIENT_PRIVILEGE, message))
    }

    /// The role that a setting names.
    fn role_set_to(&self, name: &str) -> Result<RoleId> {
        self.view.find_role(name).ok_or_else(|| {
            let message = format!("role \"{name}\" does not exist");
            Error::input(sqlstate::INVALID_PARAMETER_VALUE, message)
        })
    }

    /// The value of `session_authorization` for a user as which the session may go on: its own, or any if a
    /// superuser has logged in.
    ///
    /// # Errors
    /// 22023 or 42501.
    pub(super) fn chosen_user(&self, name: &str) -> Result<String> {
        let role = self.role_set_to(name)?;
        let login_role = self.view.identity.login_role;
        if role == login_role || self.view.access().is_superuser(login_role) {
            return Ok(chosen_role(role, name));
        }
        let message = format!("permission denied to set session authorization \"{name}\"");
        Err(Error::input(sqlstate::INSUFFICIENT_PRIVILEGE, message))
    }

    /// Error 42501 unless the session may run this plan.
    #[inline]
    pub(super) fn check_rights(&self, plan: &Plan) -> Result<()> {
        match self.view.identity.is_superuser && !plan.action.needs_owners_rights() {
            true => Ok(()),
            false => self.check_each_right(plan),
        }
    }

    #[cold]
    fn check_each_right(&self, plan: &Plan) -> Result<()> {
        let caller = &self.view.identity.caller;
        if let Action::Call(call) = &plan.action {
            let definition = &call.routine.definition;
            let is_procedure = definition.kind == RoutineKind::Procedure;
            let held = caller.access.privileges(caller.role, call.routine.id.0, ObjectKind::Routine);
            if !held.contains(Privileges::EXECUTE) {
                let word = if is_procedure { "procedure" } else { "function" };
                return Err(denied(word, &definition.name.name));
            }
            return self.check_procedure(self.view.worker.procedure(&call.routine)?.as_ref());
        }
        plan.action.for_each_right(&mut |needed| caller.check(needed))
    }

    /// The same for a procedure that does not belong to a statement.
    pub(super) fn check_procedure(&self, procedure: &Procedure) -> Result<()> {
        if self.view.identity.is_superuser && !procedure.needs_owners_rights {
            return Ok(());
        }
        procedure.for_each_right(&mut |needed| self.view.identity.caller.check(needed))
    }

    /// The same for the query of CREATE TABLE AS. The table that it creates belongs to the session.
    pub(super) fn check_filling(&self, plan: &Plan, table: TableId) -> Result<()> {
        if self.view.identity.is_superuser && !plan.action.needs_owners_rights() {
            return Ok(());
        }
        self.check_filling_of(&self.view.identity.caller, plan, table)
    }

    /// The same if another role runs the query.
    pub(super) fn check_filling_of(&self, caller: &Caller, plan: &Plan, table: TableId) -> Result<()> {
        plan.action.for_each_right(&mut |needed| match needed.object == table.0 {
            true => Ok(()),
            // The owner of a materialized view is the one who computes it.
            false if needed.owner_of == Some(table.0) => {
                caller.check(&NeededRight { owner_of: None, ..needed.clone() })
            }
            false => caller.check(needed),
        })
    }

    /// Error 42501 unless the session may request checkpoints.
    pub(super) fn check_checkpoints(&self) -> Result<()> {
        if self.view.is_superuser() {
            return Ok(());
        }
        let message = "must be superuser or have privileges of pg_checkpoint to do CHECKPOINT";
        Err(Error::input(sqlstate::INSUFFICIENT_PRIVILEGE, message))
    }
}

//! CREATE, ALTER and DROP ROLE, and memberships in a session.
//!
//! Roles and rights are locked before they are read (`step_in_schema`), so that nothing read here can
//! change.
//!
//! Reference: PostgreSQL's user.c.

use std::sync::Arc;

use hyades_types::access::{Membership, Rights, Role, RoleId};
use hyades_types::definition::CatalogChange;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::value::{SqlType, Value};
use hyades_types::{identifier, text};

use super::rights::FIRST_OWNER;
use super::{Output, Session};
use crate::password::Verifier;
use crate::statement::{AccessCommand, RoleName, RoleOption};

fn forbidden<T>(message: impl Into<String>) -> Result<T> {
    Err(Error::input(sqlstate::INSUFFICIENT_PRIVILEGE, message))
}

/// Error 42704 for a role.
pub(super) fn no_role(name: &str) -> Error {
    Error::input(sqlstate::UNDEFINED_OBJECT, format!("role \"{name}\" does not exist"))
}

impl Session {
    /// The changes of a statement about roles and rights.
    pub(super) fn access_changes(
        &mut self,
        command: &AccessCommand<Vec<SqlType>>,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        self.refresh_identity();
        match command {
            AccessCommand::CreateRole { name, options } => self.created_role(name, options),
            AccessCommand::AlterRole { name, options } => self.altered_role(name, options),
            AccessCommand::RenameRole { name, to } => self.renamed_role(name, to, output),
            AccessCommand::DropRoles { names, if_exists } => self.dropped_roles(names, *if_exists, output),
            AccessCommand::GrantRoles { is_revoke, roles, members, option, .. } => {
                self.granted_roles(*is_revoke, roles, (members, *option), output)
            }
            AccessCommand::Grant(granted) => self.granted_rights(granted, output),
            AccessCommand::Own { owned, to } => self.owned_object(owned, to, output),
        }
    }

    /// The role with this name.
    pub(super) fn find_role(&self, name: &str) -> Option<RoleId> {
        let is_first = self.session_role() == RoleId::OWNER && self.environment.session_user == name;
        match self.access().role_named(name) {
            Some((id, _)) => Some(id),
            None if is_first || name == FIRST_OWNER => Some(RoleId::OWNER),
            None => (name == RoleId::DATABASE_OWNER_NAME).then_some(RoleId::DATABASE_OWNER),
        }
    }

    /// The role that a statement names. PUBLIC is not a role.
    pub(super) fn role_meant(&self, name: &RoleName) -> Result<RoleId> {
        match name {
            RoleName::Named(name) => self.find_role(name).ok_or_else(|| no_role(name)),
            RoleName::Current => Ok(self.role()),
            RoleName::Session => Ok(self.session_role()),
            RoleName::Public => Err(no_role("public")),
        }
    }

    /// Whether the session may change roles that are not superusers.
    fn creates_roles(&self) -> bool {
        self.is_superuser() || self.access().role(self.role()).is_some_and(|role| role.creates_roles)
    }

    fn created_role(&self, name: &str, options: &[RoleOption]) -> Result<Vec<CatalogChange>> {
        self.check_new_attributes(options)?;
        if !self.creates_roles() {
            return forbidden("permission denied to create role");
        }
        self.check_new_name(name)?;
        let id = self.worker.new_role_id();
        let mut role = Role::new(name);
        self.apply(options, &mut role)?;
        let (mut memberships, mut members) = (Vec::new(), Vec::new());
        for option in options {
            match option {
                RoleOption::In(roles) => {
                    for role in roles {
                        let group = self.role_meant(role)?;
                        self.check_grants(group)?;
                        memberships.push(group);
                    }
                }
                RoleOption::Members(roles) | RoleOption::Admins(roles) => {
                    let is_admin = matches!(option, RoleOption::Admins(_));
                    for role in roles {
                        members.push((self.role_meant(role)?, is_admin));
                    }
                }
                _ => {}
            }
        }
        let grantor = self.role();
        let joins = memberships.into_iter().map(|role| Membership { role, grantor, is_admin: false });
        role.member_of = joins.collect();
        let mut changes = vec![CatalogChange::PutRole { id, role }];
        for (member, is_admin) in members {
            let Some(role) = self.access().role(member) else { return Err(not_a_member(self, member)) };
            let mut role = Role::clone(role);
            role.member_of.push(Membership { role: id, grantor, is_admin });
            changes.push(CatalogChange::PutRole { id: member, role });
        }
        Ok(changes)
    }

    fn check_new_name(&self, name: &str) -> Result<()> {
        if name.starts_with("pg_") {
            let message = format!("role name \"{name}\" is reserved");
            return Err(Error::input(sqlstate::RESERVED_NAME, message)
                .with_detail("Role names starting with \"pg_\" are reserved."));
        }
        match self.find_role(name) {
            Some(_) => {
                Err(Error::input(sqlstate::DUPLICATE_OBJECT, format!("role \"{name}\" already exists")))
            }
            None => Ok(()),
        }
    }

    fn check_new_attributes(&self, options: &[RoleOption]) -> Result<()> {
        if self.is_superuser() {
            return Ok(());
        }
        for option in options {
            match option {
                RoleOption::Superuser(true) => return forbidden("must be superuser to create superusers"),
                RoleOption::Replication(true) => {
                    return forbidden("must be superuser to create replication users");
                }
                RoleOption::BypassRowSecurity(true) => {
                    return forbidden("must be superuser to create bypassrls users");
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn apply(&self, options: &[RoleOption], role: &mut Role) -> Result<()> {
        for option in options {
            match option {
                RoleOption::Superuser(is_on) => role.is_superuser = *is_on,
                RoleOption::CreateDatabases(is_on) => role.creates_databases = *is_on,
                RoleOption::CreateRoles(is_on) => role.creates_roles = *is_on,
                RoleOption::Inherit(is_on) => role.inherits = *is_on,
                RoleOption::Login(is_on) => role.can_log_in = *is_on,
                RoleOption::Replication(is_on) => role.replicates = *is_on,
                RoleOption::BypassRowSecurity(is_on) => role.bypasses_row_security = *is_on,
                RoleOption::ConnectionLimit(limit) if *limit < -1 => {
                    let message = format!("invalid connection limit: {limit}");
                    return Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message));
                }
                RoleOption::ConnectionLimit(limit) => role.connection_limit = *limit,
                RoleOption::Password(password) => {
                    role.verifier = password.as_deref().map(verifier).transpose()?.flatten()
                }
                RoleOption::ValidUntil(until) => {
                    let until = text::parse(until, SqlType::TimestampTz(None), self.reading())?;
                    let Value::TimestampTz(until) = until else { continue };
                    role.valid_until = Some(until);
                }
                RoleOption::In(_) | RoleOption::Members(_) | RoleOption::Admins(_) | RoleOption::Number => {}
            }
        }
        Ok(())
    }

    /// A role that is to be changed.
    fn existing_role(&self, name: &RoleName) -> Result<(RoleId, Role)> {
        let id = self.role_meant(name)?;
        match self.access().role(id) {
            Some(role) => Ok((id, Role::clone(role))),
            None => {
                let message = format!(
                    "role \"{}\" is the one that there is from the beginning and cannot be changed",
                    self.role_name(id)
                );
                Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message))
            }
        }
    }

    fn altered_role(&self, name: &RoleName, options: &[RoleOption]) -> Result<Vec<CatalogChange>> {
        let (id, mut role) = self.existing_role(name)?;
        if !self.is_superuser() {
            let wants_superuser = options.iter().any(|option| matches!(option, RoleOption::Superuser(_)));
            if role.is_superuser || wants_superuser {
                return forbidden("must be superuser to alter superuser roles or change superuser attribute");
            }
            if role.replicates || options.iter().any(|option| matches!(option, RoleOption::Replication(_))) {
                return forbidden(
                    "must be superuser to alter replication roles or change replication attribute",
                );
            }
            if options.iter().any(|option| matches!(option, RoleOption::BypassRowSecurity(_))) {
                return forbidden("must be superuser to change bypassrls attribute");
            }
            // Every role may change its own password.
            let is_own_password =
                id == self.role() && options.iter().all(|option| matches!(option, RoleOption::Password(_)));
            if !self.creates_roles() && !is_own_password {
                return forbidden("permission denied");
            }
        }
        self.apply(options, &mut role)?;
        Ok(vec![CatalogChange::PutRole { id, role }])
    }

    fn renamed_role(
        &self,
        name: &RoleName,
        to: &str,
        _output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        let (id, mut role) = self.existing_role(name)?;
        if id == self.session_role() {
            let message = "session user cannot be renamed";
            return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message));
        }
        if id == self.role() {
            let message = "current user cannot be renamed";
            return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message));
        }
        self.check_new_name(to)?;
        if role.is_superuser && !self.is_superuser() {
            return forbidden("must be superuser to rename superusers");
        }
        if !self.creates_roles() {
            return forbidden("permission denied to rename role");
        }
        to.clone_into(&mut role.name);
        Ok(vec![CatalogChange::PutRole { id, role }])
    }

    fn dropped_roles(
        &self,
        names: &[RoleName],
        if_exists: bool,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        if !self.creates_roles() {
            return forbidden("permission denied to drop role");
        }
        let mut changes: Vec<CatalogChange> = Vec::new();
        for name in names {
            let RoleName::Named(name) = name else {
                let message = "cannot use special role specifier in DROP ROLE";
                return Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message));
            };
            let Some(id) = self.find_role(name) else {
                if !if_exists {
                    return Err(no_role(name));
                }
                self.note(output, "00000", format!("role \"{name}\" does not exist, skipping"));
                continue;
            };
            let in_use = |message: &str| Err(Error::input(sqlstate::OBJECT_IN_USE, message));
            if id == self.role() {
                return in_use("current user cannot be dropped");
            }
            if id == self.session_role() {
                return in_use("session user cannot be dropped");
            }
            let Some(role) = self.access().role(id) else {
                let message =
                    format!("cannot drop role {name} because it is required by the database system");
                return Err(Error::input(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message));
            };
            if role.is_superuser && !self.is_superuser() {
                return forbidden("must be superuser to drop superusers");
            }
            self.check_nothing_depends(id, name)?;
            let drop = CatalogChange::DropRole { id };
            if !changes.contains(&drop) {
                changes.push(drop);
            }
        }
        Ok(changes)
    }

    /// Error 2BP01 if the role owns something or has been granted something.
    fn check_nothing_depends(&self, id: RoleId, name: &str) -> Result<()> {
        let mut details = Vec::new();
        for (object, rights) in self.access().objects() {
            let Some(described) = self.dependent(object) else { continue };
            if rights.owner == id {
                details.push(format!("owner of {described}"));
            } else if is_named(rights, id) {
                details.push(format!("privileges for {described}"));
            }
        }
        if details.is_empty() {
            return Ok(());
        }
        let message = format!("role \"{name}\" cannot be dropped because some objects depend on it");
        Err(Error::input(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message).with_detail(details.join("\n")))
    }

    /// The description of an object for messages, or `None` if it no longer exists.
    fn dependent(&self, object: u32) -> Option<String> {
        if object == hyades_types::access::DATABASE_OBJECT {
            return Some(format!("database {}", identifier::quoted_identifier(&self.environment.database)));
        }
        if let Some(table) = self.visible_tables().into_iter().find(|table| table.id().0 == object) {
            let definition = table.definition();
            let word = if definition.view.is_some() { "view" } else { "table" };
            return Some(format!("{word} {}", self.shown(&definition.name)));
        }
        if let Some(sequence) = self.worker.sequences().into_iter().find(|one| one.id.0 == object) {
            return Some(format!("sequence {}", self.shown(&sequence.definition.name)));
        }
        if let Some(routine) = self.worker.routines().into_iter().find(|one| one.id.0 == object) {
            let word = routine.definition.kind.word();
            return Some(format!("{word} {}", self.shown_signature(&routine.definition)));
        }
        if let Some(stored) = self.worker.types().into_iter().find(|stored| stored.id() == object) {
            return Some(format!("type {}", identifier::quoted_identifier(&stored.name().name)));
        }
        let schemas = self.schemas();
        let schema = schemas.iter().find(|(_, id)| id.0 == object);
        schema.map(|(name, _)| format!("schema {}", identifier::quoted_identifier(name)))
    }

    /// Error 42501 unless the session may make others members of a role.
    fn check_grants(&self, role: RoleId) -> Result<()> {
        if self.is_superuser() {
            return Ok(());
        }
        if self.access().is_superuser(role) {
            return forbidden("must be superuser to alter superusers");
        }
        if self.creates_roles() || self.access().is_admin(self.role(), role) {
            return Ok(());
        }
        forbidden(format!("must have admin option on role \"{}\"", self.role_name(role)))
    }

    fn granted_roles(
        &self,
        is_revoke: bool,
        roles: &[String],
        (members, option): (&[RoleName], bool),
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        let mut access = hyades_types::access::Access::clone(self.access());
        let mut changed: Vec<RoleId> = Vec::new();
        for group in roles {
            let id = self.find_role(group).ok_or_else(|| no_role(group))?;
            self.check_grants(id)?;
            if id == RoleId::DATABASE_OWNER {
                let message = format!("role \"{group}\" cannot have explicit members");
                return Err(Error::input(sqlstate::INVALID_GRANT_OPERATION, message));
            }
            for member in members {
                let member = self.role_meant(member)?;
                let Some(role) = access.role(member) else { return Err(not_a_member(self, member)) };
                let mut role = Role::clone(role);
                let known = role.member_of.iter().position(|membership| membership.role == id);
                match (is_revoke, known) {
                    (true, None) => {
                        let message = format!("role \"{}\" is not a member of role \"{group}\"", role.name);
                        self.warn(output, "01000", &message);
                        continue;
                    }
                    (true, Some(at)) if option => role.member_of[at].is_admin = false,
                    (true, Some(at)) => drop(role.member_of.remove(at)),
                    (false, Some(at)) if role.member_of[at].is_admin || !option => {
                        let message =
                            format!("role \"{}\" is already a member of role \"{group}\"", role.name);
                        self.note(output, "00000", message);
                        continue;
                    }
                    (false, Some(at)) => role.member_of[at].is_admin = true,
                    (false, None) => {
                        if access.is_listed_member(id, member) {
                            let message = format!("role \"{group}\" is a member of role \"{}\"", role.name);
                            return Err(Error::input(sqlstate::INVALID_GRANT_OPERATION, message));
                        }
                        role.member_of.push(Membership { role: id, grantor: self.role(), is_admin: option });
                    }
                }
                access.put_role(member, Arc::new(role));
                changed.push(member);
            }
        }
        changed.sort_unstable();
        changed.dedup();
        let change =
            |id: RoleId| access.role(id).map(|role| CatalogChange::PutRole { id, role: Role::clone(role) });
        Ok(changed.into_iter().filter_map(change).collect())
    }
}

/// The first superuser cannot be a member of any role.
fn not_a_member(session: &Session, role: RoleId) -> Error {
    let message =
        format!("role \"{}\" is a superuser from the beginning and joins no role", session.role_name(role));
    Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message)
}

fn is_named(rights: &Rights, role: RoleId) -> bool {
    let items = rights.items.iter().flatten();
    let mut roles = items.flat_map(|item| [item.grantee, item.grantor]);
    roles.any(|named| named == role)
}

/// What is stored of a password. An empty one means none, and one that is a verifier already is kept as it
/// is.
fn verifier(password: &str) -> Result<Option<String>> {
    if password.is_empty() {
        return Ok(None);
    }
    let is_md5 = password.len() == 35
        && password.starts_with("md5")
        && password[3..].bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_md5 {
        let message = "passwords as MD5 hashes are not supported, because nobody can log in with them safely";
        return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message));
    }
    let verifier = match password.parse::<Verifier>() {
        Ok(verifier) => verifier,
        Err(_) => Verifier::of_password(password),
    };
    Ok(Some(verifier.to_string()))
}

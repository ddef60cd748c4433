//! CREATE, ALTER and DROP ROLE, and memberships.
//!
//! Roles and rights are locked before they are read (`step_in_schema`), so that nothing read here can
//! change.
//!
//! Reference: PostgreSQL's user.c.

use hyades_engine::storage::catalog::NewId;
use std::sync::Arc;

use hyades_types::access::{Access, DATABASE_OBJECT, Membership, Rights, Role, RoleId};
use hyades_types::definition::CatalogChange;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::{Missing, refusal};
use hyades_types::value::{SqlType, Value};
use hyades_types::{identifier, text};

use crate::answer::Output;
use crate::password::Verifier;
use crate::statement::{AccessCommand, RoleName, RoleOption};
use crate::viewpoint::{Viewpoint, is_first_superuser};

pub(super) fn forbidden<T>(message: impl Into<String>) -> Result<T> {
    Err(Error::input(sqlstate::INSUFFICIENT_PRIVILEGE, message))
}

/// Error 42704 for a role.
pub(super) fn no_role(name: &str) -> Error {
    Error::input(sqlstate::UNDEFINED_OBJECT, format!("role \"{name}\" does not exist"))
}

impl Viewpoint {
    /// The changes of a statement about roles and rights.
    pub(super) fn access_changes(
        &mut self,
        command: &AccessCommand<Vec<SqlType>>,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        match command {
            AccessCommand::CreateRole { name, options } => self.created_role(name, options),
            AccessCommand::AlterRole { name, options } => self.altered_role(name, options),
            AccessCommand::Settings { of, change } => self.stored_settings(of, change),
            AccessCommand::RenameRole { name, to } => self.renamed_role(name, to),
            AccessCommand::DropRoles { names, if_exists } => self.dropped_roles(names, *if_exists, output),
            AccessCommand::GrantRoles { is_revoke, roles, members, option, grantor } => {
                let (groups, grantor) = (roles.as_slice(), grantor.as_ref());
                self.granted_roles(*is_revoke, (groups, grantor), (members, *option), output)
            }
            AccessCommand::Grant(granted) => self.granted_rights(granted, output),
            AccessCommand::Own { owned, to } => self.owned_object(owned, to, output),
        }
    }

    /// The role with this name.
    pub(crate) fn find_role(&self, name: &str) -> Option<RoleId> {
        let is_first = self.session_role() == RoleId::OWNER && self.identity.login_name == name;
        match self.access().role_named(name) {
            Some((id, _)) => Some(id),
            None if is_first || is_first_superuser(&self.superuser_names, name) => Some(RoleId::OWNER),
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
    pub(super) fn creates_roles(&self) -> bool {
        self.is_superuser() || self.access().role(self.role()).is_some_and(|role| role.creates_roles)
    }

    fn created_role(&self, name: &str, options: &[RoleOption]) -> Result<Vec<CatalogChange>> {
        self.check_new_attributes(options)?;
        if !self.creates_roles() {
            return forbidden("permission denied to create role");
        }
        self.check_new_name(name)?;
        let id = RoleId(self.worker.new_id(NewId::Object));
        let mut role = Role::new(name);
        self.apply(options, &mut role)?;
        let mut access = Access::clone(self.access());
        access.put_role(id, Arc::new(role));
        let mut changed = vec![id];
        let (grantor, mut members) = (self.role(), Vec::new());
        for option in options {
            match option {
                RoleOption::In(roles) => {
                    for role in roles {
                        let role = self.role_meant(role)?;
                        self.check_grants(role)?;
                        self.join(&mut access, id, Membership { role, grantor, is_admin: false })?;
                    }
                }
                RoleOption::Members(roles) | RoleOption::Admins(roles) => {
                    let is_admin = matches!(option, RoleOption::Admins(_));
                    members.extend(roles.iter().map(|role| (is_admin, role)));
                }
                _ => {}
            }
        }
        // In whichever order they are written, administrators come last.
        members.sort_by_key(|(is_admin, _)| *is_admin);
        for (is_admin, member) in members {
            let member = self.role_meant(member)?;
            self.join(&mut access, member, Membership { role: id, grantor, is_admin })?;
            changed.push(member);
        }
        Ok(definitions(&access, changed))
    }

    /// Makes a role a member of another one, or an administrator. Returns whether that is new.
    fn join(&self, access: &mut Access, member: RoleId, new: Membership) -> Result<bool> {
        let Some(role) = access.role(member) else { return Err(not_a_member(self, member)) };
        if access.is_listed_member(new.role, member) {
            let name = |id| access.role_name(id, self.first_owner()).unwrap_or_default();
            let message = format!("role \"{}\" is a member of role \"{}\"", name(new.role), name(member));
            return Err(Error::input(sqlstate::INVALID_GRANT_OPERATION, message));
        }
        let mut role = Role::clone(role);
        match role.member_of.iter_mut().find(|membership| membership.role == new.role) {
            Some(known) if known.is_admin || !new.is_admin => return Ok(false),
            Some(known) => *known = new,
            None => role.member_of.push(new),
        }
        access.put_role(member, Arc::new(role));
        Ok(true)
    }

    fn check_new_name(&self, name: &str) -> Result<()> {
        check_not_reserved(name)?;
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
    fn existing_role(&self, id: RoleId) -> Result<Role> {
        match self.access().role(id) {
            Some(role) => Ok(Role::clone(role)),
            None if !self.access().exists(id) => Err(no_role(&self.role_name(id))),
            None => {
                let message = format!(
                    "role \"{}\" is the one that there is from the beginning and cannot be changed",
                    self.role_name(id)
                );
                Err(refusal(Missing::FirstRole, message))
            }
        }
    }

    fn altered_role(&self, name: &RoleName, options: &[RoleOption]) -> Result<Vec<CatalogChange>> {
        let id = self.role_meant(name)?;
        if !self.is_superuser() {
            let wants_superuser = options.iter().any(|option| matches!(option, RoleOption::Superuser(_)));
            if self.access().is_superuser(id) || wants_superuser {
                return forbidden("must be superuser to alter superuser roles or change superuser attribute");
            }
        }
        let mut role = self.existing_role(id)?;
        if !self.is_superuser() {
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

    fn renamed_role(&self, name: &RoleName, to: &str) -> Result<Vec<CatalogChange>> {
        let id = self.role_meant(name)?;
        if id == self.session_role() {
            let message = "session user cannot be renamed";
            return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message));
        }
        if id == self.role() {
            let message = "current user cannot be renamed";
            return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message));
        }
        check_not_reserved(&self.role_name(id))?;
        self.check_new_name(to)?;
        if self.access().is_superuser(id) && !self.is_superuser() {
            return forbidden("must be superuser to rename superusers");
        }
        if !self.creates_roles() {
            return forbidden("permission denied to rename role");
        }
        let mut role = self.existing_role(id)?;
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
            if self.access().is_superuser(id) && !self.is_superuser() {
                return forbidden("must be superuser to drop superusers");
            }
            if self.access().role(id).is_none() {
                let message =
                    format!("cannot drop role {name} because it is required by the database system");
                return Err(Error::input(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message));
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
        let (mut details, mut elsewhere) = (Vec::new(), Vec::new());
        let mut note = |rights: &Rights, described: &str| {
            if rights.owner == id {
                details.push(format!("owner of {described}"));
            } else if is_named(rights, id) {
                details.push(format!("privileges for {described}"));
            }
        };
        for (object, rights) in self.access().objects() {
            let Some(described) = self.dependent(object) else { continue };
            note(rights, &described);
        }
        for database in self.worker.databases().iter().filter(|one| one.id != self.database) {
            let name = identifier::quoted_identifier(&database.definition.name);
            let mut count = 0;
            for (object, rights) in database.access.objects() {
                if object == DATABASE_OBJECT {
                    note(rights, &format!("database {name}"));
                } else if rights.owner == id || is_named(rights, id) {
                    count += 1;
                }
            }
            match count {
                0 => {}
                1 => elsewhere.push(format!("1 object in database {name}")),
                several => elsewhere.push(format!("{several} objects in database {name}")),
            }
        }
        details.append(&mut elsewhere);
        if details.is_empty() {
            return Ok(());
        }
        let message = format!("role \"{name}\" cannot be dropped because some objects depend on it");
        Err(Error::input(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message).with_detail(details.join("\n")))
    }

    /// The description of an object for messages, or `None` if it no longer exists.
    fn dependent(&self, object: u32) -> Option<String> {
        if object == DATABASE_OBJECT {
            return Some(format!("database {}", identifier::quoted_identifier(&self.environment.database)));
        }
        if let Some(table) = self.visible_tables().into_iter().find(|table| table.id().0 == object) {
            let definition = table.definition();
            let word = definition.word();
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

    /// Error 42501 unless the session may make others members of a role; 0LP01 if no session may.
    fn check_grants(&self, role: RoleId) -> Result<()> {
        if !self.is_superuser() {
            if self.access().is_superuser(role) {
                return forbidden("must be superuser to alter superusers");
            }
            if !self.creates_roles() && !self.access().is_admin(self.role(), role) {
                return forbidden(format!("must have admin option on role \"{}\"", self.role_name(role)));
            }
        }
        if role == RoleId::DATABASE_OWNER {
            let message = format!("role \"{}\" cannot have explicit members", self.role_name(role));
            return Err(Error::input(sqlstate::INVALID_GRANT_OPERATION, message));
        }
        Ok(())
    }

    fn granted_roles(
        &self,
        is_revoke: bool,
        (groups, grantor): (&[String], Option<&RoleName>),
        (members, option): (&[RoleName], bool),
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        let grantor = grantor.map_or(Ok(self.role()), |grantor| self.role_meant(grantor))?;
        let members: Vec<RoleId> =
            members.iter().map(|member| self.role_meant(member)).collect::<Result<_>>()?;
        let mut access = Access::clone(self.access());
        let mut changed: Vec<RoleId> = Vec::new();
        for group in groups {
            let id = self.find_role(group).ok_or_else(|| no_role(group))?;
            self.check_grants(id)?;
            if !is_revoke && grantor != self.role() && !self.is_superuser() {
                return forbidden("must be superuser to set grantor");
            }
            for &member in &members {
                let Some(role) = access.role(member) else { return Err(not_a_member(self, member)) };
                let mut role = Role::clone(role);
                if !is_revoke {
                    let new = Membership { role: id, grantor, is_admin: option };
                    if self.join(&mut access, member, new)? {
                        changed.push(member);
                    } else {
                        let message =
                            format!("role \"{}\" is already a member of role \"{group}\"", role.name);
                        self.note(output, "00000", message);
                    }
                    continue;
                }
                let Some(at) = role.member_of.iter().position(|membership| membership.role == id) else {
                    let message = format!("role \"{}\" is not a member of role \"{group}\"", role.name);
                    self.warn(output, "01000", &message);
                    continue;
                };
                match option {
                    true => role.member_of[at].is_admin = false,
                    false => drop(role.member_of.remove(at)),
                }
                access.put_role(member, Arc::new(role));
                changed.push(member);
            }
        }
        Ok(definitions(&access, changed))
    }
}

/// The changes that give these roles their definitions.
fn definitions(access: &Access, mut changed: Vec<RoleId>) -> Vec<CatalogChange> {
    changed.sort_unstable();
    changed.dedup();
    let change =
        |id: RoleId| access.role(id).map(|role| CatalogChange::PutRole { id, role: Role::clone(role) });
    changed.into_iter().filter_map(change).collect()
}

fn check_not_reserved(name: &str) -> Result<()> {
    if !name.starts_with("pg_") {
        return Ok(());
    }
    let message = format!("role name \"{name}\" is reserved");
    let detail = "Role names starting with \"pg_\" are reserved.";
    Err(Error::input(sqlstate::RESERVED_NAME, message).with_detail(detail))
}

/// Only roles that were created can be members of others.
fn not_a_member(session: &Viewpoint, role: RoleId) -> Error {
    let name = session.role_name(role);
    if role != RoleId::OWNER {
        let message = format!("role \"{name}\" cannot be a member of any role");
        return Error::input(sqlstate::INVALID_GRANT_OPERATION, message);
    }
    let message = format!("role \"{name}\" is a superuser from the beginning and joins no role");
    refusal(Missing::FirstRole, message)
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
        return Err(refusal(Missing::Md5, message));
    }
    let verifier = match password.parse::<Verifier>() {
        Ok(verifier) => verifier,
        Err(_) => Verifier::of_password(password),
    };
    Ok(Some(verifier.to_string()))
}

//! Roles, memberships, owners and access lists.

use hyades_engine::db::SeenDatabase;
use std::sync::Arc;

use hyades_types::access::{
    Access, AccessItem, DATABASE_OBJECT, ObjectKind, Privileges, Role, RoleId, SettingsOf, StoredSettings,
    no_database,
};
use hyades_types::definition::SequenceId;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::system_catalog::Privileged;
use hyades_types::system_type::SystemType;
use hyades_types::value::{ArrayElement, Value};

use super::builtins;
use super::class::ClassKind;
use super::object_id::{self, OWNER};
use super::row::{NamedRow, int4, oid, oids, or_null, text, truth};
use super::snapshot::System;
use super::visibility;

/// The roles that the catalog shows.
fn shown_roles(system: &System) -> Vec<(u32, Role)> {
    let mut first = Role::new(&system.facts.user);
    first.is_superuser = true;
    first.creates_roles = true;
    first.creates_databases = true;
    first.can_log_in = true;
    first.replicates = true;
    first.bypasses_row_security = true;
    let owner = Role::new(RoleId::DATABASE_OWNER_NAME);
    let mut all = vec![(RoleId::DATABASE_OWNER.0, owner), (OWNER, first)];
    all.extend(system.facts.access.roles().map(|(id, role)| (id.0, Role::clone(role))));
    all
}

/// `pg_authid`
pub(super) fn authorizations(system: &System) -> Vec<NamedRow> {
    let row = |(id, role): (u32, Role)| {
        let mut row = vec![("oid", oid(id))];
        row.extend(attributes(&role));
        row.push(("rolbypassrls", truth(role.bypasses_row_security)));
        row.push(("rolconnlimit", int4(role.connection_limit)));
        row.push(("rolpassword", or_null(role.verifier, text)));
        row.push(("rolvaliduntil", or_null(role.valid_until, Value::TimestampTz)));
        row
    };
    shown_roles(system).into_iter().map(row).collect()
}

/// `pg_roles`
pub(super) fn roles(system: &System) -> Vec<NamedRow> {
    let row = |(id, role): (u32, Role)| {
        let mut row = attributes(&role);
        row.push(("rolconnlimit", int4(role.connection_limit)));
        row.push(("rolpassword", text("********")));
        row.push(("rolvaliduntil", or_null(role.valid_until, Value::TimestampTz)));
        row.push(("rolbypassrls", truth(role.bypasses_row_security)));
        row.push(("rolconfig", settings_of_role(system, id)));
        row.push(("oid", oid(id)));
        row
    };
    shown_roles(system).into_iter().map(row).collect()
}

fn attributes(role: &Role) -> NamedRow {
    vec![
        ("rolname", text(&role.name)),
        ("rolsuper", truth(role.is_superuser)),
        ("rolinherit", truth(role.inherits)),
        ("rolcreaterole", truth(role.creates_roles)),
        ("rolcreatedb", truth(role.creates_databases)),
        ("rolcanlogin", truth(role.can_log_in)),
        ("rolreplication", truth(role.replicates)),
    ]
}

/// `pg_user`
pub(super) fn users(system: &System) -> Vec<NamedRow> {
    users_with(system, |_| text("********"))
}

/// `pg_shadow`
pub(super) fn shadows(system: &System) -> Vec<NamedRow> {
    users_with(system, |role| or_null(role.verifier.as_ref(), text))
}

fn users_with(system: &System, password: impl Fn(&Role) -> Value) -> Vec<NamedRow> {
    let row = |(id, role): (u32, Role)| {
        vec![
            ("usename", text(&role.name)),
            ("usesysid", oid(id)),
            ("usecreatedb", truth(role.creates_databases)),
            ("usesuper", truth(role.is_superuser)),
            ("userepl", truth(role.replicates)),
            ("usebypassrls", truth(role.bypasses_row_security)),
            ("passwd", password(&role)),
            ("valuntil", or_null(role.valid_until, Value::TimestampTz)),
            ("useconfig", settings_of_role(system, id)),
        ]
    };
    shown_roles(system).into_iter().filter(|(_, role)| role.can_log_in).map(row).collect()
}

/// `pg_group`
pub(super) fn groups(system: &System) -> Vec<NamedRow> {
    let members = |id: u32| {
        let is_member = |role: &Role| role.member_of.iter().any(|membership| membership.role.0 == id);
        let members = system.facts.access.roles().filter(|(_, role)| is_member(role));
        oids(members.map(|(id, _)| id.0).collect::<Vec<u32>>())
    };
    let row = |(id, role): (u32, Role)| {
        vec![("groname", text(&role.name)), ("grosysid", oid(id)), ("grolist", members(id))]
    };
    shown_roles(system).into_iter().filter(|(_, role)| !role.can_log_in).map(row).collect()
}

/// `pg_auth_members`
pub(super) fn memberships(system: &System) -> Vec<NamedRow> {
    let mut rows = Vec::new();
    for (member, role) in system.facts.access.roles() {
        for membership in &role.member_of {
            rows.push(vec![
                ("roleid", oid(membership.role.0)),
                ("member", oid(member.0)),
                ("grantor", oid(membership.grantor.0)),
                ("admin_option", truth(membership.is_admin)),
            ]);
        }
    }
    rows
}

/// `pg_db_role_setting`
pub(super) fn stored_settings(system: &System) -> Vec<NamedRow> {
    let row = |(of, settings): (SettingsOf, &Arc<StoredSettings>)| {
        vec![
            ("setdatabase", oid(of.database.map_or(0, |database| database.0))),
            ("setrole", oid(of.role.map_or(0, |role| role.0))),
            ("setconfig", written_settings(settings)),
        ]
    };
    system.facts.access.settings().map(row).collect()
}

/// The settings of a role in all databases, for a view; NULL if there are none.
fn settings_of_role(system: &System, role: u32) -> Value {
    let of = SettingsOf { database: None, role: Some(RoleId(role)) };
    match system.facts.access.settings_of(of) {
        [] => Value::Null,
        settings => written_settings(settings),
    }
}

fn written_settings(settings: &[(String, String)]) -> Value {
    let written = settings.iter().map(|(name, value)| text(format!("{name}={value}")));
    Value::array(ArrayElement::Text, written.collect())
}

/// `information_schema.enabled_roles`: the roles whose rights the current role has.
pub(super) fn enabled(system: &System) -> Vec<NamedRow> {
    let (access, role) = (&system.facts.access, system.facts.role);
    let shown = shown_roles(system).into_iter();
    let enabled = shown.filter(|(id, _)| access.has_privileges_of(role, RoleId(*id)));
    enabled.map(|(_, role)| vec![("role_name", text(&role.name))]).collect()
}

impl System {
    /// The name of the role with this number.
    pub(super) fn role_name(&self, id: u32) -> Option<&str> {
        self.facts.access.role_name(RoleId(id), &self.facts.user)
    }

    /// The number of a role.
    pub(super) fn role_named(&self, name: &str) -> Option<u32> {
        match self.facts.access.role_named(name) {
            Some((id, _)) => Some(id.0),
            None if name == self.facts.user => Some(OWNER),
            None => (name == RoleId::DATABASE_OWNER_NAME).then_some(RoleId::DATABASE_OWNER.0),
        }
    }

    /// The owner of an object of the engine. A temporary object belongs to the current role.
    pub(super) fn owner_of(&self, object: u32) -> u32 {
        if object >= SequenceId::FIRST_TEMPORARY {
            self.facts.role.0
        } else {
            self.facts.access.owner(object).0
        }
    }

    /// The database with this number.
    pub(super) fn database(&self, number: u32) -> Option<&SeenDatabase> {
        self.facts.databases.iter().find(|database| database.id.0 == number)
    }

    /// The access list of an object, if it is not the default.
    pub(super) fn access_list(&self, object: u32, _kind: ObjectKind) -> Value {
        self.shown_list(&self.facts.access, object)
    }

    /// The same in the catalog with these rights.
    pub(super) fn shown_list(&self, access: &Access, object: u32) -> Value {
        let items = access.rights(object).items;
        or_null(items, |items| {
            let shown = |item: &AccessItem| text(access.shown_item(item, &self.facts.user));
            let element = ArrayElement::System(SystemType::AclItem);
            Value::array(element, items.iter().map(shown).collect())
        })
    }

    /// The kind and the engine's id of the object with this number.
    fn privileged(&self, of: Privileged, number: u32) -> Option<(u32, ObjectKind)> {
        match of {
            Privileged::Relation | Privileged::Column | Privileged::Sequence => {
                let class = self.class(number)?;
                Some(match &class.kind {
                    ClassKind::Sequence => (object_id::sequence_of(number), ObjectKind::Sequence),
                    _ => (number, ObjectKind::Relation),
                })
            }
            Privileged::Routine if builtins::by_oid(number).is_some() => Some((number, ObjectKind::Routine)),
            Privileged::Routine => Some((self.routine(number)?.id.0, ObjectKind::Routine)),
            Privileged::Schema => {
                self.schemas.iter().find(|(own, _)| *own == number).map(|(own, _)| (*own, ObjectKind::Schema))
            }
            Privileged::Database => Some((DATABASE_OBJECT, ObjectKind::Database)),
            Privileged::Type => Some((number, ObjectKind::Type)),
            Privileged::Role => None,
        }
    }

    fn role_asked_about(&self, role: &Value) -> Result<Option<RoleId>> {
        match role {
            Value::Oid(id) => Ok(Some(RoleId(*id))),
            Value::Text(name) if name.as_str() == "public" => Ok(Some(RoleId::PUBLIC)),
            Value::Text(name) => match self.role_named(name) {
                Some(id) => Ok(Some(RoleId(id))),
                None => {
                    let message = format!("role \"{name}\" does not exist");
                    Err(Error::input(sqlstate::UNDEFINED_OBJECT, message))
                }
            },
            _ => Ok(None),
        }
    }

    /// `has_table_privilege` and similar functions. The arguments are the role, the object and the
    /// privileges.
    pub(super) fn privilege_held(&self, of: Privileged, arguments: &[Value]) -> Result<Value> {
        let [asked @ .., object, words] = arguments else { return Ok(Value::Null) };
        // Columns have no rights of their own, because rights are on whole tables.
        let (asked, object) = match (of, asked) {
            (Privileged::Column, [.., object]) => (&asked[..asked.len() - 1], object),
            _ => (asked, object),
        };
        let role = match asked.first() {
            Some(role) => self.role_asked_about(role)?,
            None => Some(self.facts.role),
        };
        let (Some(role), Value::Text(words)) = (role, words) else { return Ok(Value::Null) };
        if of == Privileged::Role {
            return self.role_held(role, object, words);
        }
        let Some(number) = self.number_asked_about(of, object)? else { return Ok(Value::Null) };
        let Some((id, kind)) = self.privileged(of, number) else { return Ok(Value::Null) };
        let access = match of {
            Privileged::Database => match self.database(number) {
                Some(database) => &database.access,
                None => return Ok(Value::Null),
            },
            _ => &self.facts.access,
        };
        let held = match of {
            Privileged::Database => access.privileges(role, id, kind),
            _ => self.held(role, id, kind),
        };
        let grantable = match visibility::is_of_catalog(id) {
            true if !self.facts.access.is_superuser(role) => Privileges::NONE,
            true => kind.all(),
            false => access.grantable(role, id, kind),
        };
        let mut has = id >= SequenceId::FIRST_TEMPORARY;
        for (wanted, with_option) in words.split(',').map(asked_privilege) {
            let Some(wanted) = wanted.filter(|wanted| kind.all().contains(*wanted)) else {
                let message = format!("unrecognized privilege type: \"{words}\"");
                return Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message));
            };
            has |= if with_option { grantable } else { held }.contains(wanted);
        }
        Ok(Value::Boolean(has))
    }

    fn role_held(&self, role: RoleId, other: &Value, words: &str) -> Result<Value> {
        let Some(other) = self.role_asked_about(other)? else { return Ok(Value::Null) };
        let access = &self.facts.access;
        let has = match words.trim().to_ascii_uppercase().as_str() {
            "USAGE" => access.has_privileges_of(role, other),
            "MEMBER" => access.is_member(role, other),
            "USAGE WITH GRANT OPTION"
            | "USAGE WITH ADMIN OPTION"
            | "MEMBER WITH GRANT OPTION"
            | "MEMBER WITH ADMIN OPTION" => access.is_admin(role, other),
            _ => {
                let message = format!("unrecognized privilege type: \"{words}\"");
                return Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message));
            }
        };
        Ok(Value::Boolean(has))
    }

    /// The number of an object that is given by name or number.
    pub(super) fn number_asked_about(&self, of: Privileged, object: &Value) -> Result<Option<u32>> {
        let name = match object {
            Value::Oid(oid) => return Ok(Some(*oid)),
            Value::Reference(reference) => return Ok(Some(reference.oid)),
            Value::Text(name) => name,
            _ => return Ok(None),
        };
        let system_type = match of {
            Privileged::Relation | Privileged::Column | Privileged::Sequence => SystemType::RegClass,
            Privileged::Routine => SystemType::RegProcedure,
            Privileged::Schema => SystemType::RegNamespace,
            Privileged::Type => SystemType::RegType,
            Privileged::Database => {
                let named = |one: &&SeenDatabase| one.definition.name == name.as_str();
                let found = self.facts.databases.iter().find(named);
                return Ok(Some(found.ok_or_else(|| no_database(name))?.id.0));
            }
            Privileged::Role => return Ok(None),
        };
        self.find_object(system_type, name).map(Some)
    }
}

/// `SELECT WITH GRANT OPTION`
fn asked_privilege(words: &str) -> (Option<Privileges>, bool) {
    let words = words.trim();
    let option =
        words.len().checked_sub(" WITH GRANT OPTION".len()).and_then(|at| words.split_at_checked(at));
    match option.filter(|(_, end)| end.eq_ignore_ascii_case(" WITH GRANT OPTION")) {
        Some((word, _)) => (Privileges::named(word.trim()), true),
        None => (Privileges::named(words), false),
    }
}

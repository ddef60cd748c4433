//! Roles, owners and access lists, as PostgreSQL has them.
//!
//! ```text
//! roles:   number -> name, attributes, verifier of the password, the roles that it is a member of
//! rights:  object -> owner, access list: (grantee, grantor, privileges, which of them are grantable)
//! ```
//! Objects are identified by their ids, which come from one counter for all kinds. An object that is not in
//! the list belongs to [`RoleId::OWNER`] and has the usual rights of its kind ([`ObjectKind::usual`]), so a
//! database in which no role was ever created has no entries here.
//!
//! Files:
//! * `role`: a role, its attributes and memberships; `settings`: those with which sessions begin;
//! * `privileges`: sets of privileges, kinds of objects and what is usual for each;
//! * `list`: GRANT and REVOKE on one access list, and its text (`acl` columns);
//! * `needed`: a right to be checked, the caller it is checked for, and the refusals.
//!
//! Pure data and its logic: when which caller is checked is decided by the front end. Each new definition is
//! logged as a whole.
//!
//! Invariants:
//! 1. A superuser may do everything. An owner, and every role that inherits from it, has all privileges
//!    unless the list was changed, and always the right to grant them.
//! 2. Memberships have no circles.
//! 3. An access list never names a role that is gone.
//! 4. A role that is gone may do nothing, not even what PUBLIC may do. A session may still have it.
//!
//! Reference: PostgreSQL's acl.c (aclmask, recursive_revoke, roles_is_member_of).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

mod list;
mod needed;
mod privileges;
mod role;
mod settings;
#[cfg(test)]
mod tests;

pub use list::{Grant, Refused};
pub use needed::{Caller, NeededRight, denied, no_database, not_owner};
pub use privileges::{ObjectKind, Privileges};
pub use role::{Membership, Role, RoleId};
pub use settings::{SettingsOf, StoredSettings};

use crate::definition::relation::SchemaId;

/// The object that stands for the database.
pub const DATABASE_OBJECT: u32 = 5;

/// Privileges that a role has been granted, and the role that granted them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessItem {
    /// [`RoleId::PUBLIC`]: every role.
    pub grantee: RoleId,
    pub grantor: RoleId,
    pub privileges: Privileges,
    /// The privileges that the grantee may grant to others.
    #[serde(default, skip_serializing_if = "Privileges::is_empty")]
    pub grantable: Privileges,
}

/// Owner and access list of an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rights {
    pub owner: RoleId,
    /// `None`: the usual list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<Vec<AccessItem>>,
}

impl Rights {
    /// The usual rights of an object that this role has created.
    pub fn of(owner: RoleId) -> Rights {
        Rights { owner, items: None }
    }

    /// The access list, with the usual one written out.
    pub fn list(&self, kind: ObjectKind) -> Vec<AccessItem> {
        self.items.clone().unwrap_or_else(|| kind.usual(self.owner))
    }
}

/// All roles and rights. See the module head.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Access {
    roles: BTreeMap<RoleId, Arc<Role>>,
    objects: BTreeMap<u32, Arc<Rights>>,
    settings: BTreeMap<SettingsOf, Arc<StoredSettings>>,
}

impl Access {
    /// Has the same roles as another one, with their settings, from here on.
    pub fn take_roles(&mut self, of: &Access) {
        self.roles = of.roles.clone();
        self.settings = of.settings.clone();
    }

    /// The roles that were created, by number.
    pub fn roles(&self) -> impl Iterator<Item = (RoleId, &Arc<Role>)> {
        self.roles.iter().map(|(id, role)| (*id, role))
    }

    /// The rights of all objects that differ from the first owner's usual ones.
    pub fn objects(&self) -> impl Iterator<Item = (u32, &Arc<Rights>)> {
        self.objects.iter().map(|(object, rights)| (*object, rights))
    }

    pub fn has_roles(&self) -> bool {
        !self.roles.is_empty()
    }

    pub fn role(&self, id: RoleId) -> Option<&Arc<Role>> {
        self.roles.get(&id)
    }

    /// Whether a role has not been dropped. PUBLIC counts as one.
    pub fn exists(&self, id: RoleId) -> bool {
        matches!(id, RoleId::PUBLIC | RoleId::OWNER | RoleId::DATABASE_OWNER) || self.roles.contains_key(&id)
    }

    pub fn role_named(&self, name: &str) -> Option<(RoleId, &Arc<Role>)> {
        self.roles().find(|(_, role)| role.name == name)
    }

    /// Adds a role, or replaces its definition.
    pub fn put_role(&mut self, id: RoleId, role: Arc<Role>) {
        self.roles.insert(id, role);
    }

    /// Removes a dropped role, the memberships in it, and its settings.
    pub fn remove_role(&mut self, id: RoleId) {
        self.roles.remove(&id);
        self.settings.retain(|of, _| of.role != Some(id));
        for role in self.roles.values_mut() {
            if role.member_of.iter().any(|membership| membership.role == id) {
                Arc::make_mut(role).member_of.retain(|membership| membership.role != id);
            }
        }
    }

    /// Owner and access list of an object.
    pub fn rights(&self, object: u32) -> Rights {
        match self.objects.get(&object) {
            Some(rights) => Rights::clone(rights),
            None if object == SchemaId::PUBLIC.0 => rights_of_public(),
            None => Rights::of(RoleId::OWNER),
        }
    }

    pub fn owner(&self, object: u32) -> RoleId {
        match self.objects.get(&object) {
            Some(rights) => rights.owner,
            None if object == SchemaId::PUBLIC.0 => RoleId::DATABASE_OWNER,
            None => RoleId::OWNER,
        }
    }

    /// Replaces the rights of an object.
    pub fn put_rights(&mut self, object: u32, rights: Arc<Rights>) {
        self.objects.insert(object, rights);
    }

    /// The object was dropped.
    pub fn forget(&mut self, object: u32) {
        self.objects.remove(&object);
    }

    /// Whether there is anything to forget.
    pub fn knows(&self, object: u32) -> bool {
        self.objects.contains_key(&object)
    }

    /// Another version of the object takes its place.
    pub fn hand_on(&mut self, from: u32, to: u32) {
        if let Some(rights) = self.objects.remove(&from) {
            self.objects.entry(to).or_insert(rights);
        }
    }

    pub fn is_superuser(&self, role: RoleId) -> bool {
        role == RoleId::OWNER || self.role(role).is_some_and(|role| role.is_superuser)
    }

    /// The role and all roles that it is a member of, or only those that it inherits from.
    fn roles_of(&self, role: RoleId, inherited_only: bool) -> BTreeSet<RoleId> {
        let (mut found, mut open) = (BTreeSet::from([role]), vec![role]);
        while let Some(next) = open.pop() {
            if next == self.owner(DATABASE_OBJECT) && found.insert(RoleId::DATABASE_OWNER) {
                open.push(RoleId::DATABASE_OWNER);
            }
            let Some(definition) = self.role(next) else { continue };
            if inherited_only && !definition.inherits {
                continue;
            }
            for membership in &definition.member_of {
                if found.insert(membership.role) {
                    open.push(membership.role);
                }
            }
        }
        found
    }

    /// Whether a role has the privileges of another one without SET ROLE.
    pub fn has_privileges_of(&self, role: RoleId, other: RoleId) -> bool {
        role == other || self.is_superuser(role) || self.roles_of(role, true).contains(&other)
    }

    /// Whether a role may become another one.
    pub fn is_member(&self, role: RoleId, other: RoleId) -> bool {
        role == other || self.is_superuser(role) || self.is_listed_member(role, other)
    }

    /// As [`Access::is_member`], but without the exception for superusers.
    pub fn is_listed_member(&self, role: RoleId, other: RoleId) -> bool {
        role == other || self.roles_of(role, false).contains(&other)
    }

    /// Whether a role may add members to another one.
    pub fn is_admin(&self, role: RoleId, other: RoleId) -> bool {
        let is_admin_of = |own: &RoleId| {
            let memberships = self.role(*own).map_or(&[][..], |role| role.member_of.as_slice());
            memberships.iter().any(|membership| membership.role == other && membership.is_admin)
        };
        self.is_superuser(role) || self.roles_of(role, false).iter().any(is_admin_of)
    }

    pub fn is_owner(&self, role: RoleId, object: u32) -> bool {
        self.has_privileges_of(role, self.owner(object))
    }

    /// The privileges of a role on an object.
    pub fn privileges(&self, role: RoleId, object: u32, kind: ObjectKind) -> Privileges {
        if self.is_superuser(role) {
            return kind.all();
        }
        self.allowed(role, &self.rights(object), kind, |item| item.privileges)
    }

    /// The privileges on an object that a role may grant.
    pub fn grantable(&self, role: RoleId, object: u32, kind: ObjectKind) -> Privileges {
        let rights = self.rights(object);
        if self.has_privileges_of(role, rights.owner) {
            return kind.all();
        }
        self.allowed(role, &rights, kind, |item| item.grantable)
    }

    fn allowed(
        &self,
        role: RoleId,
        rights: &Rights,
        kind: ObjectKind,
        of: impl Fn(&AccessItem) -> Privileges,
    ) -> Privileges {
        if !self.exists(role) {
            return Privileges::NONE;
        }
        let own = self.roles_of(role, true);
        let list = match &rights.items {
            Some(items) => items.clone(),
            None => kind.usual(rights.owner),
        };
        let is_own = |item: &&AccessItem| item.grantee == RoleId::PUBLIC || own.contains(&item.grantee);
        list.iter().filter(is_own).fold(Privileges::NONE, |all, item| all | of(item))
    }

    /// The name of a role; `first` is the name of the first owner.
    pub fn role_name<'a>(&'a self, id: RoleId, first: &'a str) -> Option<&'a str> {
        match id {
            RoleId::OWNER => Some(first),
            RoleId::DATABASE_OWNER => Some(RoleId::DATABASE_OWNER_NAME),
            id => self.role(id).map(|role| role.name.as_str()),
        }
    }
}

/// The rights of the schema `public` with which PostgreSQL begins.
fn rights_of_public() -> Rights {
    let item = |grantee, privileges| AccessItem {
        grantee,
        grantor: RoleId::DATABASE_OWNER,
        privileges,
        grantable: Privileges::NONE,
    };
    let items =
        vec![item(RoleId::DATABASE_OWNER, ObjectKind::Schema.all()), item(RoleId::PUBLIC, Privileges::USAGE)];
    Rights { owner: RoleId::DATABASE_OWNER, items: Some(items) }
}

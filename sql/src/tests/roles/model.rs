//! Roles and rights as PostgreSQL 15's manual describes them (chapters 5.7 and 22, CREATE, ALTER and DROP
//! ROLE, GRANT, REVOKE, SET ROLE), in the plainest form. It shares nothing with the implementation.
//!
//! Roles have numbers that are never used again. Rights are given by owners only, so a right needs no
//! grantor.

use std::collections::{BTreeMap, BTreeSet};

/// What happens to a statement: nothing, or an error with this SQLSTATE.
pub(super) type Outcome = Result<(), &'static str>;

/// The superuser that there is from the beginning.
pub(super) const FIRST: u32 = 0;
pub(super) const FIRST_NAME: &str = "hyades";
/// The grantee that stands for all roles.
pub(super) const PUBLIC: u32 = u32::MAX;
pub(super) const PRIVILEGES: [&str; 5] = ["select", "insert", "update", "delete", "truncate"];
/// The last of the relations is a view that reads the first.
pub(super) const RELATIONS: [&str; 4] = ["t0", "t1", "t2", "w0"];
pub(super) const VIEW: usize = 3;

const DENIED: Outcome = Err("42501");

/// Attributes, as CREATE and ALTER ROLE set them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Attributes {
    pub(super) superuser: Option<bool>,
    pub(super) creates_roles: Option<bool>,
    pub(super) inherits: Option<bool>,
    pub(super) logs_in: Option<bool>,
}

struct Role {
    name: String,
    superuser: bool,
    creates_roles: bool,
    inherits: bool,
    logs_in: bool,
    /// The roles that it is a member of, and whether it may add others to them.
    member_of: BTreeMap<u32, bool>,
}

impl Role {
    fn set(&mut self, attributes: Attributes) {
        let Attributes { superuser, creates_roles, inherits, logs_in } = attributes;
        self.superuser = superuser.unwrap_or(self.superuser);
        self.creates_roles = creates_roles.unwrap_or(self.creates_roles);
        self.inherits = inherits.unwrap_or(self.inherits);
        self.logs_in = logs_in.unwrap_or(self.logs_in);
    }
}

struct Relation {
    owner: u32,
    granted: BTreeMap<u32, BTreeSet<&'static str>>,
}

/// The roles of a session.
#[derive(Clone, Copy, Debug)]
pub(super) struct Who {
    pub(super) session: u32,
    /// What SET ROLE chose.
    pub(super) chosen: Option<u32>,
}

impl Who {
    pub(super) fn current(self) -> u32 {
        self.chosen.unwrap_or(self.session)
    }
}

pub(super) struct Model {
    roles: BTreeMap<u32, Role>,
    relations: Vec<Relation>,
    next: u32,
}

impl Model {
    /// One superuser, to whom all relations belong.
    pub(super) fn new() -> Model {
        let first = Role {
            name: FIRST_NAME.to_owned(),
            superuser: true,
            creates_roles: true,
            inherits: true,
            logs_in: true,
            member_of: BTreeMap::new(),
        };
        let relation = |_| Relation {
            owner: FIRST,
            granted: BTreeMap::from([(FIRST, PRIVILEGES.into_iter().collect())]),
        };
        let relations = (0..RELATIONS.len()).map(relation).collect();
        Model { roles: BTreeMap::from([(FIRST, first)]), relations, next: 1 }
    }

    pub(super) fn find(&self, name: &str) -> Option<u32> {
        self.roles.iter().find(|(_, role)| role.name == name).map(|(id, _)| *id)
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.roles.values().map(|role| role.name.clone()).collect()
    }

    pub(super) fn name(&self, id: u32) -> Option<&str> {
        self.roles.get(&id).map(|role| role.name.as_str())
    }

    pub(super) fn is_superuser(&self, id: u32) -> bool {
        self.roles.get(&id).is_some_and(|role| role.superuser)
    }

    pub(super) fn may_log_in(&self, name: &str) -> Option<u32> {
        self.find(name).filter(|id| self.roles[id].logs_in)
    }

    fn creates_roles(&self, id: u32) -> bool {
        self.roles.get(&id).is_some_and(|role| role.superuser || role.creates_roles)
    }

    /// The role, and those that it is a member of, directly or not. With `by_inheritance`, only those whose
    /// rights it has without SET ROLE.
    fn groups(&self, id: u32, by_inheritance: bool) -> BTreeSet<u32> {
        let mut found = BTreeSet::from([id]);
        if let Some(role) = self.roles.get(&id).filter(|role| role.inherits || !by_inheritance) {
            for group in role.member_of.keys() {
                found.extend(self.groups(*group, by_inheritance));
            }
        }
        found
    }

    fn has_rights_of(&self, id: u32, other: u32) -> bool {
        self.is_superuser(id) || self.groups(id, true).contains(&other)
    }

    pub(super) fn owns(&self, id: u32, relation: usize) -> bool {
        self.has_rights_of(id, self.relations[relation].owner)
    }

    fn is_member(&self, id: u32, other: u32) -> bool {
        self.is_superuser(id) || self.groups(id, false).contains(&other)
    }

    fn is_admin(&self, id: u32, group: u32) -> bool {
        let groups = self.groups(id, false);
        groups
            .iter()
            .filter_map(|id| self.roles.get(id))
            .any(|role| role.member_of.get(&group) == Some(&true))
    }

    /// Whether the role may make others members of a group.
    fn check_grants(&self, by: u32, group: u32) -> Outcome {
        let may = match self.is_superuser(group) {
            true => self.is_superuser(by),
            false => self.creates_roles(by) || self.is_admin(by, group),
        };
        if may { Ok(()) } else { DENIED }
    }

    fn join(&mut self, group: u32, member: u32, is_admin: bool) -> Outcome {
        if self.groups(group, false).contains(&member) {
            return Err("0LP01");
        }
        if let Some(role) = self.roles.get_mut(&member) {
            *role.member_of.entry(group).or_default() |= is_admin;
        }
        Ok(())
    }

    pub(super) fn create(
        &mut self,
        by: u32,
        name: &str,
        attributes: Attributes,
        group: Option<&str>,
    ) -> Outcome {
        let wants_superuser = attributes.superuser == Some(true);
        if !self.is_superuser(by) && (wants_superuser || !self.creates_roles(by)) {
            return DENIED;
        }
        if self.find(name).is_some() {
            return Err("42710");
        }
        let group = group.map(|group| self.find(group).ok_or("42704")).transpose()?;
        if let Some(group) = group {
            self.check_grants(by, group)?;
        }
        let mut role = Role {
            name: name.to_owned(),
            superuser: false,
            creates_roles: false,
            inherits: true,
            logs_in: false,
            member_of: group.into_iter().map(|group| (group, false)).collect(),
        };
        role.set(attributes);
        self.roles.insert(self.next, role);
        self.next += 1;
        Ok(())
    }

    pub(super) fn alter(&mut self, by: u32, name: &str, attributes: Attributes) -> Outcome {
        let id = self.find(name).ok_or("42704")?;
        let concerns_superuser = self.is_superuser(id) || attributes.superuser.is_some();
        let may = if concerns_superuser { self.is_superuser(by) } else { self.creates_roles(by) };
        if !may {
            return DENIED;
        }
        if let Some(role) = self.roles.get_mut(&id) {
            role.set(attributes);
        }
        Ok(())
    }

    /// Every role may change its own password.
    pub(super) fn change_password(&self, by: u32, name: &str) -> Outcome {
        let id = self.find(name).ok_or("42704")?;
        let may = match self.is_superuser(id) {
            true => self.is_superuser(by),
            false => self.creates_roles(by) || id == by,
        };
        if may { Ok(()) } else { DENIED }
    }

    pub(super) fn rename(&mut self, who: Who, name: &str, to: &str) -> Outcome {
        let id = self.find(name).ok_or("42704")?;
        let by = who.current();
        if id == who.session || id == by {
            return Err("0A000");
        }
        if self.find(to).is_some() {
            return Err("42710");
        }
        let may = if self.is_superuser(id) { self.is_superuser(by) } else { self.creates_roles(by) };
        if !may {
            return DENIED;
        }
        if let Some(role) = self.roles.get_mut(&id) {
            to.clone_into(&mut role.name);
        }
        Ok(())
    }

    pub(super) fn drop_role(&mut self, who: Who, name: &str) -> Outcome {
        let by = who.current();
        if !self.creates_roles(by) {
            return DENIED;
        }
        let id = self.find(name).ok_or("42704")?;
        if id == who.session || id == by {
            return Err("55006");
        }
        if self.is_superuser(id) && !self.is_superuser(by) {
            return DENIED;
        }
        let depends = |relation: &Relation| relation.owner == id || relation.granted.contains_key(&id);
        if self.relations.iter().any(depends) {
            return Err("2BP01");
        }
        self.roles.remove(&id);
        for role in self.roles.values_mut() {
            role.member_of.remove(&id);
        }
        Ok(())
    }

    pub(super) fn grant_role(&mut self, by: u32, group: &str, member: &str, is_admin: bool) -> Outcome {
        let (group, member) = (self.find(group).ok_or("42704")?, self.find(member).ok_or("42704")?);
        self.check_grants(by, group)?;
        self.join(group, member, is_admin)
    }

    pub(super) fn revoke_role(&mut self, by: u32, group: &str, member: &str, only_admin: bool) -> Outcome {
        let (group, member) = (self.find(group).ok_or("42704")?, self.find(member).ok_or("42704")?);
        self.check_grants(by, group)?;
        let Some(role) = self.roles.get_mut(&member) else { return Ok(()) };
        match (only_admin, role.member_of.get_mut(&group)) {
            (true, Some(is_admin)) => *is_admin = false,
            _ if only_admin => {}
            _ => drop(role.member_of.remove(&group)),
        }
        Ok(())
    }

    pub(super) fn set_role(&self, session: u32, name: &str) -> Result<u32, &'static str> {
        let id = self.find(name).ok_or("22023")?;
        if self.is_member(session, id) { Ok(id) } else { Err("42501") }
    }

    /// GRANT or REVOKE of a privilege.
    pub(super) fn change_rights(
        &mut self,
        by: u32,
        (relation, privilege): (usize, &'static str),
        grantee: Option<&str>,
        is_revoke: bool,
    ) -> Outcome {
        let grantee = grantee.map_or(Ok(PUBLIC), |name| self.find(name).ok_or("42704"))?;
        if !self.owns(by, relation) {
            // With any privilege at all it is only a warning that nothing was granted.
            let has_any = PRIVILEGES.iter().any(|privilege| self.holds(by, relation, privilege));
            return if has_any { Ok(()) } else { DENIED };
        }
        let granted = self.relations[relation].granted.entry(grantee).or_default();
        match is_revoke {
            true => drop(granted.remove(privilege)),
            false => drop(granted.insert(privilege)),
        }
        self.relations[relation].granted.retain(|_, privileges| !privileges.is_empty());
        Ok(())
    }

    pub(super) fn change_owner(&mut self, by: u32, relation: usize, to: &str) -> Outcome {
        let owner = self.relations[relation].owner;
        if !self.has_rights_of(by, owner) {
            return DENIED;
        }
        let to = self.find(to).ok_or("42704")?;
        if to == owner {
            return Ok(());
        }
        if !self.is_member(by, to) {
            return DENIED;
        }
        let relation = &mut self.relations[relation];
        relation.owner = to;
        if let Some(privileges) = relation.granted.remove(&owner) {
            relation.granted.entry(to).or_default().extend(privileges);
        }
        Ok(())
    }

    /// Whether a role has a privilege on a relation.
    pub(super) fn holds(&self, id: u32, relation: usize, privilege: &str) -> bool {
        if !self.roles.contains_key(&id) {
            return false;
        }
        let granted = &self.relations[relation].granted;
        let has = |grantee: &u32| granted.get(grantee).is_some_and(|held| held.contains(privilege));
        self.is_superuser(id) || has(&PUBLIC) || self.groups(id, true).iter().any(has)
    }

    /// A statement that needs this privilege. A view's owner needs the right to what the view reads.
    pub(super) fn access(&self, id: u32, relation: usize, privilege: &str) -> Outcome {
        let behind = relation == VIEW && !self.holds(self.relations[VIEW].owner, 0, privilege);
        if behind || !self.holds(id, relation, privilege) { DENIED } else { Ok(()) }
    }
}

//! The rights that a statement needs, and the caller that is checked.

use std::sync::Arc;

use super::{Access, ObjectKind, Privileges, RoleId};
use crate::definition::SequenceId;
use crate::error::{Error, Result, sqlstate};

/// A right that a statement needs to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeededRight {
    pub object: u32,
    pub kind: ObjectKind,
    pub privileges: Privileges,
    /// The word that messages use for the kind of object, such as `table`, and its name.
    pub word: &'static str,
    pub name: String,
    /// The owner of this view must have the right, rather than the caller.
    pub owner_of: Option<u32>,
}

/// `permission denied for table t`.
pub fn denied(word: &str, name: &str) -> Error {
    Error::input(sqlstate::INSUFFICIENT_PRIVILEGE, format!("permission denied for {word} {name}"))
}

/// `must be owner of table t`.
pub fn not_owner(word: &str, name: &str) -> Error {
    Error::input(sqlstate::INSUFFICIENT_PRIVILEGE, format!("must be owner of {word} {name}"))
}

/// `database "x" does not exist`.
pub fn no_database(name: &str) -> Error {
    Error::input(sqlstate::INVALID_CATALOG_NAME, format!("database \"{name}\" does not exist"))
}

/// The caller, and the rights of all roles.
#[derive(Clone, Debug)]
pub struct Caller {
    pub access: Arc<Access>,
    pub role: RoleId,
}

impl Caller {
    pub fn is_superuser(&self) -> bool {
        self.access.is_superuser(self.role)
    }

    /// 42501 unless the caller, or the owner of the view, has all needed privileges.
    pub fn check(&self, needed: &NeededRight) -> Result<()> {
        // Temporary objects are private to their session.
        if needed.object >= SequenceId::FIRST_TEMPORARY {
            return Ok(());
        }
        let view = needed.owner_of.filter(|view| *view < SequenceId::FIRST_TEMPORARY);
        let role = view.map_or(self.role, |view| self.access.owner(view));
        let held = self.access.privileges(role, needed.object, needed.kind);
        if held.contains(needed.privileges) { Ok(()) } else { Err(denied(needed.word, &needed.name)) }
    }

    /// Whether the caller may read a relation.
    pub fn may_read(&self, relation: u32) -> bool {
        let is_own = relation >= SequenceId::FIRST_TEMPORARY;
        let held = self.access.privileges(self.role, relation, ObjectKind::Relation);
        is_own || held.contains(Privileges::SELECT)
    }

    /// 42501 unless the caller has one of these privileges.
    pub fn check_any(&self, object: u32, kind: ObjectKind, wanted: Privileges, name: &str) -> Result<()> {
        let is_own = object >= SequenceId::FIRST_TEMPORARY;
        match is_own || self.access.privileges(self.role, object, kind).intersects(wanted) {
            true => Ok(()),
            false => Err(denied(kind.word(), name)),
        }
    }
}

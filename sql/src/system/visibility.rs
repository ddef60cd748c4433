//! Who sees a row of `information_schema`.
//!
//! A source of rows yields entries: each row with the object on whose account it is shown, and the privileges
//! of which the current role needs one. The rows are filtered in one place, so no source can forget to.
//! Owners see everything about their objects, whatever privileges they have left.
//!
//! Reference: the conditions with `pg_has_role` and `has_table_privilege` in PostgreSQL's
//! information_schema.sql.

use hyades_types::access::{DATABASE_OBJECT, ObjectKind, Privileges, RoleId, denied};
use hyades_types::definition::{SchemaId, SequenceId};
use hyades_types::error::Result;

use super::class::{Class, ClassKind};
use super::object_id;
use super::relation;
use super::row::NamedRow;
use super::snapshot::System;

/// To whom a row is shown.
pub(super) enum Audience {
    Everybody,
    /// Roles that have the rights of the object's owner.
    Owner(u32),
    /// The owner's, and the holders of one of these privileges.
    Holders(u32, ObjectKind, Privileges),
}

/// A row of a view, and the roles that see it.
pub(super) type Entry = (Audience, NamedRow);

/// All privileges on a relation but SELECT.
pub(super) fn of_changes() -> Privileges {
    ObjectKind::Relation.all() - Privileges::SELECT
}

/// The privileges that are possible on a column.
pub(super) fn of_columns() -> Privileges {
    Privileges::SELECT | Privileges::INSERT | Privileges::UPDATE | Privileges::REFERENCES
}

impl Class {
    /// The owner of a relation, and the holders of one of these privileges on it.
    pub(super) fn audience(&self, privileges: Privileges) -> Audience {
        match self.kind {
            ClassKind::Sequence => {
                Audience::Holders(object_id::sequence_of(self.oid), ObjectKind::Sequence, privileges)
            }
            _ => Audience::Holders(self.oid, ObjectKind::Relation, privileges),
        }
    }
}

impl System {
    /// The rows among these that the current role sees.
    pub(super) fn seen(&self, entries: Vec<Entry>) -> Vec<NamedRow> {
        entries.into_iter().filter(|(audience, _)| self.is_among(audience)).map(|(_, row)| row).collect()
    }

    fn is_among(&self, audience: &Audience) -> bool {
        match *audience {
            Audience::Everybody => true,
            Audience::Owner(object) => self.owns(object),
            Audience::Holders(object, kind, privileges) => {
                self.owns(object) || self.held(self.facts.role, object, kind).intersects(privileges)
            }
        }
    }

    /// Error 42501 unless the current role may use the schema that a name is written with.
    pub(super) fn check_schema(&self, written: Option<&str>) -> Result<()> {
        let Some(written) = written else { return Ok(()) };
        let id = self.schema_oid(self.facts.path.schema(written));
        let held = self.held(self.facts.role, id, ObjectKind::Schema);
        match id == 0 || held.contains(Privileges::USAGE) {
            true => Ok(()),
            false => Err(denied("schema", written)),
        }
    }

    /// Whether the current role has the rights of an object's owner.
    pub(super) fn owns(&self, object: u32) -> bool {
        let owner = RoleId(self.owner_of(object));
        self.facts.access.has_privileges_of(self.facts.role, owner)
    }

    /// The privileges of a role on an object of the engine or of the catalog.
    pub(super) fn held(&self, role: RoleId, object: u32, kind: ObjectKind) -> Privileges {
        let access = &self.facts.access;
        if access.is_superuser(role) || object >= SequenceId::FIRST_TEMPORARY {
            return kind.all();
        }
        if !is_of_catalog(object) {
            return access.privileges(role, object, kind);
        }
        match kind {
            ObjectKind::Relation
                if relation::by_oid(object).is_some_and(|own| relation::is_secret(own.name)) =>
            {
                Privileges::NONE
            }
            ObjectKind::Relation | ObjectKind::Sequence => Privileges::SELECT,
            ObjectKind::Schema if object == object_id::PG_TOAST => Privileges::NONE,
            ObjectKind::Schema | ObjectKind::Type => Privileges::USAGE,
            ObjectKind::Routine => Privileges::EXECUTE,
            ObjectKind::Database => Privileges::NONE,
        }
    }
}

/// Whether an object exists from the start, and its rights are fixed.
pub(super) fn is_of_catalog(object: u32) -> bool {
    const FIRST_MADE: u32 = 16_384;
    object < FIRST_MADE && object != DATABASE_OBJECT && object != SchemaId::PUBLIC.0
}

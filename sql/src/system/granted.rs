//! The views of `information_schema` about privileges, roles and collations.
//!
//! A privilege is shown to the roles that have the rights of its grantor or of its grantee. Rights are on
//! whole tables, so those on a column are those on its table.
//!
//! Reference: PostgreSQL's information_schema.sql.

use std::sync::Arc;

use hyades_types::access::{AccessItem, ObjectKind, Privileges, Rights, RoleId};
use hyades_types::definition::SequenceId;
use hyades_types::sequence::Sequence;
use hyades_types::value::Value;

use super::class::{Class, ClassKind};
use super::cluster;
use super::information_schema::{specific_name, yes_or_no};
use super::object_id;
use super::relation;
use super::row::{NamedRow, text};
use super::snapshot::System;
use super::visibility::{self, Audience, Entry, is_of_catalog};

/// Which privileges a view shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// Those that concern the current role, those of all roles included.
    Any,
    /// Those of roles whose rights the current role has: `role_table_grants` and similar views.
    OfEnabledRoles,
}

/// A privilege that a role has on an object.
struct Granted {
    grantor: String,
    grantee: String,
    word: &'static str,
    is_grantable: bool,
}

impl Granted {
    fn row(&self, object: impl IntoIterator<Item = (&'static str, Value)>) -> NamedRow {
        let mut row = vec![("grantor", text(&self.grantor)), ("grantee", text(&self.grantee))];
        row.extend(object);
        row.push(("privilege_type", text(self.word)));
        row.push(("is_grantable", yes_or_no(self.is_grantable)));
        row
    }
}

/// The source of a view's rows, if it is one of these.
pub(super) fn entries_of(name: &str) -> Option<fn(&System) -> Vec<Entry>> {
    Some(match name {
        "table_privileges" => |system| on_tables(system, Shown::Any),
        "role_table_grants" => |system| on_tables(system, Shown::OfEnabledRoles),
        "column_privileges" => |system| on_columns(system, Shown::Any),
        "role_column_grants" => |system| on_columns(system, Shown::OfEnabledRoles),
        "routine_privileges" => |system| on_routines(system, Shown::Any),
        "role_routine_grants" => |system| on_routines(system, Shown::OfEnabledRoles),
        "usage_privileges" => |system| usage(system, Shown::Any),
        "role_usage_grants" => |system| usage(system, Shown::OfEnabledRoles),
        "applicable_roles" => |system| memberships(system, false),
        "administrable_role_authorizations" => |system| memberships(system, true),
        "collations" => |system| each_collation(system, ("pad_attribute", "NO PAD")),
        "collation_character_set_applicability" => {
            |system| each_collation(system, ("character_set_name", "UTF8"))
        }
        "character_sets" => character_sets,
        _ => return None,
    })
}

impl System {
    /// The privileges on an object that a view shows to the current role.
    fn granted(&self, rights: &Rights, kind: ObjectKind, shown: Shown) -> Vec<Granted> {
        let mut found = Vec::new();
        for item in rights.list(kind).iter().filter(|item| self.shows_item(item, shown)) {
            let owns = self.facts.access.has_privileges_of(item.grantee, rights.owner);
            for (privilege, word, _) in item.privileges.each() {
                found.push(Granted {
                    grantor: self.role_name(item.grantor.0).unwrap_or_default().to_owned(),
                    grantee: self.grantee_name(item.grantee),
                    word,
                    is_grantable: owns || item.grantable.contains(privilege),
                });
            }
        }
        found
    }

    fn shows_item(&self, item: &AccessItem, shown: Shown) -> bool {
        let (access, role) = (&self.facts.access, self.facts.role);
        match shown {
            Shown::Any => {
                item.grantee == RoleId::PUBLIC
                    || access.has_privileges_of(role, item.grantor)
                    || access.has_privileges_of(role, item.grantee)
            }
            Shown::OfEnabledRoles => {
                access.has_privileges_of(role, item.grantor)
                    || (item.grantee != RoleId::PUBLIC && access.has_privileges_of(role, item.grantee))
            }
        }
    }

    fn grantee_name(&self, grantee: RoleId) -> String {
        match grantee {
            RoleId::PUBLIC => "PUBLIC".to_owned(),
            role => self.role_name(role.0).unwrap_or_default().to_owned(),
        }
    }

    /// The rights on a table or view. All roles may read those of the catalog.
    fn rights_on(&self, class: &Class) -> Rights {
        if !is_of_catalog(class.oid) {
            return match class.oid >= SequenceId::FIRST_TEMPORARY {
                true => Rights::of(self.facts.role),
                false => self.facts.access.rights(class.oid),
            };
        }
        let mut rights = Rights::of(RoleId(object_id::OWNER));
        let is_secret = relation::by_oid(class.oid).is_some_and(|own| relation::is_secret(own.name));
        if !is_secret {
            let mut items = rights.list(ObjectKind::Relation);
            items.push(AccessItem {
                grantee: RoleId::PUBLIC,
                grantor: rights.owner,
                privileges: Privileges::SELECT,
                grantable: Privileges::NONE,
            });
            rights.items = Some(items);
        }
        rights
    }

    fn in_database(&self, [catalog, schema, name]: [&'static str; 3], place: (&str, &str)) -> NamedRow {
        vec![(catalog, text(&self.facts.database)), (schema, text(place.0)), (name, text(place.1))]
    }
}

const TABLE: [&str; 3] = ["table_catalog", "table_schema", "table_name"];

/// `table_privileges`
fn on_tables(system: &System, shown: Shown) -> Vec<Entry> {
    let mut rows = Vec::new();
    for class in system.classes.iter().filter(|class| matches!(class.letter(), "r" | "v")) {
        let place = (system.schema_name(class.schema), class.name.as_str());
        for granted in system.granted(&system.rights_on(class), ObjectKind::Relation, shown) {
            let mut row = granted.row(system.in_database(TABLE, place));
            row.push(("with_hierarchy", yes_or_no(granted.word == "SELECT")));
            rows.push((Audience::Everybody, row));
        }
    }
    rows
}

/// `column_privileges`
fn on_columns(system: &System, shown: Shown) -> Vec<Entry> {
    let mut rows = Vec::new();
    for class in &system.classes {
        let columns: Vec<&str> = match &class.kind {
            ClassKind::Table(at) | ClassKind::View(at) => {
                let columns = system.definitions[*at].visible_columns().iter();
                columns.map(|column| column.name.as_str()).collect()
            }
            ClassKind::System(relation) => relation.columns.iter().map(|(name, _)| name.as_str()).collect(),
            ClassKind::Index(..)
            | ClassKind::Sequence
            | ClassKind::Composite(..)
            | ClassKind::Materialized(_) => continue,
        };
        let place = (system.schema_name(class.schema), class.name.as_str());
        let of_columns: Vec<&str> = visibility::of_columns().each().map(|(_, word, _)| word).collect();
        for granted in system.granted(&system.rights_on(class), ObjectKind::Relation, shown) {
            if !of_columns.contains(&granted.word) {
                continue;
            }
            for column in &columns {
                let own = system.in_database(TABLE, place).into_iter().chain([("column_name", text(column))]);
                rows.push((Audience::Everybody, granted.row(own)));
            }
        }
    }
    rows
}

/// `routine_privileges`
fn on_routines(system: &System, shown: Shown) -> Vec<Entry> {
    let mut rows = Vec::new();
    for routine in &system.facts.routines {
        let name = &routine.definition.name;
        let specific = specific_name(routine);
        for granted in system.granted(&system.facts.access.rights(routine.id.0), ObjectKind::Routine, shown) {
            let mut own = system.in_database(
                ["specific_catalog", "specific_schema", "specific_name"],
                (&name.schema, &specific),
            );
            own.extend(system.in_database(
                ["routine_catalog", "routine_schema", "routine_name"],
                (&name.schema, &name.name),
            ));
            rows.push((Audience::Everybody, granted.row(own)));
        }
    }
    rows
}

const OBJECT: [&str; 3] = ["object_catalog", "object_schema", "object_name"];

/// `usage_privileges`: on collations, domains and sequences.
fn usage(system: &System, shown: Shown) -> Vec<Entry> {
    let mut rows = Vec::new();
    let mut push = |granted: &Granted, place: (&str, &str), kind: &str| {
        let own = system.in_database(OBJECT, place).into_iter().chain([("object_type", text(kind))]);
        rows.push((Audience::Everybody, granted.row(own)));
    };
    if shown == Shown::Any {
        let owner = system.role_name(object_id::OWNER).unwrap_or_default().to_owned();
        for (_, name, ..) in cluster::COLLATIONS {
            let (grantor, grantee) = (owner.clone(), "PUBLIC".to_owned());
            let granted = Granted { grantor, grantee, word: "USAGE", is_grantable: false };
            push(&granted, ("pg_catalog", name), "COLLATION");
        }
    }
    for stored in system.facts.types.iter().filter(|stored| stored.definition.domain().is_some()) {
        let definition = &stored.definition;
        for granted in system.granted(&system.facts.access.rights(definition.id), ObjectKind::Type, shown) {
            push(&granted, (&definition.schema, &definition.name), "DOMAIN");
        }
    }
    // As in PostgreSQL, the usual rights on a sequence are taken for those on a table, without USAGE.
    let has_list = |sequence: &&Arc<Sequence>| system.facts.access.rights(sequence.id.0).items.is_some();
    for sequence in system.facts.sequences.iter().filter(has_list) {
        let (name, rights) = (&sequence.definition.name, system.facts.access.rights(sequence.id.0));
        let all = system.granted(&rights, ObjectKind::Sequence, shown);
        for granted in all.iter().filter(|granted| granted.word == "USAGE") {
            push(granted, (&name.schema, &name.name), "SEQUENCE");
        }
    }
    rows
}

/// `applicable_roles`: the memberships of the roles whose rights the current role has.
fn memberships(system: &System, of_administrators: bool) -> Vec<Entry> {
    let access = &system.facts.access;
    let mut rows = Vec::new();
    for (id, role) in access.roles().filter(|(id, _)| access.has_privileges_of(system.facts.role, *id)) {
        for membership in role.member_of.iter().filter(|one| one.is_admin || !of_administrators) {
            let name = |id: RoleId| text(system.role_name(id.0).unwrap_or_default());
            let row = vec![
                ("grantee", name(id)),
                ("role_name", name(membership.role)),
                ("is_grantable", yes_or_no(membership.is_admin)),
            ];
            rows.push((Audience::Everybody, row));
        }
    }
    rows
}

const COLLATION: [&str; 3] = ["collation_catalog", "collation_schema", "collation_name"];

/// `collations` and `collation_character_set_applicability`: each collation, with one more column.
fn each_collation(system: &System, (column, value): (&'static str, &str)) -> Vec<Entry> {
    let row = |name| {
        let mut row = system.in_database(COLLATION, ("pg_catalog", name));
        row.push((column, text(value)));
        (Audience::Everybody, row)
    };
    cluster::COLLATIONS.iter().map(|(_, name, ..)| row(*name)).collect()
}

/// `character_sets`: the encoding of the database.
fn character_sets(system: &System) -> Vec<Entry> {
    let mut row = vec![
        ("character_set_name", text("UTF8")),
        ("character_repertoire", text("UCS")),
        ("form_of_use", text("UTF8")),
    ];
    let columns = ["default_collate_catalog", "default_collate_schema", "default_collate_name"];
    row.extend(system.in_database(columns, ("pg_catalog", "C")));
    vec![(Audience::Everybody, row)]
}

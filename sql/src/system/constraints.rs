//! Constraints and dependencies: `pg_constraint`, `pg_depend`, `pg_rewrite`.

use std::sync::Arc;

use hyades_engine::storage::stored_routine::Routine;
use hyades_types::definition::{
    CheckConstraint, Deferral, ForeignKey, IndexDefinition, KeyAction, PrimaryKey, TableDefinition,
    TriggerDefinition,
};
use hyades_types::value::Value;

use super::casts;
use super::class::{Index, indexes_of};
use super::classes::has_default;
use super::extensions;
use super::object_id::{self, PG_ATTRDEF, PG_CLASS, PG_CONSTRAINT, PG_NAMESPACE, PG_REWRITE, PG_TYPE, Part};
use super::row::{NamedRow, column_numbers, int4, oid, text, truth};
use super::snapshot::System;
use crate::statement::kept_names::{full_name, names_type};

/// A constraint of a table.
pub(super) enum Constraint<'a> {
    Primary(&'a PrimaryKey),
    Unique(&'a IndexDefinition),
    Foreign(&'a ForeignKey),
    Check(&'a CheckConstraint),
    Trigger(&'a TriggerDefinition),
}

impl Constraint<'_> {
    pub(super) fn name(&self) -> &str {
        match self {
            Constraint::Primary(key) => &key.name,
            Constraint::Unique(index) => &index.name,
            Constraint::Foreign(key) => &key.name,
            Constraint::Check(check) => &check.name,
            Constraint::Trigger(trigger) => &trigger.name,
        }
    }

    pub(super) fn is_not_valid(&self) -> bool {
        match self {
            Constraint::Primary(_) | Constraint::Unique(_) | Constraint::Trigger(_) => false,
            Constraint::Foreign(key) => key.is_not_valid,
            Constraint::Check(check) => check.is_not_valid,
        }
    }

    pub(super) fn deferral(&self) -> Deferral {
        match self {
            Constraint::Primary(_) | Constraint::Check(_) => Deferral::Never,
            Constraint::Unique(index) => index.deferral,
            Constraint::Foreign(key) => key.deferral,
            Constraint::Trigger(trigger) => trigger.constraint.unwrap_or_default(),
        }
    }

    /// The columns of its own table.
    pub(super) fn columns(&self) -> Vec<u16> {
        match self {
            Constraint::Primary(key) => key.columns.clone(),
            Constraint::Unique(index) => index.key_columns().collect(),
            Constraint::Foreign(key) => key.columns.clone(),
            Constraint::Check(check) => check.columns.clone(),
            Constraint::Trigger(_) => Vec::new(),
        }
    }
}

impl System {
    /// The constraints of all tables, with the numbers of table and constraint.
    pub(super) fn constraints(&self) -> Vec<(u32, u32, Constraint<'_>)> {
        let mut found = Vec::new();
        for (table, definition) in self.tables() {
            let primary = definition.primary_key.iter().map(Constraint::Primary);
            let uniques =
                definition.indexes.iter().filter(|index| index.is_constraint).map(Constraint::Unique);
            let foreign = definition.foreign_keys.iter().map(Constraint::Foreign);
            let checks = definition.checks.iter().map(Constraint::Check);
            let triggers = definition.triggers.iter().filter(|trigger| trigger.constraint.is_some());
            let triggers = triggers.map(Constraint::Trigger);
            for constraint in primary.chain(uniques).chain(foreign).chain(checks).chain(triggers) {
                let own = object_id::of_part(table, Part::Constraint, constraint.name());
                found.push((table, own, constraint));
            }
        }
        found
    }

    /// The number of the unique index, checked immediately, over these columns of a table.
    pub(super) fn unique_index(&self, table: u32, columns: &[u16]) -> u32 {
        let Some(definition) = self.definition(table) else { return 0 };
        let is_over = |index: &&Index| {
            index.is_unique
                && index.deferral == Deferral::Never
                && index.columns.len() == columns.len()
                && index.columns.iter().all(|key| columns.contains(&key.column))
        };
        indexes_of(table, definition).iter().find(is_over).map_or(0, |index| index.oid)
    }
}

impl System {
    /// The number of a column in the catalog.
    fn column_number(&self, table: u32, column: u16) -> i32 {
        let definition = self.definition(table);
        definition.map_or(0, |definition| i32::from(definition.column_number(usize::from(column))))
    }

    /// The place of a foreign key's column in the unique key that it references.
    pub(super) fn place_in_unique(&self, key: &ForeignKey, at: usize) -> Option<usize> {
        let wanted = *key.parent_columns.get(at)?;
        self.referenced_index(key)?.columns.iter().position(|own| own.column == wanted)
    }

    /// The unique index that a foreign key references.
    pub(super) fn referenced_index(&self, key: &ForeignKey) -> Option<Index> {
        let index = self.unique_index(key.parent.0, &key.parent_columns);
        let definition = self.definition(key.parent.0)?;
        indexes_of(key.parent.0, definition).into_iter().find(|own| own.oid == index)
    }
}

fn action_letter(action: KeyAction) -> &'static str {
    match action {
        KeyAction::NoAction => "a",
        KeyAction::Restrict => "r",
        KeyAction::Cascade => "c",
        KeyAction::SetNull => "n",
        KeyAction::SetDefault => "d",
    }
}

/// The words of an action in SQL.
pub(super) fn action_words(action: KeyAction) -> &'static str {
    match action {
        KeyAction::NoAction => "NO ACTION",
        KeyAction::Restrict => "RESTRICT",
        KeyAction::Cascade => "CASCADE",
        KeyAction::SetNull => "SET NULL",
        KeyAction::SetDefault => "SET DEFAULT",
    }
}

/// `pg_constraint`
pub(super) fn constraints(system: &System) -> Vec<NamedRow> {
    let found = system.constraints();
    let rows = found.iter().map(|(table, own, constraint)| constraint_row(system, *table, *own, constraint));
    rows.chain(system.domain_constraints()).collect()
}

fn constraint_row(system: &System, table: u32, own: u32, constraint: &Constraint<'_>) -> NamedRow {
    let schema = system.definition(table).map_or(0, |definition| system.schema_oid(&definition.name.schema));
    let (letter, index) = match constraint {
        Constraint::Primary(key) => ("p", system.unique_index(table, &key.columns)),
        Constraint::Unique(index) => (if index.is_primary { "p" } else { "u" }, index.id.0),
        Constraint::Foreign(key) => ("f", system.unique_index(key.parent.0, &key.parent_columns)),
        Constraint::Check(_) => ("c", 0),
        Constraint::Trigger(_) => ("t", 0),
    };
    let foreign = |shown: fn(&ForeignKey) -> &'static str| {
        text(if let Constraint::Foreign(key) = constraint { shown(key) } else { " " })
    };
    let deferral = constraint.deferral();
    let mut row = vec![
        ("oid", oid(own)),
        ("conname", text(constraint.name())),
        ("connamespace", oid(schema)),
        ("contype", text(letter)),
        ("condeferrable", truth(deferral != Deferral::Never)),
        ("condeferred", truth(deferral == Deferral::InitiallyDeferred)),
        ("convalidated", truth(!constraint.is_not_valid())),
        ("conrelid", oid(table)),
        ("conindid", oid(index)),
        (
            "confrelid",
            oid(match constraint {
                Constraint::Foreign(key) => key.parent.0,
                _ => 0,
            }),
        ),
        ("confupdtype", foreign(|key| action_letter(key.on_update))),
        ("confdeltype", foreign(|key| action_letter(key.on_delete))),
        ("confmatchtype", foreign(|key| if key.is_full { "f" } else { "s" })),
        ("conislocal", truth(true)),
        ("connoinherit", truth(letter != "c")),
    ];
    if let Some(definition) = system.definition(table) {
        row.push(("conkey", column_numbers(definition, &constraint.columns())));
    }
    if let Constraint::Foreign(key) = constraint
        && let Some(parent) = system.definition(key.parent.0)
    {
        row.push(("confkey", column_numbers(parent, &key.parent_columns)));
    }
    if let Constraint::Foreign(key) = constraint
        && let Some(definition) = system.definition(table)
        && !key.delete_columns.is_empty()
    {
        row.push(("confdelsetcols", column_numbers(definition, &key.delete_columns)));
    }
    row
}

/// `pg_depend`: sequences depend on the columns that own them, defaults and constraints on columns, indexes
/// on their constraints.
pub(super) fn dependencies(system: &System) -> Vec<NamedRow> {
    let mut rows: Vec<NamedRow> = extensions::dependencies(system).collect();
    for sequence in &system.facts.sequences {
        if let Some(owner) = &sequence.definition.owner {
            let own = (PG_CLASS, object_id::of_sequence(sequence.id), 0);
            let column = (PG_CLASS, owner.table.0, system.column_number(owner.table.0, owner.column));
            rows.push(dependency(own, column, if owner.is_identity { "i" } else { "a" }));
        }
    }
    for (table, definition) in system.tables() {
        for (at, column) in
            definition.visible_columns().iter().enumerate().filter(|(_, column)| has_default(column))
        {
            let own = (PG_ATTRDEF, object_id::of_part(table, Part::Default, &column.name), 0);
            let number = i32::from(definition.column_number(at));
            rows.push(dependency(own, (PG_CLASS, table, number), "a"));
            let written = column.default.as_deref().filter(|_| column.generation.is_none());
            if let Some(sequence) = written.and_then(|written| system.drawn_from(written)) {
                rows.push(dependency(own, (PG_CLASS, sequence, 0), "n"));
            }
        }
        for index in indexes_of(table, definition) {
            let own = (PG_CLASS, index.oid, 0);
            if !index.is_constraint {
                for column in index.all_columns() {
                    let column = (PG_CLASS, table, system.column_number(table, column));
                    rows.push(dependency(own, column, "a"));
                }
                continue;
            }
            let constraint = object_id::of_part(table, Part::Constraint, &index.name);
            rows.push(dependency(own, (PG_CONSTRAINT, constraint, 0), "i"));
        }
    }
    for (table, own, constraint) in system.constraints() {
        for column in constraint.columns() {
            let column = (PG_CLASS, table, system.column_number(table, column));
            rows.push(dependency((PG_CONSTRAINT, own, 0), column, "a"));
        }
        if let Constraint::Foreign(key) = constraint {
            for column in &key.parent_columns {
                let column = (PG_CLASS, key.parent.0, system.column_number(key.parent.0, *column));
                rows.push(dependency((PG_CONSTRAINT, own, 0), column, "n"));
            }
        }
    }
    rows.extend(code_dependencies(system));
    rows.extend(domain_dependencies(system));
    rows.extend(composite_dependencies(system));
    rows
}

/// Dependencies of composite types on the types of their attributes.
fn composite_dependencies(system: &System) -> Vec<NamedRow> {
    let mut rows = Vec::new();
    for stored in &system.facts.types {
        let relation = (PG_CLASS, object_id::of_composite(stored.id()), 0);
        for field in stored.definition.fields().unwrap_or_default() {
            let own = (PG_CLASS, relation.1, i32::from(field.number));
            let used = field.sql_type.created_type();
            rows.extend(used.map(|used| dependency(own, (PG_TYPE, used.id, 0), "n")));
        }
        if stored.definition.fields().is_some() {
            rows.push(dependency(relation, (PG_TYPE, stored.id(), 0), "i"));
        }
    }
    rows
}

/// Dependencies of domains on what they are made of, and of their constraints on them and on what these name.
fn domain_dependencies(system: &System) -> Vec<NamedRow> {
    let mut rows = Vec::new();
    for (definition, domain) in system.domains() {
        let own = (PG_TYPE, definition.id, 0);
        let base = domain.base.created_type().map(|used| used.id);
        rows.extend(domain.parent.or(base).map(|base| dependency(own, (PG_TYPE, base, 0), "n")));
    }
    for (definition, check) in system.checks_of_domains() {
        let own = (PG_CONSTRAINT, object_id::of_part(definition.id, Part::Constraint, &check.name), 0);
        rows.push(dependency(own, (PG_TYPE, definition.id, 0), "a"));
        let types = system.facts.types.iter().filter(|other| names_type(&check.expression, &other.name()));
        rows.extend(types.map(|other| dependency(own, (PG_TYPE, other.id(), 0), "n")));
        let is_called = |routine: &&Arc<Routine>| {
            check.expression.contains(&format!("{}(", full_name(&routine.definition.name)))
        };
        let routines = system.facts.routines.iter().filter(is_called);
        let number = |routine: &Arc<Routine>| (object_id::PG_PROC, object_id::of_routine(routine.id), 0);
        rows.extend(routines.map(|routine| dependency(own, number(routine), "n")));
    }
    rows
}

/// Dependencies of views on what they read, and of functions on the tables whose rows they return.
fn code_dependencies(system: &System) -> Vec<NamedRow> {
    let mut rows = Vec::new();
    for (view, definition) in system.tables() {
        let Some(query) = definition.source() else { continue };
        let rule = (PG_REWRITE, object_id::of_part(view, Part::Rule, RETURN_RULE), 0);
        rows.push(dependency(rule, (PG_CLASS, view, 0), "i"));
        if definition.materialized.is_some() {
            // By this row pg_dump finds the order in which they are refreshed.
            let schema = system.schema_oid(&definition.name.schema);
            rows.push(dependency((PG_CLASS, view, 0), (PG_NAMESPACE, schema, 0), "n"));
        }
        for table in &query.tables {
            let mut columns = query.columns.iter().filter(|(of, _)| of == table).peekable();
            if columns.peek().is_none() {
                rows.push(dependency(rule, (PG_CLASS, table.0, 0), "n"));
            }
            for (_, column) in columns {
                let number = system.column_number(table.0, *column);
                rows.push(dependency(rule, (PG_CLASS, table.0, number), "n"));
            }
        }
        for (name, types) in &query.routines {
            let is_called = |routine: &&Arc<Routine>| {
                routine.definition.name == *name && routine.definition.identity() == *types
            };
            if let Some(routine) = system.facts.routines.iter().find(is_called) {
                let routine = (object_id::PG_PROC, object_id::of_routine(routine.id), 0);
                rows.push(dependency(rule, routine, "n"));
            }
        }
        let types = query.types.iter().map(|own| (PG_TYPE, *own, 0));
        rows.extend(types.map(|own| dependency(rule, own, "n")));
    }
    let casts = casts::dependencies(system).into_iter();
    rows.extend(casts.map(|(cast, (catalog, number))| {
        dependency((object_id::PG_CAST, cast, 0), (catalog, number, 0), "n")
    }));
    for routine in &system.facts.routines {
        let own = (object_id::PG_PROC, object_id::of_routine(routine.id), 0);
        if let Some(table) = routine.definition.traits.row_of {
            rows.push(dependency(own, (PG_CLASS, table.0, 0), "n"));
        }
    }
    rows
}

/// The name of every view's rule.
pub(super) const RETURN_RULE: &str = "_RETURN";

/// `pg_rewrite`: the rules of views.
pub(super) fn rules(system: &System) -> Vec<NamedRow> {
    let row = |(view, definition): (u32, &Arc<TableDefinition>)| {
        let query = definition.source()?;
        Some(vec![
            ("oid", oid(object_id::of_part(view, Part::Rule, RETURN_RULE))),
            ("rulename", text(RETURN_RULE)),
            ("ev_class", oid(view)),
            ("ev_type", text("1")),
            ("ev_enabled", text("O")),
            ("is_instead", truth(true)),
            ("ev_qual", text("<>")),
            ("ev_action", text(&query.query)),
        ])
    };
    system.tables().filter_map(row).collect()
}

/// The catalog's number, the object's number and the part of an object.
type Address = (u32, u32, i32);

fn dependency(own: Address, on: Address, kind: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("classid", oid(own.0)),
        ("objid", oid(own.1)),
        ("objsubid", int4(own.2)),
        ("refclassid", oid(on.0)),
        ("refobjid", oid(on.1)),
        ("refobjsubid", int4(on.2)),
        ("deptype", text(kind)),
    ]
}

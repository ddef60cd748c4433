//! `information_schema`, the catalog of the SQL standard. It shows tables, sequences and routines of the
//! database, each to roles that have some right on it (`visibility`). Of the catalog itself it shows only the
//! relations and their columns.

use std::sync::Arc;

use hyades_engine::storage::stored_routine::Routine;
use hyades_types::access::{ObjectKind, Privileges};
use hyades_types::definition::{
    CheckConstraint, ColumnDefinition, Deferral, DomainDefinition, Identity, ParameterMode, Returns,
    RoutineKind, TableDefinition, TableId, TypeDefinition,
};
use hyades_types::search_path;
use hyades_types::sequence::Sequence;
use hyades_types::system_catalog::Measure;
use hyades_types::value::{SqlType, Value};

use super::class::{Class, ClassKind};
use super::constraints::{Constraint, action_words};
use super::definitions::default_of;
use super::relation::SystemRelation;
use super::routines::{result_type, source_of};
use super::row::{NamedRow, int4, or_null, text};
use super::snapshot::System;
use super::visibility::{self, Audience, Entry};
use super::{cluster, object_id, roles, triggers};

/// The maximum number of bytes in a text, as in PostgreSQL.
const LONGEST_TEXT: i32 = 1 << 30;
/// The digits after the point of a second that is not restricted.
const MOST_PRECISE: u8 = 6;
/// The maximum number of bytes in a character.
const CHARACTER_BYTES: u32 = 4;

/// The source of a view's rows. There are none for objects that cannot be created here.
pub(super) fn entries_of(name: &str) -> fn(&System) -> Vec<Entry> {
    match name {
        "tables" => tables,
        "columns" => columns,
        "column_domain_usage" => column_domain_usage,
        "domain_constraints" => domain_constraints,
        "domains" => domains,
        "views" => views,
        "view_table_usage" => view_table_usage,
        "view_column_usage" => view_column_usage,
        "schemata" => schemata,
        "table_constraints" => table_constraints,
        "key_column_usage" => key_column_usage,
        "constraint_column_usage" => constraint_column_usage,
        "constraint_table_usage" => constraint_table_usage,
        "referential_constraints" => referential_constraints,
        "check_constraints" => check_constraints,
        "sequences" => sequences,
        "routines" => routines,
        "parameters" => parameters,
        "triggers" => triggers::in_standard,
        "triggered_update_columns" => triggers::update_columns,
        "information_schema_catalog_name" => {
            |system| vec![(Audience::Everybody, vec![("catalog_name", text(&system.facts.database))])]
        }
        "enabled_roles" => {
            |system| roles::enabled(system).into_iter().map(|row| (Audience::Everybody, row)).collect()
        }
        "element_types" => element_types,
        _ => |_| Vec::new(),
    }
}

pub(super) fn yes_or_no(truth: bool) -> Value {
    text(if truth { "YES" } else { "NO" })
}

/// What a value of a type can hold.
pub(super) fn measured(measure: Measure, sql_type: SqlType) -> Value {
    let number = |number: Option<i32>| or_null(number, int4);
    match measure {
        Measure::Characters => match sql_type {
            SqlType::Varchar(Some(length)) | SqlType::Char(length @ 1..) => int4(length),
            _ => Value::Null,
        },
        Measure::Bytes => match sql_type {
            SqlType::Varchar(Some(length)) | SqlType::Char(length @ 1..) => int4(length * CHARACTER_BYTES),
            SqlType::Text | SqlType::Varchar(None) | SqlType::Char(_) => int4(LONGEST_TEXT),
            _ => Value::Null,
        },
        Measure::Precision => number(match sql_type {
            SqlType::SmallInt => Some(16),
            SqlType::Integer => Some(32),
            SqlType::BigInt => Some(64),
            SqlType::Real => Some(24),
            SqlType::DoublePrecision => Some(53),
            SqlType::Numeric(modifier) => modifier.map(|(precision, _)| i32::from(precision)),
            _ => None,
        }),
        Measure::Radix => number(match sql_type {
            SqlType::Numeric(_) => Some(10),
            _ if sql_type.is_numeric() => Some(2),
            _ => None,
        }),
        Measure::Scale => number(match sql_type {
            SqlType::SmallInt | SqlType::Integer | SqlType::BigInt => Some(0),
            SqlType::Numeric(modifier) => modifier.map(|(_, scale)| i32::from(scale)),
            _ => None,
        }),
        Measure::TimePrecision => number(match sql_type {
            SqlType::Date => Some(0),
            SqlType::Time(precision)
            | SqlType::TimeTz(precision)
            | SqlType::Timestamp(precision)
            | SqlType::TimestampTz(precision) => Some(i32::from(precision.unwrap_or(MOST_PRECISE))),
            SqlType::Interval(modifier) => Some(i32::from(modifier.precision.unwrap_or(MOST_PRECISE))),
            _ => None,
        }),
        Measure::IntervalFields => match sql_type {
            SqlType::Interval(modifier) if modifier.fields.is_some() => {
                let name = modifier.type_name().to_uppercase();
                text(name.strip_prefix("INTERVAL ").unwrap_or(&name))
            }
            _ => Value::Null,
        },
    }
}

/// The name of a type, and how much a value of it holds. Nothing is said of what is made of a domain.
fn measures(sql_type: SqlType, parent: Option<&TypeDefinition>) -> NamedRow {
    let own = |measure| if parent.is_some() { Value::Null } else { measured(measure, sql_type) };
    vec![
        ("data_type", if parent.is_some() { text("USER-DEFINED") } else { type_name(sql_type) }),
        ("character_maximum_length", own(Measure::Characters)),
        ("character_octet_length", own(Measure::Bytes)),
        ("numeric_precision", own(Measure::Precision)),
        ("numeric_precision_radix", own(Measure::Radix)),
        ("numeric_scale", own(Measure::Scale)),
        ("datetime_precision", own(Measure::TimePrecision)),
        ("interval_type", own(Measure::IntervalFields)),
    ]
}

fn type_name(sql_type: SqlType) -> Value {
    text(match sql_type {
        SqlType::Array(_) => "ARRAY",
        SqlType::Enum(_) | SqlType::Extension(_) | SqlType::Composite(_) => "USER-DEFINED",
        _ => sql_type.base_name(),
    })
}

/// The type that a column, or a domain, is made of.
fn udt(system: &System, sql_type: SqlType, parent: Option<&TypeDefinition>) -> NamedRow {
    let (schema, name) = match parent {
        Some(parent) => (parent.schema.as_str(), parent.name.as_str()),
        None => (system.type_schema(sql_type), sql_type.catalog_name()),
    };
    vec![
        ("udt_catalog", text(&system.facts.database)),
        ("udt_schema", text(schema)),
        ("udt_name", text(name)),
    ]
}

/// `information_schema.tables`
fn tables(system: &System) -> Vec<Entry> {
    let shown = system.classes.iter().filter(|class| matches!(class.letter(), "r" | "v"));
    let row = |class: &Class| {
        let is_table = class.letter() == "r";
        let table_type = match system.schema_name(class.schema) {
            schema if is_table && search_path::is_temporary(schema) => "LOCAL TEMPORARY",
            _ if is_table => "BASE TABLE",
            _ => "VIEW",
        };
        let row = vec![
            ("table_catalog", text(&system.facts.database)),
            ("table_schema", text(system.schema_name(class.schema))),
            ("table_name", text(&class.name)),
            ("table_type", text(table_type)),
            ("is_insertable_into", yes_or_no(is_table || updatable_of(system, class).is_some())),
            ("is_typed", yes_or_no(false)),
        ];
        (class.audience(ObjectKind::Relation.all()), row)
    };
    shown.map(row).collect()
}

/// For each column of an updatable view, the underlying column that is changed through it, if any.
fn updatable_of<'s>(system: &'s System, class: &Class) -> Option<&'s [Option<u16>]> {
    let ClassKind::View(at) = class.kind else { return None };
    let base = system.definitions[at].view()?.base.as_ref()?;
    base.columns.iter().any(Option::is_some).then_some(base.columns.as_slice())
}

/// `information_schema.views`
fn views(system: &System) -> Vec<Entry> {
    let mut rows = Vec::new();
    for class in &system.classes {
        let ClassKind::View(at) = class.kind else { continue };
        let is_updatable = updatable_of(system, class).is_some();
        let shown = system.owns(class.oid).then(|| system.view_text(at, false)).flatten();
        let row = vec![
            ("table_catalog", text(&system.facts.database)),
            ("table_schema", text(system.schema_name(class.schema))),
            ("table_name", text(&class.name)),
            ("view_definition", or_null(shown, text)),
            ("check_option", text("NONE")),
            ("is_updatable", yes_or_no(is_updatable)),
            ("is_insertable_into", yes_or_no(is_updatable)),
            ("is_trigger_updatable", yes_or_no(false)),
            ("is_trigger_deletable", yes_or_no(false)),
            ("is_trigger_insertable_into", yes_or_no(false)),
        ];
        rows.push((class.audience(ObjectKind::Relation.all()), row));
    }
    rows
}

/// The first columns of `view_table_usage` and `view_column_usage`.
fn usage_row(system: &System, view: &Class, table: u32) -> Option<NamedRow> {
    let table = system.class(table).filter(|class| class.letter() != "m")?;
    Some(vec![
        ("view_catalog", text(&system.facts.database)),
        ("view_schema", text(system.schema_name(view.schema))),
        ("view_name", text(&view.name)),
        ("table_catalog", text(&system.facts.database)),
        ("table_schema", text(system.schema_name(table.schema))),
        ("table_name", text(&table.name)),
    ])
}

/// `information_schema.view_table_usage`
fn view_table_usage(system: &System) -> Vec<Entry> {
    let mut rows = Vec::new();
    for class in &system.classes {
        let ClassKind::View(at) = class.kind else { continue };
        let tables = system.definitions[at].view().map(|view| view.tables.as_slice()).unwrap_or_default();
        let row = |table: &TableId| Some((Audience::Owner(table.0), usage_row(system, class, table.0)?));
        rows.extend(tables.iter().filter_map(row));
    }
    rows
}

/// `information_schema.view_column_usage`
fn view_column_usage(system: &System) -> Vec<Entry> {
    let mut rows = Vec::new();
    for class in &system.classes {
        let ClassKind::View(at) = class.kind else { continue };
        let columns = system.definitions[at].view().map(|view| view.columns.as_slice()).unwrap_or_default();
        for (table, column) in columns {
            let definition = system.definition(table.0);
            let name = definition.and_then(|definition| definition.columns.get(usize::from(*column)));
            let (Some(mut row), Some(column)) = (usage_row(system, class, table.0), name) else { continue };
            row.push(("column_name", text(&column.name)));
            rows.push((Audience::Owner(table.0), row));
        }
    }
    rows
}

/// `information_schema.columns`
fn columns(system: &System) -> Vec<Entry> {
    let mut rows = Vec::new();
    for class in &system.classes {
        match &class.kind {
            ClassKind::Table(at) | ClassKind::View(at) => {
                let definition = &system.definitions[*at];
                for (at, column) in definition.visible_columns().iter().enumerate() {
                    rows.push(column_row(system, class, at, column));
                }
            }
            ClassKind::System(relation) => rows.extend(system_columns(system, class, relation)),
            ClassKind::Index(..)
            | ClassKind::Sequence
            | ClassKind::Composite(..)
            | ClassKind::Materialized(_) => {}
        }
    }
    rows
}

fn system_columns(system: &System, class: &Class, relation: &SystemRelation) -> Vec<Entry> {
    let column = |(at, (name, sql_type)): (usize, &(String, SqlType))| {
        let column = ColumnDefinition {
            is_nullable: relation.kind == "v" || sql_type.length_bytes() < 0,
            ..ColumnDefinition::new(name.clone(), *sql_type)
        };
        column_row(system, class, at, &column)
    };
    relation.columns.iter().enumerate().map(column).collect()
}

fn column_row(system: &System, class: &Class, at: usize, column: &ColumnDefinition) -> Entry {
    let is_own = column.identity.is_none() && column.generation.is_none();
    let default = if is_own { system.default_of(column) } else { None };
    let number = system.definition(class.oid).map_or(at + 1, |table| usize::from(table.column_number(at)));
    let mut row = vec![
        ("table_catalog", text(&system.facts.database)),
        ("table_schema", text(system.schema_name(class.schema))),
        ("table_name", text(&class.name)),
        ("column_name", text(&column.name)),
        ("ordinal_position", int4(number)),
        ("column_default", or_null(default, text)),
        ("is_nullable", yes_or_no(column.is_nullable)),
    ];
    let domain = column.domain.and_then(|domain| system.domain(domain));
    let parent = domain.and_then(|(_, domain)| system.domain(domain.parent?)).map(|(parent, _)| parent);
    row.extend(measures(column.sql_type, parent));
    if let Some((_, name)) = cluster::declared_collation(column.collation) {
        row.push(("collation_catalog", text(&system.facts.database)));
        row.extend([("collation_schema", text("pg_catalog")), ("collation_name", text(name))]);
    }
    row.extend(domain.map_or_else(NamedRow::new, |(definition, _)| system.domain_names(definition)));
    row.extend(udt(system, column.sql_type, parent));
    row.extend([
        ("dtd_identifier", text(number.to_string())),
        ("is_self_referencing", yes_or_no(false)),
        ("is_identity", yes_or_no(column.identity.is_some())),
    ]);
    row.extend(identity_columns(system, class.oid, at, column.identity));
    row.push(("is_generated", text(if column.generation.is_some() { "ALWAYS" } else { "NEVER" })));
    let expression = column.generation.as_ref().map(|generation| system.unqualified(&generation.shown));
    row.push(("generation_expression", or_null(expression, text)));
    let is_of_table = |columns: &[Option<u16>]| columns.get(at).is_some_and(Option::is_some);
    let is_updatable = class.letter() == "r" || updatable_of(system, class).is_some_and(is_of_table);
    row.push(("is_updatable", yes_or_no(is_updatable)));
    (class.audience(visibility::of_columns()), row)
}

/// `information_schema.element_types`: of columns that are arrays.
fn element_types(system: &System) -> Vec<Entry> {
    let mut rows = Vec::new();
    for class in &system.classes {
        let (ClassKind::Table(at) | ClassKind::View(at)) = class.kind else { continue };
        let table = &system.definitions[at];
        for (at, column) in table.visible_columns().iter().enumerate() {
            let SqlType::Array(element) = column.sql_type else { continue };
            let number = table.column_number(at).to_string();
            let mut row = vec![
                ("object_catalog", text(&system.facts.database)),
                ("object_schema", text(&table.name.schema)),
                ("object_name", text(&table.name.name)),
                ("object_type", text("TABLE")),
                ("collection_type_identifier", text(&number)),
                ("data_type", type_name(element.sql_type())),
            ];
            row.extend(udt(system, element.sql_type(), None));
            row.push(("dtd_identifier", text(format!("a{number}"))));
            rows.push((class.audience(visibility::of_columns()), row));
        }
    }
    rows
}

/// The columns about the sequence of an identity column.
fn identity_columns(system: &System, table: u32, at: usize, identity: Option<Identity>) -> NamedRow {
    let owns = |sequence: &&Arc<Sequence>| {
        let owner = sequence.definition.owner.filter(|owner| owner.is_identity);
        owner.is_some_and(|owner| owner.table.0 == table && usize::from(owner.column) == at)
    };
    let found = identity.and_then(|_| system.facts.sequences.iter().find(owns));
    let number = |number: fn(&Sequence) -> i64| or_null(found, |found| text(number(found).to_string()));
    vec![
        (
            "identity_generation",
            or_null(identity, |identity| {
                text(if identity == Identity::Always { "ALWAYS" } else { "BY DEFAULT" })
            }),
        ),
        ("identity_start", number(|sequence| sequence.definition.start)),
        ("identity_increment", number(|sequence| sequence.definition.increment)),
        ("identity_maximum", number(|sequence| sequence.definition.greatest)),
        ("identity_minimum", number(|sequence| sequence.definition.least)),
        ("identity_cycle", yes_or_no(found.is_some_and(|found| found.definition.cycles))),
    ]
}

/// `information_schema.schemata`
fn schemata(system: &System) -> Vec<Entry> {
    let row = |(own, name): &(u32, String)| {
        let row = vec![
            ("catalog_name", text(&system.facts.database)),
            ("schema_name", text(name)),
            ("schema_owner", text(system.role_name(system.owner_of(*own)).unwrap_or_default())),
        ];
        (Audience::Holders(*own, ObjectKind::Schema, ObjectKind::Schema.all()), row)
    };
    system.schemas.iter().map(row).collect()
}

/// The database, schema and name of a constraint or its table, under these column names.
fn named(system: &System, columns: [&'static str; 3], table: &TableDefinition, name: &str) -> NamedRow {
    let [catalog, schema, own] = columns;
    vec![(catalog, text(&system.facts.database)), (schema, text(&table.name.schema)), (own, text(name))]
}

const CONSTRAINT: [&str; 3] = ["constraint_catalog", "constraint_schema", "constraint_name"];
const TABLE: [&str; 3] = ["table_catalog", "table_schema", "table_name"];

/// The constraints with their tables.
fn constraints(system: &System) -> Vec<(u32, &Arc<TableDefinition>, Constraint<'_>)> {
    let found = system.constraints().into_iter();
    found.filter_map(|(table, _, constraint)| Some((table, system.definition(table)?, constraint))).collect()
}

/// The name of the constraint that PostgreSQL shows for a NOT NULL column.
fn not_null_name(schema: u32, table: u32, number: u16) -> String {
    format!("{schema}_{table}_{number}_not_null")
}

/// Columns that are NOT NULL, with their tables.
fn not_nulls(system: &System) -> Vec<(u32, &Arc<TableDefinition>, String, &ColumnDefinition)> {
    let mut found = Vec::new();
    for (own, table) in system.tables() {
        let columns = table.columns.iter().enumerate().filter(|(_, column)| !column.is_nullable);
        let schema = system.schema_oid(&table.name.schema);
        let name = |at| not_null_name(schema, own, table.column_number(at));
        found.extend(columns.map(|(at, column)| (own, table, name(at), column)));
    }
    found
}

/// `information_schema.table_constraints`
fn table_constraints(system: &System) -> Vec<Entry> {
    let row = |own: u32, table: &TableDefinition, name: &str, (kind, deferral): (&str, Deferral)| {
        let mut row = named(system, CONSTRAINT, table, name);
        row.extend(named(system, TABLE, table, &table.name.name));
        row.extend([
            ("constraint_type", text(kind)),
            ("is_deferrable", yes_or_no(deferral != Deferral::Never)),
            ("initially_deferred", yes_or_no(deferral == Deferral::InitiallyDeferred)),
            ("enforced", yes_or_no(true)),
        ]);
        (Audience::Holders(own, ObjectKind::Relation, visibility::of_changes()), row)
    };
    let mut rows = Vec::new();
    for (own, table, constraint) in constraints(system) {
        let kind = match constraint {
            Constraint::Primary(_) => "PRIMARY KEY",
            Constraint::Unique(index) if index.is_primary => "PRIMARY KEY",
            Constraint::Unique(_) => "UNIQUE",
            Constraint::Foreign(_) => "FOREIGN KEY",
            Constraint::Check(_) => "CHECK",
            Constraint::Trigger(_) => continue,
        };
        rows.push(row(own, table, constraint.name(), (kind, constraint.deferral())));
    }
    for (own, table, name, _) in not_nulls(system) {
        rows.push(row(own, table, &name, ("CHECK", Deferral::Never)));
    }
    rows
}

/// `information_schema.check_constraints`
fn check_constraints(system: &System) -> Vec<Entry> {
    let row = |(own, table, name, column): (u32, &Arc<TableDefinition>, String, &ColumnDefinition)| {
        let mut row = named(system, CONSTRAINT, table, &name);
        row.push(("check_clause", text(format!("{} IS NOT NULL", column.name))));
        (Audience::Owner(own), row)
    };
    let mut rows = Vec::new();
    for (own, table, constraint) in constraints(system) {
        if let Constraint::Check(check) = constraint {
            let mut row = named(system, CONSTRAINT, table, &check.name);
            row.push(("check_clause", text(format!("({})", system.unqualified(&check.shown)))));
            rows.push((Audience::Owner(own), row));
        }
    }
    rows.extend(not_nulls(system).into_iter().map(row));
    rows.extend(system.checks_of_domains().map(|(definition, check)| {
        let row = vec![
            ("constraint_catalog", text(&system.facts.database)),
            ("constraint_schema", text(&definition.schema)),
            ("constraint_name", text(&check.name)),
            ("check_clause", text(format!("({})", system.shown_condition(check)))),
        ];
        (Audience::Owner(definition.id), row)
    }));
    rows
}

/// `information_schema.key_column_usage`
fn key_column_usage(system: &System) -> Vec<Entry> {
    let mut rows = Vec::new();
    let found = constraints(system).into_iter();
    for (own, table, constraint) in found.filter(|(.., found)| !matches!(found, Constraint::Check(_))) {
        for (at, column) in constraint.columns().iter().enumerate() {
            let mut row = named(system, CONSTRAINT, table, constraint.name());
            row.extend(named(system, TABLE, table, &table.name.name));
            let in_unique = match &constraint {
                Constraint::Foreign(key) => system.place_in_unique(key, at),
                _ => None,
            };
            row.extend([
                ("column_name", text(&table.columns[usize::from(*column)].name)),
                ("ordinal_position", int4(at + 1)),
                ("position_in_unique_constraint", or_null(in_unique, |at| int4(at + 1))),
            ]);
            let audience = Audience::Holders(own, ObjectKind::Relation, visibility::of_columns());
            rows.push((audience, row));
        }
    }
    rows
}

/// The table that a constraint refers to, with its number, and its columns there.
fn used<'a>(
    system: &'a System,
    (own, table): (u32, &'a Arc<TableDefinition>),
    constraint: &'a Constraint<'_>,
) -> Option<(u32, &'a Arc<TableDefinition>, Vec<u16>)> {
    match constraint {
        Constraint::Primary(_) | Constraint::Unique(_) | Constraint::Check(_) => {
            Some((own, table, constraint.columns()))
        }
        Constraint::Trigger(_) => None,
        Constraint::Foreign(key) => {
            Some((key.parent.0, system.definition(key.parent.0)?, key.parent_columns.clone()))
        }
    }
}

/// `information_schema.constraint_column_usage`
fn constraint_column_usage(system: &System) -> Vec<Entry> {
    let mut rows = Vec::new();
    for (own, table, constraint) in &constraints(system) {
        let Some((used, seen, columns)) = used(system, (*own, table), constraint) else { continue };
        for column in columns {
            let mut row = named(system, TABLE, seen, &seen.name.name);
            row.push(("column_name", text(&seen.columns[usize::from(column)].name)));
            row.extend(named(system, CONSTRAINT, table, constraint.name()));
            rows.push((Audience::Owner(used), row));
        }
    }
    rows
}

/// `information_schema.constraint_table_usage`
fn constraint_table_usage(system: &System) -> Vec<Entry> {
    let mut rows = Vec::new();
    for (own, table, constraint) in &constraints(system) {
        if let Some((used, seen, _)) = used(system, (*own, table), constraint) {
            let mut row = named(system, TABLE, seen, &seen.name.name);
            row.extend(named(system, CONSTRAINT, table, constraint.name()));
            rows.push((Audience::Owner(used), row));
        }
    }
    rows
}

/// `information_schema.referential_constraints`
fn referential_constraints(system: &System) -> Vec<Entry> {
    let mut rows = Vec::new();
    for (own, table, constraint) in &constraints(system) {
        let Constraint::Foreign(key) = constraint else { continue };
        let Some(parent) = system.definition(key.parent.0) else { continue };
        let Some(unique) = system.referenced_index(key) else { continue };
        let mut row = named(system, CONSTRAINT, table, &key.name);
        let columns = ["unique_constraint_catalog", "unique_constraint_schema", "unique_constraint_name"];
        row.extend(named(system, columns, parent, &unique.name));
        row.extend([
            ("match_option", text(if key.is_full { "FULL" } else { "NONE" })),
            ("update_rule", text(action_words(key.on_update))),
            ("delete_rule", text(action_words(key.on_delete))),
        ]);
        rows.push((Audience::Holders(*own, ObjectKind::Relation, visibility::of_changes()), row));
    }
    rows
}

/// `information_schema.sequences`, without those of identity columns.
fn sequences(system: &System) -> Vec<Entry> {
    let is_shown =
        |sequence: &&Arc<Sequence>| !sequence.definition.owner.is_some_and(|owner| owner.is_identity);
    let row = |sequence: &Arc<Sequence>| {
        let definition = &sequence.definition;
        let own = |measure| measured(measure, definition.sql_type);
        let row = vec![
            ("sequence_catalog", text(&system.facts.database)),
            ("sequence_schema", text(&definition.name.schema)),
            ("sequence_name", text(&definition.name.name)),
            ("data_type", type_name(definition.sql_type)),
            ("numeric_precision", own(Measure::Precision)),
            ("numeric_precision_radix", own(Measure::Radix)),
            ("numeric_scale", own(Measure::Scale)),
            ("start_value", text(definition.start.to_string())),
            ("minimum_value", text(definition.least.to_string())),
            ("maximum_value", text(definition.greatest.to_string())),
            ("increment", text(definition.increment.to_string())),
            ("cycle_option", yes_or_no(definition.cycles)),
        ];
        (Audience::Holders(sequence.id.0, ObjectKind::Sequence, ObjectKind::Sequence.all()), row)
    };
    system.facts.sequences.iter().filter(is_shown).map(row).collect()
}

/// A unique name of a routine.
pub(super) fn specific_name(routine: &Routine) -> String {
    format!("{}_{}", routine.definition.name.name, object_id::of_routine(routine.id))
}

/// `information_schema.routines`
fn routines(system: &System) -> Vec<Entry> {
    let routines = system.facts.routines.iter();
    routines.map(|routine| (audience_of(routine), routine_row(system, routine))).collect()
}

/// The roles that may call a routine, and its owner.
fn audience_of(routine: &Routine) -> Audience {
    Audience::Holders(routine.id.0, ObjectKind::Routine, Privileges::EXECUTE)
}

fn routine_row(system: &System, routine: &Routine) -> NamedRow {
    let definition = &routine.definition;
    let database = || text(&system.facts.database);
    let is_function = definition.kind == RoutineKind::Function;
    let given = if is_function { system.data_type(result_type(definition)) } else { None };
    let given = given.as_deref();
    let body = system.owns(routine.id.0).then(|| source_of(definition));
    vec![
        ("specific_catalog", database()),
        ("specific_schema", text(&definition.name.schema)),
        ("specific_name", text(specific_name(routine))),
        ("routine_catalog", database()),
        ("routine_schema", text(&definition.name.schema)),
        ("routine_name", text(&definition.name.name)),
        ("routine_type", text(definition.kind.word().to_uppercase())),
        ("data_type", or_null(given, |given| text(given.standard_name()))),
        ("type_udt_catalog", or_null(given, |_| database())),
        ("type_udt_schema", or_null(given, |given| text(&given.schema))),
        ("type_udt_name", or_null(given, |given| text(&given.name))),
        ("dtd_identifier", or_null(given, |_| text("0"))),
        ("routine_body", text(if definition.language == "sql" { "SQL" } else { "EXTERNAL" })),
        ("routine_definition", or_null(body, text)),
        ("external_language", text(definition.language.to_uppercase())),
        ("parameter_style", text("GENERAL")),
        ("is_deterministic", yes_or_no(false)),
        ("sql_data_access", text("MODIFIES")),
        ("is_null_call", or_null(given, |_| yes_or_no(definition.is_strict))),
        ("schema_level_routine", yes_or_no(true)),
        ("max_dynamic_result_sets", int4(0)),
        ("security_type", text("INVOKER")),
        ("as_locator", yes_or_no(false)),
        ("is_udt_dependent", yes_or_no(false)),
    ]
}

/// A parameter of a routine, or a column of the table that it returns.
struct Parameter<'a> {
    name: Option<&'a str>,
    mode: &'static str,
    sql_type: SqlType,
    default: Option<String>,
}

fn parameters_of<'r>(system: &System, routine: &'r Routine) -> Vec<Parameter<'r>> {
    let definition = &routine.definition;
    let mut found: Vec<Parameter<'_>> = definition
        .parameters
        .iter()
        .map(|parameter| Parameter {
            name: parameter.name.as_deref(),
            mode: match parameter.mode {
                ParameterMode::In | ParameterMode::Variadic => "IN",
                ParameterMode::Out => "OUT",
                ParameterMode::InOut => "INOUT",
            },
            sql_type: parameter.sql_type,
            default: default_of(system, parameter),
        })
        .collect();
    if let Returns::Table(columns) = &definition.returns {
        found.extend(columns.iter().map(|(name, sql_type)| Parameter {
            name: Some(name),
            mode: "OUT",
            sql_type: *sql_type,
            default: None,
        }));
    }
    found
}

/// `information_schema.parameters`
fn parameters(system: &System) -> Vec<Entry> {
    let mut rows = Vec::new();
    for routine in &system.facts.routines {
        let is_own = system.owns(routine.id.0);
        for (at, parameter) in parameters_of(system, routine).into_iter().enumerate() {
            let default = parameter.default.filter(|_| is_own);
            let row = vec![
                ("specific_catalog", text(&system.facts.database)),
                ("specific_schema", text(&routine.definition.name.schema)),
                ("specific_name", text(specific_name(routine))),
                ("ordinal_position", int4(at + 1)),
                ("parameter_mode", text(parameter.mode)),
                ("is_result", yes_or_no(false)),
                ("as_locator", yes_or_no(false)),
                ("parameter_name", or_null(parameter.name, text)),
                ("data_type", type_name(parameter.sql_type)),
                ("udt_catalog", text(&system.facts.database)),
                ("udt_schema", text(system.type_schema(parameter.sql_type))),
                ("udt_name", text(parameter.sql_type.catalog_name())),
                ("dtd_identifier", text((at + 1).to_string())),
                ("parameter_default", or_null(default, text)),
            ];
            rows.push((audience_of(routine), row));
        }
    }
    rows
}

fn domain_entry(definition: &TypeDefinition, row: NamedRow) -> Entry {
    (Audience::Holders(definition.id, ObjectKind::Type, ObjectKind::Type.all()), row)
}

/// `information_schema.domains`
fn domains(system: &System) -> Vec<Entry> {
    let row = |(definition, domain): (&TypeDefinition, &DomainDefinition)| {
        let mut row = system.domain_names(definition);
        let parent = domain.parent.and_then(|parent| system.domain(parent)).map(|(parent, _)| parent);
        row.extend(measures(domain.base, parent));
        row.push(("domain_default", or_null(system.default_of_domain(domain), text)));
        row.extend(udt(system, domain.base, parent));
        row.push(("dtd_identifier", text("1")));
        domain_entry(definition, row)
    };
    system.domains().map(row).collect()
}

/// `information_schema.domain_constraints`
fn domain_constraints(system: &System) -> Vec<Entry> {
    let row = |(definition, check): (&TypeDefinition, &CheckConstraint)| {
        let mut row = vec![
            ("constraint_catalog", text(&system.facts.database)),
            ("constraint_schema", text(&definition.schema)),
            ("constraint_name", text(&check.name)),
        ];
        row.extend(system.domain_names(definition));
        row.extend([("is_deferrable", yes_or_no(false)), ("initially_deferred", yes_or_no(false))]);
        domain_entry(definition, row)
    };
    system.checks_of_domains().map(row).collect()
}

/// `information_schema.column_domain_usage`
fn column_domain_usage(system: &System) -> Vec<Entry> {
    let mut rows = Vec::new();
    for (definition, _) in system.domains() {
        for (_, table) in system.tables() {
            let columns = table.visible_columns().iter();
            for column in columns.filter(|column| column.domain == Some(definition.id)) {
                let mut row = system.domain_names(definition);
                row.extend([
                    ("table_catalog", text(&system.facts.database)),
                    ("table_schema", text(&table.name.schema)),
                    ("table_name", text(&table.name.name)),
                    ("column_name", text(&column.name)),
                ]);
                rows.push((Audience::Owner(definition.id), row));
            }
        }
    }
    rows
}

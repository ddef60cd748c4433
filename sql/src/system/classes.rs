//! Relations and their columns: `pg_class`, `pg_attribute`, `pg_attrdef`, `pg_index`, `pg_sequence`.

use std::sync::Arc;

use hyades_types::access::ObjectKind;
use hyades_types::definition::{
    Collation, ColumnDefinition, Deferral, Identity, IndexColumn, IndexDefinition,
};
use hyades_types::search_path;
use hyades_types::sequence::Sequence;
use hyades_types::value::composite::CompositeType;
use hyades_types::value::{ArrayElement, SqlType, Value};

use super::class::{Class, ClassKind};
use super::object_id::{self, Part};
use super::operator_classes::operator_class;
use super::relation::SEQUENCE_COLUMNS;
use super::row::{self, NamedRow, column_numbers, int2, int4, int8, oid, text, texts, truth};
use super::snapshot::System;
use super::{cluster, data_types};

/// A column of a relation of any kind.
struct Column<'a> {
    name: &'a str,
    sql_type: SqlType,
    is_nullable: bool,
    collation: Collation,
    /// The definition, if it is a column of a table of the database.
    definition: Option<&'a ColumnDefinition>,
}

/// The number of a column's collation; 0 if its type has none.
fn collation_of(sql_type: SqlType, collation: Collation) -> u32 {
    let of_type = data_types::of(sql_type).map_or(0, |data_type| data_type.collation);
    cluster::declared_collation(collation).filter(|_| of_type != 0).map_or(of_type, |(number, _)| number)
}

fn columns_of<'a>(class: &'a Class, system: &'a System) -> Vec<Column<'a>> {
    let of_table = |column: &'a ColumnDefinition| Column {
        name: &column.name,
        sql_type: column.sql_type,
        is_nullable: column.is_nullable,
        collation: column.collation,
        definition: Some(column),
    };
    match &class.kind {
        ClassKind::Table(at) | ClassKind::Materialized(at) | ClassKind::View(at) => {
            system.definitions[*at].visible_columns().iter().map(of_table).collect()
        }
        ClassKind::Index(at, index) => {
            let columns = &system.definitions[*at].columns;
            let of_index = |column: &u16| {
                let column = of_table(&columns[usize::from(*column)]);
                Column { is_nullable: true, definition: None, ..column }
            };
            index.all_columns().iter().map(of_index).collect()
        }
        ClassKind::Composite(row_type, _) => row_type
            .fields()
            .iter()
            .map(|field| Column {
                name: &field.name,
                sql_type: field.sql_type,
                is_nullable: true,
                collation: Collation::Default,
                definition: None,
            })
            .collect(),
        ClassKind::Sequence => SEQUENCE_COLUMNS
            .iter()
            .map(|(name, sql_type)| Column {
                name,
                sql_type: *sql_type,
                is_nullable: false,
                collation: Collation::Default,
                definition: None,
            })
            .collect(),
        ClassKind::System(relation) => relation
            .columns
            .iter()
            .map(|(name, sql_type)| Column {
                name,
                sql_type: *sql_type,
                is_nullable: relation.kind == "v" || sql_type.length_bytes() < 0,
                collation: Collation::Default,
                definition: None,
            })
            .collect(),
    }
}

/// `pg_class`
pub(super) fn classes(system: &System) -> Vec<NamedRow> {
    system.classes.iter().map(|class| class_row(system, class)).collect()
}

/// Whether it belongs to a single session.
fn is_temporary(class: &Class, system: &System) -> bool {
    search_path::is_temporary(system.schema_name(class.schema))
}

fn class_row(system: &System, class: &Class) -> NamedRow {
    let (row_count, has_index, has_triggers) = match &class.kind {
        ClassKind::Table(at) | ClassKind::Materialized(at) => {
            let definition = &system.definitions[*at];
            let has_keys = !definition.foreign_keys.is_empty()
                || !definition.referenced_by.is_empty()
                || definition.indexes.iter().any(IndexDefinition::is_checked_later)
                || !definition.triggers.is_empty();
            let has_index = definition.primary_key.is_some() || !definition.indexes.is_empty();
            // PostgreSQL checks foreign keys and deferrable constraints by triggers.
            (system.facts.tables[*at].row_count() as f32, has_index, has_keys)
        }
        ClassKind::Index(at, _) => (system.facts.tables[*at].row_count() as f32, false, false),
        ClassKind::Sequence => (1.0, false, false),
        ClassKind::View(at) => (-1.0, false, !system.definitions[*at].triggers.is_empty()),
        ClassKind::Composite(..) => (0.0, false, false),
        ClassKind::System(_) => (-1.0, false, false),
    };
    let checks = match &class.kind {
        ClassKind::Table(at) => system.definitions[*at].checks.len(),
        _ => 0,
    };
    let is_populated = match &class.kind {
        ClassKind::Materialized(at) => !system.definitions[*at].is_unpopulated(),
        _ => true,
    };
    let is_stored = !matches!(class.letter(), "v" | "c");
    let is_system = matches!(class.kind, ClassKind::System(_));
    let identity = match class.letter() {
        "r" | "m" if !is_system => "d",
        _ => "n",
    };
    vec![
        ("oid", oid(class.oid)),
        ("relname", text(&class.name)),
        ("relnamespace", oid(class.schema)),
        ("reltype", oid(row_type_of(system, class))),
        ("relowner", oid(owner(system, class))),
        ("relam", oid(class.access_method())),
        ("relfilenode", oid(if is_stored && !is_system { class.oid } else { 0 })),
        ("reltuples", Value::Real(row_count)),
        ("relhasindex", truth(has_index)),
        ("relpersistence", text(if is_temporary(class, system) { "t" } else { "p" })),
        ("relkind", text(class.letter())),
        ("relnatts", int2(columns_of(class, system).len() + dropped_of(class, system).len())),
        ("relchecks", int2(checks)),
        ("relhasrules", truth(matches!(class.letter(), "v" | "m"))),
        ("relhastriggers", truth(has_triggers)),
        ("relispopulated", truth(is_populated)),
        ("relreplident", text(identity)),
        ("relacl", list(system, class)),
        ("reloptions", parameters(system, class)),
    ]
}

/// `pg_class.reloptions`
fn parameters(system: &System, class: &Class) -> Value {
    let kept = match &class.kind {
        ClassKind::Table(at) | ClassKind::Materialized(at) | ClassKind::View(at) => {
            &system.definitions[*at].parameters
        }
        ClassKind::Index(_, index) => &index.parameters,
        ClassKind::Sequence | ClassKind::Composite(..) | ClassKind::System(_) => return Value::Null,
    };
    if kept.is_empty() { Value::Null } else { texts(kept) }
}

/// The object that holds a relation's owner and rights. For an index this is its table.
fn object_of(system: &System, class: &Class) -> Option<(u32, ObjectKind)> {
    match &class.kind {
        ClassKind::Table(at)
        | ClassKind::Materialized(at)
        | ClassKind::View(at)
        | ClassKind::Index(at, _) => Some((system.facts.tables[*at].id().0, ObjectKind::Relation)),
        ClassKind::Sequence => Some((object_id::sequence_of(class.oid), ObjectKind::Sequence)),
        ClassKind::Composite(row_type, _) => Some((row_type.definition().id, ObjectKind::Type)),
        ClassKind::System(_) => None,
    }
}

/// The number of the type of its rows, if it has one.
fn row_type_of(system: &System, class: &Class) -> u32 {
    match &class.kind {
        ClassKind::Table(at) | ClassKind::Materialized(at) | ClassKind::View(at) => {
            CompositeType::number_of_rows(system.facts.tables[*at].id().0)
        }
        ClassKind::Composite(row_type, _) => row_type.definition().id,
        ClassKind::Index(..) | ClassKind::Sequence | ClassKind::System(_) => 0,
    }
}

impl System {
    /// The name of a relation's owner.
    pub(super) fn owner_name(&self, class: &Class) -> &str {
        self.role_name(owner(self, class)).unwrap_or_default()
    }
}

fn owner(system: &System, class: &Class) -> u32 {
    object_of(system, class).map_or(object_id::OWNER, |(object, _)| system.owner_of(object))
}

fn list(system: &System, class: &Class) -> Value {
    match (&class.kind, object_of(system, class)) {
        (ClassKind::Index(..) | ClassKind::Composite(..), _) | (_, None) => Value::Null,
        (_, Some((object, kind))) => system.access_list(object, kind),
    }
}

/// `pg_attribute`
pub(super) fn attributes(system: &System) -> Vec<NamedRow> {
    let mut rows = Vec::new();
    for class in &system.classes {
        for (at, column) in columns_of(class, system).iter().enumerate() {
            let number = match class.kind {
                ClassKind::Table(table) => system.definitions[table].column_number(at),
                ClassKind::Composite(row_type, _) => row_type.fields()[at].number,
                _ => u16::try_from(at + 1).unwrap_or(u16::MAX),
            };
            rows.push(attribute_row(class.oid, number, column));
        }
        rows.extend(dropped_of(class, system).iter().map(|number| dropped_row(class.oid, *number)));
    }
    rows
}

/// The numbers of dropped columns of a table, or attributes of a type.
fn dropped_of(class: &Class, system: &System) -> Vec<u16> {
    match class.kind {
        ClassKind::Table(at) => system.definitions[at].dropped.clone(),
        ClassKind::Composite(row_type, next) => {
            (1..next).filter(|number| row_type.place(*number).is_none()).collect()
        }
        _ => Vec::new(),
    }
}

/// The row that PostgreSQL keeps for a dropped column.
fn dropped_row(relation: u32, number: u16) -> NamedRow {
    vec![
        ("attrelid", oid(relation)),
        ("attname", text(format!("........pg.dropped.{number}........"))),
        ("attstattarget", int4(0)),
        ("attnum", int2(number)),
        ("attcacheoff", int4(-1)),
        ("atttypmod", int4(-1)),
        ("attisdropped", truth(true)),
        ("attislocal", truth(true)),
    ]
}

fn attribute_row(relation: u32, number: u16, column: &Column<'_>) -> NamedRow {
    let data_type = data_types::of(column.sql_type);
    let data_type = data_type.as_deref();
    let identity = column.definition.and_then(|definition| definition.identity);
    let domain = column.definition.and_then(|definition| definition.domain);
    let dimensions = column.definition.map_or(0, |definition| i32::from(definition.dimensions));
    vec![
        ("attrelid", oid(relation)),
        ("attname", text(column.name)),
        ("atttypid", oid(domain.unwrap_or(column.sql_type.oid()))),
        ("attstattarget", int4(-1)),
        ("attlen", int2(column.sql_type.length_bytes())),
        ("attnum", int2(number)),
        ("attndims", int4(dimensions.max(i32::from(matches!(column.sql_type, SqlType::Array(_)))))),
        ("attcacheoff", int4(-1)),
        ("atttypmod", int4(if domain.is_some() { -1 } else { column.sql_type.type_modifier() })),
        ("attbyval", truth(data_type.is_some_and(|data_type| data_type.is_by_value))),
        ("attalign", text(data_type.map_or("i", |data_type| data_type.alignment))),
        ("attstorage", text(data_type.map_or("p", |data_type| data_type.storage))),
        ("attnotnull", truth(!column.is_nullable)),
        ("atthasdef", truth(column.definition.is_some_and(has_default))),
        (
            "attidentity",
            text(match identity {
                Some(Identity::Always) => "a",
                Some(Identity::ByDefault) => "d",
                None => "",
            }),
        ),
        (
            "attgenerated",
            text(if column.definition.is_some_and(|one| one.generation.is_some()) { "s" } else { "" }),
        ),
        ("attislocal", truth(true)),
        ("attcollation", oid(collation_of(column.sql_type, column.collation))),
    ]
}

/// Whether the column has a default of its own, or is generated. The default of an identity column belongs
/// to its sequence.
pub(super) fn has_default(column: &ColumnDefinition) -> bool {
    column.generation.is_some() || column.default.is_some() && column.identity.is_none()
}

/// `pg_attrdef`
pub(super) fn defaults(system: &System) -> Vec<NamedRow> {
    let mut rows = Vec::new();
    for (table, definition) in system.tables() {
        let columns = definition.visible_columns().iter().enumerate();
        for (at, column) in columns.filter(|(_, column)| has_default(column)) {
            rows.push(vec![
                ("oid", oid(object_id::of_part(table, Part::Default, &column.name))),
                ("adrelid", oid(table)),
                ("adnum", int2(definition.column_number(at))),
                ("adbin", row::or_null(system.default_of(column), text)),
            ]);
        }
    }
    rows
}

/// `pg_index`
pub(super) fn indexes(system: &System) -> Vec<NamedRow> {
    let mut rows = Vec::new();
    for class in &system.classes {
        let ClassKind::Index(at, index) = &class.kind else { continue };
        let columns = &system.definitions[*at].columns;
        let all = index.all_columns();
        let keys = || index.columns.iter().map(|key| &columns[usize::from(key.column)]);
        let predicate = index.predicate.as_ref().map(|predicate| system.unqualified(&predicate.shown));
        let classes = index.columns.iter().zip(keys());
        let classes = classes.map(|(key, column)| operator_class(column.sql_type, key.operator_class));
        rows.push(vec![
            ("indexrelid", oid(class.oid)),
            ("indrelid", oid(system.facts.tables[*at].id().0)),
            ("indnatts", int2(all.len())),
            ("indnkeyatts", int2(index.columns.len())),
            ("indisunique", truth(index.is_unique)),
            ("indnullsnotdistinct", truth(index.nulls_are_equal)),
            ("indisprimary", truth(index.is_primary)),
            ("indimmediate", truth(index.deferral == Deferral::Never)),
            ("indisvalid", truth(true)),
            ("indisready", truth(true)),
            ("indislive", truth(true)),
            ("indkey", column_numbers(&system.definitions[*at], &all)),
            ("indcollation", row::oids(keys().map(|column| collation_of(column.sql_type, column.collation)))),
            ("indclass", row::oids(classes)),
            (
                "indoption",
                Value::array(ArrayElement::SmallInt, index.columns.iter().map(option_of).collect()),
            ),
            ("indexprs", row::or_null(system.indexed_expressions(&system.definitions[*at], index), text)),
            ("indpred", row::or_null(predicate, text)),
        ]);
    }
    rows
}

/// The bits of `pg_index.indoption`.
fn option_of(key: &IndexColumn) -> Value {
    int2(usize::from(key.is_descending) | usize::from(key.nulls_first) << 1)
}

/// `pg_sequence`
pub(super) fn sequences(system: &System) -> Vec<NamedRow> {
    let row = |sequence: &Arc<Sequence>| {
        let definition = &sequence.definition;
        vec![
            ("seqrelid", oid(object_id::of_sequence(sequence.id))),
            ("seqtypid", oid(definition.sql_type.oid())),
            ("seqstart", int8(definition.start)),
            ("seqincrement", int8(definition.increment)),
            ("seqmax", int8(definition.greatest)),
            ("seqmin", int8(definition.least)),
            ("seqcache", int8(definition.cache)),
            ("seqcycle", truth(definition.cycles)),
        ]
    };
    system.facts.sequences.iter().map(row).collect()
}

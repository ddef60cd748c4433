//! The existing relations: tables, their indexes, sequences, and those of the catalog.

use std::sync::Arc;

use hyades_engine::storage::stored_type::StoredType;
use hyades_engine::storage::table::Table;
use hyades_types::definition::{Deferral, IndexColumn, IndexKind, IndexPredicate, TableDefinition, TypeKind};
use hyades_types::sequence::Sequence;
use hyades_types::value::composite::{CompositeDefinition, CompositeType};

use super::object_id::{self, Part};
use super::relation::{RELATIONS, SystemRelation};

/// A relation.
pub(super) struct Class {
    pub(super) oid: u32,
    pub(super) schema: u32,
    pub(super) name: String,
    pub(super) kind: ClassKind,
}

pub(super) enum ClassKind {
    /// The index of its definition.
    Table(usize),
    /// A materialized view: the index of its definition.
    Materialized(usize),
    /// The index of its definition.
    View(usize),
    /// The index of its table's definition.
    Index(usize, Box<Index>),
    Sequence,
    /// A composite type: its fields, and the number of the next one.
    Composite(CompositeType, u16),
    System(&'static SystemRelation),
}

/// An index of a table.
pub(super) struct Index {
    pub(super) oid: u32,
    pub(super) name: String,
    pub(super) columns: Vec<IndexColumn>,
    /// INCLUDE.
    pub(super) included: Vec<u16>,
    pub(super) kind: IndexKind,
    pub(super) is_primary: bool,
    pub(super) is_unique: bool,
    pub(super) nulls_are_equal: bool,
    pub(super) predicate: Option<IndexPredicate>,
    /// Whether it belongs to a constraint of the same name.
    pub(super) is_constraint: bool,
    /// Whether that constraint can be deferred.
    pub(super) deferral: Deferral,
    /// Storage parameters.
    pub(super) parameters: Vec<String>,
}

impl Index {
    /// The key columns, then the included columns.
    pub(super) fn all_columns(&self) -> Vec<u16> {
        self.columns.iter().map(|key| key.column).chain(self.included.iter().copied()).collect()
    }
}

/// The indexes of a table, that of the primary key first.
pub(super) fn indexes_of(table: u32, definition: &TableDefinition) -> Vec<Index> {
    let primary = definition.primary_key.iter().map(|key| Index {
        oid: object_id::of_part(table, Part::Index, &key.name),
        name: key.name.clone(),
        columns: key.columns.iter().map(|column| IndexColumn::ascending(*column)).collect(),
        included: Vec::new(),
        kind: key.index,
        is_primary: true,
        is_unique: true,
        nulls_are_equal: false,
        predicate: None,
        is_constraint: true,
        deferral: Deferral::Never,
        parameters: key.parameters.clone(),
    });
    let others = definition.indexes.iter().map(|index| Index {
        oid: index.id.0,
        name: index.name.clone(),
        columns: index.columns.clone(),
        included: index.included.clone(),
        kind: index.kind,
        is_primary: index.is_primary,
        is_unique: index.is_unique,
        nulls_are_equal: index.nulls_are_equal,
        predicate: index.predicate.clone(),
        is_constraint: index.is_constraint,
        deferral: index.deferral,
        parameters: index.parameters.clone(),
    });
    primary.chain(others).collect()
}

/// All relations, those of the catalog first.
pub(super) fn all(
    tables: &[Arc<Table>],
    sequences: &[Arc<Sequence>],
    definitions: &[Arc<TableDefinition>],
    types: &[Arc<StoredType>],
    schemas: &[(u32, String)],
) -> Vec<Class> {
    let schema_oid = |name: &str| schemas.iter().find(|(_, own)| own == name).map_or(0, |(oid, _)| *oid);
    let mut classes: Vec<Class> = RELATIONS
        .iter()
        .filter(|relation| !relation.is_function())
        .map(|relation| Class {
            oid: relation.oid,
            schema: relation.schema_oid(),
            name: relation.name.to_owned(),
            kind: ClassKind::System(relation),
        })
        .collect();
    for (at, (table, definition)) in tables.iter().zip(definitions).enumerate() {
        let table = table.id().0;
        let schema = schema_oid(&definition.name.schema);
        let name = definition.name.name.clone();
        let kind = match (&definition.view, &definition.materialized) {
            (Some(_), _) => ClassKind::View(at),
            (None, Some(_)) => ClassKind::Materialized(at),
            (None, None) => ClassKind::Table(at),
        };
        classes.push(Class { oid: table, schema, name, kind });
        for index in indexes_of(table, definition) {
            let (oid, name) = (index.oid, index.name.clone());
            classes.push(Class { oid, schema, name, kind: ClassKind::Index(at, Box::new(index)) });
        }
    }
    for sequence in sequences {
        classes.push(Class {
            oid: object_id::of_sequence(sequence.id),
            schema: schema_oid(&sequence.definition.name.schema),
            name: sequence.definition.name.name.clone(),
            kind: ClassKind::Sequence,
        });
    }
    for stored in types {
        let TypeKind::Composite { next_number, .. } = stored.definition.kind else { continue };
        let Some(row_type) = stored.definition.composite_type() else { continue };
        let CompositeDefinition { id, schema, name, .. } = row_type.definition();
        classes.push(Class {
            oid: object_id::of_composite(*id),
            schema: schema_oid(schema),
            name: name.clone(),
            kind: ClassKind::Composite(row_type, next_number),
        });
    }
    classes
}

impl Class {
    /// `pg_class.relkind`
    pub(super) fn letter(&self) -> &'static str {
        match &self.kind {
            ClassKind::Table(_) => "r",
            ClassKind::Materialized(_) => "m",
            ClassKind::View(_) => "v",
            ClassKind::Index(..) => "i",
            ClassKind::Sequence => "S",
            ClassKind::Composite(..) => "c",
            ClassKind::System(relation) => relation.kind,
        }
    }

    /// `pg_class.relam`
    pub(super) fn access_method(&self) -> u32 {
        match &self.kind {
            ClassKind::Table(_) | ClassKind::Materialized(_) => object_id::HEAP,
            ClassKind::Index(_, index) => method_oid(index.kind),
            ClassKind::Sequence | ClassKind::Composite(..) | ClassKind::View(_) => 0,
            ClassKind::System(relation) => {
                if relation.kind == "r" {
                    object_id::HEAP
                } else {
                    0
                }
            }
        }
    }
}

fn method_oid(kind: IndexKind) -> u32 {
    match kind {
        IndexKind::Ordered => object_id::BTREE,
        IndexKind::Hash => object_id::HASH,
    }
}

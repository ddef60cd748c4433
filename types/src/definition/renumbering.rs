//! New numbers for the objects of a catalog that is copied: every place where a definition names another
//! object, or itself, by its number. Texts (conditions, queries, bodies) name objects by their names, which a
//! copy keeps.

use std::collections::HashMap;

use super::{
    BodyUses, CatalogChange, ColumnDefinition, CommentTarget, RoutineDefinition, RoutineId, SchemaId,
    SequenceDefinition, SequenceId, TableDefinition, TableId, TypeDefinition, TypeKind, ViewDefinition,
};
use crate::enumeration::{EnumDefinition, EnumType};
use crate::value::composite::CompositeType;
use crate::value::{ArrayElement, SqlType};

/// Draws a new number for each old one, the same wherever it comes up.
pub struct Renumbering<D> {
    numbers: HashMap<u32, u32>,
    draw: D,
    /// Numbers below this one are the same in every catalog.
    first: u32,
}

impl<D: FnMut() -> u32> Renumbering<D> {
    /// Numbers below `first` stay.
    pub fn new(first: u32, draw: D) -> Renumbering<D> {
        Renumbering { numbers: HashMap::new(), draw, first }
    }

    /// The new number of an object.
    pub fn number(&mut self, old: u32) -> u32 {
        if old < self.first {
            return old;
        }
        *self.numbers.entry(old).or_insert_with(&mut self.draw)
    }

    pub fn table(&mut self, old: TableId) -> TableId {
        TableId(self.number(old.0))
    }

    pub fn sequence(&mut self, old: SequenceId) -> SequenceId {
        SequenceId(self.number(old.0))
    }

    /// A change that creates an object, or says something of one, with new numbers. `None` for changes that
    /// no copy needs.
    pub fn change(&mut self, change: CatalogChange) -> Option<CatalogChange> {
        Some(match change {
            CatalogChange::CreateTable { id, definition } => {
                CatalogChange::CreateTable { id: self.table(id), definition: self.relation(definition) }
            }
            CatalogChange::CreateRoutine { id, definition, replaces: None } => {
                let id = RoutineId(self.number(id.0));
                CatalogChange::CreateRoutine { id, definition: self.routine(definition), replaces: None }
            }
            CatalogChange::CreateSequence { id, definition } => {
                let definition = self.sequence_definition(definition);
                CatalogChange::CreateSequence { id: self.sequence(id), definition }
            }
            CatalogChange::CreateType { definition } => {
                CatalogChange::CreateType { definition: self.type_definition(definition) }
            }
            CatalogChange::CreateSchema { id, name } => {
                CatalogChange::CreateSchema { id: SchemaId(self.number(id.0)), name }
            }
            CatalogChange::RenameSchema { id, name } => {
                CatalogChange::RenameSchema { id: SchemaId(self.number(id.0)), name }
            }
            CatalogChange::DropSchema { id } => CatalogChange::DropSchema { id: SchemaId(self.number(id.0)) },
            CatalogChange::Comment { on: CommentTarget { object, part }, text } => {
                CatalogChange::Comment { on: CommentTarget { object: self.number(object), part }, text }
            }
            CatalogChange::PutRights { object, rights } => {
                CatalogChange::PutRights { object: self.number(object), rights }
            }
            _ => return None,
        })
    }

    fn relation(&mut self, mut definition: TableDefinition) -> TableDefinition {
        definition.columns.iter_mut().for_each(|column| self.column(column));
        for index in &mut definition.indexes {
            index.id = self.table(index.id);
        }
        for foreign_key in &mut definition.foreign_keys {
            foreign_key.parent = self.table(foreign_key.parent);
        }
        for table in &mut definition.referenced_by {
            *table = self.table(*table);
        }
        for trigger in &mut definition.triggers {
            trigger.referenced = trigger.referenced.map(|table| self.table(table));
        }
        if let Some(view) = definition.source_mut() {
            self.view(view);
        }
        definition
    }

    fn column(&mut self, column: &mut ColumnDefinition) {
        column.sql_type = self.sql_type(column.sql_type);
        column.domain = column.domain.map(|domain| self.number(domain));
    }

    fn view(&mut self, view: &mut ViewDefinition) {
        for table in &mut view.tables {
            *table = self.table(*table);
        }
        for (table, _) in &mut view.columns {
            *table = self.table(*table);
        }
        for sql_type in view.routines.iter_mut().flat_map(|(_, types)| types) {
            *sql_type = self.sql_type(*sql_type);
        }
        for sql_type in &mut view.types {
            *sql_type = self.number(*sql_type);
        }
        if let Some(base) = &mut view.base {
            base.relation = self.table(base.relation);
        }
    }

    fn body(&mut self, uses: &mut BodyUses) {
        let columns = uses.columns.iter_mut().map(|(table, _)| table);
        for table in uses.tables.iter_mut().chain(columns) {
            *table = self.table(*table);
        }
        for sql_type in uses.routines.iter_mut().flat_map(|(_, types)| types) {
            *sql_type = self.sql_type(*sql_type);
        }
        for sql_type in &mut uses.types {
            *sql_type = self.number(*sql_type);
        }
    }

    fn routine(&mut self, mut definition: RoutineDefinition) -> RoutineDefinition {
        for sql_type in definition.all_types_mut() {
            *sql_type = self.sql_type(*sql_type);
        }
        definition.traits.row_of = definition.traits.row_of.map(|table| self.table(table));
        if let Some(uses) = &mut definition.uses {
            self.body(uses);
        }
        definition
    }

    fn sequence_definition(&mut self, mut definition: SequenceDefinition) -> SequenceDefinition {
        if let Some(owner) = &mut definition.owner {
            owner.table = self.table(owner.table);
        }
        definition
    }

    fn type_definition(&mut self, mut definition: TypeDefinition) -> TypeDefinition {
        definition.id = self.number(definition.id);
        definition.array_id = self.number(definition.array_id);
        match &mut definition.kind {
            TypeKind::Enum { .. } | TypeKind::Extension { .. } => {}
            TypeKind::Domain { domain } => {
                domain.base = self.sql_type(domain.base);
                domain.parent = domain.parent.map(|parent| self.number(parent));
            }
            TypeKind::Composite { fields, .. } => {
                fields.iter_mut().for_each(|field| field.sql_type = self.sql_type(field.sql_type));
            }
        }
        definition
    }

    fn sql_type(&mut self, sql_type: SqlType) -> SqlType {
        match sql_type {
            SqlType::Enum(own) => SqlType::Enum(self.enum_type(own)),
            SqlType::Array(ArrayElement::Enum(own)) => {
                SqlType::Array(ArrayElement::Enum(self.enum_type(own)))
            }
            SqlType::Composite(own) => SqlType::Composite(self.composite_type(own)),
            SqlType::Array(ArrayElement::Composite(own)) => {
                SqlType::Array(ArrayElement::Composite(self.composite_type(own)))
            }
            other => other,
        }
    }

    fn composite_type(&mut self, own: CompositeType) -> CompositeType {
        let mut definition = own.definition().clone();
        match own.relation() {
            Some(relation) => {
                let relation = self.number(relation);
                definition.id = CompositeType::number_of_rows(relation);
                definition.array_id = CompositeType::number_of_arrays(relation);
            }
            None => {
                definition.id = self.number(definition.id);
                definition.array_id = self.number(definition.array_id);
            }
        }
        definition.fields.iter_mut().for_each(|field| field.sql_type = self.sql_type(field.sql_type));
        CompositeType::new(definition)
    }

    fn enum_type(&mut self, own: EnumType) -> EnumType {
        let definition = own.definition().clone();
        let (id, array_id) = (self.number(definition.id), self.number(definition.array_id));
        EnumType::new(EnumDefinition { id, array_id, ..definition })
    }
}

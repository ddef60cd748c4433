//! Definitions of tables, sequences and routines, and changes to them.
//!
//! A [`CatalogChange`] is what DDL compiles to, what the log carries (as JSON, so that a log is
//! self-describing) and what replay applies: one path for all three.
//!
//! Files:
//! * `relation`: the names and numbers that all the others use, and kinds of indexes;
//! * of tables: `check_constraint`, `reference` (actions, timing and comparisons of a foreign key),
//!   `generation` (computed columns, also those that indexes on expressions need), `index_definition`,
//!   `trigger_definition`;
//! * other objects: `sequence_definition`, `view_definition`, `routine_definition`, `aggregate_definition`,
//!   `cast_definition`, `type_definition`, `database_definition`;
//! * `comment`: which object, or part of one, a comment is on; `renumbering`: a catalog's copy; `reach`:
//!   which database and tables a change is about.

use serde::{Deserialize, Serialize};

use crate::access::{Rights, Role, RoleId, SettingsOf, StoredSettings};
use crate::value::composite::{CompositeField, CompositeType};
use crate::value::{CreatedType, SqlType};

mod aggregate_definition;
mod cast_definition;
mod check_constraint;
mod comment;
mod database_definition;
mod generation;
mod index_definition;
mod reach;
mod reference;
pub(crate) mod relation;
mod renumbering;
mod routine_definition;
mod sequence_definition;
mod trigger_definition;
mod type_definition;
mod view_definition;

pub use aggregate_definition::{AggregateDefinition, AggregateSteps, SupportFunction};
pub use cast_definition::{CastDefinition, CastMethod};
pub use check_constraint::CheckConstraint;
pub use comment::{CommentPart, CommentTarget};
pub use database_definition::{DatabaseDefinition, DatabaseId};
pub use generation::{Generation, IndexPredicate, Indexed};
pub use index_definition::{IndexColumn, IndexDefinition, OperatorClass};
pub use reference::{Deferral, KeyAction, KeyComparison};
pub use relation::{IndexKind, SchemaId, TableId, TableName};
pub use renumbering::Renumbering;
pub use routine_definition::{
    BodyUses, DeclaredParallel, DeclaredVolatility, ParameterMode, Returns, RoutineDefinition, RoutineId,
    RoutineKind, RoutineParameter, RoutineTraits,
};
pub use sequence_definition::{SequenceDefinition, SequenceId, SequenceOwner, SequenceState};
pub use trigger_definition::{
    TriggerCondition, TriggerDefinition, TriggerEvent, TriggerFiring, TriggerTiming,
};
pub use type_definition::{DomainDefinition, TypeDefinition, TypeKind};
pub use view_definition::{MaterializedView, ViewBase, ViewDefinition};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ColumnDefinition {
    pub name: String,
    /// That of its values. A domain's is the type that it is made of.
    pub sql_type: SqlType,
    /// The number of the domain that it was declared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<u32>,
    pub is_nullable: bool,
    /// The DEFAULT expression as SQL text, which the SQL front end compiles. The default of an identity
    /// column draws from its sequence.
    pub default: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<Generation>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub collation: Collation,
    /// As many brackets as the type was declared with, if there are more than one. They mean nothing.
    #[serde(default, skip_serializing_if = "is_default")]
    pub dimensions: u8,
}

/// The collation that a column is declared with. All of them order by bytes; clients compare what was
/// declared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Collation {
    #[default]
    Default,
    C,
    Posix,
}

impl ColumnDefinition {
    /// A column that takes NULL, and has nothing but a type.
    pub fn new(name: impl Into<String>, sql_type: SqlType) -> ColumnDefinition {
        let name = name.into();
        ColumnDefinition {
            name,
            sql_type,
            domain: None,
            is_nullable: true,
            default: None,
            identity: None,
            generation: None,
            dimensions: 0,
            collation: Collation::Default,
        }
    }

    /// Whether its values, or their elements, are of the type with this number.
    pub fn is_of_type(&self, id: u32) -> bool {
        self.domain == Some(id) || self.sql_type.contains_type(id)
    }

    /// What the index computes in this column, if the column exists for an index.
    pub fn indexed(&self) -> Option<&Indexed> {
        self.generation.as_ref().and_then(|generation| generation.indexed.as_ref())
    }
}

/// What determines the values of an identity column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Identity {
    /// Its sequence, unless a statement overrides it.
    Always,
    /// Its sequence, if a statement gives no value.
    ByDefault,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrimaryKey {
    /// Constraint name, for messages (`accounts_pkey`).
    pub name: String,
    /// Column numbers, 0-based, in key order.
    pub columns: Vec<u16>,
    pub index: IndexKind,
    /// Storage parameters of its index, see [`TableDefinition`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableDefinition {
    pub name: TableName,
    pub columns: Vec<ColumnDefinition>,
    /// Without one, rows are kept under a hidden 64-bit row number. A DEFERRABLE one is among the indexes.
    pub primary_key: Option<PrimaryKey>,
    /// The indexes other than the primary key's, in the order in which they were created.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub indexes: Vec<IndexDefinition>,
    /// Changed only through [`CatalogChange::AddForeignKey`] and [`CatalogChange::DropForeignKey`], as is
    /// `referenced_by`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub foreign_keys: Vec<ForeignKey>,
    /// Tables with a foreign key to this one, once for each such key. They are listed here so that statements
    /// on this table become stale when they must begin to look for referencing rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub referenced_by: Vec<TableId>,
    /// Set if it is a view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<Box<ViewDefinition>>,
    /// Set if it is a materialized view: a table that keeps the rows of a query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub materialized: Option<Box<MaterializedView>>,
    /// In the order in which they were created.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckConstraint>,
    /// In the order of their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<TriggerDefinition>,
    /// Catalog numbers, from 1, of columns that were dropped: they are never reused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<u16>,
    /// Storage parameters, or those of a view, as PostgreSQL keeps them: `fillfactor=70`. They have no effect
    /// here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<String>,
}

/// Every row whose columns are not NULL references a row of the parent table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignKey {
    /// Constraint name, unique among those of its table.
    pub name: String,
    /// The referencing columns, in the order of the constraint.
    pub columns: Vec<u16>,
    /// The table whose primary key is referenced, or a unique index of it. It may be the same table.
    pub parent: TableId,
    /// The column of the parent that each of `columns` references: the columns of such a key in any order.
    pub parent_columns: Vec<u16>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_delete: KeyAction,
    /// The columns that ON DELETE SET NULL or SET DEFAULT sets; all if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delete_columns: Vec<u16>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_update: KeyAction,
    /// MATCH FULL: either all columns are NULL, or none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_full: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    pub deferral: Deferral,
    /// NOT VALID: rows from before it may violate it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_not_valid: bool,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The key that a foreign key references.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParentKey {
    /// `None`: the parent's primary key; else the position of a unique index among those of the parent.
    pub index: Option<u16>,
    /// The referencing columns, in the order of that key.
    pub columns: Vec<u16>,
}

impl ForeignKey {
    /// The key of the parent that is referenced; `None` if the columns are not a key.
    pub fn parent_key(&self, parent: &TableDefinition) -> Option<ParentKey> {
        let (index, key) = parent.key_on(&self.parent_columns)?;
        let place = |wanted: &u16| self.parent_columns.iter().position(|column| column == wanted);
        let columns =
            key.iter().map(|column| place(column).map(|at| self.columns[at])).collect::<Option<_>>()?;
        Some(ParentKey { index, columns })
    }
}

/// One schema change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum CatalogChange {
    CreateTable {
        id: TableId,
        definition: TableDefinition,
    },
    DropTable {
        id: TableId,
    },
    Truncate {
        id: TableId,
    },
    AddPrimaryKey {
        id: TableId,
        primary_key: PrimaryKey,
    },
    AddForeignKey {
        id: TableId,
        foreign_key: ForeignKey,
    },
    /// The name is that of the constraint.
    DropForeignKey {
        id: TableId,
        name: String,
    },
    /// VALIDATE CONSTRAINT: all rows satisfy the foreign key of this name.
    ValidateForeignKey {
        id: TableId,
        name: String,
    },
    /// CREATE INDEX, or a UNIQUE constraint of an existing table.
    CreateIndex {
        table: TableId,
        index: IndexDefinition,
    },
    DropIndex {
        table: TableId,
        index: TableId,
    },
    /// `None`: the index of the primary key.
    RenameIndex {
        table: TableId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        index: Option<TableId>,
        name: String,
    },
    /// CREATE OR REPLACE VIEW: the whole new definition.
    ReplaceView {
        id: TableId,
        definition: Box<TableDefinition>,
    },
    /// CREATE [OR REPLACE] PROCEDURE or FUNCTION: always a new id, which takes the place of the one it
    /// replaces.
    CreateRoutine {
        id: RoutineId,
        definition: RoutineDefinition,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replaces: Option<RoutineId>,
    },
    DropRoutine {
        id: RoutineId,
    },
    CreateSequence {
        id: SequenceId,
        definition: SequenceDefinition,
    },
    /// The whole new definition. `restart`: where it continues, if not at its current number.
    AlterSequence {
        id: SequenceId,
        definition: SequenceDefinition,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        restart: Option<SequenceState>,
    },
    DropSequence {
        id: SequenceId,
    },
    /// The DEFAULT of a column is dropped.
    DropDefault {
        id: TableId,
        column: u16,
    },
    /// ALTER TABLE: the whole new definition. `columns` gives the source of each column's values; `None` if
    /// columns and primary key are unchanged.
    AlterTable {
        id: TableId,
        definition: Box<TableDefinition>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        columns: Option<Vec<ColumnSource>>,
    },
    /// `schema`: its new schema, if it changes.
    RenameTable {
        id: TableId,
        name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        schema: Option<String>,
    },
    CreateSchema {
        id: SchemaId,
        name: String,
    },
    /// The schema is empty.
    DropSchema {
        id: SchemaId,
    },
    /// Its objects are moved by changes of their own.
    RenameSchema {
        id: SchemaId,
        name: String,
    },
    /// `None`: the comment is removed.
    Comment {
        on: CommentTarget,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    CreateType {
        definition: TypeDefinition,
    },
    /// The whole new definition, which goes into every table with columns of the type.
    AlterType {
        definition: TypeDefinition,
    },
    DropType {
        id: u32,
    },
    /// CREATE or ALTER ROLE, and changes of its memberships: the whole new definition.
    PutRole {
        id: RoleId,
        role: Role,
    },
    /// It owns nothing, and no access list names it.
    DropRole {
        id: RoleId,
    },
    /// ALTER ROLE ... SET, ALTER DATABASE ... SET: all settings with which these sessions begin.
    PutSettings {
        of: SettingsOf,
        settings: StoredSettings,
    },
    /// Owner and access list of an object, complete.
    PutRights {
        object: u32,
        rights: Rights,
    },
    /// CREATE or ALTER DATABASE: the whole new definition. A new database has only the schema `public`.
    PutDatabase {
        id: DatabaseId,
        definition: DatabaseDefinition,
    },
    DropDatabase {
        id: DatabaseId,
    },
    /// A change in the catalog of this database. Changes that are not in one belong to
    /// [`DatabaseId::FIRST`], except those of roles and databases, which belong to all.
    InDatabase {
        database: DatabaseId,
        change: Box<CatalogChange>,
    },
}

/// The source of a column's values in the rows of an altered table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ColumnSource {
    /// The values of the column that had this number.
    Old(u16),
    Null,
    /// The same value in all rows, as text.
    Constant(String),
}

impl TableDefinition {
    /// A table of these columns, and nothing else.
    pub fn of_columns(name: TableName, columns: Vec<ColumnDefinition>) -> TableDefinition {
        TableDefinition {
            name,
            columns,
            primary_key: None,
            indexes: Vec::new(),
            foreign_keys: Vec::new(),
            referenced_by: Vec::new(),
            view: None,
            materialized: None,
            checks: Vec::new(),
            triggers: Vec::new(),
            dropped: Vec::new(),
            parameters: Vec::new(),
        }
    }

    /// The same definition without the DEFAULT of this column.
    #[must_use]
    pub fn without_default(&self, column: u16) -> TableDefinition {
        let mut definition = self.clone();
        if let Some(column) = definition.columns.get_mut(usize::from(column)) {
            column.default = None;
        }
        definition
    }

    /// The same definition under another name, and perhaps in another schema.
    #[must_use]
    pub fn with_name(&self, name: &str, schema: Option<&str>) -> TableDefinition {
        let schema = schema.unwrap_or(&self.name.schema).to_owned();
        TableDefinition { name: TableName { schema, name: name.to_owned() }, ..self.clone() }
    }

    /// The types that users have created and that values of its columns consist of, with their versions.
    pub fn types(&self) -> impl Iterator<Item = CreatedType> {
        self.columns.iter().flat_map(|column| column.sql_type.created_types())
    }

    /// The type of the rows of the relation, whose number this is.
    pub fn row_type(&self, id: TableId) -> CompositeType {
        let fields = self.visible_columns().iter().enumerate().map(|(at, column)| CompositeField {
            number: self.column_number(at),
            name: column.name.clone(),
            sql_type: column.sql_type,
        });
        CompositeType::of_rows(id.0, (&self.name.schema, &self.name.name), fields.collect())
    }

    /// The domains of its columns.
    pub fn domains(&self) -> impl Iterator<Item = u32> {
        self.columns.iter().filter_map(|column| column.domain)
    }

    /// Whether a column, or the query of a view, is of the type with this number.
    pub fn uses_type(&self, id: u32) -> bool {
        self.columns.iter().any(|column| column.is_of_type(id))
            || self.source().is_some_and(|query| query.types.contains(&id))
    }

    /// The same definition with the current version of the type.
    #[must_use]
    pub fn with_type(&self, definition: &TypeDefinition) -> TableDefinition {
        let mut changed = self.clone();
        if let Some(sql_type) = definition.sql_type() {
            for column in &mut changed.columns {
                column.sql_type = column.sql_type.with_type(sql_type);
            }
        }
        changed
    }

    /// The number of a column in the catalog: from 1, skipping dropped columns.
    pub fn column_number(&self, column: usize) -> u16 {
        let mut numbers = (1..u16::MAX).filter(|number| !self.dropped.contains(number));
        numbers.nth(column).unwrap_or(u16::MAX)
    }

    /// The generated columns that read one of these, or are one of them. The expression of an index may read
    /// another generated column, which comes before it.
    pub fn generated_from(&self, columns: &[u16]) -> Vec<u16> {
        let (mut changed, mut generated) = (columns.to_vec(), Vec::new());
        for (at, column) in (0u16..).zip(&self.columns) {
            let Some(generation) = &column.generation else { continue };
            if changed.contains(&at) || generation.columns.iter().any(|read| changed.contains(read)) {
                changed.push(at);
                generated.push(at);
            }
        }
        generated
    }

    pub fn check(&self, name: &str) -> Option<&CheckConstraint> {
        self.checks.iter().find(|check| check.name == name)
    }

    pub fn trigger(&self, name: &str) -> Option<&TriggerDefinition> {
        self.triggers.iter().find(|trigger| trigger.name == name)
    }

    /// Whether a constraint of the table has this name.
    pub fn has_constraint(&self, name: &str) -> bool {
        self.foreign_key(name).is_some()
            || self.check(name).is_some()
            || self.primary_key.as_ref().is_some_and(|key| key.name == name)
            || self.index_named(name).is_some_and(|index| index.is_constraint)
            || self.trigger(name).is_some_and(|trigger| trigger.constraint.is_some())
    }

    /// The number of the column that statements refer to by this name.
    pub fn column_index(&self, name: &str) -> Option<usize> {
        self.visible_columns().iter().position(|column| column.name == name)
    }

    /// The columns that statements see: all except those at the end that exist only for indexes.
    pub fn visible_columns(&self) -> &[ColumnDefinition] {
        let is_visible = |column: &ColumnDefinition| column.indexed().is_none();
        let end = self.columns.iter().position(|column| !is_visible(column));
        &self.columns[..end.unwrap_or(self.columns.len())]
    }

    /// The plain column that an index is on; `None` for an expression.
    pub fn indexed_column(&self, key: u16) -> Option<u16> {
        match self.columns.get(usize::from(key))?.indexed() {
            None => Some(key),
            Some(Indexed::Column(column)) => Some(*column),
            Some(Indexed::Expression(_)) => None,
        }
    }

    /// The columns that exist only for this index.
    pub fn computed_for(&self, index: &IndexDefinition) -> Vec<u16> {
        let is_hidden = |key: &u16| usize::from(*key) >= self.visible_columns().len();
        index.key_columns().filter(is_hidden).collect()
    }

    /// Whether something that the index needs is computed of this column: an expression or its condition.
    pub fn is_computed_from(&self, index: &IndexDefinition, column: u16) -> bool {
        let computes = |key: &u16| {
            let generation = self.columns[usize::from(*key)].generation.as_ref();
            generation.is_some_and(|own| own.columns.contains(&column))
        };
        let is_condition = index.predicate.as_ref().is_some_and(|own| own.columns.contains(&column));
        is_condition || self.computed_for(index).iter().any(computes)
    }

    /// Whether an index is on this column, or on an expression that reads it.
    pub fn is_read_by(&self, index: &IndexDefinition, column: u16) -> bool {
        let is_own = index.key_columns().any(|key| key == column) || index.included.contains(&column);
        is_own || self.is_computed_from(index, column)
    }

    /// The name that messages use for an element of a key.
    pub fn key_name(&self, key: u16) -> &str {
        match self.indexed_column(key) {
            Some(column) => &self.columns[usize::from(column)].name,
            None => self.columns[usize::from(key)].generation.as_ref().map_or("", |own| own.shown.as_str()),
        }
    }

    pub fn index(&self, id: TableId) -> Option<&IndexDefinition> {
        self.indexes.iter().find(|index| index.id == id)
    }

    pub fn index_named(&self, name: &str) -> Option<&IndexDefinition> {
        self.indexes.iter().find(|index| index.name == name)
    }

    /// The same definition with one more index.
    #[must_use]
    pub fn with_index(&self, index: &IndexDefinition) -> TableDefinition {
        let mut definition = self.clone();
        definition.indexes.push(index.clone());
        definition
    }

    /// The same definition without the index of this number.
    #[must_use]
    pub fn without_index(&self, id: TableId) -> TableDefinition {
        let mut definition = self.clone();
        definition.indexes.retain(|index| index.id != id);
        definition
    }

    /// The same definition with another name for the index of this number, or for the primary key's if it is
    /// none of them.
    #[must_use]
    pub fn with_renamed_index(&self, id: Option<TableId>, name: &str) -> TableDefinition {
        let mut definition = self.clone();
        let renamed = match id {
            Some(id) => {
                definition.indexes.iter_mut().find(|index| index.id == id).map(|index| &mut index.name)
            }
            None => definition.primary_key.as_mut().map(|key| &mut key.name),
        };
        if let Some(renamed) = renamed {
            name.clone_into(renamed);
        }
        definition
    }

    /// The query and dependencies of a view, if this is one.
    pub fn view(&self) -> Option<&ViewDefinition> {
        self.view.as_deref()
    }

    /// The query and dependencies of a view or a materialized view, if this is one.
    pub fn source(&self) -> Option<&ViewDefinition> {
        self.view().or_else(|| self.materialized.as_deref().map(|own| &own.query))
    }

    pub fn source_mut(&mut self) -> Option<&mut ViewDefinition> {
        self.view.as_deref_mut().or_else(|| self.materialized.as_deref_mut().map(|own| &mut own.query))
    }

    /// Whether it is a materialized view whose rows are still to be computed.
    pub fn is_unpopulated(&self) -> bool {
        self.materialized.as_ref().is_some_and(|own| !own.is_populated)
    }

    /// The kind of the relation in messages.
    pub fn word(&self) -> &'static str {
        match (&self.view, &self.materialized) {
            (Some(_), _) => "view",
            (None, Some(_)) => "materialized view",
            (None, None) => "table",
        }
    }

    /// Whether the table's name, or that of one of its indexes, is this one.
    pub fn has_relation(&self, name: &str) -> bool {
        self.name.name == name
            || self.primary_key.as_ref().is_some_and(|key| key.name == name)
            || self.index_named(name).is_some()
    }

    /// The key on exactly these columns, in any order: the primary key (`None`) or the first unique index,
    /// with its columns. A deferrable index does not count, because rows may have the same values there.
    pub fn key_on(&self, columns: &[u16]) -> Option<(Option<u16>, Vec<u16>)> {
        let is_key =
            |key: &[u16]| key.len() == columns.len() && columns.iter().all(|column| key.contains(column));
        if let Some(key) = self.primary_key.as_ref().filter(|key| is_key(&key.columns)) {
            return Some((None, key.columns.clone()));
        }
        let unique = (0u16..).zip(&self.indexes).filter(|(_, index)| index.is_always_unique());
        unique
            .map(|(number, index)| (Some(number), index.key_columns().collect::<Vec<u16>>()))
            .find(|(_, key)| is_key(key))
    }

    /// The columns of the primary key (`None`), or of the index at this position.
    pub fn key_columns(&self, index: Option<u16>) -> Vec<u16> {
        match index {
            None => self.primary_key.as_ref().map_or_else(Vec::new, |key| key.columns.clone()),
            Some(index) => self
                .indexes
                .get(usize::from(index))
                .map_or_else(Vec::new, |index| index.key_columns().collect()),
        }
    }

    /// Whether this column is in the primary key or in a unique index: a change of it may change the values
    /// by which other rows reference the row.
    pub fn is_key_column(&self, column: u16) -> bool {
        let is_in_primary_key = self.primary_key.as_ref().is_some_and(|key| key.columns.contains(&column));
        is_in_primary_key || self.indexes.iter().any(|index| index.is_unique && index.has_column(column))
    }

    pub fn foreign_key(&self, name: &str) -> Option<&ForeignKey> {
        self.foreign_keys.iter().find(|foreign_key| foreign_key.name == name)
    }

    /// The tables whose foreign keys reference this one, each once.
    pub fn children(&self) -> Vec<TableId> {
        let mut children = self.referenced_by.clone();
        children.sort_unstable();
        children.dedup();
        children
    }

    /// The definition of this table, with this id, after the foreign key is added; if that references the
    /// table itself, as parent too.
    #[must_use]
    pub fn with_foreign_key(&self, id: TableId, foreign_key: &ForeignKey) -> TableDefinition {
        let mut child = self.clone();
        child.foreign_keys.push(foreign_key.clone());
        if foreign_key.parent == id { child.with_child(id) } else { child }
    }

    /// The same definition after a foreign key of this table references it.
    #[must_use]
    pub fn with_child(&self, child: TableId) -> TableDefinition {
        let mut parent = self.clone();
        parent.referenced_by.push(child);
        parent
    }

    /// The definition of this table, with this id, without the foreign key of this name.
    #[must_use]
    pub fn without_foreign_key(&self, id: TableId, name: &str) -> TableDefinition {
        let mut child = self.clone();
        child.foreign_keys.retain(|foreign_key| foreign_key.name != name);
        let referenced = self.foreign_key(name).is_some_and(|foreign_key| foreign_key.parent == id);
        if referenced { child.without_child(id, self.number_among(id, name)) } else { child }
    }

    /// The same definition without the foreign key of this table that has this number among those that
    /// reference it.
    #[must_use]
    pub fn without_child(&self, child: TableId, number: usize) -> TableDefinition {
        let mut parent = self.clone();
        let mut places = (0..parent.referenced_by.len()).filter(|at| parent.referenced_by[*at] == child);
        if let Some(at) = places.nth(number) {
            parent.referenced_by.remove(at);
        }
        parent
    }

    /// The number of foreign keys to this parent that were created before the one of this name.
    pub fn number_among(&self, parent: TableId, name: &str) -> usize {
        let before = self.foreign_keys.iter().take_while(|foreign_key| foreign_key.name != name);
        before.filter(|foreign_key| foreign_key.parent == parent).count()
    }

    /// The same definition with the foreign key of this name valid.
    #[must_use]
    pub fn with_valid_foreign_key(&self, name: &str) -> TableDefinition {
        let mut definition = self.clone();
        if let Some(known) = definition.foreign_keys.iter_mut().find(|known| known.name == name) {
            known.is_not_valid = false;
        }
        definition
    }
}

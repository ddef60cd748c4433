//! Parts of tables as statements write them. Names are looked up when the statement runs.

use std::sync::Arc;

use hyades_engine::storage::table::Table;
use hyades_types::definition::{
    ColumnDefinition, Deferral, IndexColumn, IndexDefinition, IndexKind, Indexed, KeyAction, TableDefinition,
};
use hyades_types::error::Result;

use crate::statement::deep_text::Written;
use crate::statement::query::parse_expression;
use crate::statement::{QualifiedName, SequenceOptions};

/// A column to be added.
#[derive(Clone, Debug)]
pub(crate) struct NewColumn {
    pub(crate) definition: ColumnDefinition,
    pub(crate) sequence: Option<WantedSequence>,
}

/// A CHECK constraint, as written.
#[derive(Clone, Debug)]
pub(crate) struct WantedCheck {
    pub(crate) name: Option<String>,
    pub(crate) expr: Written,
    pub(crate) is_not_valid: bool,
}

/// A foreign key, as written. Its tables and columns are looked up when the statement runs.
#[derive(Clone, Debug)]
pub(crate) struct WantedForeignKey {
    pub(crate) name: Option<String>,
    pub(crate) columns: Vec<String>,
    pub(crate) parent: QualifiedName,
    /// Empty means the parent's primary key.
    pub(crate) parent_columns: Vec<String>,
    pub(crate) on_delete: KeyAction,
    /// The columns that ON DELETE sets. Empty means all of them.
    pub(crate) delete_columns: Vec<String>,
    pub(crate) on_update: KeyAction,
    pub(crate) is_full: bool,
    pub(crate) deferral: Deferral,
    pub(crate) is_not_valid: bool,
}

/// An index, as written.
#[derive(Clone, Debug)]
pub(crate) struct WantedIndex {
    /// `None` if a name must be made up.
    pub(crate) name: Option<String>,
    pub(crate) table: QualifiedName,
    pub(crate) keys: Vec<WantedKey>,
    pub(crate) included: Vec<String>,
    pub(crate) is_unique: bool,
    pub(crate) nulls_are_equal: bool,
    pub(crate) kind: IndexKind,
    pub(crate) if_not_exists: bool,
    pub(crate) is_concurrent: bool,
    /// WHERE.
    pub(crate) predicate: Option<Written>,
    /// Storage parameters, as they are kept.
    pub(crate) parameters: Vec<String>,
}

impl WantedIndex {
    /// The index as it is shown, with the conversions that its expressions contain: they remain, as in
    /// PostgreSQL.
    pub(crate) fn again(definition: &TableDefinition, index: &IndexDefinition) -> Result<WantedIndex> {
        let key = |key: &IndexColumn| -> Result<WantedKey> {
            let column = &definition.columns[usize::from(key.column)];
            let name_of = |at: u16| definition.columns[usize::from(at)].name.clone();
            let indexed = match column.indexed() {
                Some(Indexed::Expression(_)) => {
                    let shown = column.generation.as_ref().map_or("", |own| own.shown.as_str());
                    WantedIndexed::Expression(Written::new(parse_expression(shown)?), column.name.clone())
                }
                Some(Indexed::Column(at)) => WantedIndexed::Column(name_of(*at)),
                None => WantedIndexed::Column(column.name.clone()),
            };
            let operator_class = key.operator_class.map(|class| class.name().to_owned());
            Ok(WantedKey {
                indexed,
                is_descending: key.is_descending,
                nulls_first: key.nulls_first,
                operator_class,
            })
        };
        let predicate = index.predicate.as_ref().map(|predicate| parse_expression(&predicate.shown));
        let included = index.included.iter().map(|at| definition.columns[usize::from(*at)].name.clone());
        Ok(WantedIndex {
            name: Some(index.name.clone()),
            table: QualifiedName::new(Some(definition.name.schema.clone()), definition.name.name.clone()),
            keys: index.columns.iter().map(key).collect::<Result<_>>()?,
            included: included.collect(),
            is_unique: index.is_unique,
            nulls_are_equal: index.nulls_are_equal,
            kind: index.kind,
            if_not_exists: false,
            is_concurrent: false,
            predicate: predicate.transpose()?.map(Written::new),
            parameters: index.parameters.clone(),
        })
    }

    /// Whether it is on something that must be computed from the rows.
    pub(crate) fn is_computed(&self) -> bool {
        let is_expression = |key: &WantedKey| matches!(key.indexed, WantedIndexed::Expression(..));
        self.predicate.is_some() || self.keys.iter().any(is_expression)
    }
}

/// An index that a new table gets because a table named by LIKE has it.
#[derive(Clone, Debug)]
pub(crate) struct CopiedIndex {
    /// The index of the other table.
    pub(crate) index: IndexDefinition,
    pub(crate) keys: Vec<CopiedKey>,
    pub(crate) included: Vec<String>,
    /// The columns that its condition reads.
    pub(crate) conditions: Vec<String>,
    /// Whether it takes over the comment on the other index.
    pub(crate) has_comment: bool,
    /// The other table.
    pub(crate) from: Arc<TableDefinition>,
}

/// What a copied index is on.
#[derive(Clone, Debug)]
pub(crate) enum CopiedKey {
    Column(String),
    /// A column that exists only for the index, and the columns from which it is computed.
    Computed(Box<ColumnDefinition>, Vec<String>),
}

impl CopiedKey {
    pub(crate) fn name(&self) -> &str {
        match self {
            CopiedKey::Column(name) => name,
            CopiedKey::Computed(column, _) => &column.name,
        }
    }
}

/// The comments on parts of a table, for a new table made LIKE it.
#[derive(Clone, Debug)]
pub(crate) struct CopiedComments {
    pub(crate) from: Arc<Table>,
    pub(crate) of_checks: bool,
    pub(crate) of_keys: bool,
}

/// What an index is on.
#[derive(Clone, Debug)]
pub(crate) enum WantedIndexed {
    Column(String),
    /// The expression, and what it is called in generated names.
    Expression(Written, String),
}

impl WantedIndexed {
    pub(crate) fn name(&self) -> &str {
        match self {
            WantedIndexed::Column(name) | WantedIndexed::Expression(_, name) => name,
        }
    }
}

/// One key of an index: what it is on, and its order.
#[derive(Clone, Debug)]
pub(crate) struct WantedKey {
    pub(crate) indexed: WantedIndexed,
    pub(crate) is_descending: bool,
    pub(crate) nulls_first: bool,
    /// The name of an operator class, without its schema.
    pub(crate) operator_class: Option<String>,
}

/// A PRIMARY KEY, as written.
#[derive(Clone, Debug)]
pub(crate) struct WantedPrimaryKey {
    pub(crate) name: Option<String>,
    pub(crate) columns: Vec<String>,
    pub(crate) deferral: Deferral,
}

/// A UNIQUE constraint, as written, or a PRIMARY KEY that can be deferred.
#[derive(Clone, Debug)]
pub(crate) struct WantedUnique {
    pub(crate) name: Option<String>,
    pub(crate) columns: Vec<String>,
    pub(crate) nulls_are_equal: bool,
    pub(crate) deferral: Deferral,
    pub(crate) is_primary: bool,
    /// Its position in the statement.
    pub(crate) position: Option<u32>,
    pub(crate) is_of_new_table: bool,
    /// Storage parameters of the index, as they are kept.
    pub(crate) parameters: Vec<String>,
}

impl WantedUnique {
    /// The index of a PRIMARY KEY that can be deferred.
    pub(crate) fn of_key(key: &WantedPrimaryKey) -> WantedUnique {
        WantedUnique {
            name: key.name.clone(),
            columns: key.columns.clone(),
            nulls_are_equal: false,
            deferral: key.deferral,
            is_primary: true,
            position: None,
            is_of_new_table: false,
            parameters: Vec::new(),
        }
    }
}

/// The sequence of a column of a new table.
#[derive(Clone, Debug)]
pub(crate) struct WantedSequence {
    pub(crate) column: u16,
    pub(crate) is_identity: bool,
    pub(crate) options: SequenceOptions,
}

//! Definitions of secondary indexes: which columns, in which order, and whether their values are unique.
//!
//! UNIQUE constraints are such indexes too. The primary key is not one of them: it determines the keys under
//! which rows are kept ([`PrimaryKey`](super::PrimaryKey)). But a DEFERRABLE one is: two rows may have the
//! same key for a while, so they are kept under row numbers.

use serde::{Deserialize, Serialize};

use super::TableDefinition;
use super::generation::IndexPredicate;
use super::reference::Deferral;
use super::relation::{IndexKind, TableId};

/// The definition that CREATE INDEX or a UNIQUE constraint gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexDefinition {
    /// From the same counter as table ids, since an index is a relation too; never reused.
    pub id: TableId,
    /// Unique among the relations of its table's schema.
    pub name: String,
    pub columns: Vec<IndexColumn>,
    /// INCLUDE: columns that the index would only carry along. Rows are read anyway, so these columns have no
    /// effect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub included: Vec<u16>,
    #[serde(default)]
    pub is_unique: bool,
    /// NULLS NOT DISTINCT: two rows with NULL in the same column are equal there.
    #[serde(default)]
    pub nulls_are_equal: bool,
    /// WHERE: its columns are NULL in all other rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicate: Option<IndexPredicate>,
    /// It belongs to a UNIQUE constraint of the same name.
    #[serde(default)]
    pub is_constraint: bool,
    /// When that constraint is checked: until then rows may have the same values.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub deferral: Deferral,
    /// The constraint is the table's PRIMARY KEY, and can be deferred.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub is_primary: bool,
    /// As in USING. Either kind is kept in order. An index that was declared as a hash serves only equality.
    #[serde(default)]
    pub kind: IndexKind,
    /// Storage parameters, see [`TableDefinition`](super::TableDefinition).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<String>,
}

/// A column of an index, and how it is ordered there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexColumn {
    pub column: u16,
    #[serde(default)]
    pub is_descending: bool,
    #[serde(default)]
    pub nulls_first: bool,
    /// `None`: the default one of the column's type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator_class: Option<OperatorClass>,
}

/// The operator classes that are not the default of a type. Each orders as the default class does here, where
/// texts are compared by their bytes, so they are only kept and shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OperatorClass {
    Varchar,
    TextPattern,
    VarcharPattern,
    BpcharPattern,
    Cidr,
}

impl OperatorClass {
    pub const ALL: [OperatorClass; 5] = [
        OperatorClass::Varchar,
        OperatorClass::TextPattern,
        OperatorClass::VarcharPattern,
        OperatorClass::BpcharPattern,
        OperatorClass::Cidr,
    ];

    /// `pg_opclass.opcname`
    pub fn name(self) -> &'static str {
        match self {
            OperatorClass::Varchar => "varchar_ops",
            OperatorClass::TextPattern => "text_pattern_ops",
            OperatorClass::VarcharPattern => "varchar_pattern_ops",
            OperatorClass::BpcharPattern => "bpchar_pattern_ops",
            OperatorClass::Cidr => "cidr_ops",
        }
    }
}

impl IndexColumn {
    /// ASC NULLS LAST, the default.
    pub fn ascending(column: u16) -> IndexColumn {
        IndexColumn { column, is_descending: false, nulls_first: false, operator_class: None }
    }
}

impl IndexDefinition {
    /// The columns that it orders by.
    pub fn key_columns(&self) -> impl Iterator<Item = u16> {
        self.columns.iter().map(|key| key.column)
    }

    /// Whether no two rows have the same values at any time.
    pub fn is_always_unique(&self) -> bool {
        self.is_unique && self.deferral == Deferral::Never
    }

    /// Whether two rows may have the same values for a while, but not permanently.
    pub fn is_checked_later(&self) -> bool {
        self.is_unique && self.deferral != Deferral::Never
    }

    /// Whether it orders by this column.
    pub fn has_column(&self, column: u16) -> bool {
        self.key_columns().any(|key| key == column)
    }
}

impl TableDefinition {
    /// The name and columns of its PRIMARY KEY, whether or not rows are kept by it.
    pub fn declared_key(&self) -> Option<(&str, Vec<u16>)> {
        let kept_by = self.primary_key.as_ref().map(|key| (key.name.as_str(), key.columns.clone()));
        kept_by.or_else(|| {
            let index = self.indexes.iter().find(|index| index.is_primary)?;
            Some((index.name.as_str(), index.key_columns().collect()))
        })
    }

    /// Makes the columns of a primary key NOT NULL.
    pub fn refuse_nulls(&mut self, key: &[u16]) {
        for column in key {
            self.columns[usize::from(*column)].is_nullable = false;
        }
    }

    /// The position of an index on exactly these columns, in any order, whose constraint is checked later.
    pub fn deferrable_key_on(&self, columns: &[u16]) -> Option<u16> {
        let is_on = |index: &IndexDefinition| {
            index.columns.len() == columns.len() && columns.iter().all(|column| index.has_column(*column))
        };
        let mut indexes = (0u16..).zip(&self.indexes);
        indexes.find(|(_, index)| index.is_checked_later() && is_on(index)).map(|(number, _)| number)
    }
}

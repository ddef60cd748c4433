//! The properties of a foreign key besides its columns: what happens to the rows that reference a row that is
//! deleted or gets another key, when that is checked, and how values of different types are compared.
//!
//! Reference for the pairs of types: PostgreSQL's ATAddForeignKeyConstraint.

use serde::{Deserialize, Serialize};

use crate::cast::{self, CastContext};
use crate::value::SqlType;

/// What happens to the rows that reference a row that is deleted, or whose key changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeyAction {
    /// The statement fails, unless another row has the key at its end.
    #[default]
    NoAction,
    /// The statement fails.
    Restrict,
    /// The referencing rows are deleted too, or get the new key.
    Cascade,
    SetNull,
    SetDefault,
}

/// When a constraint is checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Deferral {
    /// At the end of each statement.
    #[default]
    Never,
    /// At the end of each statement, unless SET CONSTRAINTS says otherwise.
    InitiallyImmediate,
    /// At the end of the transaction, unless SET CONSTRAINTS says otherwise.
    InitiallyDeferred,
}

impl Deferral {
    /// The words that follow a constraint that is checked then.
    pub fn words(self) -> &'static str {
        match self {
            Deferral::Never => "",
            Deferral::InitiallyImmediate => " DEFERRABLE",
            Deferral::InitiallyDeferred => " DEFERRABLE INITIALLY DEFERRED",
        }
    }
}

/// How a value of a referencing column is compared with one of the referenced column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyComparison {
    /// Equal values have equal keys.
    Same,
    /// The referencing value is converted to the other type.
    AsParent,
    /// The referenced value is converted to the other type.
    AsChild,
}

impl KeyComparison {
    /// `None`: they cannot be compared, or the result would depend on the time zone.
    pub fn of(child: SqlType, parent: SqlType) -> Option<KeyComparison> {
        let is_plain_text = |sql_type| matches!(sql_type, SqlType::Text | SqlType::Varchar(_));
        let are_both = |is: fn(SqlType) -> bool| is(child) && is(parent);
        let is_float = |sql_type| matches!(sql_type, SqlType::Real | SqlType::DoublePrecision);
        let is_zoned = |sql_type| matches!(sql_type, SqlType::TimestampTz(_));
        let is_zoned_time = |sql_type| matches!(sql_type, SqlType::TimeTz(_));
        if child.is_same_base(parent) || (is_plain_text(child) && is_plain_text(parent)) {
            return Some(KeyComparison::Same);
        }
        if (is_zoned(child) != is_zoned(parent)) && are_both(SqlType::is_datetime) {
            return None;
        }
        if is_zoned_time(child) != is_zoned_time(parent) {
            return None;
        }
        let is_family = are_both(SqlType::is_integer)
            || are_both(is_float)
            || are_both(SqlType::is_text)
            || are_both(SqlType::is_datetime);
        if cast::allowed(child, parent) == Some(CastContext::Implicit) {
            return Some(KeyComparison::AsParent);
        }
        is_family.then_some(KeyComparison::AsChild)
    }

    /// The type that both sides are compared as.
    pub fn compared_as(self, child: SqlType, parent: SqlType) -> SqlType {
        let sql_type = if self == KeyComparison::AsChild { child } else { parent };
        sql_type.without_modifier()
    }
}

//! Statements about types and domains, as written.

use hyades_types::enumeration::LabelPlace;
use sqlparser::ast::DataType;

use super::access_commands::RoleName;
use super::qualified_name::QualifiedName;
use crate::statement::deep_text::Written;

/// CREATE TYPE and CREATE DOMAIN.
#[derive(Clone, Debug)]
pub(crate) struct CreateType {
    pub(crate) name: QualifiedName,
    pub(crate) kind: WrittenType,
}

#[derive(Clone, Debug)]
pub(crate) enum WrittenType {
    /// Its labels.
    Enum(Vec<String>),
    Domain(Box<WrittenDomain>),
    Composite(Vec<WrittenAttribute>),
}

/// An attribute of a composite type.
#[derive(Clone, Debug)]
pub(crate) struct WrittenAttribute {
    pub(crate) name: String,
    pub(crate) data_type: DataType,
}

/// What ALTER TYPE does with an attribute.
#[derive(Clone, Debug)]
pub(crate) enum AttributeAction {
    Add(WrittenAttribute),
    Drop { name: String, if_exists: bool },
    SetType(WrittenAttribute),
    Rename { from: String, to: String },
}

#[derive(Clone, Debug)]
pub(crate) struct WrittenDomain {
    pub(crate) base: DataType,
    pub(crate) default: Option<Written>,
    pub(crate) is_not_null: bool,
    pub(crate) checks: Vec<WrittenCheck>,
}

/// A constraint of a domain.
#[derive(Clone, Debug)]
pub(crate) struct WrittenCheck {
    pub(crate) name: Option<String>,
    pub(crate) condition: Written,
}

#[derive(Clone, Debug)]
pub(crate) struct AlterType {
    pub(crate) name: QualifiedName,
    pub(crate) action: TypeAction,
    /// Whether it says ALTER DOMAIN.
    pub(crate) is_domain: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum TypeAction {
    AddValue { label: String, if_not_exists: bool, place: LabelPlace },
    RenameValue { from: String, to: String },
    Rename(String),
    SetOwner(RoleName),
    SetSchema(String),
    Domain(DomainAction),
    Attributes(Vec<AttributeAction>),
}

/// What ALTER DOMAIN does in addition to ALTER TYPE.
#[derive(Clone, Debug)]
pub(crate) enum DomainAction {
    /// `None`: DROP DEFAULT.
    SetDefault(Option<Written>),
    SetNotNull(bool),
    AddCheck {
        check: Box<WrittenCheck>,
        is_not_valid: bool,
    },
    DropConstraint {
        name: String,
        if_exists: bool,
    },
    RenameConstraint {
        from: String,
        to: String,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct DropType {
    /// Whether it says DROP DOMAIN.
    pub(crate) is_domain: bool,
    pub(crate) names: Vec<QualifiedName>,
    pub(crate) if_exists: bool,
    pub(crate) cascades: bool,
}

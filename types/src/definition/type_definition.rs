//! Types that users create.
//!
//! Reference: PostgreSQL's catalog `pg_type`.

use serde::{Deserialize, Serialize};

use crate::definition::{CheckConstraint, TableName};
use crate::enumeration::{EnumDefinition, EnumLabels, EnumType, shown_type};
use crate::extension::ExtensionType;
use crate::value::CreatedType;
use crate::value::SqlType;
use crate::value::composite::{CompositeDefinition, CompositeField, CompositeType};

/// What CREATE TYPE defines.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TypeDefinition {
    /// `pg_type.oid`; never reused.
    pub id: u32,
    /// `pg_type.oid` of the type of its arrays.
    pub array_id: u32,
    pub schema: String,
    pub name: String,
    #[serde(flatten)]
    pub kind: TypeKind,
    /// Drawn again with every change, so that no two definitions are the same, not even one that was rolled
    /// back and one that replaced it.
    pub version: u64,
    /// The version that it was made from: a transaction that alters a type is refused if another has altered
    /// it meanwhile.
    #[serde(default)]
    pub previous: u64,
}

/// The kinds of types. In the log each is told by its fields, because at first there were only enums.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TypeKind {
    Enum {
        labels: EnumLabels,
    },
    Domain {
        domain: Box<DomainDefinition>,
    },
    /// Of an extension, of which the type has the name and the numbers.
    Extension {
        extension: ExtensionType,
    },
    /// `next_number`: that of the next field that is added.
    Composite {
        fields: Vec<CompositeField>,
        next_number: u16,
    },
}

/// What CREATE DOMAIN defines: the values of a type that satisfy some constraints.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DomainDefinition {
    /// The type of the values, which is not a domain.
    pub base: SqlType,
    /// The domain that it narrows down, if it is made of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<u32>,
    #[serde(default)]
    pub is_not_null: bool,
    /// The default of columns that have none of their own, as SQL text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Conditions on a row of one column ([`DomainDefinition::VALUE`]). In the order in which they were
    /// created.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckConstraint>,
}

impl DomainDefinition {
    /// The name of the value in conditions.
    pub const VALUE: &str = "value";

    /// Whether some values of the base type are not values of the domain. Those of its parent may change.
    pub fn has_constraints(&self) -> bool {
        self.is_not_null || !self.checks.is_empty() || self.parent.is_some()
    }
}

impl TypeDefinition {
    /// A new type of this name, with these numbers ([`TypeDefinition::id`], [`TypeDefinition::array_id`]).
    pub fn new((id, array_id): (u32, u32), name: &TableName, kind: TypeKind) -> TypeDefinition {
        let TableName { schema, name } = name.clone();
        TypeDefinition { id, array_id, schema, name, kind, version: rand::random(), previous: 0 }
    }

    /// The type of a relation's rows in the form of a type that was created.
    pub fn of_rows(row_type: CompositeType) -> TypeDefinition {
        let CompositeDefinition { id, array_id, schema, name, fields, version } =
            row_type.definition().clone();
        let kind = TypeKind::Composite { fields, next_number: 0 };
        TypeDefinition { id, array_id, schema, name, kind, version, previous: 0 }
    }

    /// Begins a new definition that is derived from this one.
    pub fn begin_change(&mut self) {
        self.previous = std::mem::replace(&mut self.version, rand::random());
    }

    /// The name as `format_type` shows it.
    pub fn shown(&self) -> String {
        shown_type(&self.schema, &self.name)
    }

    pub fn full_name(&self) -> TableName {
        TableName { schema: self.schema.clone(), name: self.name.clone() }
    }

    /// The labels of an enum.
    pub fn labels(&self) -> Option<&EnumLabels> {
        match &self.kind {
            TypeKind::Enum { labels } => Some(labels),
            _ => None,
        }
    }

    /// The type of the values of an enum.
    pub fn enum_type(&self) -> Option<EnumType> {
        let TypeDefinition { id, array_id, version, previous, .. } = *self;
        let (schema, name, labels) = (self.schema.clone(), self.name.clone(), self.labels()?.clone());
        Some(EnumType::new(EnumDefinition { id, array_id, schema, name, labels, version, previous }))
    }

    /// The fields of a composite type.
    pub fn fields(&self) -> Option<&[CompositeField]> {
        match &self.kind {
            TypeKind::Composite { fields, .. } => Some(fields),
            _ => None,
        }
    }

    pub fn composite_type(&self) -> Option<CompositeType> {
        let TypeDefinition { id, array_id, version, .. } = *self;
        let (schema, name, fields) = (self.schema.clone(), self.name.clone(), self.fields()?.to_vec());
        Some(CompositeType::new(CompositeDefinition { id, array_id, schema, name, fields, version }))
    }

    /// The type of its values; `None` for a domain, whose values are of another type.
    pub fn sql_type(&self) -> Option<SqlType> {
        match self.kind {
            TypeKind::Enum { .. } => self.enum_type().map(SqlType::Enum),
            TypeKind::Composite { .. } => self.composite_type().map(SqlType::Composite),
            TypeKind::Extension { extension } => Some(SqlType::Extension(extension)),
            TypeKind::Domain { .. } => None,
        }
    }

    pub fn domain(&self) -> Option<&DomainDefinition> {
        match &self.kind {
            TypeKind::Domain { domain } => Some(domain),
            _ => None,
        }
    }

    /// The type that an extension has brought.
    pub fn extension_type(&self) -> Option<ExtensionType> {
        match self.kind {
            TypeKind::Extension { extension } => Some(extension),
            _ => None,
        }
    }

    /// Whether values of the earlier definition may not be values of this one: of a domain that has got
    /// another constraint, which existing values are to satisfy.
    pub fn is_narrower_than(&self, earlier: &TypeDefinition) -> bool {
        let (Some(now), Some(before)) = (self.domain(), earlier.domain()) else { return false };
        let is_new = |check: &&CheckConstraint| {
            // Renamed constraints keep their text, and those with other names in their text keep their own.
            let is_known =
                |known: &CheckConstraint| known.name == check.name || known.expression == check.expression;
            !check.is_not_valid && !before.checks.iter().any(is_known)
        };
        now.is_not_null && !before.is_not_null || now.checks.iter().any(|check| is_new(&check))
    }

    /// Whether it is made of the type with this number.
    pub fn uses_type(&self, id: u32) -> bool {
        match &self.kind {
            TypeKind::Enum { .. } | TypeKind::Extension { .. } => false,
            TypeKind::Domain { domain } => domain.parent == Some(id) || domain.base.contains_type(id),
            TypeKind::Composite { fields, .. } => fields.iter().any(|field| field.sql_type.contains_type(id)),
        }
    }

    /// The types that were created in the database and that it is made of.
    pub fn created_types(&self) -> Vec<CreatedType> {
        match &self.kind {
            TypeKind::Enum { .. } | TypeKind::Extension { .. } => Vec::new(),
            TypeKind::Domain { domain } => domain.base.created_types(),
            TypeKind::Composite { fields, .. } => {
                fields.iter().flat_map(|field| field.sql_type.created_types()).collect()
            }
        }
    }

    /// The same definition with the current version of a type that it is made of.
    #[must_use]
    pub fn with_type(&self, changed: &TypeDefinition) -> TypeDefinition {
        let mut definition = self.clone();
        let Some(changed) = changed.sql_type() else { return definition };
        match &mut definition.kind {
            TypeKind::Enum { .. } | TypeKind::Extension { .. } => {}
            TypeKind::Domain { domain } => domain.base = domain.base.with_type(changed),
            TypeKind::Composite { fields, .. } => {
                fields.iter_mut().for_each(|field| field.sql_type = field.sql_type.with_type(changed));
            }
        }
        definition
    }
}

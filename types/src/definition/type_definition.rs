//! Types that users create.
//!
//! Reference: PostgreSQL's catalog `pg_type`.

use serde::{Deserialize, Serialize};

use crate::definition::TableName;
use crate::enumeration::EnumLabels;
use crate::identifier::quoted_identifier;
use crate::search_path::PUBLIC;

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
    Enum { labels: EnumLabels },
}

impl TypeDefinition {
    /// A new type of this name, with these numbers ([`TypeDefinition::id`], [`TypeDefinition::array_id`]).
    pub fn new((id, array_id): (u32, u32), name: &TableName, kind: TypeKind) -> TypeDefinition {
        let TableName { schema, name } = name.clone();
        TypeDefinition { id, array_id, schema, name, kind, version: rand::random(), previous: 0 }
    }

    /// Begins a new definition that is derived from this one.
    pub fn begin_change(&mut self) {
        self.previous = std::mem::replace(&mut self.version, rand::random());
    }

    /// The name as `format_type` shows it.
    pub fn shown(&self) -> String {
        let name = quoted_identifier(&self.name);
        match self.schema.as_str() {
            PUBLIC => name.to_string(),
            schema => format!("{}.{name}", quoted_identifier(schema)),
        }
    }

    pub fn full_name(&self) -> TableName {
        TableName { schema: self.schema.clone(), name: self.name.clone() }
    }

    /// The labels of an enum.
    pub fn labels(&self) -> Option<&EnumLabels> {
        match &self.kind {
            TypeKind::Enum { labels } => Some(labels),
        }
    }
}

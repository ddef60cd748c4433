//! Types that a definition of the catalog describes: enums, composite types, and arrays of them. A type
//! carries its definition, so it is exchanged where the definition changes.

use std::sync::Arc;

use super::created_type::CreatedType;
use super::{ArrayElement, SqlType, Value};
use crate::enumeration::{EnumType, EnumValue};
use crate::extension::ExtensionType;
use crate::value::composite::CompositeType;

impl SqlType {
    /// The enum type that this is, or the one of its elements.
    pub fn enum_type(self) -> Option<EnumType> {
        match self {
            SqlType::Enum(enum_type) | SqlType::Array(ArrayElement::Enum(enum_type)) => Some(enum_type),
            _ => None,
        }
    }

    /// The composite type that this is, or the one of its elements.
    pub fn composite_type(self) -> Option<CompositeType> {
        match self {
            SqlType::Composite(row_type) | SqlType::Array(ArrayElement::Composite(row_type)) => {
                Some(row_type)
            }
            _ => None,
        }
    }

    /// The type of an extension that this is, or the one of its elements.
    pub fn extension_type(self) -> Option<ExtensionType> {
        match self {
            SqlType::Extension(own) | SqlType::Array(ArrayElement::Extension(own)) => Some(own),
            _ => None,
        }
    }

    /// The type that was created in the database and that this is, or its elements are.
    pub fn created_type(self) -> Option<CreatedType> {
        let versioned = |id, version| Some(CreatedType { id, version: Some(version) });
        if let Some(enum_type) = self.enum_type() {
            return versioned(enum_type.definition().id, enum_type.definition().version);
        }
        if let Some(own) = self.extension_type() {
            return Some(CreatedType { id: own.oid(), version: None });
        }
        let row_type = self.composite_type().filter(|row_type| row_type.relation().is_none())?;
        versioned(row_type.definition().id, row_type.definition().version)
    }

    /// The types that were created in the database and that values of this one consist of. What the rows of a
    /// relation consist of is found out when their type is used.
    pub fn created_types(self) -> Vec<CreatedType> {
        let mut found: Vec<CreatedType> = self.created_type().into_iter().collect();
        if let Some(row_type) = self.composite_type().filter(|row_type| row_type.relation().is_none()) {
            found.extend(row_type.fields().iter().flat_map(|field| field.sql_type.created_types()));
        }
        found
    }

    /// Whether its values, or their elements, refer to a definition of the catalog, which may change.
    #[inline]
    pub fn has_definition(self) -> bool {
        matches!(
            self,
            SqlType::Enum(_)
                | SqlType::Composite(_)
                | SqlType::Array(ArrayElement::Enum(_) | ArrayElement::Composite(_))
        )
    }

    /// Whether its values contain rows whose type is that of a relation's rows.
    pub fn has_rows_of_relation(self) -> bool {
        self.composite_type().is_some_and(|row_type| {
            row_type.relation().is_some()
                || row_type.fields().iter().any(|field| field.sql_type.has_rows_of_relation())
        })
    }

    /// Schema and name of the definition that its values, or their elements, refer to.
    pub fn definition_name(self) -> Option<(&'static str, &'static str)> {
        let of_enum = self.enum_type().map(|own| (&own.definition().schema, &own.definition().name));
        let of_row = || self.composite_type().map(|own| (&own.definition().schema, &own.definition().name));
        of_enum.or_else(of_row).map(|(schema, name)| (schema.as_str(), name.as_str()))
    }

    /// `pg_type.oid` of that definition.
    pub fn definition_id(self) -> Option<u32> {
        let of_enum = self.enum_type().map(|own| own.definition().id);
        of_enum.or_else(|| self.composite_type().map(|own| own.definition().id))
    }

    /// The number of the type, or of that of its elements, if a database has it only when it was created
    /// there: a definition, or a type of an extension.
    pub fn created_id(self) -> Option<u32> {
        self.definition_id().or_else(|| self.extension_type().map(ExtensionType::oid))
    }

    /// Whether its values, or their elements, are of the type with this number, which was created.
    pub fn is_of_type(self, id: u32) -> bool {
        self.created_id() == Some(id)
    }

    /// The same, and whether its fields are, unless it is the type of a relation's rows.
    pub fn contains_type(self, id: u32) -> bool {
        let is_in =
            |row_type: CompositeType| row_type.fields().iter().any(|field| field.sql_type.contains_type(id));
        let created = self.composite_type().filter(|row_type| row_type.relation().is_none());
        self.is_of_type(id) || created.is_some_and(is_in)
    }

    /// The same with another definition of an enum or a composite type, wherever it contains that type.
    #[must_use]
    pub fn with_type(self, changed: SqlType) -> SqlType {
        match (self, changed) {
            (SqlType::Enum(own), SqlType::Enum(new)) if own == new => changed,
            (SqlType::Composite(own), SqlType::Composite(new)) if own == new => changed,
            (SqlType::Composite(own), _) => SqlType::Composite(own.with_type(changed)),
            (SqlType::Array(element @ (ArrayElement::Enum(_) | ArrayElement::Composite(_))), _) => {
                let element = element.sql_type().with_type(changed);
                ArrayElement::of(element).map_or(self, SqlType::Array)
            }
            (other, _) => other,
        }
    }
}

impl Value {
    /// The same value with the current definition of its type, this one, if it is an enum or a row, or an
    /// array of them.
    #[must_use]
    pub fn with_current_type(self, sql_type: SqlType) -> Value {
        match (self, sql_type) {
            (Value::Enum(value), SqlType::Enum(enum_type)) => Value::Enum(EnumValue { enum_type, ..value }),
            (Value::Row(row), SqlType::Composite(row_type)) if row.row_type.is_identical(row_type) => {
                Value::Row(row)
            }
            (Value::Row(row), SqlType::Composite(row_type)) => Value::Row(Arc::new(row.of_version(row_type))),
            (
                Value::Array(array),
                SqlType::Array(element @ (ArrayElement::Enum(_) | ArrayElement::Composite(_))),
            ) => {
                let values = array.values.iter();
                let values =
                    values.map(|value| value.clone().with_current_type(element.sql_type())).collect();
                Value::shaped_array(element, &array.dimensions(), values)
            }
            (other, _) => other,
        }
    }
}

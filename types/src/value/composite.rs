//! Composite types: named fields, each of a type of its own. The type of a table's rows is one of them.
//!
//! As with enums ([`crate::enumeration`]), a type is a handle to a definition that is never changed and never
//! freed, so that types are copied and values know the names of their fields. Equal definitions are kept
//! once.
//!
//! A field is identified by its *number*, which never changes and is never given to another one. Rows and log
//! records hold numbers, so a value that was stored before ALTER TYPE is read with the current definition:
//! fields that it lacks are NULL, and those that are gone are left out.
//!
//! Reference: PostgreSQL's rowtypes.c.

use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::created_type::CreatedType;
use super::{SqlType, Value};
use crate::enumeration::shown_type;

/// `pg_type.oid` of `record`: the type of rows whose type has no name.
const RECORD: u32 = 2249;
const RECORDS: u32 = 2287;
/// What is added to the number of a relation to get that of the type of its rows, and of arrays of them.
const ROWS: u32 = 1 << 30;
const ARRAYS_OF_ROWS: u32 = 1 << 31;

/// A composite type, as its values know it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CompositeDefinition {
    /// `pg_type.oid`
    pub id: u32,
    /// `pg_type.oid` of the type of its arrays.
    pub array_id: u32,
    pub schema: String,
    pub name: String,
    pub fields: Vec<CompositeField>,
    /// As of the type's definition; 0 for the rows of a relation.
    pub version: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CompositeField {
    /// `pg_attribute.attnum`
    pub number: u16,
    pub name: String,
    pub sql_type: SqlType,
}

/// A composite type. Two are equal if they have the same number.
#[derive(Clone, Copy)]
pub struct CompositeType(&'static Interned);

/// A definition with the names that are derived from it.
struct Interned {
    definition: CompositeDefinition,
    shown: String,
    shown_array: String,
    array_name: String,
}

/// A value of a composite type: one value for each of its fields, in their order.
#[derive(Clone, Debug)]
pub struct RowValue {
    pub row_type: CompositeType,
    pub fields: Box<[Value]>,
}

/// A definition, and the versions of the types that it is made of: types are equal whatever their versions
/// are.
type Key = (CompositeDefinition, Vec<CreatedType>);

static INTERNED: LazyLock<Mutex<HashMap<Key, CompositeType>>> = LazyLock::new(Mutex::default);

impl CompositeType {
    /// The type of this definition.
    pub fn new(definition: CompositeDefinition) -> CompositeType {
        let made_of = definition.fields.iter().flat_map(|field| field.sql_type.created_types()).collect();
        let key = (definition, made_of);
        let mut interned = INTERNED.lock();
        if let Some(known) = interned.get(&key) {
            return *known;
        }
        let definition = &key.0;
        let shown = shown_type(&definition.schema, &definition.name);
        let kept = Interned {
            shown_array: format!("{shown}[]"),
            shown,
            array_name: format!("_{}", definition.name),
            definition: definition.clone(),
        };
        let composite = CompositeType(Box::leak(Box::new(kept)));
        interned.insert(key, composite);
        composite
    }

    /// The type of the rows of a relation with this number and name.
    pub fn of_rows(
        relation: u32,
        (schema, name): (&str, &str),
        fields: Vec<CompositeField>,
    ) -> CompositeType {
        CompositeType::new(CompositeDefinition {
            id: CompositeType::number_of_rows(relation),
            array_id: CompositeType::number_of_arrays(relation),
            schema: schema.to_owned(),
            name: name.to_owned(),
            fields,
            version: 0,
        })
    }

    /// `pg_class.reltype` of a relation.
    pub fn number_of_rows(relation: u32) -> u32 {
        relation | ROWS
    }

    /// `pg_type.typarray` of the type of a relation's rows.
    pub fn number_of_arrays(relation: u32) -> u32 {
        relation | ARRAYS_OF_ROWS
    }

    /// The relation whose rows have the type with this number.
    pub fn relation_of(number: u32) -> Option<u32> {
        (number & ROWS != 0 && number & ARRAYS_OF_ROWS == 0).then_some(number & !ROWS)
    }

    /// The relation whose rows, or arrays of them, have the type with this number.
    pub fn relation_with(number: u32) -> Option<u32> {
        let element = if number & ARRAYS_OF_ROWS == 0 { number } else { (number & !ARRAYS_OF_ROWS) | ROWS };
        CompositeType::relation_of(element)
    }

    /// The type of a row that is known only by the numbers of its fields, as in the record of a call.
    pub fn of_numbers(numbers: impl IntoIterator<Item = u16>) -> CompositeType {
        let field = |number| CompositeField { number, name: format!("f{number}"), sql_type: SqlType::Text };
        CompositeType::new(CompositeDefinition {
            id: RECORD,
            array_id: RECORDS,
            schema: "pg_catalog".to_owned(),
            name: "record".to_owned(),
            fields: numbers.into_iter().map(field).collect(),
            version: 0,
        })
    }

    pub fn definition(self) -> &'static CompositeDefinition {
        &self.0.definition
    }

    pub fn fields(self) -> &'static [CompositeField] {
        &self.definition().fields
    }

    /// Names and types of its fields.
    pub fn columns(self) -> Vec<(String, SqlType)> {
        self.fields().iter().map(|field| (field.name.clone(), field.sql_type)).collect()
    }

    /// The relation whose rows are of this type.
    pub fn relation(self) -> Option<u32> {
        CompositeType::relation_of(self.definition().id)
    }

    /// The name as `format_type` shows it.
    pub fn shown(self) -> &'static str {
        &self.0.shown
    }

    /// The array type as it is shown, its `pg_type.typname`, and its oid.
    pub fn array_names(self) -> (&'static str, &'static str, u32) {
        (&self.0.shown_array, &self.0.array_name, self.0.definition.array_id)
    }

    /// Whether both are the same version of the same type.
    pub fn is_identical(self, other: CompositeType) -> bool {
        std::ptr::eq(self.0, other.0)
    }

    /// The place of the field with this number.
    pub fn place(self, number: u16) -> Option<usize> {
        let fields = self.fields();
        let expected = usize::from(number).checked_sub(1)?;
        if fields.get(expected).is_some_and(|field| field.number == number) {
            return Some(expected);
        }
        fields.iter().position(|field| field.number == number)
    }

    /// The field of this name.
    pub fn field(self, name: &str) -> Option<&'static CompositeField> {
        self.fields().iter().find(|field| field.name == name)
    }

    /// The same type, in which a type that it is made of has this definition.
    #[must_use]
    pub fn with_type(self, changed: SqlType) -> CompositeType {
        let mut definition = self.definition().clone();
        for field in &mut definition.fields {
            field.sql_type = field.sql_type.with_type(changed);
        }
        CompositeType::new(definition)
    }

    /// A row in which all fields are NULL.
    pub fn nulls(self) -> Value {
        Value::row(self, vec![Value::Null; self.fields().len()])
    }
}

impl RowValue {
    /// The value of the field with this number; `None` if the row has no such field.
    pub fn field(&self, number: u16) -> Option<&Value> {
        self.fields.get(self.row_type.place(number)?)
    }

    /// The same row as a value of this version of its type.
    #[must_use]
    pub fn of_version(&self, row_type: CompositeType) -> RowValue {
        let field = |field: &CompositeField| {
            let own = self.field(field.number).cloned().unwrap_or_default();
            own.with_current_type(field.sql_type)
        };
        RowValue { row_type, fields: row_type.fields().iter().map(field).collect() }
    }

    /// Memory that a copy would take.
    pub fn heap_bytes(&self) -> usize {
        size_of_val(&*self.fields) + self.fields.iter().map(Value::heap_bytes).sum::<usize>()
    }
}

impl PartialEq for RowValue {
    fn eq(&self, other: &RowValue) -> bool {
        self.row_type == other.row_type && self.fields == other.fields
    }
}

impl Value {
    /// A row of these fields.
    pub fn row(row_type: CompositeType, fields: impl Into<Box<[Value]>>) -> Value {
        Value::Row(Arc::new(RowValue { row_type, fields: fields.into() }))
    }
}

impl PartialEq for CompositeType {
    fn eq(&self, other: &CompositeType) -> bool {
        self.definition().id == other.definition().id
    }
}

impl Eq for CompositeType {}

impl Hash for CompositeType {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.definition().id.hash(state);
    }
}

impl fmt::Debug for CompositeType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.shown())
    }
}

impl Serialize for CompositeType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.definition().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for CompositeType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<CompositeType, D::Error> {
        CompositeDefinition::deserialize(deserializer).map(CompositeType::new)
    }
}

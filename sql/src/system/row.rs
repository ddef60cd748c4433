//! Rows of the catalog: values with the names of their columns.
//!
//! A row names its columns in their order. Columns that it leaves out are NULL. In a table, as in
//! PostgreSQL's catalogs, they are zero, false or empty if the column's type has a fixed width.

use hyades_types::definition::TableDefinition;
use hyades_types::system_type::SystemType;
use hyades_types::value::{ArrayElement, Value};

/// Some columns of a row, in their order.
pub(crate) type NamedRow = Vec<(&'static str, Value)>;

pub(crate) fn oid(oid: u32) -> Value {
    Value::Oid(oid)
}

pub(crate) fn text(text: impl AsRef<str>) -> Value {
    Value::text(text.as_ref())
}

pub(crate) fn truth(truth: bool) -> Value {
    Value::Boolean(truth)
}

pub(crate) fn int2(number: impl TryInto<i16>) -> Value {
    Value::SmallInt(number.try_into().unwrap_or(i16::MAX))
}

pub(crate) fn int4(number: impl TryInto<i32>) -> Value {
    Value::Integer(number.try_into().unwrap_or(i32::MAX))
}

pub(crate) fn int8(number: impl TryInto<i64>) -> Value {
    Value::BigInt(number.try_into().unwrap_or(i64::MAX))
}

/// The catalog's numbers of columns. They start at 1 instead of the engine's 0, and also count dropped
/// columns.
pub(crate) fn column_numbers(table: &TableDefinition, columns: &[u16]) -> Value {
    let number = |column: u16| table.column_number(usize::from(column));
    let numbers = columns.iter().map(|column| int2(table.indexed_column(*column).map_or(0, number)));
    Value::array(ArrayElement::SmallInt, numbers.collect())
}

pub(crate) fn oids(oids: impl IntoIterator<Item = u32>) -> Value {
    let element = ArrayElement::System(SystemType::Oid);
    Value::array(element, oids.into_iter().map(Value::Oid).collect())
}

pub(crate) fn texts<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Value {
    Value::array(ArrayElement::Text, texts.into_iter().map(text).collect())
}

/// `"char"[]`
pub(crate) fn letters(letters: impl IntoIterator<Item = &'static str>) -> Value {
    let element = ArrayElement::System(SystemType::Char);
    Value::array(element, letters.into_iter().map(text).collect())
}

/// A function of PostgreSQL, by name and number.
pub(crate) fn function((name, oid): (&str, u32)) -> Value {
    Value::reference(SystemType::RegProc, oid, name)
}

/// The converted value, or NULL.
pub(crate) fn or_null<T>(value: Option<T>, of: impl FnOnce(T) -> Value) -> Value {
    value.map_or(Value::Null, of)
}

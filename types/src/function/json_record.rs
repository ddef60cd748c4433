//! JSON as rows whose columns have types: `json_to_record`, `json_to_recordset`, `json_populate_record`,
//! `json_populate_recordset` and their like of jsonb.
//!
//! [`Function::JsonRecords`] lists the objects that become rows. [`Function::JsonRecordMember`] takes a
//! member out of one as the text that the type of its column reads: the JSON itself for json and jsonb,
//! PostgreSQL's notation for arrays, and otherwise the text of the value.
//!
//! Reference: `populate_record_field` and `populate_recordset_worker` of PostgreSQL 15's `jsonfuncs.c`.

use super::json_access::{Kind, Part};
use super::{Function, mismatch};
use crate::array::too_many_dimensions;
use crate::cast::cast;
use crate::collect::values::copy;
use crate::collect::{List, Text};
use crate::environment::Environment;
use crate::error::{Error, Result, sqlstate};
use crate::json::Tape;
use crate::text;
use crate::value::array_value::MOST_DIMENSIONS;
use crate::value::composite::CompositeType;
use crate::value::{ArrayElement, SqlType, Value};

pub(super) fn call(function: Function, arguments: &[Value], environment: &Environment) -> Result<Value> {
    match (function, arguments) {
        (Function::JsonRecords, [Value::Text(name), whole]) => {
            let is_set = name.ends_with("recordset");
            let element = if name.starts_with("jsonb") { ArrayElement::Jsonb } else { ArrayElement::Json };
            let records = match whole {
                Value::Null if is_set => Vec::new(),
                // The only row is NULL in all columns.
                Value::Null => vec![Value::Null],
                whole => with_part(function, whole, |part| records(name, part, is_set))?,
            };
            Ok(Value::array(element, records))
        }
        (Function::JsonRecordMember, [record, Value::Text(key), Value::Text(form)]) => {
            with_part(function, record, |part| match part.field(key)? {
                None => Ok(Value::Null),
                Some(member) => Ok(text_of(member, key, form, environment)?.map_or(Value::Null, Value::Text)),
            })
        }
        (Function::PopulatedRow, [Value::Row(of_type), base, whole]) => match whole {
            Value::Null => copy(base),
            whole => with_part(function, whole, |part| match part.kind() {
                Kind::Object => populated(of_type.row_type, base, part, environment),
                Kind::Array => Err(wrong("cannot call populate_composite on an array".to_owned())),
                _ => Err(wrong("cannot call populate_composite on a scalar".to_owned())),
            }),
        },
        (Function::PopulatedRows, [Value::Text(name), Value::Row(of_type), base, whole]) => {
            let row_type = of_type.row_type;
            let mut rows = List::default();
            if !whole.is_null() {
                let records = with_part(function, whole, |part| records(name, part, true))?;
                for record in records {
                    let row = |part: Part<'_>| populated(row_type, base, part, environment);
                    rows.push(with_part(function, &record, row)?)?;
                }
            }
            Ok(Value::array(ArrayElement::Composite(row_type), rows.into_vec()))
        }
        _ => Err(mismatch(function, arguments)),
    }
}

/// A row with the members of an object. What the object lacks is as in `base`.
fn populated(
    row_type: CompositeType,
    base: &Value,
    object: Part<'_>,
    environment: &Environment,
) -> Result<Value> {
    let mut fields = List::default();
    for field in row_type.fields() {
        let known = match base {
            Value::Row(base) => base.field(field.number).unwrap_or(&Value::Null),
            _ => &Value::Null,
        };
        match object.field(&field.name)? {
            None => fields.push_copy(known)?,
            Some(member) => {
                fields.push(value_of(member, &field.name, field.sql_type, known, environment)?)?
            }
        }
    }
    Ok(Value::row(row_type, fields.into_vec()))
}

/// A member as a value of this type.
fn value_of(
    member: Part<'_>,
    key: &str,
    sql_type: SqlType,
    known: &Value,
    environment: &Environment,
) -> Result<Value> {
    let form = match sql_type {
        SqlType::Composite(row_type) if member.kind() == Kind::Object => {
            return populated(row_type, known, member, environment);
        }
        SqlType::Array(element @ ArrayElement::Composite(_)) if member.kind() == Kind::Array => {
            let mut values = List::default();
            for item in member.items()? {
                values.push(value_of(item, key, element.sql_type(), &Value::Null, environment)?)?;
            }
            return Ok(Value::array(element, values.into_vec()));
        }
        SqlType::Json | SqlType::Jsonb => "json",
        SqlType::Array(ArrayElement::Json | ArrayElement::Jsonb) => "array of json",
        SqlType::Array(_) => "array",
        _ => "text",
    };
    match text_of(member, key, form, environment)? {
        None => Ok(Value::Null),
        Some(text) => cast(Value::Text(text), sql_type, false, environment.reading()),
    }
}

/// Looks at a json or a jsonb.
fn with_part<T>(function: Function, whole: &Value, look: impl FnOnce(Part<'_>) -> Result<T>) -> Result<T> {
    match whole {
        Value::Json(text) => look(Part::Text(&Tape::parse(text, true)?, 0)),
        Value::Jsonb(value) => look(Part::Binary(value.root())),
        other => Err(mismatch(function, std::slice::from_ref(other))),
    }
}

fn wrong(message: String) -> Error {
    Error::input(sqlstate::INVALID_PARAMETER_VALUE, message)
}

/// The objects that become rows.
fn records(name: &str, whole: Part<'_>, is_set: bool) -> Result<Vec<Value>> {
    let kind = whole.kind();
    if !is_set {
        return match kind {
            Kind::Object => Ok(vec![whole.value()?]),
            Kind::Array => Err(wrong("cannot call populate_composite on an array".to_owned())),
            _ => Err(wrong("cannot call populate_composite on a scalar".to_owned())),
        };
    }
    if kind != Kind::Array {
        let what = match kind {
            _ if matches!(whole, Part::Binary(_)) => "a non-array",
            Kind::Object => "an object",
            _ => "a scalar",
        };
        return Err(wrong(format!("cannot call {name} on {what}")));
    }
    let mut records = List::default();
    for item in whole.items()? {
        if item.kind() != Kind::Object {
            return Err(wrong(format!("argument of {name} must be an array of objects")));
        }
        records.push(item.value()?)?;
    }
    Ok(records.into_vec())
}

type Shown = Option<compact_str::CompactString>;

/// The text that the type reads. `form` is `json`, `array`, `array of json`, or `text`.
fn text_of(part: Part<'_>, key: &str, form: &str, environment: &Environment) -> Result<Shown> {
    // A string is read by the type, also by that of an array.
    let is_array = form.starts_with("array") && part.kind() != Kind::String;
    match part.kind() {
        Kind::Null => Ok(None),
        _ if is_array => {
            let mut array = ArrayText::of(key, environment);
            array.is_of_json = form != "array";
            array.level(part, 1)?;
            Ok(Some(if array.elements == 0 { "{}".into() } else { array.out.finish() }))
        }
        _ => scalar(part, form == "json", environment),
    }
}

fn scalar(part: Part<'_>, is_json: bool, environment: &Environment) -> Result<Shown> {
    let value = if is_json { part.value()? } else { part.text()? };
    match value {
        Value::Null => Ok(None),
        Value::Text(text) => Ok(Some(text)),
        other => text::shown(&other, environment.text_form()).map(Some),
    }
}

/// PostgreSQL's notation of an array, made of a JSON array.
struct ArrayText<'a> {
    key: &'a str,
    is_of_json: bool,
    environment: &'a Environment,
    /// 0 as long as it is not known.
    dimensions: usize,
    /// The length in each dimension, once one is complete.
    lengths: Vec<Option<usize>>,
    /// How many items of the current array there are so far, in each dimension.
    counts: Vec<usize>,
    elements: usize,
    out: Text,
}

impl<'a> ArrayText<'a> {
    fn of(key: &'a str, environment: &'a Environment) -> ArrayText<'a> {
        ArrayText {
            key,
            is_of_json: false,
            environment,
            dimensions: 0,
            lengths: Vec::new(),
            counts: Vec::new(),
            elements: 0,
            out: Text::default(),
        }
    }

    /// An array in this dimension, from 1 on.
    fn level(&mut self, part: Part<'_>, depth: usize) -> Result<()> {
        if part.kind() != Kind::Array {
            return Err(self.expected(depth - 1));
        }
        if depth > MOST_DIMENSIONS {
            return Err(too_many_dimensions(depth));
        }
        let items = part.items()?;
        if self.counts.len() < depth {
            self.counts.push(0);
            self.lengths.push(None);
        }
        self.counts[depth - 1] = 0;
        if self.dimensions == 0 && items.first().is_none_or(|first| first.kind() != Kind::Array) {
            self.dimensions = depth;
        }
        self.out.push('{')?;
        for (number, item) in items.into_iter().enumerate() {
            if number > 0 {
                self.out.push(',')?;
            }
            if self.dimensions > 0 && depth >= self.dimensions {
                self.element(item)?;
            } else {
                self.level(item, depth + 1)?;
            }
            self.counts[depth - 1] += 1;
        }
        self.out.push('}')?;
        let count = self.counts[depth - 1];
        if *self.lengths[depth - 1].get_or_insert(count) != count {
            let detail = "Multidimensional arrays must have sub-arrays with matching dimensions.";
            let error = Error::input(sqlstate::INVALID_TEXT_REPRESENTATION, "malformed JSON array");
            return Err(error.with_detail(detail));
        }
        Ok(())
    }

    fn element(&mut self, part: Part<'_>) -> Result<()> {
        self.elements += 1;
        let shown =
            if part.kind() == Kind::Null { None } else { scalar(part, self.is_of_json, self.environment)? };
        let Some(shown) = shown else { return self.out.push_str("NULL") };
        self.out.push('"')?;
        for character in shown.chars() {
            if matches!(character, '"' | '\\') {
                self.out.push('\\')?;
            }
            self.out.push(character)?;
        }
        self.out.push('"')
    }

    /// Something else stands where an array was expected.
    fn expected(&self, depth: usize) -> Error {
        let error = Error::input(sqlstate::INVALID_TEXT_REPRESENTATION, "expected JSON array");
        if depth == 0 {
            return error.with_hint(format!("See the value of key \"{}\".", self.key));
        }
        // Bounded: an array has few dimensions.
        let indexes: String = self.counts[..depth].iter().map(|index| format!("[{index}]")).collect();
        error.with_hint(format!("See the array element {indexes} of key \"{}\".", self.key))
    }
}

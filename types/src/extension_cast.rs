//! Conversions between the types of extensions and others.
//!
//! Reference: PostgreSQL's contrib/hstore (`hstore_io.c`).

use crate::collect::{Bytes, List, Sink};
use crate::error::{Error, Result, sqlstate};
use crate::extension::hstore::{Pairs, content, null_key};
use crate::extension::{ExtensionType, ExtensionValue};
use crate::json::{Jsonb, write_escaped};
use crate::value::{ArrayValue, SqlType, Value};

/// A value as one from which it is cast to this type: JSON for JSON, and text for all others.
pub(crate) fn half_way(value: &ExtensionValue, to: SqlType) -> Result<Value> {
    if value.extension_type() == ExtensionType::Hstore && matches!(to, SqlType::Json | SqlType::Jsonb) {
        return json(value, false);
    }
    let mut text = Bytes::default();
    value.write(&mut text)?;
    text.into_text().map(Value::Text)
}

/// An hstore of these pairs. Of several with one key the first remains.
///
/// # Errors
/// 22001 for a text that is too long, 53200.
pub(crate) fn hstore_of<K: AsRef<[u8]>>(pairs: List<(K, Option<K>)>) -> Result<ExtensionValue> {
    content(pairs).map(|content| ExtensionType::Hstore.made(&content))
}

/// An hstore of keys and values in turn, or pairs of them.
///
/// # Errors
/// 2202E for another shape, 22004 for a key that is NULL, 53200.
pub(crate) fn from_array(array: &ArrayValue) -> Result<ExtensionValue> {
    let wrong = |message: &str| Err(Error::input(sqlstate::ARRAY_SUBSCRIPT_ERROR, message));
    match &*array.dimensions() {
        [] => {}
        [one] if one.length % 2 != 0 => return wrong("array must have even number of elements"),
        [_, columns] if columns.length != 2 => return wrong("array must have two columns"),
        [_] | [_, _] => {}
        _ => return wrong("wrong number of array subscripts"),
    }
    let mut pairs = List::default();
    for pair in array.values.chunks_exact(2) {
        let key = pair[0].as_str().ok_or_else(null_key)?;
        pairs.push((key, pair[1].as_str()))?;
    }
    hstore_of(pairs)
}

/// An object. `is_loose`: values that look like numbers or truth values become those.
///
/// # Errors
/// 53200.
pub(crate) fn json(value: &ExtensionValue, is_loose: bool) -> Result<Value> {
    let mut out = Bytes::default();
    out.push(b'{')?;
    for (at, (key, value)) in Pairs::of(value.content()).enumerate() {
        if at > 0 {
            out.put(b", ")?;
        }
        write_escaped(key, &mut out)?;
        out.put(b": ")?;
        match value {
            None => out.put(b"null")?,
            Some(b"t") if is_loose => out.put(b"true")?,
            Some(b"f") if is_loose => out.put(b"false")?,
            Some(number) if is_loose && is_json_number(number) => out.put(number)?,
            Some(text) => write_escaped(text, &mut out)?,
        }
    }
    out.push(b'}')?;
    Ok(Value::Json(out.into_text()?.as_str().into()))
}

fn is_json_number(text: &[u8]) -> bool {
    let is_bare = text.first().is_some_and(|first| *first == b'-' || first.is_ascii_digit())
        && text.last().is_some_and(u8::is_ascii_digit);
    is_bare && std::str::from_utf8(text).is_ok_and(|text| Jsonb::parse(text).is_ok())
}

//! The bytes of one argument of a logged call: a byte for the type, then the value, as small as it is.
//!
//! ```text
//!   0 NULL                          7 double precision: 8 bytes        14 uuid: 16 bytes
//!   1 false, 2 true                 8 numeric: scale (zigzag), bytes, signed integer, low byte first
//!   3 smallint, 4 integer,          9 text (enums: their labels), 10 bytea: bytes, content
//!   5 bigint: zigzag               11 date, 12 timestamp, 13 timestamptz: zigzag
//!   6 real: 4 bytes               15 array: oid of its type, elements, whether each has its type's byte,
//!   elements
//!  16 interval: months, days, microseconds, zigzag each    17 time: zigzag
//!  19 json: bytes, text                20 jsonb: bytes, its own form
//!  24 row of a composite type: the number of fields, of each its own number, and the field as an argument
//!  18 array of other dimensions than one from 1: their number, of each length and lower bound (zigzag), then
//! as 15
//! ```
//!
//! The meaning of a label depends on the catalog at replay: the parameter's type says to which enum it
//! belongs. A row names its fields by their numbers, and the parameter's type says what they are
//! ([`value_meant`]).
//!
//! The elements of an array are written without their types' bytes, unless one of them is NULL or they are
//! booleans or rows. A numeric without bytes is not a number: its scale says which of NaN (0) and the
//! infinities (1, -1) it is. All other numbers are varints. Reading returns the very value that was written:
//! the scale of a numeric and the bits of a float matter, because rows are made from them.

use bigdecimal::num_bigint::BigInt;
use compact_str::CompactString;
use hyades_types::datetime::ZonedTime;
use hyades_types::extension::ExtensionType;
use hyades_types::interval::Interval;
use hyades_types::json::Jsonb;
use hyades_types::network::Network;
use hyades_types::system_type::SystemType;
use hyades_types::value::array_value::MOST_DIMENSIONS;
use hyades_types::value::composite::{CompositeField, CompositeType};
use hyades_types::value::{ArrayElement, ArrayValue, BigDecimal, Dimension, Numeric, SqlType, Value};

use super::Malformed;
use super::varint::{read_varint, unzigzag, write_tagged_varint, write_varint, zigzag};

const NULL: u8 = 0;
const FALSE: u8 = 1;
const TRUE: u8 = 2;
const SMALL_INT: u8 = 3;
const INTEGER: u8 = 4;
const BIG_INT: u8 = 5;
const REAL: u8 = 6;
const DOUBLE: u8 = 7;
const NUMERIC: u8 = 8;
const TEXT: u8 = 9;
const BYTEA: u8 = 10;
const DATE: u8 = 11;
const TIMESTAMP: u8 = 12;
const TIMESTAMP_TZ: u8 = 13;
const UUID: u8 = 14;
const ARRAY: u8 = 15;
const INTERVAL: u8 = 16;
const TIME: u8 = 17;
const SHAPED_ARRAY: u8 = 18;
const JSON: u8 = 19;
const JSONB: u8 = 20;
const NETWORK: u8 = 21;
const MAC_ADDR: u8 = 22;
const MAC_ADDR_8: u8 = 23;
/// The number of the type and the content follow.
const EXTENSION: u8 = 24;
const ROW: u8 = 25;
const TIME_TZ: u8 = 26;

/// Rows within rows. Types are not nested more deeply, so this is the mark of damage.
const DEEPEST: usize = 64;

/// Scales of values without digits.
const NAN: i64 = 0;
const INFINITY: i64 = 1;
const MINUS_INFINITY: i64 = -1;

/// Appends a value, which must be of a type that a parameter can have.
#[inline]
pub(crate) fn write_argument(into: &mut Vec<u8>, value: &Value) {
    match value {
        // What most parameters are, in as few steps as possible.
        Value::Integer(number) => write_tagged_varint(into, INTEGER, zigzag(i64::from(*number))),
        Value::BigInt(number) => write_tagged_varint(into, BIG_INT, zigzag(*number)),
        Value::Text(text) => {
            write_tagged_varint(into, TEXT, text.len() as u64);
            into.extend_from_slice(text.as_bytes());
        }
        other => write_other_argument(into, other),
    }
}

fn write_other_argument(into: &mut Vec<u8>, value: &Value) {
    into.push(tag_of(value));
    write_content(into, value);
}

fn tag_of(value: &Value) -> u8 {
    match value {
        Value::Null => NULL,
        Value::Boolean(truth) => {
            if *truth {
                TRUE
            } else {
                FALSE
            }
        }
        Value::SmallInt(_) => SMALL_INT,
        Value::Integer(_) => INTEGER,
        Value::BigInt(_) => BIG_INT,
        Value::Real(_) => REAL,
        Value::Double(_) => DOUBLE,
        Value::Numeric(_) => NUMERIC,
        Value::Text(_) | Value::Enum(_) => TEXT,
        Value::Bytea(_) => BYTEA,
        Value::Date(_) => DATE,
        Value::Timestamp(_) => TIMESTAMP,
        Value::TimestampTz(_) => TIMESTAMP_TZ,
        Value::Uuid(_) => UUID,
        Value::Array(array) if array.is_plain() => ARRAY,
        Value::Array(_) => SHAPED_ARRAY,
        Value::Interval(_) => INTERVAL,
        Value::Oid(_) | Value::Reference(_) => unreachable!("parameters have no types of the catalog"),
        Value::Time(_) => TIME,
        Value::Json(_) => JSON,
        Value::Jsonb(_) => JSONB,
        Value::Network(_) => NETWORK,
        Value::MacAddr(_) => MAC_ADDR,
        Value::MacAddr8(_) => MAC_ADDR_8,
        Value::Extension(_) => EXTENSION,
        Value::Row(_) => ROW,
        Value::TimeTz(_) => TIME_TZ,
    }
}

/// The bytes after the tag.
fn write_content(into: &mut Vec<u8>, value: &Value) {
    let integer = |into: &mut Vec<u8>, number: i64| write_varint(into, zigzag(number));
    match value {
        Value::Null | Value::Boolean(_) => {}
        Value::SmallInt(number) => integer(into, i64::from(*number)),
        Value::Integer(number) => integer(into, i64::from(*number)),
        Value::BigInt(number) => integer(into, *number),
        Value::Real(number) => into.extend_from_slice(&number.to_le_bytes()),
        Value::Double(number) => into.extend_from_slice(&number.to_le_bytes()),
        Value::Numeric(number) => write_numeric(into, number),
        Value::Text(text) => write_bytes(into, text.as_bytes()),
        Value::Enum(value) => write_bytes(into, value.label().as_bytes()),
        Value::Bytea(bytes) => write_bytes(into, bytes),
        Value::Date(days) => integer(into, i64::from(*days)),
        Value::Time(microseconds) | Value::Timestamp(microseconds) | Value::TimestampTz(microseconds) => {
            integer(into, *microseconds)
        }
        Value::TimeTz(zoned) => {
            integer(into, zoned.time);
            integer(into, i64::from(zoned.west));
        }
        Value::Uuid(bytes) => into.extend_from_slice(bytes),
        Value::Json(text) => write_bytes(into, text.as_bytes()),
        Value::Jsonb(value) => write_bytes(into, value.as_bytes()),
        Value::Network(network) => {
            into.extend_from_slice(&[u8::from(network.is_cidr()), network.bits()]);
            write_varint(into, u64::from(network.width() / 8));
            network.append_octets(into);
        }
        Value::MacAddr(bytes) => into.extend_from_slice(bytes),
        Value::MacAddr8(bytes) => into.extend_from_slice(bytes),
        Value::Extension(value) => {
            write_varint(into, u64::from(value.extension_type().oid()));
            write_bytes(into, value.content());
        }
        Value::Row(row) => {
            let fields = row.row_type.fields().iter().zip(&row.fields);
            write_varint(into, row.fields.len() as u64);
            for (field, value) in fields {
                write_varint(into, u64::from(field.number));
                write_argument(into, value);
            }
        }
        Value::Interval(interval) => {
            integer(into, i64::from(interval.months));
            integer(into, i64::from(interval.days));
            integer(into, interval.microseconds);
        }
        // Never passed: see `tag_of`.
        Value::Oid(_) | Value::Reference(_) => {}
        Value::Array(array) => write_array(into, array),
    }
}

fn write_array(into: &mut Vec<u8>, array: &ArrayValue) {
    if !array.is_plain() {
        let dimensions = array.dimensions();
        write_varint(into, dimensions.len() as u64);
        for dimension in dimensions.iter() {
            write_varint(into, dimension.length as u64);
            write_varint(into, zigzag(i64::from(dimension.lower)));
        }
    }
    let element = match array.element {
        ArrayElement::Enum(_) => ArrayElement::Text,
        ArrayElement::Composite(_) => ArrayElement::System(SystemType::Record),
        element => element,
    };
    write_varint(into, u64::from(SqlType::Array(element).oid()));
    write_varint(into, array.values.len() as u64);
    let is_tagged = array.values.iter().any(|value| matches!(tag_of(value), NULL..=TRUE | ROW));
    into.push(u8::from(is_tagged));
    for value in &array.values {
        if is_tagged {
            into.push(tag_of(value));
        }
        write_content(into, value);
    }
}

fn write_numeric(into: &mut Vec<u8>, number: &Numeric) {
    let (scale, digits) = match number {
        Numeric::Finite(number) => {
            let (digits, scale) = number.as_bigint_and_scale();
            (scale, digits.to_signed_bytes_le())
        }
        Numeric::NaN => (NAN, Vec::new()),
        Numeric::Infinity => (INFINITY, Vec::new()),
        Numeric::MinusInfinity => (MINUS_INFINITY, Vec::new()),
    };
    write_varint(into, zigzag(scale));
    write_bytes(into, &digits);
}

fn write_bytes(into: &mut Vec<u8>, bytes: &[u8]) {
    write_varint(into, bytes.len() as u64);
    into.extend_from_slice(bytes);
}

/// The value of the written argument, for a parameter of this type. `None` if the type has no such label.
pub(crate) fn value_meant(argument: &Value, parameter: SqlType) -> Option<Value> {
    match (argument, parameter) {
        (Value::Text(label), SqlType::Enum(enum_type)) => enum_type.parse(label).ok().map(Value::Enum),
        (Value::Row(row), SqlType::Composite(row_type)) => {
            let meant = |field: &CompositeField| match row.field(field.number) {
                Some(value) => value_meant(value, field.sql_type),
                None => Some(Value::Null),
            };
            let fields = row_type.fields().iter().map(meant).collect::<Option<Vec<Value>>>()?;
            Some(Value::row(row_type, fields))
        }
        (
            Value::Array(array),
            SqlType::Array(element @ (ArrayElement::Enum(_) | ArrayElement::Composite(_))),
        ) => {
            let meant = |value: &Value| value_meant(value, element.sql_type());
            let values = array.values.iter().map(meant).collect::<Option<Vec<Value>>>()?;
            Some(Value::shaped_array(element, &array.dimensions(), values))
        }
        (other, _) => Some(other.clone()),
    }
}

/// Reads what [`write_argument`] wrote at this offset, and advances the offset. Enums are read as their
/// labels, and rows as rows of no particular type.
pub(crate) fn read_argument(bytes: &[u8], offset: &mut usize) -> Result<Value, Malformed> {
    read_nested(bytes, offset, 0)
}

/// The same in this many rows.
fn read_nested(bytes: &[u8], offset: &mut usize, depth: usize) -> Result<Value, Malformed> {
    let start = *offset;
    let malformed = |reason| Malformed { offset: start, reason };
    let tag = *bytes.get(start).ok_or(malformed("an argument is missing"))?;
    *offset += 1;
    match tag {
        ARRAY => {
            let (element, values) = read_array(bytes, offset, depth)?;
            Ok(Value::array(element, values))
        }
        SHAPED_ARRAY => {
            let dimensions = read_dimensions(bytes, offset)?;
            let (element, values) = read_array(bytes, offset, depth)?;
            let lengths = dimensions.iter().map(|dimension| dimension.length as usize);
            if lengths.fold(1, usize::saturating_mul) != values.len() {
                return Err(malformed("the dimensions of an array argument do not hold its elements"));
            }
            Ok(Value::shaped_array(element, &dimensions, values))
        }
        ROW => read_row(bytes, offset, depth),
        _ => read_content(tag, bytes, offset),
    }
}

/// Reads the fields of a row.
fn read_row(bytes: &[u8], offset: &mut usize, depth: usize) -> Result<Value, Malformed> {
    let malformed = |reason| Malformed { offset: *offset, reason };
    if depth == DEEPEST {
        return Err(malformed("an argument consists of too many rows"));
    }
    let wrong = malformed("a row argument has no such field");
    let count = read_varint(bytes, offset)?;
    let (mut numbers, mut fields) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let number = u16::try_from(read_varint(bytes, offset)?).map_err(|_| wrong)?;
        if numbers.last().is_some_and(|last| *last >= number) {
            return Err(wrong);
        }
        numbers.push(number);
        fields.push(read_nested(bytes, offset, depth + 1)?);
    }
    Ok(Value::row(CompositeType::of_numbers(numbers), fields))
}

fn read_dimensions(bytes: &[u8], offset: &mut usize) -> Result<Vec<Dimension>, Malformed> {
    let start = *offset;
    let malformed = || Malformed { offset: start, reason: "the dimensions of an array argument are wrong" };
    let count = read_varint(bytes, offset)?;
    if count > MOST_DIMENSIONS as u64 {
        return Err(malformed());
    }
    let mut dimensions = Vec::new();
    for _ in 0..count {
        let length = i32::try_from(read_varint(bytes, offset)?).map_err(|_| malformed())?;
        let lower = i32::try_from(read_integer(bytes, offset)?).map_err(|_| malformed())?;
        dimensions.push(Dimension { lower, length });
    }
    Ok(dimensions)
}

/// Reads the elements of an array and their type.
fn read_array(
    bytes: &[u8],
    offset: &mut usize,
    depth: usize,
) -> Result<(ArrayElement, Vec<Value>), Malformed> {
    let start = *offset;
    let malformed = |reason| Malformed { offset: start, reason };
    let oid = u32::try_from(read_varint(bytes, offset)?).ok().and_then(|oid| SqlType::from_oid(oid, -1));
    let Some(SqlType::Array(element)) = oid else {
        return Err(malformed("an array argument is of unknown type"));
    };
    let count = usize::try_from(read_varint(bytes, offset)?).unwrap_or(usize::MAX);
    let is_tagged = *bytes.get(*offset).ok_or(malformed("an argument is missing"))? != 0;
    *offset += 1;
    // Every element takes at least a byte, so damaged input never asks for more memory than there are bytes.
    let mut values = Vec::with_capacity(count.min(bytes.len() - *offset));
    let common = tag_of_element(element);
    if count > 0 && !is_tagged && common == NULL {
        return Err(malformed("the elements of an array argument have no types"));
    }
    for _ in 0..count {
        let tag = match is_tagged {
            true => {
                let tag = *bytes.get(*offset).ok_or(malformed("an argument is missing"))?;
                *offset += 1;
                tag
            }
            false => common,
        };
        values.push(match tag {
            ROW => read_row(bytes, offset, depth)?,
            tag => read_content(tag, bytes, offset)?,
        });
    }
    Ok((element, values))
}

/// The type of the elements, where they have no tags of their own.
fn tag_of_element(element: ArrayElement) -> u8 {
    match element {
        // Always tagged.
        ArrayElement::Boolean => NULL,
        ArrayElement::SmallInt => SMALL_INT,
        ArrayElement::Integer => INTEGER,
        ArrayElement::BigInt => BIG_INT,
        ArrayElement::Real => REAL,
        ArrayElement::DoublePrecision => DOUBLE,
        ArrayElement::Numeric => NUMERIC,
        ArrayElement::Text | ArrayElement::Varchar | ArrayElement::Char | ArrayElement::Enum(_) => TEXT,
        ArrayElement::Bytea => BYTEA,
        ArrayElement::Date => DATE,
        ArrayElement::Timestamp => TIMESTAMP,
        ArrayElement::TimestampTz => TIMESTAMP_TZ,
        ArrayElement::Uuid => UUID,
        ArrayElement::Json => JSON,
        ArrayElement::Jsonb => JSONB,
        ArrayElement::Interval => INTERVAL,
        ArrayElement::System(system_type) if system_type.is_text() => TEXT,
        ArrayElement::System(_) | ArrayElement::Composite(_) | ArrayElement::Fitted(_) => NULL,
        ArrayElement::Time => TIME,
        ArrayElement::TimeTz => TIME_TZ,
        ArrayElement::Inet | ArrayElement::Cidr => NETWORK,
        ArrayElement::MacAddr => MAC_ADDR,
        ArrayElement::MacAddr8 => MAC_ADDR_8,
        ArrayElement::Extension(_) => EXTENSION,
    }
}

fn read_zoned_time(bytes: &[u8], offset: &mut usize) -> Result<ZonedTime, Malformed> {
    let (start, time) = (*offset, read_integer(bytes, offset)?);
    let out_of_range = |_| Malformed { offset: start, reason: "the zone of a time is out of range" };
    let west = read_integer(bytes, offset)?.try_into().map_err(out_of_range)?;
    Ok(ZonedTime { time, west })
}

/// Reads what follows any tag but those of arrays and rows: there are no arrays of arrays.
fn read_content(tag: u8, bytes: &[u8], offset: &mut usize) -> Result<Value, Malformed> {
    let start = *offset;
    let malformed = |reason| Malformed { offset: start, reason };
    let out_of_range = |_| malformed("an argument is out of its type's range");
    Ok(match tag {
        NULL => Value::Null,
        FALSE => Value::Boolean(false),
        TRUE => Value::Boolean(true),
        SMALL_INT => Value::SmallInt(read_integer(bytes, offset)?.try_into().map_err(out_of_range)?),
        INTEGER => Value::Integer(read_integer(bytes, offset)?.try_into().map_err(out_of_range)?),
        BIG_INT => Value::BigInt(read_integer(bytes, offset)?),
        REAL => Value::Real(f32::from_le_bytes(read_fixed(bytes, offset)?)),
        DOUBLE => Value::Double(f64::from_le_bytes(read_fixed(bytes, offset)?)),
        NUMERIC => {
            let scale = read_integer(bytes, offset)?;
            let digits = read_bytes(bytes, offset)?;
            Value::numeric(match scale {
                NAN if digits.is_empty() => Numeric::NaN,
                INFINITY if digits.is_empty() => Numeric::Infinity,
                MINUS_INFINITY if digits.is_empty() => Numeric::MinusInfinity,
                _ => BigDecimal::from_bigint(BigInt::from_signed_bytes_le(digits), scale).into(),
            })
        }
        TEXT => {
            let text = std::str::from_utf8(read_bytes(bytes, offset)?);
            Value::Text(CompactString::from(text.map_err(|_| malformed("a text argument is no UTF-8"))?))
        }
        BYTEA => Value::Bytea(read_bytes(bytes, offset)?.into()),
        DATE => Value::Date(read_integer(bytes, offset)?.try_into().map_err(out_of_range)?),
        TIME => Value::Time(read_integer(bytes, offset)?),
        TIME_TZ => Value::TimeTz(read_zoned_time(bytes, offset)?),
        TIMESTAMP => Value::Timestamp(read_integer(bytes, offset)?),
        TIMESTAMP_TZ => Value::TimestampTz(read_integer(bytes, offset)?),
        UUID => Value::Uuid(read_fixed(bytes, offset)?),
        JSON => {
            let text = std::str::from_utf8(read_bytes(bytes, offset)?);
            Value::Json(text.map_err(|_| malformed("a json argument is no UTF-8"))?.into())
        }
        JSONB => {
            let content = read_bytes(bytes, offset)?;
            if !Jsonb::is_canonical(content) {
                return Err(malformed("a jsonb argument is in no form of that type"));
            }
            Value::Jsonb(Jsonb::from_bytes(content))
        }
        NETWORK => {
            let [is_cidr, bits] = read_fixed(bytes, offset)?;
            let address = Network::address_of(read_bytes(bytes, offset)?);
            let network = address.and_then(|address| Network::new(address, bits, is_cidr != 0));
            Value::Network(network.ok_or(malformed("a network argument is in no form of that type"))?)
        }
        MAC_ADDR => Value::MacAddr(read_fixed(bytes, offset)?),
        MAC_ADDR_8 => Value::MacAddr8(read_fixed(bytes, offset)?),
        EXTENSION => {
            let oid = u32::try_from(read_varint(bytes, offset)?).ok();
            let own = oid.and_then(ExtensionType::from_oid);
            let value = own
                .zip(Some(read_bytes(bytes, offset)?))
                .and_then(|(own, content)| own.from_content(content));
            Value::Extension(value.ok_or(malformed("an argument is in no form of an extension's type"))?)
        }
        INTERVAL => Value::Interval(Interval {
            months: read_integer(bytes, offset)?.try_into().map_err(out_of_range)?,
            days: read_integer(bytes, offset)?.try_into().map_err(out_of_range)?,
            microseconds: read_integer(bytes, offset)?,
        }),
        _ => return Err(malformed("an argument is of unknown type")),
    })
}

fn read_integer(bytes: &[u8], offset: &mut usize) -> Result<i64, Malformed> {
    Ok(unzigzag(read_varint(bytes, offset)?))
}

fn read_fixed<const LENGTH: usize>(bytes: &[u8], offset: &mut usize) -> Result<[u8; LENGTH], Malformed> {
    let rest = bytes.get(*offset..).unwrap_or_default();
    let fixed = rest.first_chunk::<LENGTH>().copied();
    *offset += LENGTH;
    fixed.ok_or(Malformed { offset: bytes.len(), reason: "an argument is cut off" })
}

fn read_bytes<'a>(bytes: &'a [u8], offset: &mut usize) -> Result<&'a [u8], Malformed> {
    let start = *offset;
    let length = read_varint(bytes, offset)?;
    let rest = &bytes[*offset..];
    let found = usize::try_from(length).ok().and_then(|length| rest.get(..length));
    let found = found.ok_or(Malformed { offset: start, reason: "an argument is cut off" })?;
    *offset += found.len();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(element: ArrayElement, values: &[Value]) -> Value {
        Value::array(element, values.to_vec())
    }

    #[test]
    fn arrays_come_back_and_are_small() {
        let numbers = array(ArrayElement::Integer, &[Value::Integer(1), Value::Integer(-70_000)]);
        let with_null = array(ArrayElement::Text, &[Value::Text("a".into()), Value::Null]);
        let booleans = array(ArrayElement::Boolean, &[Value::Boolean(true), Value::Boolean(false)]);
        let shape = [Dimension { lower: -1, length: 2 }, Dimension { lower: 1, length: 1 }];
        let bytes = [Value::Bytea([7][..].into()), Value::Null];
        let shaped = Value::shaped_array(ArrayElement::Bytea, &shape, bytes.to_vec());
        let empty = array(ArrayElement::Uuid, &[]);
        for (value, length) in [(numbers, 9), (with_null, 9), (booleans, 7), (empty, 5), (shaped, 14)] {
            let mut bytes = Vec::new();
            write_argument(&mut bytes, &value);
            assert_eq!(bytes.len(), length, "{value:?}");
            let mut offset = 0;
            assert_eq!(read_argument(&bytes, &mut offset).expect("well-formed"), value);
            assert_eq!(offset, bytes.len());
            for cut in 0..bytes.len() {
                assert!(read_argument(&bytes[..cut], &mut 0).is_err(), "{value:?} cut at {cut}");
            }
        }
    }

    #[test]
    fn an_array_that_claims_more_than_there_is_is_refused() {
        let mut bytes = vec![ARRAY];
        write_varint(&mut bytes, 1007);
        write_varint(&mut bytes, u64::MAX);
        bytes.extend([0, 1, 1]);
        assert!(read_argument(&bytes, &mut 0).is_err());
    }
}

//! The bytes of one argument of a logged call: a byte for the type, then the value, as small as it is.
//!
//! ```text
//!   0 NULL                          7 double precision: 8 bytes        14 uuid: 16 bytes
//!   1 false, 2 true                 8 numeric: scale (zigzag), bytes, signed integer, low byte first
//!   3 smallint, 4 integer,          9 text, 10 bytea: bytes, content
//!   5 bigint: zigzag               11 date, 12 timestamp, 13 timestamptz: zigzag
//!   6 real: 4 bytes
//! ```
//!
//! All other numbers are varints. What is read is the very value that was written: the scale of a numeric and the bits of a float count,
//! because rows are made from them.

use bigdecimal::num_bigint::BigInt;
use compact_str::CompactString;

use super::Malformed;
use super::varint::{read_varint, unzigzag, write_varint, zigzag};
use crate::value::{BigDecimal, Value};

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

pub(super) fn write_argument(into: &mut Vec<u8>, value: &Value) {
    let mut integer = |tag, number: i64| {
        into.push(tag);
        write_varint(into, zigzag(number));
    };
    match value {
        Value::Null => into.push(NULL),
        Value::Boolean(truth) => into.push(if *truth { TRUE } else { FALSE }),
        Value::SmallInt(number) => integer(SMALL_INT, i64::from(*number)),
        Value::Integer(number) => integer(INTEGER, i64::from(*number)),
        Value::BigInt(number) => integer(BIG_INT, *number),
        Value::Real(number) => {
            into.push(REAL);
            into.extend_from_slice(&number.to_le_bytes());
        }
        Value::Double(number) => {
            into.push(DOUBLE);
            into.extend_from_slice(&number.to_le_bytes());
        }
        Value::Numeric(number) => {
            let (digits, scale) = number.as_bigint_and_scale();
            integer(NUMERIC, scale);
            write_bytes(into, &digits.to_signed_bytes_le());
        }
        Value::Text(text) => {
            into.push(TEXT);
            write_bytes(into, text.as_bytes());
        }
        Value::Bytea(bytes) => {
            into.push(BYTEA);
            write_bytes(into, bytes);
        }
        Value::Date(days) => integer(DATE, i64::from(*days)),
        Value::Timestamp(microseconds) => integer(TIMESTAMP, *microseconds),
        Value::TimestampTz(microseconds) => integer(TIMESTAMP_TZ, *microseconds),
        Value::Uuid(bytes) => {
            into.push(UUID);
            into.extend_from_slice(bytes);
        }
    }
}

fn write_bytes(into: &mut Vec<u8>, bytes: &[u8]) {
    write_varint(into, bytes.len() as u64);
    into.extend_from_slice(bytes);
}

pub(super) fn read_argument(bytes: &[u8], offset: &mut usize) -> Result<Value, Malformed> {
    let start = *offset;
    let malformed = |reason| Malformed { offset: start, reason };
    let tag = *bytes.get(start).ok_or(malformed("an argument is missing"))?;
    *offset += 1;
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
            let digits = BigInt::from_signed_bytes_le(read_bytes(bytes, offset)?);
            Value::numeric(BigDecimal::from_bigint(digits, scale))
        }
        TEXT => {
            let text = std::str::from_utf8(read_bytes(bytes, offset)?);
            Value::Text(CompactString::from(text.map_err(|_| malformed("a text argument is no UTF-8"))?))
        }
        BYTEA => Value::Bytea(read_bytes(bytes, offset)?.into()),
        DATE => Value::Date(read_integer(bytes, offset)?.try_into().map_err(out_of_range)?),
        TIMESTAMP => Value::Timestamp(read_integer(bytes, offset)?),
        TIMESTAMP_TZ => Value::TimestampTz(read_integer(bytes, offset)?),
        UUID => Value::Uuid(read_fixed(bytes, offset)?),
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

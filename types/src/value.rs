//! SQL types and values.
//!
//! [`SqlType`] is the type of a column or expression with its modifiers, [`Value`] one value of such a type.
//!
//! Invariants every producer of values keeps:
//! 1. a finite `Numeric` has a scale of 0 to 16383 (PostgreSQL's display scale) and at most 131072 digits
//!    before its point;
//! 2. `Text` holds no U+0000; the text of `char(n)` is padded with blanks to n characters;
//! 3. `i32::MIN`/`i32::MAX` days and `i64::MIN`/`i64::MAX` microseconds are PostgreSQL's
//!    `-infinity`/`infinity`.
//!
//! Files:
//! * `array_value`, `composite` (composite types and rows);
//! * `created_type`, `defined`: what types know of definitions in the catalog.

pub mod array_value;
pub mod composite;
mod created_type;
mod defined;

pub use created_type::CreatedType;

use std::borrow::Cow;
use std::sync::Arc;

use compact_str::CompactString;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::enumeration::{EnumType, EnumValue};
use crate::extension::{ExtensionType, ExtensionValue};
use crate::interval::{Interval, IntervalModifier, MAXIMUM_PRECISION};
use crate::json::Jsonb;
use crate::network::Network;
use crate::system_type::{Polymorphic, Reference, SystemType};
use crate::zoned_time::ZonedTime;

use self::composite::{CompositeType, RowValue};

pub use self::array_value::{ArrayElement, ArrayValue, Dimension};

pub use bigdecimal::BigDecimal;

pub use crate::numeric::Numeric;

/// Digits of a second after the point, at most 6; none means 6.
pub type Precision = Option<u8>;

/// A type with its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(remote = "SqlType")]
pub enum SqlType {
    Boolean,
    SmallInt,
    Integer,
    BigInt,
    Real,
    DoublePrecision,
    /// `numeric` or `numeric(precision, scale)`.
    Numeric(Option<(u16, i16)>),
    Text,
    /// `varchar` or `varchar(n)`, n in characters.
    Varchar(Option<u32>),
    /// `char(n)`, n in characters, blank-padded. `Char(0)` is PostgreSQL's `bpchar` without a length: of any
    /// length, never padded or cut. It stands for "char of any length" in function signatures and parameter
    /// types.
    Char(u32),
    Bytea,
    Date,
    Timestamp(Precision),
    TimestampTz(Precision),
    Uuid,
    Array(ArrayElement),
    Interval(IntervalModifier),
    /// A type of the catalog; not for columns that are stored.
    System(SystemType),
    /// The time of day, without time zone.
    Time(Precision),
    Json,
    Jsonb,
    Enum(EnumType),
    Inet,
    Cidr,
    MacAddr,
    MacAddr8,
    /// A type that an extension brings.
    Extension(ExtensionType),
    Composite(CompositeType),
    /// The time of day with time zone.
    TimeTz(Precision),
}

impl Serialize for SqlType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        SqlType::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for SqlType {
    /// Definitions of before 2026-11-23 have timestamps without a precision.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SqlType, D::Error> {
        #[derive(Deserialize)]
        enum Unmodified {
            Timestamp,
            TimestampTz,
        }
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Stored {
            Earlier(Unmodified),
            Now(#[serde(with = "SqlType")] SqlType),
        }
        Ok(match Stored::deserialize(deserializer)? {
            Stored::Earlier(Unmodified::Timestamp) => SqlType::TIMESTAMP,
            Stored::Earlier(Unmodified::TimestampTz) => SqlType::TIMESTAMPTZ,
            Stored::Now(sql_type) => sql_type,
        })
    }
}

/// One SQL value. Text of `char(n)` is held padded.
///
/// Two are equal if they are indistinguishable: 0 and -0 are not, nor are 1.0 and 1.00. SQL's equality is in
/// `compare`.
#[derive(Debug, Default)]
pub enum Value {
    #[default]
    Null,
    Boolean(bool),
    SmallInt(i16),
    Integer(i32),
    BigInt(i64),
    Real(f32),
    Double(f64),
    /// Boxed: the rarest of the numbers should not make every value larger.
    Numeric(Box<Numeric>),
    /// `text`, `varchar` and `char`.
    Text(CompactString),
    Bytea(Box<[u8]>),
    /// Days since 2000-01-01.
    Date(i32),
    /// Microseconds since 2000-01-01 00:00:00, no time zone.
    Timestamp(i64),
    /// Microseconds since 2000-01-01 00:00:00 UTC.
    TimestampTz(i64),
    Uuid([u8; 16]),
    Interval(Interval),
    /// Microseconds since midnight, up to a whole day.
    Time(i64),
    /// Shared, because arguments and variables are copied more often than changed.
    Array(Arc<ArrayValue>),
    /// `oid` and `xid`.
    Oid(u32),
    /// `regclass` and similar types.
    Reference(Box<Reference>),
    /// The text as it was written.
    Json(Arc<str>),
    Jsonb(Jsonb),
    Enum(EnumValue),
    /// `inet` and `cidr`; it knows which.
    Network(Network),
    MacAddr([u8; 6]),
    MacAddr8([u8; 8]),
    Extension(ExtensionValue),
    /// Of a composite type. Shared, like arrays.
    Row(Arc<RowValue>),
    TimeTz(ZonedTime),
}

const _: () = assert!(size_of::<Value>() <= 32);

impl Clone for Value {
    /// Inlined for values that need no memory: the interpreter copies integers all the time.
    #[inline]
    fn clone(&self) -> Value {
        match self {
            Value::Null => Value::Null,
            Value::Integer(number) => Value::Integer(*number),
            Value::BigInt(number) => Value::BigInt(*number),
            Value::Boolean(truth) => Value::Boolean(*truth),
            other => other.cloned(),
        }
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Null, Value::Null) => true,
            (Value::Boolean(a), Value::Boolean(b)) => a == b,
            (Value::SmallInt(a), Value::SmallInt(b)) => a == b,
            (Value::Integer(a), Value::Integer(b)) | (Value::Date(a), Value::Date(b)) => a == b,
            (Value::BigInt(a), Value::BigInt(b))
            | (Value::Time(a), Value::Time(b))
            | (Value::Timestamp(a), Value::Timestamp(b))
            | (Value::TimestampTz(a), Value::TimestampTz(b)) => a == b,
            (Value::Real(a), Value::Real(b)) => a.to_bits() == b.to_bits(),
            (Value::Double(a), Value::Double(b)) => a.to_bits() == b.to_bits(),
            (Value::Numeric(a), Value::Numeric(b)) => a == b,
            (Value::Text(a), Value::Text(b)) => a == b,
            (Value::Bytea(a), Value::Bytea(b)) => a == b,
            (Value::Uuid(a), Value::Uuid(b)) => a == b,
            (Value::Interval(a), Value::Interval(b)) => a == b,
            (Value::Array(a), Value::Array(b)) => a == b,
            (Value::Oid(a), Value::Oid(b)) => a == b,
            (Value::Reference(a), Value::Reference(b)) => a == b,
            (Value::Json(a), Value::Json(b)) => a == b,
            (Value::Jsonb(a), Value::Jsonb(b)) => a == b,
            (Value::Enum(a), Value::Enum(b)) => a == b,
            (Value::Network(a), Value::Network(b)) => a == b,
            (Value::MacAddr(a), Value::MacAddr(b)) => a == b,
            (Value::MacAddr8(a), Value::MacAddr8(b)) => a == b,
            (Value::Extension(a), Value::Extension(b)) => a == b,
            (Value::Row(a), Value::Row(b)) => a == b,
            (Value::TimeTz(a), Value::TimeTz(b)) => a == b,
            _ => false,
        }
    }
}

impl Value {
    pub fn array(element: ArrayElement, values: Vec<Value>) -> Value {
        Value::Array(Arc::new(ArrayValue::new(element, values)))
    }

    /// The object with this number, shown by this name.
    pub fn reference(system_type: SystemType, oid: u32, shown: impl Into<CompactString>) -> Value {
        Value::Reference(Box::new(Reference { system_type, oid, shown: shown.into() }))
    }

    /// An array of these dimensions, whose lengths multiply to the number of values.
    pub fn shaped_array(element: ArrayElement, dimensions: &[Dimension], values: Vec<Value>) -> Value {
        Value::Array(Arc::new(ArrayValue::shaped(element, dimensions, values)))
    }

    fn cloned(&self) -> Value {
        match self {
            Value::Null => Value::Null,
            Value::Boolean(truth) => Value::Boolean(*truth),
            Value::SmallInt(number) => Value::SmallInt(*number),
            Value::Integer(number) => Value::Integer(*number),
            Value::BigInt(number) => Value::BigInt(*number),
            Value::Real(number) => Value::Real(*number),
            Value::Double(number) => Value::Double(*number),
            Value::Numeric(number) => Value::Numeric(number.clone()),
            Value::Text(text) => Value::Text(text.clone()),
            Value::Bytea(bytes) => Value::Bytea(bytes.clone()),
            Value::Date(days) => Value::Date(*days),
            Value::Timestamp(microseconds) => Value::Timestamp(*microseconds),
            Value::TimestampTz(microseconds) => Value::TimestampTz(*microseconds),
            Value::Uuid(bytes) => Value::Uuid(*bytes),
            Value::Interval(interval) => Value::Interval(*interval),
            Value::Time(microseconds) => Value::Time(*microseconds),
            Value::Array(array) => Value::Array(Arc::clone(array)),
            Value::Oid(oid) => Value::Oid(*oid),
            Value::Reference(reference) => Value::Reference(reference.clone()),
            Value::Json(text) => Value::Json(Arc::clone(text)),
            Value::Jsonb(value) => Value::Jsonb(value.clone()),
            Value::Enum(value) => Value::Enum(*value),
            Value::Network(network) => Value::Network(*network),
            Value::MacAddr(bytes) => Value::MacAddr(*bytes),
            Value::MacAddr8(bytes) => Value::MacAddr8(*bytes),
            Value::Extension(value) => Value::Extension(value.clone()),
            Value::Row(row) => Value::Row(Arc::clone(row)),
            Value::TimeTz(time) => Value::TimeTz(*time),
        }
    }

    /// Memory that a copy would take in addition to the value itself. Numbers count if they are long.
    pub fn heap_bytes(&self) -> usize {
        match self {
            Value::Text(text) => text.len(),
            Value::Bytea(bytes) => bytes.len(),
            Value::Json(text) => text.len(),
            Value::Jsonb(value) => value.as_bytes().len(),
            Value::Reference(_) => size_of::<Reference>(),
            Value::Numeric(number) => number.long_bytes(),
            Value::Extension(value) => value.content().len(),
            Value::Row(row) => row.heap_bytes(),
            _ => 0,
        }
    }

    /// Drops the value, at no cost if there is nothing to free.
    #[inline]
    pub fn discard(self) {
        match self {
            Value::Text(_)
            | Value::Numeric(_)
            | Value::Bytea(_)
            | Value::Array(_)
            | Value::Reference(_)
            | Value::Json(_)
            | Value::Jsonb(_)
            | Value::Extension(_)
            | Value::Row(_) => drop(self),
            other => std::mem::forget(other),
        }
    }

    /// Replaces the value, at no cost if there was nothing to free.
    #[inline(always)]
    pub fn put(&mut self, value: Value) {
        match self {
            Value::Text(_)
            | Value::Numeric(_)
            | Value::Bytea(_)
            | Value::Array(_)
            | Value::Reference(_)
            | Value::Json(_)
            | Value::Jsonb(_)
            | Value::Extension(_)
            | Value::Row(_) => *self = value,
            _ => std::mem::forget(std::mem::replace(self, value)),
        }
    }
}

/// What PostgreSQL adds to a length to make a type modifier.
const TYPE_MODIFIER_HEADER: i32 = 4;

impl SqlType {
    /// `interval` without modifiers.
    pub const INTERVAL: SqlType = SqlType::Interval(IntervalModifier::NONE);
    /// The types of times of day, and the timestamps, without modifiers.
    pub const TIME: SqlType = SqlType::Time(None);
    pub const TIMETZ: SqlType = SqlType::TimeTz(None);
    pub const TIMESTAMP: SqlType = SqlType::Timestamp(None);
    pub const TIMESTAMPTZ: SqlType = SqlType::TimestampTz(None);

    /// The name without modifiers, as PostgreSQL's `format_type` prints it and its messages use it.
    pub fn base_name(self) -> &'static str {
        match self {
            SqlType::Boolean => "boolean",
            SqlType::SmallInt => "smallint",
            SqlType::Integer => "integer",
            SqlType::BigInt => "bigint",
            SqlType::Real => "real",
            SqlType::DoublePrecision => "double precision",
            SqlType::Numeric(_) => "numeric",
            SqlType::Text => "text",
            SqlType::Varchar(_) => "character varying",
            SqlType::Char(_) => "character",
            SqlType::Bytea => "bytea",
            SqlType::Date => "date",
            SqlType::Time(_) => "time without time zone",
            SqlType::TimeTz(_) => "time with time zone",
            SqlType::Timestamp(_) => "timestamp without time zone",
            SqlType::TimestampTz(_) => "timestamp with time zone",
            SqlType::Uuid => "uuid",
            SqlType::Json => "json",
            SqlType::Jsonb => "jsonb",
            SqlType::Interval(_) => "interval",
            SqlType::Array(element) => element.array_names().0,
            SqlType::System(system_type) => system_type.shown(),
            SqlType::Enum(enum_type) => enum_type.shown(),
            SqlType::Composite(row_type) => row_type.shown(),
            SqlType::Inet => "inet",
            SqlType::Cidr => "cidr",
            SqlType::MacAddr => "macaddr",
            SqlType::MacAddr8 => "macaddr8",
            SqlType::Extension(extension_type) => extension_type.name(),
        }
    }

    /// The name with modifiers, as `format_type(oid, typmod)` prints it.
    pub fn name(self) -> Cow<'static, str> {
        match self {
            SqlType::Numeric(Some((precision, scale))) => Cow::Owned(format!("numeric({precision},{scale})")),
            SqlType::Varchar(Some(length)) => Cow::Owned(format!("character varying({length})")),
            SqlType::Char(0) => Cow::Borrowed("bpchar"),
            SqlType::Array(ArrayElement::Fitted(_)) => {
                let element = self.element().map_or(Cow::Borrowed(""), |element| element.sql_type().name());
                Cow::Owned(format!("{element}[]"))
            }
            SqlType::Char(length) => Cow::Owned(format!("character({length})")),
            SqlType::Interval(modifier) => Cow::Owned(modifier.type_name()),
            SqlType::Time(Some(precision)) => Cow::Owned(format!("time({precision}) without time zone")),
            SqlType::TimeTz(Some(precision)) => Cow::Owned(format!("time({precision}) with time zone")),
            SqlType::Timestamp(Some(precision)) => {
                Cow::Owned(format!("timestamp({precision}) without time zone"))
            }
            SqlType::TimestampTz(Some(precision)) => {
                Cow::Owned(format!("timestamp({precision}) with time zone"))
            }
            other => Cow::Borrowed(other.base_name()),
        }
    }

    /// `pg_type.typname`.
    pub fn catalog_name(self) -> &'static str {
        match self {
            SqlType::Boolean => "bool",
            SqlType::SmallInt => "int2",
            SqlType::Integer => "int4",
            SqlType::BigInt => "int8",
            SqlType::Real => "float4",
            SqlType::DoublePrecision => "float8",
            SqlType::Numeric(_) => "numeric",
            SqlType::Text => "text",
            SqlType::Varchar(_) => "varchar",
            SqlType::Char(_) => "bpchar",
            SqlType::Bytea => "bytea",
            SqlType::Date => "date",
            SqlType::Time(_) => "time",
            SqlType::TimeTz(_) => "timetz",
            SqlType::Timestamp(_) => "timestamp",
            SqlType::TimestampTz(_) => "timestamptz",
            SqlType::Uuid => "uuid",
            SqlType::Json => "json",
            SqlType::Jsonb => "jsonb",
            SqlType::Interval(_) => "interval",
            SqlType::Array(element) => element.array_names().1,
            SqlType::System(system_type) => system_type.catalog_name(),
            SqlType::Enum(enum_type) => &enum_type.definition().name,
            SqlType::Composite(row_type) => &row_type.definition().name,
            SqlType::Inet | SqlType::Cidr | SqlType::MacAddr | SqlType::MacAddr8 | SqlType::Extension(_) => {
                self.base_name()
            }
        }
    }

    /// `pg_type.oid`, fixed by PostgreSQL forever, or here for the types of extensions.
    pub fn oid(self) -> u32 {
        match self {
            SqlType::Boolean => 16,
            SqlType::SmallInt => 21,
            SqlType::Integer => 23,
            SqlType::BigInt => 20,
            SqlType::Real => 700,
            SqlType::DoublePrecision => 701,
            SqlType::Numeric(_) => 1700,
            SqlType::Text => 25,
            SqlType::Varchar(_) => 1043,
            SqlType::Char(_) => 1042,
            SqlType::Bytea => 17,
            SqlType::Date => 1082,
            SqlType::Time(_) => 1083,
            SqlType::TimeTz(_) => 1266,
            SqlType::Timestamp(_) => 1114,
            SqlType::TimestampTz(_) => 1184,
            SqlType::Uuid => 2950,
            SqlType::Json => 114,
            SqlType::Jsonb => 3802,
            SqlType::Interval(_) => 1186,
            SqlType::Array(element) => element.array_names().2,
            SqlType::System(system_type) => system_type.oid(),
            SqlType::Enum(enum_type) => enum_type.definition().id,
            SqlType::Composite(row_type) => row_type.definition().id,
            SqlType::Inet => 869,
            SqlType::Cidr => 650,
            SqlType::MacAddr => 829,
            SqlType::MacAddr8 => 774,
            SqlType::Extension(extension_type) => extension_type.oid(),
        }
    }

    /// `pg_type.typlen`: bytes of a fixed-width type, -1 for a variable one.
    pub fn length_bytes(self) -> i16 {
        match self {
            SqlType::Boolean => 1,
            SqlType::SmallInt => 2,
            SqlType::Integer | SqlType::Real | SqlType::Date => 4,
            SqlType::BigInt
            | SqlType::DoublePrecision
            | SqlType::Time(_)
            | SqlType::Timestamp(_)
            | SqlType::TimestampTz(_) => 8,
            SqlType::MacAddr => 6,
            SqlType::TimeTz(_) => 12,
            SqlType::MacAddr8 => 8,
            SqlType::Uuid | SqlType::Interval(_) => 16,
            SqlType::System(system_type) => system_type.length_bytes(),
            SqlType::Enum(_) => 4,
            SqlType::Numeric(_)
            | SqlType::Text
            | SqlType::Varchar(_)
            | SqlType::Char(_)
            | SqlType::Bytea
            | SqlType::Json
            | SqlType::Jsonb
            | SqlType::Inet
            | SqlType::Cidr
            | SqlType::Extension(_)
            | SqlType::Composite(_)
            | SqlType::Array(_) => -1,
        }
    }

    /// Bytes of each value where it is stored, in rows and keys; `None` if it depends on the value. A name
    /// takes its actual length, whatever the catalog says.
    pub fn stored_bytes(self) -> Option<usize> {
        match self {
            // Its position among the labels.
            SqlType::Enum(_) => Some(size_of::<u64>()),
            _ if self.is_text() => None,
            _ => usize::try_from(self.length_bytes()).ok(),
        }
    }

    /// `pg_attribute.atttypmod`: the modifiers in PostgreSQL's encoding, -1 for none.
    pub fn type_modifier(self) -> i32 {
        let of_length =
            |length: u32| i32::try_from(length).map_or(-1, |length| length + TYPE_MODIFIER_HEADER);
        match self {
            SqlType::Numeric(Some((precision, scale))) => {
                ((i32::from(precision) << 16) | (i32::from(scale) & 0x7ff)) + TYPE_MODIFIER_HEADER
            }
            SqlType::Varchar(Some(length)) => of_length(length),
            SqlType::Char(length) if length > 0 => of_length(length),
            SqlType::Interval(modifier) => modifier.encoded(),
            SqlType::Time(precision)
            | SqlType::TimeTz(precision)
            | SqlType::Timestamp(precision)
            | SqlType::TimestampTz(precision) => precision.map_or(-1, i32::from),
            SqlType::Array(element @ ArrayElement::Fitted(_)) => element.sql_type().type_modifier(),
            _ => -1,
        }
    }

    /// The type of this `pg_type.oid` and type modifier (-1 for none); None for a type Hyades does not have.
    pub fn from_oid(oid: u32, type_modifier: i32) -> Option<SqlType> {
        let length = u32::try_from(type_modifier - TYPE_MODIFIER_HEADER.min(type_modifier)).ok();
        let length = length.filter(|_| type_modifier >= TYPE_MODIFIER_HEADER);
        let precision = u8::try_from(type_modifier).ok().filter(|precision| *precision <= MAXIMUM_PRECISION);
        Some(match oid {
            16 => SqlType::Boolean,
            17 => SqlType::Bytea,
            20 => SqlType::BigInt,
            21 => SqlType::SmallInt,
            23 => SqlType::Integer,
            25 => SqlType::Text,
            114 => SqlType::Json,
            650 => SqlType::Cidr,
            700 => SqlType::Real,
            701 => SqlType::DoublePrecision,
            774 => SqlType::MacAddr8,
            829 => SqlType::MacAddr,
            869 => SqlType::Inet,
            1042 => SqlType::Char(length.unwrap_or(0)),
            1043 => SqlType::Varchar(length),
            1082 => SqlType::Date,
            1083 => SqlType::Time(precision),
            1114 => SqlType::Timestamp(precision),
            1184 => SqlType::TimestampTz(precision),
            1186 => SqlType::Interval(IntervalModifier::decoded(type_modifier)),
            1266 => SqlType::TimeTz(precision),
            1700 => SqlType::Numeric(length.map(|packed| {
                let scale = (packed & 0x7ff) as i16;
                (((packed >> 16) & 0xffff) as u16, (scale ^ 1024) - 1024)
            })),
            2950 => SqlType::Uuid,
            3802 => SqlType::Jsonb,
            _ => match (SystemType::from_oid(oid), ExtensionType::from_oid(oid)) {
                (Some(system_type), _) => SqlType::System(system_type),
                (None, Some(extension_type)) => SqlType::Extension(extension_type),
                (None, None) => {
                    let element = ArrayElement::of_array_oid(oid)?;
                    let fitted = SqlType::from_oid(element.sql_type().oid(), type_modifier);
                    SqlType::Array(fitted.and_then(ArrayElement::fitted).unwrap_or(element))
                }
            },
        })
    }

    /// The same type without modifiers; `char(n)` becomes `Char(0)`.
    #[must_use]
    pub fn without_modifier(self) -> SqlType {
        match self {
            SqlType::Numeric(_) => SqlType::Numeric(None),
            SqlType::Varchar(_) => SqlType::Varchar(None),
            SqlType::Char(_) => SqlType::Char(0),
            SqlType::Interval(_) => SqlType::INTERVAL,
            SqlType::Time(_) => SqlType::TIME,
            SqlType::TimeTz(_) => SqlType::TIMETZ,
            SqlType::Timestamp(_) => SqlType::TIMESTAMP,
            SqlType::TimestampTz(_) => SqlType::TIMESTAMPTZ,
            SqlType::Array(element) => SqlType::Array(element.without_modifier()),
            other => other,
        }
    }

    /// The same type, modifiers aside.
    pub fn is_same_base(self, other: SqlType) -> bool {
        match (self, other) {
            (SqlType::Array(own), SqlType::Array(other)) => {
                return own.without_modifier() == other.without_modifier();
            }
            (SqlType::System(own), SqlType::System(other)) => return own == other,
            (SqlType::Enum(own), SqlType::Enum(other)) => return own == other,
            (SqlType::Extension(own), SqlType::Extension(other)) => return own == other,
            (SqlType::Composite(own), SqlType::Composite(other)) => return own == other,
            _ => {}
        }
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }

    pub fn is_integer(self) -> bool {
        matches!(self, SqlType::SmallInt | SqlType::Integer | SqlType::BigInt)
    }

    pub fn is_numeric(self) -> bool {
        self.is_integer() || matches!(self, SqlType::Real | SqlType::DoublePrecision | SqlType::Numeric(_))
    }

    /// `text`, `varchar`, `char`, `name` or "char".
    pub fn is_text(self) -> bool {
        match self {
            SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_) => true,
            SqlType::System(system_type) => system_type.is_text(),
            _ => false,
        }
    }

    /// One of those, or a type of an extension that is a string.
    pub fn is_string(self) -> bool {
        match self {
            SqlType::Extension(own) => own.is_string(),
            other => other.is_text(),
        }
    }

    /// What it stands for in the signature of a routine, if it is a polymorphic type.
    pub fn polymorphic(self) -> Option<Polymorphic> {
        match self {
            SqlType::System(SystemType::Polymorphic(kind)) => Some(kind),
            _ => None,
        }
    }

    pub fn is_polymorphic(self) -> bool {
        self.polymorphic().is_some()
    }

    /// Whether it is an object's number, shown as such or by the object's name.
    pub fn is_oid(self) -> bool {
        matches!(self, SqlType::System(own) if own.is_number() || own.is_reference())
    }

    /// Whether values of the type, or of its elements, are read as names of objects.
    pub fn names_objects(self) -> bool {
        match self {
            SqlType::Array(element) => element.sql_type().names_objects(),
            SqlType::System(system_type) => system_type.is_reference(),
            _ => false,
        }
    }

    /// The type of the elements of an array or a vector.
    pub fn element(self) -> Option<ArrayElement> {
        match self {
            SqlType::Array(element) => Some(element),
            SqlType::System(system_type) => ArrayElement::of_vector(system_type),
            _ => None,
        }
    }

    /// `date`, `timestamp` or `timestamptz`.
    pub fn is_datetime(self) -> bool {
        matches!(self, SqlType::Date | SqlType::Timestamp(_) | SqlType::TimestampTz(_))
    }
}

impl Value {
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// A `text` value.
    pub fn text(text: impl Into<CompactString>) -> Value {
        Value::Text(text.into())
    }

    /// A `numeric` value; the module head says which invariants it must keep.
    pub fn numeric(number: impl Into<Numeric>) -> Value {
        Value::Numeric(Box::new(number.into()))
    }

    /// The type of the value, without modifiers; `Text` stands for all three text types. None for NULL.
    pub fn sql_type(&self) -> Option<SqlType> {
        Some(match self {
            Value::Null => return None,
            Value::Boolean(_) => SqlType::Boolean,
            Value::SmallInt(_) => SqlType::SmallInt,
            Value::Integer(_) => SqlType::Integer,
            Value::BigInt(_) => SqlType::BigInt,
            Value::Real(_) => SqlType::Real,
            Value::Double(_) => SqlType::DoublePrecision,
            Value::Numeric(_) => SqlType::Numeric(None),
            Value::Text(_) => SqlType::Text,
            Value::Bytea(_) => SqlType::Bytea,
            Value::Date(_) => SqlType::Date,
            Value::Time(_) => SqlType::TIME,
            Value::TimeTz(_) => SqlType::TIMETZ,
            Value::Timestamp(_) => SqlType::TIMESTAMP,
            Value::TimestampTz(_) => SqlType::TIMESTAMPTZ,
            Value::Uuid(_) => SqlType::Uuid,
            Value::Json(_) => SqlType::Json,
            Value::Jsonb(_) => SqlType::Jsonb,
            Value::Interval(_) => SqlType::INTERVAL,
            Value::Array(array) => SqlType::Array(array.element),
            Value::Oid(_) => SqlType::System(SystemType::Oid),
            Value::Reference(reference) => SqlType::System(reference.system_type),
            Value::Enum(value) => SqlType::Enum(value.enum_type),
            Value::Network(network) if network.is_cidr() => SqlType::Cidr,
            Value::Network(_) => SqlType::Inet,
            Value::MacAddr(_) => SqlType::MacAddr,
            Value::MacAddr8(_) => SqlType::MacAddr8,
            Value::Extension(value) => SqlType::Extension(value.extension_type()),
            Value::Row(row) => SqlType::Composite(row.row_type),
        })
    }

    /// Whether a column or parameter of this type can hold the value as it is (modifiers are ignored). NULL
    /// fits all.
    pub fn fits(&self, sql_type: SqlType) -> bool {
        match self.sql_type() {
            None => true,
            Some(SqlType::Text) => {
                let is_kept_as_text = |own| matches!(own, SystemType::JsonPath | SystemType::Record);
                sql_type.is_text() || matches!(sql_type, SqlType::System(own) if is_kept_as_text(own))
            }
            Some(SqlType::Array(own)) => {
                sql_type.element().is_some_and(|element| element.without_modifier() == own)
            }
            Some(SqlType::System(SystemType::Oid)) => {
                matches!(sql_type, SqlType::System(wanted) if wanted.is_number())
            }
            Some(own) => own.is_same_base(sql_type),
        }
    }

    /// The value of a `smallint`, `integer` or `bigint`.
    pub fn as_i64(&self) -> Option<i64> {
        match *self {
            Value::SmallInt(number) => Some(i64::from(number)),
            Value::Integer(number) => Some(i64::from(number)),
            Value::BigInt(number) => Some(number),
            _ => None,
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn as_bool(&self) -> Option<bool> {
        match *self {
            Value::Boolean(truth) => Some(truth),
            _ => None,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;

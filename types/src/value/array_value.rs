//! Arrays: the type of their elements, their dimensions, and the elements.
//!
//! Elements are stored in row-major order: the last subscript varies fastest. Nearly all arrays have one
//! dimension that counts from 1, so that form is implicit: the shape is `None`, and an array of that form, or
//! without elements, never has another shape. So equal arrays are equal field by field.
//!
//! Reference: PostgreSQL's `array.h`: at most six dimensions; an empty array has none.

use std::ops::Deref;

use serde::{Deserialize, Serialize};

use crate::enumeration::EnumType;
use crate::extension::ExtensionType;
use crate::interval::IntervalModifier;
use crate::system_type::{self, SystemType};
use crate::value::composite::CompositeType;
use crate::value::{SqlType, Value};

/// Most dimensions of an array.
pub const MOST_DIMENSIONS: usize = 6;

/// Most elements of an array.
pub const MOST_ELEMENTS: usize = 0x07ff_ffff;

/// The type of an array's elements: a [`SqlType`] that is not an array, without modifiers except in
/// [`ArrayElement::Fitted`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ArrayElement {
    Boolean,
    SmallInt,
    Integer,
    BigInt,
    Real,
    DoublePrecision,
    Numeric,
    Text,
    Varchar,
    Date,
    Timestamp,
    TimestampTz,
    Uuid,
    Interval,
    System(SystemType),
    Time,
    Char,
    Bytea,
    Json,
    Jsonb,
    Enum(EnumType),
    Inet,
    Cidr,
    MacAddr,
    MacAddr8,
    Extension(ExtensionType),
    Composite(CompositeType),
    TimeTz,
    /// Used for columns and variables. The arrays themselves know the type without its modifiers.
    Fitted(FittedElement),
}

/// The type of elements that have a length or a precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FittedElement {
    Numeric(u16, i16),
    Varchar(u32),
    Char(u32),
    Time(u8),
    Timestamp(u8),
    TimestampTz(u8),
    Interval(IntervalModifier),
    TimeTz(u8),
}

/// One dimension: its first subscript and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dimension {
    pub lower: i32,
    pub length: i32,
}

impl Dimension {
    /// The last subscript.
    pub fn upper(self) -> i32 {
        self.lower + (self.length - 1)
    }
}

/// The values of an array, each of the element's type or NULL.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrayValue {
    pub element: ArrayElement,
    /// `None`: one dimension that counts from 1, or none if there are no elements.
    shape: Option<Box<[Dimension]>>,
    pub values: Vec<Value>,
}

/// The dimensions of an array, as a slice. Those of an array that counts from 1 are made on demand, without
/// an allocation.
pub enum Dimensions<'a> {
    Stored(&'a [Dimension]),
    Plain([Dimension; 1]),
}

impl Deref for Dimensions<'_> {
    type Target = [Dimension];

    fn deref(&self) -> &[Dimension] {
        match self {
            Dimensions::Stored(dimensions) => dimensions,
            Dimensions::Plain(dimensions) => dimensions,
        }
    }
}

impl ArrayValue {
    /// An array of one dimension that counts from 1.
    pub fn new(element: ArrayElement, values: Vec<Value>) -> ArrayValue {
        ArrayValue { element: element.without_modifier(), shape: None, values }
    }

    /// An array of these dimensions, whose lengths multiply to the number of values.
    pub fn shaped(element: ArrayElement, dimensions: &[Dimension], values: Vec<Value>) -> ArrayValue {
        debug_assert!(
            values.is_empty()
                || dimensions.iter().map(|one| one.length as usize).product::<usize>() == values.len(),
            "the dimensions hold the values"
        );
        let is_plain = values.is_empty() || matches!(dimensions, [one] if one.lower == 1);
        let shape = if is_plain { None } else { Some(dimensions.into()) };
        ArrayValue { element: element.without_modifier(), shape, values }
    }

    /// Whether it is empty or has one dimension that counts from 1.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.shape.is_none()
    }

    /// None for an empty array.
    pub fn dimensions(&self) -> Dimensions<'_> {
        match &self.shape {
            Some(dimensions) => Dimensions::Stored(dimensions),
            None if self.values.is_empty() => Dimensions::Stored(&[]),
            None => {
                let length = i32::try_from(self.values.len()).unwrap_or(i32::MAX);
                Dimensions::Plain([Dimension { lower: 1, length }])
            }
        }
    }

    /// The position of the element with this subscript; `None` outside the bounds, or if one subscript is not
    /// enough.
    #[inline]
    pub fn place(&self, subscript: i64) -> Option<usize> {
        let lower = match self.shape.as_deref() {
            None => 1,
            Some([one]) => i64::from(one.lower),
            Some(_) => return None,
        };
        let place = usize::try_from(subscript.checked_sub(lower)?).ok()?;
        (place < self.values.len()).then_some(place)
    }

    /// Memory that a copy would take.
    pub fn heap_bytes(&self) -> usize {
        let own = size_of_val(self.values.as_slice());
        match self.element {
            ArrayElement::Text
            | ArrayElement::Varchar
            | ArrayElement::Char
            | ArrayElement::Bytea
            | ArrayElement::Numeric
            | ArrayElement::Json
            | ArrayElement::Jsonb
            | ArrayElement::Composite(_)
            | ArrayElement::System(_) => own + self.values.iter().map(Value::heap_bytes).sum::<usize>(),
            _ => own,
        }
    }
}

impl ArrayElement {
    /// The type of a vector's elements; `None` for types that are no vectors.
    pub fn of_vector(system_type: SystemType) -> Option<ArrayElement> {
        match system_type {
            SystemType::Int2Vector => Some(ArrayElement::SmallInt),
            SystemType::OidVector => Some(ArrayElement::System(SystemType::Oid)),
            _ => None,
        }
    }

    /// The element type without modifiers; `None` for types that have no arrays here.
    pub fn of(sql_type: SqlType) -> Option<ArrayElement> {
        Some(match sql_type {
            SqlType::Boolean => ArrayElement::Boolean,
            SqlType::SmallInt => ArrayElement::SmallInt,
            SqlType::Integer => ArrayElement::Integer,
            SqlType::BigInt => ArrayElement::BigInt,
            SqlType::Real => ArrayElement::Real,
            SqlType::DoublePrecision => ArrayElement::DoublePrecision,
            SqlType::Numeric(_) => ArrayElement::Numeric,
            SqlType::Text => ArrayElement::Text,
            SqlType::Varchar(_) => ArrayElement::Varchar,
            SqlType::Char(_) => ArrayElement::Char,
            SqlType::Bytea => ArrayElement::Bytea,
            SqlType::Date => ArrayElement::Date,
            SqlType::Time(_) => ArrayElement::Time,
            SqlType::TimeTz(_) => ArrayElement::TimeTz,
            SqlType::Timestamp(_) => ArrayElement::Timestamp,
            SqlType::TimestampTz(_) => ArrayElement::TimestampTz,
            SqlType::Uuid => ArrayElement::Uuid,
            SqlType::Json => ArrayElement::Json,
            SqlType::Jsonb => ArrayElement::Jsonb,
            SqlType::Interval(_) => ArrayElement::Interval,
            SqlType::System(system_type) if system_type.array_names().2 != 0 => {
                ArrayElement::System(system_type)
            }
            SqlType::Enum(enum_type) => ArrayElement::Enum(enum_type),
            SqlType::Inet => ArrayElement::Inet,
            SqlType::Cidr => ArrayElement::Cidr,
            SqlType::MacAddr => ArrayElement::MacAddr,
            SqlType::MacAddr8 => ArrayElement::MacAddr8,
            SqlType::Extension(extension_type) => ArrayElement::Extension(extension_type),
            SqlType::Composite(row_type) => ArrayElement::Composite(row_type),
            SqlType::Array(_) | SqlType::System(_) => return None,
        })
    }

    /// The same with the type's modifiers.
    pub fn fitted(sql_type: SqlType) -> Option<ArrayElement> {
        let fitted = match sql_type {
            SqlType::Numeric(Some((precision, scale))) => FittedElement::Numeric(precision, scale),
            SqlType::Varchar(Some(length)) => FittedElement::Varchar(length),
            SqlType::Char(length) if length > 0 => FittedElement::Char(length),
            SqlType::Time(Some(precision)) => FittedElement::Time(precision),
            SqlType::TimeTz(Some(precision)) => FittedElement::TimeTz(precision),
            SqlType::Timestamp(Some(precision)) => FittedElement::Timestamp(precision),
            SqlType::TimestampTz(Some(precision)) => FittedElement::TimestampTz(precision),
            SqlType::Interval(modifier) if modifier != IntervalModifier::NONE => {
                FittedElement::Interval(modifier)
            }
            other => return ArrayElement::of(other),
        };
        Some(ArrayElement::Fitted(fitted))
    }

    pub fn sql_type(self) -> SqlType {
        match self {
            ArrayElement::Boolean => SqlType::Boolean,
            ArrayElement::SmallInt => SqlType::SmallInt,
            ArrayElement::Integer => SqlType::Integer,
            ArrayElement::BigInt => SqlType::BigInt,
            ArrayElement::Real => SqlType::Real,
            ArrayElement::DoublePrecision => SqlType::DoublePrecision,
            ArrayElement::Numeric => SqlType::Numeric(None),
            ArrayElement::Text => SqlType::Text,
            ArrayElement::Varchar => SqlType::Varchar(None),
            ArrayElement::Char => SqlType::Char(0),
            ArrayElement::Bytea => SqlType::Bytea,
            ArrayElement::Date => SqlType::Date,
            ArrayElement::Time => SqlType::TIME,
            ArrayElement::TimeTz => SqlType::TIMETZ,
            ArrayElement::Timestamp => SqlType::TIMESTAMP,
            ArrayElement::TimestampTz => SqlType::TIMESTAMPTZ,
            ArrayElement::Uuid => SqlType::Uuid,
            ArrayElement::Json => SqlType::Json,
            ArrayElement::Jsonb => SqlType::Jsonb,
            ArrayElement::Interval => SqlType::INTERVAL,
            ArrayElement::System(system_type) => SqlType::System(system_type),
            ArrayElement::Enum(enum_type) => SqlType::Enum(enum_type),
            ArrayElement::Inet => SqlType::Inet,
            ArrayElement::Cidr => SqlType::Cidr,
            ArrayElement::MacAddr => SqlType::MacAddr,
            ArrayElement::MacAddr8 => SqlType::MacAddr8,
            ArrayElement::Extension(extension_type) => SqlType::Extension(extension_type),
            ArrayElement::Composite(row_type) => SqlType::Composite(row_type),
            ArrayElement::Fitted(fitted) => match fitted {
                FittedElement::Numeric(precision, scale) => SqlType::Numeric(Some((precision, scale))),
                FittedElement::Varchar(length) => SqlType::Varchar(Some(length)),
                FittedElement::Char(length) => SqlType::Char(length),
                FittedElement::Time(precision) => SqlType::Time(Some(precision)),
                FittedElement::TimeTz(precision) => SqlType::TimeTz(Some(precision)),
                FittedElement::Timestamp(precision) => SqlType::Timestamp(Some(precision)),
                FittedElement::TimestampTz(precision) => SqlType::TimestampTz(Some(precision)),
                FittedElement::Interval(modifier) => SqlType::Interval(modifier),
            },
        }
    }

    /// The same type without a length or a precision.
    #[must_use]
    pub fn without_modifier(self) -> ArrayElement {
        match self {
            ArrayElement::Fitted(fitted) => match fitted {
                FittedElement::Numeric(..) => ArrayElement::Numeric,
                FittedElement::Varchar(_) => ArrayElement::Varchar,
                FittedElement::Char(_) => ArrayElement::Char,
                FittedElement::Time(_) => ArrayElement::Time,
                FittedElement::TimeTz(_) => ArrayElement::TimeTz,
                FittedElement::Timestamp(_) => ArrayElement::Timestamp,
                FittedElement::TimestampTz(_) => ArrayElement::TimestampTz,
                FittedElement::Interval(_) => ArrayElement::Interval,
            },
            other => other,
        }
    }

    /// Name of the array type, its `pg_type.typname`, and its oid.
    pub(crate) fn array_names(self) -> (&'static str, &'static str, u32) {
        match self {
            ArrayElement::Boolean => ("boolean[]", "_bool", 1000),
            ArrayElement::SmallInt => ("smallint[]", "_int2", 1005),
            ArrayElement::Integer => ("integer[]", "_int4", 1007),
            ArrayElement::BigInt => ("bigint[]", "_int8", 1016),
            ArrayElement::Real => ("real[]", "_float4", 1021),
            ArrayElement::DoublePrecision => ("double precision[]", "_float8", 1022),
            ArrayElement::Numeric => ("numeric[]", "_numeric", 1231),
            ArrayElement::Text => ("text[]", "_text", 1009),
            ArrayElement::Varchar => ("character varying[]", "_varchar", 1015),
            ArrayElement::Char => ("character[]", "_bpchar", 1014),
            ArrayElement::Bytea => ("bytea[]", "_bytea", 1001),
            ArrayElement::Date => ("date[]", "_date", 1182),
            ArrayElement::Timestamp => ("timestamp without time zone[]", "_timestamp", 1115),
            ArrayElement::TimestampTz => ("timestamp with time zone[]", "_timestamptz", 1185),
            ArrayElement::Uuid => ("uuid[]", "_uuid", 2951),
            ArrayElement::Json => ("json[]", "_json", 199),
            ArrayElement::Jsonb => ("jsonb[]", "_jsonb", 3807),
            ArrayElement::Interval => ("interval[]", "_interval", 1187),
            ArrayElement::System(system_type) => system_type.array_names(),
            ArrayElement::Enum(enum_type) => enum_type.array_names(),
            ArrayElement::Inet => ("inet[]", "_inet", 1041),
            ArrayElement::Cidr => ("cidr[]", "_cidr", 651),
            ArrayElement::MacAddr => ("macaddr[]", "_macaddr", 1040),
            ArrayElement::Composite(row_type) => row_type.array_names(),
            ArrayElement::MacAddr8 => ("macaddr8[]", "_macaddr8", 775),
            ArrayElement::Extension(extension_type) => extension_type.array_names(),
            ArrayElement::Time => ("time without time zone[]", "_time", 1183),
            ArrayElement::TimeTz => ("time with time zone[]", "_timetz", 1270),
            ArrayElement::Fitted(_) => self.without_modifier().array_names(),
        }
    }

    /// The element of the array type of this oid.
    pub(crate) fn of_array_oid(oid: u32) -> Option<ArrayElement> {
        let system = system_type::ALL.into_iter().map(ArrayElement::System);
        let extensions = ExtensionType::all().map(ArrayElement::Extension);
        PLAIN
            .into_iter()
            .chain(system)
            .chain(extensions)
            .find(|element| oid != 0 && element.array_names().2 == oid)
    }
}

/// All except those of the catalog, those with modifiers, enums, rows, and those of extensions.
pub const PLAIN: [ArrayElement; 24] = [
    ArrayElement::Boolean,
    ArrayElement::SmallInt,
    ArrayElement::Integer,
    ArrayElement::BigInt,
    ArrayElement::Real,
    ArrayElement::DoublePrecision,
    ArrayElement::Numeric,
    ArrayElement::Text,
    ArrayElement::Varchar,
    ArrayElement::Char,
    ArrayElement::Bytea,
    ArrayElement::Date,
    ArrayElement::Timestamp,
    ArrayElement::TimestampTz,
    ArrayElement::Uuid,
    ArrayElement::Interval,
    ArrayElement::Time,
    ArrayElement::TimeTz,
    ArrayElement::Json,
    ArrayElement::Jsonb,
    ArrayElement::Inet,
    ArrayElement::Cidr,
    ArrayElement::MacAddr,
    ArrayElement::MacAddr8,
];

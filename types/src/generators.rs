//! Generators of types, values and rows for property tests, of this crate and (feature `generators`) of the
//! crates above it.

use std::net::IpAddr;

use bigdecimal::num_bigint::BigInt;
use compact_str::CompactString;
use proptest::prelude::*;

use crate::datetime::ZonedTime;
use crate::definition::{TableName, TypeDefinition, TypeKind};
use crate::enumeration::{EnumLabels, EnumType};
use crate::extension::ExtensionType;
use crate::interval::Interval;
use crate::network::Network;
use crate::system_type::SystemType;
use crate::value::array_value::FittedElement;
use crate::value::composite::{CompositeField, CompositeType};
use crate::value::{ArrayElement, BigDecimal, Dimension, Numeric, Precision, SqlType, Value};
use crate::{datetime, text};

/// All types but enums, with and without modifiers.
pub const TYPES: [SqlType; 39] = [
    SqlType::Boolean,
    SqlType::SmallInt,
    SqlType::Integer,
    SqlType::BigInt,
    SqlType::Real,
    SqlType::DoublePrecision,
    SqlType::Numeric(None),
    SqlType::Numeric(Some((10, 2))),
    SqlType::Text,
    SqlType::Varchar(None),
    SqlType::Varchar(Some(5)),
    SqlType::Char(5),
    SqlType::Char(30),
    SqlType::Bytea,
    SqlType::Date,
    SqlType::TIME,
    SqlType::TIMESTAMP,
    SqlType::TIMESTAMPTZ,
    SqlType::Timestamp(Some(2)),
    SqlType::Uuid,
    SqlType::INTERVAL,
    SqlType::Array(ArrayElement::Integer),
    SqlType::Array(ArrayElement::Text),
    SqlType::Array(ArrayElement::Numeric),
    SqlType::Array(ArrayElement::Fitted(FittedElement::Char(3))),
    SqlType::Array(ArrayElement::Bytea),
    SqlType::Json,
    SqlType::Jsonb,
    SqlType::Array(ArrayElement::Jsonb),
    SqlType::Inet,
    SqlType::Cidr,
    SqlType::MacAddr,
    SqlType::MacAddr8,
    SqlType::TIMETZ,
    SqlType::Array(ArrayElement::Inet),
    SqlType::Extension(ExtensionType::Citext),
    SqlType::Extension(ExtensionType::Hstore),
    SqlType::Array(ArrayElement::Extension(ExtensionType::Citext)),
    SqlType::Array(ArrayElement::Extension(ExtensionType::Hstore)),
];

pub fn any_type() -> impl Strategy<Value = SqlType> {
    let weekday = weekday();
    let shift = shift();
    let created = [
        SqlType::Enum(weekday),
        SqlType::Array(ArrayElement::Enum(weekday)),
        SqlType::Composite(shift),
        SqlType::Array(ArrayElement::Composite(shift)),
    ];
    prop::sample::select([&TYPES, &created[..]].concat())
}

/// An enum whose labels are not in alphabetical order.
fn weekday() -> EnumType {
    let labels = ["mon", "tue", "wed", "thu"].map(str::to_owned);
    let kind = TypeKind::Enum { labels: EnumLabels::numbered(&labels).unwrap_or_default() };
    let name = TableName { schema: "public".to_owned(), name: "weekday".to_owned() };
    let definition = TypeDefinition { version: 0, ..TypeDefinition::new((16_384, 16_385), &name, kind) };
    definition.enum_type().expect("it has labels")
}

/// A composite type whose fields are of several kinds, and which has lost one.
fn shift() -> CompositeType {
    let types = [
        SqlType::Enum(weekday()),
        SqlType::Text,
        SqlType::Numeric(None),
        SqlType::Array(ArrayElement::Integer),
        SqlType::Uuid,
    ];
    let fields = [1, 2, 4, 5, 6].into_iter().zip(types);
    let fields = fields
        .map(|(number, sql_type)| CompositeField { number, name: format!("f{number}"), sql_type })
        .collect();
    let kind = TypeKind::Composite { fields, next_number: 7 };
    let name = TableName { schema: "public".to_owned(), name: "shift".to_owned() };
    let definition = TypeDefinition { version: 0, ..TypeDefinition::new((16_386, 16_387), &name, kind) };
    definition.composite_type().expect("it has fields")
}

/// Numbers near each other and near powers of ten, with many scales.
fn any_numeric() -> impl Strategy<Value = Numeric> {
    let small = (-1200_i64..1200, 0_i64..5).prop_map(|(digits, scale)| BigDecimal::new(digits.into(), scale));
    let power = (any::<bool>(), 0_u32..45, 0_i64..45).prop_map(|(is_negative, power, scale)| {
        let digits = BigInt::from(10).pow(power);
        BigDecimal::new(if is_negative { -digits } else { digits }, scale)
    });
    let wide = (any::<i128>(), any::<i64>(), 0_i64..60)
        .prop_map(|(high, low, scale)| BigDecimal::new(BigInt::from(high) * low, scale));
    let special = prop::sample::select(vec![Numeric::Infinity, Numeric::MinusInfinity, Numeric::NaN]);
    prop_oneof![
        4 => small.prop_map(Numeric::Finite),
        4 => power.prop_map(Numeric::Finite),
        4 => wide.prop_map(Numeric::Finite),
        1 => special,
    ]
}

fn any_text() -> impl Strategy<Value = CompactString> {
    let characters = prop::sample::select(vec!['a', 'b', ' ', '\x01', 'é', '漢', '😀', '~']);
    prop::collection::vec(characters, 0..40).prop_map(|characters| characters.into_iter().collect())
}

/// A text in JSON.
fn any_json() -> impl Strategy<Value = String> {
    let scalars = ["null", "true", "false", "0", "-1.50", "1e2", "12345678901234567890", "\"\"", "\"é\\n\""];
    let leaf = prop::sample::select(scalars.map(str::to_owned).to_vec());
    leaf.prop_recursive(4, 24, 4, |inner| {
        let key = prop::sample::select(vec!["a", "b", "bb", "é", ""]);
        let members = prop::collection::vec((key, inner.clone()), 0..4).prop_map(|members| {
            let each: Vec<String> =
                members.iter().map(|(key, value)| format!("\"{key}\": {value}")).collect();
            format!("{{{}}}", each.join(","))
        });
        let items = prop::collection::vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(" , ")));
        prop_oneof![members, items]
    })
}

/// Addresses of few and of random bits, in both families.
fn any_network(sql_type: SqlType) -> impl Strategy<Value = Network> {
    let octets = prop_oneof![Just(0_u8), Just(255), any::<u8>()];
    let v4 = prop::array::uniform4(octets.clone()).prop_map(IpAddr::from);
    let v6 = prop::array::uniform16(octets).prop_map(IpAddr::from);
    (prop_oneof![v4, v6], 0_u8..=128).prop_map(move |(address, bits)| {
        let host = Network::from(address).with_bits(bits);
        if sql_type == SqlType::Cidr { host.to_cidr() } else { host }
    })
}

fn any_address(sql_type: SqlType) -> BoxedStrategy<Value> {
    match sql_type {
        SqlType::MacAddr => any::<[u8; 6]>().prop_map(Value::MacAddr).boxed(),
        SqlType::MacAddr8 => any::<[u8; 8]>().prop_map(Value::MacAddr8).boxed(),
        _ => any_network(sql_type).prop_map(Value::Network).boxed(),
    }
}

/// Texts and pairs of them, in the text form of the type.
fn any_extension_value(own: ExtensionType) -> impl Strategy<Value = Value> {
    let pairs = prop::collection::vec((any_text(), prop::option::of(any_text())), 0..4);
    (any_text(), pairs).prop_map(move |(text, pairs)| {
        let quoted = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
        let pairs: Vec<String> = pairs
            .iter()
            .map(|(key, value)| {
                let value = value.as_ref().map_or("NULL".to_owned(), |value| quoted(value));
                format!("{}=>{value}", quoted(key))
            })
            .collect();
        let text = match own {
            ExtensionType::Citext => text.to_string(),
            ExtensionType::Hstore => pairs.join(","),
        };
        own.parse(&text).map_or(Value::Null, Value::Extension)
    })
}

fn any_zoned_time(precision: Precision) -> impl Strategy<Value = Value> {
    let parts = (0..=datetime::MICROSECONDS_PER_DAY, -15..=15, -3599..=3599);
    parts.prop_map(move |(time, hours, seconds)| {
        let zoned = ZonedTime { time, west: hours * 3600 + seconds };
        Value::TimeTz(zoned.rounded(precision))
    })
}

/// A value of the type, as a column would hold it. Never NULL.
pub fn any_value(sql_type: SqlType) -> BoxedStrategy<Value> {
    let timestamp = -211_813_488_000_000_000_i64..9_223_371_331_200_000_000;
    let special_doubles = vec![0.0, -0.0, 1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE];
    match sql_type {
        SqlType::Boolean => any::<bool>().prop_map(Value::Boolean).boxed(),
        SqlType::SmallInt => any::<i16>().prop_map(Value::SmallInt).boxed(),
        SqlType::Integer => prop_oneof![any::<i32>(), -3..3].prop_map(Value::Integer).boxed(),
        SqlType::BigInt => prop_oneof![any::<i64>(), -3_i64..3].prop_map(Value::BigInt).boxed(),
        SqlType::Real => {
            let special: Vec<f32> = special_doubles.iter().map(|number| *number as f32).collect();
            prop_oneof![any::<f32>(), prop::sample::select(special)].prop_map(Value::Real).boxed()
        }
        SqlType::DoublePrecision => {
            prop_oneof![any::<f64>(), prop::sample::select(special_doubles)].prop_map(Value::Double).boxed()
        }
        SqlType::Numeric(None) => any_numeric().prop_map(Value::numeric).boxed(),
        SqlType::Numeric(Some((_, scale))) => (-9_999_999_999_i64..=9_999_999_999)
            .prop_map(move |digits| Value::numeric(BigDecimal::new(digits.into(), i64::from(scale))))
            .boxed(),
        SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_) => any_text()
            .prop_map(move |any| Value::Text(text::fit_text(any, sql_type, true).unwrap_or_default()))
            .boxed(),
        SqlType::Bytea => prop::collection::vec(prop_oneof![Just(0), Just(1), Just(255), any::<u8>()], 0..12)
            .prop_map(|bytes| Value::Bytea(bytes.into()))
            .boxed(),
        SqlType::Date => prop_oneof![-2_451_545..2_145_031_949, Just(datetime::DATE_INFINITY)]
            .prop_map(Value::Date)
            .boxed(),
        SqlType::Time(precision) => (0..=datetime::MICROSECONDS_PER_DAY)
            .prop_map(move |time| Value::Time(datetime::round_time(time, precision)))
            .boxed(),
        SqlType::TimeTz(precision) => any_zoned_time(precision).boxed(),
        SqlType::Timestamp(precision) => prop_oneof![timestamp, Just(datetime::TIMESTAMP_INFINITY)]
            .prop_map(move |time| {
                Value::Timestamp(datetime::round_timestamp(time, precision).unwrap_or_default())
            })
            .boxed(),
        SqlType::TimestampTz(_) => prop_oneof![timestamp, Just(datetime::TIMESTAMP_MINUS_INFINITY)]
            .prop_map(Value::TimestampTz)
            .boxed(),
        SqlType::Uuid => any::<[u8; 16]>().prop_map(Value::Uuid).boxed(),
        SqlType::MacAddr | SqlType::MacAddr8 | SqlType::Inet | SqlType::Cidr => any_address(sql_type),
        SqlType::Extension(own) => any_extension_value(own).boxed(),
        SqlType::Json | SqlType::Jsonb => any_json()
            .prop_map(move |text| text::parse(&text, sql_type, &jiff::tz::TimeZone::UTC).unwrap_or_default())
            .boxed(),
        SqlType::Interval(modifier) => {
            let near = (-3..3, -90..90, -3_i64..3)
                .prop_map(|(months, days, hours)| (months, days, hours * 3_600_000_000));
            prop_oneof![any::<(i32, i32, i64)>(), near]
                .prop_map(move |(months, days, time)| {
                    Value::Interval(Interval::new(months, days, time).fit(modifier))
                })
                .boxed()
        }
        SqlType::Enum(enum_type) => any_label(enum_type),
        SqlType::Array(element) => any_array(element),
        SqlType::Composite(row_type) => any_composite(row_type),
        SqlType::System(system_type) if system_type.is_text() => {
            let fitted = move |any| Value::Text(text::fit_text(any, sql_type, true).unwrap_or_default());
            any_text().prop_map(fitted).boxed()
        }
        SqlType::System(SystemType::JsonPath) => Just(Value::text("$.\"a\"[*]")).boxed(),
        SqlType::System(system_type) => match ArrayElement::of_vector(system_type) {
            Some(element) => any_value(SqlType::Array(element)),
            None if system_type.is_number() => any::<u32>().prop_map(Value::Oid).boxed(),
            None => any::<u32>().prop_map(move |oid| Value::reference(system_type, oid, "name")).boxed(),
        },
    }
}

/// An array of one dimension, or of two with another lower bound.
fn any_label(enum_type: EnumType) -> BoxedStrategy<Value> {
    prop::sample::select(enum_type.values().map(Value::Enum).collect::<Vec<_>>()).boxed()
}

fn any_composite(row_type: CompositeType) -> BoxedStrategy<Value> {
    let field = |field: &CompositeField| prop_oneof![4 => any_value(field.sql_type), 1 => Just(Value::Null)];
    let fields: Vec<_> = row_type.fields().iter().map(field).collect();
    fields.prop_map(move |fields| Value::row(row_type, fields)).boxed()
}

fn any_array(element: ArrayElement) -> BoxedStrategy<Value> {
    let item = prop_oneof![4 => any_value(element.sql_type()), 1 => Just(Value::Null)];
    let array = move |values| Value::array(element, values);
    let plain = prop::collection::vec(item.clone(), 0..5).prop_map(array);
    let shaped = (-2..3_i32, 1..3_i32, 1..3_i32)
        .prop_flat_map(move |(lower, rows, columns)| {
            let values = prop::collection::vec(item.clone(), (rows * columns) as usize);
            (Just([(lower, rows), (1, columns)]), values)
        })
        .prop_map(move |(shape, values)| {
            let dimensions = shape.map(|(lower, length)| Dimension { lower, length });
            Value::shaped_array(element, &dimensions, values)
        });
    prop_oneof![plain, shaped].boxed()
}

/// The types of a row and a value for each column, some of them NULL.
pub fn any_row() -> impl Strategy<Value = (Vec<SqlType>, Vec<Value>)> {
    prop::collection::vec(any_type(), 1..12).prop_flat_map(|types| {
        let values: Vec<_> = types
            .iter()
            .map(|sql_type| prop_oneof![4 => any_value(*sql_type), 1 => Just(Value::Null)])
            .collect();
        (Just(types), values)
    })
}

/// Equality that takes NaN as equal to itself, and distinguishes scales of numerics.
pub fn is_identical(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Real(a), Value::Real(b)) => a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
        (Value::Double(a), Value::Double(b)) => a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
        (a, b) => a == b,
    }
}

//! Whatever result a function, an operator or a cast gives for the largest, smallest and strangest arguments,
//! recovery would accept it in a row.

use std::fmt::Write as _;

use hyades_types::datetime::{self, ZonedTime};
use hyades_types::environment::Environment;
use hyades_types::extension::ExtensionType;
use hyades_types::function::{Function, TypePattern, call, lookup, names};
use hyades_types::interval::Interval;
use hyades_types::operator::BinaryOperator;
use hyades_types::value::{ArrayElement, SqlType, Value};
use hyades_types::{arithmetic, cast, numeric, text};

use super::RowLayout;

/// The types that a column may have.
fn column_types() -> Vec<SqlType> {
    vec![
        SqlType::Boolean,
        SqlType::SmallInt,
        SqlType::Integer,
        SqlType::BigInt,
        SqlType::Real,
        SqlType::DoublePrecision,
        SqlType::Numeric(None),
        SqlType::Numeric(Some((5, 2))),
        SqlType::Numeric(Some((1000, 0))),
        SqlType::Text,
        SqlType::Varchar(Some(3)),
        SqlType::Char(2),
        SqlType::Bytea,
        SqlType::Date,
        SqlType::TIMESTAMP,
        SqlType::TIMESTAMPTZ,
        SqlType::TIME,
        SqlType::TIMETZ,
        SqlType::Timestamp(Some(3)),
        SqlType::Uuid,
        SqlType::Inet,
        SqlType::Cidr,
        SqlType::MacAddr,
        SqlType::MacAddr8,
        SqlType::Extension(ExtensionType::Citext),
        SqlType::Extension(ExtensionType::Hstore),
        SqlType::INTERVAL,
        SqlType::Json,
        SqlType::Jsonb,
    ]
}

fn numbers() -> Vec<Value> {
    let nines = "9".repeat(131_072);
    let places = "0".repeat(16_382);
    let texts = [
        "0".to_owned(),
        "-1".to_owned(),
        "0.5".to_owned(),
        "1e1000".to_owned(),
        format!("{nines}.5"),
        format!("-{nines}.5"),
        format!("0.{places}1"),
        format!("-{nines}.{places}9"),
    ];
    texts.iter().map(|text| Value::numeric(numeric::parse(text).expect("a number"))).collect()
}

fn intervals() -> Vec<Value> {
    let parts = [(0, 0, 0), (i32::MAX, i32::MAX, i64::MAX), (i32::MIN, i32::MIN, i64::MIN), (1, -1, 1)];
    parts.map(|(months, days, time)| Value::Interval(Interval::new(months, days, time))).to_vec()
}

/// Documents of type json or jsonb.
fn documents(sql_type: SqlType) -> Vec<Value> {
    let long = format!("{{\"{0}\": \"{0}\", \"a\": [1.50, -1e100, null, {{}}, []]}}", "é".repeat(300));
    ["null", "\"\"", "[]", " { } ", "-0.0", "[[1, \"\\u00e9\"], true]", &long]
        .map(|text| text::parse(text, sql_type, &jiff::tz::TimeZone::UTC).expect(text))
        .to_vec()
}

fn texts() -> Vec<Value> {
    let long = "ab ".repeat(100);
    let texts = [
        "",
        "a",
        "  ",
        "\u{10ffff}\u{df}\u{149}x",
        "millennium",
        "epoch",
        "julian",
        "Etc/GMT+12",
        "%s%%",
        "1e999999",
        &long,
    ];
    texts.map(Value::text).to_vec()
}

/// The limits of a type, their neighbours, and peculiar values.
fn samples(sql_type: SqlType) -> Vec<Value> {
    match sql_type {
        SqlType::Boolean => vec![Value::Boolean(true), Value::Boolean(false)],
        SqlType::SmallInt => [i16::MIN, -1, 0, 1, i16::MAX].map(Value::SmallInt).to_vec(),
        SqlType::Integer => [i32::MIN, -5, -1, 0, 1, 300, 131_071, i32::MAX].map(Value::Integer).to_vec(),
        SqlType::BigInt => [i64::MIN, -1, 0, 1, i64::MAX].map(Value::BigInt).to_vec(),
        SqlType::Real => [f32::MIN, f32::MIN_POSITIVE, 0.0, 1.5, f32::MAX, f32::INFINITY, -f32::NAN]
            .map(Value::Real)
            .to_vec(),
        SqlType::DoublePrecision => [
            f64::MIN,
            -1e12,
            -1.0,
            -0.0,
            5e-324,
            0.5,
            1.0,
            709.9,
            1e15,
            f64::MAX,
            f64::INFINITY,
            f64::NEG_INFINITY,
            -f64::NAN,
        ]
        .map(Value::Double)
        .to_vec(),
        SqlType::Numeric(_) => numbers(),
        SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_) => texts(),
        SqlType::Bytea => vec![Value::Bytea([][..].into()), Value::Bytea([0, 255, 0][..].into())],
        SqlType::Date => {
            ["-infinity", "4713-11-24 BC", "0001-01-01 BC", "2000-02-29", "5874897-12-31", "infinity"]
                .map(|date| text::parse(date, sql_type, &jiff::tz::TimeZone::UTC).expect(date))
                .to_vec()
        }
        SqlType::Time(_) => [0, 1, 43_200_000_000, datetime::MICROSECONDS_PER_DAY].map(Value::Time).to_vec(),
        SqlType::TimeTz(_) => [(0, -57_599), (datetime::MICROSECONDS_PER_DAY, 57_599)]
            .map(|(time, west)| Value::TimeTz(ZonedTime { time, west }))
            .to_vec(),
        SqlType::Timestamp(_) | SqlType::TimestampTz(_) => {
            let texts = [
                "-infinity",
                "4713-11-24 00:00:00 BC",
                "0001-12-31 BC",
                "2024-03-31 02:30",
                "294276-12-31 23:59:59.999999",
                "infinity",
            ];
            texts.map(|time| text::parse(time, sql_type, &jiff::tz::TimeZone::UTC).expect(time)).to_vec()
        }
        SqlType::Uuid => vec![Value::Uuid([255; 16])],
        SqlType::Inet | SqlType::Cidr | SqlType::MacAddr | SqlType::MacAddr8 => addresses(sql_type),
        SqlType::Extension(own) => {
            let texts = ["", "a=>1, b=>NULL", "\"\"=>\"\u{10ffff}\""];
            texts.map(|text| Value::Extension(own.parse(text).expect(text))).to_vec()
        }
        SqlType::Json | SqlType::Jsonb => documents(sql_type),
        SqlType::Interval(_) => intervals(),
        SqlType::Array(element) => arrays(element),
        SqlType::System(_) | SqlType::Enum(_) | SqlType::Composite(_) => Vec::new(),
    }
}

fn addresses(sql_type: SqlType) -> Vec<Value> {
    match sql_type {
        SqlType::MacAddr => return vec![Value::MacAddr([255; 6])],
        SqlType::MacAddr8 => return vec![Value::MacAddr8([255; 8])],
        _ => {}
    }
    ["0.0.0.0/0", "255.255.255.255/32", "::/0", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128", "128.0.0.0/1"]
        .map(|network| text::parse(network, sql_type, &jiff::tz::TimeZone::UTC).expect(network))
        .to_vec()
}

fn arrays(element: ArrayElement) -> Vec<Value> {
    vec![Value::array(element, Vec::new()), Value::array(element, samples(element.sql_type()))]
}

/// Whether recovery accepts a row with the value; adds to `refused` if not.
fn judge(value: &Value, sql_type: SqlType, what: &dyn Fn() -> String, refused: &mut String) {
    if matches!(sql_type, SqlType::System(_) | SqlType::Array(ArrayElement::System(_))) {
        return;
    }
    let layout = RowLayout::new(&[sql_type]);
    let mut row = Vec::new();
    layout.encode(std::slice::from_ref(value), &mut row);
    if let Err(error) = layout.check(&row) {
        writeln!(refused, "{}: {error}", what()).expect("a string");
    }
}

/// Long numbers are shown by their length.
fn shown(values: &[Value]) -> String {
    let show = |value: &Value| {
        let text = text::format(value, &jiff::tz::TimeZone::UTC).to_string();
        if text.len() > 40 { format!("({} characters from {})", text.len(), &text[..8]) } else { text }
    };
    values.iter().map(show).collect::<Vec<String>>().join(", ")
}

/// For functions of many arguments the ends and the middle: all combinations would take long.
fn some_of(samples: Vec<Value>, arguments: usize) -> Vec<Value> {
    if arguments < 5 {
        return samples;
    }
    [0, samples.len() / 2, samples.len() - 1].map(|at| samples[at].clone()).to_vec()
}

/// All ways to take one of each.
fn combinations(choices: &[Vec<Value>]) -> Vec<Vec<Value>> {
    choices.iter().fold(vec![Vec::new()], |begun, next| {
        let longer = |begun: &Vec<Value>| {
            next.iter()
                .map(|value| [begun.as_slice(), std::slice::from_ref(value)].concat())
                .collect::<Vec<_>>()
        };
        begun.iter().flat_map(longer).collect()
    })
}

/// Whether the numbers have so many digits that computing with two of them takes long.
fn are_long(arguments: &[Value]) -> bool {
    let is_long = |argument: &&Value| matches!(argument, Value::Numeric(number) if number.finite().is_some_and(|number| number.as_bigint_and_scale().0.bits() > 10_000));
    arguments.iter().filter(is_long).count() > 1
}

/// Calls that would ask for gigabytes or run for hours.
fn is_too_large(function: Function, arguments: &[Value]) -> bool {
    let lengthens = matches!(function, Function::Repeat | Function::PadLeft | Function::PadRight);
    let is_slow = matches!(
        function,
        Function::Power | Function::LogarithmOfBase | Function::Gcd | Function::Lcm | Function::WidthBucket
    );
    (lengthens && arguments.iter().any(|argument| matches!(argument, Value::Integer(300..))))
        || (is_slow && are_long(arguments))
}

#[test]
fn no_function_makes_what_recovery_refuses() {
    let environment = Environment {
        transaction_time: datetime::parse_timestamp("2024-07-01 23:30", (&jiff::tz::TimeZone::UTC).into())
            .expect("a time"),
        time_zone: jiff::tz::TimeZone::get("Europe/Berlin").expect("a time zone"),
        ..Environment::default()
    };
    let (mut refused, mut made) = (String::new(), 0);
    for (name, signature) in names().flat_map(|name| lookup(name).iter().map(move |one| (name, one))) {
        let types: Vec<SqlType> = signature
            .arguments
            .iter()
            .map(|pattern| match pattern {
                TypePattern::Exact(sql_type) => *sql_type,
                TypePattern::Any => SqlType::TIMESTAMPTZ,
                TypePattern::Common => SqlType::Numeric(None),
            })
            .collect();
        let result = match signature.result {
            TypePattern::Exact(sql_type) => sql_type,
            TypePattern::Any | TypePattern::Common => SqlType::Numeric(None),
        };
        let choices: Vec<Vec<Value>> =
            types.iter().map(|sql_type| some_of(samples(*sql_type), types.len())).collect();
        for arguments in combinations(&choices) {
            if is_too_large(signature.function, &arguments) {
                continue;
            }
            if let Ok(value) = call(signature.function, &arguments, &environment) {
                made += 1;
                judge(&value, result, &|| format!("{name}({})", shown(&arguments)), &mut refused);
            }
        }
    }
    assert!(made > 1500, "only {made} results");
    assert!(refused.is_empty(), "{refused}");
}

#[test]
fn no_operator_and_no_cast_makes_what_recovery_refuses() {
    use BinaryOperator::{Add, Divide, Modulo, Multiply, Power, Subtract};
    let (mut refused, mut made) = (String::new(), 0);
    // Modifiers matter only for the target types of casts.
    for sql_type in column_types().into_iter().filter(|sql_type| *sql_type == sql_type.without_modifier()) {
        for left in samples(sql_type) {
            let days = samples(SqlType::Integer);
            for right in samples(sql_type).into_iter().chain(days) {
                let operands = [left.clone(), right.clone()];
                let slow: &[BinaryOperator] =
                    if are_long(&operands) { &[] } else { &[Divide, Modulo, Power] };
                for operator in [Add, Subtract, Multiply].iter().chain(slow) {
                    let Ok(value) = arithmetic::binary(*operator, &left, &right) else { continue };
                    let Some(result) = value.sql_type() else { continue };
                    made += 1;
                    judge(&value, result, &|| format!("{operator:?} of {}", shown(&operands)), &mut refused);
                }
            }
            for to in column_types() {
                // Only texts are cut.
                let ways: &[bool] = if left.as_str().is_some() { &[false, true] } else { &[false] };
                for explicit in ways {
                    let tz = jiff::tz::TimeZone::get("Asia/Tokyo").expect("a time zone");
                    let Ok(value) = cast::cast(left.clone(), to, *explicit, &tz) else { continue };
                    made += 1;
                    let from = [left.clone()];
                    judge(&value, to, &|| format!("{} to {}", shown(&from), to.name()), &mut refused);
                }
            }
        }
    }
    assert!(made > 1500, "only {made} results");
    assert!(refused.is_empty(), "{refused}");
}

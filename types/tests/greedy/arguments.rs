//! Greedy values of each kind: long, many, deep, repetitive, at the limits.

use std::net::IpAddr;

use hyades_types::datetime::ZonedTime;
use hyades_types::extension::ExtensionType;
use hyades_types::interval::Interval;
use hyades_types::json::Jsonb;
use hyades_types::network::Network;
use hyades_types::numeric;
use hyades_types::system_type::SystemType;
use hyades_types::value::{ArrayElement, Dimension, SqlType, Value};

/// Bytes of a long text.
const LONG: usize = 1 << 20;
/// Elements of a long array.
const MANY: usize = 40_000;

/// A kind of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    Boolean,
    SmallInt,
    Integer,
    BigInt,
    Real,
    Double,
    Numeric,
    Text,
    Bytea,
    Date,
    Time,
    TimeTz,
    Timestamp,
    TimestampTz,
    Interval,
    Uuid,
    Inet,
    Cidr,
    MacAddr,
    MacAddr8,
    Citext,
    Hstore,
    Oid,
    Reference(SystemType),
    Json,
    Jsonb,
    Array,
    Texts,
}

impl Kind {
    /// The kind of an argument of this type.
    pub(crate) fn of(sql_type: SqlType) -> Kind {
        match sql_type {
            SqlType::Boolean => Kind::Boolean,
            SqlType::SmallInt => Kind::SmallInt,
            SqlType::Integer => Kind::Integer,
            SqlType::BigInt => Kind::BigInt,
            SqlType::Real => Kind::Real,
            SqlType::DoublePrecision => Kind::Double,
            SqlType::Numeric(_) => Kind::Numeric,
            SqlType::Bytea => Kind::Bytea,
            SqlType::Date => Kind::Date,
            SqlType::Time(_) => Kind::Time,
            SqlType::TimeTz(_) => Kind::TimeTz,
            SqlType::Timestamp(_) => Kind::Timestamp,
            SqlType::TimestampTz(_) => Kind::TimestampTz,
            SqlType::Interval(_) => Kind::Interval,
            SqlType::Uuid => Kind::Uuid,
            SqlType::Inet => Kind::Inet,
            SqlType::Cidr => Kind::Cidr,
            SqlType::MacAddr => Kind::MacAddr,
            SqlType::MacAddr8 => Kind::MacAddr8,
            SqlType::Extension(ExtensionType::Citext) => Kind::Citext,
            SqlType::Extension(ExtensionType::Hstore) => Kind::Hstore,
            SqlType::Json => Kind::Json,
            SqlType::Jsonb => Kind::Jsonb,
            SqlType::Array(ArrayElement::Text) => Kind::Texts,
            SqlType::Array(_) => Kind::Array,
            SqlType::System(SystemType::Oid) => Kind::Oid,
            SqlType::System(own) if own.is_reference() => Kind::Reference(own),
            _ => Kind::Text,
        }
    }
}

fn texts() -> Vec<Value> {
    let json_array = format!("[{}0]", "0,".repeat(LONG / 4));
    let json_object: String = (0..MANY).map(|key| format!("\"{key}\": [{key}, \"é\"], ")).collect();
    let all = [
        "day".to_owned(),
        "a".repeat(LONG),
        "x".to_owned(),
        String::new(),
        ",".repeat(LONG),
        "é".repeat(LONG / 2),
        "'\\\"".repeat(LONG / 4),
        " ".repeat(LONG),
        "ab,".repeat(LONG / 4),
        "9".repeat(LONG),
        format!("0.{}", "9".repeat(LONG / 2)),
        format!("{0}.{0}", "9".repeat(60_000)),
        format!("{}D{}V", "0".repeat(100_000), "9".repeat(100_000)),
        format!("9.{}EEEE", "9".repeat(100_000)),
        "RN".repeat(LONG / 8),
        "%_a".repeat(LONG / 8),
        "\\x".to_owned() + &"ab".repeat(LONG / 4),
        "\\\\\\000".repeat(LONG / 8),
        "YYYY-Month-DAY HH24:MI:SS.US TZ ".repeat(LONG / 64),
        "%1$1000000s".repeat(64),
        "%s".repeat(LONG / 4),
        format!("${}", ".**".repeat(8)),
        format!("${}", "[*]".repeat(LONG / 4)),
        format!("$[{}0]", "0,".repeat(LONG / 4)),
        "%L%I%s".repeat(64),
        "(a|aa)+$".to_owned(),
        "(a*)*\\1b".to_owned(),
        "(.)".to_owned(),
        ".*.*.*=.*".to_owned(),
        format!("{}{}", "a?".repeat(500), "a".repeat(500)),
        "(a{1,100}){1,100}".to_owned(),
        format!("{}a{}", "(".repeat(50_000), ")".repeat(50_000)),
        "[a-z]|".repeat(LONG / 16),
        format!("{{{}1}}", "1,".repeat(LONG / 4)),
        format!("{{{}\"x\"}}", "\"\\\"\",".repeat(LONG / 8)),
        json_array,
        format!("{{{}\"k\": 0}}", json_object),
        format!("{}{}", "[".repeat(9000), "]".repeat(9000)),
        "[".repeat(LONG),
        format!("\"{}\"", "\\u00e9".repeat(LONG / 8)),
        format!("[{}{{}}]", "{},".repeat(LONG / 4)),
        format!("[{}0]", "1e300,".repeat(LONG / 8)),
        "base64".to_owned(),
        "hex".to_owned(),
        "escape".to_owned(),
        "g".to_owned(),
        "A1b2".repeat(LONG / 4),
        "\\&\\1\\&".repeat(1000),
        "1 year 2 days ".repeat(LONG / 16),
        "{".repeat(LONG),
        "2020-01-01 ".repeat(LONG / 16),
        "~~".to_owned(),
        "!~~*".to_owned(),
        "~*".to_owned(),
    ];
    all.into_iter().map(Value::text).collect()
}

fn numbers() -> Vec<Value> {
    let all = [
        "2".to_owned(),
        "9".repeat(131_072),
        "1e131071".to_owned(),
        format!("0.{}", "9".repeat(16_383)),
        format!("1.{}1", "0".repeat(16_382)),
        format!("{}.{}", "7".repeat(131_072), "3".repeat(16_383)),
        "32177".to_owned(),
        "-0.000000000000000001".to_owned(),
        "1000000".to_owned(),
        "131071".to_owned(),
        "5999.9".to_owned(),
        format!("{}1", "10".repeat(40_000)),
        "0".to_owned(),
        "NaN".to_owned(),
        "Infinity".to_owned(),
    ];
    all.iter().filter_map(|text| numeric::parse(text).ok()).map(Value::numeric).collect()
}

fn integers() -> impl Iterator<Item = i64> {
    [1, i64::from(i32::MAX), 1_000_000, 0, -1, 100_000_000, 0x3fff_fffe, i64::from(i32::MIN), 20_000, 32_177]
        .into_iter()
}

/// JSON values, as texts.
fn documents() -> Vec<String> {
    let members =
        |value: &str| (0..MANY).map(|key| format!("\"key{key}\":{value}")).collect::<Vec<_>>().join(",");
    vec![
        "{\"day\": 1}".to_owned(),
        format!("[{}0]", "0,".repeat(MANY)),
        format!("[{}{{}}]", "{},".repeat(MANY)),
        format!("[{}\"\"]", "\"\\u0001\\n\",".repeat(MANY)),
        format!("[{}]", (0..MANY).map(|item| format!("\"{item}\"")).collect::<Vec<_>>().join(",")),
        format!("{{{}}}", members("0")),
        format!("{{{}}}", members("[{\"a\": null}]")),
        format!("{}{}", "[".repeat(4000), "]".repeat(4000)),
        format!("{}0{}", "{\"a\":".repeat(4000), "}".repeat(4000)),
        format!("\"{}\"", "\\u0001".repeat(LONG / 8)),
        format!("[{}[0]]", "[0],".repeat(MANY)),
        format!("[{}[[1],[2]]]", "[[0]],".repeat(MANY / 4)),
        format!("[{}1]", "1e1000,".repeat(400)),
        format!("[{}null]", "null,".repeat(MANY)),
        "[]".to_owned(),
        "\"key1\"".to_owned(),
    ]
}

fn text_arrays() -> Vec<Value> {
    let of = |values: Vec<Value>| Value::array(ArrayElement::Text, values);
    let square = [Dimension { lower: 1, length: 200 }, Dimension { lower: 5, length: 200 }];
    vec![
        of(vec![Value::text("0")]),
        of(vec![Value::text("x"); MANY]),
        of((0..MANY).map(|number| Value::text(format!("key{number}"))).collect()),
        of((0..MANY).map(|number| Value::text(number.to_string())).collect()),
        of(vec![Value::text("y".repeat(LONG / 4)); 32]),
        of((0..10_000).map(|number| Value::text(format!("%{number}%_b"))).collect()),
        of((0..2000).map(|number| Value::text(format!("{}{number}", "z".repeat(1000)))).collect()),
        of((0..500).map(|number| Value::text(format!("(a|b)*{number}"))).collect()),
        of(vec![Value::Null; MANY]),
        of(Vec::new()),
        of(vec![Value::text("\"\\"); MANY]),
        of(vec![Value::text("0"); 9000]),
        of(vec![Value::text("a"); 9000]),
        Value::shaped_array(ArrayElement::Text, &square, vec![Value::text("x"); 40_000]),
    ]
}

fn arrays() -> Vec<Value> {
    let integers = |from: i32, count: usize| {
        let values = (from..).take(count).map(Value::Integer).collect();
        Value::array(ArrayElement::Integer, values)
    };
    let pairs = [Dimension { lower: -3, length: 20_000 }, Dimension { lower: 1, length: 2 }];
    let mut all = vec![
        integers(0, 2),
        integers(0, MANY),
        integers(1_000_000, MANY),
        integers(-20_000, 20_000),
        Value::array(ArrayElement::Integer, vec![Value::Null; MANY]),
        Value::array(ArrayElement::Integer, vec![Value::Integer(20_000); 3]),
        Value::shaped_array(ArrayElement::Integer, &pairs, vec![Value::Integer(7); 40_000]),
        Value::array(ArrayElement::Numeric, numbers().into_iter().cycle().take(60).collect()),
        Value::array(ArrayElement::Bytea, vec![Value::Bytea(vec![0; LONG / 4].into()); 8]),
        Value::array(ArrayElement::Json, vec![Value::Json("[1, 2]".into()); MANY]),
        Value::array(ArrayElement::Boolean, vec![Value::Boolean(true); MANY]),
        Value::array(ArrayElement::Timestamp, vec![Value::Timestamp(1); MANY]),
        Value::array(ArrayElement::Integer, Vec::new()),
    ];
    all.extend(text_arrays());
    all
}

/// The values of a kind, the small one first.
pub(crate) fn values_of(kind: Kind) -> Vec<Value> {
    match kind {
        Kind::Null => vec![Value::Null],
        Kind::Boolean => vec![Value::Boolean(true), Value::Boolean(false)],
        Kind::SmallInt => [1, i16::MAX, i16::MIN, 0].map(Value::SmallInt).to_vec(),
        Kind::Integer => integers().filter_map(|one| i32::try_from(one).ok()).map(Value::Integer).collect(),
        Kind::BigInt => integers().chain([i64::MAX, i64::MIN]).map(Value::BigInt).collect(),
        Kind::Real => [0.5, f32::MAX, f32::MIN_POSITIVE, f32::NAN].map(Value::Real).to_vec(),
        Kind::Double => [0.5, f64::MAX, f64::MIN_POSITIVE, 1e15, f64::INFINITY].map(Value::Double).to_vec(),
        Kind::Numeric => numbers(),
        Kind::Text => texts(),
        Kind::Bytea => {
            [vec![1], vec![0; LONG], vec![b'a'; LONG], vec![0xff; LONG], vec![b'\\'; LONG / 2], vec![]]
                .map(|bytes| Value::Bytea(bytes.into()))
                .to_vec()
        }
        Kind::Date => [1, i32::MAX, i32::MIN, -2_000_000, 100_000_000].map(Value::Date).to_vec(),
        Kind::Time => [1, 0, 86_400_000_000].map(Value::Time).to_vec(),
        Kind::TimeTz => [(1, 0), (0, 57_599), (86_400_000_000, -57_599)]
            .map(|(time, west)| Value::TimeTz(ZonedTime { time, west }))
            .to_vec(),
        Kind::Timestamp => [1, i64::MAX, i64::MIN, 1 << 60, -(1 << 57)].map(Value::Timestamp).to_vec(),
        Kind::TimestampTz => [1, i64::MAX, i64::MIN, 1 << 60, -(1 << 57)].map(Value::TimestampTz).to_vec(),
        Kind::Interval => {
            [(1, 1, 1), (i32::MAX, i32::MAX, i64::MAX), (i32::MIN, i32::MIN, i64::MIN), (0, 0, 1)]
                .map(|(months, days, microseconds)| {
                    Value::Interval(Interval::new(months, days, microseconds))
                })
                .to_vec()
        }
        Kind::Uuid => vec![Value::Uuid([7; 16])],
        Kind::Inet => networks().into_iter().map(Value::Network).collect(),
        Kind::Cidr => networks().into_iter().filter_map(network).map(Value::Network).collect(),
        Kind::MacAddr => vec![Value::MacAddr([7; 6])],
        Kind::MacAddr8 => vec![Value::MacAddr8([7; 8])],
        Kind::Citext => texts().iter().filter_map(|text| extended(ExtensionType::Citext, text)).collect(),
        Kind::Hstore => hstores(),
        Kind::Oid => vec![Value::Oid(1), Value::Oid(u32::MAX)],
        Kind::Reference(own) => vec![Value::reference(own, 1, "name")],
        Kind::Json => documents().into_iter().map(|text| Value::Json(text.into())).collect(),
        Kind::Jsonb => {
            documents().iter().filter_map(|text| Jsonb::parse(text).ok()).map(Value::Jsonb).collect()
        }
        Kind::Texts => text_arrays(),
        Kind::Array => arrays(),
    }
}

fn networks() -> Vec<Network> {
    let addresses = [IpAddr::from([10, 0, 0, 0]), IpAddr::from([u8::MAX; 4]), IpAddr::from([u8::MAX; 16])];
    addresses.into_iter().map(Network::from).collect()
}

fn network(host: Network) -> Option<Network> {
    Network::new(host.address(), host.bits(), true)
}

fn extended(own: ExtensionType, text: &Value) -> Option<Value> {
    own.parse(text.as_str()?).ok().map(Value::Extension)
}

fn hstores() -> Vec<Value> {
    let many: String = (0..MANY).map(|key| format!("\"{key}\"=>\"\\\"{key}\",")).collect();
    let long = format!("key=>{}", "a".repeat(LONG));
    let texts = ["".to_owned(), "day=>NULL".to_owned(), many, long].map(Value::text);
    texts.iter().filter_map(|text| extended(ExtensionType::Hstore, text)).collect()
}

//! The columns of the tables that generated procedures read and write, one of each type.

use hyades::SqlType;
use hyades_types::extension::ExtensionType;

/// Columns of `src` and `sink`, after which variables are named: name, type, a value.
pub(super) const COLUMNS: [(&str, &str, &str); 22] = [
    ("vb", "boolean", "true"),
    ("vi", "int", "2"),
    ("vl", "bigint", "3"),
    ("vd", "double precision", "0.25"),
    ("vn", "numeric", "0.75"),
    ("vt", "text", "'Straße'"),
    ("vy", "bytea", "'\\x00ff'"),
    ("va", "date", "'2024-02-29'"),
    ("vs", "timestamp", "'2024-03-31 02:30:00.5'"),
    ("vz", "timestamptz", "'2024-03-31 01:30:00.25+00'"),
    ("vu", "uuid", "'00000000-0000-4000-8000-00000000000f'"),
    ("vv", "interval", "'1 mon 2 days 03:04:05.5'"),
    ("vo", "time", "'23:45:01.25'"),
    ("vk", "timetz", "'23:45:01.25-03:30'"),
    ("vj", "json", "'{\"a\": [1, 2.50]}'"),
    ("vx", "jsonb", "'{\"Straße\": 1.50, \"b\": [null]}'"),
    ("vp", "inet", "'192.168.1.77/24'"),
    ("vq", "cidr", "'192.168.0.0/16'"),
    ("vr", "macaddr", "'08:00:2b:01:02:03'"),
    ("vw", "macaddr8", "'08:00:2b:ff:fe:01:02:03'"),
    ("vc", "citext", "'Straße'"),
    ("vh", "hstore", "'a => 1, b => NULL'"),
];

/// The statements with which every database of a round begins.
pub(crate) fn tables() -> Vec<String> {
    let columns: Vec<String> =
        COLUMNS.iter().map(|(name, sql_type, _)| format!("{name} {sql_type}")).collect();
    let columns = columns.join(", ");
    vec![
        "create extension citext".to_owned(),
        "create extension hstore".to_owned(),
        format!("create table src (id int primary key, {columns})"),
        format!("create table sink (id int primary key, c bigint, {columns})"),
        "insert into src values \
         (1, true, 1, 10, 0.5, 1.5, 'abc', '\\x01', '2024-01-31', '2024-01-31 23:30', '2024-01-31 23:30+00', \
          '00000000-0000-4000-8000-000000000001', '1 day', '00:00', '00:00+14', '[1, \"x\"]', '{\"a\": {\"b\": 1e2}}', \
          '10.1.2.3/8', '10/8', '01:02:03:04:05:06', '01:02:03:04:05:06:07:08', 'ABC', 'x => y'), \
         (2, false, 2, 20, 0.125, 2, 'Ärger x', '\\x02ff', '1999-12-31', '1999-12-31 12:00', '2024-10-27 00:30+00', \
          '00000000-0000-4000-8000-000000000002', '-1 mon 12:00', '24:00', '24:00-14', '\"\\u00e9\"', '[true, 1.0, \"abc\"]', \
          '192.168.3.4', '192.168.3.0/24', 'ff:ff:ff:ff:ff:ff', '01:02:03:ff:fe:05:06:07', 'abc', ''), \
         (3, null, 3, 30, 0.75, 0.25, '', '\\x', '2038-01-19', '2038-01-19 03:14:07.5', '2038-01-19 03:14:07+00', \
          '00000000-0000-4000-8000-000000000003', '2 hours', '12:34:56.789', '12:34:56.789+01', '{}', 'null', \
          '0.0.0.0/0', '0.0.0.0/0', '00:00:00:00:00:00', '00:00:00:00:00:00', '', 'a => \"1, 2\", x => NULL')"
            .to_owned(),
    ]
}

/// The column that takes values of the type.
pub(super) fn column_of(sql_type: SqlType) -> Option<usize> {
    let name = match sql_type {
        SqlType::Boolean => "vb",
        SqlType::SmallInt | SqlType::Integer => "vi",
        SqlType::BigInt => "vl",
        SqlType::Real | SqlType::DoublePrecision => "vd",
        SqlType::Numeric(_) => "vn",
        SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_) => "vt",
        SqlType::Bytea => "vy",
        SqlType::Date => "va",
        SqlType::Timestamp(_) => "vs",
        SqlType::TimestampTz(_) => "vz",
        SqlType::Uuid => "vu",
        SqlType::Interval(_) => "vv",
        SqlType::Time(_) => "vo",
        SqlType::TimeTz(_) => "vk",
        SqlType::Json => "vj",
        SqlType::Jsonb => "vx",
        SqlType::Inet => "vp",
        SqlType::Cidr => "vq",
        SqlType::MacAddr => "vr",
        SqlType::MacAddr8 => "vw",
        SqlType::Extension(ExtensionType::Citext) => "vc",
        SqlType::Extension(ExtensionType::Hstore) => "vh",
        SqlType::Array(_) | SqlType::System(_) | SqlType::Enum(_) | SqlType::Composite(_) => return None,
    };
    COLUMNS.iter().position(|(column, _, _)| *column == name)
}

/// The column of this name.
pub(super) fn named(column: &str) -> usize {
    COLUMNS.iter().position(|(name, _, _)| *name == column).expect("a column")
}

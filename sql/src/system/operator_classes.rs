//! Operator classes: `pg_opclass`, and which of them an index uses.
//!
//! There is one order for each type, that of its default class. The other classes that are listed here order
//! in the same way, because texts are compared by their bytes. So a class is kept and shown, and changes
//! nothing.

use hyades_types::definition::{IndexKind, OperatorClass};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::extension::ExtensionType;
use hyades_types::refusal::{Missing, refused};
use hyades_types::value::SqlType;

use super::data_types::{ANY_ARRAY, ANY_ENUM};
use super::object_id;
use super::row::{NamedRow, oid, text, truth};
use super::snapshot::System;

/// A class of B-trees: its number, name and family, the number of the type that it takes, and that of the
/// type of its keys, 0 for the same.
struct Class {
    oid: u32,
    name: &'static str,
    family: u32,
    of: u32,
    key: u32,
}

const fn class(oid: u32, name: &'static str, family: u32, of: u32) -> Class {
    Class { oid, name, family, of, key: 0 }
}

/// Types of extensions.
const CITEXT: u32 = 16_300;
const HSTORE: u32 = 16_302;

/// The numbers are those of PostgreSQL 15, or of the extension's type and those that follow.
const CLASSES: [Class; 34] = [
    class(1978, "int4_ops", 1976, 23),
    class(1979, "int2_ops", 1976, 21),
    class(1981, "oid_ops", 1989, 26),
    class(3122, "date_ops", 434, 1082),
    class(3123, "float8_ops", 1970, 701),
    class(3124, "int8_ops", 1976, 20),
    class(3125, "numeric_ops", 1988, 1700),
    class(3126, "text_ops", 1994, 25),
    class(3127, "timestamptz_ops", 434, 1184),
    class(3128, "timestamp_ops", 434, 1114),
    class(4217, "text_pattern_ops", 2095, 25),
    class(4218, "varchar_pattern_ops", 2095, 25),
    class(4219, "bpchar_pattern_ops", 2097, 1042),
    class(10_000, "array_ops", 397, ANY_ARRAY),
    class(10_003, "bool_ops", 424, 16),
    class(10_004, "bpchar_ops", 426, 1042),
    class(10_006, "bytea_ops", 428, 17),
    class(10_007, "char_ops", 429, 18),
    class(10_009, "cidr_ops", 1974, 869),
    class(10_012, "float4_ops", 1970, 700),
    class(10_015, "inet_ops", 1974, 869),
    class(10_022, "interval_ops", 1982, 1186),
    class(10_024, "macaddr_ops", 1984, 829),
    class(10_026, "macaddr8_ops", 3371, 774),
    Class { key: 2275, ..class(10_028, "name_ops", 1994, 19) },
    class(10_032, "oidvector_ops", 1991, 30),
    class(10_038, "time_ops", 1996, 1083),
    class(10_041, "timetz_ops", 2000, 1266),
    class(10_044, "varchar_ops", 1994, 25),
    class(10_065, "uuid_ops", 2968, 2950),
    class(10_069, "enum_ops", 3522, ANY_ENUM),
    class(10_088, "jsonb_ops", 4033, 3802),
    class(16_310, "citext_ops", 16_311, CITEXT),
    class(16_312, "btree_hstore_ops", 16_313, HSTORE),
];

/// `char(n)`
const CHAR: u32 = 1042;

/// The number of the type under which its classes are listed.
fn listed_type(sql_type: SqlType) -> u32 {
    match sql_type {
        SqlType::Cidr => SqlType::Inet.oid(),
        SqlType::Varchar(_) => SqlType::Text.oid(),
        SqlType::Array(_) => ANY_ARRAY,
        SqlType::Enum(_) => ANY_ENUM,
        other => other.oid(),
    }
}

fn is_default(class: &Class) -> bool {
    OperatorClass::ALL.iter().all(|other| other.name() != class.name)
}

/// The number of the operator class that orders keys of this type.
pub(super) fn operator_class(sql_type: SqlType, chosen: Option<OperatorClass>) -> u32 {
    let wanted = listed_type(sql_type);
    let is_wanted = |class: &&Class| match chosen {
        Some(chosen) => class.name == chosen.name(),
        None => class.of == wanted && is_default(class),
    };
    CLASSES.iter().find(is_wanted).map_or(0, |class| class.oid)
}

/// The class of this name for a key of this type; `None` if it is the type's default.
///
/// # Errors
/// 42704 for an unknown name, 42804 if the class takes another type.
pub(crate) fn chosen_operator_class(
    name: &str,
    sql_type: SqlType,
    kind: IndexKind,
) -> Result<Option<OperatorClass>> {
    let Some(class) = CLASSES.iter().find(|class| class.name == name) else {
        let method = match kind {
            IndexKind::Ordered => "btree",
            IndexKind::Hash => "hash",
        };
        let message = format!("operator class \"{name}\" does not exist for access method \"{method}\"");
        return Err(Error::input(sqlstate::UNDEFINED_OBJECT, message));
    };
    if class.of == CHAR && matches!(sql_type, SqlType::Text | SqlType::Varchar(_)) {
        // It would not count trailing blanks.
        let what = format!("operator class \"{name}\" for type {} is", sql_type.base_name());
        return Err(refused(Missing::OperatorClasses, &what));
    }
    if class.of != listed_type(sql_type) {
        let message = format!("operator class \"{name}\" does not accept data type {}", sql_type.base_name());
        return Err(Error::input(sqlstate::DATATYPE_MISMATCH, message));
    }
    Ok(OperatorClass::ALL.into_iter().find(|other| other.name() == name))
}

/// `pg_opclass`
pub(super) fn operator_classes(system: &System) -> Vec<NamedRow> {
    // Those of extensions are there with their types.
    let is_there = |class: &&Class| {
        ExtensionType::from_oid(class.of).is_none() || system.sql_type(class.of, -1).is_some()
    };
    CLASSES
        .iter()
        .filter(is_there)
        .map(|class| {
            let schema = system.sql_type(class.of, -1).map_or("pg_catalog", |own| system.type_schema(own));
            vec![
                ("oid", oid(class.oid)),
                ("opcmethod", oid(object_id::BTREE)),
                ("opcname", text(class.name)),
                ("opcnamespace", oid(system.schema_oid(schema))),
                ("opcowner", oid(object_id::OWNER)),
                ("opcfamily", oid(class.family)),
                ("opcintype", oid(class.of)),
                ("opcdefault", truth(is_default(class))),
                ("opckeytype", oid(class.key)),
            ]
        })
        .collect()
}

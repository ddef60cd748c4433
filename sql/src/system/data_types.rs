//! Data types: `pg_type`, `pg_opclass`, and the names of types in texts.
//!
//! This shows the types that Hyades has, those that users have created (`user_types`), their arrays, and
//! the pseudo-types. PostgreSQL has more. `types.txt` describes all of PostgreSQL's types.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use hyades_types::enumeration::{EnumDefinition, EnumType};
use hyades_types::extension::ExtensionType;
use hyades_types::identifier::PUBLIC;
use hyades_types::value::composite::{CompositeDefinition, CompositeType};
use hyades_types::value::{ArrayElement, SqlType};

use super::object_id;
use super::row::{self, NamedRow, int2, int4, oid, or_null, text, truth};

/// A type as in PostgreSQL.
#[derive(Clone)]
pub(super) struct DataType {
    pub(super) oid: u32,
    pub(super) name: Cow<'static, str>,
    length: i16,
    pub(super) is_by_value: bool,
    /// The name of its schema.
    pub(super) schema: Cow<'static, str>,
    /// `b` for a base type, `d` for a domain, `e` for an enum, `p` for a pseudo-type.
    pub(super) kind: &'static str,
    category: &'static str,
    pub(super) is_preferred: bool,
    delimiter: &'static str,
    element: u32,
    pub(super) array: u32,
    /// The functions that read, print and take modifiers, in the order of `pg_type`, with their numbers.
    pub(super) functions: Vec<(&'static str, u32)>,
    pub(super) alignment: &'static str,
    pub(super) storage: &'static str,
    pub(super) collation: u32,
}

/// The pseudo-type `anyarray`.
pub(super) const ANY_ARRAY: u32 = 2277;

/// The pseudo-type `anyenum`.
pub(super) const ANY_ENUM: u32 = 3500;

/// The collation `default`.
const DEFAULT_COLLATION: u32 = 100;

/// The number of functions after `typarray`.
const FUNCTIONS: usize = 7;

static ALL: LazyLock<Vec<DataType>> = LazyLock::new(|| {
    let lines = include_str!("types.txt").lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(parsed).collect()
});

static BY_OID: LazyLock<HashMap<u32, &'static DataType>> =
    LazyLock::new(|| ALL.iter().map(|data_type| (data_type.oid, data_type)).collect());

fn parsed(line: &'static str) -> Option<DataType> {
    let mut words = line.split(' ');
    let function = |word: &'static str| {
        let (name, oid) = word.split_once('/')?;
        Some((name, oid.parse().ok()?))
    };
    let oid = words.next()?.parse().ok()?;
    let name = words.next()?;
    let length = words.next()?.parse().ok()?;
    let is_by_value = words.next()? == "t";
    let kind = words.next()?;
    let category = words.next()?;
    let is_preferred = words.next()? == "t";
    let delimiter = words.next()?;
    let subscript = function(words.next()?)?;
    let element = words.next()?.parse().ok()?;
    let array = words.next()?.parse().ok()?;
    let mut functions = vec![subscript];
    functions.extend(words.by_ref().take(FUNCTIONS).filter_map(function));
    let (alignment, storage) = (words.next()?, words.next()?);
    let collation = words.next()?.parse().ok()?;
    Some(DataType {
        oid,
        name: name.into(),
        schema: "pg_catalog".into(),
        length,
        is_by_value,
        kind,
        category,
        is_preferred,
        delimiter,
        element,
        array,
        functions,
        alignment,
        storage,
        collation,
    })
}

/// What `pg_type` says of a domain.
pub(super) struct OfDomain {
    pub(super) is_not_null: bool,
    /// The number of the type or domain that it is made of.
    pub(super) base: u32,
    pub(super) modifier: i32,
    pub(super) default: Option<String>,
}

impl Default for OfDomain {
    /// Another type.
    fn default() -> OfDomain {
        OfDomain { is_not_null: false, base: 0, modifier: -1, default: None }
    }
}

impl DataType {
    /// Whether Hyades has the type.
    fn is_there(&self) -> bool {
        self.kind == "p" || SqlType::from_oid(self.oid, -1).is_some()
    }

    /// An enum type.
    pub(super) fn of_enum(enum_type: EnumType) -> DataType {
        let definition = enum_type.definition();
        DataType {
            oid: definition.id,
            name: definition.name.as_str().into(),
            schema: definition.schema.as_str().into(),
            length: 4,
            is_by_value: true,
            kind: "e",
            category: "E",
            is_preferred: false,
            delimiter: ",",
            element: 0,
            array: definition.array_id,
            functions: ENUM_FUNCTIONS.to_vec(),
            alignment: "i",
            storage: "p",
            collation: 0,
        }
    }

    /// A type of an extension.
    pub(super) fn of_extension(own: ExtensionType, schema: &str) -> DataType {
        let [subscript, input, output, receive, send] = own.catalog_functions().map(|name| (name, 0));
        DataType {
            oid: own.oid(),
            name: own.name().into(),
            schema: schema.to_owned().into(),
            length: -1,
            is_by_value: false,
            kind: "b",
            category: if own.is_string() { "S" } else { "U" },
            is_preferred: false,
            delimiter: ",",
            element: 0,
            array: own.array_oid(),
            functions: vec![subscript, input, output, receive, send, ("-", 0), ("-", 0), ("-", 0)],
            alignment: "i",
            storage: "x",
            collation: if own.is_string() { DEFAULT_COLLATION } else { 0 },
        }
    }

    /// A composite type, with its number and that of its arrays.
    pub(super) fn of_composite((oid, array): (u32, u32), schema: &str, name: &str) -> DataType {
        DataType {
            oid,
            name: name.to_owned().into(),
            schema: schema.to_owned().into(),
            length: -1,
            is_by_value: false,
            kind: "c",
            category: "C",
            is_preferred: false,
            delimiter: ",",
            element: 0,
            array,
            functions: COMPOSITE_FUNCTIONS.to_vec(),
            alignment: "d",
            storage: "x",
            collation: 0,
        }
    }

    /// The relation of a composite type.
    fn relation(&self) -> u32 {
        match CompositeType::relation_of(self.oid) {
            _ if self.kind != "c" => 0,
            Some(relation) => relation,
            None => object_id::of_composite(self.oid),
        }
    }

    /// The array type of a type that a user has created. Like PostgreSQL's array of `text`, except for the
    /// names and the collation.
    pub(super) fn of_array(
        (element, oid): (u32, u32),
        schema: &str,
        name: &str,
        collation: u32,
    ) -> Option<DataType> {
        let array = by_oid(SqlType::Array(ArrayElement::Text).oid())?;
        Some(DataType {
            oid,
            name: format!("_{name}").into(),
            schema: schema.to_owned().into(),
            element,
            collation,
            ..array.clone()
        })
    }

    /// The row of `pg_type` for a type in this schema, with the number of its array type, and what is said of
    /// a domain only.
    pub(super) fn row(&self, schema: u32, array: u32, of_domain: Option<OfDomain>) -> NamedRow {
        let mut row = vec![
            ("oid", oid(self.oid)),
            ("typname", text(&self.name)),
            ("typnamespace", oid(schema)),
            ("typowner", oid(object_id::OWNER)),
            ("typlen", int2(self.length)),
            ("typbyval", truth(self.is_by_value)),
            ("typtype", text(self.kind)),
            ("typcategory", text(self.category)),
            ("typispreferred", truth(self.is_preferred)),
            ("typisdefined", truth(true)),
            ("typdelim", text(self.delimiter)),
            ("typrelid", oid(self.relation())),
        ];
        const NAMES: [&str; FUNCTIONS + 1] = [
            "typsubscript",
            "typinput",
            "typoutput",
            "typreceive",
            "typsend",
            "typmodin",
            "typmodout",
            "typanalyze",
        ];
        for (name, called) in NAMES.into_iter().zip(&self.functions) {
            row.push((name, row::function(*called)));
            if name == "typsubscript" {
                row.push(("typelem", oid(self.element)));
                row.push(("typarray", oid(array)));
            }
        }
        let OfDomain { is_not_null, base, modifier, default } = of_domain.unwrap_or_default();
        row.extend([
            ("typalign", text(self.alignment)),
            ("typstorage", text(self.storage)),
            ("typnotnull", truth(is_not_null)),
            ("typbasetype", oid(base)),
            ("typtypmod", int4(modifier)),
            ("typcollation", oid(self.collation)),
            ("typdefaultbin", or_null(default.as_ref(), text)),
            ("typdefault", or_null(default, text)),
        ]);
        row
    }

    /// The name that the information schema gives to it.
    pub(super) fn standard_name(&self) -> Cow<'static, str> {
        match self.schema.as_ref() {
            _ if self.element != 0 && self.length == -1 => "ARRAY".into(),
            "pg_catalog" => self.shown().into(),
            _ => "USER-DEFINED".into(),
        }
    }

    /// The name in `format_type`.
    pub(super) fn shown(&self) -> String {
        match SqlType::from_oid(self.oid, -1) {
            Some(sql_type) => sql_type.base_name().to_owned(),
            None if self.name == "any" => "\"any\"".to_owned(),
            None => match self.name.strip_prefix('_').and_then(|_| by_oid(self.element)) {
                Some(element) => format!("{}[]", element.shown()),
                None => self.name.to_string(),
            },
        }
    }
}

/// PostgreSQL's description of this type.
pub(super) fn of(sql_type: SqlType) -> Option<Cow<'static, DataType>> {
    match sql_type {
        SqlType::Enum(enum_type) => Some(Cow::Owned(DataType::of_enum(enum_type))),
        SqlType::Array(ArrayElement::Enum(enum_type)) => {
            let EnumDefinition { id, array_id, schema, name, .. } = enum_type.definition();
            DataType::of_array((*id, *array_id), schema, name, 0).map(Cow::Owned)
        }
        SqlType::Extension(own) => Some(Cow::Owned(DataType::of_extension(own, PUBLIC))),
        SqlType::Composite(row_type) => {
            let CompositeDefinition { id, array_id, schema, name, .. } = row_type.definition();
            Some(Cow::Owned(DataType::of_composite((*id, *array_id), schema, name)))
        }
        SqlType::Array(ArrayElement::Composite(row_type)) => {
            let CompositeDefinition { id, array_id, schema, name, .. } = row_type.definition();
            DataType::of_array((*id, *array_id), schema, name, 0).map(Cow::Owned)
        }
        _ => BY_OID.get(&sql_type.oid()).map(|data_type| Cow::Borrowed(*data_type)),
    }
}

/// The functions that read and print enums, in the form of [`DataType`].
const ENUM_FUNCTIONS: [(&str, u32); FUNCTIONS + 1] = [
    ("-", 0),
    ("enum_in", 3506),
    ("enum_out", 3507),
    ("enum_recv", 3532),
    ("enum_send", 3533),
    ("-", 0),
    ("-", 0),
    ("-", 0),
];

/// The same for composite types.
const COMPOSITE_FUNCTIONS: [(&str, u32); FUNCTIONS + 1] = [
    ("-", 0),
    ("record_in", 2290),
    ("record_out", 2291),
    ("record_recv", 2402),
    ("record_send", 2403),
    ("-", 0),
    ("-", 0),
    ("-", 0),
];

/// The built-in types that are shown.
pub(super) fn built_in() -> impl Iterator<Item = &'static DataType> {
    ALL.iter().filter(|data_type| data_type.is_there())
}

/// The length of a type's values in PostgreSQL, whether they are passed by value, and their alignment.
pub(crate) fn physical_form(sql_type: SqlType) -> (i16, bool, &'static str) {
    match sql_type {
        SqlType::Enum(_) => (4, true, "i"),
        SqlType::Composite(_) => (-1, false, "d"),
        own => by_oid(own.oid()).map_or((-1, false, "i"), |own| (own.length, own.is_by_value, own.alignment)),
    }
}

/// The built-in type with this number, if it is shown.
pub(super) fn by_oid(oid: u32) -> Option<&'static DataType> {
    BY_OID.get(&oid).copied().filter(|data_type| data_type.is_there())
}

/// The type with this `pg_type.typname`, which a length may follow.
pub(super) fn named(name: &str) -> Option<SqlType> {
    let (base, length) = match name.split_once('(') {
        Some((base, rest)) => (base, rest.strip_suffix(')')?.parse().ok()),
        None => (name, None),
    };
    let data_type = ALL.iter().find(|data_type| data_type.name == base)?;
    match (SqlType::from_oid(data_type.oid, -1)?, length) {
        (SqlType::Varchar(_), Some(length)) => Some(SqlType::Varchar(Some(length))),
        (sql_type, _) => Some(sql_type),
    }
}

/// The built-in type that a text names.
pub(super) fn written(name: &str) -> Option<&'static DataType> {
    let lower = name.trim().to_ascii_lowercase();
    let lower = lower.strip_prefix("pg_catalog.").unwrap_or(&lower);
    if let Some(element) = lower.strip_suffix("[]") {
        let element = written(element.trim_end_matches("[]"))?;
        return by_oid(element.array);
    }
    let base = lower.split_once('(').map_or(lower, |(base, _)| base).trim();
    let base = base.strip_prefix('"').and_then(|base| base.strip_suffix('"')).unwrap_or(match base {
        "int" => "int4",
        "decimal" | "dec" => "numeric",
        "float" => "float8",
        "char" | "nchar" => "bpchar",
        other => other,
    });
    built_in().find(|data_type| data_type.name == base || data_type.shown() == base)
}

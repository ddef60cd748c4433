//! Types that only columns of PostgreSQL's catalog have: object identifiers, names, and types that read and
//! print an identifier as the name of its object.
//!
//! They are not stored: CREATE TABLE refuses them. Their form for clients (number, name, text and binary
//! form) is PostgreSQL's. Internally, a name is a text and a vector is an array.
//!
//! | type | value |
//! |---|---|
//! | oid, xid | [`Value::Oid`](crate::value::Value::Oid) |
//! | name, "char", pg_node_tree, aclitem, refcursor, jsonpath, record | [`Value::Text`](crate::value::Value::Text) |
//! | regclass and similar | [`Value::Reference`](crate::value::Value::Reference) |
//! | int2vector, oidvector | [`Value::Array`](crate::value::Value::Array) |

use compact_str::CompactString;
use serde::{Deserialize, Serialize};

/// A type of the catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SystemType {
    Oid,
    Xid,
    Name,
    Char,
    NodeTree,
    AclItem,
    RegClass,
    RegType,
    RegProc,
    RegProcedure,
    RegNamespace,
    RegRole,
    Int2Vector,
    OidVector,
    /// The name of a cursor.
    RefCursor,
    /// An SQL/JSON path, as the text that PostgreSQL prints.
    JsonPath,
    /// A row, in its text form.
    Record,
    /// Stands for a type in the signature of a routine.
    Polymorphic(Polymorphic),
}

/// What a polymorphic type stands for. Those called compatible stand for a type to which the arguments are
/// converted, the others for the type that the arguments have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Polymorphic {
    Element,
    Array,
    NonArray,
    Enum,
    Compatible,
    CompatibleArray,
    CompatibleNonArray,
}

impl Polymorphic {
    /// Whether arguments are converted to the type for which it stands.
    pub fn is_compatible(self) -> bool {
        matches!(
            self,
            Polymorphic::Compatible | Polymorphic::CompatibleArray | Polymorphic::CompatibleNonArray
        )
    }

    /// Whether it stands for arrays of the type for which others of its kind stand.
    pub fn is_array(self) -> bool {
        matches!(self, Polymorphic::Array | Polymorphic::CompatibleArray)
    }
}

/// PostgreSQL's names for a type: that of `format_type`, `pg_type.typname` and `pg_type.oid`, and the same
/// for its array type; `pg_type.typlen`.
struct Naming {
    shown: &'static str,
    name: &'static str,
    oid: u32,
    shown_array: &'static str,
    array_name: &'static str,
    array_oid: u32,
    length: i16,
}

/// All of them.
pub const ALL: [SystemType; 24] = [
    SystemType::Oid,
    SystemType::Xid,
    SystemType::Name,
    SystemType::Char,
    SystemType::NodeTree,
    SystemType::AclItem,
    SystemType::RegClass,
    SystemType::RegType,
    SystemType::RegProc,
    SystemType::RegProcedure,
    SystemType::RegNamespace,
    SystemType::RegRole,
    SystemType::Int2Vector,
    SystemType::OidVector,
    SystemType::RefCursor,
    SystemType::JsonPath,
    SystemType::Record,
    SystemType::Polymorphic(Polymorphic::Element),
    SystemType::Polymorphic(Polymorphic::Array),
    SystemType::Polymorphic(Polymorphic::NonArray),
    SystemType::Polymorphic(Polymorphic::Enum),
    SystemType::Polymorphic(Polymorphic::Compatible),
    SystemType::Polymorphic(Polymorphic::CompatibleArray),
    SystemType::Polymorphic(Polymorphic::CompatibleNonArray),
];

/// An object's number, and the name by which the requesting session knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    pub system_type: SystemType,
    pub oid: u32,
    pub shown: CompactString,
}

impl SystemType {
    /// Whether columns may be of this type.
    pub fn is_stored(self) -> bool {
        matches!(self, SystemType::Oid | SystemType::Name | SystemType::Char | SystemType::RefCursor)
    }

    fn naming(self) -> Naming {
        let of = |shown, name, oid, shown_array, array_name, array_oid, length| Naming {
            shown,
            name,
            oid,
            shown_array,
            array_name,
            array_oid,
            length,
        };
        match self {
            SystemType::Oid => of("oid", "oid", 26, "oid[]", "_oid", 1028, 4),
            SystemType::Xid => of("xid", "xid", 28, "xid[]", "_xid", 1011, 4),
            SystemType::Name => of("name", "name", 19, "name[]", "_name", 1003, 64),
            SystemType::Char => of("\"char\"", "char", 18, "\"char\"[]", "_char", 1002, 1),
            // It has no array type.
            SystemType::NodeTree => of("pg_node_tree", "pg_node_tree", 194, "-", "-", 0, -1),
            SystemType::AclItem => of("aclitem", "aclitem", 1033, "aclitem[]", "_aclitem", 1034, 12),
            SystemType::RegClass => of("regclass", "regclass", 2205, "regclass[]", "_regclass", 2210, 4),
            SystemType::RegType => of("regtype", "regtype", 2206, "regtype[]", "_regtype", 2211, 4),
            SystemType::RegProc => of("regproc", "regproc", 24, "regproc[]", "_regproc", 1008, 4),
            SystemType::RegProcedure => {
                of("regprocedure", "regprocedure", 2202, "regprocedure[]", "_regprocedure", 2207, 4)
            }
            SystemType::RegNamespace => {
                of("regnamespace", "regnamespace", 4089, "regnamespace[]", "_regnamespace", 4090, 4)
            }
            SystemType::RegRole => of("regrole", "regrole", 4096, "regrole[]", "_regrole", 4097, 4),
            SystemType::Int2Vector => {
                of("int2vector", "int2vector", 22, "int2vector[]", "_int2vector", 1006, -1)
            }
            SystemType::OidVector => of("oidvector", "oidvector", 30, "oidvector[]", "_oidvector", 1013, -1),
            SystemType::RefCursor => {
                of("refcursor", "refcursor", 1790, "refcursor[]", "_refcursor", 2201, -1)
            }
            SystemType::JsonPath => of("jsonpath", "jsonpath", 4072, "jsonpath[]", "_jsonpath", 4073, -1),
            SystemType::Record => of("record", "record", 2249, "record[]", "_record", 2287, -1),
            SystemType::Polymorphic(kind) => {
                let (name, oid, length) = match kind {
                    Polymorphic::Element => ("anyelement", 2283, 4),
                    Polymorphic::Array => ("anyarray", 2277, -1),
                    Polymorphic::NonArray => ("anynonarray", 2776, 4),
                    Polymorphic::Enum => ("anyenum", 3500, 4),
                    Polymorphic::Compatible => ("anycompatible", 5077, 4),
                    Polymorphic::CompatibleArray => ("anycompatiblearray", 5078, -1),
                    Polymorphic::CompatibleNonArray => ("anycompatiblenonarray", 5079, 4),
                };
                of(name, name, oid, "-", "-", 0, length)
            }
        }
    }

    /// As `format_type` shows it.
    pub fn shown(self) -> &'static str {
        self.naming().shown
    }

    /// `pg_type.typname`.
    pub fn catalog_name(self) -> &'static str {
        self.naming().name
    }

    /// `pg_type.oid`.
    pub fn oid(self) -> u32 {
        self.naming().oid
    }

    /// `pg_type.typlen`.
    pub fn length_bytes(self) -> i16 {
        self.naming().length
    }

    /// The array type as it is shown, its `pg_type.typname`, and its oid.
    pub fn array_names(self) -> (&'static str, &'static str, u32) {
        let naming = self.naming();
        (naming.shown_array, naming.array_name, naming.array_oid)
    }

    /// Whether its values are texts.
    pub fn is_text(self) -> bool {
        matches!(
            self,
            SystemType::Name
                | SystemType::Char
                | SystemType::NodeTree
                | SystemType::AclItem
                | SystemType::RefCursor
        )
    }

    /// Whether its values are numbers without names.
    pub fn is_number(self) -> bool {
        matches!(self, SystemType::Oid | SystemType::Xid)
    }

    /// Whether its values are read and printed as names of objects.
    pub fn is_reference(self) -> bool {
        let is_other = matches!(self, SystemType::JsonPath | SystemType::Record | SystemType::Polymorphic(_));
        !self.is_text() && !self.is_number() && !self.is_vector() && !is_other
    }

    /// Whether its values are arrays of one dimension, printed without braces.
    pub fn is_vector(self) -> bool {
        matches!(self, SystemType::Int2Vector | SystemType::OidVector)
    }

    /// The type with this `pg_type.oid`.
    pub fn from_oid(oid: u32) -> Option<SystemType> {
        ALL.into_iter().find(|system_type| system_type.oid() == oid)
    }

    /// The type of this `pg_type.typname`, if statements can name it.
    pub fn from_name(name: &str) -> Option<SystemType> {
        let named = ALL.into_iter().find(|system_type| system_type.catalog_name() == name);
        named.filter(|one| !matches!(one, SystemType::Record | SystemType::Polymorphic(_)))
    }

    /// The polymorphic type of this name.
    pub fn polymorphic(name: &str) -> Option<SystemType> {
        let mut all = ALL.into_iter().filter(|one| matches!(one, SystemType::Polymorphic(_)));
        all.find(|one| one.catalog_name() == name)
    }
}

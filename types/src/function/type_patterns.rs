//! The notation for rows of `function_table`: short names of types, the content of a row, and the macro that
//! makes the table.

use super::{Call, LooksAt, Signature, TypePattern};
use crate::extension::ExtensionType;
use crate::system_type::SystemType;
use crate::value::{ArrayElement, SqlType};

pub(super) const BOOL: TypePattern = TypePattern::Exact(SqlType::Boolean);
pub(super) const INT2: TypePattern = TypePattern::Exact(SqlType::SmallInt);
pub(super) const INT4: TypePattern = TypePattern::Exact(SqlType::Integer);
pub(super) const INT4S: TypePattern = TypePattern::Exact(SqlType::Array(ArrayElement::Integer));
pub(super) const INT8: TypePattern = TypePattern::Exact(SqlType::BigInt);
pub(super) const FLOAT4: TypePattern = TypePattern::Exact(SqlType::Real);
pub(super) const FLOAT8: TypePattern = TypePattern::Exact(SqlType::DoublePrecision);
pub(super) const NUMERIC: TypePattern = TypePattern::Exact(SqlType::Numeric(None));
pub(super) const TEXT: TypePattern = TypePattern::Exact(SqlType::Text);
pub(super) const TEXTS: TypePattern = TypePattern::Exact(SqlType::Array(ArrayElement::Text));
pub(super) const CHAR: TypePattern = TypePattern::Exact(SqlType::Char(0));
pub(super) const BYTEA: TypePattern = TypePattern::Exact(SqlType::Bytea);
pub(super) const DATE: TypePattern = TypePattern::Exact(SqlType::Date);
pub(super) const TIMESTAMP: TypePattern = TypePattern::Exact(SqlType::TIMESTAMP);
pub(super) const TIMESTAMPTZ: TypePattern = TypePattern::Exact(SqlType::TIMESTAMPTZ);
pub(super) const TIME: TypePattern = TypePattern::Exact(SqlType::TIME);
pub(super) const TIMETZ: TypePattern = TypePattern::Exact(SqlType::TIMETZ);
pub(super) const INTERVAL: TypePattern = TypePattern::Exact(SqlType::INTERVAL);
pub(super) const UUID: TypePattern = TypePattern::Exact(SqlType::Uuid);
pub(super) const INET: TypePattern = TypePattern::Exact(SqlType::Inet);
pub(super) const CIDR: TypePattern = TypePattern::Exact(SqlType::Cidr);
pub(super) const MACADDR: TypePattern = TypePattern::Exact(SqlType::MacAddr);
pub(super) const MACADDR8: TypePattern = TypePattern::Exact(SqlType::MacAddr8);
pub(super) const HSTORE: TypePattern = TypePattern::Exact(SqlType::Extension(ExtensionType::Hstore));
pub(super) const OID: TypePattern = TypePattern::Exact(SqlType::System(SystemType::Oid));
pub(super) const NAME: TypePattern = TypePattern::Exact(SqlType::System(SystemType::Name));
/// `"char"`
pub(super) const LETTER: TypePattern = TypePattern::Exact(SqlType::System(SystemType::Char));
pub(super) const ACLITEMS: TypePattern =
    TypePattern::Exact(SqlType::Array(ArrayElement::System(SystemType::AclItem)));
pub(super) const JSONPATH: TypePattern = TypePattern::Exact(SqlType::System(SystemType::JsonPath));
pub(super) const NODETREE: TypePattern = TypePattern::Exact(SqlType::System(SystemType::NodeTree));
pub(super) const OIDVECTOR: TypePattern = TypePattern::Exact(SqlType::System(SystemType::OidVector));
pub(super) const REGCLASS: TypePattern = TypePattern::Exact(SqlType::System(SystemType::RegClass));
pub(super) const REGTYPE: TypePattern = TypePattern::Exact(SqlType::System(SystemType::RegType));
pub(super) const REGPROC: TypePattern = TypePattern::Exact(SqlType::System(SystemType::RegProc));
pub(super) const REGPROCEDURE: TypePattern = TypePattern::Exact(SqlType::System(SystemType::RegProcedure));
pub(super) const REGNAMESPACE: TypePattern = TypePattern::Exact(SqlType::System(SystemType::RegNamespace));
pub(super) const REGROLE: TypePattern = TypePattern::Exact(SqlType::System(SystemType::RegRole));
pub(super) const JSON: TypePattern = TypePattern::Exact(SqlType::Json);
pub(super) const JSONB: TypePattern = TypePattern::Exact(SqlType::Jsonb);
pub(super) const ANY: TypePattern = TypePattern::Any;
pub(super) const COMMON: TypePattern = TypePattern::Common;

/// A row of the table.
pub(super) struct Row {
    pub(super) is_strict: bool,
    pub(super) looks_at: LooksAt,
    pub(super) call: Call,
    /// Names, each with its overloads.
    pub(super) overloads: &'static [(&'static [&'static str], &'static [Signature])],
}

macro_rules! is_strict {
    (strict) => {
        true
    };
    (sees_null) => {
        false
    };
}

macro_rules! functions {
    ($($(#[$about:meta])* $function:ident: $strictness:ident, $looks_at:ident, $module:ident {
        $($($name:literal)|+ => $(($($argument:ident),* $(; $variadic:literal)?) -> $result:ident),+;)*
    })+) => {
        /// A scalar function, which the compiler chooses from name and argument types.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Function {
            $($(#[$about])* $function,)+
        }

        /// All functions, also those without names.
        pub const FUNCTIONS: &[Function] = &[$(Function::$function),+];

        /// In the order of [`Function`].
        pub(super) static TABLE: &[Row] = &[
            $(Row {
                is_strict: is_strict!($strictness),
                looks_at: LooksAt::$looks_at,
                call: $module::call,
                overloads: &[$((&[$($name),+], &[$(Signature {
                    function: Function::$function,
                    arguments: &[$($argument),*],
                    is_variadic: false $(|| $variadic)?,
                    result: $result,
                }),+])),*],
            },)+
        ];
    };
}

pub(super) use {functions, is_strict};

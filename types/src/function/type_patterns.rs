//! Short names of types, for `function_table`.

use super::TypePattern;
use crate::system_type::SystemType;
use crate::value::{ArrayElement, SqlType};

pub(super) const BOOL: TypePattern = TypePattern::Exact(SqlType::Boolean);
pub(super) const INT2: TypePattern = TypePattern::Exact(SqlType::SmallInt);
pub(super) const INT4: TypePattern = TypePattern::Exact(SqlType::Integer);
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
pub(super) const INTERVAL: TypePattern = TypePattern::Exact(SqlType::INTERVAL);
pub(super) const UUID: TypePattern = TypePattern::Exact(SqlType::Uuid);
pub(super) const OID: TypePattern = TypePattern::Exact(SqlType::System(SystemType::Oid));
pub(super) const NAME: TypePattern = TypePattern::Exact(SqlType::System(SystemType::Name));
pub(super) const NODETREE: TypePattern = TypePattern::Exact(SqlType::System(SystemType::NodeTree));
pub(super) const REGCLASS: TypePattern = TypePattern::Exact(SqlType::System(SystemType::RegClass));
pub(super) const REGTYPE: TypePattern = TypePattern::Exact(SqlType::System(SystemType::RegType));
pub(super) const REGPROC: TypePattern = TypePattern::Exact(SqlType::System(SystemType::RegProc));
pub(super) const REGPROCEDURE: TypePattern = TypePattern::Exact(SqlType::System(SystemType::RegProcedure));
pub(super) const REGNAMESPACE: TypePattern = TypePattern::Exact(SqlType::System(SystemType::RegNamespace));
pub(super) const REGROLE: TypePattern = TypePattern::Exact(SqlType::System(SystemType::RegRole));
pub(super) const ANY: TypePattern = TypePattern::Any;
pub(super) const COMMON: TypePattern = TypePattern::Common;

//! SQL types and values.
//!
//! [`SqlType`] is a column's or expression's type with its modifiers, [`Value`] one value of it. Submodules:
//! * `text`: PostgreSQL's text form, in and out; `binary`: its binary wire form;
//! * `arithmetic`, `compare`, `cast`, `function`: what expressions do, with PostgreSQL's results and errors;
//! * `key`: order-preserving bytes for indexes.

pub mod function;

use compact_str::CompactString;
use serde::{Deserialize, Serialize};

pub use bigdecimal::BigDecimal;

/// A type with its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SqlType {
    Boolean,
    SmallInt,
    Integer,
    BigInt,
    Real,
    DoublePrecision,
    /// `numeric` or `numeric(precision, scale)`.
    Numeric(Option<(u16, i16)>),
    Text,
    /// `varchar` or `varchar(n)`, n in characters.
    Varchar(Option<u32>),
    /// `char(n)`, n in characters, blank-padded.
    Char(u32),
    Bytea,
    Date,
    Timestamp,
    TimestampTz,
    Uuid,
}

/// One SQL value. Text of `char(n)` is held padded.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Value {
    #[default]
    Null,
    Boolean(bool),
    SmallInt(i16),
    Integer(i32),
    BigInt(i64),
    Real(f32),
    Double(f64),
    /// Boxed: the rarest of the numbers must not make every value larger.
    Numeric(Box<BigDecimal>),
    /// `text`, `varchar` and `char`.
    Text(CompactString),
    Bytea(Box<[u8]>),
    /// Days since 2000-01-01.
    Date(i32),
    /// Microseconds since 2000-01-01 00:00:00, no time zone.
    Timestamp(i64),
    /// Microseconds since 2000-01-01 00:00:00 UTC.
    TimestampTz(i64),
    Uuid([u8; 16]),
}

impl Value {
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }
}

//! The types that clients declare for parameters.

use hyades::SqlType;

/// What a client may declare for a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Declared {
    /// Inferred from the statement.
    Inferred,
    Type(SqlType),
    Unsupported,
}

/// The type a client declares by an object identifier of pg_type.
pub fn declared(oid: u32) -> Declared {
    match oid {
        // None, `unknown`, and the `void` that drivers send for the result of a call.
        0 | 705 | 2278 => Declared::Inferred,
        // "char" and name: the same bytes as text in both formats.
        18 | 19 => Declared::Type(SqlType::Text),
        oid => {
            // Others exist only where they have been created.
            let built_in = SqlType::from_oid(oid, -1).filter(|found| found.created_id().is_none());
            built_in.map_or(Declared::Unsupported, Declared::Type)
        }
    }
}

//! CREATE CAST and DROP CAST, as written.

use hyades_types::cast::CastContext;

use super::qualified_name::QualifiedName;

/// `T` is a list of types, as written or looked up.
#[derive(Clone, Debug)]
pub(crate) enum CastCommand<T> {
    Create {
        /// The source and the target.
        types: T,
        context: CastContext,
        method: WrittenMethod<T>,
    },
    Drop {
        types: T,
        if_exists: bool,
        cascades: bool,
    },
    /// DROP CAST IF EXISTS of a type that does not exist, and the message that says so.
    Skip(String),
}

#[derive(Clone, Debug)]
pub(crate) enum WrittenMethod<T> {
    /// Its name, and the types of its parameters if they are given.
    Function(QualifiedName, Option<T>),
    InOut,
    WithoutFunction,
}

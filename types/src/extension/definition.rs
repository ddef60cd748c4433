//! What there is to say about a type of an extension.

use std::borrow::Cow;

use crate::error::Result;

/// Reads bytes that a client has sent as text.
pub(super) type ReadText = fn(&[u8]) -> Result<&str>;

/// Takes a piece of a text, or refuses it.
pub(super) type Put<'p> = &'p mut dyn FnMut(&[u8]) -> bool;

/// What a type means.
pub(super) struct Definition {
    pub(super) name: &'static str,
    /// The name of its array type as it is shown, and its `pg_type.typname`.
    pub(super) array_names: (&'static str, &'static str),
    /// `pg_type.oid` of the type, which is followed by that of its arrays. In PostgreSQL CREATE EXTENSION
    /// draws them, so clients look them up; here they are numbers that neither PostgreSQL's catalog nor
    /// users' objects have.
    pub(super) oid: u32,
    /// Whether its values are strings (`pg_type.typcategory`), which convert as other strings do.
    pub(super) is_string: bool,
    /// The functions that subscript, read, write, receive and send it, as `pg_type` names them.
    pub(super) catalog_functions: [&'static str; 5],
    /// The content of a value from its text form.
    pub(super) parse: fn(&str) -> Result<Vec<u8>>,
    /// Passes the text form of a content on, piece by piece, until a piece is refused.
    pub(super) show: fn(&[u8], Put<'_>),
    /// The content of a value from its binary form, which is all of these bytes.
    pub(super) read_binary: fn(&[u8], ReadText) -> Result<Vec<u8>>,
    pub(super) write_binary: fn(&[u8], &mut Vec<u8>),
    /// Bytes in the order of the values, the same for equal ones.
    pub(super) sort_key: fn(&[u8]) -> Cow<'_, [u8]>,
    /// Whether these bytes are a content.
    pub(super) is_content: fn(&[u8]) -> bool,
}
